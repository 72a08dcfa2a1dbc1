"""Turns positions of a ranking into hits: what each shows, what it is named after, what it costs."""

from __future__ import annotations

from _collections_abc import Sequence

from lurcher.answer import budget
from lurcher.answer.excerpts import (
    BELOW,
    Place,
    beginning_at,
    best_byte,
    bytes_of_lines,
    densest,
    focus_of,
    lines_around,
    place_of,
    text_at,
)
from lurcher.lanes.base import located
from lurcher.lanes.symbol import SymbolMatch
from lurcher.ranking.context import Context, Ranking
from lurcher.runtime.cancel import check_cancelled
from lurcher.runtime.fastjson import blake2b
from lurcher.runtime.light import TYPE_CHECKING, partial
from lurcher.storage.segment import FUNCTION_KINDS, KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Hit, Match, Query, Why

if TYPE_CHECKING:
    from lurcher.rerank.base import Candidate


_MOST_WIDENED = 20_000
"""Matches whose function or class is looked up; the hits are those of the best units."""
_NAMING = TYPE_KINDS | FUNCTION_KINDS
"""What a hit is named after, where there is one."""
_ALL = frozenset(KINDS)


class Focus:
    """Which byte of its file matters most in a unit: where it defines what was asked for, else its best line."""

    def __init__(self, context: Context) -> None:
        self._snapshot = context.snapshot
        self._wanted = {term for group in context.plan.groups for term in (group.word, *group.forms)}
        self._asked: dict[int, SymbolMatch] = {}
        exact = context.plan.mode in ("literal", "structural")
        self._located = next((lane for lane in context.lanes.values() if exact and located(lane)), None)
        for match in context.symbols:
            if match.unit not in self._asked or match.strength > self._asked[match.unit].strength:
                self._asked[match.unit] = match

    def byte(self, unit: int) -> int:
        first = self.starts(unit)[0]
        if first is not None:
            return first
        match = self._asked.get(unit)
        return match.definition.start_byte if match else focus_of(self._snapshot, unit, self._wanted)

    def lines(self, unit: int, text: str, place: Place, count: int) -> tuple[str, int, int]:
        """The lines of a place that are shown where there is room for so many."""
        first, found = place.start_line, self.matches(place)
        if found:
            return beginning_at(text, first, count, found[0].start_line, found[0].end_line)
        asked = self._asked_line(unit, place)
        return densest(text, first, count, self._wanted, None if asked is None else (asked, asked))

    def line(self, unit: int, place: Place, text: str, first: int, last: int) -> int:
        """The best of the lines that are shown: a match, the definition asked for, else the one with most of the question."""
        for match in self.matches(place):
            if first <= match.start_line <= last:
                return match.start_line
        asked = self._asked_line(unit, place)
        if asked is not None and first <= asked <= last:
            return asked
        _, start, _, line, _, _ = self._snapshot.unit(unit)
        line += self._snapshot.text(place.file, start, focus_of(self._snapshot, unit, self._wanted)).count("\n")
        if first <= line <= last or not text:
            return min(max(line, first), last)
        return first + text.encode()[: best_byte(text, self._wanted)].count(b"\n")

    def _asked_line(self, unit: int, place: Place) -> int | None:
        """Where the name of the definition asked for stands, if that is in a unit, and in the place that shows it."""
        match = self._asked.get(unit)
        if match is None:
            return None
        definition, start = match.definition, match.definition.start_byte
        above = self._snapshot.text(place.file, start, min(definition.end_byte, place.end))
        # Decorators and attributes come before the name.
        line = definition.start_line + above[: max(above.find(definition.name), 0)].count("\n")
        return line if place.start_line <= line <= place.end_line else None

    def naming(self, unit: int, place: Place, line: int, last: int) -> tuple[str, str] | tuple[None, None]:
        """Name and kind of the definition around a line of a place: the one asked for, else the innermost type or function,
        else whatever is defined there, else what begins right below, before `last`, which a comment is about."""
        match, snapshot, file = self._asked.get(unit), self._snapshot, place.file
        if match and match.definition.start_line <= line <= match.definition.end_line:
            return match.definition.qualified, match.definition.kind
        text = text_at(snapshot, place).encode()
        lines = range(line, min(line + BELOW, last) + 1)
        for below, byte in zip(lines, bytes_of_lines(text, line - place.start_line), strict=False):
            number = snapshot.innermost(file, place.start + byte, _NAMING)
            if number < 0 and below == line:
                number = snapshot.innermost(file, place.start + byte, _ALL)
            if number >= 0:
                return snapshot.definition_label(number)
        return None, None

    def starts(self, unit: int) -> Sequence[int | None]:
        """Where each match of a unit begins; one None where no lane knows of any."""
        return (self._located.starts(unit) if self._located is not None else ()) or (None,)

    def extent(self, unit: int) -> tuple[int, int] | None:
        """From which byte to which a unit matches, as far as a lane knows."""
        return self._located.extent(unit) if self._located is not None else None

    def matches(self, place: Place) -> tuple[Match, ...]:
        """Where exactly the query matches in a place, as far as a lane knows."""
        return self._located.matches(place.file, place.start, place.within) if self._located is not None else ()


def places_of(
    snapshot: Snapshot, ranked: Ranking, context: str, focus: Focus
) -> Sequence[tuple[int, Place]]:
    """Where each hit's text is; units that widen to the same function or class are one hit."""
    if context not in ("function", "class"):
        return _Blocks(snapshot, ranked, focus)
    seen: set[tuple[int, int, int]] = set()
    found = _Widened()
    looked = 0
    for position, unit in enumerate(ranked.units):
        if looked >= _MOST_WIDENED:
            found.partial = True
            break
        check_cancelled()
        starts = focus.starts(unit)
        looked += len(starts)
        for byte in starts:
            place = place_of(snapshot, unit, context, partial(focus.byte, unit) if byte is None else partial(int, byte))
            key = (place.file, place.start, place.end)
            if key not in seen:
                seen.add(key)
                found.append((position, place))
    return found


class _Widened(list[tuple[int, Place]]):
    """Places of functions or classes; `partial` where there are more than these."""

    partial = False


class _Blocks(Sequence[tuple[int, Place]]):
    """The places of whole units, or of what matches in them where that is known, looked up when asked for."""

    def __init__(self, snapshot: Snapshot, ranked: Ranking, focus: Focus) -> None:
        self._snapshot = snapshot
        self._ranked = ranked
        self._focus = focus
        self._known: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self._ranked)

    def __getitem__(self, i: int) -> tuple[int, Place]:  # type: ignore[override]
        if i not in self._known:
            unit = self._ranked.unit(i)
            extent = self._focus.extent(unit)
            whole = place_of(self._snapshot, unit, "block")
            self._known[i] = whole if extent is None else lines_around(self._snapshot, whole, *extent)
        return i, self._known[i]


class Shown:
    """Turns positions of a ranking into hits, each text cut and counted once."""

    def __init__(
        self, snapshot: Snapshot, places: Sequence[tuple[int, Place]], ranked: Ranking, query: Query, focus: Focus
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
                text = text_at(self._snapshot, place)
                known = (text, place.start_line, place.end_line)
                if self._query.snippet_lines is not None:
                    unit = self._ranked.unit(self._places[i][0])
                    known = self._focus.lines(unit, text, place, self._query.snippet_lines)
            self._texts[i] = known
        return known

    def named(self, i: int) -> tuple[int, str | None, str | None]:
        """The line that a hit leads to, and name and kind of what is defined there."""
        position, place = self._places[i]
        unit, (text, first, last) = self._ranked.unit(position), self.text(i)
        line = self._focus.line(unit, place, text, first, last)
        return line, *self._focus.naming(unit, place, line, last)

    def cost(self, i: int) -> int:
        if i not in self._costs:
            measure = budget.estimate if self._query.budget is None else budget.count
            self._costs[i] = measure(self.text(i)[0])
        return self._costs[i]

    def __len__(self) -> int:
        return len(self._places)

    def why(self, i: int) -> Why:
        return self._ranked.why(self._places[i][0])

    def score(self, i: int) -> float:
        return self._ranked.score(self._places[i][0])

    def candidate(self, i: int) -> Candidate:
        """A hit as a reranker reads it: all of its text, however much of it is shown."""
        place = self._places[i][1]
        _, name, _ = self.named(i)
        header = self._snapshot.path(place.file) + (f" {name}" if name is not None else "")
        from lurcher.rerank.base import Candidate

        return Candidate(header, text_at(self._snapshot, place), self.score(i))

    def location(self, i: int) -> str:
        place = self._places[i][1]
        return f"{self._snapshot.path(place.file)}:{place.start_line}-{place.end_line}"

    def expect(self, positions: Sequence[int]) -> None:
        """These hits will be made: some of what they tell is counted for all of them at once."""
        if self._query.reasons:
            self._ranked.expect([self._places[i][0] for i in positions])

    def hit(self, i: int, *, named: bool = True) -> Hit:
        """One hit; whoever names it differently does without its definition."""
        position, place = self._places[i]
        score = self._ranked.score(position)
        text, first, last = self.text(i)
        path = self._snapshot.path(place.file)
        line, name, kind = self.named(i)
        why = self._ranked.why(position) if self._query.reasons else Why()
        language, cell = self._snapshot.language(place.file), None
        if language == "jupyter":
            from lurcher.chunking.notebook import cell_at

            cell = cell_at(self._snapshot.file_text(place.file), first, last)
        identity = blake2b(f"code\0{path}\0{place.start}\0{place.end}".encode(), digest_size=8)
        return Hit(
            identity.hexdigest(), "code", path, first, last, language, name if named else None,
            kind if named else None, score, self.cost(i), text, why, matches=self._focus.matches(place), line=line, cell=cell,
        )  # fmt: skip

