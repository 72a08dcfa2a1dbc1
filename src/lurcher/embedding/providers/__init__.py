"""Who makes vectors of text: one file per provider."""
