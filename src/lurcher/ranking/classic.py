"""The classic ranking: lanes → reciprocal rank fusion → coherence → definition → proximity → stem → noise → saturation.

The dense lane's weight is alpha, the lexical one's 1 − alpha; while a lane is absent the other has all the weight. A stage is a
function `apply_<stage>(context, scores, log)`: it changes unit → score in place and logs each push as a StageWhy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lurcher.lanes import order_units
from lurcher.lanes.dense import DenseCosines
from lurcher.lanes.literal import LiteralMatches
from lurcher.query import SYMBOL, split_qualified_name
from lurcher.ranking import Context, Ranking, collect_lane_whys, weigh_installed_lanes
from lurcher.ranking.evidence import explain_noise, unit_factors
from lurcher.ranking.linear import fuse_ranks
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound, folders_of, name_of, name_parts
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


PHRASE = 0.25
"""Weight of the literal lane, for a query of a few words; hand-set: the code set does not move (0.8555) with it or without."""


def rank(context: Context) -> Ranking:
    lexical = np.where(context.allowed[context.snapshot.unit_file], context.lexical.scores, 0.0)
    matched = np.flatnonzero(lexical > 0)
    candidates = matched[order_units(context.snapshot, matched, lexical[matched])]
    near = _find_nearest(context)
    settings = context.settings.classic
    alpha = 0.0 if not len(near) else settings.alpha_symbol if context.plan.intent == SYMBOL else settings.alpha_language
    lanes = [(1 - alpha, candidates.tolist()), (alpha, near.tolist()), (PHRASE, _find_phrase_units(context))]
    for _, weight, lane_scores in weigh_installed_lanes(context):
        matched = np.flatnonzero(lane_scores > 0)
        best = matched[order_units(context.snapshot, matched, lane_scores[matched])]
        lanes.append((weight, best[: max(settings.candidates, 5 * context.limit)].tolist()))
    fused = fuse_ranks(lanes, settings.rrf_k)
    scores = dict(fused)
    log: dict[int, list[StageWhy]] = {}
    for apply in (apply_coherence, apply_definition, apply_proximity, apply_stem, apply_noise, apply_saturation):
        apply(context, scores, log)
    units = np.fromiter(scores, np.int64, len(scores))
    values = np.fromiter(scores.values(), np.float64, len(scores))
    order = order_units(context.snapshot, units, values)
    units, values = units[order], values[order]

    def why(unit: int, score: float) -> Why:
        return Why(collect_lane_whys(context, unit), fused.get(unit, 0.0), tuple(log.get(unit, ())))

    return Ranking(units, values, why)


def _find_phrase_units(context: Context) -> list[int]:
    """Units that contain a short query word for word, those with the most matches first."""
    lane = context.lanes.get("literal")
    if not isinstance(lane, LiteralMatches) or not len(lane.units):
        return []
    best: list[int] = lane.units[order_units(context.snapshot, lane.units, lane.counts.astype("f8"))].tolist()
    return best


def _find_nearest(context: Context) -> NDArray[np.int64]:
    """The dense lane's candidates, best first. Their number is limited, since every unit has some cosine."""
    lane = context.lanes.get("dense")
    if not isinstance(lane, DenseCosines) or not lane:
        return np.zeros(0, np.int64)
    cosines = lane.scan()
    units = np.flatnonzero((cosines > 0) & context.allowed[context.snapshot.unit_file])
    best = units[order_units(context.snapshot, units, cosines[units])]
    return best[: max(context.settings.classic.candidates, 5 * context.limit)]


def apply_coherence(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """A file with several good units lifts its best one: + max · share · file sum / largest file sum."""
    sums: dict[int, float] = {}
    best: dict[int, int] = {}
    file_of = context.snapshot.unit_file
    for unit, value in scores.items():
        file = int(file_of[unit])
        sums[file] = sums.get(file, 0.0) + value
        known = best.get(file)
        if known is None or (value, -unit) > (scores[known], -known):
            best[file] = unit
    if not sums:
        return
    top, largest = max(scores.values()), max(sums.values())
    for file, unit in best.items():
        amount = top * context.settings.classic.coherence * sums[file] / largest
        scores[unit] += amount
        log.setdefault(unit, []).append(StageWhy("coherence", amount=amount))


SAME_STEM = 1.5
"""Further factor when the file is named like the symbol. Hand-set; the pipeline that this stage follows gives no number."""


def apply_definition(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """A unit that defines a queried name is multiplied, more when its file is named like it.

    Definitions that no lane found join in.
    """
    if not scores:
        return
    settings = context.settings.classic
    factor = settings.definition_symbol if context.plan.intent == SYMBOL else settings.definition_language
    lowest = min(scores.values())
    strongest = max((match.strength for match in context.symbols), default=0.0)
    done: set[int] = set()
    for match in context.symbols:
        if match.unit in done or not context.allowed[match.file] or match.strength < 0.5 * strongest:
            continue
        done.add(match.unit)
        same = compound(name_of(context.snapshot.path(match.file))) == compound(split_qualified_name(match.name)[-1])
        times = 1 + (factor - 1) * match.strength
        times *= SAME_STEM if same else 1.0
        scores[match.unit] = scores.get(match.unit, lowest) * times
        log.setdefault(match.unit, []).append(
            StageWhy("definition", factor=times, note=f"defines {match.definition.qualified}")
        )


PROXIMITY_WEIGHT = 0.05
"""The pipeline that this stage follows gives no number. Code set 0.8555 with it, 0.8543 without."""
PROXIMITY_HOPS = 2
PROXIMITY_DECAY = 0.5
"""Factor for each hop after the first; hand-set."""
PROXIMITY_SOURCES = 5
"""The number of best files whose neighbours are lifted."""
MAX_NEIGHBOURS = 10
"""A file with more neighbours than this on one side and hop is a hub, and lifts none of them."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A file near one of the best; `share` is 1 at most, where the best file scores 1."""

    share: float
    source: int
    hop: int


def apply_proximity(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """Files in the import neighbourhood of the best ones are lifted: + max · weight · nearness, decaying with each hop."""
    if not scores:
        return
    snapshot = context.snapshot
    best: dict[int, int] = {}
    for unit, value in scores.items():
        file = int(snapshot.unit_file[unit])
        known = best.get(file)
        if known is None or (value, -unit) > (scores[known], -known):
            best[file] = unit
    top = max(scores.values())
    order = sorted(best, key=lambda file: (-scores[best[file]], int(snapshot.path_rank[file])))
    sources = {file: scores[best[file]] / top for file in order[:PROXIMITY_SOURCES]}
    for file, item in find_neighbours(snapshot, sources).items():
        found = best.get(file)
        if found is not None:
            amount = top * PROXIMITY_WEIGHT * item.share
            scores[found] += amount
            log.setdefault(found, []).append(StageWhy("proximity", amount=amount, note=describe_neighbour(snapshot, item)))


def find_neighbours(snapshot: Snapshot, sources: Mapping[int, float]) -> dict[int, Neighbour]:
    """Files within two imports of one of `sources`, in either direction; `sources` maps files to shares of the best score."""
    from lurcher.indexing.import_graph import import_graph_around  # imports every resolver, which most queries do not need

    found: dict[int, Neighbour] = {}
    for source, share in sources.items():
        graph = import_graph_around(snapshot, source)
        path, prefix = snapshot.bare_path(source), snapshot.prefix(source)
        for links in (graph.imports(path, PROXIMITY_HOPS), graph.importers(path, PROXIMITY_HOPS)):
            counts = [sum(link.hop == hop for link in links) for hop in range(PROXIMITY_HOPS + 1)]
            for link in links:
                if counts[link.hop] > MAX_NEIGHBOURS:
                    continue
                file = snapshot.live_paths[prefix + link.path]
                value = share * link.confidence * PROXIMITY_DECAY ** (link.hop - 1)
                if file != source and value > (found[file].share if file in found else 0.0):
                    found[file] = Neighbour(value, source, link.hop)
    return found


def describe_neighbour(snapshot: Snapshot, item: Neighbour) -> str:
    return f"{item.hop} {'import' if item.hop == 1 else 'imports'} away from {snapshot.path(item.source)}"


_MIN_STEM_PREFIX = 3


def apply_stem(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """Query words in a file's name or folder: + max · share of the words · weight, if the share is large enough."""
    words = [group.word for group in context.plan.groups]
    if not scores or not words:
        return
    settings = context.settings.classic
    top = max(scores.values())
    shares: dict[int, float] = {}
    for unit in scores:
        file = int(context.snapshot.unit_file[unit])
        if file not in shares:
            shares[file] = _compute_share(words, context.snapshot.path(file))
        if shares[file] >= settings.stem_share and shares[file]:
            amount = top * shares[file] * settings.stem
            scores[unit] += amount
            log.setdefault(unit, []).append(StageWhy("stem", amount=amount))


def _compute_share(words: list[str], path: str) -> float:
    parts = name_parts(name_of(path))
    for folder in folders_of(path)[-1:]:
        parts += name_parts(folder)
    return sum(any(_is_alike(word, part) for part in parts) for word in words) / len(words)


def _is_alike(word: str, part: str) -> bool:
    if word == part:
        return True
    short, long = sorted((word, part), key=len)
    return len(short) >= _MIN_STEM_PREFIX and long.startswith(short)


def apply_noise(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """Tests, examples, old versions and barrels are multiplied down."""
    for unit, factor in zip(scores, unit_factors(context, np.array(list(scores), np.int64)).tolist(), strict=True):
        if factor != 1.0:
            scores[unit] *= factor
            log.setdefault(unit, []).extend(explain_noise(context, unit))


def apply_saturation(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    """Each unit of a file after its first is multiplied by another factor: 0.5 by default, then 0.25, and so on."""
    seen: dict[int, int] = {}
    for unit in sorted(scores, key=lambda unit: (-scores[unit], unit)):
        file = int(context.snapshot.unit_file[unit])
        before = seen.get(file, 0)
        seen[file] = before + 1
        if before:
            factor = context.settings.classic.saturation**before
            scores[unit] *= factor
            log.setdefault(unit, []).append(StageWhy("saturation", factor=factor))
