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

from math import exp, log

from lurcher.query import LANGUAGE, REPORT, SYMBOL
from lurcher.ranking import Context
from lurcher.ranking.evidence import get_inline_factor
from lurcher.runtime.kernel import native, np
from lurcher.sources.roles import INLINE_TESTS
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS, mark_kinds
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray


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
_MOST_NATIVE = 64
"""Words of a question that the kernel compares; only a very long question has more."""


def order_places(
    context: Context, files: list[int], values: list[float], leads: list[int]
) -> tuple[list[int], list[float]]:
    """The units of `files`, which have the scores `values`, in order of S, each with S. `leads` have a place in any case."""
    weights = {REPORT: REPORTED, SYMBOL: NAME}.get(context.plan.intent, QUESTION)
    ranks = context.snapshot.path_rank[files].tolist()
    rows = _value_units(context, weights, files, leads)
    best = min([row[0][0] for row in rows if row], default=0.0)
    found, further = [], weights.further
    for position, value, row in zip(ranks, values, rows, strict=True):
        base = weights.best * best + (1 - weights.best) * row[0][0]
        for v, unit in row:
            found.append((-value * exp(base - v), position, unit))
            value *= further
    found.sort()
    return [unit for _, _, unit in found], [-s for s, _, _ in found]


def _value_units(context: Context, weights: Weights, files: list[int], leads: list[int]) -> list[list[tuple[float, int]]]:
    """-log v and number of each unit that is placed, in order, by file."""
    scores, snapshot = context.lexical.scores, context.snapshot
    highest = float(scores.max(initial=0.0)) or 1.0
    least = LEAST_SHARE * highest
    defining = {match.file for match in context.symbols} if context.plan.intent == SYMBOL else set()
    compared, cosines = context.cosines if weights.cosine and context.cosines is not None else (None, None)
    firsts = snapshot.first_unit[files]
    runs = list(zip(firsts.tolist(), snapshot.unit_counts[files].tolist(), strict=True))
    placed = [
        _include(lead - first, chosen, shares, scores, first) if 0 <= lead - first < count else (chosen, shares)
        for (first, count), lead, (chosen, shares) in zip(runs, leads, _find_best(scores, runs), strict=True)
    ]
    named = _Names(context).shares(files, [chosen for chosen, _ in placed])
    begins = compared.searchsorted(firsts).tolist() if compared is not None else [0] * len(files)
    roles = snapshot.file_roles[files].tolist()
    bm25, cosine, enclosing = weights.bm25, weights.cosine, weights.enclosing
    rows = []
    for file, lead, (first, count), (chosen, shares), (around, largest), begin, role in zip(
        files, leads, runs, placed, named, begins, roles, strict=True
    ):
        values = [bm25 * log((share if share > least else least) / highest) for share in shares]
        if compared is not None and cosines is not None and begin < len(compared) and compared[begin] == first:
            near = cosines[begin : begin + count].tolist()
            values = [v + cosine * near[i] for v, i in zip(values, chosen, strict=True)]
        if role & INLINE_TESTS:
            factors = [max(get_inline_factor(context, first + i), _LEAST_FACTOR) for i in chosen]
            values = [v + log(factor) for v, factor in zip(values, factors, strict=True)]
        row = [(-v - enclosing * share, first + i) for v, share, i in zip(values, around, chosen, strict=True)]
        if file in defining:  # its lead defines the queried name, and comes first
            top = min(row)[0]
            row = [(top - 0.001 if unit == lead else v, unit) for v, unit in row]
        row.sort()
        if context.plan.intent == LANGUAGE and largest != around:
            unit = min([(-v - enclosing * share, first + i) for v, share, i in zip(values, largest, chosen, strict=True)])[1]
            if unit != row[0][1]:
                row = [(row[0][0], unit)] + [entry for entry in row if entry[1] != unit]
        rows.append(row)
    return rows


Chosen = tuple[list[int], list[float]]
"""Units, numbered within their file, and their scores."""


def _find_best(scores: NDArray[np.float64], runs: list[tuple[int, int]]) -> list[Chosen]:
    """The units with a score in each file, given by its first unit and their number: the best, at most `UNITS`, best first."""
    kernel = native()
    if kernel is not None:
        found: list[Chosen] = kernel.best_of_runs(scores, runs, UNITS)
        return found
    return [_find_best_of(scores[first : first + count]) for first, count in runs]


def _find_best_of(scores: NDArray[np.float64]) -> Chosen:
    scored = np.flatnonzero(scores > 0)
    best = sorted(zip((-scores[scored]).tolist(), scored.tolist(), strict=True))[:UNITS]
    return [unit for _, unit in best], [-share for share, _ in best]


def _include(unit: int, chosen: list[int], shares: list[float], scores: NDArray[np.float64], first: int) -> Chosen:
    """The chosen units with another one, unless it is one of them; if there are too many, the last leaves."""
    if unit in chosen:
        return chosen, shares
    return [*chosen[: UNITS - 1], unit], [*shares[: UNITS - 1], float(scores[first + unit])]


class _Names:
    """Compares the question with the names of definitions: the share of its words, by weight and rarity, in a name.

    Units are numbered within their file. A set of words is a number with a bit for each.
    """

    def __init__(self, context: Context) -> None:
        self._snapshot = context.snapshot
        self._bits: dict[str, int] = {}
        """Term → the place of its word in `_worths`."""
        self._worths: list[float] = []
        self._total = 0.0
        for group in context.plan.groups:
            worth = group.weight * context.lexical.idf.get(group.word, 0.0)
            self._total += worth
            if worth:
                for term in (group.word, *group.forms):
                    self._bits.setdefault(term, len(self._worths))
                self._worths.append(worth)
        self._known = {0: 0.0}

    def shares(self, files: list[int], units: list[list[int]]) -> list[tuple[list[float], list[float]]]:
        """For the units of each file, the share in the name of the innermost definition around its middle; and the largest
        share in that name or in one of the names of the definitions that begin in the unit."""
        if not self._worths:
            return [([0.0] * len(chosen), [0.0] * len(chosen)) for chosen in units]
        found = self._compare_natively(files, units) if len(self._worths) <= _MOST_NATIVE else [None] * len(files)
        return [
            self._compare(file, chosen) if shares is None else shares
            for file, chosen, shares in zip(files, units, found, strict=True)
        ]

    def _compare_natively(self, files: list[int], units: list[list[int]]) -> list[tuple[list[float], list[float]] | None]:
        """None for files whose names the kernel cannot read: those beyond ASCII."""
        kernel = native()
        columns = self._snapshot.naming_columns() if kernel is not None else None
        if kernel is None or columns is None:
            return [None for _ in files]
        found: list[tuple[list[float], list[float]] | None] = kernel.name_shares(
            list(self._bits), bytes(self._bits.values()), self._worths, self._total, *columns, mark_kinds(_NAMING_KINDS),
            list(zip(map(self._snapshot.naming_rows, files), units, strict=True)),
        )  # fmt: skip
        return found

    def _compare(self, file: int, units: list[int]) -> tuple[list[float], list[float]]:
        enclosing = self._snapshot.enclosing_definitions(file, _NAMING_KINDS)
        starting = self._snapshot.starting_definitions(file, _NAMING_KINDS)
        around = [self._share(enclosing[unit]) if enclosing[unit] >= 0 else 0.0 for unit in units]
        largest = [max([own, *map(self._share, starting.get(unit, ()))]) for own, unit in zip(around, units, strict=True)]
        return around, largest

    def _share(self, definition: int) -> float:
        words = 0
        for term in self._snapshot.definition_terms(definition) & self._bits.keys():
            words |= 1 << self._bits[term]
        known = self._known.get(words)
        if known is None:
            known = 0.0
            for place, worth in enumerate(self._worths):
                known += worth if words >> place & 1 else 0.0
            known = self._known[words] = known / self._total
        return known
