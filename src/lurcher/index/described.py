"""What of a unit and of a file is given to a model that embeds text.

A unit is its text under its path and its name; a file's card is its path, the names that it defines, and how it begins. Where
a text stands in its file is no part of it, so that a unit which only moved is the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.index.apart import VECTOR_GROUPS, Group
from lurcher.index.container import Container
from lurcher.index.mapped import Segment
from lurcher.index.segment import FUNCTION_KINDS, KINDS, TYPE_KINDS
from lurcher.types import HEADING, HEADING_PATH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNITS, CARDS = VECTOR_GROUPS
CARD_NAMES, CARD_CHARS = 40, 600
"""Names on a card, and how much of the beginning of its file."""
MOST_CHARS = 20_000
_NAMING = frozenset(number for number, kind in enumerate(KINDS) if kind in TYPE_KINDS or kind in FUNCTION_KINDS)
_HEADING = KINDS.index(HEADING)


@dataclass(frozen=True, slots=True)
class Described:
    """The texts of one group: how many, which of them are needed, and each."""

    group: Group
    count: int
    needed: NDArray[np.bool_] | None
    """None: all."""
    text: Callable[[int], str]


def described(container: Container, live: NDArray[np.bool_] | None) -> list[Described]:
    """The texts of a segment's units and files; dead files need no vectors."""
    segment = Segment(container, live)
    texts = _Texts(segment)
    units = None if live is None else live[segment.units["file"]]
    return [
        Described(UNITS, len(segment.units), units, texts.unit),
        Described(CARDS, len(segment.files), live, texts.card),
    ]


class _Texts:
    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def unit(self, number: int) -> str:
        segment = self._segment
        row = segment.units[number]
        file, definition = int(row["file"]), int(row["definition"])
        named = self._name(segment.definitions[definition]) if definition >= 0 else ""
        text = self._text(file, int(row["start"]), int(row["end"]))
        return "\n".join(part for part in (segment.path(file), named, text) if part)

    def card(self, file: int) -> str:
        segment = self._segment
        row = segment.files[file]
        first, count = int(row["definition"]), int(row["definitions"])
        names: list[str] = []
        for each in segment.definitions[first : first + count]:
            if int(each["kind"]) in _NAMING or int(each["kind"]) == _HEADING:
                names.append(segment.string(int(each["name"])))
                if len(names) == CARD_NAMES:
                    break
        begins = self._text(file, 0, min(int(row["size"]), 2 * CARD_CHARS))[:CARD_CHARS]
        return "\n".join(part for part in (segment.path(file), ", ".join(dict.fromkeys(names)), begins) if part)

    def _name(self, row: Any) -> str:
        segment = self._segment
        container, name = segment.string(int(row["container"])), segment.string(int(row["name"]))
        between = HEADING_PATH if int(row["kind"]) == _HEADING else "."
        return f"{container}{between}{name}" if container else name

    def _text(self, file: int, start: int, end: int) -> str:
        base = int(self._segment.files["text"][file])
        data = self._segment.container.section("text", base + start, base + min(end, start + MOST_CHARS))
        return bytes(data).decode("utf-8", "ignore").strip()
