"""Chooses what a hit shows: its block, the function or class around it, or the lines with the most query terms."""

from __future__ import annotations

from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, dataclass, lru_cache
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import split, words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of a file, in lines and bytes."""

    file: int
    start_line: int
    end_line: int
    start: int
    end: int
    last_begin: int | None = None
    """Matches that begin at or after this byte belong to another range, although this one reaches further; None: `end`."""

    @property
    def within(self) -> int:
        return self.end if self.last_begin is None else self.last_begin


MAX_LINES_BELOW = 6
"""How many lines below the best line a definition may begin that names the hit; shorter excerpts keep these lines."""
_MAX_MATCH_BYTES = 6_000
"""A match that reaches beyond its unit is shown whole up to this many bytes."""


def widen_to_lines(snapshot: Snapshot, unit: FileRange, start: int, end: int) -> FileRange:
    """The whole lines from byte `start` of a unit to `end`, which may lie after it; too long a range ends with the unit."""
    text = snapshot.file_text(unit.file)
    begin = max(text.rfind(b"\n", 0, start) + 1, unit.start)
    stop = text.find(b"\n", max(end - 1, start))
    stop = len(text) if stop < 0 else stop + 1
    if stop > unit.end and stop - begin > _MAX_MATCH_BYTES:
        stop = unit.end
    first = unit.start_line + text.count(b"\n", unit.start, begin)
    return FileRange(unit.file, first, first + text[begin:stop].rstrip(b"\n").count(b"\n"), begin, stop, min(unit.end, stop))


def locate_hit(snapshot: Snapshot, unit: int, context: str, focus: Callable[[], int] = lambda: 0) -> FileRange:
    """The range that a hit shows under a `--context`; `focus` returns the byte of the file that matters most in the unit."""
    file, start, end, line, last, _ = snapshot.unit(unit)
    here = FileRange(file, line, last, start, end)
    if context not in ("function", "class"):
        return here
    number = snapshot.innermost(file, focus(), TYPE_KINDS if context == "class" else FUNCTION_KINDS)
    if number < 0:
        return here
    tightest = snapshot.definition(number)
    text = snapshot.file_text(file)
    begin = text.rfind(b"\n", 0, tightest.start_byte) + 1
    stop = text.find(b"\n", max(tightest.end_byte - 1, 0))
    return FileRange(file, tightest.start_line, tightest.end_line, begin, len(text) if stop < 0 else stop + 1)


def find_focus(snapshot: Snapshot, unit: int, wanted: Collection[str]) -> int:
    """The byte of the file at which the text of the unit's best line begins."""
    return snapshot.unit(unit)[1] + find_best_byte(snapshot.unit_text(unit), wanted)


def find_best_byte(text: str, wanted: Collection[str]) -> int:
    """The byte at which the best line of a text begins, after its indent: the first line with the most different wanted terms.

    Terms are searched as plain strings, also inside longer words: this runs for every hit, and only the line matters.
    """
    kernel = native()
    plain = text if kernel is not None and text.isascii() else text.lower()
    if len(plain) != len(text):  # a few letters have a longer lower case, which would shift every position after them
        plain = text
    elif kernel is not None:
        place = int(kernel.best_line(text, plain, wanted))
        if place >= 0:
            return place
        plain = text.lower()
    lines: dict[int, set[str]] = {}
    """Where a line begins → the wanted terms in it."""
    for term in wanted:
        position = plain.find(term)
        while position >= 0:
            lines.setdefault(text.rfind("\n", 0, position) + 1, set()).add(term)
            end = text.find("\n", position + len(term))
            position = plain.find(term, end) if end >= 0 else -1
    first = min(lines, key=lambda line: (-len(lines[line]), line), default=0)
    row = text[first:]
    return len(text[: first + len(row) - len(row.lstrip())].encode())


def find_line_starts(text: bytes, line: int) -> Iterator[int]:
    """The byte at which the text of a line (from 0) and of each line below it begins, after the indent unless it is blank."""
    start = 0
    for _ in range(line):
        start = text.find(b"\n", start) + 1
    end = start
    while end >= 0:
        end = text.find(b"\n", start)
        row = text[start : end if end >= 0 else len(text)]
        words = row.lstrip()
        yield start + (len(row) - len(words) if words else 0)
        start = end + 1


def read_text(snapshot: Snapshot, place: FileRange) -> str:
    return snapshot.text(place.file, place.start, place.end)


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends. Only line feeds end a line, as in every line number here."""
    rows = [row + "\n" for row in text.split("\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def _find_terms_by_line(rows: Sequence[str], wanted: Collection[str]) -> list[set[str]]:
    """The wanted terms of each line. Most lines have none, which a plain search finds out faster than splitting their words."""
    text = "".join(rows)
    if not text.isascii():
        return [_find_terms(row, wanted) for row in rows]
    plain = text.lower().replace("_", "")
    possible = [term for term in wanted if term in plain]
    found: list[set[str]] = [set() for _ in rows]
    if possible:
        lines = plain.split("\n")
        for i in {i for term in possible for i, line in enumerate(lines) if term in line}:
            found[i] = _find_terms(rows[i], wanted)
    return found


def _find_terms(row: str, wanted: Collection[str]) -> set[str]:
    return {term for word in words(row) for term in _split(word) if term in wanted}


_split = lru_cache(maxsize=8192)(split)
"""Cached, since the texts of hits repeat the same words."""


def cut_densest(
    text: str, first_line: int, lines: int, wanted: Collection[str], kept: tuple[int, int] | None = None
) -> tuple[str, int, int]:
    """The `lines` consecutive lines with the most different wanted terms: (text, first line, last line).

    `kept` is a range of lines: its first is always shown, those up to its last where there is room.
    """
    rows = split_lines(text)
    if len(rows) <= lines:
        return text, first_line, first_line + max(len(rows) - 1, 0)
    found = _find_terms_by_line(rows, wanted)
    lowest, highest = _limit_window(kept, first_line, lines, len(rows))
    best, start = -1.0, lowest
    inside: dict[str, int] = {}
    total = 0
    for end, terms in enumerate(found):
        for term in terms:
            inside[term] = inside.get(term, 0) + 1
        total += len(terms)
        i = end - lines + 1
        if i < 0:
            continue
        # Among equals prefer one that does not begin with a blank line.
        value = 4 * len(inside) + total + (0.5 if rows[i].strip() else 0.0)
        if value > best and lowest <= i <= highest:
            best, start = value, i
        total -= len(found[i])
        for term in found[i]:
            inside[term] -= 1
            if not inside[term]:
                del inside[term]
    return "".join(rows[start : start + lines]), first_line + start, first_line + start + lines - 1


def _limit_window(kept: tuple[int, int] | None, first_line: int, lines: int, total: int) -> tuple[int, int]:
    """The first and last row at which an excerpt may begin so that it holds the lines to be kept."""
    if kept is None:
        return 0, total - lines
    first = min(max(kept[0] - first_line, 0), total - 1)
    last = min(max(kept[1] - first_line, first), first + lines - 1, total - 1)
    return max(last - lines + 1, 0), min(first, total - lines)


def cut_around_match(text: str, first_line: int, lines: int, start: int, end: int) -> tuple[str, int, int]:
    """The `lines` consecutive lines around the match on lines `start` to `end`, with the match in the middle."""
    rows = split_lines(text)
    if len(rows) <= lines:
        return text, first_line, first_line + max(len(rows) - 1, 0)
    before = max(lines - (end - start + 1), 0) // 2
    skipped = min(max(start - first_line - before, 0), len(rows) - lines)
    return "".join(rows[skipped : skipped + lines]), first_line + skipped, first_line + skipped + lines - 1
