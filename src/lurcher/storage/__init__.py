"""Immutable segments under one manifest: the files of an index, written, merged and read."""
