"""Immutable segments under one manifest: built, merged, checked against the tree and read."""
