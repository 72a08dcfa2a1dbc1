"""A snapshot: one generation of the index, its segments seen as one. Statistics are taken over live files at query time.

Units, files and definitions are numbered across segments, in segment order; nothing outside of this module knows where a
number comes from.
"""

from __future__ import annotations

from itertools import islice

from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, bisect_left, bisect_right, cache, cached_property
from lurcher.sources.roles import VERSIONED, version_of
from lurcher.storage.accumulate import BoundedCache, PostingSum
from lurcher.storage.rows import TableRows, normalise_lengths
from lurcher.storage.segment import FILE_FIELDS, KINDS, UNIT_FAMILIES, decode_string
from lurcher.storage.segment_reader import MAX_CACHED_ROWS, MAX_CACHED_TERMS, Segment, decode_definition, decode_definitions
from lurcher.storage.vectors import CosineIndex, Direction
from lurcher.types import Definition, Import, qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.query.expand import Group
    from lurcher.query.text_pattern import Pattern

_FEW_FILES = 100
"""Files whose imports are read apart from those of all others."""
_MANY_NAMES = 2000
"""To read so many names one by one takes as long as all strings of a large segment."""
_MAX_CACHED_CHARS = 2_000_000
"""Of texts that were read, and are kept for the next question."""
_MAX_CACHED_NAMES = 10_000


class Phrases(NamedTuple):
    """Units that hold a phrase, ascending, how often each does, and the byte of its file where it first does."""

    units: NDArray[np.int64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


class Snapshot:
    """All live segments of one generation as one numbered whole."""

    def __init__(self, segments: Sequence[Segment], generation: int, path_order: Sequence[tuple[int, int]] = ()) -> None:
        """`path_order` gives (segment, file) of every live file in path order; a single segment is in that order anyway."""
        self.segments = list(segments)
        self.weighted: BoundedCache[
            tuple[str, tuple[float, ...]], tuple[NDArray[np.int64], NDArray[np.float64]]
        ] = BoundedCache(max(MAX_CACHED_ROWS, 2 * sum(int(segment.meta["units"]) for segment in segments)))
        """Room for terms' weighted counts per unit, which several queries share."""
        self._postings: BoundedCache[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.uint8]]] = BoundedCache(
            MAX_CACHED_ROWS
        )
        self._texts: BoundedCache[tuple[int, int, int], str] = BoundedCache(_MAX_CACHED_CHARS)
        self._prefixed: BoundedCache[tuple[str, str | None, int], list[str]] = BoundedCache(MAX_CACHED_TERMS)
        self._namings: BoundedCache[int, tuple[str, str]] = BoundedCache(_MAX_CACHED_NAMES)
        self._path_order = path_order
        self.generation = generation
        self._bases: dict[str, list[int]] = {}
        for kind in ("units", "files", "definitions"):
            total, bases = 0, []
            for segment in self.segments:
                bases.append(total)
                total += int(segment.meta[kind])
            self._bases[kind] = [*bases, total]

    @property
    def unit_total(self) -> int:
        """Units numbered, live and dead."""
        return self._bases["units"][-1]

    @property
    def file_total(self) -> int:
        return self._bases["files"][-1]

    @cached_property
    def cosines(self) -> CosineIndex:
        """Cosines of units and files with a vector."""
        return CosineIndex([segment.vectors for segment in self.segments])

    def typical_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """Cosines that tell how near units are on the whole: those of all live ones."""
        return self.cosines.for_all_units(direction)[self.live_units]

    @cached_property
    def live_files(self) -> NDArray[np.bool_]:
        return np.concatenate([
            np.ones(len(segment.files), bool) if segment.live is None else segment.live for segment in self.segments
        ] or [np.zeros(0, bool)])  # fmt: skip

    @cached_property
    def unit_line_group(self) -> NDArray[np.int64]:
        """A number for each unit, which those have in common that share a line."""
        line, last, file = self.unit_column("line"), self.unit_column("last"), self.unit_file
        new = np.full(self.unit_total, True)
        new[1:] = (line[1:] > last[:-1]) | (file[1:] != file[:-1])
        groups: NDArray[np.int64] = np.cumsum(new) - 1
        return groups

    @cached_property
    def line_groups(self) -> int:
        """How many different numbers those are."""
        return int(self.unit_line_group[-1]) + 1 if self.unit_total else 0

    @cached_property
    def live_units(self) -> NDArray[np.bool_]:
        live: NDArray[np.bool_] = self.live_files[self.unit_file]
        return live

    @property
    def _all_live(self) -> bool:
        return all(segment.live is None for segment in self.segments)

    @cached_property
    def unit_count(self) -> int:
        """Live units."""
        return self.unit_total if self._all_live else int(self.live_units.sum())

    @cached_property
    def file_count(self) -> int:
        return self.file_total if self._all_live else int(self.live_files.sum())

    @cached_property
    def unit_file(self) -> NDArray[np.int64]:
        return self._numbered("units", "file", "files")

    def _numbered(self, kind: str, column: str, base: str) -> NDArray[np.int64]:
        parts = []
        for segment, offset in zip(self.segments, self._bases[base], strict=False):
            rows = getattr(segment, kind)
            parts.append(
                rows.as_numbers(column, offset) if type(rows) is TableRows else rows[column].astype(np.int64) + offset
            )
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, np.int64)])

    @cached_property
    def definition_file(self) -> NDArray[np.int64]:
        return self._numbered("definitions", "file", "files")

    @cached_property
    def definition_unit(self) -> NDArray[np.int64]:
        """The unit in which each definition begins."""
        return self._numbered("definitions", "unit", "units")

    def definition_name(self, number: int) -> str:
        segment, local = self._place("definitions", number)
        return segment.string(int(segment.definitions["name"][local]))

    def definition_names(self, numbers: NDArray[np.int64]) -> list[str]:
        """The names of definitions, whose numbers ascend; of many, each segment's strings are read at once."""
        if len(numbers) < _MANY_NAMES:
            return [self.definition_name(number) for number in numbers.tolist()]
        found: list[str] = []
        bases = self._bases["definitions"]
        for segment, base in zip(self.segments, bases, strict=False):
            inside = numbers[(numbers >= base) & (numbers < base + len(segment.definitions))] - base
            if len(inside):
                strings = bytes(segment.container.section("strings"))
                found += [decode_string(strings, offset) for offset in segment.definitions["name"][inside].tolist()]
        return found

    @cached_property
    def definition_start(self) -> NDArray[Any]:
        return self._column("definitions", "start")

    @cached_property
    def definition_parts(self) -> NDArray[Any]:
        """How many words each type's name has; 0 for other definitions."""
        return self._column("definitions", "parts")

    def definition_rows(self) -> list[tuple[Any, ...]] | None:
        """Each segment's rows of definitions as they lie, their width, where in them file and number of parts are, and the
        number of its first file; None where they are not to be had so."""
        found: list[tuple[Any, ...]] = []
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            rows: Any = segment.definitions
            if type(rows) is not TableRows:
                return None
            found.append((*rows.packed("file", "parts"), base))
        return found

    @cached_property
    def path_rank(self) -> NDArray[np.int64]:
        """Each file's place among all live files in path order."""
        ranks = np.arange(self.file_total)
        if len(self.segments) > 1:
            bases = self._bases["files"]
            numbers = [bases[segment] + place for segment, place in self._path_order]
            ranks[np.array(numbers, np.int64)] = np.arange(len(numbers))
        return ranks

    def file_column(self, column: str) -> NDArray[Any]:
        return self._column("files", column)

    def unit_column(self, column: str) -> NDArray[Any]:
        return self._column("units", column)

    @cached_property
    def _columns(self) -> dict[tuple[str, str], NDArray[Any]]:
        return {}

    def _column(self, kind: str, column: str) -> NDArray[Any]:
        known = self._columns.get((kind, column))
        if known is None:
            known = self._columns[kind, column] = self._gathered(kind, column)
        return known

    def _gathered(self, kind: str, column: str) -> NDArray[Any]:
        columns = [getattr(segment, kind)[column] for segment in self.segments]
        if len(columns) == 1:
            return columns[0]  # type: ignore[no-any-return]
        return np.concatenate(columns) if columns else np.zeros(0, np.int64)

    def flagged(self, flag: int) -> list[int]:
        """The live files that have a flag."""
        flags = self.file_column("flags")
        if not len(flags) or int(flags.max()) < flag:
            return []
        found: list[int] = np.flatnonzero(((flags & flag) != 0) & self.live_files).tolist()
        return found

    @cached_property
    def file_roles(self) -> NDArray[Any]:
        return self.file_column("roles")

    @cached_property
    def superseded(self) -> dict[int, int]:
        """Files in a version folder (`v1`) that has a later one beside it, with their version."""
        found: dict[int, tuple[str, int]] = {}
        flagged = np.flatnonzero(((self.file_roles & VERSIONED) != 0) & self.live_files).tolist()
        folders: dict[str, tuple[str, int] | None] = {}
        for file, path in self._paths_of(flagged):
            folder = path.rpartition("/")[0]
            if folder not in folders:
                folders[folder] = version_of(path)
            version = folders[folder]
            if version is not None:
                found[file] = version
        newest: dict[str, int] = {}
        for place, number in found.values():
            newest[place] = max(newest.get(place, 0), number)
        return {file: number for file, (place, number) in found.items() if number < newest[place]}

    @cached_property
    def first_unit(self) -> NDArray[np.int64]:
        """The number of each file's first unit."""
        return self._numbered("files", "unit", "units")

    @cached_property
    def unit_counts(self) -> NDArray[np.int64]:
        """How many units each file has."""
        counts: NDArray[np.int64] = self.file_column("units").astype(np.int64)
        return counts

    @cached_property
    def file_definitions(self) -> NDArray[Any]:
        """How many definitions each file has."""
        return self.file_column("definitions")

    @cached_property
    def _lengths(self) -> dict[str, tuple[NDArray[np.float64], float]]:
        return {}

    @cached_property
    def relative_lengths(self) -> dict[tuple[tuple[str, float], ...], NDArray[np.float64]]:
        """Room for lengths under given field weights, worked out once."""
        return {}

    @cached_property
    def explained(self) -> BoundedCache[tuple[str, tuple[str, ...], str], list[tuple[str, float]]]:
        """Room for the terms that words of questions explain, in a family, with how well."""
        return BoundedCache(MAX_CACHED_TERMS)

    @cached_property
    def forms(self) -> BoundedCache[str, list[str]] | None:
        """Room for the forms of words, of all that occur here."""
        return BoundedCache(MAX_CACHED_TERMS)

    @cached_property
    def factors(self) -> BoundedCache[tuple[Any, ...], NDArray[np.float64]]:
        """Room for what files are multiplied by for their roles."""
        return BoundedCache(MAX_CACHED_ROWS)

    @cached_property
    def divisors(self) -> dict[float, NDArray[np.float64]]:
        """Room for what the best units of a file are divided by, for each power."""
        return {}

    def lengths(self, field: str) -> tuple[NDArray[np.float64], float]:
        """A field's length for every unit, and the mean over live units. File fields count for each unit of the file."""
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
        """What each unit's length makes of its counts: k1 · (1 − b + b · length / mean), of fields with weights.

        Not quite zero, so that a unit without a single word divides by something.
        """
        tables: list[tuple[Any, Any, Any]] = [(segment.units, segment.files, segment.live) for segment in self.segments]
        if not tables or any(type(units) is not TableRows for units, _, _ in tables):
            return self.norms_by_lengths(weights, k1, b)
        room = np.zeros(self.unit_total)
        sums = [
            units.lengths(files, live, weights, room, first)
            for (units, files, live), first in zip(tables, self._bases["units"], strict=False)
        ]
        *totals, count = (sum(column) for column in zip(*sums, strict=True))
        mean = 0.0
        for weight, total in zip(weights.values(), totals, strict=True):
            mean += weight * (float(total) / max(count, 1))
        norms: NDArray[np.float64] = normalise_lengths(room, mean, k1, b)
        return norms

    def norms_by_lengths(self, weights: Mapping[str, float], k1: float, b: float) -> NDArray[np.float64]:
        """The same from the length of each field, one after the other."""
        length = np.zeros(self.unit_total)
        mean = 0.0
        for field, weight in weights.items():
            values, average = self.lengths(field)
            length += weight * values
            mean += weight * average
        return np.maximum(k1 * (1 - b + b * (length / mean if mean else length)), 1e-9)

    def knows(self, term: str) -> bool:
        """Whether any segment has the term at all."""
        for segment in self.segments:  # noqa: SIM110 - asked so often that a generator is felt
            if segment.find(term) >= 0:
                return True
        return False

    def postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Live owners of `term`, numbered across segments, with counts."""
        key = family, term
        known = self._postings.get(key)
        if known is None:
            known = self._gathered_postings(family, term)
            self._postings.put(key, known, len(known[0]))
        return known

    def occurs(self, term: str) -> bool:
        """Whether a term that a segment knows is in a file that is live."""
        return self._all_live or any(len(self.postings(family, term)[0]) for family in (*UNIT_FAMILIES, *FILE_FIELDS))

    def add_postings(self, total: PostingSum, fields: Iterable[tuple[str, float]], term: str) -> None:
        """Add how often each live owner has `term` in some fields of units, or of files, times the weight of each."""
        found = [(place, number) for place, segment in enumerate(self.segments) if (number := segment.find(term)) >= 0]
        for family, weight in fields:
            bases = self._bases["units" if family in UNIT_FAMILIES else "files"]
            for place, number in found:
                self.segments[place].add_postings(total, family, number, bases[place], weight)

    def _gathered_postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        base = "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions"
        parts = []
        for segment, offset in zip(self.segments, self._bases[base], strict=False):
            number = segment.find(term)
            found = segment.postings(family, number) if number >= 0 else None
            if found is not None:
                parts.append((found[0] + offset, found[1]) if offset else found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate([owners for owners, _ in parts]), np.concatenate([counts for _, counts in parts])

    def spread(self, group: Group, each: Sequence[int], together: int) -> tuple[int, int]:
        """In how many units a word stands and in how many any of its forms does; in so many that are here do each, and any."""
        return each[0], together

    def phrases(self, pattern: Pattern, allowed: NDArray[np.bool_]) -> Phrases | None:
        """Where a phrase stands in files whose texts are elsewhere; None where they are here."""
        return None

    def files_in(self, term: str) -> int:
        """In the folders of how many files a term stands."""
        return len(self.postings("folder", term)[0])

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        """Known terms that begin with `prefix`, sorted: all of `family` where one is given, else the first `most`."""
        asked = prefix, family, most
        known = self._prefixed.get(asked)
        if known is None:
            known = self._with_prefix(prefix, family, most)
            self._prefixed.put(asked, known, len(known))
        return known

    def _with_prefix(self, prefix: str, family: str | None, most: int) -> list[str]:
        key = prefix.encode("utf-8", "surrogatepass")
        found: dict[str, None] = {}  # in order, which is soon sorted where there is one segment
        ranges = [(segment.lower_bound(key), segment.lower_bound(key + b"\xff")) for segment in self.segments]
        if family is not None:
            for segment, (first, last) in zip(self.segments, ranges, strict=True):
                found.update(dict.fromkeys(map(segment.term_text, segment.terms_in_family(family, first, last))))
            return sorted(found)
        # Terms of dead files do no harm but where they take the place of others.
        crowded = sum(last - first for first, last in ranges) >= most
        for segment, (first, last) in zip(self.segments, ranges, strict=True):
            if crowded and segment.live is not None:
                numbers = filter(segment.is_live, range(first, last))
                found.update(dict.fromkeys(map(segment.term_text, islice(numbers, most))))
            else:
                found.update(dict.fromkeys(segment.term_texts(first, max(first, min(last, first + most)))))
        return sorted(found)[:most]

    def _place(self, kind: str, number: int) -> tuple[Segment, int]:
        if len(self.segments) == 1:
            return self.segments[0], number
        bases = self._bases[kind]
        position = bisect_right(bases, number) - 1
        while position >= len(self.segments):
            position -= 1
        return self.segments[position], number - bases[position]

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {}

    def path(self, file: int) -> str:
        known = self._paths.get(file)
        if known is None:
            segment, local = self._place("files", file)
            known = self._paths[file] = segment.path(local)
        return known

    def _paths_of(self, files: list[int]) -> Iterator[tuple[int, str]]:
        """Some files, whose numbers ascend, with their paths; none is kept."""
        for segment, base, end in zip(self.segments, self._bases["files"], self._bases["files"][1:], strict=False):
            here = files[bisect_left(files, base) : bisect_left(files, end)]
            if here:
                paths, offsets = bytes(segment.container.section("paths")), segment.files["path"]
                for file in here:
                    yield file, segment.prefix + decode_string(paths, int(offsets[file - base]))

    def _read_paths(self) -> None:
        """All at once: one by one they cost a hundred times as much each."""
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            self._paths.update(enumerate(segment.paths(), base))

    @cached_property
    def live_paths(self) -> dict[str, int]:
        """Every live file by its path."""
        self._read_paths()
        return {self.path(file): file for file in np.flatnonzero(self.live_files).tolist()}

    @cached_property
    def folders(self) -> dict[str, list[int]]:
        """The live files of each folder, not of those below it."""
        found: dict[str, list[int]] = {}
        for path, file in self.live_paths.items():
            found.setdefault(path.rpartition("/")[0], []).append(file)
        return found

    @cached_property
    def graphs(self) -> dict[tuple[str, str], Any]:
        """Room for import graphs, by root and ecosystem, which are made when they are first asked for."""
        return {}

    def corrupt(self, file: int, reason: str) -> Exception:
        """The error for what the index says of a file and cannot be."""
        return self._place("files", file)[0].container.corrupt(reason)

    def segment_of(self, file: int) -> int:
        """The place of the file's segment among `segments`."""
        return self.segments.index(self._place("files", file)[0])

    def prefix(self, file: int) -> str:
        """What tells the file's root apart; empty where there is but one."""
        return self._place("files", file)[0].prefix

    def imports(self, files: Set[int]) -> dict[int, tuple[Import, ...]]:
        """What some files import; those that import nothing are not there."""
        from lurcher.storage.imports import read_imports, read_imports_of

        found: dict[int, tuple[Import, ...]] = {}
        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            if len(files) <= _FEW_FILES:
                here = sorted(file - base for file in files if base <= file < base + len(segment.files))
                found.update((base + file, imports) for file, imports in read_imports_of(segment.container, here))
                continue
            wanted = [base + file in files for file in range(len(segment.files))]
            if any(wanted):
                found.update((base + file, imports) for file, imports in read_imports(segment.container, wanted))
        return found

    def imports_of_kind(self, kind: str) -> Iterator[tuple[int, str]]:
        """File and words of each import of one kind, in files live or not."""
        from lurcher.storage.imports import read_imports_of_kind

        for segment, base in zip(self.segments, self._bases["files"], strict=False):
            yield from ((base + file, words) for file, words in read_imports_of_kind(segment.container, kind))

    def bare_path(self, file: int) -> str:
        """The path within its own root, without what tells roots apart."""
        segment, _ = self._place("files", file)
        return self.path(file)[len(segment.prefix) :]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of live files, sorted."""
        found: set[str] = set()
        for segment in self.segments:
            numbers = segment.files["language"] if segment.live is None else segment.files["language"][segment.live]
            found.update(str(segment.meta["languages"][number]) for number in np.unique(numbers).tolist())
        return tuple(sorted(found))

    def language(self, file: int) -> str:
        segment, local = self._place("files", file)
        return str(segment.meta["languages"][int(segment.files["language"][local])])

    def file_text(self, file: int) -> bytes:
        segment, local = self._place("files", file)
        row = segment.files[local]
        start = int(row["text"])
        return bytes(segment.container.section("text", start, start + int(row["size"])))

    def text(self, file: int, start: int, end: int) -> str:
        """Bytes [start, end) of a file's text."""
        place = file, start, end
        known = self._texts.get(place)
        if known is None:
            segment, local = self._place("files", file)
            base = segment.files["text"][local]
            known = str(segment.container.section("text", int(base) + start, int(base) + end), "utf-8", "replace")
            self._texts.put(place, known, len(known))
        return known

    def units_of(self, file: int) -> range:
        """The numbers of a file's units."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["unit"]) + self._bases["units"][self.segments.index(segment)]
        return range(first, first + int(row["units"]))

    def unit_starts(self, file: int) -> NDArray[Any]:
        """Where in the file each of its units begins."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["unit"])
        starts: NDArray[Any] = segment.units["start"][first : first + int(row["units"])]
        return starts

    def unit(self, unit: int) -> tuple[int, int, int, int, int, int]:
        """(file, start byte, end byte, first line, last line, definition or -1) of a unit."""
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

    def definition(self, number: int) -> Definition:
        segment, local = self._place("definitions", number)
        return decode_definition(segment, segment.definitions[local])

    def definition_place(self, number: int) -> tuple[int, int]:
        """(file, unit) of a definition."""
        segment, local = self._place("definitions", number)
        row = segment.definitions[local]
        position = self.segments.index(segment)
        return int(row["file"]) + self._bases["files"][position], int(row["unit"]) + self._bases["units"][position]

    def definitions_of(self, file: int) -> list[Definition]:
        """What a file defines, in order of appearance."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first, count = int(row["definition"]), int(row["definitions"])
        return decode_definitions(segment, segment.definitions[first : first + count]) if count else []

    def numbers_of_definitions(self, file: int) -> range:
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["definition"]) + self._bases["definitions"][self.segments.index(segment)]
        return range(first, first + int(row["definitions"]))

    def lines_of(self, file: int) -> int:
        """How many lines a file has."""
        units = self.units_of(file)
        return self.unit(units[-1])[4] if units else 0

    def innermost(self, file: int, byte: int, kinds: frozenset[str]) -> int:
        """The smallest definition of one of `kinds` that holds a byte of a file; of equals the first; -1 where none does."""
        segment, first, count = self._defined(file)
        table: Any = segment.definitions
        base = 0 if len(self.segments) == 1 else self._bases["definitions"][self.segments.index(segment)]
        if type(table) is TableRows:
            place = table.innermost(first, count, byte, _kind_marks(kinds))
            return place if place < 0 else base + first + place
        rows = table[first : first + count]
        best, smallest = -1, 0
        for number in ((rows["start"] <= byte) & (rows["end"] > byte)).nonzero()[0].tolist():
            _, _, start, end, _, _, _, _, _, kind, _, _ = rows[number].item()
            if KINDS[kind] in kinds and (best < 0 or end - start < smallest):
                best, smallest = number, end - start
        return best if best < 0 else base + first + best

    def _defined(self, file: int) -> tuple[Segment, int, int]:
        """The segment of a file, and in it the first of the definitions that the file has, and how many those are."""
        segment, local = self._place("files", file)
        rows: Any = segment.files
        row = rows.numbers(local) if type(rows) is TableRows else rows[local].item()
        return segment, row[4], row[5]

    def definition_label(self, number: int) -> tuple[str, str]:
        """The qualified name of a definition, and its kind."""
        known = self._namings.get(number)
        if known is None:
            segment, local = self._place("definitions", number)
            row = segment.definitions[local]
            kind = KINDS[int(row["kind"])]
            name, container = segment.string(int(row["name"])), segment.string(int(row["container"]))
            known = qualified_name(name, kind, container), kind
            self._namings.put(number, known, 0)
        return known

    def definition_ends(self, file: int) -> dict[int, list[int]]:
        """Byte at which definitions of a file begin → where they end."""
        segment, local = self._place("files", file)
        row = segment.files[local]
        first = int(row["definition"])
        rows = segment.definitions[first : first + int(row["definitions"])]
        found: dict[int, list[int]] = {}
        for start, end in zip(rows["start"].tolist(), rows["end"].tolist(), strict=True):
            found.setdefault(start, []).append(end)
        return found


@cache
def _kind_marks(kinds: frozenset[str]) -> bytes:
    """A mark for each kind, 1 for those among `kinds`."""
    return bytes([kind in kinds for kind in KINDS])
