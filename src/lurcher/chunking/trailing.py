"""Finds where a node really ends: some grammars let one run on over white space and the next node's comments."""

from __future__ import annotations

from bisect import bisect_left

_BLANK = b" \t\r\n"


class Comments:
    """The comments of a text, in order and disjoint."""

    __slots__ = ("_text", "ranges", "starts")

    def __init__(self, text: bytes, ranges: list[tuple[int, int]]) -> None:
        self._text = text
        self.ranges = ranges
        self.starts = [start for start, _ in ranges]

    def inside(self, start: int, end: int) -> list[tuple[int, int]]:
        """The comments that begin in [start, end)."""
        first = bisect_left(self.starts, start)
        if first == len(self.starts) or self.starts[first] >= end:
            return []
        return self.ranges[first : bisect_left(self.starts, end)]

    def trim(self, start: int, end: int) -> int:
        """The end of [start, end) without trailing white space and, if there is any, the comments around it."""
        text = self._text
        if text[end - 1] not in _BLANK:
            return end
        while True:
            while end > start and text[end - 1] in _BLANK:
                end -= 1
            index = bisect_left(self.starts, end) - 1
            if index < 0 or self.ranges[index][1] != end or self.starts[index] <= start:
                return end
            line = text.rfind(b"\n", start, self.starts[index]) + 1
            if text[max(line, start) : self.starts[index]].strip():
                return end
            end = self.starts[index]
