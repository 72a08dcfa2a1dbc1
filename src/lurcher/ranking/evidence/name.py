"""How much of a file's own name the query explains: the mean over the name's words of the best match with a query word."""

from __future__ import annotations

from itertools import pairwise

from lurcher.arrays import np
from lurcher.index.tally import Sum
from lurcher.light import TYPE_CHECKING, lru_cache
from lurcher.ranking.context import Context
from lurcher.terms.split import words
from lurcher.terms.vocabulary import STOP_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT, FORM, PREFIX = 1.0, 0.9, 0.7
MIN_PREFIX = 4


def score(context: Context) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of each file's name that is explained, and 1 where every word of it is."""
    snapshot = context.snapshot
    explained, complete = Sum(), Sum()
    whole = np.zeros(snapshot.file_total)
    for term, quality in matches(context, "name").items():
        owners, counts = snapshot.postings("name", term)
        explained.add(owners, counts, quality)
        complete.add(owners, counts, 1.0)
        owners, _ = snapshot.postings("stem", term)
        if len(owners):
            whole[owners] = np.maximum(whole[owners], quality)
    size = np.maximum(snapshot.file_column("name"), 1)
    share, counted = explained.over(snapshot.file_total), complete.over(snapshot.file_total)
    if share is None or counted is None:
        return whole, (whole > 0).astype(float)
    return np.maximum(np.minimum(share / size, 1.0), whole), ((counted >= size) | (whole > 0)).astype(float)


def matches(context: Context, family: str) -> dict[str, float]:
    """Each term of `family` that some query word explains, with how well."""
    best: dict[str, float] = {}
    own, knows = context.own_words, context.snapshot.knows
    for group in context.plan.groups:
        word = group.word
        if word in own:
            continue
        best[word] = EXACT
        for form in group.forms:
            if best.get(form, 0.0) < FORM:
                best[form] = FORM
        if len(word) >= MIN_PREFIX and word.isalpha():
            for term in context.snapshot.terms_with_prefix(word, family):
                best.setdefault(term, PREFIX)
            for length in range(MIN_PREFIX, len(word)):
                best.setdefault(word[:length], PREFIX)
    if context.plan.report is None:
        for joined in _joined(context.plan.text):
            best[joined] = EXACT
    return {term: quality for term, quality in best.items() if knows(term)}


@lru_cache(maxsize=8)
def _joined(text: str) -> tuple[str, ...]:
    """Neighbouring words written as one: a question's "thread pool" is a file's `threadpool`."""
    found = [word.lower() for word in words(text)]
    return tuple([a + b for a, b in pairwise(found) if a not in STOP_WORDS and b not in STOP_WORDS])
