"""The order of sections: the best one of each note first, then the others.

    x = words + words of the whole note + pairs of words + title + meaning + links

Words count as a share of the largest possible score, so that scores mean the same in every vault. Cosines count relative to the
largest, and some section always has the largest: so a section without any word of the query needs a cosine of at least `ALONE`,
as files of code do. `rank_fused` orders by rank fusion or linear fusion instead, for `--fusion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lurcher.corpora.notes.fields import FieldScores, find_units, score_small_words
from lurcher.corpora.notes.links import Vault
from lurcher.corpora.notes.query import Pair, find_pairs, match_pairs
from lurcher.lanes import order_units, top_files
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import Context, Ranking, UnorderedTail, collect_lane_whys, linear
from lurcher.ranking.default import find_best_by_file
from lurcher.ranking.fusion import fuse_ranks
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import split
from lurcher.terms import words as words_of
from lurcher.terms.vocabulary import STOP_WORDS, stem
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
