"""Where the names of a file stand, so that a reader of its text can ask for the references of each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from lurcher.inspect.references.program import Program
from lurcher.languages.occurrences import LABEL, kind_name

if TYPE_CHECKING:
    from lurcher.storage.snapshot import Snapshot

_MOST_NAMES = 100_000
"""Names of one file that are listed, the first: no file that people read has more."""


@dataclass(frozen=True, slots=True)
class FileNames:
    """Each name that stands in a file outside of strings and comments, in order."""

    places: tuple[tuple[int, int, int, str], ...]
    """Line, column and length in characters, both from 1, and kind."""
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        kinds = sorted({kind for *_, kind in self.places})
        numbers = {kind: number for number, kind in enumerate(kinds)}
        return {
            "kinds": kinds, "complete": self.complete,
            "places": [[line, column, length, numbers[kind]] for line, column, length, kind in self.places],
        }  # fmt: skip


def find_names(snapshot: Snapshot, file: int) -> FileNames:
    source = Program(snapshot).file(file)
    found = [entry for entry in source.occurrences_between(0, 1 << 62) if entry[2] != LABEL]
    places = []
    row = column = 0
    behind = 0  # the byte up to which the columns of the line are counted
    for start, end, kind in islice(found, _MOST_NAMES):
        line = source.line(start)
        if line != row:
            row, column, behind = line, 1, source.line_around(start)[0]
        column += _count(source.text[behind:start])
        behind = start
        places.append((line, column, _count(source.text[start:end]), kind_name(kind)))
    return FileNames(tuple(places), len(found) <= _MOST_NAMES)


def _count(text: bytes) -> int:
    """Its characters, as columns of references count them."""
    return len(text) if text.isascii() else len(text.decode("utf-8", "replace"))
