"""Turns positions of a ranking into hits: the text of each, the definition that names it, and its tokens."""

from __future__ import annotations

from _collections_abc import Sequence

from lurcher.answer import budget
from lurcher.answer.excerpts import (
    MAX_LINES_BELOW,
    FileRange,
    cut_around_match,
    cut_densest,
    find_best_byte,
    find_focus,
    find_line_starts,
    locate_hit,
    read_text,
    widen_to_lines,
)
from lurcher.lanes.base import is_located
from lurcher.lanes.symbol import SymbolMatch
from lurcher.ranking.context import Context, Ranking
from lurcher.runtime.fastjson import blake2b
from lurcher.runtime.light import TYPE_CHECKING, partial
from lurcher.runtime.process import check_cancelled
from lurcher.storage.segment import FUNCTION_KINDS, KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Hit, Match, Query, Why

if TYPE_CHECKING:
    from lurcher.rerank.base import Candidate


_MAX_WIDENED = 20_000
"""Matches whose function or class is looked up, best units first."""
_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS
"""Kinds of definitions that name a hit."""
_ALL_KINDS = frozenset(KINDS)


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
        first, found = place.start_line, self.matches(place)
        if found:
            return cut_around_match(text, first, count, found[0].start_line, found[0].end_line)
        defined = self._find_definition_line(unit, place)
        return cut_densest(text, first, count, self._wanted, None if defined is None else (defined, defined))

    def line(self, unit: int, place: FileRange, text: str, first: int, last: int) -> int:
        """The best of the lines that are shown: a match, else the queried definition, else the line with most query terms."""
        for match in self.matches(place):
            if first <= match.start_line <= last:
                return match.start_line
        defined = self._find_definition_line(unit, place)
        if defined is not None and first <= defined <= last:
            return defined
        _, start, _, line, _, _ = self._snapshot.unit(unit)
        line += self._snapshot.text(place.file, start, find_focus(self._snapshot, unit, self._wanted)).count("\n")
        if first <= line <= last or not text:
            return min(max(line, first), last)
        return first + text.encode()[: find_best_byte(text, self._wanted)].count(b"\n")

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

    def name_definition(self, unit: int, place: FileRange, line: int, last: int) -> tuple[str, str] | tuple[None, None]:
        """Name and kind of the definition around a line: the queried one, else the innermost type or function, else whatever is
        defined there, else what begins right below it and before `last`, since a comment precedes what it describes."""
        match, snapshot, file = self._definitions.get(unit), self._snapshot, place.file
        if match and match.definition.start_line <= line <= match.definition.end_line:
            return match.definition.qualified, match.definition.kind
        text = read_text(snapshot, place).encode()
        lines = range(line, min(line + MAX_LINES_BELOW, last) + 1)
        for below, byte in zip(lines, find_line_starts(text, line - place.start_line), strict=False):
            number = snapshot.innermost(file, place.start + byte, _NAMING_KINDS)
            if number < 0 and below == line:
                number = snapshot.innermost(file, place.start + byte, _ALL_KINDS)
            if number >= 0:
                return snapshot.definition_label(number)
        return None, None

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
        self._known: dict[int, FileRange] = {}

    def __len__(self) -> int:
        return len(self._ranked)

    def __getitem__(self, i: int) -> tuple[int, FileRange]:  # type: ignore[override]
        if i not in self._known:
            unit = self._ranked.unit(i)
            extent = self._focus.extent(unit)
            whole = locate_hit(self._snapshot, unit, "block")
            self._known[i] = whole if extent is None else widen_to_lines(self._snapshot, whole, *extent)
        return i, self._known[i]


class HitList:
    """The hits of a ranking, in order. Each text is cut and its tokens are counted once."""

    def __init__(
        self, snapshot: Snapshot, places: Sequence[tuple[int, FileRange]], ranked: Ranking, query: Query, focus: Focus
    ) -> None:
        self._snapshot = snapshot
        self._places = places
        self._ranked = ranked
        self._query = query
        self._focus = focus
        self._texts: dict[int, tuple[str, int, int]] = {}
        self._costs: dict[int, int] = {}

    def text(self, i: int) -> tuple[str, int, int]:
        known = self._texts.get(i)
        if known is None:
            place = self._places[i][1]
            if self._query.context == "none":
                known = ("", place.start_line, place.end_line)
            else:
                text = read_text(self._snapshot, place)
                known = (text, place.start_line, place.end_line)
                if self._query.snippet_lines is not None:
                    unit = self._ranked.unit(self._places[i][0])
                    known = self._focus.lines(unit, text, place, self._query.snippet_lines)
            self._texts[i] = known
        return known

    def named(self, i: int) -> tuple[int, str | None, str | None]:
        """The best line of a hit, and name and kind of the definition there."""
        position, place = self._places[i]
        unit, (text, first, last) = self._ranked.unit(position), self.text(i)
        line = self._focus.line(unit, place, text, first, last)
        return line, *self._focus.name_definition(unit, place, line, last)

    def cost(self, i: int) -> int:
        if i not in self._costs:
            measure = budget.estimate_tokens if self._query.budget is None else budget.count_tokens
            self._costs[i] = measure(self.text(i)[0])
        return self._costs[i]

    def __len__(self) -> int:
        return len(self._places)

    def why(self, i: int) -> Why:
        return self._ranked.why(self._places[i][0])

    def score(self, i: int) -> float:
        return self._ranked.score(self._places[i][0])

    def candidate(self, i: int) -> Candidate:
        """A hit as a reranker reads it: with its whole text, however little is shown."""
        place = self._places[i][1]
        _, name, _ = self.named(i)
        header = self._snapshot.path(place.file) + (f" {name}" if name is not None else "")
        from lurcher.rerank.base import Candidate

        return Candidate(header, read_text(self._snapshot, place), self.score(i))

    def location(self, i: int) -> str:
        place = self._places[i][1]
        return f"{self._snapshot.path(place.file)}:{place.start_line}-{place.end_line}"

    def prefetch(self, positions: Sequence[int]) -> None:
        """Announce the hits that will be made, so that their ranks in lanes are computed together."""
        if self._query.reasons:
            self._ranked.prefetch([self._places[i][0] for i in positions])

    def hit(self, i: int, *, named: bool = True) -> Hit:
        """One hit; without `named` it has no symbol and kind, for corpora that name hits themselves."""
        position, place = self._places[i]
        score = self._ranked.score(position)
        text, first, last = self.text(i)
        path = self._snapshot.path(place.file)
        line, name, kind = self.named(i)
        why = self._ranked.why(position) if self._query.reasons else Why()
        language, cell = self._snapshot.language(place.file), None
        if language == "jupyter":
            from lurcher.chunking.notebook import find_cell

            cell = find_cell(self._snapshot.file_text(place.file), first, last)
        identity = blake2b(f"code\0{path}\0{place.start}\0{place.end}".encode(), digest_size=8)
        return Hit(
            identity.hexdigest(), "code", path, first, last, language, name if named else None,
            kind if named else None, score, self.cost(i), text, why, matches=self._focus.matches(place), line=line, cell=cell,
        )  # fmt: skip

