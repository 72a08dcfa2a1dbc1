"""The sparse half of training: sums of weighted rows, and their gradients. Compiled, parallel, the same bits on every run.

A batch is a CSR matrix X (pairs × terms). Its vectors are X @ (w ∘ T); the gradient of a term is gathered from the batch's
transpose, so that each row is written by one thread in a fixed order.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(parallel=True, fastmath=True, cache=True)
def forward(starts, ids, values, weights, table, out):  # type: ignore[no-untyped-def]
    """out[i] = Σ_k values[k] · weights[ids[k]] · table[ids[k]] over row i."""
    dims = table.shape[1]
    for i in prange(len(starts) - 1):
        for d in range(dims):
            out[i, d] = 0.0
        for k in range(starts[i], starts[i + 1]):
            row = table[ids[k]]
            x = values[k] * weights[ids[k]]
            for d in range(dims):
                out[i, d] += x * row[d]


@njit(cache=True)
def transpose(starts, ids, values, slots):  # type: ignore[no-untyped-def]
    """The columns of a batch: distinct ids in order, where each starts, its rows and values. `slots` is scratch, all -1."""
    touched = np.unique(ids)
    for j in range(len(touched)):
        slots[touched[j]] = j
    counts = np.zeros(len(touched) + 1, np.int64)
    for k in range(len(ids)):
        counts[slots[ids[k]] + 1] += 1
    begins = np.cumsum(counts)
    place = begins[:-1].copy()
    rows = np.empty(len(ids), np.int32)
    cells = np.empty(len(ids), np.float32)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            j = slots[ids[k]]
            rows[place[j]] = i
            cells[place[j]] = values[k]
            place[j] += 1
    for j in range(len(touched)):
        slots[touched[j]] = -1
    return touched, begins, rows, cells


@njit(parallel=True, fastmath=True, cache=True)
def update(touched, begins, rows, cells, gradient, table, weights, moment, wmoment, rate, wrate, step):  # type: ignore[no-untyped-def]
    """One step of row-wise Adam (no first moment) for the touched rows and their weights."""
    dims = table.shape[1]
    fix = 1.0 - 0.999 ** step
    for j in prange(len(touched)):
        t = touched[j]
        sums = np.zeros(dims, np.float32)
        for k in range(begins[j], begins[j + 1]):
            g = gradient[rows[k]]
            x = cells[k]
            for d in range(dims):
                sums[d] += x * g[d]
        dot = np.float32(0.0)
        square = np.float32(0.0)
        for d in range(dims):
            dot += sums[d] * table[t, d]
            square += sums[d] * sums[d]
        w = weights[t]
        square *= w * w / dims
        moment[t] = 0.999 * moment[t] + 0.001 * square
        wmoment[t] = 0.999 * wmoment[t] + 0.001 * dot * dot
        scale = rate * w / (np.sqrt(moment[t] / fix) + 1e-10)
        for d in range(dims):
            table[t, d] -= scale * sums[d]
        weights[t] = max(w - wrate * dot / (np.sqrt(wmoment[t] / fix) + 1e-10), np.float32(0.01))
