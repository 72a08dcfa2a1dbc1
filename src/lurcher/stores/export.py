"""Files of the local index as a store keeps them: their slices of every table, taken out of the segments.

Postings lie word by word; a file's are got by going through all of them once for many files at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lurcher.storage.container import Container
from lurcher.storage.merge import expand_ranges
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, FILE_FIELDS, KINDS, UNIT_FIELDS, count_owners, decode_string
from lurcher.storage.segment_reader import Segment
from lurcher.storage.vectors import Vectors, read_vectors
from lurcher.stores.base import Sparse, StoredFile, StoredUnit
from lurcher.stores.record import Parts, packed
from lurcher.stores.sparse import WEIGHTS, saturated, standing_of
from lurcher.stores.term_hash import SPARSE_BITS, number_of_bytes
from lurcher.types import HEADING, HEADING_PATH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNITS_AT_ONCE = 20_000
"""Units whose postings are in memory together."""
_ROWS_AT_ONCE = 400_000
_DEFINITIONS, _STEM = FAMILIES.index("definitions"), FAMILIES.index("stem")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that is to be sent."""

    place: int
    """In its segment."""
    key: str
    digest: str


def stored_files(segment: Segment, wanted: Sequence[Wanted], model: str) -> Iterator[StoredFile]:
    """The wanted files of a segment, in their order in it; `model` names what its vectors are made by."""
    words = _Words(segment)
    vectors = read_vectors(segment.vectors) if segment.vectors is not None else None
    group: list[Wanted] = []
    units = 0
    for file in sorted(wanted, key=lambda item: item.place):
        count = int(segment.tables.files["units"][file.place])
        if group and units + count > UNITS_AT_ONCE:
            yield from _Group(segment, group, words, vectors, model).files()
            group, units = [], 0
        group.append(file)
        units += count
    if group:
        yield from _Group(segment, group, words, vectors, model).files()


class _Words:
    """The number of each word of a segment, worked out for those that are asked for."""

    def __init__(self, segment: Segment) -> None:
        import numpy as np

        self._segment = segment
        self._numbers = np.zeros(int(segment.meta["terms"]), np.uint64)
        self._known = np.zeros(len(self._numbers), bool)

    def __getitem__(self, terms: NDArray[Any]) -> NDArray[np.uint64]:
        import numpy as np

        missing = np.unique(terms[~self._known[terms]])
        if len(missing):
            self._numbers[missing] = [number_of_bytes(self._segment.term_at(term)) for term in missing.tolist()]
            self._known[missing] = True
        found: NDArray[np.uint64] = self._numbers[terms]
        return found

    def text(self, term: int) -> str:
        return self._segment.term_text(term)


class _Group:
    """Some files of one segment, with all their postings by file, word and family."""

    def __init__(
        self, segment: Segment, wanted: Sequence[Wanted], words: _Words, vectors: Vectors | None, model: str
    ) -> None:
        self._segment, self._wanted, self._words, self._vectors, self._model = segment, wanted, words, vectors, model
        self._rows = segment.tables.files[[file.place for file in wanted]]
        self._gather()
        self._sparse = self._vectors_of_words()

    def _gather(self) -> None:
        import numpy as np

        segment = self._segment
        number = np.full(len(segment.tables.files), -1, np.int64)
        number[[file.place for file in self._wanted]] = np.arange(len(self._wanted))
        first_unit, first_definition = self._rows["unit"].astype(np.int64), self._rows["definition"].astype(np.int64)
        columns: list[list[NDArray[Any]]] = [[], [], [], [], []]
        for code, family in enumerate(FAMILIES):
            for terms, owners, counts in _postings(segment.container, family):
                if family in FILE_FIELDS:
                    files, base = number[owners], np.zeros(len(self._wanted), np.int64)
                    owners = np.zeros(len(owners), np.int64)
                elif family in DEFINITION_FIELDS:
                    files, base = number[segment.tables.definitions["file"][owners]], first_definition
                else:
                    files, base = number[segment.tables.units["file"][owners]], first_unit
                kept = files >= 0
                files = files[kept]
                columns[0].append(files)
                columns[1].append(terms[kept].astype(np.int64))
                columns[2].append(np.full(len(files), code, np.uint8))
                columns[3].append(owners[kept].astype(np.int64) - base[files])
                columns[4].append(counts[kept])
        files, terms, families, owners, counts = (
            np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in columns
        )
        # Families follow each other, each by word and owner: a stable order by file and word leaves the rest as it is.
        order = np.argsort((files << 32) | terms, kind="stable")
        self._files, self._terms, self._families = files[order], terms[order], families[order].astype(np.uint8)
        self._owners, self._counts = owners[order], counts[order].astype(np.uint8)
        self._borders = np.searchsorted(self._files, np.arange(len(self._wanted) + 1))

    def _vectors_of_words(self) -> list[Sparse]:
        """The sparse vector of each unit, in the order of files and units."""
        import numpy as np

        sizes = self._rows["units"].astype(np.int64)
        base = np.cumsum(sizes) - sizes
        weights = np.array([WEIGHTS.get(family, 0.0) for family in FAMILIES])
        of_units = np.isin(self._families, [FAMILIES.index(family) for family in UNIT_FIELDS])
        of_files = np.isin(self._families, [FAMILIES.index(family) for family in FILE_FIELDS]) & (self._counts > 0)
        numbers = (self._words[self._terms] & np.uint64(SPARSE_BITS)).astype(np.int64)
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
        units, numbers = keys[first] >> 32, (keys[first] & SPARSE_BITS).astype(np.uint32)
        found = saturated(tf, self._lengths(sizes)[units], np.repeat(standing_of(self._rows["roles"]), sizes)[units])
        borders = np.searchsorted(units, np.arange(int(sizes.sum()) + 1)).tolist()
        return [Sparse(numbers[a:b], found[a:b]) for a, b in pairwise(borders)]

    def _lengths(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        import numpy as np

        rows = self._segment.tables.units[expand_ranges(self._rows["unit"], sizes)]
        total = np.zeros(len(rows))
        for field, weight in WEIGHTS.items():
            values = rows[field] if field in UNIT_FIELDS else np.repeat(self._rows[field], sizes)
            total += weight * values.astype(np.float64)
        return total

    def files(self) -> Iterator[StoredFile]:
        done = 0
        for number, file in enumerate(self._wanted):
            found = self._file(number, file, done)
            done += len(found.units)
            yield found

    def _file(self, number: int, file: Wanted, before: int) -> StoredFile:
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
        record = packed(Parts(
            self._rows[number : number + 1], units, definitions, self._words[terms[heads]],
            np.diff(np.append(heads, len(terms))).astype(np.uint32), self._families[a:b], self._owners[a:b].astype(np.uint32),
            self._counts[a:b], vectors, scales, card, card_scale, strings, path, language,
        ))  # fmt: skip
        text = bytes(segment.container.section("text", int(row["text"]), int(row["text"]) + int(row["size"])))
        made = [
            self._unit(unit, text, definitions, strings, path, before + i, vectors, scales, i) for i, unit in enumerate(units)
        ]
        return StoredFile(
            file.key, path, language, file.digest, self._names(terms, a, b),
            None if card is None or not card_scale else _long(card, card_scale), tuple(made), record,
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
        dense = None if vectors is None or scales is None or not scales[i] else _long(vectors[i], float(scales[i]))
        digest = blake2b(f"{self._model}\0{path}\0".encode("utf-8", "replace") + body, digest_size=16).hexdigest()
        return StoredUnit(
            int(unit["line"]), int(unit["last"]), symbol, kind, body.decode("utf-8", "replace"), digest, dense,
            self._sparse[number],
        )  # fmt: skip

    def _strings(self, place: int, definitions: NDArray[Any]) -> tuple[bytes, int]:
        """The strings of a file's definitions, and where they began."""
        segment = self._segment
        starts, following = segment.tables.files["strings"], place + 1
        begin = int(starts[place])
        end = int(starts[following]) if following < len(starts) else segment.container.length("strings")
        return bytes(segment.container.section("strings", begin, end)), begin

    def _names(self, terms: NDArray[np.int64], a: int, b: int) -> tuple[str, ...]:
        families = self._families[a:b]
        defined = {self._words.text(term) for term in terms[families == _DEFINITIONS].tolist()}
        called = {"/" + self._words.text(term) for term in terms[families == _STEM].tolist()}
        return tuple(sorted(name for name in defined | called if name.isprintable()))


def _postings(container: Container, family: str) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """All rows of a family as (terms, owners, counts), many at a time."""
    for first, last in term_ranges(container, family):
        rows = read_lists(container, family, open_lists(container, family), first, last, count_owners(container, family))
        yield rows.terms, rows.owners, rows.counts


def term_ranges(container: Container, family: str) -> Iterator[tuple[int, int]]:
    """Positions of a family's terms, cut where there are many rows."""
    import numpy as np

    lists = open_lists(container, family)
    first, rows = 0, lists.rows.astype(np.int64)
    while first < len(rows):
        before = int(rows[first - 1]) if first else 0
        last = max(int(np.searchsorted(rows, before + _ROWS_AT_ONCE, "right")), first + 1)
        yield first, last
        first = last


def _long(row: NDArray[np.int8], scale: float) -> NDArray[np.float32]:
    """A row as a vector of length one."""
    import numpy as np

    vector = row.astype(np.float32) * np.float32(scale)
    length = float(np.sqrt((vector.astype(np.float64) ** 2).sum()))
    found: NDArray[np.float32] = vector / np.float32(length) if length > 0 else vector
    return found
