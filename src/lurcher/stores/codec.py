"""Bytes as they are kept elsewhere: made smaller, with a checksum. What comes back is checked before it is believed."""

from __future__ import annotations

import struct
import zlib

from lurcher.errors import StoreError, Template

_HEAD = struct.Struct("<4sII")
_MAGIC = b"LUR1"
_MOST = 1 << 28
"""Bytes that one record or page may have; a file has a megabyte of text at the most by default."""


def sealed(raw: bytes) -> bytes:
    from lz4.block import compress

    if len(raw) > _MOST:
        raise StoreError("a file is too large for a shared store", "leave it out: index.max_file_bytes")
    packed: bytes = compress(raw, store_size=False)
    return _HEAD.pack(_MAGIC, len(raw), zlib.crc32(raw)) + packed


def opened(data: bytes, what: str) -> bytes:
    """What was sealed; a StoreError that names `what` where it is not that."""
    from lz4.block import LZ4BlockError, decompress

    try:
        magic, size, checksum = _HEAD.unpack_from(data)
        if magic != _MAGIC or size > _MOST:
            raise ValueError("not ours")
        raw: bytes = decompress(memoryview(data)[_HEAD.size :], uncompressed_size=size)
        if len(raw) != size or zlib.crc32(raw) != checksum:
            raise ValueError("another checksum")
    except (struct.error, LZ4BlockError, ValueError, TypeError) as error:
        raise damaged(what) from error
    return raw


def damaged(what: str) -> StoreError:
    return StoreError(f"the shared store has a damaged {what}", Template("make it anew: {index: rebuild store=URL}"))
