"""BM25F over the fields of a commit or hunk.

The rarity of a word is counted in messages only: in diffs nearly every word occurs everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lurcher.corpora.history.segment import HUNK_FIELDS
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.lanes.lexical import FieldSum, WordScores, compute_group_idf, field_norms, keep_best, terms_of
from lurcher.query.expand import Group
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MESSAGE = ("subject", "body")
Weights = Mapping[str, tuple[float, float]]
"""Field → (weight, b)."""


@dataclass(frozen=True, slots=True)
class FieldScores:
    """One score per commit or hunk, and the contribution of each word."""

    scores: NDArray[np.float64]
    shares: Sequence[WordScores]
    most: float
    """The limit of the score as every word occurs ever more often."""

    def why(self, number: int) -> LaneWhy | None:
        """The rank, score and words of one commit or hunk; None if it has no score."""
        value = float(self.scores[number])
        if value <= 0:
            return None
        return LaneWhy(1 + int((self.scores > value).sum()), value, terms_of(self.shares, number))


def score_fields(
    history: HistorySnapshot, groups: Sequence[Group], weights: Weights, k1: float, variant: float, keep: int | None = None
) -> FieldScores:
    """Score every commit by fields of commits, or every hunk by fields of hunks.

    `variant` is the weight of other forms of a word; `keep` limits the number of words.
    """
    hunks = any(field in HUNK_FIELDS for field in weights)
    rare_in = tuple(weights) if hunks else tuple(field for field in MESSAGE if field in weights) or tuple(weights)
    found = [(group, _rarity(history, group, rare_in, variant)) for group in groups]
    fields = [(field, weight, field_norms(*history.lengths(field), b)) for field, (weight, b) in weights.items()]
    words = FieldSum(history.hunk_total if hunks else history.commit_total, k1, fields, history.postings)
    most = 0.0
    for group, idf in keep_best(found, keep):
        for form, worth in ((group.word, 1.0), *((form, variant) for form in (group.forms if variant else ()))):
            if history.knows(form):
                words.add(form, worth)
        times = group.weight * idf * (k1 + 1)
        words.finish_word(group.word, times)
        most += times
    words.scores[~(history.live_hunks if hunks else history.live)] = 0
    return FieldScores(words.scores, words.shares, most)


def _rarity(history: HistorySnapshot, group: Group, fields: Sequence[str], variant: float) -> float:
    """The IDF of a word among the commits or hunks that have it in one of some fields."""
    import numpy as np

    hunks = any(field in HUNK_FIELDS for field in fields)
    seen = np.zeros(history.hunk_total if hunks else history.commit_total, bool)

    def count(form: str) -> int:
        for field in fields:
            seen[history.postings(field, form)[0]] = True
        return int(np.count_nonzero(seen))

    alone = together = count(group.word)
    for form in group.forms if variant else ():
        together = count(form)
    return compute_group_idf(history.hunk_count if hunks else history.commit_count, alone, together)
