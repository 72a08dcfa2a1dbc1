"""What git knows, read from its files or asked of its program: listings, refs, commits, blame."""
