"""What became of a commit: taken back, mended soon after, or still standing."""
