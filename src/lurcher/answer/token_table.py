"""Counts cl100k_base tokens: exactly, offline, with a table that is mapped into memory and not loaded.

A text is cut into pieces (a word with the sign before it, up to three digits, a run of signs, white space). A piece that is a
token counts as one. Of others, the two neighbouring parts are joined, again and again, that make the token of the lowest rank,
the first of several; the parts that are left when no two make a token are counted. The kernel does the
same, faster (kernel/query/tokens.c).

The file, which tools/build_token_table.py builds out of the public ranks:

    header          magic, number of pages, bytes of all entries, CRC-32 of all that follows
    page numbers    of each 256 code points, one byte: their page
    pages           of each code point, one byte: letter, number, space, or anything else
    ends            of each bucket, 4 bytes: where its entries begin, and those of the last end; little-endian as all numbers
    entries         length (1 byte), rank (3 bytes) and bytes of each token, in the bucket of its CRC-32
"""

from __future__ import annotations

import os
from functools import cache
from struct import Struct

from lurcher.errors import LurcherError
from lurcher.runtime.kernel import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

FILE = os.path.join(os.path.split(__file__)[0], "cl100k.tokens")
REINSTALL = "run: pip install --force-reinstall lurcher"
MAGIC = b"LTOKENS1"
HEADER = Struct("<8sIII")
BUCKET_BITS = 15
PAGE_BITS = 8
PAGES = 0x110000 >> PAGE_BITS
OTHER, LETTER, NUMBER, SPACE = range(4)
LONGEST = 128
"""Bytes of the longest token."""
_PIECE = (
    r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n]*"
    r"|\s+\Z|\s*[\r\n]|\s+(?!\S)|\s"
)
_STAND_INS = {OTHER: "#", LETTER: "b", NUMBER: "0", SPACE: "\t"}
"""One character of each class that no alternative of `_PIECE` mentions by name."""
_MAX_CACHED_PIECES = 1 << 16
_MAX_CACHED_BYTES = 64
_NO_RANK = 1 << 24


@cache
def load_counter() -> Callable[[str], int]:
    """A function that counts the tokens of a text; raises UnicodeEncodeError where UTF-8 cannot encode it."""
    kernel = native()
    try:
        table = map_table()
        if kernel is None:
            return PythonCounter(table).count
        count = kernel.count_tokens
        count(table, "")  # raises if the table has another layout
    except (OSError, ValueError) as error:
        raise LurcherError(f"tokens cannot be counted: {FILE}: {error}", REINSTALL) from error
    return lambda text: int(count(table, text))


def map_table() -> mmap:
    from mmap import ACCESS_READ, mmap

    with open(FILE, "rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ)


def verify_table() -> int:
    """How many bytes the table has; raises unless all of them are as they were written. For `lurcher doctor`."""
    from zlib import crc32

    load_counter()
    with map_table() as table:
        if crc32(table[HEADER.size :]) != HEADER.unpack_from(table)[3]:
            raise LurcherError(f"{FILE} is damaged: its checksum differs", REINSTALL)
        return len(table)


class PythonCounter:
    """The reference, for where there is no kernel."""

    def __init__(self, table: mmap | bytes) -> None:
        import re
        from zlib import crc32

        if len(table) < HEADER.size:
            raise ValueError("this is no table of tokens")
        magic, pages, size, _ = HEADER.unpack_from(table)
        page_numbers, first_page = HEADER.size, HEADER.size + PAGES
        self._ends = first_page + (pages << PAGE_BITS)
        self._entries = self._ends + 4 * ((1 << BUCKET_BITS) + 1)
        if magic != MAGIC or self._entries + size != len(table):
            raise ValueError("this is no table of tokens")
        self._table, self._crc32 = table, crc32
        self._pattern = re.compile(_PIECE, re.ASCII)
        self._stand_ins = _StandIns(table[page_numbers:first_page], table[first_page : self._ends])
        self._counts: dict[str, int] = {}

    def count(self, text: str) -> int:
        text.encode()  # lone surrogates are an error, as in the kernel
        if text.isascii():
            return sum(map(self._count_piece, self._pattern.findall(text)))
        pieces = self._pattern.finditer(text.translate(self._stand_ins))
        return sum(self._count_piece(text[piece.start() : piece.end()]) for piece in pieces)

    def _count_piece(self, piece: str) -> int:
        count = self._counts.get(piece)
        if count is None:
            text = piece.encode()
            count = 1 if self._rank(text) != _NO_RANK else self._join(text)
            if len(text) <= _MAX_CACHED_BYTES:
                if len(self._counts) == _MAX_CACHED_PIECES:
                    self._counts.clear()
                self._counts[piece] = count
        return count

    def _rank(self, token: bytes) -> int:
        if len(token) > LONGEST:
            return _NO_RANK
        crc32, table = self._crc32, self._table
        place = self._ends + 4 * (crc32(token) >> (32 - BUCKET_BITS))
        at = self._entries + int.from_bytes(table[place : place + 4], "little")
        end = self._entries + int.from_bytes(table[place + 4 : place + 8], "little")
        while at < end:
            size = table[at]
            if size == len(token) and table[at + 4 : at + 4 + size] == token:
                return int.from_bytes(table[at + 1 : at + 4], "little")
            at += 4 + size
        return _NO_RANK

    def _join(self, text: bytes) -> int:
        """How many parts are left. A heap of (rank, start) keeps the time near the length of the text."""
        from heapq import heapify, heappop, heappush

        size = len(text)
        following = list(range(1, size + 2))  # where the part after the one that starts here starts
        before = list(range(-1, size))
        ranks = [self._rank(text[start : start + 2]) for start in range(size - 1)] + [_NO_RANK]
        heap = [(rank, start) for start, rank in enumerate(ranks) if rank != _NO_RANK]
        heapify(heap)

        def rank_again(start: int) -> None:
            middle = following[start]
            ranks[start] = _NO_RANK if middle >= size else self._rank(text[start : following[middle]])
            if ranks[start] != _NO_RANK:
                heappush(heap, (ranks[start], start))

        parts = size
        while heap:
            rank, start = heappop(heap)
            if ranks[start] != rank:
                continue  # one of its parts has been joined with another since
            joined = following[start]
            ranks[joined] = _NO_RANK
            following[start] = following[joined]
            if following[start] < size:
                before[following[start]] = start
            parts -= 1
            rank_again(start)
            if start:
                rank_again(before[start])
        return parts


class _StandIns(dict[int, str]):
    """For each code point a character of ASCII that `_PIECE` treats as cl100k_base's own expression treats the code point."""

    def __init__(self, page_numbers: bytes, pages: bytes) -> None:
        super().__init__((code, chr(code)) for code in range(128))
        self[0x17F] = "s"  # "ſ" equals "s" where case is ignored
        self._page_numbers, self._pages = page_numbers, pages

    def __missing__(self, code: int) -> str:
        place = (self._page_numbers[code >> PAGE_BITS] << PAGE_BITS) + code % (1 << PAGE_BITS)
        self[code] = found = _STAND_INS[self._pages[place]]
        return found
