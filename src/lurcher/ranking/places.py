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
from lurcher.ranking.evidence import get_inline_factor, get_test_factor
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
    found = _order_natively(context, weights, files, values, leads)
    return _order(context, weights, files, values, leads) if found is None else found


def _order(
    context: Context, weights: Weights, files: list[int], values: list[float], leads: list[int]
) -> tuple[list[int], list[float]]:
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


def _order_natively(
    context: Context, weights: Weights, files: list[int], values: list[float], leads: list[int]
) -> tuple[list[int], list[float]] | None:
    """What `_order` finds, from the kernel; None where that is not so easy, as with names beyond ASCII."""
    kernel, snapshot, names = native(), context.snapshot, _Names(context)
    columns = snapshot.naming_columns() if kernel is not None and files else None
    if kernel is None or columns is None or len(names.worths) > _MOST_NATIVE:
        return None
    compared, cosines = context.cosines if weights.cosine and context.cosines is not None else (None, None)
    defining = _find_defining(context)
    inline = [bool(role & INLINE_TESTS) for role in snapshot.file_roles[files].tolist()]
    found: tuple[list[int], list[float]] | None = kernel.order_places(
        (list(names.bits), bytes(names.bits.values()), names.worths, names.total), columns, mark_kinds(_NAMING_KINDS),
        context.lexical.scores, compared, cosines, snapshot.unit_column("roles") if any(inline) else None,
        log(max(get_test_factor(context), _LEAST_FACTOR)),
        (weights.bm25, weights.cosine, weights.enclosing, weights.best, weights.further, LEAST_SHARE), UNITS,
        context.plan.intent == LANGUAGE,
        list(zip(
            map(snapshot.naming_rows, files), snapshot.first_unit[files].tolist(), snapshot.unit_counts[files].tolist(), leads,
            [file in defining for file in files], inline, snapshot.path_rank[files].tolist(), values, strict=True,
        )),
    )  # fmt: skip
    return found


def _find_defining(context: Context) -> set[int]:
    """The files that define the queried name."""
    return {match.file for match in context.symbols} if context.plan.intent == SYMBOL else set()


def _value_units(context: Context, weights: Weights, files: list[int], leads: list[int]) -> list[list[tuple[float, int]]]:
    """-log v and number of each unit that is placed, in order, by file."""
    scores, snapshot = context.lexical.scores, context.snapshot
    highest = float(scores.max(initial=0.0)) or 1.0
    least = LEAST_SHARE * highest
    defining = _find_defining(context)
    compared, cosines = context.cosines if weights.cosine and context.cosines is not None else (None, None)
    firsts = snapshot.first_unit[files]
    runs = list(zip(firsts.tolist(), snapshot.unit_counts[files].tolist(), strict=True))
    best = [_find_best(scores[first : first + count]) for first, count in runs]
    placed = [
        _include(lead - first, chosen, shares, scores, first) if 0 <= lead - first < count else (chosen, shares)
        for (first, count), lead, (chosen, shares) in zip(runs, leads, best, strict=True)
    ]
    names = _Names(context)
    named = [names.shares(file, chosen) for file, (chosen, _) in zip(files, placed, strict=True)]
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


def _find_best(scores: NDArray[np.float64]) -> Chosen:
    """The units with a score: the best, at most `UNITS`, best first."""
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
        self.bits: dict[str, int] = {}
        """Term → the place of its word in `worths`."""
        self.worths: list[float] = []
        self.total = 0.0
        for group in context.plan.groups:
            worth = group.weight * context.lexical.idf.get(group.word, 0.0)
            self.total += worth
            if worth:
                for term in (group.word, *group.forms):
                    self.bits.setdefault(term, len(self.worths))
                self.worths.append(worth)
        self._known = {0: 0.0}

    def shares(self, file: int, units: list[int]) -> tuple[list[float], list[float]]:
        """For some units of a file, the share in the name of the innermost definition around the middle of each; and the
        largest share in that name or in one of the names of the definitions that begin in the unit."""
        if not self.worths:
            return [0.0] * len(units), [0.0] * len(units)
        enclosing = self._snapshot.enclosing_definitions(file, _NAMING_KINDS)
        starting = self._snapshot.starting_definitions(file, _NAMING_KINDS)
        around = [self._share(enclosing[unit]) if enclosing[unit] >= 0 else 0.0 for unit in units]
        largest = [max([own, *map(self._share, starting.get(unit, ()))]) for own, unit in zip(around, units, strict=True)]
        return around, largest

    def _share(self, definition: int) -> float:
        words = 0
        for term in self._snapshot.definition_terms(definition) & self.bits.keys():
            words |= 1 << self.bits[term]
        known = self._known.get(words)
        if known is None:
            known = 0.0
            for place, worth in enumerate(self.worths):
                known += worth if words >> place & 1 else 0.0
            known = self._known[words] = known / self.total
        return known
