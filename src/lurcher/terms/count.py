"""Text → unit × term counts, per field, in one pass.

Each identifier of a text becomes a number through one dictionary look-up; splitting happens once per distinct identifier and
counting is one sort over numbers, so the cost is close to that of the regular expression.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from lurcher.runtime.kernel import hash_seed, native
from lurcher.terms import split, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_split = lru_cache(maxsize=1 << 16)(split)
"""Cached, since the shards of a tree share most identifiers."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Where each term occurs: rows sorted by (term, owner); an owner is a unit, a file or a definition."""

    terms: NDArray[np.uint32]
    owners: NDArray[np.uint32]
    counts: NDArray[np.uint8]


class _Identifiers(dict[str, int]):
    """Numbers identifiers in order of appearance."""

    def __missing__(self, identifier: str) -> int:
        number = len(self)
        self[identifier] = number
        return number


class TermCounter(Protocol):
    """Collects the identifiers of many texts, then counts their terms."""

    def add(self, field: str, owner: int, text: str) -> None:
        """Count every identifier of `text` for `owner` in `field`."""

    def require(self, term: str) -> None:
        """Make sure that `term` has a number, even if no text contains it."""

    def finish(self, fields: tuple[str, ...]) -> tuple[list[str], dict[str, Postings]]:
        """The sorted terms, and each field's postings over them."""

    def required(self) -> NDArray[np.uint32]:
        """The number of each required term, in the order of the calls; after `finish`."""

    def incomplete(self, field: str) -> NDArray[np.uint32]:
        """Owners with an identifier that is too long to have a term; long numbers, which never have one, do not count."""


def make_counter() -> TermCounter:
    """A new counter: the kernel's if the kernel is available."""
    return ReferenceCounter() if native() is None else NativeCounter()


class NativeCounter:
    """The kernel's counter: words in ASCII are found, split and counted in C; Python finds and splits the others."""

    def __init__(self) -> None:
        kernel = native()
        assert kernel is not None
        self.kernel = kernel
        self.counter = kernel.Counter(hash_seed())
        self._fields: dict[str, int] = {}
        self._extra: list[str] = []
        self._required = b""
        self._incomplete: dict[str, NDArray[np.uint32]] = {}

    def add(self, field: str, owner: int, text: str) -> None:
        if text.isascii():
            self.counter.add(self.field(field), owner, text)
        else:
            self.counter.add_words(self.field(field), owner, words(text))

    def field(self, name: str) -> int:
        """The number of a field."""
        return self._fields.setdefault(name, len(self._fields))

    def require(self, term: str) -> None:
        self._extra.append(term)

    def finish(self, fields: tuple[str, ...]) -> tuple[list[str], dict[str, Postings]]:
        import numpy as np

        beyond = [(parts := _split(word), _is_dropped(word, parts)) for word in self.counter.beyond()]
        terms, counted, self._required = self.counter.finish(len(self._fields), beyond, self._extra)
        postings = {}
        for field in fields:
            if field not in self._fields:
                postings[field] = _make_empty_postings()
                continue
            numbers, owners, counts, incomplete = counted[self._fields[field]]
            postings[field] = Postings(*map(np.frombuffer, (numbers, owners, counts), (np.uint32, np.uint32, np.uint8)))
            self._incomplete[field] = np.frombuffer(incomplete, np.uint32)
        return terms, postings

    def required(self) -> NDArray[np.uint32]:
        import numpy as np

        return np.frombuffer(self._required, np.uint32)

    def incomplete(self, field: str) -> NDArray[np.uint32]:
        import numpy as np

        return self._incomplete.get(field, np.zeros(0, np.uint32))


class ReferenceCounter:
    """The same in Python, for where there is no kernel; tests compare the two."""

    def __init__(self) -> None:
        self._identifiers = _Identifiers()
        self._fields: dict[str, tuple[array[int], array[int], array[int]]] = {}
        self._extra: list[str] = []
        self._required: list[int] = []
        self._incomplete: dict[str, NDArray[np.uint32]] = {}

    def add(self, field: str, owner: int, text: str) -> None:
        if field not in self._fields:
            self._fields[field] = (array("I"), array("I"), array("Q"))
        tokens, owners, ends = self._fields[field]
        tokens.extend(map(self._identifiers.__getitem__, words(text)))
        owners.append(owner)
        ends.append(len(tokens))

    def require(self, term: str) -> None:
        self._extra.append(term)

    def finish(self, fields: tuple[str, ...]) -> tuple[list[str], dict[str, Postings]]:
        import numpy as np

        split_up = list(map(_split, self._identifiers))
        named = enumerate(zip(self._identifiers, split_up, strict=True))
        dropped = [number for number, (word, parts) in named if _is_dropped(word, parts)]
        terms = sorted({term for parts in split_up for term in parts}.union(self._extra))
        number = {term: i for i, term in enumerate(terms)}
        self._required = [number[term] for term in self._extra]
        widths = np.fromiter(map(len, split_up), np.int64, len(split_up))
        flat = np.fromiter((number[term] for parts in split_up for term in parts), np.int64, int(widths.sum()))
        starts = np.concatenate(([0], np.cumsum(widths)[:-1])) if len(widths) else np.zeros(0, np.int64)
        postings = {}
        for field in fields:
            if field not in self._fields:
                postings[field] = _make_empty_postings()
                continue
            raw_tokens, raw_owners, raw_ends = self._fields[field]
            tokens = np.frombuffer(raw_tokens, np.uint32) if raw_tokens else np.zeros(0, np.uint32)
            ends = np.frombuffer(raw_ends, np.uint64).astype(np.int64)
            owners = np.repeat(np.frombuffer(raw_owners, np.uint32), np.diff(ends, prepend=0))
            postings[field] = _count_postings(tokens, owners, widths, starts, flat)
            if len(dropped):
                self._incomplete[field] = np.unique(owners[np.isin(tokens, dropped)])
        return terms, postings

    def required(self) -> NDArray[np.uint32]:
        import numpy as np

        return np.array(self._required, np.uint32)

    def incomplete(self, field: str) -> NDArray[np.uint32]:
        import numpy as np

        return self._incomplete.get(field, np.zeros(0, np.uint32))


def _is_dropped(word: str, parts: tuple[str, ...]) -> bool:
    return not parts and not word.replace("_", "0").isdigit()


def _make_empty_postings() -> Postings:
    import numpy as np

    return Postings(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint8))


def _count_postings(
    tokens: NDArray[np.uint32],
    owners: NDArray[np.uint32],
    widths: NDArray[np.int64],
    starts: NDArray[np.int64],
    flat: NDArray[np.int64],
) -> Postings:
    import numpy as np

    width = widths[tokens]
    total = int(width.sum())
    before = np.cumsum(width) - width
    positions = np.arange(total) + np.repeat(starts[tokens] - before, width)
    keys = (flat[positions] << 32) | np.repeat(owners.astype(np.int64), width)
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(np.append(first, len(keys)))
    keys = keys[first]
    return Postings(
        (keys >> 32).astype(np.uint32),
        (keys & 0xFFFFFFFF).astype(np.uint32),
        np.minimum(counts, 255).astype(np.uint8),
    )
