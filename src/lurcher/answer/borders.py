"""Where the few lines of a place that a terminal shows begin and end: between two statements.

A line is no border inside a string, a comment or round or square brackets, nor next to a comma or an operator. Braces are left
out, since in most languages they hold statements, and what else they hold has commas between.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.languages.highlight import Span

MOST_MOVED = 3
"""How many lines away a border may be."""
_ENDS_THAT_GO_ON = (",", "\\", "=", "+", "-", "*", "|", "&&", "?", "=>", "(", "[", " and", " or", " not", " in")
_BEGINS_THAT_GO_ON = (")", "]", ".", ",", "?", ": ", "+ ", "- ", "* ", "*/", "/ ", "% ", "|", "&&", "= ", "=>", "and ", "or ")
"""How lines end and begin that belong to one statement, or to one comment."""
_TEXT_KINDS = ("string", "comment")
_TRIPLE = re.compile(r"\"\"\"|'''")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|/\*.*?\*/|(?P<comment>(?://|#|--\s).*)")


def settle_window(
    rows: Sequence[str], start: int, end: int, kept: tuple[int, int], syntax: Sequence[Sequence[Span]] | None = None
) -> tuple[int, int]:
    """The window of the rows from `start` up to `end`, each end moved to a border if one is at most `MOST_MOVED` rows away.

    It has no more rows than before, and those from `kept[0]` to `kept[1]` that it had. `syntax` has the coloured parts of each
    row, as the parser found them. Of the possible windows it is the one that moves least, and the longest of these.
    """
    clean = find_borders(rows, syntax)
    begins = [i == 0 or (clean[i] and row.strip() not in ("", "}", "};", "end")) for i, row in enumerate(rows)]
    first, last = max(kept[0], start), min(kept[1], end - 1)
    windows = [
        (not begins[a], not clean[b], abs(a - start) + abs(b - end), a - b, a, b)
        for a in range(max(start - MOST_MOVED, 0), min(start + MOST_MOVED, first) + 1)
        for b in range(max(end - MOST_MOVED, last + 1, a + 1), min(end + MOST_MOVED, len(rows), a + end - start) + 1)
    ]
    *_, a, b = min(windows, key=lambda window: (window[0] + window[1], *window[2:]), default=(start, end))
    return a, b


def find_borders(rows: Sequence[str], syntax: Sequence[Sequence[Span]] | None) -> list[bool]:
    """For each row, and for the end, whether what is above is complete and the row does not go on with it."""
    found: list[bool] = []
    depth, above, kind, quote = 0, "", "", ""
    """Brackets that are open, the last row of code, what kind of text the last row ends in, and the quotes around it."""
    for number, row in enumerate(rows):
        text = row.strip()
        spans = _guess_texts(row) if syntax is None else [span for span in syntax[number] if span[2] in _TEXT_KINDS]
        # The parser gives a part of a long text for each of its lines, with the indent, and a comment of one line without.
        same = bool(spans) and spans[0][2] == kind and not row[: spans[0][0]].strip()
        quoted = quote != ""
        goes_on = quoted or (same if text else kind == "string")
        goes_on = goes_on or text.startswith(_BEGINS_THAT_GO_ON) or above.endswith(_ENDS_THAT_GO_ON)
        found.append(not goes_on and not depth)
        if syntax is None:
            for mark in _TRIPLE.findall(row):
                quote = mark if not quote else "" if mark == quote else quote
            if quoted or quote:
                continue
        if text:
            code = _without(row, spans)
            depth = max(depth + code.count("(") + code.count("[") - code.count(")") - code.count("]"), 0)
            above = code.rstrip() or above
            kind = spans[-1][2] if spans and not row[spans[-1][1] :].strip() else ""
        elif kind == "comment":
            kind = ""  # a paragraph of its own
    return [*found, True]


def _guess_texts(row: str) -> list[Span]:
    """Strings and comments of a line whose language has no parser."""
    return [(match.start(), match.end(), "comment" if match["comment"] else "string") for match in _QUOTED.finditer(row)]


def _without(row: str, spans: Sequence[Span]) -> str:
    """A row without some parts of it; a string leaves its place behind, since it may be what an operator stands for."""
    parts, at = [], 0
    for start, end, kind in spans:
        parts += [row[at:start], "" if kind == "comment" else "_"]
        at = max(at, end)
    return "".join([*parts, row[at:]])
