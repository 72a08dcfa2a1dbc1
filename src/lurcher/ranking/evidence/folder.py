"""The share of the query, weighted by rarity, that is found in a file's last three folders."""

from __future__ import annotations

from lurcher.arrays import np
from lurcher.light import TYPE_CHECKING
from lurcher.ranking.context import Context

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    snapshot = context.snapshot
    found = np.zeros(snapshot.file_total)
    total = 0.0
    for group in context.plan.groups:
        idf = context.lexical.idf.get(group.word, 0.0)
        total += idf
        if group.word in context.own_words:
            continue
        here = np.zeros(snapshot.file_total)
        for term, quality in ((group.word, 1.0), *((form, 0.9) for form in group.forms)):
            owners, _ = snapshot.postings("folder", term)
            here[owners] = np.maximum(here[owners], quality)
        found += idf * here
    return found / total if total else found
