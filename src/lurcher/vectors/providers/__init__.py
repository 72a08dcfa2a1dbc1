"""Models that embed text, one file per provider."""
