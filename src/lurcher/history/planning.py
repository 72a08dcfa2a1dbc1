"""How a question about the past is read: its words with their weights, and what else it says."""

from __future__ import annotations

from dataclasses import dataclass

from lurcher.planning.groups import Group, Terms, expand, query_terms
from lurcher.planning.intent import wants_change

TITLE = 5.0
"""What a word of the first line counts against one further down: a report's title says what it is about."""
MODES = ("auto", "hybrid", "lexical", "dense")


@dataclass(frozen=True, slots=True)
class PastPlan:
    text: str
    mode: str
    groups: tuple[Group, ...]
    fault: bool
    """The question reports a fault, so a commit that mends one is the likelier answer."""

    @property
    def words(self) -> dict[str, float]:
        return {group.word: group.weight for group in self.groups}


def plan_past(text: str, mode: str, past: Terms) -> PastPlan:
    title, _, rest = text.strip().partition("\n")
    weights: dict[str, float] = {}
    for part, times in ((title, TITLE), (rest, 1.0)):
        for term, count in query_terms(part).items() if part.strip() else ():
            weights[term] = weights.get(term, 0.0) + times * count
    return PastPlan(text, "hybrid" if mode == "auto" else mode, expand(past, weights.items()), wants_change(text))
