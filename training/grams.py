"""Rows for hashed character n-grams, fitted so that the grams of a known term add up to its trained vector.

A term that the table does not know is then composed from its grams. Training them apart from the table costs seconds and
leaves the table as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lurcher.vectors.unseen_terms import hash_grams

F32 = NDArray[np.float32]


def fit(
    terms: Sequence[str], vectors: F32, frequency: NDArray[np.float64], lengths: Sequence[int], buckets: int, rounds: int = 60
) -> F32:
    """Least squares by conjugate gradients: bucket rows whose mean over a term's grams is near the term's vector.

    Frequent terms weigh more, but only by the root of the logarithm: what is composed later is rare.
    """
    from scipy.sparse import csr_matrix

    places, owners = hash_grams(terms, lengths, buckets)
    counts = np.bincount(owners, minlength=len(terms))
    cells = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    weight = np.sqrt(1 + np.log1p(frequency)).astype(np.float32)
    matrix = csr_matrix((cells * weight[owners], (owners, places)), (len(terms), buckets))
    goal = vectors * weight[:, None]
    ridge = np.float32(0.02)
    rows = np.zeros((buckets, vectors.shape[1]), np.float32)
    residual = matrix.T @ goal
    direction = residual.copy()
    energy = (residual * residual).sum(0)
    for _ in range(rounds):
        image = matrix.T @ (matrix @ direction) + ridge * direction
        step = energy / np.maximum((direction * image).sum(0), 1e-12)
        rows += step * direction
        residual -= step * image
        after = (residual * residual).sum(0)
        direction = residual + (after / np.maximum(energy, 1e-12)) * direction
        energy = after
    return np.ascontiguousarray(rows, np.float32)
