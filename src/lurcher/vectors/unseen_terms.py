"""Splits a term that the table does not have into parts whose vectors it has: hashed n-grams, or WordPiece pieces.

**N-grams.** A term is written as UTF-8 between `<` and `>`; each run of n of these bytes is hashed by 32-bit FNV-1a, modulo the
number of buckets (Fowler, Noll, Vo; draft-eastlake-fnv). Training and search use the same function.

**Pieces.** The longest piece of the vocabulary that the word begins with, then the longest `##` continuation, and so on
(Schuster and Nakajima: Japanese and Korean voice search, 2012).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


OFFSET, PRIME = 2166136261, 16777619
_MASK = (1 << 32) - 1
MAX_WORD = 100
"""Longer words are not split into pieces."""


def hash_term_grams(term: str, lengths: Sequence[int], buckets: int) -> list[int]:
    """The buckets of every n-gram of one term; by position, then length."""
    if not lengths or not buckets:
        return []
    data = b"<%b>" % term.encode("utf-8", "surrogatepass")
    wanted, longest = set(lengths), max(lengths)
    found = []
    for start in range(len(data)):
        state = OFFSET
        for count, byte in enumerate(data[start : start + longest], 1):
            state = ((state ^ byte) * PRIME) & _MASK
            if count in wanted:
                found.append(state % buckets)
    return found


def hash_grams(
    terms: Sequence[str], lengths: Sequence[int], buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The buckets of every n-gram of every term, and the term of each; by term, then position, then length."""
    import numpy as np

    if not terms or not lengths or not buckets:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    marked = [b"<%b>" % term.encode("utf-8", "surrogatepass") for term in terms]
    sizes = np.fromiter(map(len, marked), np.int64, len(marked))
    total, longest = int(sizes.sum()), max(lengths)
    data = np.frombuffer(b"".join((*marked, bytes(longest))), np.uint8).astype(np.uint32)
    owner = np.repeat(np.arange(len(marked)), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(total)
    hashes = np.zeros((total, len(lengths)), np.uint32)
    fits = np.zeros((total, len(lengths)), bool)
    state = np.full(total, OFFSET, np.uint32)
    order = sorted(lengths)
    for count in range(1, longest + 1):
        state ^= data[count - 1 : count - 1 + total]
        state *= np.uint32(PRIME)
        if count in order:
            column = order.index(count)
            hashes[:, column] = state
            fits[:, column] = left >= count
    # Rows are positions in order, so what is left after masking is already sorted by term.
    owners = np.repeat(owner, len(lengths)).reshape(total, len(lengths))
    return (hashes[fits] % np.uint32(buckets)).astype(np.int64), owners[fits]


def split_pieces(word: str, known: Mapping[str, int], longest: int) -> list[int]:
    """The numbers of the word's pieces; empty if a part of it has none. `longest` is the length of the longest piece."""
    if len(word) > MAX_WORD:
        return []
    found: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(min(len(word), start + longest), start, -1):
            number = known.get(mark + word[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return []
    return found
