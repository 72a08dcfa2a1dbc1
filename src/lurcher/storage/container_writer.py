"""Writes containers: section by section, with their checksums and block lists."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from lurcher.runtime.stdlib import blake2b, dumps
from lurcher.storage.container import (
    BLOCK_BYTES,
    BLOCK_LIST_SUFFIX,
    DIGEST_BYTES,
    FOOTER,
    MAGIC,
    PACK_BYTES,
    PACKED,
    checksum,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

_MAX_PACKED_BYTES = 0xFFFFFFFF


class ContainerWriter:
    """Writes a container piece by piece, so that it need not fit into memory."""

    def __init__(self, write: Callable[[bytes | memoryview], object]) -> None:
        self._sink = write
        self._table: dict[str, Any] = {}
        self._position = 0
        self._name = ""
        self._sums = _BlockChecksums()
        self._packer: _Packer | None = None
        self._out(MAGIC)

    def add(self, name: str, kind: str, data: bytes | memoryview) -> None:
        """A whole section."""
        self.begin(name, kind)
        self.write(data)
        self.end()

    def begin(self, name: str, kind: str) -> None:
        """Start a section of `kind`: a numpy type string, "V", or PACKED."""
        self._name = name
        self._table[name] = [kind, self._position, 0, []]
        self._sums = _BlockChecksums()
        self._packer = _Packer(self._store) if kind == PACKED else None

    def write(self, data: bytes | memoryview) -> None:
        """Append to the current section."""
        if self._packer is not None:
            self._packer.write(data)
        else:
            self._sums.add(data)
            self._store(data)

    @property
    def packed_length(self) -> int:
        """Bytes of the current packed section so far, uncompressed."""
        return self._packer.length if self._packer is not None else 0

    def write_block(self, packed: bytes | memoryview, sum: int) -> None:
        """Append a compressed block of another container to the current packed section; the last block must be full."""
        assert self._packer is not None
        self._packer.put(packed, sum)

    def end(self) -> None:
        name, packer = self._name, self._packer
        if packer is not None:
            packer.flush()
        entry = self._table[name]
        entry[2] = self._position - entry[1]
        entry[3] = self._sums.finish() if packer is None else []
        self._out(bytes(-self._position % 8))
        if packer is not None:
            self.add(name + BLOCK_LIST_SUFFIX, "<u4", packer.blocks())

    def finish(self, meta: Mapping[str, Any]) -> str:
        """Write the table of contents and return the digest that names the content."""
        contents = dumps({"sections": self._table, "meta": meta}, separators=(",", ":"), sort_keys=True).encode()
        position = self._position
        footer = FOOTER.pack(position, len(contents), checksum()(contents), MAGIC)
        self._out(contents)
        self._out(footer)
        return blake2b(contents + footer, digest_size=DIGEST_BYTES).hexdigest()

    def _store(self, data: bytes | memoryview) -> None:
        if len(data):
            self._out(data)

    def _out(self, data: bytes | memoryview) -> None:
        self._position += len(data)
        self._sink(data)


class _BlockChecksums:
    """The checksums of the blocks of a section, which comes in pieces of any size."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._current = 0
        self._filled = 0

    def add(self, data: bytes | memoryview) -> None:
        crc32, position = checksum(), 0
        while position < len(data):
            taken = min(BLOCK_BYTES - self._filled, len(data) - position)
            self._current = crc32(data[position : position + taken], self._current)
            self._filled += taken
            position += taken
            if self._filled == BLOCK_BYTES:
                self._close()

    def _close(self) -> None:
        self._sums.append(self._current)
        self._current = self._filled = 0

    def finish(self) -> list[int]:
        if self._filled:
            self._close()
        return self._sums


class _Packer:
    """Cuts a packed section into blocks, compresses them, and collects the block list."""

    def __init__(self, write: Callable[[bytes | memoryview], None]) -> None:
        from lz4.block import compress

        self._compress = compress
        self._write = write
        self._waiting = bytearray()
        self._rows: list[int] = []
        self._stored = self.length = 0

    def write(self, data: bytes | memoryview) -> None:
        self.length += len(data)
        self._waiting += data
        if len(self._waiting) >= PACK_BYTES:
            whole = len(self._waiting) // PACK_BYTES * PACK_BYTES
            view = memoryview(self._waiting)
            for start in range(0, whole, PACK_BYTES):
                self._pack(view[start : start + PACK_BYTES])
            view.release()
            del self._waiting[:whole]

    def flush(self) -> None:
        if self._waiting:
            self._pack(self._waiting)
            self._waiting = bytearray()

    def _pack(self, data: bytearray | memoryview) -> None:
        packed = self._compress(data, store_size=False)
        self._keep(packed, checksum()(packed))

    def put(self, packed: bytes | memoryview, sum: int) -> None:
        """A whole block that is compressed already."""
        if self._waiting:
            raise ValueError("the last block is not full")
        self.length += PACK_BYTES
        self._keep(packed, sum)

    def _keep(self, packed: bytes | memoryview, sum: int) -> None:
        self._stored += len(packed)
        self._rows += [self._stored, sum]
        self._write(packed)

    def blocks(self) -> bytes:
        """The block list: the total length, then end and checksum of each block."""
        if self._stored > _MAX_PACKED_BYTES:
            raise OverflowError("a packed section is too large")
        head = (self.length & 0xFFFFFFFF, self.length >> 32)
        return struct.pack(f"<{2 + len(self._rows)}I", *head, *self._rows)


def encode_container(
    sections: Mapping[str, tuple[str, bytes | memoryview]], meta: Mapping[str, Any]
) -> list[bytes | memoryview]:
    """A container as a list of byte strings. `sections` maps a name to (kind, bytes)."""
    pieces: list[bytes | memoryview] = []
    builder = ContainerWriter(pieces.append)
    for name, (kind, data) in sections.items():
        builder.add(name, kind, data)
    builder.finish(meta)
    return pieces


def as_bytes(array: NDArray[Any]) -> memoryview:
    import numpy as np

    # np.uint8 arrays are buffers, though the annotations of older numpy versions do not say so.
    flat: Any = np.ascontiguousarray(array).view(np.uint8)
    return memoryview(flat).cast("B") if array.size else memoryview(b"")
