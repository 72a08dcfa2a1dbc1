"""Cuts files into chunks and finds what they define."""
