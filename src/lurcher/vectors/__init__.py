"""Vectors of text: the term table, models that embed text, and the services that run them."""
