"""Reads a segment: tables, terms, postings and strings, and which rows of its main table are live."""

from __future__ import annotations

from itertools import accumulate

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, bisect_left, cached_property
from lurcher.storage.container import BoundedCache, Container, Layout
from lurcher.storage.postings import PostingSum, PostingViews, broken_postings, open_views, read_list, stored_list
from lurcher.storage.segment import EXPORTED, FILES, KINDS, Schema, decode_string, read_rows, read_string, read_table
from lurcher.types import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

MAX_CACHED_ROWS = 1_000_000
"""Decoded postings that are cached, about 16 bytes each."""
MAX_CACHED_TERMS = 50_000


class Tables(NamedTuple):
    files: NDArray[Any]
    units: NDArray[Any]
    definitions: NDArray[Any]


class Segment:
    """One mapped segment; `live` is the mask of the live rows of its main table (None: all)."""

    schema: Schema = FILES

    def __init__(self, container: Container, live: NDArray[np.bool_] | None = None, prefix: str = "") -> None:
        self.container = container
        self.vectors: Container | None = container
        """The container with its vectors of the model in use: the segment itself, a sidecar, or None."""
        self.live = live
        self.prefix = prefix
        # Lanes and evidence read the same postings, and the same term in several fields.
        self._decoded: BoundedCache[tuple[str, int], tuple[tuple[NDArray[np.int64], NDArray[np.uint8]] | None]] = BoundedCache(
            MAX_CACHED_ROWS
        )
        self._numbers: BoundedCache[str, int] = BoundedCache(MAX_CACHED_TERMS)
        self.substring_units: BoundedCache[bytes, tuple[NDArray[np.bool_] | None]] = BoundedCache(MAX_CACHED_ROWS)
        """Cache of the literal lane: some bytes → units that have a term with these bytes in it."""
        self.meta = container.meta

    @property
    def is_trusted(self) -> bool:
        """Whether its files are known to be as they were written, or are in memory only."""
        return all(file.trusted or file.stamp is None for file in (self.container, self.vectors) if file is not None)

    @cached_property
    def _tables(self) -> dict[str, NDArray[Any]]:
        return {}

    def table(self, name: str) -> NDArray[Any]:
        """The rows of a table of the schema."""
        known = self._tables.get(name)
        if known is None:
            known = self._tables[name] = read_table(self.container, name, self.schema, self._read_rows)
        return known

    def _read_rows(self, name: str, layout: Layout) -> NDArray[Any]:
        return read_rows(self.container, name, layout)

    @cached_property
    def files(self) -> NDArray[Any]:
        return self.table("files")

    @cached_property
    def units(self) -> NDArray[Any]:
        return self.table("units")

    @cached_property
    def definitions(self) -> NDArray[Any]:
        return self.table("definitions")

    @cached_property
    def tables(self) -> Tables:
        """Files, units and definitions as numpy arrays, for exports."""
        return Tables(*(read_table(self.container, name) for name in Tables._fields))

    @cached_property
    def _families(self) -> dict[str, PostingViews]:
        return {}

    @cached_property
    def terms(self) -> memoryview:
        """All terms, concatenated; `term_ends` has the end of each."""
        return self.container.section("terms")

    @cached_property
    def term_bytes(self) -> bytes:
        """The same as bytes."""
        return bytes(self.terms)

    @cached_property
    def term_ends(self) -> memoryview:
        return self.container.typed_section("term_ends", "<u4").cast("I")

    def term_at(self, number: int) -> bytes:
        ends = self.term_ends
        if not 0 <= number < len(ends):  # the number comes from a family, which may be damaged
            raise self.container.corrupt("a term refers to something that does not exist")
        return bytes(self.terms[ends[number - 1] if number else 0 : ends[number]])

    def term_text(self, number: int) -> str:
        try:
            return self.term_at(number).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self.container.corrupt("a term is not text") from error

    def term_texts(self, first: int, last: int) -> list[str]:
        """The terms with the numbers [first, last)."""
        kernel = native()
        if kernel is None:
            return [self.term_text(number) for number in range(first, last)]
        try:
            found: list[str] = kernel.texts(self.terms, self.term_ends, first, last)
        except UnicodeDecodeError as error:
            raise self.container.corrupt("a term is not text") from error
        return found

    def lower_bound(self, term: bytes) -> int:
        """The position of the first term that is not below `term`."""
        kernel = native()
        if kernel is not None:
            found: int = kernel.lower_bound(self.terms, self.term_ends, term)
            return found
        low, high = 0, len(self.term_ends)
        while low < high:
            middle = (low + high) // 2
            if self.term_at(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, term: str) -> int:
        """The number of a term, or -1."""
        known = self._numbers.get(term)
        if known is None:
            known = self._find(term)
            self._numbers.put(term, known, 0)
        return known

    def _find(self, term: str) -> int:
        key = term.encode("utf-8", "surrogatepass")
        position = self.lower_bound(key)
        return position if position < len(self.term_ends) and self.term_at(position) == key else -1

    def _family(self, family: str) -> PostingViews:
        known = self._families.get(family)
        if known is None:
            known = self._families[family] = open_views(self.container, family)
        return known

    def terms_in_family(self, family: str, first: int, last: int) -> list[int]:
        """The numbers in [first, last) of terms that occur in `family`."""
        terms = self._family(family).terms
        return terms[bisect_left(terms, first) : bisect_left(terms, last)].tolist()

    def postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        """The live owners of a term in `family`, with counts; None where it does not occur."""
        key = family, term
        known = self._decoded.get(key)
        if known is None:
            found = self._live_postings(family, term)
            known = (found,)
            self._decoded.put(key, known, len(found[0]) if found else 0)
        return known[0]

    def add_postings(self, total: PostingSum, family: str, term: int, first: int, weight: float) -> None:
        """Add the counts of a term times a weight to `total`; `first` is added to the numbers of owners."""
        if native() is None or self.live is not None:
            found = self.postings(family, term)
            if found is not None:
                total.add(found[0] + first if first else found[0], found[1], weight)
            return
        views = self._family(family)
        place = views.place(term)
        if place >= 0:
            data, rows = stored_list(self.container, family, views, place)
            total.add_list(
                data, rows, self._owner_total(family), first, weight, lambda: broken_postings(self.container, family)
            )

    def mark_owners(self, family: str, terms: Sequence[int], mask: NDArray[np.bool_]) -> None:
        """Set `mask` for all owners, live or dead, of ascending terms in `family`."""
        views, kernel = self._family(family), native()
        if kernel is None:
            for place in filter(lambda place: place >= 0, map(views.place, terms)):
                mask[read_list(self.container, family, views, place, self._owner_total(family))[0]] = True
            return
        spans = kernel.spans(terms, *views)
        if spans is None or not kernel.mark(self.container.section_with_parts(f"{family}.data", *spans[:2]), *spans, mask):
            raise broken_postings(self.container, family)

    def is_live(self, term: int) -> bool:
        """Whether any live row has the term."""
        return any((found := self.postings(family, term)) is not None and len(found[0]) for family in self.schema.families)

    def _live_postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        found = self._postings(family, term)
        if found is None or self.live is None:
            return found
        owners, counts = found
        table = self.schema.tables[self.schema.fields[family]]
        kept = self.live[self.table(table.name)[table.owner][owners] if table.owner else owners]
        return owners[kept], counts[kept]

    def _postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        views = self._family(family)
        position = views.place(term)
        return None if position < 0 else read_list(self.container, family, views, position, self._owner_total(family))

    def _owner_total(self, family: str) -> int:
        return self.schema.count_owners(self.container, family)

    def string(self, offset: int) -> str:
        return read_string(self.container, "strings", offset)

    @cached_property
    def bloom(self) -> memoryview:
        """The Bloom filter over the text."""
        return self.container.section("bloom")

    def paths(self) -> Iterator[str]:
        """The paths of all files in order, dead ones included."""
        blob, offsets = bytes(self.container.section("paths")), self.files["path"].tolist()
        parts = blob.split(b"\0")[:-1]
        # In the order of the files, unless the segment was tampered with.
        if list(accumulate(map(len, parts), lambda place, size: place + size + 1, initial=0))[:-1] == offsets:
            yield from (self.prefix + part.decode("utf-8", "replace") for part in parts)
            return
        for offset in offsets:
            yield self.prefix + decode_string(blob, offset)

    def path(self, file: int) -> str:
        return self.prefix + read_string(self.container, "paths", int(self.files["path"][file]))


def decode_definitions(segment: Segment, rows: NDArray[Any]) -> list[Definition]:
    """Decode the definitions of one file, reading their neighbouring strings at once."""
    columns = ("name", "container", "signature")
    start = min(int(rows[column].min()) for column in columns)
    last = max(int(rows[column].max()) for column in columns)
    strings = bytes(segment.container.section("strings", start, last)) + segment.string(last).encode("utf-8", "replace")
    kept: dict[int, str] = {}

    def text(offset: int) -> str:
        known = kept.get(offset)
        if known is None:
            known = kept[offset] = decode_string(strings, offset - start)
        return known

    return [
        Definition(text(name), KINDS[kind], text(container), text(signature), begin, end, line, final, bool(flags & EXPORTED))
        for _, _, begin, end, line, final, name, container, signature, kind, flags, _ in rows.tolist()
    ]


def decode_definition(segment: Segment, row: Any) -> Definition:
    _, _, begin, end, line, final, name, container, signature, kind, flags, _ = row.item()
    text = segment.string
    return Definition(
        text(name), KINDS[kind], text(container), text(signature), begin, end, line, final, bool(flags & EXPORTED)
    )
