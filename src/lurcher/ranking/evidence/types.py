"""The file defines a type whose name the query explains, weighted by how much of the query that name covers."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.ranking.evidence.name import find_explained_terms
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import SUM_BUFFER, PostingSum

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    snapshot = context.snapshot
    total = sum(context.lexical.idf.values())
    if not total:
        return np.zeros(snapshot.file_total)
    rarity = _collect_idf(context)
    parts = []
    for term, quality in find_explained_terms(context, "types").items():
        owners, counts = snapshot.postings("types", term)
        if len(owners):
            parts.append((owners, counts, quality, quality * rarity.get(term, 0.0)))
    if not parts:
        return np.zeros(snapshot.file_total)
    kernel = native()
    tables = snapshot.definition_rows() if kernel is not None else None
    if kernel is None or tables is None:
        return _reference(snapshot, parts, total)
    desk = SUM_BUFFER.zeros(2 * sum(len(segment.definitions) for segment in snapshot.segments))
    best: NDArray[np.float64] = kernel.covered(parts, tables, total, snapshot.file_total, desk)
    return best


def _reference(
    snapshot: Snapshot, parts: list[tuple[NDArray[np.int64], NDArray[np.uint8], float, float]], total: float
) -> NDArray[np.float64]:
    found = np.zeros(snapshot.file_total)
    explained, covered = PostingSum(), PostingSum()
    for owners, counts, quality, cover in parts:
        explained.add(owners, counts, quality)
        covered.add(owners, (counts > 0), cover)
    definitions = len(snapshot.definition_file)
    explained_ones, shares = explained.sparse(definitions)
    matched, covers = covered.sparse(definitions)  # some of those
    if not len(matched):
        return found
    shares = shares[np.searchsorted(explained_ones, matched)]
    share = np.minimum(shares / np.maximum(snapshot.definition_parts[matched], 1), 1.0)
    np.maximum.at(found, snapshot.definition_file[matched], share * np.minimum(covers / total, 1.0))
    return found


def _collect_idf(context: Context) -> dict[str, float]:
    """Term → IDF of the query word of which it is a form."""
    rarity: dict[str, float] = {}
    for group in context.plan.groups:
        idf = context.lexical.idf.get(group.word, 0.0)
        for term in (group.word, *group.forms):
            rarity[term] = max(rarity.get(term, 0.0), idf)
    return rarity
