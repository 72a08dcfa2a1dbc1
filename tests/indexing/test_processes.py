"""Several processes at one index, and writers that end before their time."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from pathlib import Path

import pytest

from lurcher.errors import IndexLocked
from lurcher.storage import IndexFolder
from tests.indexing.conftest import QUESTIONS, answers, opened, write
from tests.indexing.processes import INDEX, intact, running

# Holds the index open for writing: stops in the middle of a build and says so.
STUCK = """
import sys, time
from lurcher.engine import Engine
from lurcher.indexing import writer

def stuck(*arguments):
    (writer.Path(sys.argv[1]) / ".lurcher" / ".x.segment.1.tmp").write_bytes(b"half")
    print("building", flush=True)
    time.sleep(60)

writer.build_segment = stuck
Engine.open(sys.argv[1], root=sys.argv[1]).index()
"""


def test_processes_that_index_at_once_leave_one_index(root: Path) -> None:
    write(root, {f"many/m{i}.py": f"def function_{i}(): return {i}\n" * 20 for i in range(60)})
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(running(INDEX, root)) for _ in range(4)]
        for process in processes:
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, "")
    intact(root)
    status = opened(root).status()
    assert (status["generation"], status["files"], len(status["segments"])) == (1, 65, 1)


def test_questions_while_another_process_edits_and_indexes_are_all_answered(root: Path) -> None:
    """Readers that meet a generation which is just being replaced take the next one, and do not call it damage."""
    stop = threading.Event()
    problems: list[object] = []

    def ask() -> None:
        while not stop.is_set():
            answer = opened(root).search("parse_cookie", refresh=False)
            if not answer.hits or any("rebuilt" in note.reason for note in answer.degraded):
                problems.append(answer.degraded or "no hits")

    opened(root).refresh()
    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    other = opened(root)
    for step in range(40):
        write(root, {"src/client.py": f"def step_{step}(): pass\n", "web/router.ts": f"let step_{step} = 1\n"})
        other.refresh()
    stop.set()
    for reader in readers:
        reader.join(120)
    assert problems == []
    intact(root)


def test_a_killed_writer_frees_the_lock_and_leaves_nothing(root: Path) -> None:
    with running(STUCK, root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "building\n"
        with pytest.raises(IndexLocked):
            opened(root, lock_seconds=0.05).search(QUESTIONS[0])
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    answer = opened(root, lock_seconds=0.05).search(QUESTIONS[0])
    assert answer.hits
    assert answer.degraded == ()
    intact(root)


def test_while_another_process_writes_the_last_generation_answers(root: Path) -> None:
    opened(root).refresh()
    write(root, {"src/cookies.py": "def read_biscuit(): pass\n"})
    with running(STUCK, root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "building\n"
        answer = opened(root, lock_seconds=0.05).search("parse_cookie")
        assert answer.hits[0].path == "src/cookies.py"
        assert (answer.index.fresh, answer.index.stale_paths) == (False, 1)
        assert {note.stage for note in answer.degraded} == {"freshness"}
        assert any(f"process {process.pid} is writing" in note.reason for note in answer.degraded)
    assert opened(root).search("read_biscuit").degraded == ()


def test_what_another_process_did_meanwhile_is_not_done_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(root), opened(root)
    assert one.refresh() == other.refresh()
    (root / "docs/guide.md").unlink()
    write(root, {"new.py": "def zeppelin(): pass\n"})
    waited = one.projects[0].store
    original = IndexFolder.lock

    def lock(store: IndexFolder, seconds: float) -> contextlib.AbstractContextManager[None]:
        if store is waited and not done:
            done.append(other.refresh())
            write(root, {"newer.py": "def airship(): pass\n"})
        return original(store, seconds)

    done: list[object] = []
    monkeypatch.setattr(IndexFolder, "lock", lock)
    assert one.search("zeppelin").index.generation == 3
    assert one.search("airship").hits[0].path == "newer.py"
    assert other.refresh().generation == 3
    assert len(done) == 1


def test_an_index_that_was_cleared_meanwhile_is_made_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had changed since the cleared index is not all that the new one must hold."""
    one, other = opened(root), opened(root)
    one.refresh()
    time.sleep(0.06)
    one.refresh()  # now the files' time stamps are believed
    write(root, {"new.py": "def zeppelin(): pass\n"})
    waited, original, done = one.projects[0].store, IndexFolder.lock, []

    def lock(store: IndexFolder, seconds: float) -> contextlib.AbstractContextManager[None]:
        if store is waited and not done:
            done.append(other.clear())
        return original(store, seconds)

    monkeypatch.setattr(IndexFolder, "lock", lock)
    assert one.search("zeppelin").hits[0].path == "new.py"
    assert one.search("parse_cookie", check=False).hits[0].path == "src/cookies.py"
    assert done == [True]


def test_a_waiting_process_goes_on_when_the_lock_is_free(root: Path) -> None:
    store = IndexFolder(str(root / ".lurcher"))
    with store.lock(1):
        waiting = threading.Thread(target=lambda: opened(root, lock_seconds=20).refresh())
        waiting.start()
        time.sleep(0.1)
        assert waiting.is_alive()
        assert not (root / ".lurcher/manifest").exists()
    waiting.join(120)
    assert (root / ".lurcher/manifest").exists()


def test_threads_of_one_engine_agree(root: Path) -> None:
    engine = opened(root)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(answers(engine))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == [answers(engine)] * 4
