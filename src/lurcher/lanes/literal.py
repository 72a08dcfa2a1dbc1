"""Lines that hold a pattern. The term index says which files can have one; only those are read.

Every word of the pattern is part of a word of any text that matches, and every word of a text is among its terms, bar a few
kinds that its file is marked for. So files without such terms need no look, and no index of trigrams has to be kept.
"""

from __future__ import annotations

from itertools import islice

from lurcher.lanes.base import Request
from lurcher.query.text_pattern import Pattern
from lurcher.runtime.arrays import np
from lurcher.runtime.cancel import check_cancelled
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, bisect_left, bisect_right, dataclass, field
from lurcher.storage.segment import HAS_UNINDEXED_WORDS
from lurcher.storage.segment_reader import Segment
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import compound, words
from lurcher.types import LaneWhy, Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_SHORTEST = 3
"""Shorter pieces are in most files."""
_MOST_TERMS = 3000
"""A piece that is part of more terms than this says too little."""
_MOST_BYTES = 3_000_000
"""Text read for a phrase that is one sign among others."""
_GROUP, _SMALLEST_GROUP = 4 << 20, 1 << 16
"""Bytes of text that are searched at once; in between it is seen whether somebody still waits."""
_MOST_STEPS = 400_000_000
"""Steps that a pattern may take for that in the worst case: about half a second."""
MOST_COUNTED = 20
"""Matches that are counted in one unit; the ranking tells no more of them apart."""
_MOST_MATCHES = 200_000
"""Counted matches after which a search stops: a pattern with more says nothing."""
_MOST_DEFINING = 200
"""Files that define the name looked for, and are searched even after that."""
_MOST_SHOWN = 1000
"""Matches that one hit lists."""
_LINES = 12
"""As many lines a hit shows at most, if its matches are not all on one."""


@dataclass(slots=True)
class LiteralMatches:
    snapshot: Snapshot
    pattern: Pattern
    units: NDArray[np.int64]
    """Units in which a match begins, ascending."""
    counts: NDArray[np.int64]
    """How many begin in each, as far as they are counted."""
    first: NDArray[np.int64]
    """The byte of the file at which each unit's first match begins."""
    partial: bool = False
    """Whether the search stopped before the end: there are more matches than these."""
    _read: tuple[int, bytes] = field(default=(-1, b""))

    def _place(self, unit: int) -> int:
        place = int(np.searchsorted(self.units, unit))
        return place if place < len(self.units) and self.units[place] == unit else -1

    def why(self, unit: int) -> LaneWhy | None:
        place = self._place(unit)
        if place < 0:
            return None
        count = int(self.counts[place])
        return LaneWhy(1 + int((self.counts > count).sum()), float(count))

    def _text(self, file: int) -> bytes:
        if self._read[0] != file:
            self._read = (file, self.snapshot.file_text(file))
        return self._read[1]

    def starts(self, unit: int) -> Sequence[int]:
        """Where its matches begin; where there are many, the first of each line, for the others are in the same function."""
        place = self._place(unit)
        if place < 0 or self.counts[place] == 1:
            return () if place < 0 else (int(self.first[place]),)
        file, _, end, *_ = self.snapshot.unit(unit)
        text, found, following = self._text(file), [], int(self.first[place])
        most = None if self.counts[place] < MOST_COUNTED else 1
        while following < end:
            line = text.rfind(b"\n", 0, following) + 1
            stop = text.find(b"\n", following) + 1 or len(text)
            found += [low for low, _ in islice(self.pattern.spans(text, line, min(stop, end)), most)]
            match = self.pattern.first(text, stop) if stop < end else None
            following = end if match is None else match[0]
        return found

    def _spans(self, unit: int, first: int) -> Iterator[tuple[int, int]]:
        file, _, end, *_ = self.snapshot.unit(unit)
        text = self._text(file)
        return self.pattern.spans(text, text.rfind(b"\n", 0, first) + 1, end)

    def extent(self, unit: int) -> tuple[int, int] | None:
        """From the line before a unit's first match to the one after the last, unless that is too far away."""
        place = self._place(unit)
        if place < 0:
            return None
        first = int(self.first[place])
        file, start, end, *_ = self.snapshot.unit(unit)
        text = self._text(file)
        begin = max(text.rfind(b"\n", 0, max(text.rfind(b"\n", 0, first), 0)) + 1, start)
        stop = first
        for low, high in self._spans(unit, first):
            if stop > first and text.count(b"\n", begin, max(high, low)) >= _LINES - 2:
                break
            stop = max(high, low + 1)
        line = text.find(b"\n", stop - 1) + 1  # the one behind
        following = text.find(b"\n", line) + 1 if line else 0
        return begin, max(min(following or len(text), end), stop)

    def matches(self, file: int, start: int, end: int) -> tuple[Match, ...]:
        text = self._text(file)
        places = _Places(text)
        spans = islice(self.pattern.spans(text, start, end), _MOST_SHOWN)
        return tuple([Match(*places.of(low), *places.of(high)) for low, high in spans])


class _Places:
    """Lines and columns of bytes of a text that are asked for in order."""

    def __init__(self, text: bytes) -> None:
        self._text, self._byte, self._line = text, 0, 1

    def of(self, byte: int) -> tuple[int, int]:
        self._line += self._text.count(b"\n", self._byte, byte)
        self._byte = byte
        row = self._text[self._text.rfind(b"\n", 0, byte) + 1 : byte]
        return self._line, 1 + len(row.decode("utf-8", "replace"))


def run(request: Request) -> LiteralMatches:
    pattern = request.plan.pattern
    assert pattern is not None, "planned without a pattern"
    alone = request.plan.mode == "literal"
    elsewhere = request.snapshot.phrases(pattern, request.allowed)
    if elsewhere is not None:
        return LiteralMatches(request.snapshot, pattern, elsewhere.units, elsewhere.counts, elsewhere.first)
    return search(request.snapshot, pattern, request.allowed, None if alone else _MOST_BYTES)


def search(
    snapshot: Snapshot, pattern: Pattern, allowed: NDArray[np.bool_], most: int | None = None
) -> LiteralMatches:
    """The units of allowed files that match; none where more than `most` bytes would have to be read.

    Files are searched by path until enough matches are known, so what is found does not depend on how they lie in segments.
    """
    spans = _spans(snapshot, allowed, candidates(snapshot, pattern, every=most is None))
    if most is not None and sum(int(part.size.sum()) for part in spans) > most:
        spans = []
    found, partial = _search_spans(snapshot, pattern, spans)
    if partial:
        rest = _defining_files(snapshot, pattern, allowed)
        rest[snapshot.unit_file[found.units]] = False
        more, _ = _search_spans(snapshot, pattern, _spans(snapshot, rest, None))
        found = Group(*(np.concatenate(columns) for columns in zip(found, more, strict=True)))
    order = np.argsort(found.units, kind="stable")
    return LiteralMatches(snapshot, pattern, found.units[order], found.counts[order], found.first[order], partial)


def _search_spans(snapshot: Snapshot, pattern: Pattern, spans: Sequence[Spans]) -> tuple[Group, bool]:
    """What is found in spans by path, and whether there is more: after the file in which enough matches are known, it stops."""
    empty = np.zeros(0, np.int64)
    parts = [Group(empty, empty, empty)]
    matches, stopped = 0, False
    for groups in _by_path(snapshot, pattern, spans):
        if stopped:
            break
        check_cancelled()
        for segment, first_unit, part in groups:
            found = _search_group(segment, pattern, part)
            if found is not None:
                parts.append(found._replace(units=found.units + first_unit))
                matches += int(found.counts.sum())
        stopped = matches >= _MOST_MATCHES
    else:
        stopped = False
    whole = Group(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if matches < _MOST_MATCHES:
        return whole, False
    ranks = snapshot.path_rank[snapshot.unit_file[whole.units]]
    order = np.lexsort((whole.units, ranks))
    enough = int(np.searchsorted(np.cumsum(whole.counts[order]), _MOST_MATCHES))
    kept = ranks <= ranks[order[enough]]
    return Group(*(column[kept] for column in whole)), stopped or not kept.all()


def _defining_files(snapshot: Snapshot, pattern: Pattern, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which allowed files define what a pattern names, the first so many by path."""
    mask = np.zeros(len(allowed), bool)
    names = [name for run in pattern.syntax.runs for name in words(run)]
    if len(names) == 1:
        numbers, _ = snapshot.postings("definitions", compound(names[0]))
        files = np.unique(snapshot.definition_file[numbers])
        files = files[allowed[files]]
        mask[files[np.argsort(snapshot.path_rank[files], kind="stable")][:_MOST_DEFINING]] = True
    return mask


def candidates(snapshot: Snapshot, pattern: Pattern, *, every: bool = True) -> NDArray[np.int64] | None:
    """Units that may hold a part of a match, by their terms, ascending; None where terms cannot tell.

    Not `every` one leaves out those of files that are marked: enough for a sign among others, and they are few.
    """
    fragments = {
        piece for run in pattern.syntax.runs for word in words(run.encode("ascii", "replace").decode())
        if len(piece := word.replace("_", "").lower()) >= _SHORTEST and not piece.isdigit()
    }  # fmt: skip
    pieces = [
        units for piece in sorted(fragments, key=lambda item: (-len(item), item))
        if (units := _units_with(snapshot, piece.encode())) is not None
    ]  # fmt: skip
    if not pieces:
        return None
    # All words of a match stand in one file, and where it cannot reach over lines, in units that share a line.
    found = _of_files(snapshot, pieces) if pattern.multiline else _of_lines(snapshot, pieces)
    if every:
        marked = ((snapshot.file_column("flags") & HAS_UNINDEXED_WORDS) != 0)[snapshot.unit_file]
        if marked.any():
            marked[found] = True
            found = np.flatnonzero(marked)
    return found


def _of_files(snapshot: Snapshot, pieces: Sequence[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """All units of files that have every piece."""
    return np.flatnonzero(_having(snapshot.unit_file, snapshot.file_total, pieces))


def _of_lines(snapshot: Snapshot, pieces: list[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """Units that share a line with those that have every piece."""
    kernel = native()
    if kernel is not None:
        found: NDArray[np.int64] = kernel.together(pieces, snapshot.unit_line_group)
        return found
    return np.flatnonzero(_having(snapshot.unit_line_group, snapshot.line_groups, pieces))


def _having(holders: NDArray[np.int64], total: int, pieces: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which units are of a holder that has every piece."""
    mask = np.ones(total, bool)
    for units in pieces:
        having = np.zeros(total, bool)
        having[holders[units]] = True
        mask &= having
    found: NDArray[np.bool_] = mask[holders]
    return found


class Spans(NamedTuple):
    """Parts of a segment's files in which a match may be: whole files, or runs of their units."""

    text: NDArray[np.int64]
    """Where each begins among all texts."""
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where it begins in its file."""
    unit: NDArray[np.int64]
    """Its first unit."""
    units: NDArray[np.int64]
    file: NDArray[np.int64]


def _spans(snapshot: Snapshot, allowed: NDArray[np.bool_], wanted: NDArray[np.int64] | None) -> list[Spans]:
    """What is to be read of each segment: of allowed files the wanted units, or all of them."""
    found = []
    base = first_unit = 0
    for segment in snapshot.segments:
        files, units = segment.files, segment.units
        may = allowed[base : base + len(files)]
        if wanted is None:
            rows = np.flatnonzero(may)
            text, size = (files[column].astype(np.int64)[rows] for column in ("text", "size"))
            unit, many = (files[column].astype(np.int64)[rows] for column in ("unit", "units"))
            found.append(Spans(text, size, np.zeros(len(rows), np.int64), unit, many, rows + base))
        else:
            here = wanted[int(wanted.searchsorted(first_unit)) : int(wanted.searchsorted(first_unit + len(units)))] - first_unit
            found.append(_runs(segment, here[may[units["file"][here]]], base))
        base += len(files)
        first_unit += len(units)
    return found


def _runs(segment: Segment, units: NDArray[np.int64], base: int) -> Spans:
    """Units next to each other in one file, taken together; `base` is the number of the segment's first file."""
    rows = segment.units
    file, begin, end = (rows[column][units].astype(np.int64) for column in ("file", "start", "end"))
    new = np.full(len(units), True)
    new[1:] = (units[1:] != units[:-1] + 1) | (file[1:] != file[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(units)))
    start = begin[first]
    text = segment.files["text"][file[first]].astype(np.int64) + start
    return Spans(text, end[first + counts - 1] - start, start, units[first], counts, file[first] + base)


def _units_with(snapshot: Snapshot, piece: bytes) -> NDArray[np.bool_] | None:
    """Units with a term that contains `piece`; None where too many terms do."""
    parts = []
    for segment in snapshot.segments:
        known = segment.substring_units.get(piece)
        if known is None:
            known = (_in_segment(segment, piece),)
            segment.substring_units.put(piece, known, len(segment.units) // 32)  # a byte each, and worth keeping
        if known[0] is None:
            return None
        parts.append(known[0])
    return np.concatenate(parts) if parts else None


def _in_segment(segment: Segment, piece: bytes) -> NDArray[np.bool_] | None:
    numbers = terms_containing(segment, piece)
    if numbers is None:
        return None
    mask = np.zeros(len(segment.units), bool)
    for family in ("body", "comments"):
        segment.mark_owners(family, numbers, mask)
    return mask


def terms_containing(segment: Segment, piece: bytes) -> Sequence[int] | None:
    """The numbers of terms that contain some bytes, ascending; None where these are too many."""
    ends, kernel = segment.term_ends, native()
    if kernel is not None:
        found: Sequence[int] | None = kernel.terms_with(segment.terms, ends, piece, _MOST_TERMS)
        return found
    blob = segment.term_bytes
    numbers: list[int] = []
    at = blob.find(piece)
    while at >= 0:
        number = bisect_right(ends, at)
        end = ends[number]
        if at + len(piece) <= end:
            numbers.append(number)
            if len(numbers) > _MOST_TERMS:
                return None
            at = blob.find(piece, end)
        else:  # it begins in one term and ends in the next
            at = blob.find(piece, at + 1)
    return numbers


class Group(NamedTuple):
    """Units with a match: how many there are in each, as far as they are counted, and where the first begins in its file."""

    units: NDArray[np.int64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


def _by_path(
    snapshot: Snapshot, pattern: Pattern, spans: Sequence[Spans]
) -> Iterator[list[tuple[Segment, int, Spans]]]:
    """Spans as many at a time as are searched at once, files in the order of their paths and none in two groups; each group
    with the segments that it is from, and the number of the first unit of each."""
    if not spans:
        return
    bases, first_unit = [], 0
    for segment in snapshot.segments:
        bases.append(first_unit)
        first_unit += len(segment.units)
    most = max(_SMALLEST_GROUP, min(_GROUP, _MOST_STEPS // pattern.steps))
    if len(spans) == 1:  # files of a segment are in order already
        for first, last in _groups(spans[0].size.tolist(), spans[0].file.tolist(), most):
            yield [(snapshot.segments[0], 0, Spans(*(column[first:last] for column in spans[0])))]
        return
    whole = Spans(*(np.concatenate(columns) for columns in zip(*spans, strict=True)))
    owner = np.repeat(np.arange(len(spans)), np.array([len(part.file) for part in spans], np.int64))
    order = np.lexsort((whole.start, snapshot.path_rank[whole.file]))
    for first, last in _groups(whole.size[order].tolist(), whole.file[order].tolist(), most):
        rows = order[first:last]
        owners = owner[rows]
        yield [
            (snapshot.segments[number], bases[number], Spans(*(column[rows[owners == number]] for column in whole)))
            for number in sorted(set(owners.tolist()))
        ]


def _search_group(segment: Segment, pattern: Pattern, spans: Spans) -> Group | None:
    """What is found in some spans of a segment, all at a time: to go through them one by one would take longer."""
    texts = _texts_of(segment, spans, pattern.plain is not None)
    # All units of these spans by where they begin in the joined text, so that one look-up finds each match's.
    counts = spans.units
    owner = np.repeat(np.arange(len(counts)), counts)
    numbers = np.repeat(spans.unit - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    shift = texts.begin - spans.start
    borders = shift[owner] + segment.units["start"][numbers]
    starts = _found(pattern, texts, borders.tolist())
    if not len(starts):
        return None
    place = np.searchsorted(borders, starts, "right") - 1
    distinct, at, many = np.unique(place, return_index=True, return_counts=True)
    return Group(numbers[distinct], many, starts[at] - shift[owner[distinct]])


@dataclass(frozen=True, slots=True)
class _Texts:
    """Some spans' texts, one by one, or as they lie where they are neighbours."""

    sizes: NDArray[np.int64]
    begin: NDArray[np.int64]
    """Where each begins when they are put together."""
    apart: list[bytes]
    together: bytes | None = None


def _texts_of(segment: Segment, spans: Spans, plain: bool) -> _Texts:
    """The texts of some spans. Neighbours need not be taken apart for plain bytes: what reaches over a border is no match."""
    places, sizes = spans.text, spans.size
    origin, end = int(places[0]), int(places[-1] + sizes[-1])
    section = segment.container.section
    if plain and end - origin == int(sizes.sum()):
        return _Texts(sizes, np.cumsum(sizes) - sizes, [], bytes(section("text", origin, end)))
    starts, lengths = places.tolist(), sizes.tolist()
    joined = np.cumsum(sizes + 1) - (sizes + 1)  # with a line break behind each
    if end - origin > 2 * sum(lengths):  # far from each other
        return _Texts(sizes, joined, [bytes(section("text", a, a + n)) for a, n in zip(starts, lengths, strict=True)])
    whole = section("text", origin, end)
    return _Texts(sizes, joined, [bytes(whole[a - origin : a - origin + n]) for a, n in zip(starts, lengths, strict=True)])


def _found(pattern: Pattern, texts: _Texts, borders: list[int]) -> NDArray[np.int64]:
    """Where matches begin in some texts put together, so many at most in each unit."""
    sizes, begin = texts.sizes, texts.begin
    if texts.together is not None and pattern.plain is not None:
        starts = np.array(pattern.starts(texts.together, borders, MOST_COUNTED), np.int64)
        text = np.searchsorted(begin, starts, "right") - 1
        return starts[starts + len(pattern.plain) <= (begin + sizes)[text]]
    if pattern.multiline:  # one that reaches into the next text would hide others
        return _starts_apart(pattern, texts, borders)
    joined = b"\n".join(texts.apart)
    starts = np.array(pattern.starts(joined, borders, MOST_COUNTED), np.int64)
    # Behind the last line break of a text there is no line.
    ends = begin + sizes
    text = np.searchsorted(begin, starts, "right") - 1
    bare = np.array([not text or text.endswith(b"\n") for text in texts.apart])
    inside: NDArray[np.bool_] = (starts < ends[text]) | ((starts == ends[text]) & ~bare[text])
    return starts[inside]


def _starts_apart(pattern: Pattern, texts: _Texts, borders: list[int]) -> NDArray[np.int64]:
    """Where matches begin in texts that are searched one by one."""
    parts, first = [np.zeros(0, np.int64)], 0
    for text, start in zip(texts.apart, texts.begin.tolist(), strict=True):
        check_cancelled()
        last = bisect_left(borders, start + len(text) + 1, first)
        inner = [border - start for border in borders[first:last]]
        parts.append(np.array(pattern.starts(text, inner, MOST_COUNTED), np.int64) + start)
        first = last
    return np.concatenate(parts)


def _groups(sizes: list[int], files: list[int], most: int) -> Iterator[tuple[int, int]]:
    """The first and the last of some spans, at a time about `most` bytes and whole files."""
    first = filled = 0
    for place, size in enumerate(sizes):
        if place > first and filled + size > most and files[place] != files[place - 1]:
            yield first, place
            first, filled = place, 0
        filled += size
    if len(sizes) > first:
        yield first, len(sizes)
