"""Turns positions of a ranking into hits: what each shows, what it is named after, what it costs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from lurcher.budget import tokens
from lurcher.budget.excerpt import Place, around, densest, focus_of, lines_of, place_of, text_at
from lurcher.budget.pack import Page
from lurcher.index.reader import Snapshot
from lurcher.index.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.lanes.literal import LiteralMatches
from lurcher.lanes.symbol import SymbolMatch
from lurcher.ranking.context import Context, Ranking
from lurcher.types import Definition, Degraded, Hit, Match, Query

_LITERAL_LINES = 12


class Focus:
    """Which byte of its file matters most in a unit: where it defines what was asked for, else its best line."""

    def __init__(self, context: Context) -> None:
        self._snapshot = context.snapshot
        self._wanted = {term for group in context.plan.groups for term in (group.word, *group.forms)}
        self._asked: dict[int, SymbolMatch] = {}
        for match in context.symbols:
            if match.unit not in self._asked or match.strength > self._asked[match.unit].strength:
                self._asked[match.unit] = match

    def byte(self, unit: int) -> int:
        match = self._asked.get(unit)
        return match.definition.start_byte if match else focus_of(self._snapshot, unit, self._wanted)

    def definition(self, unit: int) -> Definition | None:
        """What a hit is named after: the definition asked for, else the innermost one around its best line."""
        match = self._asked.get(unit)
        if match:
            return match.definition
        file, _, _, _, _, shown = self._snapshot.unit(unit)
        if shown >= 0 and self._snapshot.unit_definitions[unit] < 2:
            return self._snapshot.definition(shown)
        found = around(self._snapshot, file, self.byte(unit), TYPE_KINDS | FUNCTION_KINDS)
        return found or (self._snapshot.definition(shown) if shown >= 0 else None)

    def lines(self, text: str, first: int, count: int) -> tuple[str, int, int]:
        return densest(text, first, count, self._wanted)

    def place(self, unit: int) -> Place:
        """What a hit shows unless more is asked for: the whole unit."""
        return place_of(self._snapshot, unit, "block")

    def matches(self, place: Place) -> tuple[Match, ...]:
        return ()


class LiteralFocus(Focus):
    """For a pattern: where its first match in the unit begins, and the lines around its matches there."""

    def __init__(self, context: Context, found: LiteralMatches) -> None:
        super().__init__(context)
        self._found = found
        self._texts: dict[int, bytes] = {}

    def byte(self, unit: int) -> int:
        return self._found.first_in(unit)

    def definition(self, unit: int) -> Definition | None:
        file = self._snapshot.unit(unit)[0]
        return around(self._snapshot, file, self.byte(unit), TYPE_KINDS | FUNCTION_KINDS)

    def text_of(self, file: int) -> bytes:
        if file not in self._texts:
            self._texts = {file: self._snapshot.file_text(file)}
        return self._texts[file]

    def place(self, unit: int) -> Place:
        """The matching lines of a unit and one around them, if they are not too far apart; else those of its first match."""
        file, start, end, line, last, _ = self._snapshot.unit(unit)
        text, first = self.text_of(file), self.byte(unit)
        begin = max(text.rfind(b"\n", 0, max(text.rfind(b"\n", 0, first), 0)) + 1, start)
        spans = self._found.pattern.spans(text, text.rfind(b"\n", 0, first) + 1, end)
        stop = first
        for low, high in spans:
            if text.count(b"\n", begin, max(high, low)) >= _LITERAL_LINES - 2:
                break
            stop = max(high - 1, low)
        for _ in range(2):
            following = text.find(b"\n", stop)
            stop = len(text) if following < 0 else following + 1
            if stop >= end:
                break
        stop = min(stop, end)
        first_line = line + text.count(b"\n", start, begin)
        rows = text.count(b"\n", begin, stop) - (1 if text[stop - 1 : stop] == b"\n" else 0)
        return Place(file, first_line, min(first_line + rows, max(last, first_line)), begin, stop)

    def matches(self, place: Place) -> tuple[Match, ...]:
        """Every match that begins in a place."""
        text = self.text_of(place.file)
        return tuple(
            Match(*_position(text, place, low), *_position(text, place, high))
            for low, high in self._found.pattern.spans(text, place.start, place.end)
        )

    def lines(self, text: str, first: int, count: int) -> tuple[str, int, int]:
        data = text.encode()
        match = self._found.pattern.first(data, 0)
        at = data.count(b"\n", 0, match[0]) if match is not None else 0
        start = max(at - 1, 0) if count > 2 else at
        shown = lines_of(text)[start : start + count]
        return "".join(shown), first + start, first + start + max(len(shown) - 1, 0)


def _position(text: bytes, place: Place, byte: int) -> tuple[int, int]:
    line = place.start_line + text.count(b"\n", place.start, byte)
    return line, 1 + len(text[text.rfind(b"\n", 0, byte) + 1 : byte].decode("utf-8", "replace"))


def focus_on(context: Context) -> Focus:
    found = context.lanes.get("literal")
    return LiteralFocus(context, found) if isinstance(found, LiteralMatches) else Focus(context)


def places_of(
    snapshot: Snapshot, ranked: Ranking, context: str, focus: Focus
) -> Sequence[tuple[int, Place]]:
    """Where each hit's text is; units that widen to the same function or class are one hit."""
    if context not in ("function", "class"):
        return _Blocks(ranked, focus.place)
    seen: set[tuple[int, int, int]] = set()
    found = []
    for position, unit in enumerate(ranked.units):
        place = place_of(snapshot, unit, context, partial(focus.byte, unit))
        key = (place.file, place.start, place.end)
        if key not in seen:
            seen.add(key)
            found.append((position, place))
    return found


class _Blocks(Sequence[tuple[int, Place]]):
    """The places of units, looked up when asked for."""

    def __init__(self, ranked: Ranking, place: Callable[[int], Place]) -> None:
        self._place = place
        self._ranked = ranked
        self._known: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self._ranked)

    def __getitem__(self, i: int) -> tuple[int, Place]:  # type: ignore[override]
        if i not in self._known:
            self._known[i] = self._place(self._ranked.unit(i))
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
                    known = self._focus.lines(text, place.start_line, self._query.snippet_lines)
            self._texts[i] = known
        return known

    def cost(self, i: int) -> int:
        if i not in self._costs:
            measure = tokens.estimate if self._query.budget is None else tokens.count
            self._costs[i] = measure(self.text(i)[0])
        return self._costs[i]

    def location(self, i: int) -> str:
        place = self._places[i][1]
        return f"{self._snapshot.path(place.file)}:{place.start_line}-{place.end_line}"

    def hit(self, i: int) -> Hit:
        position, place = self._places[i]
        unit = self._ranked.unit(position)
        text, first, last = self.text(i)
        path = self._snapshot.path(place.file)
        named = self._focus.definition(unit)
        identity = hashlib.blake2b(f"code\0{path}\0{place.start}\0{place.end}".encode(), digest_size=8)
        return Hit(
            identity.hexdigest(), "code", path, first, last, self._snapshot.language(place.file),
            named.qualified if named else None, named.kind if named else None, self._ranked.score(position),
            self.cost(i), text, self._ranked.why(position), matches=self._focus.matches(place),
        )  # fmt: skip


def oversized_note(page: Page, shown: Shown) -> tuple[Degraded, ...]:
    if not page.oversized:
        return ()
    smallest = min(shown.cost(i) for i in page.oversized)
    places = ", ".join(shown.location(i) for i in page.oversized[:3]) + (", …" if len(page.oversized) > 3 else "")
    many = len(page.oversized)
    return (
        Degraded(
            "budget", f"{many} {'hit is' if many == 1 else 'hits are'} larger than the whole budget: {places}",
            f"raise the budget to {smallest}, or use --snippet-lines",
        ),  # fmt: skip
    )
