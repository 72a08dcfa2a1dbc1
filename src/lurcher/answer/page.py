"""From the findings of a corpus to an answer: rerank the first hits, then fill one page.

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
    from lurcher.rerank.stage import Factor, RerankedOrder
    from lurcher.runtime.cache import Cache

Lap: TypeAlias = "Callable[[str], None]"


class Listing(Protocol):
    """Hits in order, each made on access. A listing may have `prefetch`, which gets the positions that will be accessed."""

    def __len__(self) -> int: ...
    def score(self, i: int) -> float: ...
    def cost(self, i: int) -> int: ...
    def hit(self, i: int) -> Hit: ...
    def candidate(self, i: int) -> Candidate:
        """The hit as a reranker reads it."""
    def location(self, i: int) -> str:
        """Path and lines, for messages."""
    def why(self, i: int) -> Why:
        """Rank and score in each lane, and the stages that make up its score."""


class PageRequest(Protocol):
    """The part of a query that decides which page to show."""

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
    """Everything that one corpus, or several, found, and how."""

    sources: tuple[str, ...]
    listing: Listing
    mode: str
    intent: str
    ranking: str
    index: IndexState
    fingerprint: cursors.Fingerprint
    """What the order depends on; cursors are checked against it."""
    notes: tuple[Degraded, ...] = ()
    languages: tuple[str, ...] = ()
    factors: Mapping[str, tuple[int, Factor]] = field(default_factory=dict)
    """Rerankers of the corpus itself: name → (candidates, factor)."""
    reranked: bool = True
    """Whether the hits may be reranked; exact matches are not."""
    at_least: bool = False
    """Whether the search stopped early, so that there are more hits than these."""
    named: int | None = None
    """The number of places with the queried name as a whole word."""


class _Unchanged:
    """An order that is not reranked."""

    stored, notes = (), ()

    def before(self, position: int) -> int:
        return position

    def annotate(self, position: int, hit: Hit) -> Hit:
        return hit


def build_answer(found: Findings, query: PageRequest, settings: Settings, root: str, cache: Cache, lap: Lap) -> Answer:
    """One page of the findings; `root` is the folder inside which the project's own settings may name files."""
    listing, notes = found.listing, found.notes
    names = query.rerank if found.reranked else ()
    cursor = cursors.decode(query.cursor, expect=found.fingerprint) if query.cursor is not None else None
    second: RerankedOrder | _Unchanged = _Unchanged()
    if names:
        from lurcher.rerank.stage import TopHits, run_rerankers

        second = run_rerankers(
            names, query.text, TopHits(len(listing), listing.score, listing.candidate), settings, root, cache,
            stored=cursor.rerank_scores if cursor else None, factors=found.factors,
        )  # fmt: skip
        lap("rerank")
    elif query.rerank:
        notes += (Degraded(query.rerank[0], f"{found.mode} hits are not reranked", Template("use {mode=hybrid}")),)
    page = pack(
        lambda i: listing.cost(second.before(i)), len(listing), budget=query.budget, limit=query.limit,
        start=cursor.place if cursor else START, patience=settings.search.patience,
    )  # fmt: skip
    places = [second.before(i) for i in page.indices]
    prefetch = getattr(listing, "prefetch", None)
    if prefetch is not None:
        prefetch(places)
    hits = tuple([second.annotate(i, listing.hit(place)) for i, place in zip(page.indices, places, strict=True)])
    notes += second.notes + _note_oversized(listing, [second.before(i) for i in page.oversized])
    scores = second.stored if names else None
    following = cursors.encode(cursors.CursorState(page.next, found.fingerprint, scores)) if page.next else None
    lap("pack")
    return Answer(
        query.text, found.mode, found.intent, found.ranking, found.sources, hits, len(listing), page.tokens, following,
        found.index, notes, {}, found.languages, found.at_least, found.named,
    )  # fmt: skip


def _note_oversized(listing: Listing, positions: Sequence[int]) -> tuple[Degraded, ...]:
    """A note about the hits that are larger than the whole budget."""
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


def add_notes(answer: Answer, before: tuple[Degraded, ...]) -> Answer:
    return replace(answer, degraded=before + answer.degraded) if before else answer
