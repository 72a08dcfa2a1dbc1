"""Lists behind questions: the same candidates as by comparing everything, however files came in, and bounded work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from lurcher.config import Settings, apply
from lurcher.stores.base import Head, Question, Sparse, Store, StoredFile, StoredUnit, store_at
from lurcher.stores.postgres import segments
from lurcher.stores.postgres import store as postgres_store
from tests.stores.memory import MemoryStore
from tests.stores.postgres_server import TestServer, postgres, server

DIMS = 16
CHANCE = np.random.default_rng(3)
TOPICS = CHANCE.normal(size=(40, DIMS))


def direction(topic: int) -> np.ndarray:
    """About one long; in half precision, as the store keeps it, so that others compare the same numbers."""
    vector = TOPICS[topic % 40] + 0.4 * CHANCE.normal(size=DIMS)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def made(number: int, units: int = 4) -> StoredFile:
    """A file about some topic; words are common and rare as in a text."""
    parts = []
    for place in range(units):
        numbers = np.unique((CHANCE.pareto(0.8, 12) * 3).astype(np.int64) % 5000).astype(np.uint32)
        weights = CHANCE.uniform(0.2, 2.5, len(numbers)).astype(np.float32)
        dense = None if (number + place) % 17 == 0 else direction(number)
        parts.append(StoredUnit(1, 2, "", "", f"{number} {place}", "", dense, Sparse(numbers, weights)))
    key, folder = str(UUID(int=number, version=5)), ("src", "lib", "docs")[number % 3]
    language = ("python", "go")[number % 2]
    return StoredFile(
        key, f"{folder}/f{number:05}.py", language, "d", (f"n{number % 50}",), direction(number), tuple(parts), b"%d" % number
    )


FILES = [made(number) for number in range(600)]


def asked(number: int) -> Question:
    words = sorted({1, 3, number % 9, 10 * number + 40})
    weights = np.linspace(1, 4, len(words)).astype(np.float32)
    return Question(direction(number), Sparse(np.array(words, np.uint32), weights), (f"n{number}",), depth=60, limit=40)


QUESTIONS = [asked(number) for number in range(12)]


def head(generation: int, files: int) -> Head:
    return Head(generation, "", "", "", files, 4 * files, DIMS, {})


@pytest.fixture
def store() -> Iterator[Store]:
    with postgres(Path()) as url:
        opened = store_at(url, Settings())
        yield opened
        opened.close()


@pytest.fixture
def here() -> TestServer:
    return server()


def same(store: Store, memory: MemoryStore, generation: int, question: Question) -> None:
    ours, theirs = (s.candidates("p", generation, question) for s in (store, memory))
    assert [item.key for item in ours] == [item.key for item in theirs]
    assert [dict(item.legs) for item in ours] == [dict(item.legs) for item in theirs]
    assert np.allclose([item.score for item in ours], [item.score for item in theirs])


def test_candidates_are_those_of_a_comparison_with_everything(store: Store) -> None:
    memory = MemoryStore()
    for each in (store, memory):
        each.put("p", FILES, 1, lambda done: None)
        each.publish("p", head(1, 600))
    for question in QUESTIONS[:4]:
        for one in (
            question, replace(question, rrf=1.0), replace(question, languages=("go",)),
            replace(question, folders=("lib", "docs")), replace(question, dense=None), replace(question, sparse=None),
            replace(question, names=()),
        ):  # fmt: skip
            same(store, memory, 1, one)


def test_it_does_not_matter_how_files_came_in(store: Store, here: TestServer) -> None:
    """Many small generations, with files that change and go, end where one large one does; and in few segments."""
    memory = MemoryStore()
    alive: list[StoredFile] = []
    for generation in range(1, 16):
        new = FILES[40 * (generation - 1) : 40 * generation]
        gone, alive = (alive[:15], alive[15:]) if generation % 2 else ([], alive)
        alive += new
        for each in (store, memory):
            each.put("p", new, generation, lambda done: None)
            each.retire("p", [file.key for file in gone], generation)
            each.publish("p", head(generation, len(alive)))
        if generation % 3 == 0:
            assert store.sweep("p", generation) == memory.sweep("p", generation)
        for question in QUESTIONS[:3]:
            same(store, memory, generation, question)
    ranges = here.run("SELECT low, high, files, gone FROM lurcher.segments ORDER BY low")
    assert len(ranges) <= 6 and all(a[1] == b[0] for a, b in pairwise(ranges))
    assert all(gone <= 0.5 * files + 15 for _, _, files, gone in ranges)


def test_a_segment_that_has_lost_many_files_is_rebuilt(store: Store, here: TestServer) -> None:
    store.put("p", FILES[:300], 1, lambda done: None)
    store.publish("p", head(1, 300))
    store.retire("p", [file.key for file in FILES[:200]], 2)
    store.publish("p", head(2, 100))
    assert store.sweep("p", 2) == 200
    assert here.run("SELECT files, gone FROM lurcher.segments") == [(300, 200)]
    store.publish("p", head(3, 100))
    assert here.run("SELECT files, gone FROM lurcher.segments") == [(100, 0)]
    left = here.run("SELECT count(DISTINCT e >> 32) FROM lurcher.postings, unnest(entries) AS e")
    assert left == [(100,)] and here.run("SELECT count(DISTINCT file) FROM lurcher.vectors") == [(100,)]


def test_a_large_range_becomes_several_segments(store: Store, here: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_UNITS", 500)
    memory = MemoryStore()
    for each in (store, memory):
        each.put("p", FILES, 1, lambda done: None)
        each.publish("p", head(1, 600))
    assert here.run("SELECT count(*), sum(files), sum(units) FROM lurcher.segments") == [(5, 600, 2400)]
    for question in QUESTIONS:
        same(store, memory, 1, question)


def test_cells_find_nearly_all_that_is_near(store: Store, here: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "VECTORS_PER_CELL", 20)
    store.put("p", FILES, 1, lambda done: None)
    store.publish("p", head(1, 600))
    assert here.run("SELECT count(*) FROM lurcher.cells") == [(150,)]
    exact = store_at(here.address(), apply(Settings(), {"postgres.vectors": "exact"}, "flag"))
    shares = []
    for question in QUESTIONS:
        asked = replace(question, sparse=None, names=(), depth=40)
        near = {item.key for item in store.candidates("p", 1, asked)}
        all_ = [item.key for item in exact.candidates("p", 1, asked)][:20]
        shares.append(len(near & set(all_)) / len(all_))
    exact.close()
    assert np.mean(shares) > 0.85
    store.put("p", [made(10_000 + number) for number in range(1900)], 2, lambda done: None)
    store.publish("p", head(2, 2500))
    assert here.run("SELECT count(*) FROM lurcher.cells") == [(625,)]


def test_common_words_do_not_cost_more(store: Store, here: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a word that every unit has, only the heaviest entries are read; of a rare one, all."""
    rare = Sparse(np.array([5, 9], np.uint32), np.array([1.0, 0.3], np.float32))
    files = []
    for number in range(500):
        units = []
        for place in range(9):
            common = Sparse(np.array([5], np.uint32), np.array([0.5 + number / 1000], np.float32))
            units.append(StoredUnit(1, 2, "", "", "", "", None, rare if (number, place) == (250, 4) else common))
        files.append(replace(made(number, 0), units=tuple(units), card=None))
    store.put("p", files, 1, lambda done: None)
    store.publish("p", head(1, 500))
    small = store_at(here.address(), Settings())
    asked = Sparse(np.array([5, 9], np.uint32), np.array([0.01, 9.0], np.float32))
    counts = [len(store.candidates("p", 1, Question(None, asked, depth=5000, limit=500)))]
    monkeypatch.setattr(postgres_store, "POSTINGS", 1000)
    best = small.candidates("p", 1, Question(None, asked, depth=50, limit=10))
    counts.insert(0, len(small.candidates("p", 1, Question(None, asked, depth=5000, limit=500))))
    small.close()
    assert counts[0] < 300 and counts[1] == 500
    assert best[0].key == files[250].key and [item.key for item in best[1:4]] == [
        files[number].key for number in (499, 498, 497)
    ]
    assert here.run("SELECT max(size), count(*) FROM lurcher.postings WHERE term = 5") == [(2048, 3)]


def test_an_index_of_pgvector_can_be_used(here: TestServer) -> None:
    if not _hnsw_works(here):
        pytest.skip("this build of pgvector cannot make the index on this processor: the server goes down")
    with postgres(Path()) as url:
        store = store_at(url, apply(Settings(), {"postgres.vectors": "hnsw"}, "flag"))
        store.put("p", FILES[:200], 1, lambda done: None)
        store.publish("p", head(1, 200))
        asked = replace(QUESTIONS[1], sparse=None, names=(), depth=20)
        found = {item.key for item in store.candidates("p", 1, asked)}
        store.close()
        exact = store_at(url, apply(Settings(), {"postgres.vectors": "exact"}, "flag"))
        assert len(found & {item.key for item in exact.candidates("p", 1, asked)}) > 0.8 * len(found) > 5
        exact.close()


def _hnsw_works(here: TestServer) -> bool:
    import time

    import psycopg

    try:
        here.run(
            "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public",
            "CREATE TEMP TABLE t (v halfvec(4))",
            "INSERT INTO t SELECT '[1,2,3,4]' FROM generate_series(1, 50)",
            "CREATE INDEX ON t USING hnsw (v halfvec_ip_ops)",
        )
        return True
    except psycopg.OperationalError:
        for _ in range(100):  # it comes back by itself
            time.sleep(0.1)
            try:
                here.run("SELECT 1")
                break
            except psycopg.OperationalError:
                continue
        return False


def test_centres_are_the_same_for_the_same_vectors() -> None:
    sample = np.array([direction(number) for number in range(300)])
    first, second = segments.find_centres(sample, 10), segments.find_centres(sample.copy(), 10)
    assert first.shape == (10, DIMS) and (first == second).all() and np.allclose(np.linalg.norm(first, axis=1), 1)
    assert segments.cell_count(100) == 1 and segments.cell_count(10**9) == segments.MAX_CELLS
