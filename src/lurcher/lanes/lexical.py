"""BM25 over the fields of a unit: code, comments, the names it defines, its file's name and folders.

score(u) = Σ over groups  w · idf · tf·(k1 + 1) / (tf + k1·(1 − b + b·len/avg)), with tf and len weighted over fields
(Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009).
"""

from __future__ import annotations

from math import log

from lurcher.config.schema import LexicalSettings
from lurcher.lanes.base import Request
from lurcher.query.plan import REPORT, Group
from lurcher.runtime.kernel import native, np
from lurcher.runtime.light import TYPE_CHECKING, cached_property, dataclass
from lurcher.storage.numbering import FileScores, best_units_by_file, count_above_and_equal, rank_of_unit
from lurcher.storage.postings import PostingSum
from lurcher.storage.segment import UNIT_FIELDS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import LaneWhy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


FIELD_WEIGHTS = {"body": 1.0, "comments": 1.0, "symbols": 1.0, "name": 2.0, "folder": 1.0, "stem": 2.0}
"""Weight of a term in code, in comments, in the names that a unit defines (in addition to the code), and in the name and last
three folders of its file. The published pipeline enriches each chunk with the name twice and the folders once; other weights
for the fields gained nothing over that."""
VARIANT = 0.3
"""Weight of a word's other forms (same stem, known abbreviation): with a harmonic power of 1.2, questions of the code set went
from 0.8582 to 0.8642."""
REPORT_B = 0.9
"""`b` for long reports; chosen on the development issues."""
REPORT_TERMS = 60
"""Terms of a long report that are kept, by weight times rarity: keeping 20 was worse on the development issues."""


@dataclass(frozen=True, slots=True)
class GroupScores:
    """What one term group adds to the scores of the units that have it."""

    word: str
    units: NDArray[np.int64]
    amounts: NDArray[np.float64]

    def of(self, unit: int) -> float:
        position = int(self.units.searchsorted(unit))
        found = position < len(self.units) and self.units[position] == unit
        return float(self.amounts[position]) if found else 0.0


@dataclass(frozen=True)
class LexicalScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit, zero where nothing matched."""
    shares: tuple[GroupScores, ...]
    idf: dict[str, float]

    @cached_property
    def files(self) -> FileScores:
        """The same scores by file."""
        return best_units_by_file(self.snapshot, self.scores)

    def terms_of(self, unit: int) -> dict[str, float]:
        """What each word adds to the score of a unit, largest first."""
        found = [(-amount, share.word) for share in self.shares if (amount := share.of(unit))]
        return {word: -amount for amount, word in sorted(found)}

    @cached_property
    def _standings(self) -> dict[int, tuple[int, int]]:
        return {}

    def prefetch(self, units: Sequence[int]) -> None:
        """Compute the ranks of several units in one pass."""
        scored = [unit for unit in units if self.scores[unit] > 0]
        values = [float(self.scores[unit]) for unit in scored]
        self._standings.update(zip(scored, count_above_and_equal(self.scores, values), strict=True))

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self.snapshot, self.scores, unit, self._standings.get(unit))
        return LaneWhy(rank, float(self.scores[unit]), self.terms_of(unit)) if rank else None


def run(request: Request) -> LexicalScores:
    """Score the plan's groups; a report or a whole unit has many, of which only the best are kept."""
    long = request.plan.intent == REPORT or request.plan.like is not None
    return score(
        request.snapshot, request.plan.groups, request.settings.lexical, b=REPORT_B if long else None,
        keep=REPORT_TERMS if long else None,
    )  # fmt: skip


def make_empty_scores(snapshot: Snapshot) -> LexicalScores:
    """Scores of zero, for where the lane did not run."""
    return LexicalScores(snapshot, np.zeros(snapshot.unit_total), (), {})


def score(
    snapshot: Snapshot,
    groups: tuple[Group, ...],
    settings: LexicalSettings,
    *,
    b: float | None = None,
    keep: int | None = None,
    weights: Mapping[str, float] = FIELD_WEIGHTS,
) -> LexicalScores:
    """Score every unit. `keep` limits the groups to the best by weight · idf."""
    b = settings.b if b is None else b
    k1 = settings.k1
    total = snapshot.unit_total
    scores = np.zeros(total)
    norm = _load_norms(snapshot, weights, k1, b)
    found = []
    for group in groups:
        units, tf, each = _sum_frequencies(snapshot, group, weights)
        own, together = snapshot.unit_frequencies((group.word, *group.forms), each, len(units))
        if together:
            found.append((group, compute_group_idf(snapshot.unit_count, own, together), units, tf))
    if keep is not None and len(found) > keep:
        best = sorted(range(len(found)), key=lambda i: (-found[i][0].weight * found[i][1], found[i][0].word))[:keep]
        found = [found[i] for i in sorted(best)]
    shares = []
    idfs = {}
    for group, idf, units, tf in found:
        shares.append(_add_group(scores, units, tf, norm, group, group.weight * idf * (k1 + 1)))
        idfs[group.word] = idf
    return LexicalScores(snapshot, scores, tuple(shares), idfs)


def _add_group(
    scores: NDArray[np.float64], units: NDArray[np.int64], tf: NDArray[np.float64], norm: NDArray[np.float64], group: Group,
    times: float,
) -> GroupScores:  # fmt: skip
    """Add a group's part to the scores of the units that have it, and return that part."""
    kernel = native()
    if kernel is not None:
        return GroupScores(group.word, units, np.frombuffer(kernel.bm25(units, tf, norm, times, scores)))
    amounts = times * tf / (tf + norm[units])
    scores[units] += amounts
    return GroupScores(group.word, units, amounts)


def _load_norms(snapshot: Snapshot, weights: Mapping[str, float], k1: float, b: float) -> NDArray[np.float64]:
    """The length norm of each unit, computed once per snapshot: it takes a pass over the whole index."""
    key = (*weights.items(), ("k1", k1), ("b", b))
    known = snapshot.relative_lengths.get(key)
    if known is None:
        known = snapshot.relative_lengths[key] = snapshot.norms(weights, k1, b)
    return known


def compute_group_idf(total: int, own: int, together: int) -> float:
    """The IDF of a group: the mean of the word's own and of all its forms together.

    The IDF of all forms together would make a rare word common because of a common form; the word alone would make `redirects`
    rare where only `redirect` occurs.
    """

    def idf(df: int) -> float:
        return log(1 + (total - df + 0.5) / (df + 0.5))

    return (idf(own) + idf(together)) / 2 if own else idf(together)


def _sum_frequencies(
    snapshot: Snapshot, group: Group, weights: Mapping[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[int]]:
    """The units that have the group, with its weighted frequency; and the number of units with the word and with each form."""
    total = PostingSum()
    own = _weigh_term(snapshot, group.word, weights)
    total.add(*own, 1.0)
    each = [len(own[0])]
    for form in group.forms:
        found = _weigh_term(snapshot, form, weights)
        total.add(*found, VARIANT)
        each.append(len(found[0]))
    if not any(each[1:]):
        return *own, each
    return *total.sparse(snapshot.unit_total), each


def _weigh_term(
    snapshot: Snapshot, term: str, weights: Mapping[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The units with a term in their text, or in the name or folders of their file, each with the weighted count."""
    key = term, tuple(weights.values())
    known = snapshot.weighted.get(key)
    if known is None:
        units, files = PostingSum(), PostingSum()
        if snapshot.knows(term):
            fields = [field for field in weights.items() if field[1]]
            snapshot.add_postings(units, [field for field in fields if field[0] in UNIT_FIELDS], term)
            snapshot.add_postings(files, [field for field in fields if field[0] not in UNIT_FIELDS], term)
        owners, amounts = files.sparse(snapshot.file_total)
        if len(owners):
            units.add(*_spread_to_units(snapshot, owners, amounts), 1.0)
        known = units.sparse(snapshot.unit_total)
        snapshot.weighted.put(key, known, len(known[0]))
    return known


def _spread_to_units(
    snapshot: Snapshot, files: NDArray[np.int64], amounts: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The units of given files, each with its file's amount."""
    count = snapshot.file_column("units")[files].astype(np.int64)
    total = int(count.sum())
    if total > snapshot.unit_total:
        raise snapshot.segments[0].container.corrupt("its files share units")
    units = np.repeat(snapshot.first_unit[files] - (np.cumsum(count) - count), count) + np.arange(total)
    return units, np.repeat(amounts, count)
