"""How a question about the past is read: its words with their weights, and what else it says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lurcher.planning.groups import Group, Terms, expand, query_terms
from lurcher.planning.intent import wants_change

_QUESTION = re.compile(
    r"(?:how|what|when|where|which|who|why|did|does|do|have|has|had|was|were|is|are|can|could|should)\b", re.IGNORECASE
)
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


def plan_past(text: str, mode: str, past: Terms, title: float) -> PastPlan:
    """`title` is what a word of the first line counts; further down more of the same counts less and less."""
    first, _, rest = text.strip().partition("\n")
    weights = dict.fromkeys(query_terms(first), title if rest.strip() else 1.0)
    for term, count in query_terms(rest).items() if rest.strip() else ():
        weights[term] = weights.get(term, 0.0) + 2 * count / (1 + count)
    groups = expand(past, weights.items())
    fault = not rest.strip() and wants_change(first)  # a whole report speaks for itself
    return PastPlan(text, "hybrid" if mode == "auto" else mode, groups, fault, is_question(text))


def is_question(text: str) -> bool:
    line = text.strip()
    return "\n" not in line and (line.endswith("?") or _QUESTION.match(line) is not None)
