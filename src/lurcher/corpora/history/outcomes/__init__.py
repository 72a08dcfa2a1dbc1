"""What became of a commit: reverted, fixed soon after, or neither."""
