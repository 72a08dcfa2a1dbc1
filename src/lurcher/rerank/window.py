"""The part of a text that a judge should see: the lines with the most words of the question, within so many characters."""

from __future__ import annotations

import re
from collections import Counter

_WORD = re.compile(r"[^\W_]{3,}")


def best_window(text: str, query: str, most: int) -> str:
    """Consecutive whole lines; of equals the first. A text that fits is shown whole, a line that does not is cut."""
    text = text.strip("\n")
    if len(text) <= most:
        return text
    wanted = set(_words(query))
    rows = text.split("\n")
    found = [wanted.intersection(_words(row)) for row in rows]
    there: Counter[str] = Counter()
    size, total, distinct, end = 0, 0, 0, 0
    best, chosen = -1, (0, 1)
    for start, row in enumerate(rows):
        while end < len(rows) and (end == start or size + len(rows[end]) < most):
            size += len(rows[end]) + 1
            total += len(found[end])
            distinct += sum(not there[word] for word in found[end])
            there.update(found[end])
            end += 1
        value = 4 * distinct + total
        if value > best:
            best, chosen = value, (start, end)
        size -= len(row) + 1
        total -= len(found[start])
        there.subtract(found[start])
        distinct -= sum(not there[word] for word in found[start])
    return "\n".join(rows[chosen[0] : chosen[1]])[:most]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
