"""How many units have any form of a word, for whole projects: the counts of forms alone do not say, since forms share units.

Words with the same stem, and those joined to them by an abbreviation, are a family; all forms of a word are of its family. For
each family a writer counts the units that have several of its terms, by which terms these are:

    units with any of S  =  Σ units of t, for t in S  −  Σ count · (|S ∩ terms| − 1), for each set of terms that S meets

so the number is exact for whatever part of a family a query asks about. Families are on pages by their first characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from lurcher.stores.records import damaged_error, decode, encode
from lurcher.terms.vocabulary import list_abbreviations, stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.segment import Segment

HEAD_KEY, FORMAT = "overlaps", "1"
"""The entry of a head that says that its project has these pages; one of an older version has none."""
PAGES = "s."
"""The names of these pages begin so."""
_PREFIX_LENGTH = 4
_MAX_TERMS = 63
"""Terms of a family that are told apart, one bit each; of a larger family nothing is stored."""

Family = tuple[dict[str, int], dict[int, int]]
"""The bit of each term, and the number of units that have exactly the terms of a set of bits, two or more."""


@cache
def _joined_stems() -> dict[str, str]:
    """For stems that abbreviations join, the first of all that are joined."""
    first: dict[str, str] = {}

    def find(name: str) -> str:
        while first.setdefault(name, name) != name:
            name = first[name]
        return name

    for long, short in list_abbreviations():
        low, *others = sorted(find(name) for name in (long, stem(long), short, stem(short)))
        for other in others:
            first[other] = low
    return {name: find(name) for name in first}


def family_of(term: str) -> str:
    """The name of a term's family."""
    root = stem(term)
    return _joined_stems().get(root, root)


def page_name(family: str) -> str:
    return PAGES + family[:_PREFIX_LENGTH].encode("utf-8", "surrogatepass").hex()


# -- counting ----------------------------------------------------------------------------------------------------------


class OverlapCounter:
    """Counts the sets of terms of a family that occur together, over the segments of an index."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        only: dict[str, bytes] = {}
        several: dict[str, set[bytes]] = {}
        for segment in segments:
            for number in range(int(segment.meta["terms"])):
                term = segment.term_at(number)
                if term.isalnum():  # in ASCII: no other term has forms
                    name = family_of(term.decode())
                    if only.setdefault(name, term) != term:
                        several.setdefault(name, {only[name]}).add(term)
        self._names = sorted(several)
        self._terms = [sorted(several[name]) for name in self._names]
        self._numbers = {
            term: (number, bit)
            for number, terms in enumerate(self._terms)
            if len(terms) <= _MAX_TERMS
            for bit, term in enumerate(terms)
        }
        self._found: dict[int, Counter[int]] = {}

    def start(self, segment: Segment) -> SegmentOverlaps:
        return SegmentOverlaps(segment, self._numbers, self._found)

    def pages(self) -> Iterator[tuple[str, bytes]]:
        by_page: dict[str, dict[str, Any]] = {}
        for number, name in enumerate(self._names):
            if len(self._terms[number]) > _MAX_TERMS:
                by_page.setdefault(page_name(name), {})[name] = None
            elif number in self._found:
                terms = [term.decode("utf-8", "surrogatepass") for term in self._terms[number]]
                by_page.setdefault(page_name(name), {})[name] = [terms, sorted(self._found[number].items())]
        for page, families in by_page.items():
            yield page, encode(json.dumps(families, separators=(",", ":")).encode())


class SegmentOverlaps:
    """The rows of one segment, given by ranges of terms. A family is counted once all of its terms were given."""

    def __init__(
        self, segment: Segment, numbers: Mapping[bytes, tuple[int, int]], found: dict[int, Counter[int]]
    ) -> None:
        import numpy as np

        many = int(segment.meta["terms"])
        self._found = found
        pairs = np.array([numbers.get(segment.term_at(number), (-1, 0)) for number in range(many)], np.int64).reshape(-1, 2)
        self._families, self._bits = pairs[:, 0], np.left_shift(1, pairs[:, 1])
        of_family = np.flatnonzero(self._families >= 0)
        self._last = np.full(int(self._families.max(initial=-1)) + 1, -1, np.int64)
        self._first = np.full(len(self._last), many, np.int64)
        np.maximum.at(self._last, self._families[of_family], of_family)
        np.minimum.at(self._first, self._families[of_family], of_family)
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        """Rows of families whose terms are in several ranges."""

    def add(self, first: int, last: int, terms: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """The units that have each of the terms [first, last), each pair once."""
        families = self._families[terms]
        mask = families >= 0
        terms, units, families = terms[mask], units[mask], families[mask]
        keys, bits = (families << 32) | units, self._bits[terms]
        complete = (self._first[families] >= first) & (self._last[families] < last)
        self._count(keys[complete], bits[complete])
        self._waiting.append((keys[~complete], bits[~complete]))

    def finish(self) -> None:
        import numpy as np

        if self._waiting:
            keys, bits = zip(*self._waiting, strict=True)
            self._waiting = []
            self._count(np.concatenate(keys), np.concatenate(bits))

    def _count(self, keys: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
        import numpy as np

        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys, bits = keys[order], bits[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        families, sets = keys[starts] >> 32, np.bitwise_or.reduceat(bits, starts)
        several = (sets & (sets - 1)) != 0
        families, sets = families[several], sets[several]
        order = np.lexsort((sets, families))
        families, sets = families[order], sets[order]
        heads = np.flatnonzero((np.diff(families, prepend=-1) != 0) | (np.diff(sets, prepend=-1) != 0))
        counts = np.diff(np.append(heads, len(sets)))
        for family, bit_set, count in zip(families[heads].tolist(), sets[heads].tolist(), counts.tolist(), strict=True):
            self._found.setdefault(family, Counter())[bit_set] += count


# -- reading -----------------------------------------------------------------------------------------------------------


def decode_page(data: bytes) -> dict[str, Family | None]:
    """The families of a page; None for one that was too large."""
    try:
        found: dict[str, Family | None] = {}
        for name, family in json.loads(decode(data, "page")).items():
            if family is None:
                found[name] = None
                continue
            terms, sets = family
            found[name] = {str(term): bit for bit, term in enumerate(terms)}, {int(key): int(count) for key, count in sets}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise damaged_error("page") from error
    return found


def count_shared(family: Family, terms: Iterable[str]) -> int:
    """By how much the counts of these terms together exceed the number of units that have any of them."""
    bits, sets = family
    asked = 0
    for term in terms:
        asked |= 1 << bits[term] if term in bits else 0
    return sum(count * (met.bit_count() - 1) for units, count in sets.items() if (met := units & asked))
