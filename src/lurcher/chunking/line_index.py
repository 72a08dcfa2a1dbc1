"""Where lines begin and how many characters lie between two bytes of a text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from lurcher.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

class Ruler:
    """Measures one UTF-8 text; every look-up is a binary search, so that one huge line costs no more than many."""

    __slots__ = ("_continuations", "line_starts", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        lines = text.split(b"\n")
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        starts.pop()
        if len(starts) > 1 and starts[-1] == len(text):
            starts.pop()
        self.line_starts = starts
        """Bytes at which lines begin; a final newline ends its line and begins none."""
        self._continuations = None if text.isascii() else _continuations(text)

    def size(self, start: int, end: int) -> int:
        """Characters in text[start:end]."""
        skipped = self._continuations
        if skipped is None:
            return end - start
        return end - start - int(skipped.searchsorted(end)) + int(skipped.searchsorted(start))

    def line(self, byte: int) -> int:
        """The 1-based line that `byte` lies on."""
        return bisect_right(self.line_starts, byte)

    def line_start(self, byte: int) -> int:
        """Where the line of `byte` begins."""
        return self.line_starts[bisect_right(self.line_starts, byte) - 1]

    def next_line(self, byte: int) -> int:
        """The first line start at or after `byte`, or the end of the text."""
        index = bisect_left(self.line_starts, byte)
        return self.line_starts[index] if index < len(self.line_starts) else len(self.text)

    def spans(self, cuts: list[int]) -> tuple[Span, ...]:
        """Spans from one cut to the next; the last ends with the text."""
        return spans(self, cuts)


def spans(ruler: Ruler, cuts: list[int]) -> tuple[Span, ...]:
    """Spans from one cut to the next; the last ends with the text."""
    ends = [*cuts[1:], len(ruler.text)]
    return tuple(Span(start, end, ruler.line(start), ruler.line(end - 1)) for start, end in zip(cuts, ends, strict=True))


def _continuations(text: bytes) -> NDArray[np.int64]:
    """The bytes that begin no character, in order."""
    import numpy as np

    return np.flatnonzero((np.frombuffer(text, np.uint8) & 0xC0) == 0x80)
