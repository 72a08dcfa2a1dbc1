"""Installed libraries, indexed one by one beside the index of the project that uses them."""
