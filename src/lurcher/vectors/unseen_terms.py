"""Character n-grams of a term, hashed to buckets: what a term that the table has never seen is composed of.

A term is written as UTF-8 between `<` and `>`; each run of n of these bytes is hashed by 32-bit FNV-1a, modulo the buckets
(Fowler, Noll, Vo; draft-eastlake-fnv). Training and search use this one function, so that both hash alike.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


OFFSET, PRIME = 2166136261, 16777619
_WHOLE = (1 << 32) - 1


def grams_of_one(term: str, lengths: Sequence[int], buckets: int) -> list[int]:
    """The buckets of every n-gram of one term; by place, then length."""
    if not lengths or not buckets:
        return []
    data = b"<%b>" % term.encode("utf-8", "surrogatepass")
    wanted, longest = set(lengths), max(lengths)
    found = []
    for start in range(len(data)):
        state = OFFSET
        for count, byte in enumerate(data[start : start + longest], 1):
            state = ((state ^ byte) * PRIME) & _WHOLE
            if count in wanted:
                found.append(state % buckets)
    return found


def grams_of(
    terms: Sequence[str], lengths: Sequence[int], buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The buckets of every n-gram of every term, and the term that each belongs to; by term, then place, then length."""
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
    # Rows are places in order, so what is left after masking is sorted by term already.
    owners = np.repeat(owner, len(lengths)).reshape(total, len(lengths))
    return (hashes[fits] % np.uint32(buckets)).astype(np.int64), owners[fits]

# ----------------------------------------------------------------------------------------------------------------------
# A word as pieces of a vocabulary: the longest that fits from the left, then the longest `##` continuation, and so on.
#
# Schuster and Nakajima: Japanese and Korean voice search, 2012 (WordPiece).


MAX_WORD = 100


def pieces_of(word: str, known: Mapping[str, int], longest: int) -> list[int]:
    """The numbers of the word's pieces; none where some part of it is in no piece. `longest` is that of the vocabulary."""
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
