"""Files in the import neighbourhood of the best ones are lifted: + max · weight · nearness, decaying with each hop."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.storage.snapshot import Snapshot
from lurcher.types import StageWhy

if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHT = 0.05
"""The pipeline that this stage follows gives no number. Code set 0.8555 with it, 0.8543 without."""
HOPS = 2
DECAY = 0.5
"""Factor for each hop after the first; hand-set."""
SOURCES = 5
"""The number of best files whose neighbours are lifted."""
MAX_NEIGHBOURS = 10
"""A file with more neighbours than this on one side and hop is a hub, and lifts none of them."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A file near one of the best; `share` is 1 at most, where the best file scores 1."""

    share: float
    source: int
    hop: int


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
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
    sources = {file: scores[best[file]] / top for file in order[:SOURCES]}
    for file, item in find_neighbours(snapshot, sources).items():
        found = best.get(file)
        if found is not None:
            amount = top * WEIGHT * item.share
            scores[found] += amount
            log.setdefault(found, []).append(StageWhy("proximity", amount=amount, note=describe_neighbour(snapshot, item)))


def find_neighbours(snapshot: Snapshot, sources: Mapping[int, float]) -> dict[int, Neighbour]:
    """Files within two imports of one of `sources`, in either direction; `sources` maps files to shares of the best score."""
    from lurcher.indexing.import_graph import import_graph_around  # imports every resolver, which most queries do not need

    found: dict[int, Neighbour] = {}
    for source, share in sources.items():
        graph = import_graph_around(snapshot, source)
        path, prefix = snapshot.bare_path(source), snapshot.prefix(source)
        for links in (graph.imports(path, HOPS), graph.importers(path, HOPS)):
            counts = [sum(link.hop == hop for link in links) for hop in range(HOPS + 1)]
            for link in links:
                if counts[link.hop] > MAX_NEIGHBOURS:
                    continue
                file = snapshot.live_paths[prefix + link.path]
                value = share * link.confidence * DECAY ** (link.hop - 1)
                if file != source and value > (found[file].share if file in found else 0.0):
                    found[file] = Neighbour(value, source, link.hop)
    return found


def describe_neighbour(snapshot: Snapshot, item: Neighbour) -> str:
    return f"{item.hop} {'import' if item.hop == 1 else 'imports'} away from {snapshot.path(item.source)}"
