"""A Bloom filter over the text of a segment, for exact search: "no" is certain, "yes" is wrong once in about 700 times.

Its entries are all words as they are spelled (runs of ASCII letters, digits and underscores) and all trigrams of bytes that
are not inside one word, where all bytes beyond ASCII count as one. If a text occurs in the segment and does not begin or end
inside a word there, all its words and trigrams are in the filter. It has more bits per entry than one segment needs, because
there may be nine segments and each may err.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lurcher.runtime.kernel import hash_seed, native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS_PER_ENTRY = 14
"""Bits per entry."""
HASH_COUNT = 7
_BLOCK_BYTES = 64
"""The length of the filter is a multiple of this."""
_PIECE_BYTES = 1 << 16
"""Bytes that are processed at a time. A longer word is not found, but no query can ask for one."""
_MAX_PENDING = 1 << 18
"""Hashes that are collected before duplicates are removed."""
_NON_ASCII = 127
_PRIME = 0x9E3779B97F4A7C15


class BloomBuilder:
    """Collects the entries of texts. The filter depends on the texts, not on their order."""

    def __init__(self) -> None:
        import numpy as np

        self._trigrams = np.zeros(1 << 21, bool)
        self._words: list[NDArray[np.uint64]] = []
        self._waiting = 0
        kernel = native()
        self._native = None if kernel is None else kernel.Entries(hash_seed())

    def add(self, text: bytes | memoryview) -> None:
        """Add a whole file, or any text that begins and ends between words."""
        import numpy as np

        if self._native is not None:
            self._native.add(text, self._trigrams)
            return
        self._add_by_reference(np.frombuffer(text, np.uint8))
        if self._waiting > _MAX_PENDING:
            self._words = [np.unique(np.concatenate(self._words))]
            self._waiting = 0

    def _add_by_reference(self, text: NDArray[np.uint8]) -> None:
        for words, trigrams in _split_entries(text):
            self._trigrams[trigrams] = True
            self._keep_words(words)

    def _keep_words(self, words: NDArray[np.uint64]) -> None:
        self._words.append(words)
        self._waiting += len(words)

    def sorted_hashes(self) -> NDArray[np.uint64]:
        """All hashes, each once, ascending."""
        import numpy as np

        return np.sort(self._hashes()) if self._native is not None else self._hashes()

    def _hashes(self) -> NDArray[np.uint64]:
        """All hashes, each once."""
        import numpy as np

        if self._native is not None:
            self._native.mark(self._trigrams)
            return np.frombuffer(self._native.hashes(), np.uint64)
        return np.unique(np.concatenate([*self._words, _mix(np.flatnonzero(self._trigrams).astype(np.uint64))]))

    def add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Add hashes that another builder collected."""
        if self._native is not None:
            self._native.take(hashes)
        else:
            self._words.append(hashes)

    def build(self) -> bytes:
        """The bytes of the filter."""
        import numpy as np

        hashes = self._hashes()
        size = -(-len(hashes) * BITS_PER_ENTRY // (8 * _BLOCK_BYTES)) * _BLOCK_BYTES
        kernel = native()
        if kernel is not None:
            return bytes(kernel.filter(hashes, size))
        bits = np.zeros(size * 8, bool)
        for places in _bit_positions(hashes, len(bits)) if size else ():
            bits[places] = True
        return np.packbits(bits, bitorder="little").tobytes()


def hash_text(text: bytes) -> NDArray[np.uint64]:
    """The hashes that a filter must hold for a text to occur; none for one or two characters that are no word."""
    import numpy as np

    found: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    for words, trigrams in _split_entries(np.frombuffer(text, np.uint8)):
        found += [words, _mix(trigrams.astype(np.uint64))]
    return np.concatenate(found)


def may_contain(filter: memoryview, hashes: NDArray[np.uint64]) -> bool:
    """Whether the filter may contain all hashes; False is certain."""
    bits = len(filter) * 8
    if not bits:
        return False
    return all(filter[place >> 3] >> (place & 7) & 1 for places in _bit_positions(hashes, bits) for place in places.tolist())


def _bit_positions(hashes: NDArray[np.uint64], bits: int) -> list[NDArray[np.uint64]]:
    """The positions of the bits of each hash, by double hashing (Kirsch and Mitzenmacher, 2006)."""
    import numpy as np

    first, step = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32) | np.uint64(1)
    return [(first + np.uint64(i) * step) % np.uint64(bits) for i in range(HASH_COUNT)]


def _split_entries(text: NDArray[np.uint8]) -> list[tuple[NDArray[np.uint64], NDArray[np.uint32]]]:
    """Hashes of words and numbers of trigrams, piece by piece; pieces end between words, trigrams reach over the border."""
    import numpy as np

    inside = _word_bytes()[text]
    found, start = [], 0
    while start < len(text):
        end = min(start + _PIECE_BYTES, len(text))
        if end < len(text):
            between = np.flatnonzero(~inside[start:end])
            end = start + int(between[-1]) + 1 if len(between) else end
        before = max(0, start - 2)
        found.append((_hash_words(text[start:end], inside[start:end]), _trigrams(text[before:end], inside[before:end])))
        start = end
    return found


def _hash_words(text: NDArray[np.uint8], inside: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """A polynomial hash of each word, as a difference of running sums over the text."""
    import numpy as np

    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    powers, inverse = _powers()
    running = np.zeros(len(text) + 1, np.uint64)
    np.cumsum(text * powers[: len(text)], out=running[1:])
    digits = (running[ends] - running[starts]) * inverse[starts]
    return _mix(digits + (ends - starts).astype(np.uint64) * np.uint64(_PRIME))


def _trigrams(text: NDArray[np.uint8], inside: NDArray[np.bool_]) -> NDArray[np.uint32]:
    import numpy as np

    if len(text) < 3:
        return np.zeros(0, np.uint32)
    starts = np.flatnonzero(~(inside[:-2] & inside[1:-1] & inside[2:]))
    plain = np.minimum(text, _NON_ASCII).astype(np.uint32)
    found: NDArray[np.uint32] = plain[starts] << np.uint32(14) | plain[starts + 1] << np.uint32(7) | plain[starts + 2]
    return found


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: every bit of the result depends on every bit of the value."""
    import numpy as np

    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ values >> np.uint64(31)
    return mixed


@cache
def _word_bytes() -> NDArray[np.bool_]:
    """Which bytes are part of a word."""
    import numpy as np

    return np.array([(chr(byte).isalnum() and byte < 128) or byte == ord("_") for byte in range(256)])


@cache
def _powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Powers of an odd number, and of its inverse."""
    import numpy as np

    found = []
    for base in (_PRIME, pow(_PRIME, -1, 1 << 64)):
        powers = np.full(_PIECE_BYTES, base, np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers, dtype=np.uint64))
    return found[0], found[1]
