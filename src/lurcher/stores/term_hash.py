"""Words as numbers that are the same everywhere: what a record finds its rows by, and what a sparse vector counts in."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

SPARSE_BITS = 0xFFFFFFFF
"""Of a word's number what a sparse vector has room for."""


def number_of_bytes(term: bytes) -> int:
    return int.from_bytes(blake2b(term, digest_size=8).digest(), "little")


@lru_cache(maxsize=4096)
def number_of(term: str) -> int:
    return number_of_bytes(term.encode("utf-8", "surrogatepass"))


def numbers_of(terms: Iterable[bytes]) -> NDArray[np.uint64]:
    import numpy as np

    return np.array([number_of_bytes(term) for term in terms], np.uint64)
