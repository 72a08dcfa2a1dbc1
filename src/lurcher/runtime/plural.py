"""Numbers of things, as people write them."""

from __future__ import annotations


def format_count(number: int, one: str, many: str = "") -> str:
    """`1 file`, `0 files`, `12,000 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
