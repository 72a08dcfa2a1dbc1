"""Stages for lurcher, each in one file; pyproject.toml tells lurcher of them."""
