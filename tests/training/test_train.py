"""Training: what it learns from a corpus small enough to know the answer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from training.grams import fit
from training.kernels import forward, transpose
from training.train import Pairs, Recipe, Rows, Trained, start, train

TOPICS = 40
RECIPE = Recipe(dims=16, batch=64, block=16, epochs=25.0, rate=0.02, hide=0.0)


def rows_of(lists: list[list[int]]) -> Rows:
    starts = np.concatenate(([0], np.cumsum([len(row) for row in lists]))).astype(np.int64)
    ids = np.array([i for row in lists for i in row], np.int32)
    return Rows(starts, ids, np.ones(len(ids), np.float32))


def corpus(count: int = 512) -> Pairs:
    """Topic t is asked for by the words 2t and 2t+1 and answered by two others that never stand in a question."""
    rng = np.random.default_rng(5)
    topics = rng.integers(TOPICS, size=count)
    queries = rows_of([[2 * t + int(rng.integers(2)), 4 * TOPICS] for t in topics.tolist()])
    documents = rows_of([[2 * TOPICS + 2 * t + int(rng.integers(2)), 4 * TOPICS] for t in topics.tolist()])
    package = np.sort(rng.integers(8, size=count)).astype(np.int32)
    return Pairs(queries, documents, package, np.arange(count), np.zeros(count, np.uint8))


def trained(recipe: Recipe = RECIPE) -> Trained:
    terms = 4 * TOPICS + 1
    return train(corpus(), terms, recipe, start(terms, recipe.dims, np.ones(terms, np.float32), recipe.seed))


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_words_that_answer_each_other_come_near() -> None:
    table = trained().table
    right = [float(unit(table[2 * t]) @ unit(table[2 * TOPICS + 2 * t])) for t in range(TOPICS)]
    wrong = [float(unit(table[2 * t]) @ unit(table[2 * TOPICS + 2 * ((t + 7) % TOPICS)])) for t in range(TOPICS)]
    assert np.mean(right) > 0.6 > 0.3 > np.mean(wrong)


def test_a_word_that_occurs_everywhere_loses_weight() -> None:
    result = trained()
    assert result.query_weights[4 * TOPICS] < np.median(result.query_weights[: 2 * TOPICS])


def test_the_same_seed_gives_the_same_table_and_another_does_not() -> None:
    first, again = trained(), trained()
    assert np.array_equal(first.table, again.table) and np.array_equal(first.query_weights, again.query_weights)
    assert not np.array_equal(first.table, trained(Recipe(dims=16, batch=64, block=16, epochs=25.0, rate=0.02, seed=1)).table)


@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_sums_equal_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rows_of([rng.integers(30, size=int(rng.integers(0, 9))).tolist() for _ in range(20)])
    table, weights = rng.standard_normal((30, 8), np.float32), rng.random(30, np.float32)
    out = np.empty((20, 8), np.float32)
    forward(rows.starts, rows.ids, rows.values, weights, table, out)
    edges = pairwise(rows.starts.tolist())
    plain = [sum((weights[i] * table[i] for i in rows.ids[a:b]), np.zeros(8)) for a, b in edges]
    assert np.allclose(out, plain, atol=1e-5)
    touched, begins, owners, _ = transpose(rows.starts, rows.ids, rows.values, np.full(30, -1, np.int32))
    assert touched.tolist() == sorted(set(rows.ids.tolist()))
    for j, term in enumerate(touched.tolist()):
        here = owners[begins[j] : begins[j + 1]]
        assert here.tolist() == [i for i in range(20) for k in rows.ids[rows.starts[i] : rows.starts[i + 1]] if k == term]


def test_grams_compose_what_they_were_fitted_to() -> None:
    from lurcher.vectors.unseen_terms import hash_grams

    rng = np.random.default_rng(0)
    endings = ("er", "ing", "able", "s", "file", "stream")
    stems = [f"{verb}{ending}" for verb in ("read", "write", "open", "close", "parse") for ending in endings]
    vectors = np.stack([unit(rng.standard_normal(12)) for _ in stems]).astype(np.float32)
    rows = fit(stems, vectors, np.ones(len(stems)), (3, 4, 5), 4096)
    places, owners = hash_grams(stems, (3, 4, 5), 4096)
    composed = np.stack([rows[places[owners == i]].mean(0) for i in range(len(stems))])
    near = [float(unit(a) @ unit(b)) for a, b in zip(composed, vectors, strict=True)]
    assert min(near) > 0.7 and np.mean(near) > 0.95
