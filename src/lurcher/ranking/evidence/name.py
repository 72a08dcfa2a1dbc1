"""How much of a file's own name the query explains: the mean over the name's words of the best match with a query word."""

from __future__ import annotations

from itertools import pairwise

from lurcher.query.expand import Group
from lurcher.ranking.context import Context
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, lru_cache
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import PostingSum
from lurcher.terms.split import words
from lurcher.terms.vocabulary import STOP_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT, FORM, PREFIX = 1.0, 0.9, 0.7
MIN_PREFIX = 4


def score(context: Context) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of each file's name that is explained, and 1 where every word of it is."""
    snapshot = context.snapshot
    parts: list[tuple[NDArray[np.int64], NDArray[np.uint8], float]] = []
    stems: list[tuple[NDArray[np.int64], None, float]] = []
    for term, quality in find_explained_terms(context, "name").items():
        owners, counts = snapshot.postings("name", term)
        if len(owners):
            parts.append((owners, counts, quality))
        owners, _ = snapshot.postings("stem", term)
        if len(owners):
            stems.append((owners, None, quality))
    kernel = native()
    if kernel is not None:
        found: tuple[NDArray[np.float64], NDArray[np.float64]] = kernel.explained(parts, stems, snapshot.file_column("name"))
        return found
    explained, complete = PostingSum(), PostingSum()
    whole = np.zeros(snapshot.file_total)
    for owners, counts, quality in parts:
        explained.add(owners, counts, quality)
        complete.add(owners, counts, 1.0)
    for owners, _, quality in stems:
        whole[owners] = np.maximum(whole[owners], quality)
    size = np.maximum(snapshot.file_column("name"), 1)
    share, counted = explained.dense(snapshot.file_total), complete.dense(snapshot.file_total)
    if share is None or counted is None:
        return whole, (whole > 0).astype(float)
    return np.maximum(np.minimum(share / size, 1.0), whole), ((counted >= size) | (whole > 0)).astype(float)


def find_explained_terms(context: Context, family: str) -> dict[str, float]:
    """Each term of `family` that some query word explains, with how well."""
    best: dict[str, float] = {}
    for group in context.plan.groups:
        if group.word not in context.own_words:
            for term, quality in _explain_by_word(context.snapshot, group, family):
                if quality > best.get(term, 0.0):
                    best[term] = quality
    if context.plan.report is None:
        for joined in _join_neighbours(context.plan.text):
            if context.snapshot.knows(joined):
                best[joined] = EXACT
    return best


def _explain_by_word(snapshot: Snapshot, group: Group, family: str) -> list[tuple[str, float]]:
    """The terms that one word explains, each with a quality; cached, as it is the same for every query with that word."""
    key = group.word, group.forms, family
    known = snapshot.explained.get(key)
    if known is None:
        word, best = group.word, {group.word: EXACT}
        for form in group.forms:
            best.setdefault(form, FORM)
        if len(word) >= MIN_PREFIX and word.isalpha():
            for term in snapshot.terms_with_prefix(word, family):
                best.setdefault(term, PREFIX)
            for length in range(MIN_PREFIX, len(word)):
                best.setdefault(word[:length], PREFIX)
        known = [(term, quality) for term, quality in best.items() if snapshot.knows(term)]
        snapshot.explained.put(key, known, len(known))
    return known


@lru_cache(maxsize=8)
def _join_neighbours(text: str) -> tuple[str, ...]:
    """Neighbouring words written as one: a question's "thread pool" is a file's `threadpool`."""
    found = [word.lower() for word in words(text)]
    return tuple([a + b for a, b in pairwise(found) if a not in STOP_WORDS and b not in STOP_WORDS])
