"""Cells: regions of the space of vectors, so that a question compares only what is in those nearest to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PER_CELL = 256
MOST = 4096
SAMPLE = 32
"""Vectors per cell that centres are found from."""
FEWEST_PROBES = 16
_ROUNDS = 5
_AT_ONCE = 8192


def count_for(vectors: int) -> int:
    """How many cells so many vectors are divided into."""
    return max(1, min(MOST, vectors // PER_CELL))


def centres(sample: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The middles of `count` groups of directions: k-means on the sphere, the same for the same sample."""
    import numpy as np

    count = min(count, len(sample))
    found: NDArray[np.float32] = sample[np.random.default_rng(0).choice(len(sample), count, replace=False)].copy()
    for _ in range(_ROUNDS if count > 1 else 1):
        own = nearest(sample, found)
        order = np.argsort(own, kind="stable")
        filled, first = np.unique(own[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        found[filled] = sums / np.maximum(lengths, 1e-9)
    return found


def nearest(vectors: NDArray[np.float32], found: NDArray[np.float32]) -> NDArray[np.int64]:
    """The cell of each vector."""
    import numpy as np

    parts = [(vectors[at : at + _AT_ONCE] @ found.T).argmax(axis=1) for at in range(0, len(vectors), _AT_ONCE)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def probes_for(cells: int, share: float) -> int:
    """How many cells a question looks into."""
    return min(cells, max(FEWEST_PROBES, round(cells * share)))
