"""Questions about files, names and the index itself: impact, outline, context, exists, why, brief, explain, status, doctor."""
