"""Chunks of whole lines: for text that no grammar describes, and for nodes that no grammar divides."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from lurcher.chunking.line_index import Ruler
from lurcher.types import Span


def chunk_lines(text: bytes, target: int) -> tuple[Span, ...]:
    """Tile `text` with runs of whole lines of at most `target` characters; a longer line is cut inside."""
    if not text:
        return ()
    ruler = Ruler(text)
    return ruler.spans(list(cut_lines(ruler, 0, len(text), target)))


def cut_lines(ruler: Ruler, start: int, end: int, target: int) -> Iterator[int]:
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


def _is_blank(ruler: Ruler, index: int) -> bool:
    """Whether the line of this index holds nothing but white space."""
    starts = ruler.line_starts
    begin, end = starts[index], starts[index + 1]
    return end - begin < 80 and not ruler.text[begin:end].strip()


def _cut_inside(ruler: Ruler, start: int, end: int, target: int) -> int:
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
