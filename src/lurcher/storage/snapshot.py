"""A snapshot of files: one generation of their index, read as one. Statistics are taken over live files at query time.

Units, files and definitions are numbered in segment order; nothing outside of the storage layer knows which segment a number
belongs to.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from lurcher.runtime.kernel import np
from lurcher.sources.roles import (
    ASIDE,
    BUILD_STEMS,
    GENERATED,
    INLINE_TESTS,
    LICENCE_STEMS,
    SCRIPTS,
    VENDORED,
    VERSIONED,
    find_embedded,
    find_superseded,
    is_built,
)  # fmt: skip
from lurcher.storage.container import BoundedCache
from lurcher.storage.definition_snapshot import MAX_CACHED_CHARS, MAX_CACHED_NAMES, DefinitionSnapshot
from lurcher.storage.segment import FILE_FIELDS, MAX_CACHED_ROWS, MAX_CACHED_TERMS, UNIT_FAMILIES, Segment, decode_string
from lurcher.storage.table_snapshot import PhrasePattern, Phrases
from lurcher.storage.tables import CosineIndex, Direction, TableRows, normalise_lengths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.languages.parsed_file import Import

_FEW_FILES = 500
"""Up to so many files, only their own imports are read; above, those of the whole segment."""
_MAX_JOINED_ROWS = MAX_CACHED_ROWS // 16
"""Decoded postings that a segment of a joined snapshot caches: there can be hundreds of them."""


class Snapshot(DefinitionSnapshot):
    """All segments of one generation as one: vectors, statistics, postings, paths, texts and definitions.

    Thread-safe for readers: nothing but caches changes. Caches that belong to rankings are kept here because they are valid
    for exactly one generation.
    """

    def __init__(self, segments: Sequence[Segment], generation: int, path_order: Sequence[tuple[int, int]] = ()) -> None:
        """`path_order` gives (segment, file) of every live file in path order; a single segment is in that order anyway."""
        super().__init__(segments, generation)
        self._path_order = path_order
        self.weighted: BoundedCache[tuple[str, tuple[float, ...]], tuple[NDArray[np.int64], NDArray[np.float64]]]
        self.weighted = BoundedCache(max(MAX_CACHED_ROWS, 2 * self.unit_total))
        """Cache: (term, field weights) → units and their weighted counts."""
        self._texts: BoundedCache[tuple[int, int, int], str] = BoundedCache(MAX_CACHED_CHARS)
        self.forms: BoundedCache[str, list[str]] | None = BoundedCache(MAX_CACHED_TERMS)
        """Cache: word → its forms that occur in the index; None where that must not be cached."""
        self._units: BoundedCache[int, tuple[int, int, int, int, int, int]] = BoundedCache(MAX_CACHED_NAMES)
        self.headers: BoundedCache[tuple[int, int, int], tuple[tuple[int, str], ...]] = BoundedCache(MAX_CACHED_NAMES)
        """File, byte and line of a place → the signatures above it."""
        self.relative_lengths: dict[tuple[tuple[str, float], ...], NDArray[np.float64]] = {}
        """Cache: field weights → BM25 length norm of every unit."""
        self.explained: BoundedCache[tuple[str, tuple[str, ...], str], list[tuple[str, float]]] = BoundedCache(MAX_CACHED_TERMS)
        """Cache: (term, forms, family) → terms of the family that a word of a query explains, each with its share."""
        self.factors: BoundedCache[tuple[Any, ...], NDArray[np.float64]] = BoundedCache(MAX_CACHED_ROWS)
        """Cache: penalties by the roles of files → factor of every file."""
        self.divisors: dict[float, NDArray[np.float64]] = {}
        """Cache: power → divisors for the best units of a file, in order."""
        self.graphs: dict[tuple[str, str], Any] = {}
        """Cache: (prefix of the root, ecosystem) → import graph."""
        self.resolvers: dict[tuple[str, str], Any] = {}
        """Cache: the same → resolver of imports; to make one takes milliseconds for 12,000 files."""
        self._labelled: dict[str, list[Segment]] = {}
        """Cache: label → the segments as `join` has them."""
        self._paths: dict[int, str] = {}
        self._languages: dict[int, str] = {}
        self._lengths: dict[str, tuple[NDArray[np.float64], float]] = {}

    @classmethod
    def join(cls, parts: Sequence[tuple[Snapshot, str]], generation: int) -> Snapshot:
        """Several snapshots as one, in which the paths of each begin with its label; they are in the order of the parts."""
        joined = cls([segment for part, label in parts for segment in part._segments_with(label)], generation)
        ranks, first = [], 0
        for part, _ in parts:
            ranks.append(part.path_rank + first)
            first += part.file_total
        joined.path_rank = np.concatenate(ranks)
        return joined

    def _segments_with(self, label: str) -> list[Segment]:
        """The segments with a label before their paths. What is mapped stays: the files may be gone by now."""
        known = self._labelled.get(label)
        if known is None:
            known = [Segment(part.container, part.live, label, _MAX_JOINED_ROWS) for part in self.segments]
            self._labelled[label] = known
        for segment, part in zip(known, self.segments, strict=True):
            segment.vectors = part.vectors
        return known

    @property
    def unit_total(self) -> int:
        """The number of units, live and dead."""
        return self._bases["units"][-1]

    @property
    def file_total(self) -> int:
        return self._bases["files"][-1]

    def file_column(self, column: str) -> NDArray[Any]:
        return self.column("files", column)

    def unit_column(self, column: str) -> NDArray[Any]:
        return self.column("units", column)

    @property
    def live_files(self) -> NDArray[np.bool_]:
        return self.live_rows

    @cached_property
    def live_units(self) -> NDArray[np.bool_]:
        live: NDArray[np.bool_] = self.live_files[self.unit_file]
        return live

    @cached_property
    def unit_count(self) -> int:
        """The number of live units."""
        return self.unit_total if self._all_live else int(self.live_units.sum())

    @cached_property
    def file_count(self) -> int:
        return self.file_total if self._all_live else int(self.live_files.sum())

    @cached_property
    def unit_file(self) -> NDArray[np.int64]:
        return self._number_rows("units", "file", "files")

    @cached_property
    def unit_counts(self) -> NDArray[np.int64]:
        """How many units each file has."""
        counts: NDArray[np.int64] = self.file_column("units").astype(np.int64)
        return counts

    @cached_property
    def unit_line_group(self) -> NDArray[np.int64]:
        """A number for each unit; units that share a line have the same."""
        line, last, file = self.unit_column("line"), self.unit_column("last"), self.unit_file
        new = np.full(self.unit_total, True)
        new[1:] = (line[1:] > last[:-1]) | (file[1:] != file[:-1])
        groups: NDArray[np.int64] = np.cumsum(new) - 1
        return groups

    @cached_property
    def line_groups(self) -> int:
        """How many different numbers `unit_line_group` has."""
        return int(self.unit_line_group[-1]) + 1 if self.unit_total else 0

    @cached_property
    def path_rank(self) -> NDArray[np.int64]:
        """The position of each file among all live files in path order."""
        ranks = np.arange(self.file_total)
        if len(self.segments) > 1:
            bases = self._bases["files"]
            numbers = [bases[segment] + place for segment, place in self._path_order]
            ranks[np.array(numbers, np.int64)] = np.arange(len(numbers))
        return ranks

    def flagged(self, flag: int) -> list[int]:
        """The live files that have a flag."""
        flags = self.file_column("flags")
        if not len(flags) or int(flags.max()) < flag:
            return []
        found: list[int] = np.flatnonzero(((flags & flag) != 0) & self.live_files).tolist()
        return found

    @cached_property
    def file_roles(self) -> NDArray[Any]:
        """The roles of each file; those of a project within the project are vendored too.

        What a bundler wrote is not held against it where its sources are not there, as in an installed package.
        """
        roles = self.file_column("roles")
        if len(roles) and int((roles & GENERATED).max()) and not self._has_script_sources(roles):
            roles = roles.copy()
            for file in self.files_of_languages(SCRIPTS):
                if is_built(self.path(file)):
                    roles[file] = int(roles[file]) & ~GENERATED
        licences = self._files_named(LICENCE_STEMS)
        builds = self._files_named(BUILD_STEMS) if licences else []
        if builds:
            roles = roles.copy()
        for segment, base in zip(self.segments, self._bases["files"], strict=False) if builds else ():
            root, files = segment.prefix, range(len(segment.files))
            here = [[path[len(root) :] for path in named if path.startswith(root)] for named in (licences, builds)]
            for folder in find_embedded(*here):
                ends = (f"{root}{folder}/", f"{root}{folder}0")  # 0 follows / in the order of paths
                first, last = [base + bisect_left(files, end, key=segment.path) for end in ends]
                roles[first:last] |= VENDORED
        return roles

    def _has_script_sources(self, roles: NDArray[Any]) -> bool:
        """Whether there are scripts that are not tests, examples, generated and the like; true without any scripts."""
        none = True
        for file in self.files_of_languages(SCRIPTS):
            if not int(roles[file]) & ASIDE:
                return True
            none = False
        return none

    def _files_named(self, stems: Iterable[str]) -> list[str]:
        """The paths of live files by their names without extension."""
        return [self.path(file) for stem in stems for file in self.postings("stem", stem)[0].tolist()]

    @cached_property
    def inline_tests(self) -> NDArray[np.int64]:
        """The units that are tests within files that are not."""
        if not len(self.file_roles) or int(self.file_roles.max()) < INLINE_TESTS:  # no other role is larger
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.unit_column("roles"))

    def is_inline_test(self, unit: int) -> bool:
        segment, local = self._place("units", unit)
        return bool(int(segment.units["roles"][local]))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of live files, sorted."""
        found: set[str] = set()
        for segment in self.segments:
            numbers = segment.files["language"] if segment.live is None else segment.files["language"][segment.live]
            found.update(str(segment.meta["languages"][number]) for number in np.unique(numbers).tolist())
        return tuple(sorted(found))

    def files_of_languages(self, languages: Collection[str]) -> Iterator[int]:
        """The files of these languages, dead ones included."""
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            wanted = {number for number, name in enumerate(segment.meta["languages"]) if name in languages}
            if wanted:
                numbers = segment.files["language"].tolist()
                yield from (file for file, number in enumerate(numbers, base) if number in wanted)

    def language(self, file: int) -> str:
        known = self._languages.get(file)
        if known is None:
            segment, local = self._place("files", file)
            known = self._languages[file] = str(segment.meta["languages"][int(segment.files["language"][local])])
        return known

    @cached_property
    def cosines(self) -> CosineIndex:
        """Cosines of units and files with a vector."""
        return CosineIndex([segment.vectors for segment in self.segments])

    def typical_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """Cosines that show how near units are on average: those of all live units."""
        return self.cosines.for_all_units(direction)[self.live_units]

    @cached_property
    def superseded(self) -> dict[int, int]:
        """Files in a version folder (`v1`) beside a later one (`v2`), with their version."""
        flagged = np.flatnonzero(((self.file_roles & VERSIONED) != 0) & self.live_files).tolist()
        return find_superseded(self._paths_of(flagged))

    def lengths(self, field: str) -> tuple[NDArray[np.float64], float]:
        """The length of a field for every unit, and the mean over live units. File fields count for each unit of the file."""
        known = self._lengths.get(field)
        if known is None:
            if field in UNIT_FAMILIES:
                values = self.unit_column(field).astype(np.float64)
            else:
                values = self.file_column(field).astype(np.float64)[self.unit_file]
            live = values if self._all_live else values[self.live_units]
            known = self._lengths[field] = (values, float(live.sum()) / max(len(live), 1))
        return known

    def norms(self, weights: Mapping[str, float], k1: float, b: float) -> NDArray[np.float64]:
        """BM25's length norm of every unit, k1 · (1 − b + b · length / mean), with lengths summed over weighted fields.

        At least 1e-9, so that a unit without words divides by something.
        """
        tables: list[tuple[Any, Any, Any]] = [(segment.units, segment.files, segment.live) for segment in self.segments]
        if not tables or any(type(units) is not TableRows for units, _, _ in tables):
            return self.norms_by_lengths(weights, k1, b)
        norms = np.zeros(self.unit_total)
        sums = [
            units.lengths(files, live, weights, norms, first)
            for (units, files, live), first in zip(tables, self._bases["units"], strict=False)
        ]
        *totals, count = (sum(column) for column in zip(*sums, strict=True))
        mean = 0.0
        for weight, total in zip(weights.values(), totals, strict=True):
            mean += weight * (float(total) / max(count, 1))
        return normalise_lengths(norms, mean, k1, b)  # type: ignore[no-any-return]

    def norms_by_lengths(self, weights: Mapping[str, float], k1: float, b: float) -> NDArray[np.float64]:
        """The same, field by field: the reference for what the kernel does in one pass."""
        length = np.zeros(self.unit_total)
        mean = 0.0
        for field, weight in weights.items():
            values, average = self.lengths(field)
            length += weight * values
            mean += weight * average
        return np.maximum(k1 * (1 - b + b * (length / mean if mean else length)), 1e-9)

    def occurs(self, term: str) -> bool:
        """Whether a term that a segment has is in a live file."""
        return self._all_live or any(len(self.postings(family, term)[0]) for family in (*UNIT_FAMILIES, *FILE_FIELDS))

    @property
    def is_partial(self) -> bool:
        """Whether there are files that it does not hold, so that what is counted in it is not all there is."""
        return False

    def unit_frequencies(self, terms: Sequence[str], counts: Sequence[int], together: int) -> tuple[int, int]:
        """The number of units that have the first of `terms`, and of units that have any of them.

        `counts` and `together` are these numbers for the files at hand, per term and for any. A snapshot that holds only a
        part of the files extrapolates.
        """
        return counts[0], together

    def phrases(self, pattern: PhrasePattern, allowed: NDArray[np.bool_]) -> Phrases | None:
        """The units that hold a phrase, where texts are stored elsewhere; None where they are local."""
        return None

    def folder_frequency(self, term: str) -> int:
        """The number of files that have a term in the names of their folders."""
        return len(self.postings("folder", term)[0])

    def path(self, file: int) -> str:
        known = self._paths.get(file)
        if known is None:
            segment, local = self._place("files", file)
            known = self._paths[file] = segment.path(local)
        return known

    def _paths_of(self, files: list[int]) -> Iterator[tuple[int, str]]:
        """Files, given by ascending numbers, with their paths, which are not cached."""
        for segment, base, end in zip(self.segments, self._bases["files"], self._bases["files"][1:], strict=False):
            here = files[bisect_left(files, base) : bisect_left(files, end)]
            if here:
                paths, offsets = bytes(segment.container.section("paths")), segment.files["path"]
                for file in here:
                    yield file, segment.prefix + decode_string(paths, int(offsets[file - base]))

    @cached_property
    def live_paths(self) -> dict[str, int]:
        """Every live file by its path."""
        # All at once: one by one, each costs a hundred times as much.
        paths = [path for segment in self.segments for path in segment.paths()]
        self._paths.update(enumerate(paths))
        if self._all_live:
            return dict(zip(paths, range(self.file_total), strict=True))
        return {paths[file]: file for file in np.flatnonzero(self.live_files).tolist()}

    @cached_property
    def folders(self) -> dict[str, list[int]]:
        """The live files of each folder, not of those below it."""
        found: dict[str, list[int]] = {}
        for path, file in self.live_paths.items():
            found.setdefault(path.rpartition("/")[0], []).append(file)
        return found

    def corrupt(self, file: int, reason: str) -> Exception:
        """The error to raise where the index says something impossible about a file."""
        return self._place("files", file)[0].container.corrupt(reason)

    def segment_of(self, file: int) -> int:
        """The position of the file's segment in `segments`."""
        return self.segments.index(self._place("files", file)[0])

    def prefix(self, file: int) -> str:
        """What the paths of the file's root begin with; empty where there is one root only."""
        return self._place("files", file)[0].prefix

    def imports(self, files: Set[int]) -> dict[int, tuple[Import, ...]]:
        """The imports of some files; files without imports are left out."""
        from lurcher.storage.imports import read_imports, read_imports_of

        found: dict[int, tuple[Import, ...]] = {}
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            if len(files) <= _FEW_FILES:
                here = sorted(file - base for file in files if base <= file < base + len(segment.files))
                found.update((base + file, imports) for file, imports in read_imports_of(segment, here))
                continue
            wanted = [base + file in files for file in range(len(segment.files))]
            if any(wanted):
                rows = segment.table("imports")
                found.update((base + file, imports) for file, imports in read_imports(segment.container, wanted, rows))
        return found

    def imports_of_kind(self, kind: str) -> Iterator[tuple[int, str]]:
        """File and module of each import of one kind, dead files included."""
        from lurcher.storage.imports import read_imports_of_kind

        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            yield from ((base + file, words) for file, words in read_imports_of_kind(segment.container, kind))

    def bare_path(self, file: int) -> str:
        """The path within its root, without the prefix of the root."""
        segment, _ = self._place("files", file)
        return self.path(file)[len(segment.prefix) :]

    def file_text(self, file: int) -> bytes:
        segment, local = self._place("files", file)
        return bytes(self._read_text(file, 0, int(segment.files["size"][local])))

    def occurrences(self, file: int) -> bytes:
        """Where names occur in a file's text, encoded as `languages/occurrences.py` says; nothing where that is not stored."""
        segment, local = self._place("files", file)
        starts = segment.files["occurrences"]
        end = int(starts[local + 1]) if local + 1 < len(starts) else segment.container.length("occurrences")
        return bytes(segment.container.section("occurrences", int(starts[local]), end))

    def text(self, file: int, start: int, end: int) -> str:
        """Bytes [start, end) of a file's text."""
        place = file, start, end
        known = self._texts.get(place)
        if known is None:
            known = str(self._read_text(file, start, end), "utf-8", "replace")
            self._texts.put(place, known, len(known))
        return known

    def _read_text(self, file: int, start: int, end: int) -> bytes | memoryview:
        """Bytes [start, end) of a file, from where its text is stored."""
        segment, local = self._place("files", file)
        base = int(segment.files["text"][local])
        return segment.container.section("text", base + start, base + end)

    def units_of(self, file: int) -> range:
        """The numbers of a file's units."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["unit"]) + self._bases["units"][self.segments.index(segment)]
        return range(first, first + int(row["units"]))

    def unit_starts(self, file: int) -> NDArray[Any]:
        """The first byte of each unit of a file."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["unit"])
        starts: NDArray[Any] = segment.units["start"][first : first + int(row["units"])]
        return starts

    def unit(self, unit: int) -> tuple[int, int, int, int, int, int]:
        """(file, start byte, end byte, first line, last line, definition or -1) of a unit."""
        known = self._units.get(unit)
        if known is None:
            known = self._decode_unit(unit)
            self._units.put(unit, known, 0)
        return known

    def _decode_unit(self, unit: int) -> tuple[int, int, int, int, int, int]:
        segment, local = self._place("units", unit)
        rows: Any = segment.units
        row = rows.numbers(local) if type(rows) is TableRows else rows[local].item()
        file, start, end, line, last, definition, *_ = row
        if len(self.segments) == 1:
            return file, start, end, line, last, definition
        position = self.segments.index(segment)
        return (
            file + self._bases["files"][position], start, end, line, last,
            definition if definition < 0 else definition + self._bases["definitions"][position],
        )  # fmt: skip

    def unit_text(self, unit: int) -> str:
        file, start, end, *_ = self.unit(unit)
        return self.text(file, start, end)

    def lines_of(self, file: int) -> int:
        """How many lines a file has."""
        units = self.units_of(file)
        return self.unit(units[-1])[4] if units else 0

    def definition_line(self, file: int, number: int) -> tuple[int, str]:
        """The line that has the name of a definition, below its decorators, and the indent of that line."""
        definition, text = self.definition(number), self.file_text(file)
        name = max(text.find(definition.name.encode(), definition.start_byte, definition.end_byte), definition.start_byte)
        row = text[text.rfind(b"\n", 0, name) + 1 : name]
        indent = row[: len(row) - len(row.lstrip())].decode("utf-8", "replace")
        return definition.start_line + text.count(b"\n", definition.start_byte, name), indent
