"""The order of places: which units of the best files are shown, and when.

    v = u^β · exp(γ·cos + ε·encl) · noise
    S = x · (v / max v)^b · (v / max v of its file)^(1−b) · δ^(n−1)

x is the file's score, u the unit's share of the best BM25 score, cos its cosine with the question, encl the share of the
question's words, by rarity, in the names of the definitions around the unit's middle, noise the factor of inline tests, and n
the unit's place in its file.
So a strong second unit comes before the first of a weaker file, and a unit that only mentions the words of a question comes
after one that is named by them.

For a question, the first place of a file is the unit with the largest v if encl may also be that of a definition that begins
in the unit, and gets the largest v of its file: an answer begins with the definition that is named like the question. The
others follow by v itself, so that the rest of a long function, in which nothing begins, stays before its neighbours.
"""

from __future__ import annotations

from math import exp, fsum, log

from lurcher.query import LANGUAGE, REPORT, SYMBOL
from lurcher.ranking import Context
from lurcher.ranking.evidence import get_inline_factor
from lurcher.runtime.kernel import np
from lurcher.sources.roles import INLINE_TESTS
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.types import Record


class Weights(Record):
    __slots__ = ("bm25", "cosine", "enclosing", "best", "further")

    def __init__(self, bm25: float, cosine: float, enclosing: float, best: float, further: float) -> None:
        self.bm25 = bm25
        """β"""
        self.cosine = cosine
        """γ"""
        self.enclosing = enclosing
        """ε"""
        self.best = best
        """b: how much a unit is compared with the best of all files; the rest, with the best of its own."""
        self.further = further
        """δ: factor for each further unit of a file."""


QUESTION = Weights(bm25=0.5, cosine=3.0, enclosing=3.5, best=0.15, further=0.85)
NAME = Weights(bm25=0.5, cosine=0.0, enclosing=3.0, best=0.0, further=0.5)
REPORTED = Weights(bm25=0.7, cosine=0.0, enclosing=3.0, best=0.0, further=1.0)
"""A fix of a report is often in a further unit of the best file, so that none of them counts less for its place."""
FILES = 12
"""Files whose further units are placed among the others; those of the rest come after."""
UNITS = 16
"""Units of one file that are placed, the best by BM25."""
LEAST_SHARE = 0.02
"""The least u: a unit without a word of the question still has its cosine."""
_LEAST_FACTOR = 1e-3
"""The least noise: settings allow 0."""
_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS


def order_places(
    context: Context, files: list[int], values: list[float], leads: list[int]
) -> tuple[list[int], list[float]]:
    """The units of `files`, which have the scores `values`, in order of S, each with S. `leads` have a place in any case."""
    weights = {REPORT: REPORTED, SYMBOL: NAME}.get(context.plan.intent, QUESTION)
    rank = context.snapshot.path_rank
    rows = _value_units(context, weights, files, leads)
    best = min((row[0][0] for row in rows if row), default=0.0)
    found = []
    for file, value, row in zip(files, values, rows, strict=True):
        position, own = int(rank[file]), row[0][0]
        base = weights.best * best + (1 - weights.best) * own
        for v, unit in row:
            found.append((-value * exp(base - v), position, unit))
            value *= weights.further
    found.sort()
    return [unit for _, _, unit in found], [-s for s, _, _ in found]


def _value_units(context: Context, weights: Weights, files: list[int], leads: list[int]) -> list[list[tuple[float, int]]]:
    """-log v and number of each unit that is placed, in order, by file."""
    scores, snapshot = context.lexical.scores, context.snapshot
    highest = float(scores.max(initial=0.0)) or 1.0
    least = LEAST_SHARE * highest
    names = _Names(context)
    defining = {match.file for match in context.symbols} if context.plan.intent == SYMBOL else set()
    compared, cosines = context.cosines if weights.cosine and context.cosines is not None else (None, None)
    rows = []
    for file, lead in zip(files, leads, strict=True):
        first, count = int(snapshot.first_unit[file]), int(snapshot.unit_counts[file])
        own = scores[first : first + count]
        scored = np.flatnonzero(own > 0)
        chosen, shares = scored.tolist(), own[scored].tolist()
        if len(chosen) >= UNITS:
            best = sorted(zip(shares, chosen, strict=True), key=_by_share)[:UNITS]
            chosen, shares = [i for _, i in best], [share for share, _ in best]
        if 0 <= lead - first < count and lead - first not in chosen:
            keep = UNITS - 1
            chosen, shares = [*chosen[:keep], lead - first], [*shares[:keep], float(own[lead - first])]
        values = [weights.bm25 * log(max(share, least) / highest) for share in shares]
        if compared is not None and cosines is not None:
            start = int(compared.searchsorted(first))
            if start < len(compared) and compared[start] == first:
                near = cosines[start : start + count].tolist()
                values = [v + weights.cosine * near[i] for v, i in zip(values, chosen, strict=True)]
        if int(snapshot.file_roles[file]) & INLINE_TESTS:
            factors = [max(get_inline_factor(context, first + i), _LEAST_FACTOR) for i in chosen]
            values = [v + log(factor) for v, factor in zip(values, factors, strict=True)]
        around, largest = names.shares(file, chosen)
        row = [(-v - weights.enclosing * share, first + i) for v, share, i in zip(values, around, chosen, strict=True)]
        if file in defining:  # its lead defines the queried name, and comes first
            top = min(row)[0]
            row = [(top - 0.001 if unit == lead else v, unit) for v, unit in row]
        row.sort()
        if context.plan.intent == LANGUAGE and largest != around:
            named = [(-v - weights.enclosing * share, first + i) for v, share, i in zip(values, largest, chosen, strict=True)]
            unit = min(named)[1]
            if unit != row[0][1]:
                row = [(row[0][0], unit)] + [entry for entry in row if entry[1] != unit]
        rows.append(row)
    return rows


def _by_share(entry: tuple[float, int]) -> tuple[float, int]:
    return -entry[0], entry[1]


class _Names:
    """Compares the question with the names of definitions: the share of its words, by weight and rarity, in a name.

    Units are numbered within their file.
    """

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
        self._terms = frozenset(self._worth)
        self._known: dict[frozenset[str], float] = {frozenset(): 0.0}

    def shares(self, file: int, units: list[int]) -> tuple[list[float], list[float]]:
        """For each unit, the share in the name of the innermost definition around its middle; and the largest share in that
        name or in one of the names of the definitions that begin in the unit."""
        around, largest = [0.0] * len(units), [0.0] * len(units)
        known, asked, share = self._snapshot.unit_names.get(file), self._terms, self._share
        if known is None:
            known = {}
            self._snapshot.unit_names.put(file, known, int(self._snapshot.unit_counts[file]))
        for place, unit in enumerate(units):
            union, own, starting = known.get(unit) or known.setdefault(unit, self._find_terms(file, unit))
            if asked.isdisjoint(union):
                continue
            around[place] = best = share(own)
            limit = best if union is own else share(union)
            for terms in starting:
                if best == limit:
                    break
                best = max(best, share(terms))
            largest[place] = best
        return around, largest

    def _find_terms(self, file: int, unit: int) -> tuple[frozenset[str], frozenset[str], list[frozenset[str]]]:
        """The terms of the name around the middle of a unit and of each name that begins in it, after those of all."""
        around = self._snapshot.enclosing_definitions(file, _NAMING_KINDS)[unit]
        own = self._snapshot.definition_terms(around) if around >= 0 else frozenset[str]()
        starting = self._snapshot.starting_definitions(file, _NAMING_KINDS).get(unit, ())
        found = list(map(self._snapshot.definition_terms, starting))
        union = own.union(*found)
        return own if union == own else union, own, found

    def _share(self, terms: frozenset[str]) -> float:
        common = self._terms & terms
        known = self._known.get(common)
        if known is None:
            known = self._known[common] = fsum([worth for _, worth in {self._worth[term] for term in common}]) / self._total
        return known
