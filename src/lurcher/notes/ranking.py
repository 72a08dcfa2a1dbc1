"""The order of sections: best one of each note first.

    x = words + words of the whole note + title + meaning + links

Words are told as a share of what could be said, so that scores mean the same in every vault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.index.order import best_files, best_first
from lurcher.lanes.dense import DenseCosines
from lurcher.notes.fields import FieldScores
from lurcher.notes.vault import Vault
from lurcher.ranking.context import Context, Ranking, Unordered, lane_whys
from lurcher.ranking.default import file_best
from lurcher.terms.stem import stem
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STEEP = 4.0
_TITLED = 200
"""Notes whose titles are compared with the question."""
_MOST_LINKS = 50
"""Neighbours beyond which a note is an index of others, and links say nothing."""


def rank(context: Context, vault: Vault, said: FieldScores, near: DenseCosines | None, may: NDArray[np.bool_]) -> Ranking:
    """`may` says which units may answer; `said` is about the words of the question, `near` about its meaning."""
    import numpy as np

    snapshot, settings = context.snapshot, context.settings.notes
    units_of = snapshot.unit_file
    parts: dict[str, NDArray[np.float64]] = {"words": np.where(may, said.scores, 0.0)}
    best = file_best(snapshot, parts["words"])
    if settings.whole:
        parts["note"] = (settings.whole * said.whole)[units_of]
    if settings.title:
        parts["title"] = (settings.title * _titles(context, vault, best))[units_of]
    if near is not None and near:
        parts["meaning"] = settings.meaning * _meaning(context, near, best, may)
    # A section that neither says nor means anything that was asked does not answer, whatever the rest of its note says.
    may = may & ((parts["words"] > 0) | (parts.get("meaning", parts["words"]) > 0))
    x = np.zeros(snapshot.unit_total)
    for values in parts.values():
        x += np.where(may, values, 0.0)
    if settings.links:
        linked = settings.links * _linked(vault, file_best(snapshot, x))
        parts["links"] = linked[units_of]
        x = np.where(may & (x > 0), x + parts["links"], x)
    scale = 1 + settings.whole + settings.title + settings.meaning + settings.links
    x /= scale
    top = np.flatnonzero((x > 0) & (x == file_best(snapshot, x)[units_of]))
    _, first = np.unique(units_of[top], return_index=True)
    leads = top[first]  # of equal sections of a note the first
    leads = leads[best_first(snapshot, leads, x[leads])]
    ceiling = float(x[leads[-1]]) if len(leads) else 0.0
    left = x > 0
    left[leads] = False

    def further() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        # Below every note's first section, in their own order.
        rest = np.flatnonzero(left)
        rest = rest[best_first(snapshot, rest, x[rest])]
        return rest, x[rest] * (ceiling / float(x[rest[0]]) if len(rest) and x[rest[0]] > ceiling else 1.0)

    def why(unit: int, score: float) -> Why:
        stages = [
            StageWhy(name, amount=float(values[unit]) / scale) for name, values in parts.items() if values[unit] and x[unit] > 0
        ]
        if abs(score - float(x[unit])) > 1e-12:
            stages.append(StageWhy("further", factor=score / float(x[unit]), note="not its note's first section"))
        return Why(lane_whys(context, unit), float(x[unit]), tuple(stages))

    return Ranking(leads, x[leads], why, Unordered(int(left.sum()), further))


def _titles(context: Context, vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of its title, or of another name, the question explains, for the best notes by words."""
    import numpy as np

    asked = {stem(group.word) for group in context.plan.groups}
    found = np.zeros(len(best))
    for file in best_files(context.snapshot, np.flatnonzero(best > 0), best[best > 0], _TITLED).tolist():
        found[file] = max((len(terms & asked) / len(terms) for terms in vault.name_stems(file)), default=0.0)
    return found


def _meaning(
    context: Context, near: DenseCosines, best: NDArray[np.float64], may: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Nearness of the sections of notes that have words of the question or are near to it as a whole."""
    import numpy as np

    snapshot, settings = context.snapshot, context.settings.notes
    allowed = np.flatnonzero(context.allowed)
    cards = near.cards()[allowed]
    chosen = np.union1d(
        best_files(snapshot, allowed, cards, settings.compared), best_files(snapshot, allowed, best[allowed], settings.compared)
    )
    found = np.zeros(snapshot.unit_total)
    if len(chosen):
        units, cosines = near.units(chosen)
        cosines = np.where(may[units], cosines, 0.0)
        highest = cosines.max(initial=0.0)
        found[units] = np.where(cosines > 0, np.maximum(0.0, 1 - _STEEP * (highest - cosines)), 0.0)
    return found


def _linked(vault: Vault, best: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the best notes lend to those they link to or are linked from."""
    import numpy as np

    found = np.zeros(len(best))
    top = np.argsort(-best, kind="stable")[:20]
    for file in top[best[top] > 0].tolist():
        others = vault.neighbours.get(file, ())
        if len(others) <= _MOST_LINKS:
            for other in others:
                found[other] = max(found[other], float(best[file]))
    return found
