"""Pairs → a term table: InfoNCE with in-batch negatives, batches built of blocks from one package each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.kernels import forward, transpose, update

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recipe:
    dims: int = 256
    batch: int = 2048
    block: int = 512
    """Pairs of one package that stand together in a batch: what is near in subject must be told apart."""
    temperature: float = 0.05
    epochs: float = 1.0
    rate: float = 0.002
    """Low, so that rare terms stay near where they started."""
    weight_rate: float = 0.01
    same_file: str = "mask"
    """Other documents of the query's own file: "mask" (neither right nor wrong) or "negative"."""
    hide: float = 0.5
    """Chance that a document term which the query also has is hidden from the document, so that other words must do."""
    both_ways: float = 0.5
    """Weight of document → query beside query → document."""
    seed: int = 0


@dataclass(slots=True)
class Rows:
    """A CSR matrix of counts."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: F32

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        places = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return Rows(starts, self.ids[places], self.values[places])


@dataclass(slots=True)
class Pairs:
    queries: Rows
    documents: Rows
    package: NDArray[np.int32]
    """Pairs of a package are neighbours."""
    file: NDArray[np.int64]
    kind: NDArray[np.uint8]


@dataclass(slots=True)
class Trained:
    table: F32
    query_weights: F32
    document_weights: F32


def train(
    pairs: Pairs,
    terms: int,
    recipe: Recipe,
    first: Trained,
    tell: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> Trained:
    """Train from `first`, which is changed in place and returned."""
    rng = np.random.default_rng(recipe.seed)
    table, wq, wd = first.table, first.query_weights, first.document_weights
    moment, mq, md = (np.zeros(terms, np.float32) for _ in range(3))
    moment_d = np.zeros(terms, np.float32)
    slots = np.full(terms, -1, np.int32)
    steps_per_epoch = len(pairs.package) // recipe.batch
    steps = int(steps_per_epoch * recipe.epochs)
    order = np.zeros((0, recipe.batch), np.int64)
    loss_mean = 0.0
    for step in range(1, steps + 1):
        if not len(order):
            order = _batches(pairs.package, recipe, rng)
        chosen, order = order[0], order[1:]
        queries, documents = pairs.queries.take(chosen), pairs.documents.take(chosen)
        if recipe.hide:
            documents = _hidden(queries, documents, terms, recipe.hide, rng)
        q, qn = _vectors(queries, wq, table)
        d, dn = _vectors(documents, wd, table)
        loss, gq, gd = _contrast(q, d, pairs.file[chosen], recipe)
        # Through the normalisation: only what is orthogonal to the vector changes its direction.
        gq = (gq - (gq * q).sum(1, keepdims=True) * q) / qn
        gd = (gd - (gd * d).sum(1, keepdims=True) * d) / dn
        warm = min(1.0, step / 100) * max(0.02, 1 - step / steps)
        qt = transpose(queries.starts, queries.ids, queries.values, slots)
        dt = transpose(documents.starts, documents.ids, documents.values, slots)
        update(*qt, gq, table, wq, moment, mq, np.float32(recipe.rate * warm), np.float32(recipe.weight_rate * warm), step)
        update(*dt, gd, table, wd, moment_d, md, np.float32(recipe.rate * warm), np.float32(recipe.weight_rate * warm), step)
        loss_mean = loss if step == 1 else 0.98 * loss_mean + 0.02 * loss
        tell(step, steps, loss_mean)
    return first


def start(terms: int, dims: int, idf: F32, seed: int, known: F32 | None = None) -> Trained:
    """Small random rows (or `known` ones, scaled alike), weights that favour rare terms."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((terms, dims), np.float32) / np.float32(np.sqrt(dims))
    if known is not None:
        norms = np.linalg.norm(known, axis=1, keepdims=True)
        table = np.where(norms > 0, known / np.maximum(norms, 1e-9), table).astype(np.float32)
    weights = (0.3 + 0.7 * idf / idf.max()).astype(np.float32)
    return Trained(table, weights.copy(), weights.copy())


def _vectors(rows: Rows, weights: F32, table: F32) -> tuple[F32, F32]:
    out = np.empty((len(rows.starts) - 1, table.shape[1]), np.float32)
    forward(rows.starts, rows.ids, rows.values, weights, table, out)
    norms = np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)
    return out / norms, norms


def _contrast(q: F32, d: F32, files: NDArray[np.int64], recipe: Recipe) -> tuple[float, F32, F32]:
    """The mean loss and its gradients with respect to the unit vectors."""
    n = len(q)
    logits = q @ d.T
    logits *= np.float32(1 / recipe.temperature)
    if recipe.same_file == "mask":
        _mask(logits, files)
    own = logits.diagonal().copy()
    forwards = logits - logits.max(1, keepdims=True)
    np.exp(forwards, out=forwards)
    total = forwards.sum(1, keepdims=True)
    loss = float(-(own - logits.max(1) - np.log(total[:, 0])).mean())
    forwards /= total
    if recipe.both_ways:
        backwards = logits - logits.max(0, keepdims=True)
        np.exp(backwards, out=backwards)
        backwards /= backwards.sum(0, keepdims=True)
        share = np.float32(recipe.both_ways / (1 + recipe.both_ways))
        forwards *= 1 - share
        backwards *= share
        forwards += backwards
    forwards[np.arange(n), np.arange(n)] -= 1
    forwards *= np.float32(1 / (n * recipe.temperature))
    return loss, forwards @ d, forwards.T @ q


def _mask(logits: F32, files: NDArray[np.int64]) -> None:
    order = np.argsort(files, kind="stable")
    ordered = files[order]
    edges = np.flatnonzero(np.diff(ordered)) + 1
    for group in np.split(order, edges):
        if len(group) > 1:
            own = logits[group, group].copy()
            logits[np.ix_(group, group)] = -1e4
            logits[group, group] = own


def _batches(package: NDArray[np.int32], recipe: Recipe, rng: np.random.Generator) -> NDArray[np.int64]:
    """One epoch: pairs shuffled within their package, cut into blocks, blocks shuffled, batches cut from those."""
    keys = rng.random(len(package))
    order = np.lexsort((keys, package))
    # A random start lets a package's remainder meet another package's at a different place each epoch.
    order = np.roll(order, int(rng.integers(recipe.block)))
    blocks = order[: len(order) // recipe.block * recipe.block].reshape(-1, recipe.block)
    blocks = blocks[rng.permutation(len(blocks))]
    flat = blocks.reshape(-1)
    whole: NDArray[np.int64] = flat[: len(flat) // recipe.batch * recipe.batch].reshape(-1, recipe.batch)
    return whole


def _hidden(queries: Rows, documents: Rows, terms: int, chance: float, rng: np.random.Generator) -> Rows:
    """The documents, less some of the terms that their queries have."""
    def keys(rows: Rows) -> NDArray[np.int64]:
        owners = np.repeat(np.arange(len(rows.starts) - 1, dtype=np.int64), np.diff(rows.starts))
        return owners * terms + rows.ids

    ours = keys(documents)
    shared = np.isin(ours, keys(queries))
    drop = shared & (rng.random(len(ours)) < chance)
    return Rows(documents.starts, documents.ids, np.where(drop, np.float32(0), documents.values))
