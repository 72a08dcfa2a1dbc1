"""The order of places: which units of the best files are shown, and when.

    v = u^β · exp(γ·cos + ε·encl)
    S = x · (v / max v)^b · (v / max v of its file)^(1−b) · δ^(n−1)

x is the file's score, u the unit's share of the best BM25 score, cos its cosine with the question, encl the share of the
question's words, by rarity, in the names of the definitions around the unit's middle, and n the unit's place in its file.
So a strong second unit comes before the first of a weaker file, and a unit that only mentions the words of a question comes
after one that is named by them.
"""

from __future__ import annotations

from math import exp

from lurcher.query import REPORT, SYMBOL
from lurcher.ranking import Context
from lurcher.runtime.light import NamedTuple
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.terms import split, words


class Weights(NamedTuple):
    bm25: float
    """β"""
    cosine: float
    """γ"""
    enclosing: float
    """ε"""
    best: float
    """b: how much a unit is compared with the best of all files; the rest, with the best of its own."""
    further: float
    """δ: factor for each further unit of a file."""


QUESTION = Weights(bm25=0.5, cosine=3.0, enclosing=3.0, best=0.15, further=0.8)
NAME = Weights(bm25=0.5, cosine=0.0, enclosing=3.0, best=0.0, further=0.5)
REPORTED = Weights(bm25=1.0, cosine=0.0, enclosing=3.0, best=0.0, further=0.85)
FILES = 16
"""Files whose further units are placed among the others; those of the rest come after."""
UNITS = 16
"""Units of one file that are placed, the best by BM25."""
NAMED_UNITS = 4
"""Units of one file whose enclosing names are compared, the best by BM25 and cosine."""
LEAST_SHARE = 0.02
"""The least u: a unit without a word of the question still has its cosine."""
_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS


def order_places(
    context: Context, files: list[int], values: list[float], leads: list[int]
) -> tuple[list[int], list[float]]:
    """The units of `files`, which have the scores `values`, in order of S, each with S. `leads` have a place in any case."""
    weights = {REPORT: REPORTED, SYMBOL: NAME}.get(context.plan.intent, QUESTION)
    snapshot = context.snapshot
    rows = _value_units(context, weights, files, leads)
    best = max((row[0][0] for row in rows if row), default=1.0)
    found = []
    for file, value, row in zip(files, values, rows, strict=True):
        rank, highest, factor = int(snapshot.path_rank[file]), row[0][0], value
        for v, unit in row:
            found.append((-factor * (v / best) ** weights.best * (v / highest) ** (1 - weights.best), rank, unit))
            factor *= weights.further
    found.sort()
    return [unit for _, _, unit in found], [-s for s, _, _ in found]


def _value_units(context: Context, weights: Weights, files: list[int], leads: list[int]) -> list[list[tuple[float, int]]]:
    """v and number of each unit that is placed, best first, by file."""
    scores, snapshot = context.lexical.scores, context.snapshot
    highest = float(scores.max(initial=0.0)) or 1.0
    names = _EnclosingNames(context)
    defining = {match.file for match in context.symbols} if context.plan.intent == SYMBOL else set()
    compared, cosines = context.cosines if weights.cosine and context.cosines is not None else (None, None)
    rows = []
    for file, lead in zip(files, leads, strict=True):
        first, count = int(snapshot.first_unit[file]), int(snapshot.unit_counts[file])
        shares = scores[first : first + count].tolist()
        chosen = sorted(range(count), key=shares.__getitem__, reverse=True)[:UNITS]
        if lead - first not in chosen:
            chosen[-1] = lead - first
        near = [0.0] * count
        if compared is not None and cosines is not None:
            start = int(compared.searchsorted(first))
            if start < len(compared) and compared[start] == first:
                near = cosines[start : start + count].tolist()
        row = [
            (max(shares[i] / highest, LEAST_SHARE) ** weights.bm25 * exp(weights.cosine * near[i]), first + i)
            for i in chosen
            if shares[i] > 0 or first + i == lead
        ]
        row.sort(key=_best_first)
        row[:NAMED_UNITS] = [(v * exp(weights.enclosing * names.share(unit)), unit) for v, unit in row[:NAMED_UNITS]]
        if file in defining:  # its lead defines the queried name, and comes first
            most = max(row)[0]
            row = [(1.001 * most if unit == lead else v, unit) for v, unit in row]
        row.sort(key=_best_first)
        rows.append(row)
    return rows


def _best_first(entry: tuple[float, int]) -> tuple[float, int]:
    return -entry[0], entry[1]


class _EnclosingNames:
    """Compares the question with the names of the definitions around units."""

    def __init__(self, context: Context) -> None:
        self._snapshot = context.snapshot
        idf = context.lexical.idf
        self._worth: dict[str, tuple[str, float]] = {}
        self._total = 0.0
        for group in context.plan.groups:
            worth = group.weight * idf.get(group.word, 0.0)
            self._total += worth
            if worth:
                for term in (group.word, *group.forms):
                    self._worth.setdefault(term, (group.word, worth))
        self._known: dict[int, float] = {-1: 0.0}

    def share(self, unit: int) -> float:
        """The share of the question's words, by weight and rarity, in the names around the unit's middle."""
        if not self._total:
            return 0.0
        file, start, end, *_ = self._snapshot.unit(unit)
        number = self._snapshot.innermost(file, (start + end) // 2, _NAMING_KINDS)
        known = self._known.get(number)
        if known is None:
            name, _ = self._snapshot.definition_label(number)
            found = {self._worth[term] for word in words(name) for term in split(word) if term in self._worth}
            known = self._known[number] = sum(worth for _, worth in found) / self._total
        return known
