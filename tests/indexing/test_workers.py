"""Shards are the same whoever builds them, and nothing that happens to a worker is lost or left behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher import storage as stores
from lurcher.errors import ModelError
from lurcher.indexing import workers as worker
from lurcher.indexing import writer
from lurcher.indexing.build import ReadResult, TreeReader, build_segment
from lurcher.indexing.workers import WorkerPool
from lurcher.storage import IndexFolder, disk
from lurcher.storage.container_writer import encode_container
from lurcher.storage.segment_writer import SegmentData, encode_segment
from lurcher.vectors.table import Table
from tests.indexing.conftest import opened, write
from tests.indexing.processes import INDEX, intact, running
from tests.tables import write_tiny


def shards() -> list[list[tuple[str, bytes]]]:
    return [
        [(f"s{shard}/f{file}.py", f"def f_{shard}_{file}():\n    return {file}\n".encode() * 30) for file in range(4)]
        for shard in range(5)
    ]


def as_bytes(parts: list[SegmentData]) -> list[bytes]:
    return [b"".join(encode_container(*encode_segment(part, part=True))) for part in parts]


def built(
    workers: int,
    table: Table,
    done: Callable[[int], None] = lambda files: None,
    scratch: Callable[[], Path | None] = lambda: None,
    refused: Callable[[OSError], None] = lambda error: None,
    inputs: list[list[tuple[str, bytes]]] | None = None,
) -> list[bytes]:
    shop = WorkerPool(1500, table, scratch, refused, done)
    return [bytes(part._buffer) for part in shop.build(iter([(shard, frozenset()) for shard in inputs or shards()]), workers)]


@pytest.fixture(scope="module")
def table(tiny_model: Path) -> Table:
    return Table.open(tiny_model)


@pytest.fixture(scope="module")
def expected(table: Table) -> list[bytes]:
    return as_bytes([build_segment(shard, 1500, table) for shard in shards()])


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same(expected: list[bytes], table: Table, workers: int) -> None:
    done: list[int] = []
    assert built(workers, table, done.append) == expected
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
def test_workers_that_die_or_send_nonsense_do_not_break_a_build(
    expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(worker, "_COMMAND", command)
    assert built(3, table) == expected


def test_a_child_that_is_killed_in_the_middle_is_survived(
    expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker, "_COMMAND",
        "import os, signal; from lurcher.indexing import workers as worker; send = worker._send; "
        "worker._send = lambda *a: (send(*a), os.kill(os.getpid(), signal.SIGKILL)); worker.serve()",
    )  # fmt: skip
    assert built(3, table) == expected


def test_a_build_works_without_child_processes(expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(worker.subprocess, "Popen", refuse)
    assert built(3, table) == expected


def test_a_worker_does_not_use_another_table_of_the_same_name(expected: list[bytes], table: Table, tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "moving.table", name="first")
    mine = Table.open(path)
    alone = as_bytes([build_segment(shard, 1500, mine) for shard in shards()])
    write_tiny(path, name="second", dims=16)
    assert built(3, mine) == alone
    with pytest.raises(ModelError, match="has changed"):
        worker._open_table(str(path), mine.digest)


def test_an_interrupted_build_leaves_no_children(table: Table) -> None:
    def interrupt(files: int) -> None:
        raise KeyboardInterrupt

    before = set(children())
    with pytest.raises(KeyboardInterrupt):
        built(3, table, interrupt)
    assert set(children()) <= before


def test_an_interrupted_build_leaves_no_parts_that_nobody_took(table: Table, tmp_path: Path) -> None:
    numbers = itertools.count()

    def interrupt(files: int) -> None:
        time.sleep(0.01)  # meanwhile nobody can take what a child has written
        if threading.current_thread() is threading.main_thread() and any(tmp_path.iterdir()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(2, table, interrupt, scratch=lambda: tmp_path / f"part-{next(numbers)}", inputs=shards() * 200)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["part-{}", ".scratch.{}.tmp"])
def test_an_interrupted_build_leaves_no_part_in_the_making(table: Table, tmp_path: Path, name: str) -> None:
    """A child that is killed while it writes leaves its draft, whatever the part was to be called."""
    numbers = itertools.count()
    other = tmp_path / ".another.1-0.tmp"
    other.touch()

    def interrupt(files: int) -> None:
        part = tmp_path / name.format(next(numbers) - 1)
        disk.AtomicFile(tmp_path, part.name.lstrip("."), durable=False).write(b"half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(1, table, interrupt, scratch=lambda: tmp_path / name.format(next(numbers)))
    assert list(tmp_path.iterdir()) == [other]


def test_a_child_that_was_killed_is_not_started_again() -> None:
    child = worker.Worker()
    child.kill()
    ended = child._process
    child.restart()
    assert child._process is ended
    child.close()


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
    assert built(2, table) == expected
    assert [process.returncode for process in started] == [0]


def test_parts_are_written_to_files_that_do_not_stay(expected: list[bytes], table: Table, tmp_path: Path) -> None:
    numbers = iter(range(100))
    assert built(2, table, scratch=lambda: tmp_path / f"part-{next(numbers)}") == expected
    assert list(tmp_path.iterdir()) == []
    assert next(numbers) == 5


def test_a_part_in_the_making_leaves_those_of_other_processes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names are this process's, whoever writes the files: so what it writes itself must have other ones."""
    monkeypatch.setattr(stores, "_counter", itertools.count())
    monkeypatch.setattr(disk, "_counter", itertools.count())
    paths = [IndexFolder(str(tmp_path)).scratch_path() for _ in range(3)]
    assert paths[0] is not None and paths[2] is not None
    paths[0].write_bytes(b"of a child")
    disk.write_scratch(paths[2], [b"our own"])
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"of a child", b"our own"}


@pytest.mark.parametrize("workers", [1, 2])
def test_parts_that_cannot_be_written_stay_in_memory(
    expected: list[bytes], table: Table, tmp_path: Path, workers: int
) -> None:
    refused: list[OSError] = []
    assert built(workers, table, scratch=lambda: tmp_path / "nowhere" / "part", refused=refused.append) == expected
    assert len(refused) == 5


# A grammar that brings its process down at one file, as broken native code does.
CRASHING = """
import os, signal
from lurcher.indexing import build, workers as worker
parse = build.parse
def dies(text, language, size):
    if b"poison" in text and language != "text":
        os.kill(os.getpid(), signal.SIGSEGV)
    return parse(text, language, size)
build.parse = dies
"""


def poisoned() -> list[list[tuple[str, bytes]]]:
    found = shards()
    found[1][2] = ("s1/f2.py", b"def poison():\n    pass\n")
    return found


def test_a_file_that_crashes_a_grammar_is_read_as_plain_text(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that file: the rest of its shard is read as ever."""
    monkeypatch.setattr(worker, "_COMMAND", CRASHING + "worker.serve()")
    monkeypatch.setattr(worker, "run_job", lambda *arguments: pytest.fail("this process must not touch it"))
    plain = [build_segment(shard, 1500, table, {"s1/f2.py"}) for shard in poisoned()]
    shop = WorkerPool(1500, table, lambda: None, lambda error: None, lambda files: None)
    taken = iter([(shard, frozenset[str]()) for shard in poisoned()])
    child = worker.Worker()
    try:
        shop._shards = ((number, files, none) for number, (files, none) in enumerate(taken))
        shop._feed(child)
    finally:
        child.close()
    assert [bytes(shop._results[i]._buffer) for i in range(5)] == as_bytes(plain)


class Told:
    """A time limit that is reached when a child says that it hangs: no clock decides how long a busy machine may take."""

    said: Path

    def __init__(self, seconds: float, end: Callable[[], None]) -> None:
        self._end, self._over = end, threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def cancel(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            if self.said.exists():
                self.said.unlink()
                self._end()
                return


def test_a_file_that_a_grammar_never_gives_back_is_read_as_plain_text(
    table: Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hang = f"(open({str(tmp_path / 'hangs')!r}, 'w').close(), __import__('time').sleep(600))"
    hanging = CRASHING.replace("os.kill(os.getpid(), signal.SIGSEGV)", hang)
    assert hanging != CRASHING
    monkeypatch.setattr(worker, "_COMMAND", hanging + "worker.serve()")
    monkeypatch.setattr(Told, "said", tmp_path / "hangs", raising=False)
    monkeypatch.setattr(worker, "Timer", Told)
    job = worker.Job(poisoned()[1], 1500, None, frozenset(), None)
    assert worker.find_crashing_files(job) == {"s1/f2.py"}
    child = worker.Worker()
    try:
        assert child.run(job) is None
        assert child.crashed()
    finally:
        child.close()


def test_a_writer_that_a_grammar_brought_down_is_not_followed_by_another(root: Path) -> None:
    """The first run dies, as it must; the next one finds out why and answers."""
    write(root, {"bad.py": "def poison():\n    pass\n", "good.py": "def remedy():\n    pass\n"})
    index = f"import sys; {INDEX[12:]}"
    crash = f"worker._COMMAND = {CRASHING + 'worker.serve()'!r}"
    for expected_status in (-signal.SIGSEGV, 0):
        with running(f"{CRASHING}\n{crash}\n{index}", root) as process:
            _, errors = process.communicate(timeout=60)
            assert process.returncode == expected_status, errors
    engine = opened(root)
    answer = engine.search("poison")
    assert (answer.hits[0].path, answer.hits[0].language) == ("bad.py", "text")
    assert engine.search("remedy").hits[0].symbol == "remedy"
    assert answer.index.generation == 1
    intact(root)


def test_a_builder_reads_files_that_come_without_text(table: Table, tmp_path: Path) -> None:
    for shard in shards():
        for path, text in shard:
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(text)
    (tmp_path / "s1" / "f2.py").write_bytes(b"a\0b")
    (tmp_path / "s3" / "f0.py").unlink()
    for file in range(4):
        (tmp_path / "s4" / f"f{file}.py").unlink()
    left = [[file for file in shard if file[0] not in ("s1/f2.py", "s3/f0.py")] for shard in shards()[:4]]
    tree = TreeReader(str(tmp_path), 10_000, False)
    for workers in (1, 3):
        seen: list[ReadResult] = []
        done: list[int] = []
        shop = WorkerPool(1500, table, lambda: None, lambda error: None, done.append, None, tree, seen.extend)
        unread = [([(path, None) for path, _ in shard], frozenset[str]()) for shard in shards()]
        parts = shop.build(iter(unread), workers)
        assert [bytes(part._buffer) for part in parts] == as_bytes([build_segment(shard, 1500, table) for shard in left])
        without = {entry.path: entry.reason for entry in seen if entry.reason}
        assert without == {"s1/f2.py": "binary", "s3/f0.py": "vanished", **{f"s4/f{file}.py": "vanished" for file in range(4)}}
        assert (len(seen), sum(done)) == (20, 20)
        assert all(entry.digest for entry in seen if entry.reason != "vanished")
