"""How much of a file's own name the query explains: the mean over the name's words of the best match with a query word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.ranking.context import Context

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT, FORM, PREFIX = 1.0, 0.9, 0.7
MIN_PREFIX = 4


def score(context: Context) -> NDArray[np.float64]:
    import numpy as np

    snapshot = context.snapshot
    explained = np.zeros(snapshot.file_total)
    whole = np.zeros(snapshot.file_total)
    best = _matches(context)
    for term, quality in best.items():
        owners, counts = snapshot.postings("name", term)
        explained[owners] += quality * counts
        owners, _ = snapshot.postings("stem", term)
        whole[owners] = np.maximum(whole[owners], quality)
    size = np.maximum(snapshot.file_column("name"), 1)
    share = np.maximum(np.minimum(explained / size, 1.0), whole)
    for file in np.flatnonzero(share).tolist()[:0]:
        context.notes["name", file] = ""
    return share


def _matches(context: Context) -> dict[str, float]:
    """Each name term that some query word explains, with how well."""
    best: dict[str, float] = {}

    def offer(term: str, quality: float) -> None:
        if quality > best.get(term, 0.0):
            best[term] = quality

    for group in context.plan.groups:
        word = group.word
        if word in context.own_words:
            continue
        offer(word, EXACT)
        for form in group.forms:
            offer(form, FORM)
        if len(word) >= MIN_PREFIX and word.isalpha():
            for term in context.snapshot.terms_with_prefix(word, "name"):
                offer(term, PREFIX)
            for length in range(MIN_PREFIX, len(word)):
                offer(word[:length], PREFIX)
    return best
