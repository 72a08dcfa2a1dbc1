"""Lines that hold a pattern. The term index says which files can have one; only those are read.

Every word of the pattern is part of a word of any text that matches, and every word of a text is among its terms, bar a few
kinds that its file is marked for. So files without such terms need no look, and no index of trigrams has to be kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lurcher.index.reader import Segment, Snapshot
from lurcher.index.segment import UNSEEN
from lurcher.lanes.lane import Request
from lurcher.literal.pattern import Pattern, Span
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FRAGMENT = re.compile(r"[A-Za-z0-9_]+")
_SHORTEST = 3
"""Shorter pieces are in most files."""
_MOST_TERMS = 3000
"""A piece that is part of more terms than this says too little."""
_GROUP = 4 << 20
"""Bytes of text that are searched at once for files worth a closer look."""


@dataclass(frozen=True)
class LiteralMatches:
    pattern: Pattern
    units: NDArray[np.int64]
    """Units in which a matching line begins its match, ascending."""
    lines: NDArray[np.int64]
    """How many of them each has."""
    first: NDArray[np.int64]
    """The byte of the file at which each unit's first match begins."""

    def _place(self, unit: int) -> int:
        import numpy as np

        place = int(np.searchsorted(self.units, unit))
        return place if place < len(self.units) and self.units[place] == unit else -1

    def first_in(self, unit: int) -> int:
        return int(self.first[self._place(unit)])

    def why(self, unit: int) -> LaneWhy | None:
        place = self._place(unit)
        if place < 0:
            return None
        count = int(self.lines[place])
        return LaneWhy(1 + int((self.lines > count).sum()), float(count))


def run(request: Request) -> LiteralMatches:
    pattern = request.plan.pattern
    assert pattern is not None, "planned without a pattern"
    return search(request.snapshot, pattern, request.allowed)


def search(snapshot: Snapshot, pattern: Pattern, allowed: NDArray[np.bool_]) -> LiteralMatches:
    """The units of allowed files that match."""
    import numpy as np

    wanted = candidates(snapshot, pattern)
    mask = allowed if wanted is None else allowed & wanted
    units: list[NDArray[np.int64]] = []
    counts: list[NDArray[np.int64]] = []
    firsts: list[NDArray[np.int64]] = []
    for file, text in _promising(snapshot, pattern, mask):
        starts = np.fromiter((start for start, _ in pattern.lines(text)), np.int64)
        if len(starts):
            numbers = snapshot.units_of(file)
            owner = np.searchsorted(snapshot.unit_starts(file), starts, "right") - 1
            distinct, at, count = np.unique(owner, return_index=True, return_counts=True)
            units.append(distinct + numbers[0])
            counts.append(count)
            firsts.append(starts[at])
    if not units:
        empty = np.zeros(0, np.int64)
        return LiteralMatches(pattern, empty, empty, empty)
    found = np.concatenate(units)
    order = np.argsort(found, kind="stable")
    return LiteralMatches(pattern, found[order], np.concatenate(counts)[order], np.concatenate(firsts)[order])


def candidates(snapshot: Snapshot, pattern: Pattern) -> NDArray[np.bool_] | None:
    """Files that may hold a match, by their terms; None where terms cannot tell."""
    fragments = {
        piece for run in pattern.syntax.runs for word in _FRAGMENT.findall(run)
        if len(piece := word.replace("_", "").lower()) >= _SHORTEST
    }  # fmt: skip
    mask: NDArray[np.bool_] | None = None
    for piece in sorted(fragments, key=lambda item: (-len(item), item)):
        having = _with_piece(snapshot, piece.encode())
        if having is not None:
            mask = having if mask is None else mask & having
    if mask is None:
        return None
    unseen: NDArray[np.bool_] = (snapshot.file_column("flags") & UNSEEN) != 0
    return mask | unseen


def _with_piece(snapshot: Snapshot, piece: bytes) -> NDArray[np.bool_] | None:
    """Files with a term that contains `piece`; None where too many terms do."""
    import numpy as np

    mask = np.zeros(snapshot.file_total, bool)
    base = 0
    for segment in snapshot.segments:
        numbers = terms_containing(segment, piece)
        if numbers is None:
            return None
        for family in ("body", "comments"):
            for number in numbers:
                found = segment.postings(family, number)
                if found is not None:
                    mask[base + segment.units["file"][found[0]]] = True
        base += len(segment.files)
    return mask


def terms_containing(segment: Segment, piece: bytes) -> list[int] | None:
    """The numbers of terms that contain some bytes; None where these are too many."""
    blob, ends = segment.term_bytes, segment.term_ends
    numbers: list[int] = []
    at = blob.find(piece)
    while at >= 0:
        number = int(ends.searchsorted(at, "right"))
        end = int(ends[number])
        if at + len(piece) <= end:
            numbers.append(number)
            if len(numbers) > _MOST_TERMS:
                return None
            at = blob.find(piece, end)
        else:  # it begins in one term and ends in the next
            at = blob.find(piece, at + 1)
    return numbers


def _promising(snapshot: Snapshot, pattern: Pattern, mask: NDArray[np.bool_]) -> Iterator[tuple[int, bytes]]:
    """Files of the mask in which the pattern is found at all, with their text.

    Files are searched many at a time: most hold nothing, and to learn that one by one would take longer than the search.
    """
    base = 0
    for segment in snapshot.segments:
        files = segment.files
        wanted = mask[base : base + len(files)].nonzero()[0]
        for group in _groups(wanted.tolist(), files["size"].tolist()):
            begin, sizes = files["text"][group], files["size"][group]
            span = int(begin[-1]) + int(sizes[-1]) - int(begin[0])
            ranges = list(zip(begin.tolist(), sizes.tolist(), strict=True))
            if len(group) > 1 and span <= 2 * int(sizes.sum()):
                origin = ranges[0][0]
                whole = segment.container.section("text", origin, origin + span)
                texts = [bytes(whole[a - origin : a - origin + n]) for a, n in ranges]
            else:
                texts = [bytes(segment.container.section("text", a, a + n)) for a, n in ranges]
            for place in _hit(pattern, texts):
                yield base + group[place], texts[place]
        base += len(files)


def _groups(wanted: list[int], sizes: list[int]) -> Iterator[list[int]]:
    group: list[int] = []
    filled = 0
    for file in wanted:
        if group and filled + sizes[file] > _GROUP:
            yield group
            group, filled = [], 0
        group.append(file)
        filled += sizes[file]
    if group:
        yield group


def _hit(pattern: Pattern, texts: list[bytes]) -> Iterator[int]:
    """The places of the texts with a match."""
    if len(texts) == 1:
        if pattern.first(texts[0], 0) is not None:
            yield 0
        return
    joined = b"\n".join(texts)
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    at = 0
    while at < len(joined):
        found: Span | None = pattern.first(joined, at)
        if found is None:
            return
        place = min(bisect_right(starts, found[0]) - 1, len(texts) - 1)
        yield place
        at = starts[place + 1]

