"""The rest of a long history is read in the background, and answers of a partial one are not sure."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.config import load
from lurcher.corpora.history import update
from lurcher.corpora.history.index import HistoryIndex, history_status
from lurcher.server import history_fill
from tests.corpora.history.repo import Repo

QUERY = "change of step 29"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "tree")
    for number in range(30):
        made.commit(f"Change of step {number}", {"a.py": f"step = {number}\n"})
    return made


@pytest.fixture
def partial(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that reads only some of the commits, because it has no time."""
    monkeypatch.setattr(update, "FIRST_BATCH", 6)
    monkeypatch.setattr(update, "_LISTED_FIRST", 12)
    monkeypatch.setattr(HistoryIndex, "batch", 4)
    engine = Engine.open(repo.top, index_dir=tmp_path / "i", overrides={"history.refresh_seconds": 0})
    engine.history_corpus.deferred = True
    return engine


def test_a_partial_history_is_not_sure_and_says_so_first(partial: Engine, tmp_path: Path, repo: Repo) -> None:
    answer = partial.history(QUERY)
    covered = answer.index.coverage["history"]
    assert 0 < covered < 0.5 and answer.confidence == "weak" and answer.caveat == ""
    count = round(30 * covered)
    share = 100 * count // 30
    said = f"the newest {count} of 30 commits are searched so far ({share} %); the rest is read in the background"
    assert answer.degraded[0].reason == said
    whole = Engine.open(repo.top, index_dir=tmp_path / "whole")
    whole.index(history=True)
    sure = whole.history(QUERY)
    assert sure.confidence is None and sure.index.coverage == {"history": 1.0}
    assert answer.hits[0].commit is not None and sure.hits[0].commit is not None
    assert answer.hits[0].commit.sha == sure.hits[0].commit.sha
    stage = answer.hits[0].why.stages[-1]
    assert stage.stage == "coverage" and stage.factor == pytest.approx(count / 30)
    assert answer.hits[0].score <= count / 30 < sure.hits[0].score


def test_with_code_too_commits_of_a_partial_history_count_for_less(partial: Engine) -> None:
    answer = partial.search("why was step 29 changed", sources=["all"])
    assert all(hit.score < 0.5 for hit in answer.hits if hit.source == "history")
    assert answer.index.coverage["history"] < 0.5


def test_commits_that_are_not_counted_are_not_taken_for_all(partial: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lurcher.sources.git.log.finish_count", lambda process, seconds: 0)
    answer = partial.history(QUERY)
    assert answer.index.coverage == {"history": 0.0} and answer.confidence == "weak"
    assert answer.degraded[0].reason.startswith("the newest 6 commits are searched so far")
    status = history_status(partial.projects[0])
    assert status is not None and status["total"] is None


def test_the_process_reads_the_rest(partial: Engine) -> None:
    first = partial.history(QUERY).index.coverage["history"]
    assert partial.history(QUERY).index.coverage["history"] == first, "a question leaves the rest to the process"
    assert history_fill.start_filling(partial) == 1
    deadline = time.monotonic() + 120
    while partial.history(QUERY).index.coverage["history"] < 1.0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert partial.history(QUERY).confidence is None
    assert history_fill.start_filling(partial) == 0


def test_no_process_is_started_while_another_writes(partial: Engine, tmp_path: Path) -> None:
    partial.history(QUERY)
    other = Engine.open(partial.roots[0], index_dir=tmp_path / "i").history_corpus.indexes[0]
    with other.store.lock(1.0):
        assert history_fill.start_filling(partial) == 0


def test_it_is_not_for_ci_unless_asked_for_and_can_be_turned_off() -> None:
    plain, machine = load(None, environ={}), {"CI": "true"}
    assert history_fill.is_allowed(plain, {}) and not history_fill.is_allowed(plain, machine)
    assert history_fill.is_allowed(load(None, {"history.background": "true"}, {}), machine)
    assert not history_fill.is_allowed(load(None, {"history.background": "false"}, {}), {})


def test_who_asks_for_all_waits_as_long_as_another_writer_makes_headway(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "FIRST_BATCH", 6)
    monkeypatch.setattr(update, "_LISTED_FIRST", 12)
    monkeypatch.setattr(HistoryIndex, "batch", 4)
    started = threading.Event()

    def read_slowly(what: str, done: int, total: int) -> None:
        if what == "reading history":
            if done > 6:
                started.set()
            time.sleep(0.2)

    folder = tmp_path / "i"
    other = Engine.open(repo.top, index_dir=folder)
    engine = Engine.open(repo.top, index_dir=folder, overrides={"index.lock_seconds": 3})
    writer = threading.Thread(target=lambda: other.index(history=True, progress=read_slowly))
    writer.start()
    try:
        assert started.wait(60)
        before = time.monotonic()
        engine.index(history=True)
        assert time.monotonic() - before > 3, "the other writer was too quick for this test"
    finally:
        writer.join()
    assert engine.history(QUERY).index.coverage == {"history": 1.0}
