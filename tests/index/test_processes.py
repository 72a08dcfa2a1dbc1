"""Several processes at one index, and processes that end before their time."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lurcher.errors import IndexLocked, ModelError
from lurcher.indexing import workers as worker
from lurcher.indexing import writer
from lurcher.indexing.build import ReadResult, TreeReader, build_segment
from lurcher.indexing.workers import WorkerPool
from lurcher.storage import disk
from lurcher.storage import folder as stores
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.folder import IndexFolder
from lurcher.storage.segment_writer import SegmentData, encode_segment
from lurcher.vectors.table import Table
from tests.index.conftest import QUESTIONS, answers, opened, write
from tests.tables import write_tiny

INDEX = "import sys; from lurcher.engine import Engine; Engine.open(sys.argv[1], root=sys.argv[1]).index()"
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


# -- children ---------------------------------------------------------------------------------------------------------


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
def test_children_that_die_or_talk_nonsense_are_survived(
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


def test_no_child_can_be_had(expected: list[bytes], table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(worker.subprocess, "Popen", refuse)
    assert built(3, table) == expected


def test_a_child_does_not_take_another_table_of_the_same_name(expected: list[bytes], table: Table, tmp_path: Path) -> None:
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


def test_parts_go_to_files_that_are_gone_once_they_are_open(expected: list[bytes], table: Table, tmp_path: Path) -> None:
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


def test_whoever_builds_files_reads_those_without_a_text(table: Table, tmp_path: Path) -> None:
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


# The command line with its children; says which ways of starting one were taken.
COMMAND_LINE = """
import os, sys
from lurcher.indexing import workers as worker, writer
writer.SHARD_BYTES = 2_000
writer.PARALLEL_BYTES = 0
fork = os.fork
def forked():
    print("fork", file=sys.stderr)
    return fork()
os.fork = forked
popen = worker.subprocess.Popen
def started(command, *rest, **options):
    if "serve" in str(command):
        print("start", file=sys.stderr)
    return popen(command, *rest, **options)
worker.subprocess.Popen = started
"""
ASK = """
from lurcher.surfaces.cli import main
sys.argv = ["lurcher", "search", "function_7", sys.argv[1]]
sys.exit(main())
"""
ANOTHER_THREAD = "import threading; threading.Thread(target=threading.Event().wait, args=(60,), daemon=True).start()"
SLOW = """
import signal, time
from lurcher.indexing import build
def slow(*arguments):
    print("at", os.getpid(), file=open(os.environ["SAID"], "a"))
    time.sleep(60)
build.parse = slow
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
@pytest.mark.parametrize(("code", "how"), [("", "fork"), (ANOTHER_THREAD, "start")], ids=["alone", "with another thread"])
def test_children_of_the_command_line_are_copies_where_nothing_else_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, how: str
) -> None:
    write(root, {f"many/m{i}.py": f"def function_{i}(): return {i}\n" * 20 for i in range(60)})
    monkeypatch.setenv("LURCHER_INDEX_WORKERS", "3")
    with running(COMMAND_LINE + code + ASK, root) as process:
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.split()[:2]) == (0, [how, how])
    assert "m7.py" in said
    intact(root)
    monkeypatch.delenv("LURCHER_INDEX_WORKERS")
    opened(root, tmp_path / "alone").refresh()
    names = [sorted(path.name for path in folder.glob("*.segment")) for folder in (root / ".lurcher", tmp_path / "alone")]
    assert names[0] == names[1]


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
def test_a_copy_that_is_asked_answers_or_does_not() -> None:
    code = """
import os, signal
from lurcher.runtime.fork import ForkedCall

print(ForkedCall(lambda: [os.getppid(), "x" * 200_000]).result() == [os.getpid(), "x" * 200_000])
print(ForkedCall(lambda: os.kill(os.getpid(), signal.SIGKILL)).result())
print(ForkedCall(lambda: 1 / 0).result())
print(ForkedCall(lambda: iter).result() is iter, os.listdir("/proc/self/fd") == os.listdir("/proc/self/fd"))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none is left")
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.splitlines() == ["True", "None", "None", "True True", "none is left"]


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
def test_a_tree_is_listed_by_a_copy_and_if_that_fails_by_the_process_itself(root: Path) -> None:
    failing = """
from lurcher.runtime import fork as forks
class Silent(forks.ForkedCall):
    def __init__(self, call):
        super().__init__(lambda: os._exit(3))
forks.ForkedCall = Silent
"""
    for code in ("", failing):
        with running(COMMAND_LINE + code + ASK, root) as process:
            said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said
        intact(root)
        assert opened(root).clear()


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_copies_end_with_the_command_and_free_its_lock(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    write(root, {f"many/m{i}.py": f"def function_{i}(): return {i}\n" * 20 for i in range(60)})
    said = tmp_path / "said"
    said.touch()
    monkeypatch.setenv("SAID", str(said))
    monkeypatch.setenv("LURCHER_INDEX_WORKERS", "3")
    with running(COMMAND_LINE + SLOW + ASK, root) as process:
        deadline = time.monotonic() + 120
        while len(said.read_text().splitlines()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=120)  # nobody holds on to what it wrote to
    assert process.returncode != 0
    numbers = [line.split()[1] for line in said.read_text().splitlines()]
    assert len(set(numbers)) == 3
    deadline = time.monotonic() + 120
    while any(Path(f"/proc/{number}").exists() for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{number}").exists() for number in numbers)
    engine = opened(root)
    assert engine.search("function_7").hits[0].path == "many/m7.py"
    intact(root)


def test_children_end_with_their_parent(root: Path, tmp_path: Path) -> None:
    """Also in the middle of a build, which nobody waits for any more."""
    code = """
import os, sys, time
from lurcher.indexing import workers as worker
worker._COMMAND = (
    "import os, sys, time; from lurcher.indexing import build, workers as worker; "
    "build.parse = lambda *a: (print(os.getpid(), file=open(os.environ['SAID'], 'a')), time.sleep(60)); worker.serve()"
)
from lurcher.indexing import writer
writer.SHARD_BYTES = 10
writer.PARALLEL_BYTES = 0
def slow(*arguments): time.sleep(60)
worker.run_job = slow
from lurcher.engine import Engine
Engine.open(sys.argv[1], root=sys.argv[1], overrides={"index.workers": 3}).index()
"""
    said = tmp_path / "said"
    said.touch()
    process = subprocess.Popen([sys.executable, "-c", code, str(root)], env={**os.environ, "SAID": str(said)})
    try:
        deadline = time.monotonic() + 120
        while len(said.read_text().split()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    numbers = said.read_text().split()
    assert len(numbers) == 2
    deadline = time.monotonic() + 120
    while any(alive(number) for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(number) for number in numbers)


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
