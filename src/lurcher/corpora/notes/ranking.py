"""The order of sections: the best one of each note first, then the others.

    x = words + words of the whole note + pairs of words + title + meaning + links

Words are scored by BM25F over the fields of sections, with statistics of notes only and the IDF to the power of `RARITY`, as a
share of the largest possible score, so that scores mean the same in every vault. Cosines count relative to the largest, and
some section always has the largest: so a section without any word of the query needs a cosine of at least `ALONE`, as files of
code do. `rank_fused` orders by rank fusion or linear fusion instead, for `--fusion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.corpora.notes.links import Vault
from lurcher.corpora.notes.query import Pair, find_pairs, match_pairs
from lurcher.lanes import order_units, rank_of_unit, top_files
from lurcher.lanes.dense import DenseCosines
from lurcher.lanes.lexical import FieldSum, WordScores, compute_group_idf, compute_idf, field_norms, spread_to_units, terms_of
from lurcher.query import Group
from lurcher.ranking import Context, Ranking, UnorderedTail, collect_lane_whys, linear
from lurcher.ranking.default import find_best_by_file
from lurcher.ranking.linear import fuse_ranks
from lurcher.storage.segment import UNIT_FAMILIES
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import split
from lurcher.terms import words as words_of
from lurcher.terms.vocabulary import STOP_WORDS, stem
from lurcher.types import LaneWhy, StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Chosen together with the weights of the ranking, on the notes of five repositories that are not in the evaluation set.
K1 = 1.5
"""How fast repeated terms saturate."""
FIELDS = (("body", 1.0, 0.5), ("above", 2.0, 0.25), ("comments", 0.1, 0.75), ("name", 1.0, 0.25))
"""(field, weight, b): text; title, headings, tags and other names; comments, which readers do not see; the file's name. Folders
count nothing."""
NAME = 1.0
"""Weight of terms in the file's name, for the whole note."""
RARITY = 0.8
"""The power of a word's IDF: how much more rare words count."""
VARIANT = 0.3
"""Weight of a word's other forms (same stem, known abbreviation)."""
B_WHOLE = 0.6
"""How much long notes are penalised as a whole."""


@dataclass(frozen=True, slots=True)
class FieldScores:
    snapshot: Snapshot
    scores: NDArray[np.float64]
    """One per unit; 0 where nothing matched, and for units of other files than notes."""
    whole: NDArray[np.float64]
    """One per file: the same over whole notes, which helps where a section does not name its subject."""
    most: float
    """The largest possible score of a note, by which `whole` was divided."""
    shares: tuple[WordScores, ...]

    def why(self, unit: int) -> LaneWhy | None:
        rank = rank_of_unit(self.snapshot, self.scores, unit)
        return LaneWhy(rank, float(self.scores[unit]), terms_of(self.shares, unit)) if rank else None


def score_sections(snapshot: Snapshot, units: NDArray[np.bool_], groups: Sequence[Group]) -> FieldScores:
    """Score the units that are sections of notes."""
    import numpy as np

    page = _TermStatistics(snapshot, units)
    words, whole = FieldSum(snapshot.unit_total, K1, page.fields, page.postings), np.zeros(snapshot.file_total)
    most, most_whole = 0.0, 0.0
    for group in groups:
        alone, together = 0, np.zeros(snapshot.file_total)
        for form in (group.word, *group.forms):
            if snapshot.knows(form):
                worth = 1.0 if form == group.word else VARIANT
                words.add(form, worth)
                page.add_to_notes(form, worth, together)
            if form == group.word and group.forms:
                alone = words.count()
        rarity = group.weight * compute_group_idf(page.sections, alone, words.count()) ** RARITY
        most += rarity
        common, amounts = page.of_notes(together)
        most_whole += group.weight * common
        whole += group.weight * common * amounts
        if words.count():
            words.finish_word(group.word, rarity)
    scores, shares = words.scores, words.shares
    if most:
        scores /= most
        shares = [WordScores(share.word, share.owners, share.amounts / most, share.rarity) for share in shares]
    return FieldScores(snapshot, scores, whole / (most_whole or 1.0), most_whole, tuple(shares))


def score_small_words(
    snapshot: Snapshot, units: NDArray[np.bool_], terms: Iterable[str], most: float
) -> NDArray[np.float64]:
    """One per file: the score of stop words, as a share of `most`.

    They favour notes in the language of the query. Where all notes are in one language they are common and add next to nothing.
    """
    import numpy as np

    page = _TermStatistics(snapshot, units)
    found = np.zeros(snapshot.file_total)
    for term in terms:
        if snapshot.knows(term):
            rarity, amounts = page.of_notes(page.in_files(term))
            found += rarity * amounts
    return found / (most or 1.0)


class _TermStatistics:
    """Term counts in the sections and notes of a snapshot, normalised by length."""

    def __init__(self, snapshot: Snapshot, units: NDArray[np.bool_]) -> None:
        import numpy as np

        self._snapshot = snapshot
        self.sections = int(np.count_nonzero(units))
        self._units = None if self.sections == len(units) else units
        """None where every unit is a section of a note."""
        self.fields = [(field, weight, self._norm(field, b, units)) for field, weight, b in FIELDS]
        self._wide, self._notes = self._widths(units)

    def postings(self, field: str, term: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The sections that have a term in a field, or in a field of their file, with counts."""
        owners, counts = self._snapshot.postings(field, term)
        if len(owners) and field not in UNIT_FAMILIES:
            owners, counts = spread_to_units(self._snapshot, owners, counts)
        return self._keep_allowed(owners, counts)

    def add_to_notes(self, term: str, share: float, together: NDArray[np.float64]) -> None:
        """Add the counts of a term in whole notes, times `share`."""
        together += share * self.in_files(term)
        together[self._snapshot.postings("name", term)[0]] += share * NAME

    def in_files(self, term: str) -> NDArray[np.float64]:
        import numpy as np

        owners, counts = self._keep_allowed(*self._snapshot.postings("body", term))
        return np.bincount(self._snapshot.unit_file[owners], counts, self._snapshot.file_total).astype(np.float64)

    def of_notes(self, together: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The IDF of a word among notes, and the saturated count in each note, from 0 to 1."""
        import numpy as np

        if self._units is not None:
            together = np.where(self._wide < np.inf, together, 0.0)
        rarity = compute_idf(self._notes, int(np.count_nonzero(together))) ** RARITY
        return rarity, together / (together + self._wide)

    def _keep_allowed(self, owners: NDArray[np.int64], counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if self._units is None:
            return owners, counts
        kept = self._units[owners]
        return owners[kept], counts[kept]

    def _norm(self, field: str, b: float, units: NDArray[np.bool_]) -> NDArray[np.float64]:
        key = ((f"notes.{field}", b),)
        known = self._snapshot.relative_lengths.get(key)
        if known is None:
            lengths, _ = self._snapshot.lengths(field)
            mean = float(lengths[units].mean()) if units.any() else 0.0
            known = self._snapshot.relative_lengths[key] = field_norms(lengths, mean, b)
        return known

    def _widths(self, units: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
        """The saturation constant of each note by its length, infinite for other files; and the number of notes."""
        import numpy as np

        snapshot, b = self._snapshot, B_WHOLE
        key = (("notes whole", b), ("", K1))
        known = snapshot.relative_lengths.get(key)
        if known is None:
            notes = np.bincount(snapshot.unit_file, units, snapshot.file_total) > 0
            lengths = np.bincount(snapshot.unit_file, snapshot.lengths("body")[0], snapshot.file_total)
            mean = float(lengths[notes].mean()) if notes.any() else 0.0
            wide = K1 * (1 - b + b * lengths / (mean or 1.0)) + 1e-9
            known = snapshot.relative_lengths[key] = np.where(notes, wide, np.inf)
        return known, int(np.count_nonzero(known < np.inf))


def find_units(snapshot: Snapshot, files: NDArray[np.int64]) -> NDArray[np.int64]:
    """The units of some files, file by file."""
    import numpy as np

    first, width = snapshot.first_unit[files], snapshot.file_column("units")[files].astype(np.int64)
    before = np.cumsum(width) - width
    return np.repeat(first - before, width) + np.arange(int(width.sum()))


# Chosen together with the constants of `fields`, on the notes of five repositories that are not in the evaluation set.
WHOLE = 0.5
"""Weight of the words of the whole note."""
SMALL_WORDS = 0.5
"""Share of that for stop words in the whole note, which depend on its language."""
TITLE = 0.03
"""How much of its title the query explains."""
PAIRS = 0.25
"""Words next to each other in the query and anywhere in the note."""
PAIR = 0.03
"""The same, in the section itself."""
PAIRED_NOTES = 20
"""Notes whose text is searched for such pairs."""
CARD = 0.08
"""Cosine of the whole note."""
MEANING = 0.05
"""Cosine of the section; low, because the built-in model knows code better than prose."""
COMPARED_NOTES = 40
"""Notes whose sections are compared by cosine: so many by card, and so many by words."""
ALONE = 0.4
"""The least cosine of a section or note that is found without any word of the query; as for code."""
LINKS = 0.02
"""Weight of being linked with the best notes."""
_STEEPNESS = 4.0
_TITLED_NOTES = 60
"""Notes whose titles are compared with the query."""
_LENDING_NOTES, _LINKED_NOTES = 20, 60
"""The best notes, which lift their neighbours, and the notes whose links are read."""
_MAX_LINKS = 50
"""A note with more neighbours is an index of others, and lifts none of them."""


def rank(
    context: Context, vault: Vault, lexical: FieldScores, near: DenseCosines | None, allowed_units: NDArray[np.bool_]
) -> Ranking:
    """Rank the `allowed_units` by their BM25 scores (`lexical`) and cosines (`near`)."""
    import numpy as np

    snapshot = context.snapshot
    units_of = snapshot.unit_file
    words = np.where(allowed_units, lexical.scores, 0.0)
    best = find_best_by_file(snapshot, words)
    of_units: dict[str, NDArray[np.float64]] = {"words": words}
    of_files: dict[str, NDArray[np.float64]] = {"note": WHOLE * lexical.whole}
    if lexical.shares:
        of_files["small-words"] = WHOLE * SMALL_WORDS * _score_small_words(context, vault, lexical)
    of_files["title"] = TITLE * _score_titles(context, vault, best)
    means = words > 0
    if near is not None and near and (near.known or context.plan.mode == "dense"):
        of_files["card"], of_units["meaning"], means = _score_meaning(context, near, best, allowed_units)
    # A section without words of the query and too far in meaning does not answer, whatever the rest of its note says.
    answering = np.flatnonzero(allowed_units & ((words > 0) | means))
    x = np.zeros(snapshot.unit_total)
    for values in of_units.values():
        x[answering] += values[answering]
    for values in of_files.values():
        x[answering] += values[units_of[answering]]
    pairs = find_pairs(context.plan.text, context.plan.groups) if len(lexical.shares) > 1 else []
    if pairs:
        best = find_best_by_file(snapshot, x)
        of_files["pairs"], of_units["pair"] = _score_pairs(context, lexical, pairs, best, allowed_units)
        x[answering] += of_files["pairs"][units_of[answering]] + of_units["pair"][answering]
    of_files["links"] = LINKS * _score_links(snapshot, vault, find_best_by_file(snapshot, x))
    x[answering] += of_files["links"][units_of[answering]]
    scale = 1 + WHOLE + TITLE + MEANING + CARD + PAIRS + LINKS
    x /= scale
    top = answering[(x[answering] > 0) & (x[answering] == find_best_by_file(snapshot, x)[units_of[answering]])]
    leads = top[np.diff(units_of[top], prepend=-1) > 0]  # of equal sections of a note the first
    leads = leads[order_units(snapshot, leads, x[leads])]
    ceiling = float(x[leads[-1]]) if len(leads) else 0.0
    left = x > 0
    left[leads] = False

    def order_others() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        # Below every note's first section, in their own order.
        rest = np.flatnonzero(left)
        rest = rest[order_units(snapshot, rest, x[rest])]
        return rest, x[rest] * (ceiling / float(x[rest[0]]) if len(rest) and x[rest[0]] > ceiling else 1.0)

    def why(unit: int, score: float) -> Why:
        file = int(units_of[unit])
        parts = [(name, float(values[unit])) for name, values in of_units.items()]
        parts += [(name, float(values[file])) for name, values in of_files.items()]
        stages = [StageWhy(name, amount=amount / scale) for name, amount in parts if amount and x[unit] > 0]
        if abs(score - float(x[unit])) > 1e-12:
            stages.append(StageWhy("further", factor=score / float(x[unit]), note="not its note's first section"))
        return Why(collect_lane_whys(context, unit), float(x[unit]), tuple(stages))

    return Ranking(leads, x[leads], why, UnorderedTail(int(left.sum()), order_others))


def _score_titles(context: Context, vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of a note's title or alias that the query explains, for the best notes by words."""
    import numpy as np

    stems = {stem(group.word) for group in context.plan.groups}
    found = np.zeros(len(best))
    for file in top_files(context.snapshot, np.flatnonzero(best > 0), best[best > 0], _TITLED_NOTES).tolist():
        found[file] = max((len(terms & stems) / len(terms) for terms in vault.name_stems(file)), default=0.0)
    return found


def _score_small_words(context: Context, vault: Vault, lexical: FieldScores) -> NDArray[np.float64]:
    stop_words = {term for word in words_of(context.plan.text) for term in split(word)[:1] if term in STOP_WORDS}
    known = {group.word for group in context.plan.groups}
    sections = vault.notes[context.snapshot.unit_file]
    return score_small_words(context.snapshot, sections, sorted(stop_words - known), lexical.most)


def _score_meaning(
    context: Context, near: DenseCosines, best: NDArray[np.float64], allowed_units: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Scores by cosine of notes, and of the sections of the best notes by words and by card; and which sections are near enough
    to answer without any word of the query. In dense mode these are all sections that were compared."""
    import numpy as np

    snapshot = context.snapshot
    allowed = np.flatnonzero(context.allowed)
    cards = near.cards()[allowed]
    of_files, of_units = np.zeros(snapshot.file_total), np.zeros(snapshot.unit_total)
    means = np.full(snapshot.unit_total, context.plan.mode == "dense")
    of_files[allowed] = CARD * _scale_to_nearest(cards)
    chosen = np.union1d(
        top_files(snapshot, allowed, cards, COMPARED_NOTES), top_files(snapshot, allowed, best[allowed], COMPARED_NOTES)
    )
    if len(chosen):
        units, cosines = near.units(chosen)
        of_units[units] = MEANING * _scale_to_nearest(np.where(allowed_units[units], cosines, 0.0))
        if context.plan.mode != "dense":
            of_cards = np.zeros(snapshot.file_total)
            of_cards[allowed] = cards
            means[units] = np.maximum(cosines, of_cards[snapshot.unit_file[units]]) >= ALONE
    return of_files, of_units, means & (of_units > 0)


def _scale_to_nearest(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines relative to the largest, from 0 to 1."""
    import numpy as np

    return np.where(cosines > 0, np.maximum(0.0, 1 - _STEEPNESS * (cosines.max(initial=0.0) - cosines)), 0.0)


def _score_pairs(
    context: Context, lexical: FieldScores, pairs: Sequence[Pair], best: NDArray[np.float64], allowed_units: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of the best notes and of their sections for pairs of words."""
    import numpy as np

    snapshot = context.snapshot
    files = top_files(snapshot, np.flatnonzero(best > 0), best[best > 0], PAIRED_NOTES)
    units = find_units(snapshot, files)
    found = match_pairs(snapshot, units[allowed_units[units]], pairs, lexical.shares)
    return PAIRS * found.of_files(snapshot), PAIR * found.of_units(snapshot.unit_total)


def _score_links(snapshot: Snapshot, vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each note the score of the best one that it links to or is linked from."""
    import numpy as np

    found = np.zeros(len(best))
    files = top_files(snapshot, np.flatnonzero(best > 0), best[best > 0], _LINKED_NOTES)
    order = files[np.lexsort((snapshot.path_rank[files], -best[files]))].tolist()
    neighbours = vault.neighbours(order)
    for file in order[:_LENDING_NOTES]:
        others = neighbours.get(file, ())
        if len(others) <= _MAX_LINKS:
            for other in others:
                found[other] = max(found[other], float(best[file]))
    return found


def rank_fused(
    context: Context, how: str, words: NDArray[np.float64], near: DenseCosines | None, allowed_units: NDArray[np.bool_]
) -> Ranking:
    """`how` is rrf or linear; `words` is the BM25 score of each unit, `allowed_units` says which of them may answer."""
    import numpy as np

    if how == "linear":
        return linear.combine_scores(context, words, allowed_units)
    snapshot, settings = context.snapshot, context.settings.classic
    lists: list[tuple[float, list[int]]] = []
    # As everywhere, a section without any word of the query needs a large cosine, except in dense mode.
    alone = 0.0 if context.plan.mode == "dense" else ALONE
    close = None if near is None or not near else np.asarray(near.scan())
    for values in (words, close):
        if values is not None:
            units = np.flatnonzero((values > 0) & ((words > 0) | (values >= alone)) & allowed_units)
            best = units[order_units(snapshot, units, values[units])][: max(settings.candidates, 5 * context.limit)]
            lists.append((1.0, best.tolist()))
    fused = fuse_ranks(lists, settings.rrf_k)
    units = np.fromiter(fused, np.int64, len(fused))
    scores = np.fromiter(fused.values(), np.float64, len(fused))
    order = order_units(snapshot, units, scores)

    def why(unit: int, score: float) -> Why:
        return Why(collect_lane_whys(context, unit), score)

    return Ranking(units[order], scores[order], why)
