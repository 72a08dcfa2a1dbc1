"""The part of a text that a judge should see: the lines with the most words of the question, within so many characters."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]{3,}")


def best_window(text: str, query: str, most: int) -> str:
    """Consecutive whole lines; of equals the first. A text that fits is shown whole, a line that does not is cut."""
    text = text.strip("\n")
    if len(text) <= most:
        return text
    wanted = {word.lower() for word in _WORD.findall(query)}
    rows = text.split("\n")
    found = [wanted & {word.lower() for word in _WORD.findall(row)} for row in rows]
    best, chosen = -1, (0, 1)
    end, size = 0, 0
    for start in range(len(rows)):
        end = max(end, start)
        while end < len(rows) and size + len(rows[end]) + 1 <= most + 1:
            size += len(rows[end]) + 1
            end += 1
        there = found[start:end]
        value = 4 * len(set().union(*there)) + sum(map(len, there))
        if value > best and end > start:
            best, chosen = value, (start, end)
        size -= len(rows[start]) + 1 if end > start else 0
        if end == len(rows):
            break
    return "\n".join(rows[chosen[0] : chosen[1]])[:most]
