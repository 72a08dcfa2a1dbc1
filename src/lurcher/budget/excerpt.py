"""What a hit shows: its block, the function or class around it, or the few lines that matter most."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lurcher.index.reader import Snapshot
from lurcher.index.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.terms.split import split, words


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a file, in lines and bytes."""

    file: int
    start_line: int
    end_line: int
    start: int
    end: int


def place_of(snapshot: Snapshot, unit: int, context: str, asked: int | None = None) -> Place:
    """Where a hit's text comes from under a `--context`; `asked` is the definition in it that the query names, if any."""
    file, start, end, line, last, definition = snapshot.unit(unit)
    here = Place(file, line, last, start, end)
    if context not in ("function", "class"):
        return here
    kinds = TYPE_KINDS if context == "class" else FUNCTION_KINDS
    definition = definition if asked is None else asked
    own = snapshot.definition(definition) if definition >= 0 else None
    anchor = own.start_byte if own is not None and start <= own.start_byte < end else start
    around = [
        item
        for item in snapshot.definitions_of(file)
        if item.kind in kinds and item.start_byte <= anchor < item.end_byte
    ]
    if not around:
        return here
    tightest = min(around, key=lambda item: (item.end_byte - item.start_byte, item.start_byte))
    text = snapshot.file_text(file)
    begin = text.rfind(b"\n", 0, tightest.start_byte) + 1
    stop = text.find(b"\n", max(tightest.end_byte - 1, 0))
    return Place(file, tightest.start_line, tightest.end_line, begin, len(text) if stop < 0 else stop + 1)


def text_at(snapshot: Snapshot, place: Place) -> str:
    return snapshot.text(place.file, place.start, place.end)


def densest(text: str, first_line: int, lines: int, wanted: Collection[str]) -> tuple[str, int, int]:
    """The `lines` consecutive lines with the most different wanted terms: (text, first line, last line)."""
    rows = text.splitlines(keepends=True)
    if len(rows) <= lines:
        return text, first_line, first_line + max(len(rows) - 1, 0)
    found = [{term for word in words(row) for term in split(word) if term in wanted} for row in rows]
    best, start = -1, 0
    for i in range(len(rows) - lines + 1):
        window = found[i : i + lines]
        value = 4 * len(set().union(*window)) + sum(map(len, window))
        if value > best:
            best, start = value, i
    return "".join(rows[start : start + lines]), first_line + start, first_line + start + lines - 1
