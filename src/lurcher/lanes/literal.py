"""Units that match a text pattern. The term index says which files can match, and only those are read.

Every word of the pattern is part of a word of any matching text, and every word of a text is one of its terms, except for a few
kinds for which the file is flagged (`UNSEEN`). So files without such terms need not be read, and no trigram index is needed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import namedtuple
from itertools import islice

from lurcher.lanes import Request
from lurcher.query.text_pattern import TextPattern
from lurcher.runtime.kernel import native, np
from lurcher.runtime.process import check_cancelled
from lurcher.storage.segment import HAS_UNINDEXED_WORDS, Segment
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound, words
from lurcher.types import LaneWhy, Match, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_MIN_PIECE = 3
"""Least length of a piece of the pattern; shorter ones are in most files."""
_MAX_TERMS = 3000
"""A piece that is part of more terms than this rules out too little."""
_MAX_PHRASE_BYTES = 3_000_000
"""Bytes of text read for a phrase that is only one piece of evidence."""
_BATCH_BYTES, _MIN_BATCH_BYTES = 4 << 20, 1 << 16
"""Bytes of text searched at once, most and least; between batches the deadline is checked."""
_MAX_STEPS = 400_000_000
"""Steps that a pattern may take for one batch in the worst case: about half a second."""
MAX_COUNTED = 20
"""Matches that are counted in one unit; more make no difference to the ranking."""
_MAX_MATCHES = 200_000
"""Counted matches after which a search stops."""
_MAX_DEFINING = 200
"""Files that define the name in the pattern and are searched even then."""
_MAX_SHOWN = 1000
"""Matches that one hit lists."""
_MAX_LINES = 12
"""Lines that a hit shows at most."""


class LiteralMatches:
    __slots__ = ("snapshot", "pattern", "units", "counts", "first", "partial", "_read")

    def __init__(
        self, snapshot: Snapshot, pattern: TextPattern, units: NDArray[np.int64], counts: NDArray[np.int64],
        first: NDArray[np.int64], partial: bool = False, _read: tuple[int, bytes] = (-1, b""),
    ) -> None:  # fmt: skip
        self.snapshot, self.pattern = snapshot, pattern
        self.units = units
        """Units in which a match begins, ascending."""
        self.counts = counts
        """How many begin in each, at most `MAX_COUNTED`."""
        self.first = first
        """The byte of the file at which each unit's first match begins."""
        self.partial = partial
        """Whether the search stopped early: there are more matches than these."""
        self._read = _read

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
        """Where its matches begin; where there are many, only the first of each line."""
        place = self._place(unit)
        if place < 0 or self.counts[place] == 1:
            return () if place < 0 else (int(self.first[place]),)
        file, _, end, *_ = self.snapshot.unit(unit)
        text, found, following = self._text(file), [], int(self.first[place])
        most = None if self.counts[place] < MAX_COUNTED else 1
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
        """From the line before a unit's first match to the line after the last that is still within `_MAX_LINES`."""
        place = self._place(unit)
        if place < 0:
            return None
        first = int(self.first[place])
        file, start, end, *_ = self.snapshot.unit(unit)
        text = self._text(file)
        begin = max(text.rfind(b"\n", 0, max(text.rfind(b"\n", 0, first), 0)) + 1, start)
        stop = first
        for low, high in self._spans(unit, first):
            if stop > first and text.count(b"\n", begin, max(high, low)) >= _MAX_LINES - 2:
                break
            stop = max(high, low + 1)
        line = text.find(b"\n", stop - 1) + 1  # the line after
        following = text.find(b"\n", line) + 1 if line else 0
        return begin, max(min(following or len(text), end), stop)

    def matches(self, file: int, start: int, end: int) -> tuple[Match, ...]:
        text = self._text(file)
        places = _LineCounter(text)
        spans = islice(self.pattern.spans(text, start, end), _MAX_SHOWN)
        return tuple([Match(*places.of(low), *places.of(high)) for low, high in spans])


class _LineCounter:
    """Converts ascending byte offsets of a text to lines and columns."""

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
    return search(request.snapshot, pattern, request.allowed, None if alone else _MAX_PHRASE_BYTES)


def search(
    snapshot: Snapshot, pattern: TextPattern, allowed: NDArray[np.bool_], most: int | None = None
) -> LiteralMatches:
    """The units of allowed files that match; none where more than `most` bytes would have to be read.

    Files are searched in the order of their paths until there are enough matches, so the result does not depend on segments.
    """
    spans = _select_spans(snapshot, allowed, find_candidates(snapshot, pattern, every=most is None))
    if most is not None and sum(int(part.size.sum()) for part in spans) > most:
        spans = []
    found, partial = _search_spans(snapshot, pattern, spans)
    if partial:
        rest = _find_defining_files(snapshot, pattern, allowed)
        rest[snapshot.unit_file[found.units]] = False
        more, _ = _search_spans(snapshot, pattern, _select_spans(snapshot, rest, None))
        found = MatchedUnits(*(np.concatenate(columns) for columns in zip(found, more, strict=True)))
    order = np.argsort(found.units, kind="stable")
    return LiteralMatches(snapshot, pattern, found.units[order], found.counts[order], found.first[order], partial)


def _search_spans(snapshot: Snapshot, pattern: TextPattern, spans: Sequence[TextSpans]) -> tuple[MatchedUnits, bool]:
    """Search spans by path; stop after the file with which there are enough matches, and return whether that happened."""
    empty = np.zeros(0, np.int64)
    parts = [MatchedUnits(empty, empty, empty)]
    matches, stopped = 0, False
    for groups in _batch_by_path(snapshot, pattern, spans):
        if stopped:
            break
        check_cancelled()
        for segment, first_unit, part in groups:
            found = _search_batch(segment, pattern, part)
            if found is not None:
                parts.append(found._replace(units=found.units + first_unit))
                matches += int(found.counts.sum())
        stopped = matches >= _MAX_MATCHES
    else:
        stopped = False
    whole = MatchedUnits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if matches < _MAX_MATCHES:
        return whole, False
    ranks = snapshot.path_rank[snapshot.unit_file[whole.units]]
    order = np.lexsort((whole.units, ranks))
    enough = int(np.searchsorted(np.cumsum(whole.counts[order]), _MAX_MATCHES))
    kept = ranks <= ranks[order[enough]]
    return MatchedUnits(*(column[kept] for column in whole)), stopped or not kept.all()


def _find_defining_files(snapshot: Snapshot, pattern: TextPattern, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which allowed files define the name in a pattern; the first `_MAX_DEFINING` by path."""
    mask = np.zeros(len(allowed), bool)
    names = [name for run in pattern.syntax.runs for name in words(run)]
    if len(names) == 1:
        numbers, _ = snapshot.postings("definitions", compound(names[0]))
        files = np.unique(snapshot.definition_file[numbers])
        files = files[allowed[files]]
        mask[files[np.argsort(snapshot.path_rank[files], kind="stable")][:_MAX_DEFINING]] = True
    return mask


def find_candidates(snapshot: Snapshot, pattern: TextPattern, *, every: bool = True) -> NDArray[np.int64] | None:
    """Units that may contain a part of a match, by their terms, ascending; None where terms rule out nothing.

    Without `every`, flagged files are left out: they are few, which is good enough for one piece of evidence.
    """
    fragments = {
        piece for run in pattern.syntax.runs for word in words(run.encode("ascii", "replace").decode())
        if len(piece := word.replace("_", "").lower()) >= _MIN_PIECE and not piece.isdigit()
    }  # fmt: skip
    pieces = [
        units for piece in sorted(fragments, key=lambda item: (-len(item), item))
        if (units := _find_units_with(snapshot, piece.encode())) is not None
    ]  # fmt: skip
    if not pieces:
        return None
    # All words of a match are in one file, and unless it can span lines, in units that share a line.
    groups, total = snapshot.unit_line_group, snapshot.line_groups
    if pattern.multiline:
        groups, total = snapshot.unit_file, snapshot.file_total
    found = np.flatnonzero(_has_all_pieces(groups, total, pieces))
    if every:
        marked = ((snapshot.file_column("flags") & HAS_UNINDEXED_WORDS) != 0)[snapshot.unit_file]
        if marked.any():
            marked[found] = True
            found = np.flatnonzero(marked)
    return found


def _has_all_pieces(holders: NDArray[np.int64], total: int, pieces: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which units belong to a holder (a file, or a group of units that share a line) that has every piece."""
    mask = np.ones(total, bool)
    for units in pieces:
        having = np.zeros(total, bool)
        having[holders[units]] = True
        mask &= having
    found: NDArray[np.bool_] = mask[holders]
    return found


class TextSpans(namedtuple("TextSpans", "text size start unit units file")):
    """Parts of a segment's files that may contain a match: whole files, or runs of their units."""

    text: NDArray[np.int64]
    """Where each begins among all texts."""
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where it begins in its file."""
    unit: NDArray[np.int64]
    """Its first unit."""
    units: NDArray[np.int64]
    file: NDArray[np.int64]


def _select_spans(snapshot: Snapshot, allowed: NDArray[np.bool_], wanted: NDArray[np.int64] | None) -> list[TextSpans]:
    """What to read of each segment: the `wanted` units of allowed files, or all units."""
    found = []
    base = first_unit = 0
    for segment in snapshot.segments:
        files, units = segment.files, segment.units
        may = allowed[base : base + len(files)]
        if wanted is None:
            rows = np.flatnonzero(may)
            text, size = (files[column].astype(np.int64)[rows] for column in ("text", "size"))
            unit, many = (files[column].astype(np.int64)[rows] for column in ("unit", "units"))
            found.append(TextSpans(text, size, np.zeros(len(rows), np.int64), unit, many, rows + base))
        else:
            here = wanted[int(wanted.searchsorted(first_unit)) : int(wanted.searchsorted(first_unit + len(units)))] - first_unit
            found.append(_join_units(segment, here[may[units["file"][here]]], base))
        base += len(files)
        first_unit += len(units)
    return found


def _join_units(segment: Segment, units: NDArray[np.int64], base: int) -> TextSpans:
    """Joins units that are neighbours in one file; `base` is the number of the segment's first file."""
    rows = segment.units
    file, begin, end = (rows[column][units].astype(np.int64) for column in ("file", "start", "end"))
    new = np.full(len(units), True)
    new[1:] = (units[1:] != units[:-1] + 1) | (file[1:] != file[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(units)))
    start = begin[first]
    text = segment.files["text"][file[first]].astype(np.int64) + start
    return TextSpans(text, end[first + counts - 1] - start, start, units[first], counts, file[first] + base)


def _find_units_with(snapshot: Snapshot, piece: bytes) -> NDArray[np.bool_] | None:
    """Units with a term that contains `piece`; None where too many terms do."""
    parts = []
    for segment in snapshot.segments:
        known = segment.substring_units.get(piece)
        if known is None:
            known = (_find_units_in_segment(segment, piece),)
            segment.substring_units.put(piece, known, len(segment.units) // 32)  # one byte per unit
        if known[0] is None:
            return None
        parts.append(known[0])
    return np.concatenate(parts) if parts else None


def _find_units_in_segment(segment: Segment, piece: bytes) -> NDArray[np.bool_] | None:
    numbers = find_terms_containing(segment, piece)
    if numbers is None:
        return None
    mask = np.zeros(len(segment.units), bool)
    for family in ("body", "comments"):
        segment.mark_owners(family, numbers, mask)
    return mask


def find_terms_containing(segment: Segment, piece: bytes) -> Sequence[int] | None:
    """The numbers of terms that contain `piece`, ascending; None where there are too many."""
    ends, kernel = segment.term_ends, native()
    if kernel is not None:
        found: Sequence[int] | None = kernel.terms_with(segment.terms, ends, piece, _MAX_TERMS)
        return found
    blob = segment.term_bytes
    numbers: list[int] = []
    at = blob.find(piece)
    while at >= 0:
        number = bisect_right(ends, at)
        end = ends[number]
        if at + len(piece) <= end:
            numbers.append(number)
            if len(numbers) > _MAX_TERMS:
                return None
            at = blob.find(piece, end)
        else:  # it begins in one term and ends in the next
            at = blob.find(piece, at + 1)
    return numbers


class MatchedUnits(namedtuple("MatchedUnits", "units counts first")):
    """Units with a match, the number of matches in each (at most `MAX_COUNTED`), and where the first begins in its file."""

    units: NDArray[np.int64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


def _batch_by_path(
    snapshot: Snapshot, pattern: TextPattern, spans: Sequence[TextSpans]
) -> Iterator[list[tuple[Segment, int, TextSpans]]]:
    """Batches of spans, files in the order of their paths and no file in two batches; a batch has for each of its segments the
    segment, the number of its first unit, and the spans."""
    if not spans:
        return
    bases, first_unit = [], 0
    for segment in snapshot.segments:
        bases.append(first_unit)
        first_unit += len(segment.units)
    most = max(_MIN_BATCH_BYTES, min(_BATCH_BYTES, _MAX_STEPS // pattern.steps))
    if len(spans) == 1:  # files of a segment are in order already
        for first, last in _batch_spans(spans[0].size.tolist(), spans[0].file.tolist(), most):
            yield [(snapshot.segments[0], 0, TextSpans(*(column[first:last] for column in spans[0])))]
        return
    whole = TextSpans(*(np.concatenate(columns) for columns in zip(*spans, strict=True)))
    owner = np.repeat(np.arange(len(spans)), np.array([len(part.file) for part in spans], np.int64))
    order = np.lexsort((whole.start, snapshot.path_rank[whole.file]))
    for first, last in _batch_spans(whole.size[order].tolist(), whole.file[order].tolist(), most):
        rows = order[first:last]
        owners = owner[rows]
        yield [
            (snapshot.segments[number], bases[number], TextSpans(*(column[rows[owners == number]] for column in whole)))
            for number in sorted(set(owners.tolist()))
        ]


def _search_batch(segment: Segment, pattern: TextPattern, spans: TextSpans) -> MatchedUnits | None:
    """Search the spans of one segment in one go, which is faster than one by one."""
    texts = _read_texts(segment, spans, pattern.plain is not None)
    # All units of these spans by their start in the joined text, so that one search finds the unit of each match.
    counts = spans.units
    owner = np.repeat(np.arange(len(counts)), counts)
    numbers = np.repeat(spans.unit - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    shift = texts.begin - spans.start
    borders = shift[owner] + segment.units["start"][numbers]
    starts = _find_starts(pattern, texts, borders.tolist())
    if not len(starts):
        return None
    place = np.searchsorted(borders, starts, "right") - 1
    distinct, at, many = np.unique(place, return_index=True, return_counts=True)
    return MatchedUnits(numbers[distinct], many, starts[at] - shift[owner[distinct]])


class _Texts(Record):
    """The texts of some spans: separate, or one text where the spans are neighbours."""

    __slots__ = ("sizes", "begin", "separate", "joined")

    def __init__(
        self, sizes: NDArray[np.int64], begin: NDArray[np.int64], separate: list[bytes], joined: bytes | None = None,
    ) -> None:  # fmt: skip
        self.sizes = sizes
        self.begin = begin
        """Where each begins in the joined text."""
        self.separate, self.joined = separate, joined


def _read_texts(segment: Segment, spans: TextSpans, plain: bool) -> _Texts:
    """The texts of some spans. For plain bytes neighbours stay joined; matches that cross a border are dropped later."""
    places, sizes = spans.text, spans.size
    origin, end = int(places[0]), int(places[-1] + sizes[-1])
    section = segment.container.section
    if plain and end - origin == int(sizes.sum()):
        return _Texts(sizes, np.cumsum(sizes) - sizes, [], bytes(section("text", origin, end)))
    starts, lengths = places.tolist(), sizes.tolist()
    joined = np.cumsum(sizes + 1) - (sizes + 1)  # with a line break after each
    if end - origin > 2 * sum(lengths):  # far from each other
        return _Texts(sizes, joined, [bytes(section("text", a, a + n)) for a, n in zip(starts, lengths, strict=True)])
    whole = section("text", origin, end)
    return _Texts(sizes, joined, [bytes(whole[a - origin : a - origin + n]) for a, n in zip(starts, lengths, strict=True)])


def _find_starts(pattern: TextPattern, texts: _Texts, borders: list[int]) -> NDArray[np.int64]:
    """Where matches begin in the joined text, at most `MAX_COUNTED` in each unit."""
    sizes, begin = texts.sizes, texts.begin
    if texts.joined is not None and pattern.plain is not None:
        starts = np.array(pattern.starts(texts.joined, borders, MAX_COUNTED), np.int64)
        text = np.searchsorted(begin, starts, "right") - 1
        return starts[starts + len(pattern.plain) <= (begin + sizes)[text]]
    if pattern.multiline:  # a match that reaches into the next text would hide others
        return _find_starts_separately(pattern, texts, borders)
    joined = b"\n".join(texts.separate)
    starts = np.array(pattern.starts(joined, borders, MAX_COUNTED), np.int64)
    # After the last line break of a text there is no line.
    ends = begin + sizes
    text = np.searchsorted(begin, starts, "right") - 1
    bare = np.array([not text or text.endswith(b"\n") for text in texts.separate])
    inside: NDArray[np.bool_] = (starts < ends[text]) | ((starts == ends[text]) & ~bare[text])
    return starts[inside]


def _find_starts_separately(pattern: TextPattern, texts: _Texts, borders: list[int]) -> NDArray[np.int64]:
    """Where matches begin, searching each text on its own."""
    parts, first = [np.zeros(0, np.int64)], 0
    for text, start in zip(texts.separate, texts.begin.tolist(), strict=True):
        check_cancelled()
        last = bisect_left(borders, start + len(text) + 1, first)
        inner = [border - start for border in borders[first:last]]
        parts.append(np.array(pattern.starts(text, inner, MAX_COUNTED), np.int64) + start)
        first = last
    return np.concatenate(parts)


def _batch_spans(sizes: list[int], files: list[int], most: int) -> Iterator[tuple[int, int]]:
    """First and last position of each batch of spans: about `most` bytes, whole files."""
    first = filled = 0
    for place, size in enumerate(sizes):
        if place > first and filled + size > most and files[place] != files[place - 1]:
            yield first, place
            first, filled = place, 0
        filled += size
    if len(sizes) > first:
        yield first, len(sizes)
