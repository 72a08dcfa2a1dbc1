"""Merges segments of one schema into one, section by section: memory holds the tables, the terms, and one slice of the rest.

The result has the bytes of a segment that was built at once from the live rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.runtime.parallel import BackgroundCall
from lurcher.storage.bloom import BloomBuilder
from lurcher.storage.container import PACK_BYTES, PACKED, Container
from lurcher.storage.container_writer import ContainerWriter, as_bytes
from lurcher.storage.postings import MergedTerms, merge_families, merge_terms
from lurcher.storage.segment import FILES, Blob, Schema, Table, check_segment, decode_string, read_table
from lurcher.storage.segment_writer import make_meta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PIECE_BYTES = 1 << 20
_RELEASE_BYTES = 16 << 20
"""Bytes after which the pages of the parts are released."""


class _Run(NamedTuple):
    """Rows of the main table of one part that stay next to each other."""

    part: int
    first: int
    last: int


def merge_segments(
    parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], out: ContainerWriter, schema: Schema = FILES
) -> str:
    """Write one segment with the live rows of all parts (None: all are live); returns its digest.

    They are in the order that the schema names, or else in that of the parts.
    """
    parts = [check_segment(part, schema) for part in parts]
    has_entries = all(mask is None for mask in live) and all(part.has_section("entries") for part in parts)
    united = BackgroundCall(partial(merge_terms, parts))
    bloom = BackgroundCall(partial(_build_filter, parts)) if schema.bloom and has_entries else None
    try:
        return _Merger(parts, live, schema).write(out, united, bloom)
    finally:
        united.join()
        if bloom is not None:
            bloom.join()


def _build_filter(parts: Sequence[Container]) -> bytes:
    """The Bloom filter of the whole, from the entries that unfinished parts carry."""
    entries = BloomBuilder()
    for part in parts:
        entries.add_hashes(part.array("entries", "<u8"))
    return entries.build()


class _Part:
    """One of the segments that are merged: its tables, and where their rows and pieces of bytes begin."""

    def __init__(self, container: Container, schema: Schema) -> None:
        import numpy as np

        self.container = container
        self.tables = {name: read_table(container, name, schema) for name in schema.tables}
        main = self.tables[schema.main]
        self.ranges: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        """Table → for each row of the main table the first of its rows, and their number."""
        for name, table in schema.tables.items():
            if table.first:
                self.ranges[name] = main[table.first].astype(np.int64), main[table.number].astype(np.int64)
            elif table.owner:
                borders = np.searchsorted(self.tables[name][table.owner], np.arange(len(main) + 1))
                self.ranges[name] = borders[:-1], np.diff(borders)
            else:
                self.ranges[name] = np.arange(len(main)), np.ones(len(main), np.int64)
        self.pieces = {blob.section: self._pieces(blob) for blob in schema.blobs}
        self.places: dict[str, NDArray[np.int64]] = {}
        """Table → the new number of each row; -1 for dropped ones."""

    def _pieces(self, blob: Blob) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and size of each row's piece of a section."""
        import numpy as np

        rows = self.tables[blob.table]
        starts = rows[blob.start].astype(np.int64)
        if blob.size:
            return starts, rows[blob.size].astype(np.int64)
        sizes = np.diff(np.append(starts, self.container.length(blob.section)))
        if len(sizes) and int(sizes.min()) < 0:
            raise self.container.corrupt(f"its {blob.section} are out of order")
        return starts, sizes

    def rows(self, table: str, run: _Run) -> tuple[int, int]:
        """The rows of a table that belong to a run: the first, and the one after the last."""
        firsts, counts = self.ranges[table]
        first, end = int(firsts[run.first]), int(firsts[run.last] + counts[run.last])
        if end - first != int(counts[run.first : run.last + 1].sum()):
            raise self.container.corrupt(f"its {table} are out of order")
        return first, end

    def span(self, blob: Blob, run: _Run) -> tuple[int, int]:
        """The bytes of a section that belong to a run."""
        first, end = self.rows(blob.table, run)
        if first == end:
            return 0, 0
        starts, sizes = self.pieces[blob.section]
        start, stop = int(starts[first]), int(starts[end - 1] + sizes[end - 1])
        if stop - start != int(sizes[first:end].sum()):
            raise self.container.corrupt(f"its {blob.section} are out of order")
        return start, stop


class _Merger:
    def __init__(self, parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], schema: Schema) -> None:
        import numpy as np

        self._schema = schema
        self._parts = [_Part(part, schema) for part in parts]
        self._copied = 0
        rows: list[tuple[str, int, int]] = []
        for number, (part, mask) in enumerate(zip(self._parts, live, strict=True)):
            for row, key in enumerate(self._keys(part)):
                if mask is None or mask[row]:
                    rows.append((key, number, row))
        if schema.order:
            rows.sort()
        self._numbers = np.array([number for _, number, _ in rows], np.int64)
        self._olds = np.array([old for _, _, old in rows], np.int64)
        self._tables: dict[str, NDArray[Any]] = {}
        for table in schema.tables.values():
            self._tables[table.name] = self._moved(table)
        for blob in schema.blobs:
            self._place_pieces(blob)
        for reference in schema.references:
            self._move_references(reference.table, reference.column, reference.target)
        self.languages = self._join_languages()

    def _keys(self, part: _Part) -> list[str]:
        """What the rows of the main table are sorted by."""
        import numpy as np

        if not self._schema.order:
            return [""] * len(part.tables[self._schema.main])
        strings = bytes(part.container.section(self._schema.order))
        starts, _ = part.pieces[self._schema.order]
        keys = strings.decode("utf-8", "replace").split("\0")[:-1]
        ends = np.flatnonzero(np.frombuffer(strings, np.uint8) == 0)
        if np.array_equal(starts, np.concatenate(([0], ends[:-1] + 1))):  # one for each row, in order
            return keys
        return [decode_string(strings, start) for start in starts.tolist()]

    def _moved(self, table: Table) -> NDArray[Any]:
        """The rows of a table in their new places, which are noted; `owner` and the ranges in the main table are theirs."""
        import numpy as np

        main = self._schema.main
        counts = np.zeros(len(self._numbers), np.int64)
        for number, part in enumerate(self._parts):
            mine = self._numbers == number
            counts[mine] = part.ranges[table.name][1][self._olds[mine]]
        starts = _offsets(counts)
        target = np.zeros(int(counts.sum()), table.layout)
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(self._numbers == number)
            firsts, lengths = (column[self._olds[mine]] for column in part.ranges[table.name])
            places = part.places[table.name] = np.full(len(part.tables[table.name]), -1, np.int64)
            places[expand_ranges(firsts, lengths)] = expand_ranges(starts[mine], lengths)
            with _move_rows(part.tables[table.name], places, target) as moved:
                if table.owner:
                    moved[table.owner] = part.places[main][moved[table.owner]]
        if table.first:
            self._tables[main][table.first] = starts
        return target

    def _place_pieces(self, blob: Blob) -> None:
        """Note where each row's piece of a section is going to be."""
        import numpy as np

        rows = self._tables[blob.table]
        sizes = np.zeros(len(rows), np.int64)
        for part in self._parts:
            places = part.places[blob.table]
            sizes[places[places >= 0]] = part.pieces[blob.section][1][places >= 0]
        rows[blob.start] = _offsets(sizes)

    def _move_references(self, name: str, column: str, target: str) -> None:
        import numpy as np

        rows = self._tables[name]
        for part in self._parts:
            kept = np.flatnonzero(part.places[name] >= 0)
            places, old = part.places[name][kept], part.tables[name][column][kept].astype(np.int64)
            if target in part.places:
                leads = old >= 0
                rows[column][places[leads]] = part.places[target][old[leads]]
            else:
                # Strings move with the row of the main table that they belong to.
                blob = next(blob for blob in self._schema.blobs if blob.section == target)
                owners = part.tables[name][self._schema.tables[name].owner][kept]
                moved = part.places[blob.table][owners]
                rows[column][places] = old - part.pieces[target][0][owners] + self._tables[blob.table][blob.start][moved]

    def _join_languages(self) -> list[str]:
        """Number the languages anew, in the order in which rows have them; returns their names."""
        import numpy as np

        rows = self._tables[self._schema.languages]
        names: list[str] = []
        numbers = np.zeros(len(rows), np.int64)
        for part in self._parts:
            places = part.places[self._schema.languages]
            kept = part.tables[self._schema.languages]["language"][places >= 0]
            numbers[places[places >= 0]] = kept.astype(np.int64) + len(names)
            names += part.container.meta["languages"]
        used, first = np.unique(numbers, return_index=True)
        known: dict[str, int] = {}
        renumbered = np.zeros(len(names) + 1, np.int64)
        for number in used[np.argsort(first)].tolist():
            renumbered[number] = known.setdefault(names[number], len(known))
        rows["language"] = renumbered[numbers]
        return list(known)

    def _runs(self) -> Iterator[_Run]:
        import numpy as np

        numbers, olds = self._numbers, self._olds
        borders = np.flatnonzero((np.diff(numbers, prepend=-1) != 0) | (np.diff(olds, prepend=-2) != 1)).tolist()
        for start, end in zip(borders, [*borders[1:], len(numbers)], strict=False):
            yield _Run(int(numbers[start]), int(olds[start]), int(olds[end - 1]))

    def write(self, out: ContainerWriter, united: BackgroundCall[MergedTerms], bloom: BackgroundCall[bytes] | None) -> str:
        schema = self._schema
        *blobs, text = schema.blobs
        for name, rows in self._tables.items():
            out.add(name, "V", as_bytes(rows))
        for blob in blobs:
            out.begin(blob.section, PACKED if blob.packed else "u1")
            for run in self._runs():
                self._copy(out, blob.section, self._parts[run.part].container, *self._parts[run.part].span(blob, run))
            out.end()
        terms = merge_families(
            out, [part.container for part in self._parts], schema.families, self._owner_places, schema.count_owners, united
        )
        dims, model = self._write_vectors(out)
        if schema.bloom and bloom is None:
            self._write_text(out, text)
        else:
            out.begin(text.section, PACKED)
            for run in self._runs():
                self._copy_text(out, text, run)
            out.end()
            if bloom is not None:
                out.add("bloom", "u1", bloom.result())
        counts = {name: len(rows) for name, rows in self._tables.items()}
        return out.finish(make_meta(schema, {**counts, "terms": terms}, self.languages, dims, model))

    def _owner_places(self, family: str) -> list[NDArray[np.int64]]:
        return [part.places[self._schema.fields[family]] for part in self._parts]

    def _copy(self, out: ContainerWriter, section: str, part: Container, start: int, end: int) -> None:
        for position in range(start, end, _PIECE_BYTES):
            out.write(part.section(section, position, min(position + _PIECE_BYTES, end)))
            self._count_copied(min(_PIECE_BYTES, end - position))

    def _count_copied(self, size: int) -> None:
        self._copied += size
        if self._copied >= _RELEASE_BYTES:
            self._copied = 0
            for part in self._parts:
                part.container.release_pages()

    def _write_text(self, out: ContainerWriter, text: Blob) -> None:
        """Write the text, row by row, and the Bloom filter over it."""
        entries = BloomBuilder()
        out.begin(text.section, PACKED)
        for number, old in zip(self._numbers.tolist(), self._olds.tolist(), strict=True):
            starts, sizes = self._parts[number].pieces[text.section]
            piece = self._parts[number].container.section(text.section, int(starts[old]), int(starts[old] + sizes[old]))
            out.write(piece)
            entries.add(piece)
            self._count_copied(len(piece))
        out.end()
        out.add("bloom", "u1", entries.build())

    def _copy_text(self, out: ContainerWriter, text: Blob, run: _Run) -> None:
        """Copy the text of neighbouring rows, as compressed blocks where their borders are those of the target."""
        part = self._parts[run.part].container
        start, end = self._parts[run.part].span(text, run)
        first, last = -(-start // PACK_BYTES), end // PACK_BYTES
        if first >= last or not part.is_packed(text.section) or (start - out.packed_length) % PACK_BYTES:
            self._copy(out, text.section, part, start, end)
            return
        out.write(part.section(text.section, start, first * PACK_BYTES))
        for block, sum in part.blocks(text.section, first, last):
            out.write_block(block, sum)
        out.write(part.section(text.section, last * PACK_BYTES, end))
        self._count_copied(end - start)

    def _write_vectors(self, out: ContainerWriter) -> tuple[int, str]:
        """Write the vectors; returns their size and model. Parts with different models have no vectors together."""
        made = {(int(part.container.meta["dims"]), str(part.container.meta.get("model", ""))) for part in self._parts}
        dims, model = made.pop() if len(made) == 1 else (0, "")
        for group in self._schema.vectors:
            for section, kind, width in ((group.numbers, "i1", dims), (group.scales, "<f4", 4)):
                out.begin(section, kind)
                for run in self._runs() if dims else ():
                    part = self._parts[run.part]
                    first, end = part.rows(group.owners, run)
                    self._copy(out, section, part.container, first * width, end * width)
                out.end()
        return dims, model


@contextmanager
def _move_rows(rows: NDArray[Any], places: NDArray[np.int64], target: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yields the kept rows of a part for changes, and puts them at their `places` (-1: dropped) in `target`."""
    import numpy as np

    if len(places) and places[0] >= 0 and bool((np.diff(places) == 1).all()):  # contiguous: no copy needed
        moved = target[places[0] : places[0] + len(places)]
        moved[...] = rows
        yield moved
        return
    kept = places >= 0
    moved = rows[kept]
    yield moved
    target[places[kept]] = moved


def _offsets(counts: NDArray[Any]) -> NDArray[np.int64]:
    import numpy as np

    sizes = counts.astype(np.int64)
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts


def expand_ranges(starts: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """start, start + 1, … start + count - 1 for each pair, concatenated."""
    import numpy as np

    sizes = counts.astype(np.int64)
    shift: NDArray[np.int64] = starts.astype(np.int64) - _offsets(sizes)
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))
