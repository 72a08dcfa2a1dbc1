"""A file of named, checksummed sections: the shape of everything the index keeps on disk.

    magic | section bytes, each 8-byte aligned | table of contents (JSON) | its length and checksum | magic

Checksums are kept per block of 64 KiB and verified on first touch, so opening a large file costs nothing and no byte is
believed before it was checked. A checksum is no secret: whatever a file says of itself is checked before it is used, so that
a hostile one is called damaged like any other.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lurcher.errors import CorruptIndex, LurcherError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = TypeVar("Kind", bound="Container")

MAGIC = b"LURCHER1"
BLOCK = 1 << 16
KINDS = {"u1": 1, "i1": 1, "<u4": 4, "<f4": 4, "V": 1}
"""What a section can hold, with the bytes of one element; "V" is a table whose layout the reader knows."""
_FOOTER = struct.Struct("<QII8s")
_HEADER_BYTES = len(MAGIC)
_DIGEST_BYTES = 12


def pack_sections(sections: Mapping[str, tuple[str, bytes | memoryview]], meta: Mapping[str, Any]) -> list[bytes | memoryview]:
    """The pieces of a container, in writing order. `sections` maps a name to (numpy type string, bytes)."""
    pieces: list[bytes | memoryview] = [MAGIC]
    position = _HEADER_BYTES
    table: dict[str, Any] = {}
    for name, (kind, data) in sections.items():
        sums = [zlib.crc32(data[i : i + BLOCK]) for i in range(0, len(data), BLOCK)]
        table[name] = [kind, position, len(data), sums]
        padding = -len(data) % 8
        pieces += [data, bytes(padding)]
        position += len(data) + padding
    contents = json.dumps({"sections": table, "meta": meta}, separators=(",", ":"), sort_keys=True).encode()
    pieces += [contents, _FOOTER.pack(position, len(contents), zlib.crc32(contents), MAGIC)]
    return pieces


def digest_of(pieces: Sequence[bytes | memoryview]) -> str:
    """The digest that a container of these pieces will have."""
    return hashlib.blake2b(b"".join(pieces[-2:]), digest_size=_DIGEST_BYTES).hexdigest()


class _Entry(NamedTuple):
    kind: str
    position: int
    length: int
    sums: list[int]


def _checked_table(table: Any, end: int) -> dict[str, _Entry]:
    """The table of contents, if its sections lie one after the other between the header and `end`."""
    entries = {name: _Entry(*fields) for name, fields in dict(table).items()}
    position = _HEADER_BYTES
    for entry in sorted(entries.values(), key=lambda entry: (entry.position, entry.length)):
        if type(entry.position) is not int or type(entry.length) is not int or entry.length < 0:
            raise ValueError("a section without a place")
        if entry.position < position or entry.position + entry.length > end:
            raise ValueError("a section outside of its place")
        if entry.length % KINDS[entry.kind] or entry.position % 8:
            raise ValueError("a section of broken elements")
        if type(entry.sums) is not list or len(entry.sums) != -(-entry.length // BLOCK):
            raise ValueError("a section without its checksums")
        position = entry.position + entry.length
    return entries


class Container:
    """Read access to a container held in any buffer."""

    WHAT = "index file"
    HINT = "run: lurcher index --rebuild"
    ERROR: type[LurcherError] = CorruptIndex

    def __init__(self, buffer: bytes | mmap.mmap, name: str) -> None:
        self.name = name
        self._buffer = memoryview(buffer)
        size = len(self._buffer)
        if size < _HEADER_BYTES + _FOOTER.size or bytes(self._buffer[:_HEADER_BYTES]) != MAGIC:
            raise self.corrupt("its beginning is not ours")
        position, length, checksum, magic = _FOOTER.unpack(self._buffer[size - _FOOTER.size :])
        if magic != MAGIC or position + length + _FOOTER.size != size:
            raise self.corrupt("it is cut short")
        contents = self._buffer[position : position + length]
        if zlib.crc32(contents) != checksum:
            raise self.corrupt("its table of contents fails the checksum")
        try:
            parsed = json.loads(bytes(contents))
            self.meta: dict[str, Any] = dict(parsed["meta"])
            self._table = _checked_table(parsed["sections"], position)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.corrupt("its table of contents makes no sense") from error
        self._contents = position
        self._checked: dict[str, bytearray] = {}

    @classmethod
    def open(cls: type[Kind], path: Path) -> Kind:
        try:
            # Neither a link nor a pipe that came with the tree is followed or waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise cls.ERROR(f"{cls.WHAT} {path.name} is not a file", cls.HINT)
                if status.st_size == 0:
                    raise cls.ERROR(f"{cls.WHAT} {path.name} is damaged: it is empty", cls.HINT)
                return cls(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), path.name)
            finally:
                os.close(descriptor)
        except FileNotFoundError as error:
            raise cls.ERROR(f"{cls.WHAT} {path.name} is missing", cls.HINT) from error
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
                raise
            raise cls.ERROR(f"{cls.WHAT} {path.name} is not a file", cls.HINT) from error

    def section(self, name: str, start: int = 0, end: int | None = None) -> memoryview:
        """Bytes [start, end) of a section, verified."""
        entry = self._table.get(name)
        if entry is None:
            raise self.corrupt(f"it has no section '{name}'")
        _, position, length, sums = entry
        end = length if end is None else end
        if not 0 <= start <= end <= length:
            raise self.corrupt(f"section '{name}' is shorter than it should be")
        self._verify(name, position, length, sums, start, end)
        return self._buffer[position + start : position + end]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self._buffer)

    def digest(self) -> str:
        """Names the content without reading it: made from the table of contents, which has the checksum of every block."""
        return hashlib.blake2b(self._buffer[self._contents :], digest_size=_DIGEST_BYTES).hexdigest()

    def length(self, name: str) -> int:
        entry = self._table.get(name)
        return entry.length if entry else 0

    def array(self, name: str, kind: str) -> NDArray[Any]:
        """A whole section as a numpy array of `kind`, without a copy."""
        import numpy as np

        data = self.section(name)
        if self._table[name].kind != kind:
            raise self.corrupt(f"section '{name}' is of another kind")
        return np.frombuffer(data, kind)

    def table(self, name: str, layout: list[tuple[str, str]]) -> NDArray[Any]:
        """A whole section as rows of `layout`, without a copy."""
        import numpy as np

        rows, row = self.section(name), np.dtype(layout)
        if len(rows) % row.itemsize:
            raise self.corrupt(f"section '{name}' ends in the middle of a row")
        return np.frombuffer(rows, row)

    def verify(self) -> None:
        """Check every byte of every section, and of what fills the space between them."""
        for name in self._table:
            self.section(name)
        position = _HEADER_BYTES
        for entry in sorted(self._table.values(), key=lambda entry: (entry.position, entry.length)):
            if any(self._buffer[position : entry.position]):
                raise self.corrupt("there is something between its sections")
            position = entry.position + entry.length
        if any(self._buffer[position : self._contents]):
            raise self.corrupt("there is something between its sections")

    def _verify(self, name: str, position: int, length: int, sums: list[int], start: int, end: int) -> None:
        if start == end:
            return
        checked = self._checked.get(name)
        if checked is None:
            checked = self._checked[name] = bytearray(len(sums))
        for block in range(start // BLOCK, (end - 1) // BLOCK + 1):
            if not checked[block]:
                first = position + block * BLOCK
                data = self._buffer[first : min(first + BLOCK, position + length)]
                if zlib.crc32(data) != sums[block]:
                    raise self.corrupt(f"section '{name}' fails its checksum")
                checked[block] = 1

    def corrupt(self, reason: str) -> LurcherError:
        """The error for a file that does not hold what it should."""
        return self.ERROR(f"{self.WHAT} {self.name} is damaged: {reason}", self.HINT)
