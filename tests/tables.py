"""Small term tables to test with."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lurcher.vectors.table import Table, pack_table, write_table

META: dict[str, Any] = {
    "version": 1, "name": "tiny", "compose": "grams", "gram_lengths": [3, 4, 5], "gram_weight_query": 0.5,
    "gram_weight_document": 0.5, "licence": "CC0-1.0", "training": {"pairs": 0},
}  # fmt: skip

ALIKE = (
    ("redirect", "redirects", "redirected", "follow", "followed", "location"),
    ("cookie", "cookies", "jar", "session", "header"),
    ("pool", "connection", "connections", "acquire", "idle"),
    ("router", "route", "routes", "register", "dispatch"),
    ("cache", "evict", "evicts", "expire", "expired"),
)
"""Words that mean much the same: their vectors are close."""


def vector_of(term: str, dims: int) -> NDArray[np.float32]:
    """A direction of the term's own, the same on every run; words of one line of `ALIKE` share most of it."""

    def direction(name: str) -> NDArray[np.float32]:
        return np.random.default_rng(zlib.crc32(name.encode())).standard_normal(dims).astype(np.float32)

    for line in ALIKE:
        if term in line:
            return (2 * direction(line[0]) + direction(f"={term}")) / np.float32(dims**0.5)
    return direction(term) / np.float32(dims**0.5)


def arguments(
    terms: Iterable[str], dims: int = 32, buckets: int = 64, weights: Mapping[str, float] | None = None, **meta: Any
) -> tuple[Any, ...]:
    """What `write_table` and `pack_table` take."""
    terms = sorted(set(terms))
    rows = np.array([vector_of(term, dims) for term in terms], np.float32).reshape(-1, dims)
    own = np.array([(weights or {}).get(term, 1.0) for term in terms], np.float32)
    grams = np.random.default_rng(7).standard_normal((buckets, dims)).astype(np.float32)
    return terms, rows, own, own, grams, {**META, **meta}


def table_of(terms: Iterable[str], bits: int = 8, **options: Any) -> Table:
    return Table.of(b"".join(pack_table(*arguments(terms, **options), bits=bits)))


WORDS = (
    *(word for line in ALIKE for word in line),
    "client", "server", "request", "response", "send", "retry", "limit", "user", "path", "parse", "value", "names", "page",
    "buffer", "bytes", "step", "pipeline", "guide", "keeps", "steps", "counts", "login", "return", "self", "class", "def",
)  # fmt: skip


def write_tiny(path: Path, **options: Any) -> Path:
    write_table(path, *arguments(WORDS, **options))
    return path
