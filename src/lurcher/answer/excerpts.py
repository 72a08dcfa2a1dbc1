"""Which lines of a place are shown where not all are: those with the most words of the query, or those around a match."""

from __future__ import annotations

from functools import lru_cache

from lurcher.terms import split, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends. Only line feeds end a line, as in every line number here."""
    rows = [row + "\n" for row in text.split("\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def _find_terms_by_line(rows: Sequence[str], wanted: Collection[str]) -> list[set[str]]:
    """The wanted terms of each line. Most lines have none, which a plain search finds out faster than splitting their words."""
    text = "".join(rows)
    if not text.isascii():
        return [_find_terms(row, wanted) for row in rows]
    plain = text.lower().replace("_", "")
    possible = [term for term in wanted if term in plain]
    found: list[set[str]] = [set() for _ in rows]
    if possible:
        lines = plain.split("\n")
        for i in {i for term in possible for i, line in enumerate(lines) if term in line}:
            found[i] = _find_terms(rows[i], wanted)
    return found


def _find_terms(row: str, wanted: Collection[str]) -> set[str]:
    return {term for word in words(row) for term in _split(word) if term in wanted}


_split = lru_cache(maxsize=8192)(split)
"""Cached, since the texts of hits repeat the same words."""


def cut_densest(
    text: str, first_line: int, lines: int, wanted: Collection[str], kept: tuple[int, int] | None = None
) -> tuple[str, int, int]:
    """The `lines` consecutive lines with the most different wanted terms: (text, first line, last line).

    `kept` is a range of lines: its first is always shown, those up to its last where there is room.
    """
    rows = split_lines(text)
    if len(rows) <= lines:
        return text, first_line, first_line + max(len(rows) - 1, 0)
    found = _find_terms_by_line(rows, wanted)
    lowest, highest = _limit_window(kept, first_line, lines, len(rows))
    best, start = -1.0, lowest
    inside: dict[str, int] = {}
    total = 0
    for end, terms in enumerate(found):
        for term in terms:
            inside[term] = inside.get(term, 0) + 1
        total += len(terms)
        i = end - lines + 1
        if i < 0:
            continue
        # Among equals prefer one that does not begin with a blank line.
        value = 4 * len(inside) + total + (0.5 if rows[i].strip() else 0.0)
        if value > best and lowest <= i <= highest:
            best, start = value, i
        total -= len(found[i])
        for term in found[i]:
            inside[term] -= 1
            if not inside[term]:
                del inside[term]
    return "".join(rows[start : start + lines]), first_line + start, first_line + start + lines - 1


def _limit_window(kept: tuple[int, int] | None, first_line: int, lines: int, total: int) -> tuple[int, int]:
    """The first and last row at which an excerpt may begin so that it holds the lines to be kept."""
    if kept is None:
        return 0, total - lines
    first = min(max(kept[0] - first_line, 0), total - 1)
    last = min(max(kept[1] - first_line, first), first + lines - 1, total - 1)
    return max(last - lines + 1, 0), min(first, total - lines)


def cut_around_match(text: str, first_line: int, lines: int, start: int, end: int) -> tuple[str, int, int]:
    """The `lines` consecutive lines around the match on lines `start` to `end`, with the match in the middle."""
    rows = split_lines(text)
    if len(rows) <= lines:
        return text, first_line, first_line + max(len(rows) - 1, 0)
    before = max(lines - (end - start + 1), 0) // 2
    skipped = min(max(start - first_line - before, 0), len(rows) - lines)
    return "".join(rows[skipped : skipped + lines]), first_line + skipped, first_line + skipped + lines - 1
