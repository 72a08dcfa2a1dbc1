"""Places as people and other programs write them."""

from __future__ import annotations

import re
from pathlib import Path

from lurcher.errors import UsageError


def place_and_lines(asked: str) -> tuple[str, int | None, int | None]:
    """`FILE`, `FILE:12`, `FILE:12-20` or `FILE:12:3` taken apart; a file that is called so as a whole is meant as a whole."""
    match = re.fullmatch(r"(.+?):(\d{1,9})?(-)?(\d{1,9})?", re.sub(r"(:\d+):\d*$", r"\1", asked), re.DOTALL)
    if match is None or "\0" in asked or Path(asked).exists():
        return asked, None, None
    place, first, dash, last = match.groups()
    if first is None:
        raise UsageError(f"'{asked}' names no lines", "write FILE, FILE:12 or FILE:12-20")
    if dash is None:
        return place, int(first), int(first)
    return place, int(first), int(last) if last else None
