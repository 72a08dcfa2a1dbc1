"""What may be asked about the past, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lurcher.corpora.history.outcomes.verdicts import VERDICTS
from lurcher.errors import FilterError, QueryError
from lurcher.query.expand import Group, TermLookup, expand, extract_terms
from lurcher.query.intent import requests_change
from lurcher.query.validate import check_fusion, check_page, clean_text
from lurcher.rerank.stage import checked_names
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

# ----------------------------------------------------------------------------------------------------------------------
# How a question about the past is read: its words with their weights, and what else it says.


_QUESTION = re.compile(
    r"(?:how|what|when|where|which|who|why|did|does|do|have|has|had|was|were|is|are|can|could|should)\b", re.IGNORECASE
)
TITLE = 2.5
"""What a word of the first line counts, where there are more lines; chosen on the development tasks (issue → fixing commit)."""
MODES = ("auto", "hybrid", "lexical", "dense")


@dataclass(frozen=True, slots=True)
class PastPlan:
    text: str
    mode: str
    groups: tuple[Group, ...]
    fault: bool
    """It is one line that reports a fault, so a commit that mends one is the likelier answer."""

    question: bool
    """It is a question in the asker's own words, which commits rarely use."""

    @property
    def words(self) -> dict[str, float]:
        return {group.word: group.weight for group in self.groups}


def plan_past(text: str, mode: str, past: TermLookup) -> PastPlan:
    """The first line counts more than the others, where more of the same word counts less and less."""
    first, _, rest = text.strip().partition("\n")
    weights = dict.fromkeys(extract_terms(first), TITLE if rest.strip() else 1.0)
    for term, count in extract_terms(rest).items() if rest.strip() else ():
        weights[term] = weights.get(term, 0.0) + 2 * count / (1 + count)
    groups = expand(past, weights.items())
    fault = not rest.strip() and requests_change(first)  # a whole report speaks for itself
    return PastPlan(text, "hybrid" if mode == "auto" else mode, groups, fault, is_question(text))


def is_question(text: str) -> bool:
    line = text.strip()
    return "\n" not in line and (line.endswith("?") or _QUESTION.match(line) is not None)
