"""Lines of a UTF-8 text: where they begin (`LineIndex`), and chunks of whole lines.

Text that no grammar describes is cut by lines, and so are nodes that no grammar divides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from lurcher.languages.parsed_file import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LineIndex:
    """Lines of a text, and how many characters lie between two bytes.

    Every look-up is a binary search, so that one huge line costs no more than many short ones.
    """

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
        self._continuations = None if text.isascii() else _find_continuations(text)

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
        ends = [*cuts[1:], len(self.text)]
        return tuple(Span(start, end, self.line(start), self.line(end - 1)) for start, end in zip(cuts, ends, strict=True))


def _find_continuations(text: bytes) -> NDArray[np.int64]:
    """Positions of the continuation bytes of multi-byte characters, ascending."""
    import numpy as np

    return np.flatnonzero((np.frombuffer(text, np.uint8) & 0xC0) == 0x80)


def chunk_lines(text: bytes, target: int) -> tuple[Span, ...]:
    """Tile `text` with runs of whole lines of at most `target` characters; a longer line is cut inside."""
    if not text:
        return ()
    ruler = LineIndex(text)
    return ruler.spans(list(cut_lines(ruler, 0, len(text), target)))


def cut_lines(ruler: LineIndex, start: int, end: int, target: int) -> Iterator[int]:
    """Starts of the chunks that tile [start, end); a chunk ends after a blank line if one lies in its last half."""
    starts = ruler.line_starts
    index = bisect_left(starts, start + 1)
    while start < end:
        yield start
        if ruler.size(start, end) <= target:
            return
        blank = 0
        cut = start
        while index < len(starts) and starts[index] < end and ruler.size(start, starts[index]) <= target:
            cut = starts[index]
            index += 1
            if ruler.size(start, cut) * 2 >= target and _is_blank(ruler, index - 2):
                blank = index
        if cut == start:
            cut = _cut_inside(ruler, start, min(end, starts[index] if index < len(starts) else end), target)
            if index < len(starts) and cut >= starts[index]:
                index += 1
        elif blank:
            index = blank
            cut = starts[index - 1]
        start = cut


def _is_blank(ruler: LineIndex, index: int) -> bool:
    """Whether the line of this index holds nothing but white space."""
    starts = ruler.line_starts
    begin, end = starts[index], starts[index + 1]
    return end - begin < 80 and not ruler.text[begin:end].strip()


def _cut_inside(ruler: LineIndex, start: int, end: int, target: int) -> int:
    """A cut in a line too long for one chunk: after a space or punctuation near the target, else right there."""
    text = ruler.text
    cut = min(end, start + target)
    while cut < end and ruler.size(start, cut) < target:
        cut = min(end, cut + target - ruler.size(start, cut))
    while cut < end and text[cut] & 0xC0 == 0x80:
        cut += 1
    if cut >= end:
        return end
    for mark in (b" ", b";", b",", b"}", b")"):
        found = text.rfind(mark, start + (cut - start) * 3 // 4, cut)
        if found >= 0:
            return found + 1
    return cut
