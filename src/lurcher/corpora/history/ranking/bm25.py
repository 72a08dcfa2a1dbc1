"""BM25F: BM25 over the fields of a commit or hunk, as one weighted term frequency:

    tf' = Σ over fields  w · tf / (1 − b + b · len/avg),   score = Σ over words  q · idf · tf'(k1 + 1)/(tf' + k1)

The rarity of a word is counted in messages only: in diffs nearly every word occurs everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from lurcher.corpora.history.segment import HUNK_FIELDS
from lurcher.corpora.history.snapshot import HistorySnapshot
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
    shares: tuple[tuple[str, NDArray[np.int64], NDArray[np.float64]], ...]
    """For each word its owners, ascending, and what it adds to their scores."""
    most: float
    """The limit of the score as every word occurs ever more often."""

    def terms_of(self, number: int) -> dict[str, float]:
        """What each word adds to one score, largest first."""
        found = {}
        for word, owners, amounts in self.shares:
            position = int(owners.searchsorted(number))
            if position < len(owners) and owners[position] == number:
                found[word] = float(amounts[position])
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def why(self, number: int) -> LaneWhy | None:
        """The rank, score and words of one commit or hunk; None if it has no score."""
        value = float(self.scores[number])
        return LaneWhy(1 + int((self.scores > value).sum()), value, self.terms_of(number)) if value > 0 else None


def score_fields(
    history: HistorySnapshot, groups: Sequence[Group], weights: Weights, k1: float, variant: float, keep: int | None = None
) -> FieldScores:
    """Score every commit by fields of commits, or every hunk by fields of hunks.

    `variant` is the weight of other forms of a word; `keep` limits the number of words.
    """
    import numpy as np

    hunks = any(field in HUNK_FIELDS for field in weights)
    total = history.hunk_total if hunks else history.commit_total
    count = history.hunk_count if hunks else history.commit_count
    rare_in = tuple(weights) if hunks else tuple(field for field in MESSAGE if field in weights) or tuple(weights)
    chosen = _select_groups(history, groups, rare_in, count, variant, keep)
    norms = {field: _length_norms(history, field, b) for field, (_, b) in weights.items()}
    scores = np.zeros(total)
    shares = []
    most = 0.0
    for group, idf in chosen:
        tf = np.zeros(total)
        for form, worth in _forms(group, variant):
            for field, (weight, _) in weights.items() if history.knows(form) else ():
                owners, counts = history.postings(field, form)
                if len(owners):
                    tf[owners] += worth * weight * counts * norms[field][owners]
        owners = np.flatnonzero(tf)
        times = group.weight * idf * (k1 + 1)
        amounts = times * tf[owners] / (tf[owners] + k1)
        scores[owners] += amounts
        shares.append((group.word, owners, amounts))
        most += times
    scores[~(history.live_hunks if hunks else history.live)] = 0
    return FieldScores(scores, tuple(shares), most)


def _forms(group: Group, variant: float) -> list[tuple[str, float]]:
    return [(group.word, 1.0), *((form, variant) for form in (group.forms if variant else ()))]


def _select_groups(
    history: HistorySnapshot, groups: Sequence[Group], fields: Sequence[str], count: int, variant: float, keep: int | None
) -> list[tuple[Group, float]]:
    """The groups with their rarity (IDF); if there are more than `keep`, the best by weight · rarity."""
    import numpy as np

    found = []
    hunks = any(field in HUNK_FIELDS for field in fields)
    seen = np.zeros(history.hunk_total if hunks else history.commit_total, bool)
    for group in groups:
        seen[:] = False
        for field in fields:
            seen[history.postings(field, group.word)[0]] = True
        alone = together = int(np.count_nonzero(seen))
        if variant and group.forms:
            for form in group.forms:
                for field in fields:
                    seen[history.postings(field, form)[0]] = True
            together = int(np.count_nonzero(seen))
        # The mean of both, as for code: a rare word must not become common because of a common form, or the reverse.
        rarity = (_idf(count, alone) + _idf(count, together)) / 2 if alone else _idf(count, together)
        found.append((group, rarity))
    if keep is not None and len(found) > keep:
        best = sorted(range(len(found)), key=lambda i: (-found[i][0].weight * found[i][1], found[i][0].word))[:keep]
        found = [found[i] for i in sorted(best)]
    return found


def _idf(count: int, having: int) -> float:
    return log(1 + (count - having + 0.5) / (having + 0.5))


def _length_norms(history: HistorySnapshot, field: str, b: float) -> NDArray[np.float64]:
    lengths, mean = history.lengths(field)
    return 1 / (1 - b + b * lengths / (mean or 1.0))
