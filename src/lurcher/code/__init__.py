"""Questions about code."""
