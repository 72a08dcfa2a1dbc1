"""How well the confidence of answers tells right ones from wrong ones, and questions from those about another repository.

AUC: the chance that of a right and a wrong answer, each drawn at random, the right one has the higher likelihood. Answers to
names have no likelihood, and count only in the levels.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lurcher.errors import DatasetError
from lurcher.evaluation.metrics import SEED, Interval, Outcomes, auc_interval
from lurcher.types import FAIR, NONE, STRONG, WEAK

LEVELS = (STRONG, FAIR, WEAK, NONE)


class Judged(Protocol):
    """The answer to a question that was asked of its own repository."""

    @property
    def repository(self) -> str: ...
    @property
    def scores(self) -> dict[str, float]: ...
    @property
    def confidence(self) -> str: ...
    @property
    def likelihood(self) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True)
class Negative:
    """The answer to a question that was asked of another repository than its own."""

    id: str
    repository: str
    """Whose tree was searched."""
    variant: str
    confidence: str
    likelihood: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ConfidenceSummary:
    levels: dict[str, int]
    """How many answers have each level."""
    first_file: Interval | None
    """AUC of `first`, over answers whose first file is right and wrong; None unless there are both."""
    false_alarms: float
    """The share of questions asked of their own repository of whose answer is said that nothing matches well."""
    negatives: int = 0
    negative_levels: dict[str, int] | None = None
    wrong_repository: Interval | None = None
    """AUC of `here`, over questions asked of their own repository and of another."""

    @property
    def noticed(self) -> float:
        """The share of questions asked of another repository of whose answer is said that nothing matches well."""
        return (self.negative_levels or {}).get(NONE, 0) / self.negatives if self.negatives else 0.0

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"levels": self.levels, "false_alarms": round(self.false_alarms, 6)}
        if self.first_file is not None:
            found["first_file_auc"] = self.first_file.to_dict()
        if self.wrong_repository is not None:
            found |= {
                "negatives": self.negatives, "negative_levels": self.negative_levels, "noticed": round(self.noticed, 6),
                "wrong_repository_auc": self.wrong_repository.to_dict(),
            }  # fmt: skip
        return found


def summarise_confidence(results: Sequence[Judged], negatives: Sequence[Negative]) -> ConfidenceSummary | None:
    """None where no answer has a confidence."""
    judged = [result for result in results if result.confidence]
    if not judged:
        return None
    first: dict[str, Outcomes] = defaultdict(lambda: ([], []))
    here: dict[str, Outcomes] = defaultdict(lambda: ([], []))
    for result in judged:
        if result.likelihood:
            first[result.repository][not result.scores["file_hit@1"]].append(result.likelihood["first"])
            here[result.repository][0].append(result.likelihood["here"])
    foreign = [negative for negative in negatives if negative.confidence]
    for negative in foreign:
        if negative.likelihood:
            here[negative.repository][1].append(negative.likelihood["here"])
    levels = _count_levels(judged)
    return ConfidenceSummary(
        levels, auc_interval(first), levels[NONE] / len(judged), len(foreign), _count_levels(foreign) if foreign else None,
        auc_interval(here) if foreign else None,
    )  # fmt: skip


def _count_levels(judged: Iterable[Judged | Negative]) -> dict[str, int]:
    counted = Counter(entry.confidence for entry in judged)
    return {level: counted[level] for level in LEVELS}


def choose_other_repositories(names: Iterable[str]) -> dict[str, str]:
    """For each repository, the one whose questions it is asked: all are shuffled, seeded, and each gets those of the next."""
    order = sorted(set(names))
    if len(order) < 2:
        raise DatasetError("the questions are about one repository", hint="--negatives needs questions about two or more")
    random.Random(SEED).shuffle(order)
    return {name: order[(i + 1) % len(order)] for i, name in enumerate(order)}
