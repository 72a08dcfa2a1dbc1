"""Files of the local index in the form that a store holds: their parts of every table, taken out of the segments.

Postings are stored term by term. Those of a large segment are read once and dealt out to groups of files, on disk, so that
memory does not grow with the segment.
"""

from __future__ import annotations

import contextlib
import tempfile
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
"""Units of a group of files, whose postings are in memory at the same time."""
_ROW_BATCH = 400_000
"""Rows of postings that are decoded at a time."""
_ROW = [("file", "<i4"), ("term", "<u4"), ("owner", "<i4"), ("family", "u1"), ("count", "u1")]
_ROW_BYTES = 14
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
    groups = list(_group(segment, items))
    with _Postings(segment, groups) as postings:
        for number, group in enumerate(groups):
            yield from _FileGroup(segment, group, postings.rows(number), hashes, vectors, model).files()


def _group(segment: Segment, items: Sequence[ExportItem]) -> Iterator[list[ExportItem]]:
    """The files in the segment's order, in groups of at most `UNITS_AT_ONCE` units or one file."""
    group: list[ExportItem] = []
    units = 0
    for file in sorted(items, key=lambda item: item.place):
        count = int(segment.tables.files["units"][file.place])
        if group and units + count > UNITS_AT_ONCE:
            yield group
            group, units = [], 0
        group.append(file)
        units += count
    if group:
        yield group


class _Postings(contextlib.AbstractContextManager["_Postings"]):
    """The postings of groups of files, each by family, term and owner; in a temporary file if there are several groups."""

    def __init__(self, segment: Segment, groups: Sequence[Sequence[ExportItem]]) -> None:
        import numpy as np

        self._rows: list[NDArray[Any]] = []
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in groups]
        """For each group, where its rows are in the temporary file, and how many."""
        self._file = tempfile.TemporaryFile(prefix="lurcher-") if len(groups) > 1 else None  # noqa: SIM115 (see __exit__)
        numbers = np.full(len(segment.tables.files), -1, np.int32)
        of_group = np.zeros(len(segment.tables.files), np.int32)
        for group, items in enumerate(groups):
            places = [item.place for item in items]
            numbers[places], of_group[places] = np.arange(len(places)), group
        try:
            for rows, files in _read_rows(segment, numbers):
                self._add(rows, of_group[files])
        except BaseException:
            self.__exit__()
            raise

    def _add(self, rows: NDArray[Any], groups: NDArray[np.int32]) -> None:
        import numpy as np

        if self._file is None:
            self._rows.append(rows)
            return
        order = np.argsort(groups, kind="stable")
        found, counts = np.unique(groups, return_counts=True)
        place = self._file.tell()
        self._file.write(rows[order].tobytes())
        for group, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._pieces[group].append((place, count))
            place += count * _ROW_BYTES

    def rows(self, group: int) -> NDArray[Any]:
        """Those of one group: the number of the file in it, term, owner in the file, family, count."""
        import numpy as np

        if self._file is None:
            return np.concatenate(self._rows) if self._rows else np.zeros(0, _ROW)
        pieces = []
        for place, count in self._pieces[group]:
            self._file.seek(place)
            pieces.append(self._file.read(count * _ROW_BYTES))
        return np.frombuffer(b"".join(pieces), _ROW)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def _read_rows(segment: Segment, numbers: NDArray[np.int32]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Postings of the files that have a number, in batches: rows, and the place of each one's file in the segment."""
    import numpy as np

    tables = segment.tables
    first_unit, first_definition = tables.files["unit"], tables.files["definition"]
    for code, family in enumerate(FAMILIES):
        for terms, owners, counts in _read_postings(segment.container, family):
            if family in FILE_FIELDS:
                files, base = owners, owners
            elif family in DEFINITION_FIELDS:
                files = tables.definitions["file"][owners]
                base = first_definition[files]
            else:
                files = tables.units["file"][owners]
                base = first_unit[files]
            mask = numbers[files] >= 0
            rows = np.empty(int(mask.sum()), _ROW)
            rows["file"], rows["term"], rows["family"] = numbers[files[mask]], terms[mask], code
            rows["owner"], rows["count"] = (owners.astype(np.int64) - base)[mask], counts[mask]
            yield rows, files[mask]


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
        self, segment: Segment, items: Sequence[ExportItem], postings: NDArray[Any], hashes: _TermHashes,
        vectors: Vectors | None, model: str,
    ) -> None:  # fmt: skip
        self._segment, self._items, self._hashes, self._vectors, self._model = segment, items, hashes, vectors, model
        self._rows = segment.tables.files[[file.place for file in items]]
        self._sort_postings(postings)
        self._sparse = self._sparse_vectors()

    def _sort_postings(self, rows: NDArray[Any]) -> None:
        import numpy as np

        # Families follow each other, each by term and owner: a stable sort by file and term keeps that order.
        rows = rows[np.argsort((rows["file"].astype(np.int64) << 32) | rows["term"], kind="stable")]
        self._files, self._terms = rows["file"].astype(np.int64), rows["term"].astype(np.int64)
        self._families, self._owners, self._counts = rows["family"].copy(), rows["owner"].astype(np.int64), rows["count"].copy()
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
