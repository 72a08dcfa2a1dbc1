"""What a SCIP index says about the files of a root: which symbol each name refers to. Kept beside the index of the root.

`load_scip` reads index files and writes `scip` into the index folder; `open_edges` opens it for queries:

    edges, note = open_edges(root_index)                        None where no SCIP index was loaded
    edges.covers(snapshot, "shop/cart.py")                      whether its text is still what it was
    symbols = edges.symbols_at("shop/cart.py", byte)            or edges.symbols_named("add")
    for place in edges.places(symbols): …                       Place(path, start, end, symbol, roles); `.is_definition`
    edges.related(symbols)                                      symbols that override or implement them, and the reverse

Positions are bytes of the text as it is indexed, so they can be compared with definitions and occurrences of the index. What is
said about a file that is not covered any more is out of date and must not be used. Paths are those within the root; where there
are several roots, `covers` takes the prefix that the snapshot adds.

The file is a container with these tables; all of them are sorted, so that a question reads only a few rows:

    documents    path, size and checksum of its text, its first occurrence and their number; by path
    occurrences  document, start, end, symbol, roles; by document and place
    symbols      name, symbol, first of its places and their number; by name
    places       numbers of occurrences; by symbol, definitions first
    related      symbol, other symbol, flags; by symbol
    strings      zero-terminated
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from lurcher.errors import IndexError_, LurcherError, Template, UsageError
from lurcher.runtime.process import format_count
from lurcher.sources import scip
from lurcher.storage import SCIP_NAME as NAME
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.types import Degraded

if TYPE_CHECKING:
    from lurcher.indexing.root_index import RootIndex
    from lurcher.sources.scip import Document, Index, Occurrence
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Progress

FORMAT = 1
_DOCUMENT, _OCCURRENCE, _SYMBOL, _NUMBER, _RELATED = (struct.Struct(f"<{count}I") for count in (5, 5, 4, 1, 3))
REFERENCE, IMPLEMENTATION, INVERSE = 1, 2, 16
"""Flags of related symbols. INVERSE: the other symbol is the one that overrides or implements this one."""
_SAME_NAMES = 0.9
"""Share of a document's definitions whose name must be in the text where the index says. Measured on eight packages that
scip-python, scip-typescript and scip-go had indexed: all were."""
_MAX_OVERLAP = 8
"""So many occurrences before a place are looked at for one that reaches it: ranges can overlap."""


class Place(NamedTuple):
    """Where a symbol occurs: bytes [start, end) of a file."""

    path: str
    start: int
    end: int
    symbol: int
    roles: int

    @property
    def is_definition(self) -> bool:
        return bool(self.roles & scip.DEFINITION)


# -- reading ----------------------------------------------------------------------------------------------------------


class _EdgeFile(Container):
    WHAT = "file of SCIP edges"
    HINT = Template("load it anew: {index: scip=FILE}")
    ERROR = IndexError_  # not CorruptIndex: the index itself need not be rebuilt for it


def open_edges(project: RootIndex) -> tuple[ScipEdges | None, Degraded | None]:
    """The edges beside the index of a root, and a note if they cannot be read; neither where no SCIP index was loaded."""
    path = os.path.join(project.store.place, NAME)
    if not os.path.lexists(path):
        return None, None
    try:
        file = _EdgeFile.open(path)
        # A repository may come with a folder that looks like an index: see `RootIndex.fingerprint`.
        if file.meta.get("place") != project.fingerprint["place"]:
            return None, Degraded(NAME, "the SCIP edges were not made in this folder and are not used", _EdgeFile.HINT)
        return ScipEdges(file), None
    except (LurcherError, OSError) as error:
        message = error.message if isinstance(error, LurcherError) else f"{path}: {error.strerror}"
        return None, Degraded(NAME, message, _EdgeFile.HINT)


class ScipEdges:
    """The edges of one root. Thread-safe: only reads."""

    def __init__(self, container: Container) -> None:
        self._container = container
        if container.meta.get("format") != FORMAT:
            raise container.corrupt("it is of another version")
        self.documents, self.symbols = self._count("documents", _DOCUMENT), self._count("symbols", _SYMBOL)
        self._relations = self._count("related", _RELATED)
        self._count("occurrences", _OCCURRENCE)  # raises if a row is cut short

    @property
    def about(self) -> Mapping[str, Any]:
        """Which tools made it, and how many of their documents were left out, by reason."""
        return {name: self._container.meta[name] for name in ("tools", "left_out")}

    def verify(self) -> None:
        """Read every byte; an error if one is not as it was written."""
        self._container.verify()

    def covers(self, snapshot: Snapshot, path: str, prefix: str = "") -> bool:
        """Whether a file still has the text that it had when the edges were loaded."""
        document = self._find("documents", _DOCUMENT, self.documents, path)
        return document is not None and self._is_current(snapshot, prefix, self._row("documents", _DOCUMENT, document))

    def count_current(self, snapshot: Snapshot) -> int:
        """How many files it covers still."""
        return sum(self._is_current(snapshot, "", row) for row in self._rows("documents", _DOCUMENT, 0, self.documents))

    def _is_current(self, snapshot: Snapshot, prefix: str, document: tuple[int, ...]) -> bool:
        file = snapshot.live_paths.get(prefix + self._string(document[0]))
        if file is None:
            return False
        return (int(snapshot.file_column("size")[file]), int(snapshot.file_column("crc")[file])) == document[1:3]

    def symbols_at(self, path: str, byte: int) -> list[int]:
        """The symbols of the shortest names that hold a byte of a file; several where a name means several things."""
        document = self._find("documents", _DOCUMENT, self.documents, path)
        if document is None:
            return []
        _, _, _, first, count = self._row("documents", _DOCUMENT, document)
        behind = first + bisect_left(range(count), byte + 1, key=lambda i: self._row("occurrences", _OCCURRENCE, first + i)[1])
        start = max(first, behind - _MAX_OVERLAP)
        holding = [row for row in self._rows("occurrences", _OCCURRENCE, start, behind) if row[1] <= byte < row[2]]
        shortest = min((row[2] - row[1] for row in holding), default=0)
        return sorted({row[3] for row in holding if row[2] - row[1] == shortest})

    def symbols_named(self, name: str) -> list[int]:
        """The symbols with this name, local ones included."""
        first = self._find("symbols", _SYMBOL, self.symbols, name)
        found: list[int] = []
        while first is not None and first < self.symbols and self._string(self._row("symbols", _SYMBOL, first)[0]) == name:
            found.append(first)
            first += 1
        return found

    def symbol(self, number: int) -> str:
        """A symbol as the indexer wrote it."""
        return self._string(self._row("symbols", _SYMBOL, number)[1])

    def places(self, symbols: Iterable[int]) -> list[Place]:
        """Where symbols occur: definitions and references, by path and position."""
        found = set()
        for number in symbols:
            _, _, first, count = self._row("symbols", _SYMBOL, number)
            for (occurrence,) in self._rows("places", _NUMBER, first, first + count):
                document, start, end, symbol, roles = self._row("occurrences", _OCCURRENCE, occurrence)
                path = self._string(self._row("documents", _DOCUMENT, document)[0])
                found.add(Place(path, start, end, symbol, roles))
        return sorted(found)

    def related(self, symbols: Iterable[int]) -> list[tuple[int, int]]:
        """Symbols that override or implement these, or that these do, each with its flags."""
        found = set()
        for number in symbols:
            first = bisect_left(range(self._relations), number, key=lambda i: self._row("related", _RELATED, i)[0])
            for row in self._rows("related", _RELATED, first, self._relations):
                if row[0] != number:
                    break
                found.add((row[1], row[2]))
        return sorted(found)

    def _count(self, table: str, row: struct.Struct) -> int:
        length = self._container.length(table)
        if length % row.size:
            raise self._container.corrupt(f"section '{table}' ends in the middle of a row")
        return length // row.size

    def _row(self, table: str, row: struct.Struct, number: int) -> tuple[int, ...]:
        return row.unpack(self._container.section(table, number * row.size, (number + 1) * row.size))

    def _rows(self, table: str, row: struct.Struct, first: int, last: int) -> Iterator[tuple[int, ...]]:
        return row.iter_unpack(self._container.section(table, first * row.size, last * row.size))

    def _find(self, table: str, row: struct.Struct, count: int, wanted: str) -> int | None:
        """The first row of a table whose string, in its first column, is the wanted one."""
        number = bisect_left(range(count), wanted, key=lambda i: self._string(self._row(table, row, i)[0]))
        return number if number < count and self._string(self._row(table, row, number)[0]) == wanted else None

    def _string(self, offset: int) -> str:
        total = self._container.length("strings")
        length = 256
        while True:
            piece = bytes(self._container.section("strings", offset, min(offset + length, total)))
            end = piece.find(b"\0")
            if end >= 0:
                return piece[:end].decode("utf-8", "replace")
            if offset + length >= total:
                raise self._container.corrupt("section 'strings' is cut short")
            length *= 4


def scip_status(project: RootIndex, snapshot: Snapshot) -> dict[str, Any]:
    """The entry of `lurcher status`; empty where no SCIP index was loaded."""
    edges, note = open_edges(project)
    if note is not None:
        return {"scip": {"problem": note.reason, "hint": note.hint}}
    if edges is None:
        return {}
    current = edges.count_current(snapshot)
    return {"scip": {**edges.about, "files": edges.documents, "changed": edges.documents - current}}


# -- loading ----------------------------------------------------------------------------------------------------------


def load_scip(projects: Sequence[RootIndex], paths: Sequence[str | Path], progress: Progress) -> tuple[Degraded, ...]:
    """Keep what SCIP indexes say about the files of a root, in place of what was loaded before.

    Documents are left out, and counted by reason, whose file is outside of the root or not indexed, was changed after the SCIP
    index was made, or has another text than it says.
    """
    from lurcher.storage import disk

    if len(projects) > 1:
        raise UsageError("a SCIP index is about one root", "name the root that it was made for")
    project = projects[0]
    view = project.view(progress, limited=False)
    builder = _Builder(view.snapshot)
    root = os.path.realpath(project.root.path)
    for number, path in enumerate(paths):
        progress("reading SCIP", number, len(paths))
        index = scip.read_index(path)
        folder = _folder_of(index, root)
        made = os.stat(path).st_mtime_ns
        for document in index.documents:
            builder.add(document, root, folder, made)
        builder.tools.append(f"{index.tool} {index.version}".strip() or "unknown")
    notes = view.degraded
    with project.store.lock(project.settings.index.lock_seconds):
        if project.store.writable:
            try:
                disk.write_atomically(project.store.folder / NAME, builder.finish(project.fingerprint["place"]))
            except OSError as error:
                project.store.fall_back_to_memory(error)
    if not project.store.writable:
        reason = f"the SCIP index was not kept: {project.store.write_error}"
        notes += (Degraded(NAME, reason, "make the index folder writable"),)
    left_out = {reason: count for reason, count in builder.left_out.items() if count}
    if left_out:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        what = f"{format_count(sum(left_out.values()), 'document')} of the SCIP index left out: {counts}"
        stale = left_out.get("changed since") or left_out.get("of another text")
        notes += (Degraded(NAME, what, "make the SCIP index anew" if stale else ""),)
    return notes


def _folder_of(index: Index, root: str) -> str:
    """The folder that the paths of an index start from: the one it names, if that is around our root or inside of it.

    An index that was made elsewhere, as on another machine, is taken for one of our root.
    """
    parts = urlsplit(index.project_root)
    path = unquote(parts.path)
    named = os.path.realpath(path) if parts.scheme == "file" and path and "\0" not in path else root
    return named if os.path.commonpath((named, root)) in (named, root) else root


class _Builder:
    """Collects documents and writes the tables."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._files = snapshot.live_paths
        self._documents: dict[str, tuple[int, list[tuple[int, int, str, int]]]] = {}
        """Path → file, and start, end, symbol and roles of each occurrence; a local symbol has its path behind it."""
        self._names: dict[str, str] = {}
        self._relations: set[tuple[str, str, int]] = set()
        self.tools: list[str] = []
        self.left_out = dict.fromkeys(("not indexed", "changed since", "of another text"), 0)

    def add(self, document: Document, root: str, folder: str, made: int) -> None:
        path = os.path.relpath(os.path.join(folder, document.path), root).replace(os.sep, "/")
        file = self._files.get(path)
        if file is None:
            self.left_out["not indexed"] += 1
            return
        if not document.text and _changed_after(os.path.join(root, path), made):
            self.left_out["changed since"] += 1
            return
        found = _occurrences(document, path, self._snapshot.file_text(file))
        if found is None:
            self.left_out["of another text"] += 1
            return
        _, known = self._documents.setdefault(path, (file, []))
        known += found
        for symbol in document.symbols:
            key = _key(symbol.symbol, path)
            if symbol.name:
                self._names[key] = symbol.name
            for other in symbol.relationships:
                flags = (REFERENCE if other.is_reference else 0) | (IMPLEMENTATION if other.is_implementation else 0)
                if flags:
                    self._relations.add((key, _key(other.symbol, path), flags))

    def finish(self, place: int | str) -> list[bytes | memoryview]:
        """The container, valid in the index folder that `place` identifies."""
        strings = _Strings()
        documents, occurrences = bytearray(), bytearray()
        uses: dict[str, list[tuple[bool, int]]] = {}
        texts: dict[str, str] = {}
        rows: list[tuple[int, int, int, str, int]] = []
        sizes, sums = self._snapshot.file_column("size"), self._snapshot.file_column("crc")
        for number, (path, (file, found)) in enumerate(sorted(self._documents.items())):
            distinct = sorted(set(found))
            documents += _DOCUMENT.pack(strings.put(path), int(sizes[file]), int(sums[file]), len(rows), len(distinct))
            text = self._snapshot.file_text(file)
            for start, end, symbol, roles in distinct:
                is_definition = bool(roles & scip.DEFINITION)
                uses.setdefault(symbol, []).append((not is_definition, len(rows)))
                if is_definition or symbol not in texts:
                    texts[symbol] = text[start:end].decode("utf-8", "replace")
                rows.append((number, start, end, symbol, roles))
        named = sorted((self._name(symbol, texts[symbol]), symbol) for symbol in uses)
        numbers = {symbol: number for number, (_, symbol) in enumerate(named)}
        symbols, places = bytearray(), bytearray()
        for name, symbol in named:
            own = sorted(uses[symbol])
            symbols += _SYMBOL.pack(strings.put(name), strings.put(symbol.partition("\n")[0]), len(places) // 4, len(own))
            places += b"".join(_NUMBER.pack(occurrence) for _, occurrence in own)
        for document, start, end, symbol, roles in rows:
            occurrences += _OCCURRENCE.pack(document, start, end, numbers[symbol], roles & 0xFF)
        both = [*self._relations, *((other, symbol, flags | INVERSE) for symbol, other, flags in self._relations)]
        kept = [(numbers[one], numbers[other], flags) for one, other, flags in both if one in numbers and other in numbers]
        related = b"".join(_RELATED.pack(*row) for row in sorted(kept))
        tables = {"documents": documents, "occurrences": occurrences, "symbols": symbols, "places": places, "related": related}
        left_out = {reason: count for reason, count in self.left_out.items() if count}
        meta = {"format": FORMAT, "place": place, "tools": self.tools, "left_out": left_out}
        sections = {name: ("V", bytes(table)) for name, table in tables.items()}
        return encode_container({**sections, "strings": ("u1", bytes(strings.data))}, meta)

    def _name(self, symbol: str, text: str) -> str:
        descriptors = scip.parse_descriptors(symbol)
        if descriptors:
            return descriptors[-1][0]
        return self._names.get(symbol) or text


class _Strings:
    """Zero-terminated strings, each of them once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}

    def put(self, text: str) -> int:
        known = self._offsets.get(text)
        if known is None:
            known = self._offsets[text] = len(self.data)
            self.data += text.encode("utf-8", "replace").replace(b"\0", b" ") + b"\0"
        return known


def _key(symbol: str, path: str) -> str:
    """A symbol; a local one with its path, since other documents use the same names for other things."""
    return f"{symbol}\n{path}" if scip.is_local(symbol) else symbol


def _changed_after(path: str, made: int) -> bool:
    try:
        return os.stat(path).st_mtime_ns > made
    except OSError:
        return True


def _occurrences(document: Document, path: str, data: bytes) -> list[tuple[int, int, str, int]] | None:
    """The occurrences by byte; None if the document describes another text.

    A text that is not in the document is another one if a range reaches behind the end of its line, or if the names of the
    definitions are not where they should be.
    """
    if document.text and document.text.encode("utf-8", "replace") != data:
        return None
    lines = _Lines(data, document.encoding)
    found = []
    definitions = right = 0
    for occurrence in document.occurrences:
        line, start_column, last, end_column = occurrence.range
        start, end = lines.byte(line, start_column), lines.byte(last, end_column)
        if start is None or end is None:
            return None
        if start == end:
            continue  # it stands for the whole file
        found.append((start, end, _key(occurrence.symbol, path), occurrence.roles))
        name = _expected_name(occurrence)
        if name:
            definitions += 1
            right += data[start:end] == name.encode()
    return found if right >= _SAME_NAMES * definitions else None


def _expected_name(occurrence: Occurrence) -> str:
    """What the text should be at a definition; empty where that cannot be told, as for `<constructor>` and modules."""
    if not occurrence.roles & scip.DEFINITION:
        return ""
    descriptors = scip.parse_descriptors(occurrence.symbol)
    if not descriptors or descriptors[-1][1] in ("/", ":") or descriptors[-1][0].startswith("<"):
        return ""
    return descriptors[-1][0]


class _Lines:
    """Converts lines and columns to bytes of a text."""

    def __init__(self, data: bytes, encoding: int) -> None:
        self._data = data
        self._starts = list(accumulate((len(line) + 1 for line in data.split(b"\n")), initial=0))
        """The first byte of each line, and the end of the text."""
        # Indexers that do not say count as their compilers do, in UTF-16.
        self._codec, self._width = {scip.UTF8: ("utf-8", 1), scip.UTF32: ("utf-32-le", 4)}.get(encoding, ("utf-16-le", 2))
        self._cached: tuple[int, bytes, bool] = (-1, b"", True)

    def byte(self, line: int, column: int) -> int | None:
        """The byte at a place; None if the text has no such place."""
        if line + 1 >= len(self._starts):
            return None
        start = self._starts[line]
        if line != self._cached[0]:
            content = self._data[start : self._starts[line + 1] - 1]
            self._cached = line, content, content.isascii()
        _, content, plain = self._cached
        if plain or self._width == 1:
            return start + column if column <= len(content) else None
        units = content.decode("utf-8", "replace").encode(self._codec)
        if column * self._width > len(units):
            return None
        return start + len(units[: column * self._width].decode(self._codec, "ignore").encode("utf-8"))
