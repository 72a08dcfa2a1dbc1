"""A query's words as term groups: each word, and with less weight its other forms that occur in the index."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass
from lurcher.terms.split import split, words
from lurcher.terms.stem import stem
from lurcher.terms.vocabulary import STOP_WORDS, abbreviations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lurcher.storage.container import BoundedCache

_PART_WEIGHT = 0.3
"""Weight of a part of a queried name: a query for `getUser` is not one for every `get`."""

_MAX_SCANNED = 1500
_SUFFIXES = ("", "s", "es", "ed", "d", "ing", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ment", "able", "ly")


class TermLookup(Protocol):
    """The part of a snapshot that expansion needs: which terms exist."""

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = ...) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Group:
    """One word of the query and the forms under which it may be found."""

    word: str
    weight: float
    forms: tuple[str, ...]
    """Other terms that count as this word, less than the word itself; sorted."""


def extract_terms(text: str) -> dict[str, float]:
    """The query's terms, each with its count; stop words are dropped unless there is nothing else."""
    counted: dict[str, float] = {}
    for identifier in words(text):
        for term in split(identifier):
            counted[term] = counted.get(term, 0.0) + 1.0
    content = {term: count for term, count in counted.items() if term not in STOP_WORDS and (len(term) > 1 or term.isdigit())}
    return content or counted


def extract_name_terms(text: str) -> dict[str, float]:
    """The terms of a query that is a name: each component whole, and with less weight its parts."""
    weights: dict[str, float] = {}
    for identifier in words(text):
        for place, term in enumerate(split(identifier)):
            weights[term] = max(weights.get(term, 0.0), 1.0 if place == 0 else _PART_WEIGHT)
    return weights


def expand(snapshot: TermLookup, weights: Iterable[tuple[str, float]]) -> tuple[Group, ...]:
    """Groups for weighted terms, with the forms that occur in the snapshot. No form belongs to two groups."""
    weights = list(weights)
    own = {term for term, _ in weights}
    taken = set(own)
    groups = []
    for term, weight in weights:
        forms = tuple(form for form in find_forms(snapshot, term) if form not in taken)
        taken.update(forms)
        groups.append(Group(term, weight, forms))
    return tuple(groups)


def find_forms(snapshot: TermLookup, term: str) -> list[str]:
    """Other terms with the same stem, and known abbreviations, sorted."""
    cache: BoundedCache[str, list[str]] | None = getattr(snapshot, "forms", None)  # only where terms do not change
    known = cache.get(term) if cache is not None else None
    if known is None:
        known = _compute_forms(snapshot, term)
        if cache is not None:
            cache.put(term, known, len(known))
    return known


def _compute_forms(snapshot: TermLookup, term: str) -> list[str]:
    found = set(abbreviations(term))
    root = stem(term)
    for other in abbreviations(root):
        found.add(other)
    if len(term) > 2 and term.isalpha() and term.isascii():
        # Stemming may have replaced y by i, or added an e: the other forms need not have either.
        prefix = root[:-1] if root.endswith(("i", "e")) else root
        known = snapshot.terms_with_prefix(prefix, None, _MAX_SCANNED) if len(prefix) > 3 else []
        listed = len(prefix) > 3 and len(known) < _MAX_SCANNED
        if not listed:
            known = [root + suffix for suffix in _SUFFIXES]
        longest = len(term) + 6
        forms = [other for other in known if len(other) <= longest and stem(other) == root]
        occurs: Callable[[str], bool] | None = getattr(snapshot, "occurs", None)
        if listed and occurs is not None:  # a form that only deleted files had must not decide which line a hit shows
            forms = [form for form in forms if occurs(form)]
        found.update(forms)
    found.discard(term)
    return sorted(found)
