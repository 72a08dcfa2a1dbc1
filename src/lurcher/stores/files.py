"""The files of an index in a store, cut into blocks: whatever reads a local index reads these, block by block as it needs them.

    layout       one page: which files there are, and which manifest is that of code and that of commits
    f.<name>.n   a page for each block of a file; names come from content, so a block never changes

    sending      a page that lists the files that are being sent

A writer says which files it will send, puts their blocks, then the layout, then empties the blocks of files that the layout
does not have. So all files in the newest layout are complete, published or not, whenever a writer is killed, and the next one
knows which blocks may be there in vain.
"""

from __future__ import annotations

import json
import mmap
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError, StoreError, Template
from lurcher.runtime.process import format_count
from lurcher.storage import IndexFolder
from lurcher.storage.container import BLOCK_BYTES, FOOTER, MAGIC, PACK_BYTES, Container, PackedSection
from lurcher.storage.manifest import FILES_FORMAT, FileRow, ManifestFormat, encode_manifest, files_in_use, parse_manifest
from lurcher.storage.segment import FILES, Schema, check_segment
from lurcher.stores.base import Store, StoreChanged
from lurcher.stores.records import damaged_error, decode, encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.types import Progress

LAYOUT = "layout"
"""The page that lists the files."""
SENDING = "sending"
CODE, HISTORY = "code", "history"
"""The indexes that a project can have."""
FORMAT = 1
"""Of the layout."""
BLOCK = 1 << 16
_BATCH = 48
"""Blocks in one request, 3 MB."""
MAX_READ_BYTES = 512 << 20
"""What one question may read: the vectors of more than a million units, for example. Hand-set."""
_MAX_AHEAD = 32
"""Blocks of text that are fetched ahead where it is read in order."""
_NAME = re.compile(r"[0-9a-f]{24}\.(?:segment|vectors|outcomes|manifest)")
_MAX_SIZE = 1 << 40
_NOWHERE = "/dev/null/store"
"""Stands for the folder of an index that has none: no file can be there."""


class ReadLimit(StoreError):
    """A question would read more of the index than it may."""


@dataclass(frozen=True, slots=True)
class Part:
    """An index within a project."""

    manifest: str
    """The file that has its manifest."""
    about: str
    """What it was made from: an index that was made from the same need not be sent again."""


@dataclass(frozen=True, slots=True)
class Layout:
    parts: Mapping[str, Part] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    """Names and sizes."""

    def encode(self) -> bytes:
        parts = {name: [part.manifest, part.about] for name, part in self.parts.items()}
        return encode(json.dumps({"format": FORMAT, "parts": parts, "files": self.files}, sort_keys=True).encode())


def decode_layout(data: bytes | None) -> Layout | None:
    """The layout on a page; None where there is none, or one of another version."""
    if not data:
        return None
    try:
        found = json.loads(decode(data, "list of files"))
        if found["format"] != FORMAT:
            return None
        parts = {str(name): Part(str(manifest), str(about)) for name, (manifest, about) in found["parts"].items()}
        files = {str(name): int(size) for name, size in found["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged_error("list of files") from error
    sane = all(_NAME.fullmatch(name) and 0 < size < _MAX_SIZE for name, size in files.items())
    if not sane or any(part.manifest not in files for part in parts.values()):
        raise damaged_error("list of files")
    return Layout(parts, files)


def block_name(file: str, number: int) -> str:
    return f"f.{file}.{number:x}"


def _block_count(size: int) -> int:
    return -(-size // BLOCK)


# -- writing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LocalPart:
    """A local index to send."""

    about: str
    manifest: Any
    folder: IndexFolder
    opened: Mapping[str, Container]
    """Its segments, which are open already; further files are opened from the folder."""

    def contents(self) -> tuple[str, dict[str, memoryview]]:
        """The name of its manifest, and the bytes of all its files by their names."""
        found: dict[str, memoryview] = {}
        for name in sorted(files_in_use(self.manifest)):
            container = self.opened.get(name) or self.folder.open_file(name, name.rpartition(".")[2])
            found[name] = container.content
        data = b"".join(encode_manifest(_without_stamps(self.manifest), None, self.folder.format))
        name = f"{Container(data, 'manifest').digest()}.manifest"
        found[name] = memoryview(data)
        return name, found


def _without_stamps(manifest: Any) -> Any:
    """The manifest without what is true on this machine alone; times of writing stay, since they date notes."""
    fingerprint = {**manifest.fingerprint, "place": ""}
    if not hasattr(manifest, "rows"):  # of commits
        return manifest.replace(stamps={}, fingerprint=fingerprint)
    rows = {
        path: FileRow(row.digest, row.size, row.mtime_ns, 0, 0, row.segment, row.place) for path, row in manifest.rows.items()
    }
    return manifest.replace(rows=rows, settled=frozenset(), signature=None, stamps={}, fingerprint=fingerprint)


def write_files(
    store: Store, project: str, generation: int, parts: Mapping[str, LocalPart], progress: Progress, *, rebuild: bool
) -> int:
    """Put what differs of the index files of a project, to be seen from `generation` on; returns how many blocks.

    A part that is not given stays as it is in the store.
    """
    newest = decode_layout(store.pages(project, generation, [LAYOUT]).get(LAYOUT)) or Layout()
    published = decode_layout(store.pages(project, generation - 1, [LAYOUT]).get(LAYOUT)) or Layout()
    known = Layout() if rebuild else newest
    kept = {name: part for name, part in known.parts.items() if name not in parts or parts[name].about == part.about}
    sent = {name: part.contents() for name, part in parts.items() if name not in kept}
    if not sent and known.parts == published.parts and known.files == published.files and published.parts:
        return 0
    files = {name: known.files[name] for part in kept for name in _files_of_part(store, project, generation, known, part)}
    data = {name: content for _, contents in sent.values() for name, content in contents.items()}
    missing = [name for name in data if name not in known.files]
    total = sum(_block_count(len(data[name])) for name in missing)
    stray = decode_layout(store.pages(project, generation, [SENDING]).get(SENDING)) or Layout()
    begun = Layout({}, {**stray.files, **{name: len(data[name]) for name in missing}})
    store.put_pages(project, {SENDING: begun.encode()}, generation)
    done = 0
    for batch in _batches(missing, data):
        progress("sending the index to the store", done, total)
        store.put_pages(project, {name: encode(bytes(content)) for name, content in batch}, generation)
        done += len(batch)
    progress("sending the index to the store", total, total)
    made = {name: Part(manifest, parts[name].about) for name, (manifest, _) in sent.items()}
    layout = Layout({**kept, **made}, {**files, **{name: len(content) for name, content in data.items()}})
    store.put_pages(project, {LAYOUT: layout.encode()}, generation)
    old = {**published.files, **newest.files, **stray.files}
    empty = [block_name(name, number) for name in old if name not in layout.files for number in range(_block_count(old[name]))]
    for first in range(0, len(empty), 1000):
        store.put_pages(project, dict.fromkeys(empty[first : first + 1000], b""), generation)
    store.put_pages(project, {SENDING: b""}, generation)
    return total + len(empty) + 1


def _batches(names: Iterable[str], data: Mapping[str, memoryview]) -> Iterator[list[tuple[str, memoryview]]]:
    batch: list[tuple[str, memoryview]] = []
    for name in names:
        content = data[name]
        for number in range(_block_count(len(content))):
            batch.append((block_name(name, number), content[number * BLOCK : (number + 1) * BLOCK]))
            if len(batch) == _BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def _files_of_part(store: Store, project: str, generation: int, layout: Layout, part: str) -> set[str]:
    """The files of an index that is in the store already."""
    from lurcher.corpora.history.schema import HISTORY_FORMAT

    format = HISTORY_FORMAT if part == HISTORY else FILES_FORMAT
    reader = BlockReader(store, project, 1 << 40)
    reader.open(generation, layout)
    named = layout.parts[part].manifest
    return {named, *files_in_use(parse_manifest(reader.container(named), None, format))}


# -- reading -----------------------------------------------------------------------------------------------------------


class _Blocks:
    """The bytes of a file, of which blocks are there once they were fetched. Thread-safe."""

    def __init__(self, size: int, fetch: Callable[[Sequence[int]], Iterable[tuple[int, bytes]]]) -> None:
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
        self.data = mmap.mmap(-1, size, **private)  # memory that was not written takes no room
        self._size, self._fetch = size, fetch
        self._there = bytearray(_block_count(size))
        self._lock = threading.Lock()
        self._next, self._ahead = -1, 0

    def load(self, start: int, end: int, ahead: int = 0) -> None:
        """Have the bytes [start, end); where they follow what was read last, more of them, up to `ahead`."""
        first, last = start // BLOCK, (end - 1) // BLOCK + 1
        if start >= end or self._there.find(0, first, last) < 0:
            return
        if ahead:
            self._ahead = min(2 * self._ahead or 2, _MAX_AHEAD) if first <= self._next <= last else 0
            last = min(last + self._ahead, max(last, _block_count(ahead)))
            self._next = last
        self.load_blocks(range(first, last))

    def load_blocks(self, numbers: Iterable[int]) -> None:
        with self._lock:
            missing = [number for number in numbers if not self._there[number]]
            for number, data in self._fetch(missing):
                at = number * BLOCK
                if len(data) != min(BLOCK, self._size - at):
                    raise damaged_error("block of an index file")
                self.data[at : at + len(data)] = data
                self._there[number] = 1


class StoredContainer(Container):
    """A file of an index in a store. Every block is verified, as those of a file that is not trusted are."""

    WHAT = "the store's index file"
    HINT = Template("write it again: {index: rebuild store=URL}")
    ERROR: type[LurcherError] = StoreError

    def __init__(self, blocks: _Blocks, size: int, name: str) -> None:
        self._blocks = blocks
        if size < len(MAGIC) + FOOTER.size:
            raise self._damage_error(name, "it is too short")
        blocks.load(0, 1)
        blocks.load(size - FOOTER.size, size)
        contents = FOOTER.unpack(blocks.data[size - FOOTER.size : size])[0]
        blocks.load(min(contents, size), size)
        super().__init__(blocks.data, name)

    def _verify(self, name: str, position: int, length: int, sums: list[int], start: int, end: int) -> None:
        # Whole blocks of the section are verified, and they begin elsewhere than those of the file.
        low, high = start - start % BLOCK_BYTES, min(end + -end % BLOCK_BYTES, length)
        self._blocks.load(position + low, position + high if start < end else position + low)
        super()._verify(name, position, length, sums, start, end)

    def section_with_parts(self, name: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> memoryview:
        entry = self._table.get(name)
        if entry is not None and len(starts) and entry.length:
            first, last = entry.position // BLOCK, (entry.position + entry.length - 1) // BLOCK
            wanted: set[int] = set()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                low, high = start - start % BLOCK_BYTES, end + -end % BLOCK_BYTES
                wanted.update(range((entry.position + low) // BLOCK, (entry.position + high - 1) // BLOCK + 1))
            self._blocks.load_blocks(sorted(number for number in wanted if first <= number <= last))
        return super().section_with_parts(name, starts, ends)

    def _make_packed(self, name: str, stored: memoryview, listed: memoryview) -> PackedSection:
        load = partial(self._load_stored, self._blocks, self._table[name].position, len(stored))
        return _StoredText(name, stored, listed, partial(self._damage_error, self.name), load)

    @staticmethod
    def _load_stored(blocks: _Blocks, position: int, length: int, start: int, end: int) -> None:
        blocks.load(position + start, position + end, position + length)

    def release_pages(self) -> None:
        """Nothing: what was fetched would be lost."""


class _StoredText(PackedSection):
    def __init__(
        self, name: str, stored: memoryview, listed: memoryview, corrupt: Callable[[str], LurcherError],
        load: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        super().__init__(name, stored, listed, corrupt)
        self._load = load

    def read(self, start: int, end: int | None) -> memoryview:
        stop = self.length if end is None else end
        if 0 <= start < stop <= self.length:
            self._load(*self._stored_range(start // PACK_BYTES, (stop - 1) // PACK_BYTES + 1))
        return super().read(start, end)

    def verify(self) -> None:
        self._load(0, len(self._stored))
        super().verify()


class BlockReader:
    """Opens the index files of one project in a store. Files stay open from one generation to the next. Thread-safe."""

    def __init__(self, store: Store, project: str, limit: int = MAX_READ_BYTES) -> None:
        self._store, self._project, self._limit = store, project, limit
        self._layout, self._generation = Layout(), 0
        self._opened: dict[str, StoredContainer] = {}
        self._lock = threading.Lock()
        self._read = 0

    def open(self, generation: int, layout: Layout) -> None:
        """Read this generation from now on."""
        with self._lock:
            self._generation, self._layout = generation, layout
            self._opened = {name: known for name, known in self._opened.items() if name in layout.files}

    def begin(self) -> None:
        """A new question may read as much as the limit says."""
        self._read = 0

    def read_layout(self, generation: int) -> Layout:
        """The layout of a generation; an error where another version wrote the project."""
        found = decode_layout(self._store.pages(self._project, generation, [LAYOUT]).get(LAYOUT))
        if found is None:
            raise StoreError(
                f"the files of the project {self._project} were stored by another version of lurcher",
                Template("install the same version here, or write the project again: {index: rebuild store=URL}"),
            )
        return found

    def container(self, name: str) -> StoredContainer:
        with self._lock:
            known = self._opened.get(name)
            size = self._layout.files.get(name)
        if known is not None:
            return known
        if size is None:
            raise damaged_error("list of files")
        container = StoredContainer(_Blocks(size, partial(self._fetch, name)), size, name)
        if container.digest() != name.partition(".")[0]:
            raise container.corrupt("its content belongs to another name")
        with self._lock:
            return self._opened.setdefault(name, container)

    def _fetch(self, file: str, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        if self._read + len(numbers) * BLOCK > self._limit:
            raise ReadLimit(
                f"this question would read more than {format_count(self._limit >> 20, 'megabyte')} of the index in the store",
                Template("name a folder or a language, or ask in a checkout: {store=local}"),
            )
        for first in range(0, len(numbers), _BATCH):
            names = {block_name(file, number): number for number in numbers[first : first + _BATCH]}
            found = self._store.pages(self._project, self._generation, list(names))
            for name, number in names.items():
                if not found.get(name):
                    raise StoreChanged("the project was written while it was being read", "ask again")
                data = decode(found[name], "block of an index file")
                self._read += len(data)
                yield number, data


class StoredFolder(IndexFolder):
    """An index in a store in the place of its folder. Nothing can be written there."""

    def __init__(self, reader: BlockReader, schema: Schema = FILES, format: ManifestFormat = FILES_FORMAT) -> None:
        super().__init__(_NOWHERE, writable=False, schema=schema, format=format)
        self._reader = reader

    def container(self, name: str) -> Container:
        container = self._reader.container(name)
        check_segment(container, self.schema)
        return container

    def open_file(self, name: str, kind: str) -> Container:
        return self._reader.container(name)

    def read_manifest(self, part: Part) -> Any:
        return parse_manifest(self._reader.container(part.manifest), None, self.format)

    def retry_writes(self) -> bool:
        return False
