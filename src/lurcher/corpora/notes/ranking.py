"""The order of sections: best one of each note first.

    x = words + words of the whole note + pairs of words + title + meaning + links

Words are told as a share of what could be said, so that scores mean the same in every vault. Meaning is told as a share of
the nearest, which is always near to something: so a section without any word of the question has to be near enough by itself
(`ALONE`), as a file of code has to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lurcher.corpora.notes.fields import FieldScores, small_words, units_of_files
from lurcher.corpora.notes.link_graph import Vault
from lurcher.corpora.notes.query import Pair, look, pairs_in
from lurcher.lanes.dense import DenseCosines
from lurcher.ranking import linear
from lurcher.ranking.context import Context, Ranking, Unordered, lane_whys
from lurcher.ranking.default import file_best
from lurcher.ranking.fusion import fuse
from lurcher.storage.numbering import order_units, top_files
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import split
from lurcher.terms.split import words as words_of
from lurcher.terms.stem import stem
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Chosen together with the constants of `fields`, on the notes of five repositories that are not in the evaluation set.
WHOLE = 0.5
"""Weight of the words of the whole note."""
SMALL = 0.5
"""Share of that for words such as "the" in the whole note: they tell its language."""
TITLE = 0.03
"""How much of its title the query explains."""
PAIRS = 0.25
"""Words next to each other in the query and anywhere in the note."""
PAIR = 0.03
"""The same, in the section itself."""
PAIRED = 20
"""Notes whose text is searched for such pairs."""
CARD = 0.08
"""Cosine of the whole note in meaning."""
MEANING = 0.05
"""Cosine of the section: the built-in model knows code better than prose."""
COMPARED = 40
"""Notes whose sections are compared in meaning, by card and by words each."""
ALONE = 0.4
"""The least cosine of a section or note that is found without any word of the query; as for code."""
LINKS = 0.02
"""What the best notes lend to those that are linked with them."""
_STEEP = 4.0
_TITLED = 60
"""Notes whose titles are compared with the question."""
_LENDING, _LINKING = 20, 60
"""The best notes, which lend to their neighbours, and those whose links are read."""
_MOST_LINKS = 50
"""Neighbours beyond which a note is an index of others, and links say nothing."""


def rank(context: Context, vault: Vault, said: FieldScores, near: DenseCosines | None, may: NDArray[np.bool_]) -> Ranking:
    """`may` says which units may answer; `said` is about the words of the question, `near` about its meaning."""
    import numpy as np

    snapshot = context.snapshot
    units_of = snapshot.unit_file
    words = np.where(may, said.scores, 0.0)
    best = file_best(snapshot, words)
    of_units: dict[str, NDArray[np.float64]] = {"words": words}
    of_files: dict[str, NDArray[np.float64]] = {"note": WHOLE * said.whole}
    if said.shares:
        of_files["small-words"] = WHOLE * SMALL * _small_words(context, vault, said)
    of_files["title"] = TITLE * _titles(context, vault, best)
    means = words > 0
    if near is not None and near and (near.known or context.plan.mode == "dense"):
        of_files["card"], of_units["meaning"], means = _meaning(context, near, best, may)
    # A section that neither says nor means anything that was asked does not answer, whatever the rest of its note says.
    answering = np.flatnonzero(may & ((words > 0) | means))
    x = np.zeros(snapshot.unit_total)
    for values in of_units.values():
        x[answering] += values[answering]
    for values in of_files.values():
        x[answering] += values[units_of[answering]]
    pairs = pairs_in(context.plan.text, context.plan.groups) if len(said.shares) > 1 else []
    if pairs:
        of_files["pairs"], of_units["pair"] = _paired(context, said, pairs, file_best(snapshot, x), may)
        x[answering] += of_files["pairs"][units_of[answering]] + of_units["pair"][answering]
    of_files["links"] = LINKS * _linked(snapshot, vault, file_best(snapshot, x))
    x[answering] += of_files["links"][units_of[answering]]
    scale = 1 + WHOLE + TITLE + MEANING + CARD + PAIRS + LINKS
    x /= scale
    top = answering[(x[answering] > 0) & (x[answering] == file_best(snapshot, x)[units_of[answering]])]
    leads = top[np.diff(units_of[top], prepend=-1) > 0]  # of equal sections of a note the first
    leads = leads[order_units(snapshot, leads, x[leads])]
    ceiling = float(x[leads[-1]]) if len(leads) else 0.0
    left = x > 0
    left[leads] = False

    def further() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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
        return Why(lane_whys(context, unit), float(x[unit]), tuple(stages))

    return Ranking(leads, x[leads], why, Unordered(int(left.sum()), further))


def _titles(context: Context, vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of its title, or of another name, the question explains, for the best notes by words."""
    import numpy as np

    asked = {stem(group.word) for group in context.plan.groups}
    found = np.zeros(len(best))
    for file in top_files(context.snapshot, np.flatnonzero(best > 0), best[best > 0], _TITLED).tolist():
        found[file] = max((len(terms & asked) / len(terms) for terms in vault.name_stems(file)), default=0.0)
    return found


def _small_words(context: Context, vault: Vault, said: FieldScores) -> NDArray[np.float64]:
    asked = {term for word in words_of(context.plan.text) for term in split(word)[:1] if term in STOP_WORDS}
    known = {group.word for group in context.plan.groups}
    sections = vault.notes[context.snapshot.unit_file]
    return small_words(context.snapshot, sections, sorted(asked - known), said.most)


def _meaning(
    context: Context, near: DenseCosines, best: NDArray[np.float64], may: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Cosines of notes, and of the sections of those that have words of the question or are near to it as a whole; and which
    sections are near enough to answer without any word of it. Where meaning alone was asked for, those are all that are
    compared."""
    import numpy as np

    snapshot = context.snapshot
    allowed = np.flatnonzero(context.allowed)
    cards = near.cards()[allowed]
    of_files, of_units = np.zeros(snapshot.file_total), np.zeros(snapshot.unit_total)
    means = np.full(snapshot.unit_total, context.plan.mode == "dense")
    of_files[allowed] = CARD * _steep(cards)
    chosen = np.union1d(
        top_files(snapshot, allowed, cards, COMPARED), top_files(snapshot, allowed, best[allowed], COMPARED)
    )
    if len(chosen):
        units, cosines = near.units(chosen)
        of_units[units] = MEANING * _steep(np.where(may[units], cosines, 0.0))
        if context.plan.mode != "dense":
            of_cards = np.zeros(snapshot.file_total)
            of_cards[allowed] = cards
            means[units] = np.maximum(cosines, of_cards[snapshot.unit_file[units]]) >= ALONE
    return of_files, of_units, means & (of_units > 0)


def _steep(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near to the nearest, from 0 to 1."""
    import numpy as np

    return np.where(cosines > 0, np.maximum(0.0, 1 - _STEEP * (cosines.max(initial=0.0) - cosines)), 0.0)


def _paired(
    context: Context, said: FieldScores, pairs: Sequence[Pair], best: NDArray[np.float64], may: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What pairs of words give to the best notes, and to their sections."""
    import numpy as np

    snapshot = context.snapshot
    files = top_files(snapshot, np.flatnonzero(best > 0), best[best > 0], PAIRED)
    units = units_of_files(snapshot, files)
    found = look(snapshot, units[may[units]], pairs, said.shares)
    return PAIRS * found.of_files(snapshot), PAIR * found.of_units(snapshot.unit_total)


def _linked(snapshot: Snapshot, vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the best notes lend to those among the next that they link to or are linked from."""
    import numpy as np

    found = np.zeros(len(best))
    files = top_files(snapshot, np.flatnonzero(best > 0), best[best > 0], _LINKING)
    order = files[np.lexsort((snapshot.path_rank[files], -best[files]))].tolist()
    neighbours = vault.neighbours(order)
    for file in order[:_LENDING]:
        others = neighbours.get(file, ())
        if len(others) <= _MOST_LINKS:
            for other in others:
                found[other] = max(found[other], float(best[file]))
    return found

# ----------------------------------------------------------------------------------------------------------------------
# The order of sections where it is asked for by a formula: ranks fused, or scores added up.


def rank_fused(
    context: Context, how: str, words: NDArray[np.float64], near: DenseCosines | None, may: NDArray[np.bool_]
) -> Ranking:
    """`how` is rrf or linear; `words` is what each unit says of the question, `may` which of them may answer."""
    import numpy as np

    if how == "linear":
        return linear.added(context, words, may)
    snapshot, settings = context.snapshot, context.settings.classic
    lists: list[tuple[float, list[int]]] = []
    # As everywhere, what has no word of the question must be near to it, unless nearness is all that was asked for.
    alone = 0.0 if context.plan.mode == "dense" else ALONE
    close = None if near is None or not near else np.asarray(near.scan())
    for values in (words, close):
        if values is not None:
            units = np.flatnonzero((values > 0) & ((words > 0) | (values >= alone)) & may)
            best = units[order_units(snapshot, units, values[units])][: max(settings.candidates, 5 * context.limit)]
            lists.append((1.0, best.tolist()))
    fused = fuse(lists, settings.rrf_k)
    units = np.fromiter(fused, np.int64, len(fused))
    scores = np.fromiter(fused.values(), np.float64, len(fused))
    order = order_units(snapshot, units, scores)

    def why(unit: int, score: float) -> Why:
        return Why(lane_whys(context, unit), score)

    return Ranking(units[order], scores[order], why)
