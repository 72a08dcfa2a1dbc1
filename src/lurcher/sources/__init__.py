"""Which files there are and what their text is."""
