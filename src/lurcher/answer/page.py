"""From what a source found to the answer: a second look at the first hits, then one page of them.

    Findings → rerank → pack → Answer
"""

from __future__ import annotations

from lurcher.answer import cursor as cursors
from lurcher.answer.budget import START, pack
from lurcher.config import Settings
from lurcher.errors import Template
from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass, field, replace
from lurcher.types import Answer, Degraded, Hit, IndexState, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from lurcher.rerank.base import Candidate
    from lurcher.rerank.stage import Factor, Second
    from lurcher.runtime.cache import Cache

Lap: TypeAlias = "Callable[[str], None]"


class Listing(Protocol):
    """Hits in order, each made only where somebody looks at it. One that has `expect` is told first of those that will be."""

    def __len__(self) -> int: ...
    def score(self, i: int) -> float: ...
    def cost(self, i: int) -> int: ...
    def hit(self, i: int) -> Hit: ...
    def candidate(self, i: int) -> Candidate:
        """The hit as a reranker reads it."""
    def location(self, i: int) -> str:
        """Its name, for who cannot be shown it."""
    def why(self, i: int) -> Why:
        """What each lane says about it, and how its score came about."""


class Paged(Protocol):
    """The part of a question that says how much of the list to show."""

    @property
    def text(self) -> str: ...
    @property
    def limit(self) -> int: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def rerank(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that a source, or several, found, and how."""

    sources: tuple[str, ...]
    listing: Listing
    mode: str
    intent: str
    ranking: str
    index: IndexState
    print_: cursors.Fingerprint
    """What the order depends on."""
    notes: tuple[Degraded, ...] = ()
    languages: tuple[str, ...] = ()
    factors: Mapping[str, tuple[int, Factor]] = field(default_factory=dict)
    """Second looks of the source's own."""
    reranked: bool = True
    """Whether a second look makes sense; hits that match exactly have none."""
    at_least: bool = False
    """Whether there are more than these."""
    named: int | None = None
    """In how many places a name stands as a whole that was asked for."""


class _Unchanged:
    """An order without a second look."""

    said, notes = (), ()

    def before(self, position: int) -> int:
        return position

    def told(self, position: int, hit: Hit) -> Hit:
        return hit


def answer_of(found: Findings, query: Paged, settings: Settings, root: str, cache: Cache, lap: Lap) -> Answer:
    """One page of what was found; `root` is the folder that the project's own settings may name files of."""
    listing, notes = found.listing, found.notes
    names = query.rerank if found.reranked else ()
    came = cursors.decode(query.cursor, expect=found.print_) if query.cursor is not None else None
    second: Second | _Unchanged = _Unchanged()
    if names:
        from lurcher.rerank.stage import Head, look_again

        second = look_again(
            names, query.text, Head(len(listing), listing.score, listing.candidate), settings, root, cache,
            said=came.said if came else None, factors=found.factors,
        )  # fmt: skip
        lap("rerank")
    elif query.rerank:
        notes += (Degraded(query.rerank[0], f"{found.mode} hits are not reranked", Template("use {mode=hybrid}")),)
    page = pack(
        lambda i: listing.cost(second.before(i)), len(listing), budget=query.budget, limit=query.limit,
        start=came.place if came else START, patience=settings.search.patience,
    )  # fmt: skip
    places = [second.before(i) for i in page.indices]
    expect = getattr(listing, "expect", None)
    if expect is not None:
        expect(places)
    hits = tuple([second.told(i, listing.hit(place)) for i, place in zip(page.indices, places, strict=True)])
    notes += second.notes + _oversized(listing, [second.before(i) for i in page.oversized])
    kept = second.said if names else None
    following = cursors.encode(cursors.CursorState(page.next, found.print_, kept)) if page.next else None
    lap("pack")
    return Answer(
        query.text, found.mode, found.intent, found.ranking, found.sources, hits, len(listing), page.tokens, following,
        found.index, notes, {}, found.languages, found.at_least, found.named,
    )  # fmt: skip


def _oversized(listing: Listing, positions: Sequence[int]) -> tuple[Degraded, ...]:
    """Says which hits no page of this budget can hold."""
    if not positions:
        return ()
    smallest = min(map(listing.cost, positions))
    places = ", ".join(map(listing.location, positions[:3])) + (", …" if len(positions) > 3 else "")
    many = "1 hit is" if len(positions) == 1 else f"{len(positions)} hits are"
    return (
        Degraded(
            "budget", f"{many} larger than the whole budget: {places}",
            Template("raise the budget to {*}, or use {snippet_lines}", smallest),
        ),  # fmt: skip
    )


def with_notes(answer: Answer, before: tuple[Degraded, ...]) -> Answer:
    return replace(answer, degraded=before + answer.degraded) if before else answer
