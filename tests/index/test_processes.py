"""Several processes at one index, and processes that end before their time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.embedding.table import Table
from lurcher.errors import IndexLocked, ModelError
from lurcher.index import worker, writer
from lurcher.index.build import build
from lurcher.index.container import Container, pack_sections
from lurcher.index.segment import SegmentData, encode
from lurcher.index.store import Store
from lurcher.index.worker import build_shards
from tests.index.conftest import QUESTIONS, answers, opened, write
from tests.tables import write_tiny

INDEX = "import sys; from lurcher.engine import Engine; Engine.open(sys.argv[1], root=sys.argv[1]).index()"
# Holds the index open for writing: stops in the middle of a build and says so.
STUCK = """
import sys, time
from lurcher.engine import Engine
from lurcher.index import writer

def stuck(*arguments):
    (writer.Path(sys.argv[1]) / ".lurcher" / ".x.segment.1.tmp").write_bytes(b"half")
    print("building", flush=True)
    time.sleep(60)

writer.build = stuck
Engine.open(sys.argv[1], root=sys.argv[1]).index()
"""


@contextlib.contextmanager
def running(code: str, root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def intact(root: Path) -> None:
    names = sorted(path.name for path in (root / ".lurcher").iterdir())
    assert [name for name in names if not name.endswith(".segment")] == [".gitignore", "CACHEDIR.TAG", "lock", "manifest"]
    for name in names:
        if name not in (".gitignore", "CACHEDIR.TAG", "lock"):
            Container.open(root / ".lurcher" / name).verify()


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
        reader.join(30)
    assert problems == []
    intact(root)


def test_a_killed_writer_frees_the_lock_and_leaves_nothing(root: Path) -> None:
    with running(STUCK, root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "building\n"
        with pytest.raises(IndexLocked):
            opened(root, lock_seconds=0.05).search(QUESTIONS[0])
        process.send_signal(signal.SIGKILL)
        process.wait(10)
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
        assert any("another process is writing" in note.reason for note in answer.degraded)
    assert opened(root).search("read_biscuit").degraded == ()


def test_what_another_process_did_meanwhile_is_not_done_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(root), opened(root)
    assert one.refresh() == other.refresh()
    (root / "docs/guide.md").unlink()
    write(root, {"new.py": "def zeppelin(): pass\n"})
    waited = one._projects[0].store
    original = Store.lock

    def lock(store: Store, seconds: float) -> contextlib.AbstractContextManager[None]:
        if store is waited and not done:
            done.append(other.refresh())
            write(root, {"newer.py": "def airship(): pass\n"})
        return original(store, seconds)

    done: list[object] = []
    monkeypatch.setattr(Store, "lock", lock)
    assert one.search("zeppelin").index.generation == 3
    assert one.search("airship").hits[0].path == "newer.py"
    assert other.refresh().generation == 3
    assert len(done) == 1


def test_a_waiting_process_goes_on_when_the_lock_is_free(root: Path) -> None:
    store = Store(root / ".lurcher")
    with store.lock(1):
        waiting = threading.Thread(target=lambda: opened(root, lock_seconds=20).refresh())
        waiting.start()
        time.sleep(0.1)
        assert waiting.is_alive()
        assert not (root / ".lurcher/manifest").exists()
    waiting.join(20)
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


# -- children ---------------------------------------------------------------------------------------------------------


def shards() -> list[list[tuple[str, bytes]]]:
    return [
        [(f"s{shard}/f{file}.py", f"def f_{shard}_{file}():\n    return {file}\n".encode() * 30) for file in range(4)]
        for shard in range(5)
    ]


def as_bytes(parts: list[SegmentData]) -> list[bytes]:
    return [b"".join(pack_sections(*encode(part))) for part in parts]


@pytest.fixture(scope="module")
def table(tiny_model: Path) -> Table:
    return Table.open(tiny_model)


@pytest.fixture(scope="module")
def expected(table: Table) -> list[bytes]:
    return as_bytes([build(shard, 1500, table) for shard in shards()])


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same(expected: list[bytes], table: Table, workers: int) -> None:
    done: list[int] = []
    assert as_bytes(build_shards(shards(), 1500, workers, done.append, table)) == expected
    assert sum(done) == 20


def test_the_index_is_the_same_for_any_number_of_workers(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SHARD_BYTES", 300)
    names = []
    for workers in (1, 2, 3):
        index = tmp_path / f"index-{workers}"
        opened(root, index, workers=workers).refresh()
        names.append([path.name for path in index.glob("*.segment")])
    assert names[0] == names[1] == names[2]
    monkeypatch.setattr(writer, "SHARD_BYTES", 10**9)
    opened(root, tmp_path / "whole").refresh()
    assert [path.name for path in (tmp_path / "whole").glob("*.segment")] == names[0]


@pytest.mark.parametrize(
    "command",
    [
        "import os; os._exit(1)",
        "import sys; sys.stdin.buffer.read(100); print('nonsense')",
        "import sys; sys.stdin.buffer.read(8)",
    ],
)
def test_children_that_die_or_talk_nonsense_are_survived(
    expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(worker, "_COMMAND", command)
    assert as_bytes(build_shards(shards(), 1500, 3, lambda files: None, table)) == expected


def test_a_child_that_is_killed_in_the_middle_is_survived(
    expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker, "_COMMAND",
        "import os, signal; from lurcher.index import worker; send = worker._send; "
        "worker._send = lambda *a: (send(*a), os.kill(os.getpid(), signal.SIGKILL)); worker.serve()",
    )  # fmt: skip
    assert as_bytes(build_shards(shards(), 1500, 3, lambda files: None, table)) == expected


def test_no_child_can_be_had(expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(worker.subprocess, "Popen", refuse)
    assert as_bytes(build_shards(shards(), 1500, 3, lambda files: None, table)) == expected


def test_a_child_does_not_take_another_table_of_the_same_name(expected: list[bytes], table: Table, tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "moving.table", name="first")
    mine = Table.open(path)
    alone = as_bytes([build(shard, 1500, mine) for shard in shards()])
    write_tiny(path, name="second", dims=16)
    assert as_bytes(build_shards(shards(), 1500, 3, lambda files: None, mine)) == alone
    with pytest.raises(ModelError, match="has changed"):
        worker._opened(str(path), mine.digest)


def test_an_interrupted_build_leaves_no_children(table: Table) -> None:
    def interrupt(files: int) -> None:
        raise KeyboardInterrupt

    before = set(children())
    with pytest.raises(KeyboardInterrupt):
        build_shards(shards(), 1500, 3, interrupt, table)
    assert set(children()) <= before


def children() -> list[str]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return path.read_text().split() if path.exists() else []


def test_a_child_imports_nothing_from_the_tree_or_the_caller(
    tmp_path: Path, expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('hijacked')\n")
    (tmp_path / "lurcher.py").write_text("raise SystemExit('hijacked')\n")
    monkeypatch.chdir(tmp_path)
    started: list[subprocess.Popen[bytes]] = []
    original = subprocess.Popen

    def popen(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(original(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(worker.subprocess, "Popen", popen)
    assert as_bytes(build_shards(shards(), 1500, 2, lambda files: None, table)) == expected
    assert [process.returncode for process in started] == [0]
