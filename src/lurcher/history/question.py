"""What may be asked about the past, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lurcher.errors import FilterError, QueryError
from lurcher.history.outcomes.verdicts import VERDICTS
from lurcher.history.planning import MODES
from lurcher.planning.checks import check_fusion, check_page, clean_text
from lurcher.rerank.second import checked_names
from lurcher.types import Filter

RANKINGS = ("default", "classic")
OWN_RERANKS = ("outcome",)
"""Second looks that only history has."""


@dataclass(frozen=True, slots=True)
class PastQuery:
    text: str
    limit: int = 10
    mode: str = "auto"
    ranking: str = "default"
    fusion: str | None = None
    """rrf is the classic ranking, linear adds up; None: as the ranking has it."""
    alpha: float | None = None
    mmr: float | None = None
    filter: Filter = field(default_factory=Filter)
    since: int | None = None
    until: int | None = None
    """Seconds since 1970."""
    author: str | None = None
    outcomes: tuple[str, ...] = ()
    rerank: tuple[str, ...] = ()
    budget: int | None = None
    cursor: str | None = None
    context: str = "block"
    snippet_lines: int | None = None

    @property
    def order(self) -> str:
        """Which file of history/ranking/ puts commits in order."""
        if self.mode == "dense":
            return "cosine"
        return {"linear": "linear", "rrf": "classic", None: self.ranking}[self.fusion]


def looks_of(names: Sequence[str]) -> tuple[str, ...]:
    """The second looks asked for."""
    return checked_names(names, OWN_RERANKS)


def checked(query: PastQuery) -> PastQuery:
    text = clean_text(query.text)
    check_page(query)
    for name, known in (("mode", MODES), ("ranking", RANKINGS)):
        value = getattr(query, name)
        if value not in known:
            raise QueryError(f"unknown {name} '{value}' for history", f"known are: {', '.join(known)}")
    check_fusion(query)
    for verdict in query.outcomes:
        if verdict not in VERDICTS:
            raise FilterError(f"unknown outcome '{verdict}'", f"known are: {', '.join(VERDICTS)}")
    return query if text == query.text else replace(query, text=text)
