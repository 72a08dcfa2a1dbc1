"""A Bloom filter over what a segment's text is made of: "no" is certain, "yes" is wrong about once in 700 times.

It holds every word as it is spelled (a run of ASCII letters, digits and underscores), and every three bytes that are not all of
one word, with all bytes beyond ASCII taken for the same. A text that occurs somewhere, and there neither begins nor ends inside
of a word, has all its words and threes in the filter. There are more bits per entry than one segment needs: there may be nine
segments, and each may err.
"""

from __future__ import annotations

from lurcher.runtime.kernel import hash_seed, native
from lurcher.runtime.light import TYPE_CHECKING, cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS_PER_ENTRY = 14
"""Per entry."""
HASH_COUNT = 7
_BLOCK_BYTES = 64
"""The filter's length is a multiple of this many bytes."""
_PIECE_BYTES = 1 << 16
"""Bytes looked at in one go. A longer word is not found again, which nobody can ask for."""
_MAX_PENDING = 1 << 18
"""Hashes gathered before those that are there twice are left out."""
_NON_ASCII = 127
_PRIME = 0x9E3779B97F4A7C15


class BloomBuilder:
    """Gathers what texts are made of. The filter depends on nothing but the texts, whatever their order."""

    def __init__(self) -> None:
        import numpy as np

        self._trigrams = np.zeros(1 << 21, bool)
        self._words: list[NDArray[np.uint64]] = []
        self._waiting = 0
        kernel = native()
        self._native = None if kernel is None else kernel.Entries(hash_seed())

    def add(self, text: bytes | memoryview) -> None:
        """One whole file, or any text that begins and ends between words."""
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
        """All of them, each once, in order."""
        import numpy as np

        return np.sort(self._hashes()) if self._native is not None else self._hashes()

    def _hashes(self) -> NDArray[np.uint64]:
        """All of them, each once."""
        import numpy as np

        if self._native is not None:
            self._native.mark(self._trigrams)
            return np.frombuffer(self._native.hashes(), np.uint64)
        return np.unique(np.concatenate([*self._words, _mix(np.flatnonzero(self._trigrams).astype(np.uint64))]))

    def add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """What others gathered."""
        if self._native is not None:
            self._native.take(hashes)
        else:
            self._words.append(hashes)

    def build(self) -> bytes:
        """The filter's bytes: as many as the entries need."""
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
    """What a filter must hold for the text to be there; nothing for one or two characters that are no word."""
    import numpy as np

    found: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    for words, trigrams in _split_entries(np.frombuffer(text, np.uint8)):
        found += [words, _mix(trigrams.astype(np.uint64))]
    return np.concatenate(found)


def may_contain(filter: memoryview, hashes: NDArray[np.uint64]) -> bool:
    """Whether the filter may hold all of them; if not, that is certain."""
    bits = len(filter) * 8
    if not bits:
        return False
    return all(filter[place >> 3] >> (place & 7) & 1 for places in _bit_positions(hashes, bits) for place in places.tolist())


def _bit_positions(hashes: NDArray[np.uint64], bits: int) -> list[NDArray[np.uint64]]:
    """Where the bits of each hash are: two halves make as many numbers as one likes (Kirsch and Mitzenmacher, 2006)."""
    import numpy as np

    first, step = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32) | np.uint64(1)
    return [(first + np.uint64(i) * step) % np.uint64(bits) for i in range(HASH_COUNT)]


def _split_entries(text: NDArray[np.uint8]) -> list[tuple[NDArray[np.uint64], NDArray[np.uint32]]]:
    """Hashes of words and numbers of threes, piece by piece; pieces end between words, and threes reach over the border."""
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
    """A hash of each word: its bytes as the digits of a number, taken out of the running sum of the whole text."""
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
    apart = np.flatnonzero(~(inside[:-2] & inside[1:-1] & inside[2:]))
    plain = np.minimum(text, _NON_ASCII).astype(np.uint32)
    found: NDArray[np.uint32] = plain[apart] << np.uint32(14) | plain[apart + 1] << np.uint32(7) | plain[apart + 2]
    return found


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of a value (the finalizer of SplitMix64)."""
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
    """Powers of an odd number, and what undoes them."""
    import numpy as np

    found = []
    for base in (_PRIME, pow(_PRIME, -1, 1 << 64)):
        powers = np.full(_PIECE_BYTES, base, np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers, dtype=np.uint64))
    return found[0], found[1]
