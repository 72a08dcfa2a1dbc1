"""A query's words as term groups: each word itself, and with less weight its other forms that the index knows."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass
from lurcher.terms.split import split, words
from lurcher.terms.stem import stem
from lurcher.terms.vocabulary import STOP_WORDS, abbreviations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lurcher.storage.container import BoundedCache

_PART = 0.3
"""What a part of a queried name counts against the whole: who asks for `getUser` does not ask for every `get`."""

_MOST_SCANNED = 1500
_SUFFIXES = ("", "s", "es", "ed", "d", "ing", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ment", "able", "ly")


class Terms(Protocol):
    """The part of a snapshot that knows which terms exist."""

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = ...) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Group:
    """One word of the query and the forms under which it may be found."""

    word: str
    weight: float
    forms: tuple[str, ...]
    """Other terms that count as this word, less than the word itself; sorted."""


def query_terms(text: str) -> dict[str, float]:
    """The query's terms with their number; stop words are dropped unless nothing else is there."""
    counted: dict[str, float] = {}
    for identifier in words(text):
        for term in split(identifier):
            counted[term] = counted.get(term, 0.0) + 1.0
    content = {term: count for term, count in counted.items() if term not in STOP_WORDS and (len(term) > 1 or term.isdigit())}
    return content or counted


def name_terms(text: str) -> dict[str, float]:
    """The terms of a query that is a name: each component whole, and with less weight its parts."""
    weights: dict[str, float] = {}
    for identifier in words(text):
        for place, term in enumerate(split(identifier)):
            weights[term] = max(weights.get(term, 0.0), 1.0 if place == 0 else _PART)
    return weights


def expand(snapshot: Terms, weights: Iterable[tuple[str, float]]) -> tuple[Group, ...]:
    """Groups for weighted terms, with the forms that occur in the snapshot. No form belongs to two groups."""
    weights = list(weights)
    own = {term for term, _ in weights}
    taken = set(own)
    groups = []
    for term, weight in weights:
        forms = tuple(form for form in forms_of(snapshot, term) if form not in taken)
        taken.update(forms)
        groups.append(Group(term, weight, forms))
    return tuple(groups)


def forms_of(snapshot: Terms, term: str) -> list[str]:
    """Other terms with the same stem, and known abbreviations, sorted."""
    room: BoundedCache[str, list[str]] | None = getattr(snapshot, "forms", None)  # where terms do not change
    known = room.get(term) if room is not None else None
    if known is None:
        known = _forms_of(snapshot, term)
        if room is not None:
            room.put(term, known, len(known))
    return known


def _forms_of(snapshot: Terms, term: str) -> list[str]:
    found = set(abbreviations(term))
    root = stem(term)
    for other in abbreviations(root):
        found.add(other)
    if len(term) > 2 and term.isalpha() and term.isascii():
        # Stemming may have put an i for a y or added an e: neither need stand in the other forms.
        prefix = root[:-1] if root.endswith(("i", "e")) else root
        known = snapshot.terms_with_prefix(prefix, None, _MOST_SCANNED) if len(prefix) > 3 else []
        listed = len(prefix) > 3 and len(known) < _MOST_SCANNED
        if not listed:
            known = [root + suffix for suffix in _SUFFIXES]
        longest = len(term) + 6
        forms = [other for other in known if len(other) <= longest and stem(other) == root]
        occurs: Callable[[str], bool] | None = getattr(snapshot, "occurs", None)
        if listed and occurs is not None:  # what only files had that are gone must not choose the line that a hit shows
            forms = [form for form in forms if occurs(form)]
        found.update(forms)
    found.discard(term)
    return sorted(found)
