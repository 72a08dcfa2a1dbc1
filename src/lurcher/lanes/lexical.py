"""BM25F: BM25 over the weighted fields of units, sections of notes, commits or hunks.

score = Σ over groups  w · idf · tf·(k1 + 1) / (tf + k1·norm), with tf weighted over fields
(Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009).

Code has one norm, 1 − b + b·len/avg with len weighted over fields. Notes and commits have a `b` for each field (`FieldSum`):
its counts are divided by its own norm, and what is added up then needs no other.
"""

from __future__ import annotations

from functools import cached_property
from math import log

from lurcher.config.schema import LexicalSettings
from lurcher.lanes import FileScores, Request, best_units_by_file, count_above_and_equal, rank_of_unit
from lurcher.query import REPORT, Group
from lurcher.runtime.kernel import native, np
from lurcher.runtime.stdlib import TypeVar
from lurcher.storage.segment import UNIT_FIELDS
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import PostingSum
from lurcher.types import LaneWhy, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    PostingSource = Callable[[str, str], tuple[NDArray[np.int64], NDArray[Any]]]
    """Field and term → owners, ascending, and counts."""

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


class WordScores(Record):
    """What one word of a query, with its forms, adds to the scores of those that have it."""

    __slots__ = ("word", "owners", "amounts", "rarity")

    def __init__(self, word: str, owners: NDArray[np.int64], amounts: NDArray[np.float64], rarity: float = 0.0) -> None:
        self.word = word
        self.owners = owners
        """Ascending."""
        self.amounts, self.rarity = amounts, rarity

    def of(self, owner: int) -> float:
        position = int(self.owners.searchsorted(owner))
        found = position < len(self.owners) and self.owners[position] == owner
        return float(self.amounts[position]) if found else 0.0


def terms_of(shares: Iterable[WordScores], owner: int) -> dict[str, float]:
    """What each word adds to a score, largest first."""
    found = [(-amount, share.word) for share in shares if (amount := share.of(owner))]
    return {word: -amount for amount, word in sorted(found)}


class LexicalScores:
    def __init__(
        self, snapshot: Snapshot, scores: NDArray[np.float64], shares: tuple[WordScores, ...], idf: dict[str, float],
    ) -> None:  # fmt: skip
        self.snapshot = snapshot
        self.scores = scores
        """One per unit, zero where nothing matched."""
        self.shares, self.idf = shares, idf
        self._counted: dict[int, tuple[int, int]] = {}

    @cached_property
    def files(self) -> FileScores:
        """The same scores by file."""
        return best_units_by_file(self.snapshot, self.scores)

    def terms_of(self, unit: int) -> dict[str, float]:
        return terms_of(self.shares, unit)

    def prefetch(self, units: Sequence[int]) -> None:
        """Compute the ranks of several units in one pass."""
        scored = [unit for unit in units if self.scores[unit] > 0]
        values = [float(self.scores[unit]) for unit in scored]
        self._counted.update(zip(scored, count_above_and_equal(self.scores, values), strict=True))

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self.snapshot, self.scores, unit, self._counted.get(unit))
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
    shares = []
    idfs = {}
    for group, idf, units, tf in keep_best(found, keep):
        shares.append(_add_group(scores, units, tf, norm, group, group.weight * idf * (k1 + 1)))
        idfs[group.word] = idf
    return LexicalScores(snapshot, scores, tuple(shares), idfs)


Found = TypeVar("Found", bound="tuple[Any, ...]")


def keep_best(found: list[Found], keep: int | None) -> list[Found]:
    """At most `keep` groups, given with their idf first: the best by weight · idf, in their order."""
    if keep is None or len(found) <= keep:
        return found
    best = sorted(range(len(found)), key=lambda i: (-found[i][0].weight * found[i][1], found[i][0].word))[:keep]
    return [found[i] for i in sorted(best)]


def _add_group(
    scores: NDArray[np.float64], units: NDArray[np.int64], tf: NDArray[np.float64], norm: NDArray[np.float64], group: Group,
    times: float,
) -> WordScores:  # fmt: skip
    """Add a group's part to the scores of the units that have it, and return that part."""
    kernel = native()
    if kernel is not None:
        return WordScores(group.word, units, np.frombuffer(kernel.bm25(units, tf, norm, times, scores)))
    amounts = times * tf / (tf + norm[units])
    scores[units] += amounts
    return WordScores(group.word, units, amounts)


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
    return (compute_idf(total, own) + compute_idf(total, together)) / 2 if own else compute_idf(total, together)


def compute_idf(total: int, having: int) -> float:
    return log(1 + (total - having + 0.5) / (having + 0.5))


class FieldSum:
    """Scores by fields that each have a norm of their own.

    tf' = Σ over fields  w · tf / (1 − b + b · len/avg),   score = Σ over words  q · idf · tf'/(tf' + k1)
    """

    def __init__(
        self, total: int, k1: float, fields: Sequence[tuple[str, float, NDArray[np.float64]]], postings: PostingSource
    ) -> None:
        """`total` is the number of owners; a field has a name, a weight, and what to multiply its counts with, by owner."""
        import numpy as np

        self._k1, self._fields, self._postings = k1, fields, postings
        self.scores = np.zeros(total)
        self._tf = np.zeros(total)  # reused for each word, and zero between them
        self.shares: list[WordScores] = []

    def add(self, term: str, worth: float) -> None:
        """Count a term of the current word, `worth` as much as the word itself."""
        tf = self._tf
        for field, weight, norms in self._fields:
            owners, counts = self._postings(field, term)
            if len(owners):
                tf[owners] += worth * weight * counts * norms[owners]

    def count(self) -> int:
        """How many owners have the current word, as far as it was added."""
        import numpy as np

        return int(np.count_nonzero(self._tf))

    def finish_word(self, word: str, rarity: float) -> None:
        """Add the current word to the scores; `rarity` is the most that it can add."""
        import numpy as np

        owners = np.flatnonzero(self._tf)
        here = self._tf[owners]
        amounts = rarity * here / (here + self._k1)
        self.scores[owners] += amounts
        self.shares.append(WordScores(word, owners, amounts, rarity))
        self._tf[owners] = 0


def field_norms(lengths: NDArray[np.float64], mean: float, b: float) -> NDArray[np.float64]:
    """What the counts of a field are multiplied with, by the length of the field."""
    norms: NDArray[np.float64] = 1 / (1 - b + b * lengths / (mean or 1.0))
    return norms


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
            units.add(*spread_to_units(snapshot, owners, amounts), 1.0)
        known = units.sparse(snapshot.unit_total)
        snapshot.weighted.put(key, known, len(known[0]))
    return known


def spread_to_units(
    snapshot: Snapshot, files: NDArray[np.int64], amounts: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The units of given files, each with its file's amount."""
    count = snapshot.file_column("units")[files].astype(np.int64)
    total = int(count.sum())
    if total > snapshot.unit_total:
        raise snapshot.segments[0].container.corrupt("its files share units")
    units = np.repeat(snapshot.first_unit[files] - (np.cumsum(count) - count), count) + np.arange(total)
    return units, np.repeat(amounts, count)
