"""Files of the local index in the form that a store holds: their parts of every table, taken out of the segments.

Postings are stored term by term; those of a file are collected by reading all postings once for many files at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lurcher.lanes.lexical import FIELD_WEIGHTS
from lurcher.storage.container import Container
from lurcher.storage.merge import expand_ranges
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, FILE_FIELDS, FILES, KINDS, UNIT_FIELDS, Segment, decode_string
from lurcher.storage.vectors import Vectors, read_vectors
from lurcher.stores.base import Sparse, StoredFile, StoredUnit
from lurcher.stores.query import role_factors, saturate
from lurcher.stores.records import SPARSE_MASK, RecordParts, encode_record, hash_bytes
from lurcher.types import HEADING, HEADING_PATH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNITS_AT_ONCE = 20_000
"""Units whose postings are in memory at the same time, about 1.5 KB each; of a large segment more."""
_PASSES = 10
"""How often all postings of a large segment are read: for each 20,000 of a million units would be 50 times."""
_ROW_BATCH = 400_000
"""Rows of postings that are decoded at a time."""
_DEFINITIONS, _STEM = FAMILIES.index("definitions"), FAMILIES.index("stem")


@dataclass(frozen=True, slots=True)
class ExportItem:
    """A file to export."""

    place: int
    """Its number in the segment."""
    key: str
    digest: str


def export_files(segment: Segment, items: Sequence[ExportItem], model: str) -> Iterator[StoredFile]:
    """The given files of a segment, in the segment's order; `model` names what made its vectors."""
    hashes = _TermHashes(segment)
    vectors = read_vectors(segment.vectors) if segment.vectors is not None else None
    group: list[ExportItem] = []
    units, most = 0, max(UNITS_AT_ONCE, int(segment.meta["units"]) // _PASSES)
    for file in sorted(items, key=lambda item: item.place):
        count = int(segment.tables.files["units"][file.place])
        if group and units + count > most:
            yield from _FileGroup(segment, group, hashes, vectors, model).files()
            group, units = [], 0
        group.append(file)
        units += count
    if group:
        yield from _FileGroup(segment, group, hashes, vectors, model).files()


class _TermHashes:
    """Hashes of a segment's terms, computed when they are first needed."""

    def __init__(self, segment: Segment) -> None:
        import numpy as np

        self._segment = segment
        self._numbers = np.zeros(int(segment.meta["terms"]), np.uint64)
        self._known = np.zeros(len(self._numbers), bool)

    def __getitem__(self, terms: NDArray[Any]) -> NDArray[np.uint64]:
        import numpy as np

        missing = np.unique(terms[~self._known[terms]])
        if len(missing):
            self._numbers[missing] = [hash_bytes(self._segment.term_at(term)) for term in missing.tolist()]
            self._known[missing] = True
        found: NDArray[np.uint64] = self._numbers[terms]
        return found

    def text(self, term: int) -> str:
        return self._segment.term_text(term)


class _FileGroup:
    """Some files of one segment, with their postings ordered by file, term and family."""

    def __init__(
        self, segment: Segment, items: Sequence[ExportItem], hashes: _TermHashes, vectors: Vectors | None, model: str
    ) -> None:
        self._segment, self._items, self._hashes, self._vectors, self._model = segment, items, hashes, vectors, model
        self._rows = segment.tables.files[[file.place for file in items]]
        self._collect_postings()
        self._sparse = self._sparse_vectors()

    def _collect_postings(self) -> None:
        import numpy as np

        segment = self._segment
        number = np.full(len(segment.tables.files), -1, np.int64)
        number[[file.place for file in self._items]] = np.arange(len(self._items))
        first_unit, first_definition = self._rows["unit"].astype(np.int64), self._rows["definition"].astype(np.int64)
        columns: list[list[NDArray[Any]]] = [[], [], [], [], []]
        for code, family in enumerate(FAMILIES):
            for terms, owners, counts in _read_postings(segment.container, family):
                if family in FILE_FIELDS:
                    files, base = number[owners], np.zeros(len(self._items), np.int64)
                    owners = np.zeros(len(owners), np.int64)
                elif family in DEFINITION_FIELDS:
                    files, base = number[segment.tables.definitions["file"][owners]], first_definition
                else:
                    files, base = number[segment.tables.units["file"][owners]], first_unit
                mask = files >= 0
                files = files[mask]
                columns[0].append(files)
                columns[1].append(terms[mask].astype(np.int64))
                columns[2].append(np.full(len(files), code, np.uint8))
                columns[3].append(owners[mask].astype(np.int64) - base[files])
                columns[4].append(counts[mask])
        files, terms, families, owners, counts = (
            np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in columns
        )
        # Families follow each other, each by term and owner: a stable sort by file and term keeps that order.
        order = np.argsort((files << 32) | terms, kind="stable")
        self._files, self._terms, self._families = files[order], terms[order], families[order].astype(np.uint8)
        self._owners, self._counts = owners[order], counts[order].astype(np.uint8)
        self._borders = np.searchsorted(self._files, np.arange(len(self._items) + 1))

    def _sparse_vectors(self) -> list[Sparse]:
        """The sparse vector of each unit, in the order of files and units."""
        import numpy as np

        sizes = self._rows["units"].astype(np.int64)
        base = np.cumsum(sizes) - sizes
        weights = np.array([FIELD_WEIGHTS.get(family, 0.0) for family in FAMILIES])
        of_units = np.isin(self._families, [FAMILIES.index(family) for family in UNIT_FIELDS])
        of_files = np.isin(self._families, [FAMILIES.index(family) for family in FILE_FIELDS]) & (self._counts > 0)
        numbers = (self._hashes[self._terms] & np.uint64(SPARSE_MASK)).astype(np.int64)
        amounts = self._counts * weights[self._families]
        spread = np.repeat(np.flatnonzero(of_files), sizes[self._files[of_files]])
        units = np.concatenate((
            base[self._files[of_units]] + self._owners[of_units],
            expand_ranges(base[self._files[of_files]], sizes[self._files[of_files]]),
        ))  # fmt: skip
        keys = (units << 32) | np.concatenate((numbers[of_units], numbers[spread]))
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], np.concatenate((amounts[of_units], amounts[spread]))[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        tf = np.add.reduceat(values, first) if len(first) else np.zeros(0)
        units, numbers = keys[first] >> 32, (keys[first] & SPARSE_MASK).astype(np.uint32)
        found = saturate(tf, self._lengths(sizes)[units], np.repeat(role_factors(self._rows["roles"]), sizes)[units])
        borders = np.searchsorted(units, np.arange(int(sizes.sum()) + 1)).tolist()
        return [Sparse(numbers[a:b], found[a:b]) for a, b in pairwise(borders)]

    def _lengths(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        import numpy as np

        rows = self._segment.tables.units[expand_ranges(self._rows["unit"], sizes)]
        total = np.zeros(len(rows))
        for field, weight in FIELD_WEIGHTS.items():
            values = rows[field] if field in UNIT_FIELDS else np.repeat(self._rows[field], sizes)
            total += weight * values.astype(np.float64)
        return total

    def files(self) -> Iterator[StoredFile]:
        done = 0
        for number, file in enumerate(self._items):
            found = self._file(number, file, done)
            done += len(found.units)
            yield found

    def _file(self, number: int, file: ExportItem, before: int) -> StoredFile:
        import numpy as np

        segment, row = self._segment, self._rows[number]
        first, count = int(row["unit"]), int(row["units"])
        start, defined = int(row["definition"]), int(row["definitions"])
        units = segment.tables.units[first : first + count].copy()
        definitions = segment.tables.definitions[start : start + defined].copy()
        strings, moved = self._strings(file.place, definitions)
        units["file"] = definitions["file"] = 0
        units["definition"][units["definition"] >= 0] -= start
        definitions["unit"] -= first
        for column in ("name", "container", "signature"):
            definitions[column] -= moved
        a, b = int(self._borders[number]), int(self._borders[number + 1])
        terms = self._terms[a:b]
        heads = np.flatnonzero(np.diff(terms, prepend=-1))
        path, language = segment.path(file.place), str(segment.meta["languages"][int(row["language"])])
        vectors = scales = card = None
        card_scale = 0.0
        if self._vectors is not None:
            vectors, scales = self._vectors.units[first : first + count], self._vectors.unit_scales[first : first + count]
            card, card_scale = self._vectors.cards[file.place], float(self._vectors.card_scales[file.place])
        record = encode_record(RecordParts(
            self._rows[number : number + 1], units, definitions, self._hashes[terms[heads]],
            np.diff(np.append(heads, len(terms))).astype(np.uint32), self._families[a:b], self._owners[a:b].astype(np.uint32),
            self._counts[a:b], vectors, scales, card, card_scale, strings, path, language,
        ))  # fmt: skip
        text = bytes(segment.container.section("text", int(row["text"]), int(row["text"]) + int(row["size"])))
        made = [
            self._unit(unit, text, definitions, strings, path, before + i, vectors, scales, i) for i, unit in enumerate(units)
        ]
        return StoredFile(
            file.key, path, language, file.digest, self._names(terms, a, b),
            None if card is None or not card_scale else _unit_vector(card, card_scale), tuple(made), record,
        )  # fmt: skip

    def _unit(
        self, unit: Any, text: bytes, definitions: NDArray[Any], strings: bytes, path: str, number: int,
        vectors: NDArray[np.int8] | None, scales: NDArray[np.float32] | None, i: int,
    ) -> StoredUnit:  # fmt: skip
        body = text[int(unit["start"]) : int(unit["end"])]
        shown = int(unit["definition"])
        symbol = kind = ""
        if shown >= 0:
            row = definitions[shown]
            kind = KINDS[int(row["kind"])]
            container, name = decode_string(strings, int(row["container"])), decode_string(strings, int(row["name"]))
            symbol = f"{container}{HEADING_PATH if kind == HEADING else '.'}{name}" if container else name
        dense = None if vectors is None or scales is None or not scales[i] else _unit_vector(vectors[i], float(scales[i]))
        digest = blake2b(f"{self._model}\0{path}\0".encode("utf-8", "replace") + body, digest_size=16).hexdigest()
        return StoredUnit(
            int(unit["line"]), int(unit["last"]), symbol, kind, body.decode("utf-8", "replace"), digest, dense,
            self._sparse[number],
        )  # fmt: skip

    def _strings(self, place: int, definitions: NDArray[Any]) -> tuple[bytes, int]:
        """The strings of a file's definitions, and their offset in the segment."""
        segment = self._segment
        starts, following = segment.tables.files["strings"], place + 1
        begin = int(starts[place])
        end = int(starts[following]) if following < len(starts) else segment.container.length("strings")
        return bytes(segment.container.section("strings", begin, end)), begin

    def _names(self, terms: NDArray[np.int64], a: int, b: int) -> tuple[str, ...]:
        families = self._families[a:b]
        defined = {self._hashes.text(term) for term in terms[families == _DEFINITIONS].tolist()}
        called = {"/" + self._hashes.text(term) for term in terms[families == _STEM].tolist()}
        return tuple(sorted(name for name in defined | called if name.isprintable()))


def _read_postings(container: Container, family: str) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """All rows of a family as (terms, owners, counts), in batches."""
    for first, last in term_ranges(container, family):
        rows = read_lists(container, family, open_lists(container, family), first, last, FILES.count_owners(container, family))
        yield rows.terms, rows.owners, rows.counts


def term_ranges(container: Container, family: str) -> Iterator[tuple[int, int]]:
    """Ranges of a family's terms, split by their number of rows."""
    import numpy as np

    lists = open_lists(container, family)
    first, rows = 0, lists.rows.astype(np.int64)
    while first < len(rows):
        before = int(rows[first - 1]) if first else 0
        last = max(int(np.searchsorted(rows, before + _ROW_BATCH, "right")), first + 1)
        yield first, last
        first = last


def _unit_vector(row: NDArray[np.int8], scale: float) -> NDArray[np.float32]:
    """A row as a vector of length one."""
    import numpy as np

    vector = row.astype(np.float32) * np.float32(scale)
    length = float(np.sqrt((vector.astype(np.float64) ** 2).sum()))
    found: NDArray[np.float32] = vector / np.float32(length) if length > 0 else vector
    return found
