"""A word as pieces of a vocabulary: the longest that fits from the left, then the longest `##` continuation, and so on.

Schuster and Nakajima: Japanese and Korean voice search, 2012 (WordPiece).
"""

from __future__ import annotations

from lurcher.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
