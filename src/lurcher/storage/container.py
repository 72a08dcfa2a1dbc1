"""A file of named, checksummed sections: the format of everything that an index keeps on disk.

    magic | section bytes, each 8-byte aligned | table of contents (JSON) | its length and checksum | magic

There is a checksum per block of 64 KiB, verified when the block is first read: opening a large file costs nothing, and no byte
is used before it was checked. A packed section is text in LZ4 blocks of 32 KiB, each of which can be read alone; it has a third
of the size and unpacks at gigabytes per second. Anybody can compute a checksum, so whatever a file says about itself is
validated before use, and a hostile file is reported as damaged like any other.

A file that was not touched since it was written is trusted without verification: the manifest has its inode and change time,
which every write renews and no program can set. What a disk loses by itself is found by `lurcher doctor`.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from functools import cache, partial
from struct import Struct

from lurcher.errors import CorruptIndex, LurcherError, Template
from lurcher.runtime.kernel import native, np
from lurcher.runtime.process import map_file, open_file
from lurcher.runtime.stdlib import Generic, TypeVar, blake2b, loads
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Kind = TypeVar("Kind", bound="Container")
    Stamp = tuple[int, int, int, int]
    """Size, modification time, change time (nanoseconds) and inode of a file."""
    Checksum = Callable[..., int]
    """CRC-32 of some bytes; an optional second argument is the checksum of the bytes before them."""

MAGIC = b"LURCHER1"
BLOCK_BYTES = 1 << 16
PACK_BYTES = 1 << 15
"""Bytes of a packed section that are compressed together."""
PACKED = "lz4"
BLOCK_LIST_SUFFIX = ".blocks"
"""Suffix of the section that lists the blocks of a packed section."""
KINDS = {"u1": 1, "i1": 1, "<u4": 4, "<u8": 8, "<f4": 4, "V": 1, PACKED: 1}
"""Kinds of sections, with the bytes of one element; "V" is a table whose layout the reader knows."""
_MAX_CACHED_BLOCKS = 256
"""Of a packed section, 8 MB unpacked: successive queries read much the same files."""
FOOTER = Struct("<QII8s")
_HEADER_BYTES = len(MAGIC)
DIGEST_BYTES = 12


class _SectionEntry(Record):
    __slots__ = ("kind", "position", "length", "sums")

    def __init__(self, kind: str, position: int, length: int, sums: list[int]) -> None:
        self.kind, self.position, self.length, self.sums = kind, position, length, sums


def _parse_table(table: Any, end: int) -> dict[str, _SectionEntry]:
    """The table of contents; ValueError unless its sections lie one after the other between the header and `end`."""
    entries = {name: _SectionEntry(*fields) for name, fields in dict(table).items()}
    position = _HEADER_BYTES
    for entry in sorted(entries.values(), key=lambda entry: (entry.position, entry.length)):
        if type(entry.position) is not int or type(entry.length) is not int or entry.length < 0:
            raise ValueError("a section without a position")
        if entry.position < position or entry.position + entry.length > end:
            raise ValueError("a section outside of its bounds")
        if entry.length % KINDS[entry.kind] or entry.position % 8:
            raise ValueError("a section with a broken element")
        blocks = 0 if entry.kind == PACKED else -(-entry.length // BLOCK_BYTES)
        if type(entry.sums) is not list or len(entry.sums) != blocks:
            raise ValueError("a section without its checksums")
        position = entry.position + entry.length
    return entries


Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """A cache that is emptied when the sizes of its values together exceed a limit. Safe in threads: only dict methods."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._known: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        return self._known.get(key)

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of `size`, in whatever unit the limit has; each entry counts one more."""
        self._size += size + 1
        if self._size > self._limit:
            self._known.clear()
            self._size = size + 1
        self._known[key] = value


Layout = list[tuple[str, str]]
"""The columns of a table, each with its kind."""


class Container:
    """Reads a container from any buffer. Thread-safe."""

    WHAT = "index file"
    HINT: str = Template("{run index: rebuild}")
    ERROR: type[LurcherError] = CorruptIndex
    trusted = False
    """Whether the file is known to be as it was written, so that nothing has to be verified."""
    stamp: Stamp | None = None
    """The stamp of the file when it was opened."""

    def __init__(self, buffer: bytes | mmap.mmap, name: str) -> None:
        self.name = name
        self._mapped = buffer
        self._buffer = memoryview(buffer)
        size = len(self._buffer)
        if size < _HEADER_BYTES + FOOTER.size or bytes(self._buffer[:_HEADER_BYTES]) != MAGIC:
            raise self.corrupt("it does not begin like one")
        position, length, expected, magic = FOOTER.unpack(self._buffer[size - FOOTER.size :])
        if magic != MAGIC or position + length + FOOTER.size != size:
            raise self.corrupt("it is cut short")
        contents = self._buffer[position : position + length]
        if checksum()(contents) != expected:
            raise self.corrupt("its table of contents fails the checksum")
        try:
            parsed = loads(bytes(contents))
            self.meta: dict[str, Any] = dict(parsed["meta"])
            self._table = _parse_table(parsed["sections"], position)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.corrupt("its table of contents is not valid") from error
        self._contents = position
        self._checked: dict[str, bytearray] = {}
        self._unpackers: dict[str, PackedSection] = {}

    @classmethod
    def open(cls: type[Kind], path: Path | str, stamp: Stamp | None = None) -> Kind:
        """Open the file at a path. It is trusted if it still has the `stamp` that it had when it was written."""
        name = os.path.split(path)[1]
        try:
            # Neither a link nor a pipe that came with the tree is followed or waited for.
            descriptor = open_file(path)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise cls.ERROR(f"{cls.WHAT} {name} is not a file", cls.HINT)
                if status.st_size == 0:
                    raise cls.ERROR(f"{cls.WHAT} {name} is damaged: it is empty", cls.HINT)
                found = cls(map_file(descriptor, status.st_size), name)
                found.stamp = file_stamp(status)
                found.trusted = stamp is not None and stamp == found.stamp
                return found
            finally:
                os.close(descriptor)
        except FileNotFoundError as error:
            raise cls.ERROR(f"{cls.WHAT} {name} is missing", cls.HINT) from error
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
                raise
            raise cls.ERROR(f"{cls.WHAT} {name} is not a file", cls.HINT) from error

    def is_file_at(self, path: str) -> bool:
        """Whether the file at a path is the one that was opened, not touched since."""
        try:
            return self.stamp is not None and self.stamp == file_stamp(os.lstat(path))
        except OSError:
            return False

    def section(self, name: str, start: int = 0, end: int | None = None) -> memoryview:
        """Bytes [start, end) of a section, verified."""
        entry = self._table.get(name)
        if entry is None:
            raise self.corrupt(f"it has no section '{name}'")
        position, length = entry.position, entry.length
        if entry.kind == PACKED:
            return self._open_packed(name).read(start, end)
        end = length if end is None else end
        if not 0 <= start <= end <= length:
            raise self.corrupt(f"section '{name}' is shorter than it should be")
        self._verify(name, position, length, entry.sums, start, end)
        return self._buffer[position + start : position + end]

    def section_with_parts(self, name: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> memoryview:
        """A whole section, of which only the given parts are verified and may be read; no part is empty."""
        entry = self._table.get(name)
        if entry is None or entry.kind == PACKED:
            raise self.corrupt(f"it has no section '{name}'")
        position, length, sums = entry.position, entry.length, entry.sums
        kernel = native()
        if kernel is not None and len(starts):
            left = kernel.unchecked(starts, ends, BLOCK_BYTES, length, self._marks(name, sums))
            if left is None:
                raise self.corrupt(f"section '{name}' is shorter than it should be")
            for block in left:
                self._verify(name, position, length, sums, block * BLOCK_BYTES, min((block + 1) * BLOCK_BYTES, length))
        elif len(starts):
            if int(starts.min()) < 0 or int(ends.max()) > length:
                raise self.corrupt(f"section '{name}' is shorter than it should be")
            first, last = starts // BLOCK_BYTES, (ends - 1) // BLOCK_BYTES
            for wide in np.flatnonzero(last - first > 1).tolist():
                self._verify(name, position, length, sums, int(starts[wide]), int(ends[wide]))
            blocks = np.unique(np.concatenate((first, last)))
            blocks = blocks[np.frombuffer(self._marks(name, sums), np.uint8)[blocks] == 0]
            for block in blocks.tolist():
                self._verify(name, position, length, sums, block * BLOCK_BYTES, min((block + 1) * BLOCK_BYTES, length))
        return self._buffer[position : position + length]

    def _open_packed(self, name: str) -> PackedSection:
        known = self._unpackers.get(name)
        if known is None:
            entry = self._table[name]
            stored = self._buffer[entry.position : entry.position + entry.length]
            known = self._unpackers[name] = self._make_packed(name, stored, self.section(name + BLOCK_LIST_SUFFIX))
        return known

    def _make_packed(self, name: str, stored: memoryview, listed: memoryview) -> PackedSection:
        return PackedSection(name, stored, listed, partial(self._damage_error, self.name))

    def blocks(self, name: str, first: int, last: int) -> Iterator[tuple[memoryview, int]]:
        """The compressed blocks [first, last) of a packed section, each with its checksum, which is not verified."""
        return self._open_packed(name).stored(first, last)

    def is_packed(self, name: str) -> bool:
        return name in self._table and self._table[name].kind == PACKED

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._buffer)

    @property
    def content(self) -> memoryview:
        """All bytes of the file, unverified."""
        return self._buffer

    def digest(self) -> str:
        """A name for the content: a hash of the table of contents, which has the checksum of every block."""
        return blake2b(self._buffer[self._contents :], digest_size=DIGEST_BYTES).hexdigest()

    def has_section(self, name: str) -> bool:
        return name in self._table

    def sections(self) -> list[tuple[str, str]]:
        """Name and kind of every section in file order, without the block lists of packed ones."""
        found = sorted(self._table.items(), key=lambda item: (item[1].position, item[1].length))
        packed = {name + BLOCK_LIST_SUFFIX for name, entry in found if entry.kind == PACKED}
        return [(name, entry.kind) for name, entry in found if name not in packed]

    def length(self, name: str) -> int:
        """Bytes of a section, unpacked."""
        entry = self._table.get(name)
        if entry is not None and entry.kind == PACKED:
            return self._open_packed(name).length
        return entry.length if entry else 0

    def typed_section(self, name: str, kind: str) -> memoryview:
        """A whole section; an error if it is not of `kind`."""
        data = self.section(name)
        if self._table[name].kind != kind:
            raise self.corrupt(f"section '{name}' has the wrong kind")
        return data

    def array(self, name: str, kind: str) -> NDArray[Any]:
        """A whole section as a numpy array of `kind`, without a copy."""
        import numpy as np

        return np.frombuffer(self.typed_section(name, kind), kind)

    def table(self, name: str, layout: Layout) -> NDArray[Any]:
        """A whole section as a structured numpy array, without a copy."""
        import numpy as np

        rows, row = self.section(name), np.dtype(layout)
        if len(rows) % row.itemsize:
            raise self.corrupt(f"section '{name}' ends in the middle of a row")
        return np.frombuffer(rows, row)

    def verify(self) -> None:
        """Check every byte of every section, and that the space between sections is empty."""
        self.trusted = False
        self._checked.clear()
        for name, entry in self._table.items():
            if entry.kind == PACKED:
                self._open_packed(name).verify()
            else:
                self.section(name)
        position = _HEADER_BYTES
        for entry in sorted(self._table.values(), key=lambda entry: (entry.position, entry.length)):
            if any(self._buffer[position : entry.position]):
                raise self.corrupt("there is data between its sections")
            position = entry.position + entry.length
        if any(self._buffer[position : self._contents]):
            raise self.corrupt("there is data between its sections")

    def _verify(self, name: str, position: int, length: int, sums: list[int], start: int, end: int) -> None:
        if start == end or self.trusted:
            return
        checked = self._marks(name, sums)
        for block in range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1):
            if not checked[block]:
                first = position + block * BLOCK_BYTES
                data = self._buffer[first : min(first + BLOCK_BYTES, position + length)]
                if checksum()(data) != sums[block]:
                    raise self.corrupt(f"section '{name}' fails its checksum")
                checked[block] = 1

    def _marks(self, name: str, sums: list[int]) -> bytearray:
        """A byte per block of a section, 1 where it need not be verified (again)."""
        marks = self._checked.get(name)
        if marks is None:
            marks = self._checked[name] = bytearray(b"\1" * len(sums) if self.trusted else len(sums))
        return marks

    def corrupt(self, reason: str) -> LurcherError:
        """The error to raise for a file with wrong content."""
        return self._damage_error(self.name, reason)

    @classmethod
    def _damage_error(cls, name: str, reason: str) -> LurcherError:
        return cls.ERROR(f"{cls.WHAT} {name} is damaged: {reason}", cls.HINT)

    def release_pages(self) -> None:
        """Let the system drop the pages of the mapped file from memory; they can be read again."""
        if isinstance(self._mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def decompress_block(block: bytes | memoryview, size: int) -> bytes | None:
    """`size` bytes from an LZ4 block; None where it does not hold that many. The kernel saves loading the lz4 library."""
    kernel = native()
    if kernel is not None:
        found: bytes | None = kernel.unpack(block, size)
        return found
    from lz4.block import LZ4BlockError, decompress

    try:
        data: bytes = decompress(block, uncompressed_size=size)
    except (LZ4BlockError, ValueError):
        return None
    return data if len(data) == size else None


def file_stamp(status: os.stat_result) -> Stamp | None:
    """What changes with every write to a file; None on systems without change times."""
    if os.name != "posix":
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def is_same_but_relinked(known: Stamp | None, found: Stamp | None) -> bool:
    """Whether a file has only a new change time, as it gets when a link to it is made or removed."""
    return known is not None and found is not None and known != found and known[:2] + known[3:] == found[:2] + found[3:]


@cache
def checksum() -> Checksum:
    """CRC-32: by zlib, or by the kernel on processors where that is several times as fast."""
    kernel = native()
    if kernel is not None and kernel.FAST_CRC32:
        fast: Checksum = kernel.crc32
        return fast
    from zlib import crc32

    return crc32


class PackedSection:
    """Reads a packed section block by block.

    It holds no reference to its container, which would be a cycle: the file must be closed with its last reader, not when
    Python next collects garbage.
    """

    def __init__(self, name: str, stored: memoryview, listed: memoryview, corrupt: Callable[[str], LurcherError]) -> None:
        self._name = name
        self._stored = stored
        self._corrupt = corrupt
        if len(listed) < 8 or len(listed) % 8:
            raise corrupt(f"section '{name}' has no blocks")
        blocks = listed.cast("I")
        self.length = blocks[0] | blocks[1] << 32
        self._blocks = blocks[2:]
        if len(self._blocks) // 2 != -(-self.length // PACK_BYTES) or (self._blocks[-2] if self._blocks else 0) != len(stored):
            raise corrupt(f"section '{name}' has the wrong blocks")
        self._cache: BoundedCache[int, bytes] = BoundedCache(_MAX_CACHED_BLOCKS)

    def read(self, start: int, end: int | None) -> memoryview:
        end = self.length if end is None else end
        if not 0 <= start <= end <= self.length:
            raise self._corrupt(f"section '{self._name}' is shorter than it should be")
        if start == end:
            return memoryview(b"")
        first, last = start // PACK_BYTES, (end - 1) // PACK_BYTES
        if first == last:
            return memoryview(self._block(first))[start - first * PACK_BYTES : end - first * PACK_BYTES]
        whole = b"".join(self._block(number) for number in range(first, last + 1))
        return memoryview(whole)[start - first * PACK_BYTES : end - first * PACK_BYTES]

    def _block(self, number: int) -> bytes:
        block = self._cache.get(number)
        if block is None:
            block = self._unpack(number)
            self._cache.put(number, block, 0)
        return block

    def _unpack(self, number: int) -> bytes:
        start = self._blocks[2 * number - 2] if number else 0
        end, expected = self._blocks[2 * number], self._blocks[2 * number + 1]
        packed = self._stored[start:end]
        size = min(PACK_BYTES, self.length - number * PACK_BYTES)
        data = decompress_block(packed, size) if start < end and checksum()(packed) == expected else None
        if data is not None:
            return data
        raise self._corrupt(f"section '{self._name}' fails its checksum")

    def _stored_range(self, first: int, last: int) -> tuple[int, int]:
        """Where the blocks [first, last) are stored."""
        return self._blocks[2 * first - 2] if first else 0, self._blocks[2 * last - 2] if last else 0

    def stored(self, first: int, last: int) -> Iterator[tuple[memoryview, int]]:
        start = self._blocks[2 * first - 2] if first else 0
        for number in range(first, last):
            end = self._blocks[2 * number]
            if not start < end <= len(self._stored):
                raise self._corrupt(f"section '{self._name}' has the wrong blocks")
            yield self._stored[start:end], self._blocks[2 * number + 1]
            start = end

    def verify(self) -> None:
        for number in range(len(self._blocks) // 2):
            self._unpack(number)
