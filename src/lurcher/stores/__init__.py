"""Stores that a team shares: each keeps the units of many projects and finds candidates among them."""
