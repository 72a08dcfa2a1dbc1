"""Merges segments into one, section by section: memory holds the tables, the terms, and one slice of the rest at a time.

The result has the bytes of a segment that was built at once from the live files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.runtime.threads import BackgroundCall
from lurcher.storage.bloom import BloomBuilder
from lurcher.storage.container import PACK_BYTES, PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.imports import ImportRanges, merge_import_tables
from lurcher.storage.merge_postings import MergedTerms, merge_families, merge_terms
from lurcher.storage.segment import (
    DEFINITION,
    FAMILIES,
    FILE,
    FILE_FIELDS,
    UNIT,
    UNIT_FAMILIES,
    check_segment,
    count_owners,
    decode_string,
    read_definitions,
    read_files,
    read_units,
)
from lurcher.storage.segment_writer import as_bytes, make_meta
from lurcher.storage.vectors import read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PIECE_BYTES = 1 << 20
_RELEASE_BYTES = 16 << 20
"""Bytes after which the pages of the parts are released."""


class _Run(NamedTuple):
    """Files of one part that stay next to each other."""

    part: int
    first: int
    last: int


class _RowMaps(NamedTuple):
    """New numbers of the files, units and definitions of a part; -1 for dropped ones."""

    files: NDArray[np.int64]
    units: NDArray[np.int64]
    definitions: NDArray[np.int64]

    def of(self, family: str) -> NDArray[np.int64]:
        return self.units if family in UNIT_FAMILIES else self.files if family in FILE_FIELDS else self.definitions


def merge_segments(parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], out: ContainerWriter) -> str:
    """Write one segment with the live files of all parts (None: all are live) in path order; returns its digest."""
    parts = [check_segment(part) for part in parts]
    has_entries = all(mask is None for mask in live) and all(part.has_section("entries") for part in parts)
    united = BackgroundCall(partial(merge_terms, parts))
    bloom = BackgroundCall(partial(_build_filter, parts)) if has_entries else None
    try:
        return _write_merged(parts, live, out, united, bloom)
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


def _write_merged(
    parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], out: ContainerWriter,
    united: BackgroundCall[MergedTerms], bloom: BackgroundCall[bytes] | None,
) -> str:  # fmt: skip
    merger = _Merger(parts, live)
    merger.write_tables(out)
    terms = merger.write_postings(out, united)
    dims, model = merger.write_vectors(out)
    if bloom is None:
        merger.write_text(out)
    else:
        merger.copy_text(out)
        out.add("bloom", "u1", bloom.result())
    counts = len(merger.files), len(merger.units), len(merger.definitions), len(merger.imports), terms
    return out.finish(make_meta(*counts, merger.languages, dims, model))


class _Merger:
    def __init__(self, parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None]) -> None:
        import numpy as np

        self._parts = parts
        self._copied = 0
        self._tables = [read_files(part) for part in parts]
        rows: list[tuple[str, int, int]] = []
        for number, (part, table) in enumerate(zip(parts, self._tables, strict=True)):
            mask = live[number]
            for i, path in enumerate(_read_paths(part, table)):
                if mask is None or mask[i]:
                    rows.append((path, number, i))
        rows.sort()
        self._paths = [path for path, _, _ in rows]
        self._numbers = np.array([number for _, number, _ in rows], np.int64)
        self._olds = np.array([old for _, _, old in rows], np.int64)
        self.files = np.zeros(len(rows), FILE)
        self._string_sizes = np.zeros(len(rows), np.int64)
        for number, mine, olds in self._by_part():
            self.files[mine] = self._tables[number][olds]
            self._string_sizes[mine] = self._sizes_of_strings(number)[olds]
        self._old_files = self.files.copy()
        names_of = [part.meta["languages"] for part in parts]
        languages: dict[str, int] = {}
        pairs = zip(self._numbers.tolist(), self.files["language"].tolist(), strict=True)
        self.files["language"] = [languages.setdefault(names_of[n][code], len(languages)) for n, code in pairs]
        self.languages = list(languages)
        self.files["text"] = _offsets(self.files["size"])
        self.files["unit"] = _offsets(self.files["units"])
        self.files["definition"] = _offsets(self.files["definitions"])
        self.files["strings"] = _offsets(self._string_sizes)
        sizes = np.array([len(path.encode("utf-8", "replace")) + 1 for path in self._paths], np.int64)
        self.files["path"] = _offsets(sizes)
        self._maps = [self._maps_of(number) for number in range(len(parts))]
        self.units = self._moved_units()
        self.definitions = self._moved_definitions()
        self._ranges = [ImportRanges(part) for part in parts]
        self.imports = self._moved_imports()

    def _by_part(self) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """For each part the new and the old numbers of its live files."""
        import numpy as np

        for number in range(len(self._parts)):
            mine = np.flatnonzero(self._numbers == number)
            yield number, mine, self._olds[mine]

    def _sizes_of_strings(self, number: int) -> NDArray[np.int64]:
        import numpy as np

        part = self._parts[number]
        starts = self._tables[number]["strings"].astype(np.int64)
        sizes = np.diff(np.append(starts, part.length("strings")))
        if len(sizes) and int(sizes.min()) < 0:
            raise part.corrupt("its strings are out of order")
        return sizes

    def _maps_of(self, number: int) -> _RowMaps:
        import numpy as np

        part = self._parts[number]
        mine = np.flatnonzero(self._numbers == number)
        olds, old, new = self._olds[mine], self._old_files[mine], self.files[mine]
        files = np.full(part.meta["files"], -1, np.int64)
        files[olds] = mine
        maps = []
        for table, first, count in (("units", "unit", "units"), ("definitions", "definition", "definitions")):
            places = np.full(part.meta[table], -1, np.int64)
            places[expand_ranges(old[first], old[count])] = expand_ranges(new[first], new[count])
            maps.append(places)
        return _RowMaps(files, *maps)

    def _moved_units(self) -> NDArray[Any]:
        import numpy as np

        units = np.zeros(int(self.files["units"].sum()), UNIT)
        for part, maps in zip(self._parts, self._maps, strict=True):
            with _move_rows(read_units(part), maps.units, units) as moved:
                moved["file"] = maps.files[moved["file"]]
                owned = moved["definition"] >= 0
                moved["definition"][owned] = maps.definitions[moved["definition"][owned]]
        return units

    def _moved_definitions(self) -> NDArray[Any]:
        import numpy as np

        definitions = np.zeros(int(self.files["definitions"].sum()), DEFINITION)
        for number, (part, maps) in enumerate(zip(self._parts, self._maps, strict=True)):
            with _move_rows(read_definitions(part), maps.definitions, definitions) as moved:
                files = maps.files[moved["file"]]
                further = self.files["strings"][files].astype(np.int64) - self._tables[number]["strings"][moved["file"]]
                for column in ("name", "container", "signature"):
                    moved[column] = moved[column].astype(np.int64) + further
                moved["file"] = files
                moved["unit"] = maps.units[moved["unit"]]
        return definitions

    def _moved_imports(self) -> NDArray[Any]:
        import numpy as np

        sizes = np.zeros(len(self.files), np.int64)
        for number, mine, olds in self._by_part():
            sizes[mine] = self._ranges[number].sizes[olds]
        starts = _offsets(sizes)
        return merge_import_tables(
            [ranges.relocate(maps.files, starts) for ranges, maps in zip(self._ranges, self._maps, strict=True)]
        )

    def _runs(self) -> Iterator[_Run]:
        import numpy as np

        numbers, olds = self._numbers, self._olds
        borders = np.flatnonzero((np.diff(numbers, prepend=-1) != 0) | (np.diff(olds, prepend=-2) != 1)).tolist()
        for start, end in zip(borders, [*borders[1:], len(numbers)], strict=False):
            yield _Run(int(numbers[start]), int(olds[start]), int(olds[end - 1]))

    def _copy(self, out: ContainerWriter, section: str, part: Container, start: int, end: int) -> None:
        for position in range(start, end, _PIECE_BYTES):
            out.write(part.section(section, position, min(position + _PIECE_BYTES, end)))
            self._count_copied(_PIECE_BYTES)

    def _count_copied(self, size: int) -> None:
        self._copied += size
        if self._copied >= _RELEASE_BYTES:
            self._copied = 0
            for each in self._parts:
                each.release_pages()

    def _copy_runs(self, out: ContainerWriter, section: str, first: str, count: str, width: int) -> None:
        """Copy what belongs to live files: `width` bytes for each of `count` rows from row `first`."""
        for run in self._runs():
            table = self._tables[run.part]
            start = int(table[first][run.first])
            end = start + int(table[count][run.first : run.last + 1].sum(dtype="i8"))
            if end != int(table[first][run.last]) + int(table[count][run.last]):
                raise self._parts[run.part].corrupt("its files are out of order")
            self._copy(out, section, self._parts[run.part], start * width, end * width)

    def write_tables(self, out: ContainerWriter) -> None:
        out.add("files", "V", as_bytes(self.files))
        out.add("units", "V", as_bytes(self.units))
        out.add("definitions", "V", as_bytes(self.definitions))
        out.add("imports", "V", as_bytes(self.imports))
        out.begin("import_texts", PACKED)
        for run in self._runs():
            ranges = self._ranges[run.part]
            end = int(ranges.starts[run.last] + ranges.sizes[run.last])
            self._copy(out, "import_texts", self._parts[run.part], int(ranges.starts[run.first]), end)
        out.end()
        out.add("paths", "u1", b"".join(path.encode("utf-8", "replace") + b"\0" for path in self._paths))
        out.begin("strings", PACKED)
        for run in self._runs():
            table, part = self._tables[run.part], self._parts[run.part]
            following = run.last + 1
            end = int(table["strings"][following]) if following < len(table) else part.length("strings")
            self._copy(out, "strings", part, int(table["strings"][run.first]), end)
        out.end()

    def write_text(self, out: ContainerWriter) -> None:
        """Write the texts, file by file, and the Bloom filter over them."""
        entries = BloomBuilder()
        out.begin("text", PACKED)
        rows = zip(self._numbers.tolist(), self._old_files["text"].tolist(), self.files["size"].tolist(), strict=True)
        for number, start, size in rows:
            text = self._parts[number].section("text", start, start + size)
            out.write(text)
            entries.add(text)
            self._count_copied(size)
        out.end()
        out.add("bloom", "u1", entries.build())

    def copy_text(self, out: ContainerWriter) -> None:
        out.begin("text", PACKED)
        for run in self._runs():
            self._copy_text(out, run)
        out.end()

    def _copy_text(self, out: ContainerWriter, run: _Run) -> None:
        """Copy the texts of neighbouring files, as compressed blocks where their borders are those of the target."""
        part, table = self._parts[run.part], self._tables[run.part]
        start, end = int(table["text"][run.first]), int(table["text"][run.last]) + int(table["size"][run.last])
        if end - start != int(table["size"][run.first : run.last + 1].sum(dtype="i8")):
            raise part.corrupt("its files are out of order")
        first, last = -(-start // PACK_BYTES), end // PACK_BYTES
        if first >= last or not part.is_packed("text") or (start - out.packed_length) % PACK_BYTES:
            self._copy(out, "text", part, start, end)
            return
        out.write(part.section("text", start, first * PACK_BYTES))
        for block, sum in part.blocks("text", first, last):
            out.write_block(block, sum)
        out.write(part.section("text", last * PACK_BYTES, end))
        self._count_copied(end - start)

    def write_vectors(self, out: ContainerWriter) -> tuple[int, str]:
        """Write the vectors; returns their size and model. Parts with different models have no vectors together."""
        made = {
            (vectors.units.shape[1], str(part.meta.get("model", "")))
            if (vectors := read_vectors(part)) is not None
            else (0, "")
            for part in self._parts
        }
        dims, model = made.pop() if len(made) == 1 else (0, "")
        for section, kind, first, count, width in (
            ("vectors", "i1", "unit", "units", dims),
            ("vector_scales", "<f4", "unit", "units", 4),
            ("cards", "i1", "", "", dims),
            ("card_scales", "<f4", "", "", 4),
        ):
            out.begin(section, kind)
            if dims and first:
                self._copy_runs(out, section, first, count, width)
            elif dims:
                for run in self._runs():
                    self._copy(out, section, self._parts[run.part], run.first * width, (run.last + 1) * width)
            out.end()
        return int(dims), model

    def write_postings(self, out: ContainerWriter, united: BackgroundCall[MergedTerms]) -> int:
        def owners(family: str) -> list[NDArray[np.int64]]:
            return [maps.of(family) for maps in self._maps]

        return merge_families(out, self._parts, FAMILIES, owners, count_owners, united)


def _read_paths(part: Container, table: NDArray[Any]) -> list[str]:
    """The path of each file."""
    import numpy as np

    names, places = bytes(part.section("paths")), table["path"].astype(np.int64)
    paths = names.decode("utf-8", "replace").split("\0")[:-1]
    ends = np.flatnonzero(np.frombuffer(names, np.uint8) == 0)
    if np.array_equal(places, np.concatenate(([0], ends[:-1] + 1))):  # one path per file, in order
        return paths
    return [decode_string(names, place) for place in places.tolist()]


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
