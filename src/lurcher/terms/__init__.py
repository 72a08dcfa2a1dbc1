"""Identifiers to terms, and what is known of words beforehand."""
