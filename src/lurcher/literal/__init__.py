"""Exact text: fixed strings and regular expressions, found line by line as grep does."""
