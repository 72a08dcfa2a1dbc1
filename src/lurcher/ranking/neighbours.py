"""Files that a few others import or are imported by, over up to two hops: the nearer, the more."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, dataclass
from lurcher.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

HOPS = 2
DECAY = 0.5
"""What a second hop counts of a first one; hand-set."""
SOURCES = 5
"""Best files whose neighbours are looked at."""
MOST = 10
"""A file with more neighbours than this on one side and hop is a hub: to be near it says nothing."""


@dataclass(frozen=True, slots=True)
class Near:
    """How near a file is to the best ones: 1 would be as good as the best one itself."""

    share: float
    source: int
    hop: int


def near(snapshot: Snapshot, sources: Mapping[int, float]) -> dict[int, Near]:
    """File → how near it is to one of `sources`, each given with its share of the best score; itself does not count."""
    from lurcher.indexing.import_graph import import_graph_around  # brings every resolver, which most queries do without

    found: dict[int, Near] = {}
    for source, share in sources.items():
        graph = import_graph_around(snapshot, source)
        path, prefix = snapshot.bare_path(source), snapshot.prefix(source)
        for links in (graph.imports(path, HOPS), graph.importers(path, HOPS)):
            counts = [sum(link.hop == hop for link in links) for hop in range(HOPS + 1)]
            for link in links:
                if counts[link.hop] > MOST:
                    continue
                file = snapshot.live_paths[prefix + link.path]
                value = share * link.confidence * DECAY ** (link.hop - 1)
                if file != source and value > (found[file].share if file in found else 0.0):
                    found[file] = Near(value, source, link.hop)
    return found


def told(snapshot: Snapshot, item: Near) -> str:
    return f"{item.hop} {'import' if item.hop == 1 else 'imports'} away from {snapshot.path(item.source)}"
