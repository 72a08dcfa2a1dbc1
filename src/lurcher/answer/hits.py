"""Turns positions of a ranking into hits: which lines each shows, the definition that names it, and its tokens.

A hit shows its block, the function or class around it, or the lines with the most query terms.
"""

from __future__ import annotations

from _collections_abc import Sequence
from functools import partial
from itertools import islice

from lurcher import answer
from lurcher.lanes import is_located
from lurcher.lanes.symbol import SymbolMatch
from lurcher.query import Query
from lurcher.ranking import Context, Ranking
from lurcher.runtime.kernel import native
from lurcher.runtime.process import check_cancelled
from lurcher.runtime.stdlib import blake2b
from lurcher.storage.segment import FUNCTION_KINDS, KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Hit, Match, Place, Record, Why, with_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from lurcher.rerank.stage import Candidate


class FileRange(Record):
    """A range of a file, in lines and bytes."""

    __slots__ = ("file", "start_line", "end_line", "start", "end", "last_begin")

    def __init__(self, file: int, start_line: int, end_line: int, start: int, end: int, last_begin: int | None = None) -> None:
        self.file, self.start_line, self.end_line, self.start, self.end = file, start_line, end_line, start, end
        self.last_begin = last_begin
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
    if kernel is not None and text.isascii():
        return int(kernel.best_line(text, text, wanted))
    plain = text.lower()
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


_MAX_WIDENED = 20_000
"""Matches whose function or class is looked up, best units first."""
_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS
"""Kinds of definitions that name a hit."""
_ALL_KINDS = frozenset(KINDS)
_COMMENTS = ("//", "/*", "* ", "*/", "# ", "## ", "-- ", "---", ";")
"""How a line of a comment begins in most languages, with a space behind its text."""


def _is_comment(row: str) -> bool:
    return f"{row.strip()} ".startswith(_COMMENTS)


class Focus:
    """What matters most in a unit: its first match, else the queried definition, else the line with most query terms."""

    def __init__(self, context: Context) -> None:
        self._snapshot = context.snapshot
        self._wanted = {term for group in context.plan.groups for term in (group.word, *group.forms)}
        self._definitions: dict[int, SymbolMatch] = {}
        exact = context.plan.mode in ("literal", "structural")
        self._located = next((lane for lane in context.lanes.values() if exact and is_located(lane)), None)
        for match in context.symbols:
            if match.unit not in self._definitions or match.strength > self._definitions[match.unit].strength:
                self._definitions[match.unit] = match

    def byte(self, unit: int) -> int:
        first = self.starts(unit)[0]
        if first is not None:
            return first
        match = self._definitions.get(unit)
        return match.definition.start_byte if match else find_focus(self._snapshot, unit, self._wanted)

    def lines(self, unit: int, text: str, place: FileRange, count: int) -> tuple[str, int, int]:
        """The `count` lines of a range that are shown: (text, first line, last line)."""
        from lurcher.answer.excerpts import cut_around_match, cut_densest

        first, found = place.start_line, self.matches(place)
        if found:
            return cut_around_match(text, first, count, found[0].start_line, found[0].end_line)
        defined = self._find_definition_line(unit, place)
        return cut_densest(text, first, count, self._wanted, None if defined is None else (defined, defined))

    def name(self, unit: int, shown: Excerpt) -> tuple[int, str | None, str | None]:
        """The best line of a place, and name and kind of the definition there."""
        line, byte = self._find_line(unit, shown)
        return line, *self._find_definition(unit, shown, line, byte)

    def _find_line(self, unit: int, shown: Excerpt) -> tuple[int, int | None]:
        """The best of the lines that are shown: a match, else the queried definition, else the line with most query terms; and
        the byte of the file at which its text begins, where that is known."""
        place, first, last = shown.range, shown.first, shown.last
        for match in self.matches(place) if self._located is not None else ():
            if first <= match.start_line <= last:
                return match.start_line, None
        defined = self._find_definition_line(unit, place) if unit in self._definitions else None
        if defined is not None and first <= defined <= last:
            return defined, None
        file, start, end, top, _, _ = self._snapshot.unit(unit)
        whole = self._snapshot.text(file, start, end)
        byte = find_best_byte(whole, self._wanted)
        line = top + (whole.count("\n", 0, byte) if whole.isascii() else whole.encode()[:byte].count(b"\n"))
        if first <= line <= last:
            begins_here = line > top or place.start == start  # not in the unit before, on the same line
            return line, start + byte if begins_here and start + byte < end else None
        if not shown.text:
            return min(max(line, first), last), None
        return first + shown.text.encode()[: find_best_byte(shown.text, self._wanted)].count(b"\n"), None

    def _find_definition_line(self, unit: int, place: FileRange) -> int | None:
        """The line with the name of the queried definition, if the unit has one and the range shows it."""
        match = self._definitions.get(unit)
        if match is None:
            return None
        definition, start = match.definition, match.definition.start_byte
        above = self._snapshot.text(place.file, start, min(definition.end_byte, place.end))
        # Decorators and attributes come before the name.
        line = definition.start_line + above[: max(above.find(definition.name), 0)].count("\n")
        return line if place.start_line <= line <= place.end_line else None

    def _find_definition(self, unit: int, shown: Excerpt, line: int, byte: int | None) -> tuple[str | None, str | None]:
        """Name and kind of the definition around a line, whose text begins at `byte`: the queried one, else the innermost type
        or function, or what a comment on this line precedes in it, else whatever is defined there, else what begins right
        below it and is shown, since a comment precedes what it describes."""
        match, snapshot, place = self._definitions.get(unit), self._snapshot, shown.range
        if match and match.definition.start_line <= line <= match.definition.end_line:
            return match.definition.qualified, match.definition.kind
        if byte is None:
            byte = place.start + next(find_line_starts(read_text(snapshot, place).encode(), line - place.start_line))
        for kinds in (_NAMING_KINDS, _ALL_KINDS):
            number = snapshot.innermost(place.file, byte, kinds)
            if number >= 0:
                return snapshot.definition_label(self._find_described(shown, line, number))
        below = min(MAX_LINES_BELOW, shown.last - line)
        if below > 0:
            text = read_text(snapshot, place).encode()[byte - place.start :]
            for start in islice(find_line_starts(text, 1), below):
                number = snapshot.innermost(place.file, byte + start, _NAMING_KINDS)
                if number >= 0:
                    return snapshot.definition_label(number)
        return None, None

    def _find_described(self, shown: Excerpt, line: int, around: int) -> int:
        """The definition inside of `around` that begins right below a comment on this line and is shown, else `around`."""
        rows = shown.text.split("\n")[line - shown.first :][:MAX_LINES_BELOW]
        if not rows or not _is_comment(rows[0]):
            return around
        place, text = shown.range, read_text(self._snapshot, shown.range).encode()
        below = find_line_starts(text, line - place.start_line + 1)
        for row, start in zip(rows[: shown.last - line], below, strict=False):
            if not _is_comment(row):
                break
            number = self._snapshot.innermost(place.file, place.start + start, _NAMING_KINDS)
            if number not in (-1, around):
                ends = [self._snapshot.definition(one).end_byte for one in (number, around)]
                return number if ends[0] <= ends[1] else around
        return around

    def starts(self, unit: int) -> Sequence[int | None]:
        """The byte at which each match of a unit begins; a single None where no lane knows matches."""
        return (self._located.starts(unit) if self._located is not None else ()) or (None,)

    def extent(self, unit: int) -> tuple[int, int] | None:
        """From which byte to which the matches of a unit reach; None where no lane knows matches."""
        return self._located.extent(unit) if self._located is not None else None

    def matches(self, place: FileRange) -> tuple[Match, ...]:
        """The exact matches in a range; empty where no lane knows matches."""
        return self._located.matches(place.file, place.start, place.within) if self._located is not None else ()


def locate_hits(
    snapshot: Snapshot, ranked: Ranking, context: str, focus: Focus
) -> Sequence[tuple[int, FileRange]]:
    """The range of each hit, with its position in the ranking; units in the same function or class become one hit."""
    if context not in ("function", "class"):
        return _BlockRanges(snapshot, ranked, focus)
    seen: set[tuple[int, int, int]] = set()
    found = _WidenedRanges()
    looked = 0
    for position, unit in enumerate(ranked.units):
        if looked >= _MAX_WIDENED:
            found.partial = True
            break
        check_cancelled()
        starts = focus.starts(unit)
        looked += len(starts)
        for byte in starts:
            place = locate_hit(snapshot, unit, context, partial(focus.byte, unit) if byte is None else partial(int, byte))
            key = (place.file, place.start, place.end)
            if key not in seen:
                seen.add(key)
                found.append((position, place))
    return found


class _WidenedRanges(list[tuple[int, FileRange]]):
    """Ranges of functions or classes; `partial` where there are more than these."""

    partial = False


class _BlockRanges(Sequence[tuple[int, FileRange]]):
    """Ranges of whole units, or of the matches in them where these are known; computed on access."""

    def __init__(self, snapshot: Snapshot, ranked: Ranking, focus: Focus) -> None:
        self._snapshot = snapshot
        self._ranked = ranked
        self._focus = focus
        self._known: dict[int, tuple[int, FileRange]] = {}

    def __len__(self) -> int:
        return len(self._ranked)

    def __getitem__(self, i: int) -> tuple[int, FileRange]:  # type: ignore[override]
        known = self._known.get(i)
        if known is None:
            unit = self._ranked.unit(i)
            extent = self._focus.extent(unit)
            whole = locate_hit(self._snapshot, unit, "block")
            known = self._known[i] = i, whole if extent is None else widen_to_lines(self._snapshot, whole, *extent)
        return known


class Excerpt(Record):
    """What a place shows: lines of a file, and the first lines of the definitions around them."""

    __slots__ = ("range", "text", "first", "last", "headers")

    def __init__(self, range: FileRange, text: str, first: int, last: int, headers: tuple[tuple[int, str], ...] = ()) -> None:
        self.range = range
        """What it is cut from."""
        self.text, self.first, self.last = text, first, last
        self.headers = headers
        """Line and signature of each, outermost first."""


class HitList(answer.Listing):
    """The places of a ranking, in order. Each text is cut and its tokens are counted once.

    If `grouped`, the places of a file are shown as one hit, those that touch as one place (a run of positions, best first),
    and below the signatures of the definitions around them.
    """

    def __init__(
        self, snapshot: Snapshot, places: Sequence[tuple[int, FileRange]], ranked: Ranking, query: Query, focus: Focus, *,
        grouped: bool = False,
    ) -> None:  # fmt: skip
        self._snapshot = snapshot
        self._grouped = grouped
        self._places = places
        self._ranked = ranked
        self._query = query
        self._focus = focus
        self._widened: dict[int, FileRange] = {}
        """Places that show the whole function."""
        self._excerpts: dict[tuple[int, ...], Excerpt] = {}
        self._costs: dict[tuple[int, ...], int] = {}

    # -- what a place shows -----------------------------------------------------------------------------------------------

    def _range(self, run: Sequence[int]) -> FileRange:
        if len(run) == 1:
            return self._widened.get(run[0]) or self._places[run[0]][1]
        return _span([self._widened.get(i) or self._places[i][1] for i in run])

    def _key(self, run: tuple[int, ...]) -> tuple[int, ...]:
        """Other than the run itself where places of it are widened."""
        return (*run, *[-1 - i for i in run if i in self._widened]) if self._widened else run

    def _excerpt(self, *run: int) -> Excerpt:
        key = self._key(run)
        known = self._excerpts.get(key)
        if known is None:
            known = self._excerpts[key] = self._read_excerpt(run)
        return known

    def _read_excerpt(self, run: tuple[int, ...]) -> Excerpt:
        place = self._range(run)
        if self._query.context == "none":
            return Excerpt(place, "", place.start_line, place.end_line)
        text, first, last = read_text(self._snapshot, place), place.start_line, place.end_line
        lines = self._query.snippet_lines
        if lines is not None and len(run) > 1:
            parts = sorted([self._excerpt(i) for i in run], key=lambda part: part.first)
            return Excerpt(place, "".join([part.text for part in parts]), parts[0].first, parts[-1].last, parts[0].headers)
        begin = place.start
        if lines is not None:
            from lurcher.answer.excerpts import split_lines

            whole = text
            text, first, last = self._focus.lines(self._ranked.unit(self._places[run[0]][0]), whole, place, lines)
            begin += len("".join(split_lines(whole)[: first - place.start_line]).encode())
        if not self._grouped:
            return Excerpt(place, text, first, last)
        begin += len(text[: len(text) - len(text.lstrip())].encode())
        return Excerpt(place, text, first, last, find_headers(self._snapshot, place.file, begin, first))

    def cost(self, *run: int) -> int:
        key = self._key(run)
        known = self._costs.get(key)
        if known is None:
            measure = answer.estimate_tokens if self._query.budget is None else answer.count_tokens
            shown = self._excerpt(*run)
            known = self._costs[key] = measure(with_headers(shown.text, shown.headers))
        return known

    # -- hits of several places -------------------------------------------------------------------------------------------

    def group(self, i: int) -> int:
        return self._places[i][1].file if self._grouped else -1 - i

    def join(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        if len(members) == 1 or self._query.context == "none":
            return [(i,) for i in members]
        rank = {i: n for n, i in enumerate(members)}
        runs: list[list[int]] = []
        end = -1
        for start, stop, i in sorted([(*self._extent(i), i) for i in members]):
            # Excerpts never overlap unless functions are nested, and then they are not joined.
            if start == end or (start < end and self._query.snippet_lines is None):
                runs[-1].append(i)
            else:
                runs.append([i])
            end = max(end, stop)
        return sorted([tuple(sorted(run, key=rank.__getitem__)) for run in runs], key=lambda run: rank[run[0]])

    def _extent(self, i: int) -> tuple[int, int]:
        """Bytes of a whole place, lines of an excerpt; the end is the one behind."""
        if self._query.snippet_lines is None:
            place = self._range((i,))
            return place.start, place.end
        shown = self._excerpt(i)
        return shown.first, shown.last + 1

    def add(self, i: int, members: Sequence[int]) -> tuple[int, int]:
        if self._query.budget is None:
            return 0, self._count_runs((*members, i))
        together = self.join((*members, i))
        return sum([self.cost(*run) for run in together]) - self._total(members), len(together)

    def _count_runs(self, members: Sequence[int]) -> int:
        """How many places `join` makes of these."""
        if self._query.context != "block":
            return len(self.join(members))
        # Blocks do not overlap: a run begins where none of them ends.
        if self._query.snippet_lines is None:
            ranges = [self._places[i][1] for i in members]
            return len({place.start for place in ranges}.difference([place.end for place in ranges]))
        extents = list(map(self._extent, members))
        return len({start for start, _ in extents}.difference([end for _, end in extents]))

    def _total(self, members: Sequence[int]) -> int:
        return sum([self.cost(*run) for run in self.join(members)])

    def widen(self, i: int, members: Sequence[int], left: int) -> int:
        if not self._grouped or self._query.context != "block" or self._query.snippet_lines is not None:
            return 0
        here, unit = self._places[i][1], self._ranked.unit(self._places[i][0])
        whole = _span((here, locate_hit(self._snapshot, unit, "function", partial(self._focus.byte, unit))))
        more = whole.end - whole.start - (here.end - here.start)
        if not 0 < more <= _MOST_BYTES_PER_TOKEN * left:
            return 0
        before = self._total(members)
        self._widened[i] = whole
        added = self._total(members) - before
        if added <= left:
            return added
        del self._widened[i]
        return 0

    # -- one by one -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._places)

    def why(self, i: int) -> Why:
        return self._ranked.why(self._places[i][0])

    def score(self, i: int) -> float:
        return self._ranked.score(self._places[i][0])

    def candidate(self, i: int) -> Candidate:
        """A hit as a reranker reads it: with its whole text, however little is shown."""
        place = self._places[i][1]
        _, name, _ = self._focus.name(self._ranked.unit(self._places[i][0]), self._excerpt(i))
        header = self._snapshot.path(place.file) + (f" {name}" if name is not None else "")
        from lurcher.rerank.stage import Candidate

        return Candidate(header, read_text(self._snapshot, place), self.score(i))

    def location(self, i: int) -> str:
        place = self._places[i][1]
        return f"{self._snapshot.path(place.file)}:{place.start_line}-{place.end_line}"

    def prefetch(self, positions: Sequence[int]) -> None:
        """Announce the hits that will be made, so that their ranks in lanes are computed together."""
        if self._query.reasons:
            self._ranked.prefetch([self._places[i][0] for i in positions])

    def hit(self, i: int, joined: Sequence[int] = (), *, named: bool = True) -> Hit:
        """One hit; without `named` it has no symbol and kind, for corpora that name hits themselves."""
        here, file = self._places[i][1], self._places[i][1].file
        path = self._snapshot.path(file)
        first = self.place(i, joined)
        identity = blake2b(f"code\0{path}\0{here.start}\0{here.end}".encode(), digest_size=8)
        return Hit(
            identity.hexdigest(), "code", path, first.start_line, first.end_line, self._snapshot.language(file),
            first.symbol if named else None, first.kind if named else None, first.score, first.tokens, first.text, first.why,
            matches=first.matches, line=first.line, cell=first.cell, headers=first.headers,
        )  # fmt: skip

    def place(self, i: int, joined: Sequence[int] = ()) -> Place:
        position = self._places[i][0]
        shown = self._excerpt(i, *joined)
        unit, score = self._ranked.at(position)
        line, name, kind = self._focus.name(unit, shown)
        why = self._ranked.why(position) if self._query.reasons else Why()
        file, cell = shown.range.file, None
        if self._snapshot.language(file) == "jupyter":
            from lurcher.chunking.notebook import find_cell

            cell = find_cell(self._snapshot.file_text(file), shown.first, shown.last)
        return Place(
            shown.first, shown.last, name, kind, score, self.cost(i, *joined), shown.text, why,
            self._focus.matches(shown.range), line, cell, shown.headers,
        )  # fmt: skip


_MOST_BYTES_PER_TOKEN = 12
"""Code has about four bytes per token: a function with more than this many for each token left is not even counted."""
_MOST_HEADERS = 8


def _span(ranges: Sequence[FileRange]) -> FileRange:
    """From the first of some ranges of a file to the last."""
    return FileRange(
        ranges[0].file, min([place.start_line for place in ranges]), max([place.end_line for place in ranges]),
        min([place.start for place in ranges]), max([place.end for place in ranges]),
    )  # fmt: skip


def find_headers(snapshot: Snapshot, file: int, byte: int, first: int) -> tuple[tuple[int, str], ...]:
    """Line and signature of each type and function around a byte that begins before line `first`, outermost first."""
    known = snapshot.headers.get((file, byte, first))
    if known is not None:
        return known
    found: list[tuple[int, str]] = []
    number, inner_end = snapshot.innermost(file, byte, _NAMING_KINDS), byte
    while number >= 0 and len(found) < _MOST_HEADERS:
        definition = snapshot.definition(number)
        start = definition.start_byte
        if definition.end_byte < inner_end:
            break  # what ends where the inner one begins is not around it
        if definition.start_line < first:
            line, indent = snapshot.definition_line(file, number)
            if line < first:  # not in the midst of its decorators
                found.append((line, indent + definition.signature))
        number, inner_end = snapshot.innermost(file, start - 1, _NAMING_KINDS) if start else -1, definition.end_byte
    headers = tuple(reversed(found))
    snapshot.headers.put((file, byte, first), headers, 0)
    return headers
