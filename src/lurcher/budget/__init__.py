"""Fits an answer into a number of tokens and lets the reader ask for the rest.

`tokens` says what a text costs, `pack` chooses the hits of one page, `cursor` carries the place
where the next one begins.
"""
