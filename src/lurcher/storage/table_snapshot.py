"""The segments of one generation read as one, whatever their schema: rows are numbered in segment order, over all segments."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import islice

from lurcher.runtime.kernel import np
from lurcher.runtime.stdlib import Generic, Protocol, TypeVar
from lurcher.storage.container import BoundedCache
from lurcher.storage.segment import FILES, MAX_CACHED_ROWS, MAX_CACHED_TERMS, Schema, Segment
from lurcher.storage.tables import PostingSum, TableRows
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from numpy.typing import NDArray

AnySegment = TypeVar("AnySegment", bound=Segment)


class Phrases(Record):
    """Units that hold a phrase, ascending, how often each does, and the byte of its file where it first does."""

    __slots__ = ("units", "counts", "first")

    def __init__(self, units: NDArray[np.int64], counts: NDArray[np.int64], first: NDArray[np.int64]) -> None:
        self.units, self.counts, self.first = units, counts, first


class PhrasePattern(Protocol):
    """What `Snapshot.phrases` needs of a pattern."""

    @property
    def text(self) -> str: ...

    def starts(self, data: bytes) -> list[int]:
        """Where the matches in a text begin."""


class TableSnapshot(Generic[AnySegment]):
    """Columns with dead rows, live rows, terms and postings. Thread-safe for readers: nothing but caches changes."""

    schema: Schema = FILES
    _np: Any = np
    """What joins columns: `np`, or numpy where tables are numpy arrays."""

    def __init__(self, segments: Sequence[AnySegment], generation: int = 0) -> None:
        self.segments = list(segments)
        self.generation = generation
        self._bases: dict[str, list[int]] = {}
        """Table → the number of the first row of each segment, and the total."""
        for kind in self.schema.tables:
            total, bases = 0, []
            for segment in self.segments:
                bases.append(total)
                total += int(segment.meta[kind])
            self._bases[kind] = [*bases, total]
        self._postings: BoundedCache[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.uint8]]]
        self._postings = BoundedCache(MAX_CACHED_ROWS)
        self._prefixed: BoundedCache[tuple[str, str | None, int], list[str]] = BoundedCache(MAX_CACHED_TERMS)
        self._columns: dict[tuple[str, str], NDArray[Any]] = {}

    def _place(self, kind: str, number: int) -> tuple[AnySegment, int]:
        """The segment that holds a row of a table, and its number there."""
        if len(self.segments) == 1:
            return self.segments[0], number
        bases = self._bases[kind]
        position = bisect_right(bases, number) - 1
        while position >= len(self.segments):
            position -= 1
        return self.segments[position], number - bases[position]

    def _number_rows(self, kind: str, column: str, base: str) -> NDArray[np.int64]:
        """A column of row numbers of the table `base`, converted from numbers within a segment to numbers over all."""
        parts = []
        for segment, offset in zip(self.segments, self._bases[base], strict=False):
            rows = segment.table(kind)
            parts.append(
                rows.as_numbers(column, offset) if type(rows) is TableRows else rows[column].astype(np.int64) + offset
            )
        return parts[0] if len(parts) == 1 else self._np.concatenate(parts or [self._np.zeros(0, np.int64)])

    def column(self, kind: str, column: str) -> NDArray[Any]:
        """A column of a table as it is stored, over all segments."""
        known = self._columns.get((kind, column))
        if known is None:
            known = self._columns[kind, column] = self._join_column(kind, column)
        return known

    def _join_column(self, kind: str, column: str) -> NDArray[Any]:
        columns: list[NDArray[Any]] = [segment.table(kind)[column] for segment in self.segments]
        if len(columns) != 1:
            columns = [self._np.concatenate(columns) if columns else self._np.zeros(0, np.int64)]
        return columns[0]

    @cached_property
    def live_rows(self) -> NDArray[np.bool_]:
        """Which rows of the main table are live."""
        live: NDArray[np.bool_] = self._np.concatenate([
            self._np.ones(int(segment.meta[self.schema.main]), bool) if segment.live is None else segment.live
            for segment in self.segments
        ] or [self._np.zeros(0, bool)])  # fmt: skip
        return live

    @property
    def _all_live(self) -> bool:
        return all(segment.live is None for segment in self.segments)

    def knows(self, term: str) -> bool:
        """Whether any segment has the term, in live rows or dead ones."""
        for segment in self.segments:  # noqa: SIM110 - called so often that a generator would be noticeable
            if segment.find(term) >= 0:
                return True
        return False

    def postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Live owners of `term`, ascending and numbered across segments, with counts."""
        key = family, term
        known = self._postings.get(key)
        if known is None:
            known = self._collect_postings(family, term)
            self._postings.put(key, known, len(known[0]))
        return known

    def _collect_postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        parts = []
        for segment, offset in zip(self.segments, self._bases[self.schema.fields[family]], strict=False):
            number = segment.find(term)
            found = segment.postings(family, number) if number >= 0 else None
            if found is not None:
                parts.append((found[0] + offset, found[1]) if offset else found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate([owners for owners, _ in parts]), np.concatenate([counts for _, counts in parts])

    def add_postings(self, total: PostingSum, fields: Iterable[tuple[str, float]], term: str) -> None:
        """Add the counts of `term` in fields of units, or of files, times the weight of each field."""
        found = [(place, number) for place, segment in enumerate(self.segments) if (number := segment.find(term)) >= 0]
        for family, weight in fields:
            bases = self._bases[self.schema.fields[family]]
            for place, number in found:
                self.segments[place].add_postings(total, family, number, bases[place], weight)

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        """Known terms that begin with `prefix`, sorted: all of `family` where one is given, else the first `most`."""
        key = prefix, family, most
        known = self._prefixed.get(key)
        if known is None:
            known = self._with_prefix(prefix, family, most)
            self._prefixed.put(key, known, len(known))
        return known

    def _with_prefix(self, prefix: str, family: str | None, most: int) -> list[str]:
        key = prefix.encode("utf-8", "surrogatepass")
        found: dict[str, None] = {}  # in order already where there is one segment
        ranges = [(segment.lower_bound(key), segment.lower_bound(key + b"\xff")) for segment in self.segments]
        if family is not None:
            for segment, (first, last) in zip(self.segments, ranges, strict=True):
                found.update(dict.fromkeys(map(segment.term_text, segment.terms_in_family(family, first, last))))
            return sorted(found)
        # Terms of dead rows only matter where they crowd out others.
        crowded = sum(last - first for first, last in ranges) >= most
        for segment, (first, last) in zip(self.segments, ranges, strict=True):
            if crowded and segment.live is not None:
                numbers = filter(segment.is_live, range(first, last))
                found.update(dict.fromkeys(map(segment.term_text, islice(numbers, most))))
            else:
                found.update(dict.fromkeys(segment.term_texts(first, max(first, min(last, first + most)))))
        return sorted(found)[:most]
