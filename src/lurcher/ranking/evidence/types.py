"""The file defines a type whose name the query explains, weighted by how much of the query that name covers."""

from __future__ import annotations

from lurcher.arrays import np
from lurcher.index.tally import Sum
from lurcher.light import TYPE_CHECKING
from lurcher.ranking.context import Context
from lurcher.ranking.evidence.name import matches

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    snapshot = context.snapshot
    found = np.zeros(snapshot.file_total)
    total = sum(context.lexical.idf.values())
    if not total:
        return found
    explained, covered = Sum(), Sum()
    rarity = _rarity(context)
    for term, quality in matches(context, "types").items():
        owners, counts = snapshot.postings("types", term)
        explained.add(owners, counts, quality)
        covered.add(owners, (counts > 0), quality * rarity.get(term, 0.0))
    definitions = len(snapshot.definition_file)
    shares, cover = explained.over(definitions), covered.over(definitions)
    if shares is None or cover is None:
        return found
    matched = np.flatnonzero(shares)
    share = np.minimum(shares[matched] / np.maximum(snapshot.definition_parts[matched], 1), 1.0)
    np.maximum.at(found, snapshot.definition_file[matched], share * np.minimum(cover[matched] / total, 1.0))
    return found


def _rarity(context: Context) -> dict[str, float]:
    """The IDF of the query word that each term stands for."""
    rarity: dict[str, float] = {}
    for group in context.plan.groups:
        idf = context.lexical.idf.get(group.word, 0.0)
        for term in (group.word, *group.forms):
            rarity[term] = max(rarity.get(term, 0.0), idf)
    return rarity
