"""Readers see one whole generation whoever writes; writers wait for each other, or step aside and say so.

`python -m tests.indexing.stress` is the long form; STRESS_SEED chooses another course of events here.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import IndexLocked
from lurcher.indexing.root_index import RootIndex
from tests.conftest import Run
from tests.indexing.conftest import QUESTIONS, answers, opened, write
from tests.indexing.faults import Stop, ended, forked, recorded, watched
from tests.indexing.stress import PAIR, ROLES, Course, come_and_go, line, pair, wrong_in

SEED = int(os.environ.get("STRESS_SEED", "20261116"))


def test_readers_and_writers_at_once_see_whole_generations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = Course(tmp_path)
    done, problems = course.run(4, SEED, ROLES)
    with capsys.disabled():
        print(f"\n{line(done, problems, SEED)}")
    assert problems == []
    assert set(done) == {"edits", "reads", "searches", "threads"}
    assert min(done.values()) >= 1
    assert answers(course.opened()) == answers(opened(course.root, tmp_path / "fresh"))


def test_an_index_that_comes_and_goes_gives_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = Course(tmp_path)
    done, problems = course.run(3, SEED, (come_and_go,) * 3)
    with capsys.disabled():
        print(f"\n{line(done, problems, SEED)}")
    assert problems == []
    assert answers(course.opened()) == answers(opened(course.root, tmp_path / "fresh"))


def test_a_status_while_others_write_is_that_of_one_generation(tmp_path: Path) -> None:
    course = Course(tmp_path)

    def work() -> None:
        engine = course.opened()
        for stamp in range(1, 40):
            write(course.root, pair(stamp))
            engine.index(rebuild=stamp % 2 == 0)

    number = forked(work)
    reader = course.opened()
    seen = set()
    while os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        status = reader.status()
        assert status["exists"], status
        seen.add(status["generation"])
    assert ended(number) == 0
    assert len(seen) > 3


def test_segments_that_another_process_sweeps_while_several_roots_are_opened(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    write(other, {"zeppelin.py": "def zeppelin(): return parse_cookie\n"})
    expected = [hit.path for hit in Engine.open([root, other]).search("parse_cookie").hits]
    original = RootIndex.view

    def view(project: RootIndex, *arguments: object, **options: object) -> object:
        if project.root.path == other.resolve():
            write(root, {f"more/m{i}.py": "x = 1\n" for i in range(30)})
            opened(root).index(rebuild=True)
        return original(project, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(RootIndex, "view", view)
    answer = Engine.open([root, other]).search("parse_cookie")
    assert [hit.path for hit in answer.hits] == expected
    assert answer.degraded == ()


def test_a_mixture_would_be_seen(tmp_path: Path) -> None:
    course = Course(tmp_path)
    question = "both halves of the pair"
    assert wrong_in(course.opened().search(question, limit=30), 0) == ""
    assert "stamp" in wrong_in(course.opened().search(question, limit=30), 1)
    write(course.root, {PAIR[0]: pair(1)[PAIR[0]]})
    assert "mixture" in wrong_in(course.opened().search(question, limit=30))
    write(course.root, {PAIR[0]: pair(0)[PAIR[1]]})
    assert "another file's" in wrong_in(course.opened().search(question, limit=30))


# -- the lock ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(root: Path) -> Iterator[Path]:
    """An index that someone else is writing, and a file that changed meanwhile."""
    opened(root).index()
    write(root, {"src/cookies.py": "def read_biscuit(): pass\n", "new.py": "def zeppelin(): pass\n"})
    with open(root / ".lurcher/lock", "rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield root


def test_a_search_steps_aside_for_a_writer_and_says_how_stale_it_is(held: Path) -> None:
    answer = opened(held, lock_seconds=0.05).search("parse_cookie")
    assert answer.hits[0].path == "src/cookies.py"
    assert (answer.index.fresh, answer.index.stale_paths) == (False, 2)
    assert [note.stage for note in answer.degraded] == ["freshness", "freshness"]
    assert "another process is writing the index" in answer.degraded[0].reason
    assert "index.lock_seconds" in answer.degraded[0].hint


def test_indexing_steps_aside_for_a_writer_and_the_status_is_true(held: Path) -> None:
    status = opened(held, lock_seconds=0.05).index()
    assert (status["fresh"], status["stale_paths"]) == (False, 2)


@pytest.mark.parametrize("what", ["rebuild", "clear"])
def test_what_cannot_be_done_beside_a_writer_is_refused(held: Path, what: str) -> None:
    began = time.monotonic()
    engine = opened(held, lock_seconds=0.2)
    with pytest.raises(IndexLocked, match="another process is writing the index") as refused:
        engine.index(rebuild=True) if what == "rebuild" else engine.clear()
    assert time.monotonic() - began >= 0.2
    assert "lock_seconds" in refused.value.hint
    assert opened(held, lock_seconds=0).search("parse_cookie").hits[0].path == "src/cookies.py"


def test_without_any_generation_there_is_nothing_to_step_aside_to(root: Path) -> None:
    opened(root).index()
    (root / ".lurcher/manifest").unlink()
    with open(root / ".lurcher/lock", "rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(IndexLocked):
            opened(root, lock_seconds=0.05).search("parse_cookie")
    assert opened(root, lock_seconds=0).search("parse_cookie").degraded == ()


def test_the_lock_of_a_writer_that_was_killed_is_free(root: Path) -> None:
    index = root / ".lurcher"
    steps = recorded(lambda: opened(root).index())
    opened(root).clear()
    place = next(i for i, (name, path) in enumerate(steps) if name == "rename" and path.suffix == ".segment")

    def work() -> None:
        with watched(Stop(place - 3)):
            opened(root).index()

    assert ended(forked(work)) == -signal.SIGKILL
    assert (index / "lock").exists()
    assert opened(root, lock_seconds=0).search("parse_cookie").degraded == ()
    assert not list(index.glob(".*.tmp"))


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe nonsense \0", b"%d\n" % os.getpid(), b"1\n", b"x" * 100_000],
    ids=["empty", "nonsense", "ourselves", "another", "long"],
)  # fmt: skip
def test_the_content_of_a_lock_file_does_not_matter(root: Path, content: bytes) -> None:
    opened(root).index()
    (root / ".lurcher/lock").write_bytes(content)
    write(root, {"new.py": "def zeppelin(): pass\n"})
    answer = opened(root, lock_seconds=0).search("zeppelin")
    assert (answer.hits[0].path, answer.degraded) == ("new.py", ())


@pytest.mark.parametrize("what", ["folder", "pipe", "link", "dangling link"])
def test_what_cannot_be_a_lock_is_named_and_answers_come_from_memory(root: Path, tmp_path: Path, what: str) -> None:
    said = answers(opened(root))
    time.sleep(0.06)
    opened(root).refresh()  # from now on time stamps are believed, and nothing has to be written
    lock = root / ".lurcher/lock"
    lock.unlink()
    if what == "folder":
        lock.mkdir()
    elif what == "pipe":
        os.mkfifo(lock)
    else:
        target = tmp_path / "victim"
        lock.symlink_to(target)
        if what == "link":
            target.write_text("precious")
    assert answers(opened(root)) == said
    write(root, {"new.py": "def zeppelin(): pass\n"})
    answer = opened(root, lock_seconds=0).search("zeppelin")
    assert answer.hits[0].path == "new.py"
    assert [note.reason for note in answer.degraded] == [f"the index is kept in memory only: {lock} is not a file"]
    assert not (tmp_path / "victim").exists() or (tmp_path / "victim").read_text() == "precious"
    lock.rmdir() if what == "folder" else lock.unlink()
    assert opened(root).search("zeppelin").degraded == ()


@pytest.mark.parametrize(("mode", "taken"), [(0o444, True), (0o000, False)])
def test_a_lock_that_may_not_be_written(
    root: Path, run: Run, without_privileges: tuple[str, ...], mode: int, taken: bool
) -> None:
    opened(root).index()
    (root / ".lurcher/lock").chmod(mode)
    write(root, {"new.py": "def zeppelin(): pass\n"})
    result = run("search", "zeppelin", root, "--json", before=without_privileges)
    assert result.json["hits"][0]["path"] == "new.py"
    notes = [note["reason"] for note in result.json["degraded"]]
    assert notes == ([] if taken else ["the index is kept in memory only: Permission denied"])


def test_engines_of_one_process_wait_for_each_other(root: Path) -> None:
    """The lock is the file's, not the process's: two engines of one process are two writers."""
    one, other = opened(root, lock_seconds=30), opened(root, lock_seconds=30)
    problems: list[str] = []

    def work(engine: Engine, name: str) -> None:
        for step in range(6):
            write(root, {f"{name}.py": f"def {name}_{step}(): pass\n"})
            engine.index(rebuild=step % 3 == 2)
            hits = engine.search(f"{name}_{step}").hits
            if not hits or hits[0].path != f"{name}.py":
                problems.append(f"{name} {step}")

    threads = [threading.Thread(target=work, args=pair) for pair in ((one, "airship"), (other, "zeppelin"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert opened(root).search(QUESTIONS[0]).degraded == ()
