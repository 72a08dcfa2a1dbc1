"""The share of the query, weighted by rarity, that is found in a file's last three folders."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def score(context: Context) -> NDArray[np.float64]:
    snapshot = context.snapshot
    idfs = context.lexical.idf
    words = []
    total = 0.0
    for group in context.plan.groups:
        idf = idfs.get(group.word, 0.0)
        total += idf
        if group.word not in context.own_words:
            parts = [(owners, None, 1.0)] if len(owners := snapshot.postings("folder", group.word)[0]) else []
            for form in group.forms:
                owners, _ = snapshot.postings("folder", form)
                if len(owners):
                    parts.append((owners, None, 0.9))
            words.append((idf, parts))
    kernel = native()
    if kernel is not None:
        found: NDArray[np.float64] = kernel.foldered(words, snapshot.file_total)
    else:
        found = np.zeros(snapshot.file_total)
        for idf, parts in words:
            here = np.zeros(snapshot.file_total)
            for owners, _, quality in parts:
                here[owners] = np.maximum(here[owners], quality)
            found += idf * here
    return found / total if total else found
