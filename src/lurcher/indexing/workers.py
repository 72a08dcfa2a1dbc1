"""Builds shards in parallel: worker processes that read jobs from a pipe and end when it closes.

A worker is a new interpreter started in lurcher's own folder, or a fork where that is safe (runtime/parallel.py);
so it imports neither the caller's main module nor anything of the repository. It reads its files itself and writes a part of
the segment to a scratch file, so that memory holds a few shards at a time however large the tree is. If a grammar crashes a
worker, the file is cut by lines, and nothing else is lost. (A grammar that takes too long is stopped by the parser, or together
with a process of its own.)
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Timer
from typing import IO, TYPE_CHECKING, NamedTuple

from lurcher.errors import ModelError
from lurcher.indexing.build import InputFiles, ReadResult, TreeReader, build_segment, read_inputs
from lurcher.runtime.kernel import trim_heap
from lurcher.runtime.parallel import ForkedChild, can_fork
from lurcher.runtime.process import wait_for_exit
from lurcher.runtime.sandbox import receive as _receive
from lurcher.runtime.sandbox import send as _send
from lurcher.storage.container import PACK_BYTES, Container, file_stamp
from lurcher.storage.container_writer import encode_container
from lurcher.storage.disk import remove_file, remove_scratch, write_scratch
from lurcher.storage.segment_writer import encode_segment
from lurcher.vectors.table import Table

if TYPE_CHECKING:
    from lurcher.storage.container import Stamp

_COMMAND = "from lurcher.indexing.workers import serve; serve()"
SECONDS, SECONDS_ALONE = 120.0, 15.0
"""Time limits of a worker for a shard, which takes a second or two, and for a single file."""
_JOBS_AHEAD = 2
"""Jobs that a worker has at a time."""
MEMORY_BYTES = 4 << 30
"""Address space of a worker; a grammar that runs wild would take all memory."""
_CRASH_STATUSES = {
    -getattr(signal, name) for name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE") if hasattr(signal, name)
}


class Job(NamedTuple):
    files: InputFiles
    chunk_chars: int
    model: tuple[str, str] | None
    """Path and digest of the term table."""
    plain: frozenset[str]
    target: str | None
    """The file to write to; None: return the bytes."""
    tree: TreeReader | None = None
    text_offset: int | None = None
    """The offset that the texts will have in the whole, if all files are read as expected; None: unknown."""


class JobResult(NamedTuple):
    data: bytes | None
    """The segment, unless it was written to the target of the job."""
    problem: OSError | None
    """Why it could not be written."""
    seen: list[ReadResult]
    """The files that were read."""
    is_empty: bool
    """Whether no file has a text, so that there is no segment."""
    stamp: Stamp | None = None
    """The stamp of the target."""


def run_job(job: Job, table: Table | None, begin: Callable[[str], None] | None = None) -> JobResult:
    texts, seen = read_inputs(job.files, job.tree)
    if not texts:
        return JobResult(None, None, seen, True)
    aligned = job.text_offset is not None
    data = build_segment(texts, job.chunk_chars, table, job.plain, begin, (job.text_offset or 0) % PACK_BYTES)
    pieces = encode_container(*encode_segment(data, part=True, aligned=aligned))
    if job.target is None:
        return JobResult(b"".join(pieces), None, seen, False)
    try:
        stamp = file_stamp(os.lstat(write_scratch(Path(job.target), pieces)))
    except OSError as error:
        return JobResult(b"".join(pieces), error, seen, False)
    return JobResult(None, None, seen, False, stamp)


class WorkerPool:
    """Builds shards in this process and in workers; the results have the order of the shards."""

    def __init__(
        self,
        chunk_chars: int,
        table: Table | None,
        scratch: Callable[[], Path | None],
        on_write_error: Callable[[OSError], None],
        done: Callable[[int], None],
        begin: Callable[[str], None] | None = None,
        tree: TreeReader | None = None,
        note_results: Callable[[list[ReadResult]], None] = lambda seen: None,
        text_offset: Callable[[InputFiles], int | None] = lambda files: None,
    ) -> None:
        """`scratch` names a new file, `on_write_error` is called when one cannot be written, `done` counts files.

        Files without a text are read from `tree`, and `note_results` gets the results. `text_offset` returns the offset that
        the texts of a shard will probably have in the whole, or None.
        """
        self._chunk_chars = chunk_chars
        self._table = table
        self._model = None if table is None else (str(table.path), table.digest)
        self._scratch, self._on_write_error, self._done, self._begin = scratch, on_write_error, done, begin
        self._tree, self._note_results, self._text_offset = tree, note_results, text_offset
        self._lock = threading.Lock()
        self._shards: Iterator[tuple[int, InputFiles, frozenset[str]]] = iter(())
        self._results: dict[int, Container] = {}
        self._undelivered: list[tuple[int, Job]] = []
        self._targets: list[Path] = []
        self._failed: BaseException | None = None

    def build(
        self, shards: Iterator[tuple[InputFiles, frozenset[str]]], workers: int, prepare: Callable[[], None] | None = None
    ) -> list[Container]:
        """One part per shard of (files, files that must not be parsed). Shards are taken as they are needed.

        `prepare` loads what forked workers should share.
        """
        self._shards = ((number, files, plain) for number, (files, plain) in enumerate(shards))
        children = _start_workers(workers - 1, self._table, prepare)
        threads = [threading.Thread(target=self._feed, args=(child,)) for child in children]
        for thread in threads:
            thread.start()
        try:
            while (taken := self._next_job()) is not None:
                self._store_result(*taken, run_job(taken[1], self._table, self._begin))
            for thread in threads:
                thread.join()
            if self._failed is not None:
                raise self._failed
            # What workers did not deliver for other reasons than a crash.
            for number, job in self._undelivered:
                self._store_result(number, job, run_job(job, self._table, self._begin))
        except BaseException as error:
            # An interrupted build must not wait for its workers.
            self._failed = error
            for child in children:
                child.kill()
                child.close()
            self._clean_up()
            raise
        finally:
            for child in children:
                child.close()
        return [self._results[number] for number in sorted(self._results)]

    def _next_job(self) -> tuple[int, Job] | None:
        with self._lock:
            if self._failed is not None:
                return None
            try:
                following = next(self._shards, None)
            except BaseException as error:
                self._failed = error
                raise
            if following is None:
                return None
            number, files, plain = following
            path = self._scratch()
            target = str(path) if path else None
            if path:
                self._targets.append(path)
            return number, Job(files, self._chunk_chars, self._model, plain, target, self._tree, self._text_offset(files))

    def _store_result(self, number: int, job: Job, built: JobResult) -> None:
        with self._lock:
            self._note_results(built.seen)
            if built.problem is not None:
                self._on_write_error(built.problem)
            if built.data is not None:
                self._results[number] = Container(built.data, "scratch")
            elif not built.is_empty:
                path = Path(job.target or "")
                self._results[number] = Container.open(path, built.stamp)
                remove_file(path)  # it stays mapped, and nothing is left behind if we end early
            self._done(len(job.files))

    def _clean_up(self) -> None:
        """Remove scratch files that nobody opened, and unfinished ones."""
        with self._lock:
            for target in self._targets:
                remove_scratch(target)

    def _feed(self, child: Worker) -> None:
        """Send one shard after the other to a worker; runs in a thread.

        The worker gets the next job before it is done with the last: this process is busy building too and answers late.
        """
        waiting: deque[tuple[int, Job]] = deque()
        try:
            while True:
                while len(waiting) < _JOBS_AHEAD and (taken := self._next_job()) is not None:
                    waiting.append(taken)
                    child.send(taken[1])
                if not waiting:
                    return
                number, job = waiting[0]
                built = child.receive()
                if built is None and child.crashed():
                    job = job._replace(plain=job.plain | find_crashing_files(job))
                    waiting[0] = number, job
                    child.restart()
                    for _, again in waiting:
                        child.send(again)
                    built = child.receive()
                if built is None:
                    with self._lock:
                        self._undelivered.extend(waiting)
                    return
                waiting.popleft()
                self._store_result(number, job, built)
        except BaseException as error:  # raised by the thread that waits for us
            self._failed = error


def find_crashing_files(job: Job) -> frozenset[str]:
    """The files of a job that crash a process when they are parsed."""
    found = set()
    child = Worker()
    try:
        for file in job.files:
            if file[0] in job.plain:
                continue
            if child.run(job._replace(files=[file], target=None), SECONDS_ALONE) is None:
                if child.crashed():
                    found.add(file[0])
                child.restart()
    finally:
        child.close()
    return frozenset(found)


def _start_workers(count: int, table: Table | None, prepare: Callable[[], None] | None) -> list[Worker]:
    """Start up to `count` workers, as many as the system allows."""
    children: list[Worker] = []
    copies = count > 0 and can_fork()
    if copies and prepare is not None:
        prepare()
    with contextlib.suppress(OSError):
        while sys.executable and len(children) < count:
            children.append(Worker(ForkedChild(partial(serve, table=table)) if copies else None))
    return children


class Worker:
    def __init__(self, process: ForkedChild | None = None) -> None:
        """Use a forked process, or start a new interpreter."""
        self._stuck = self._killed = False
        self._changing = threading.Lock()
        self._process: ForkedChild | subprocess.Popen[bytes] = process or self._start_process()

    def _start_process(self) -> subprocess.Popen[bytes]:
        home = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", _COMMAND], cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def restart(self) -> None:
        """Start again, unless it was killed: a new process would write files that nobody removes."""
        with self._changing:
            if not self._killed:
                self.close()
                self._stuck = False
                self._process = self._start_process()

    def run(self, job: Job, seconds: float | None = None) -> JobResult | None:
        """Do a job; None if the worker died, took too long, or returned garbage."""
        self.send(job)
        return self.receive(seconds)

    def send(self, job: Job) -> None:
        """Send a job; a dead worker is noticed when its result is received."""
        assert self._process.stdin is not None
        with contextlib.suppress(Exception), self._limit(SECONDS):
            _send(self._process.stdin, job)

    def receive(self, seconds: float | None = None) -> JobResult | None:
        """The result of the oldest job; None as for `run`."""
        assert self._process.stdout is not None
        with contextlib.suppress(Exception), self._limit(SECONDS if seconds is None else seconds):
            return JobResult(*_receive(self._process.stdout))
        return None  # whatever it was: this process does the job then

    @contextlib.contextmanager
    def _limit(self, seconds: float) -> Iterator[None]:
        """Kill the worker if the block takes longer."""
        limit = Timer(seconds, self._kill_stuck)
        limit.start()
        try:
            yield
        finally:
            limit.cancel()

    def _kill_stuck(self) -> None:
        self._stuck = True
        self._process.kill()

    def crashed(self) -> bool:
        """Whether the worker died of a signal that broken native code causes, or hung."""
        status = wait_for_exit(self._process, 5)
        return status is not None and (status in _CRASH_STATUSES or self._stuck)

    def kill(self) -> None:
        """End it for good."""
        with self._changing:
            self._killed = True
            self._process.kill()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        if wait_for_exit(self._process, 5) is None:
            self._process.kill()
            self._process.wait()


def serve(source: IO[bytes] | None = None, target: IO[bytes] | None = None, table: Table | None = None) -> None:
    """The side of the worker: build until the pipe closes, which also ends a job in progress."""
    gc.disable()  # as the parent does while it builds
    _limit_memory()
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source or sys.stdin.buffer, jobs), daemon=True).start()
    target = target or sys.stdout.buffer
    try:
        while True:
            job = jobs.get()
            if job.model is not None and table is None:
                table = _open_table(*job.model)
            _send(target, tuple(run_job(job, table)))
            trim_heap()
    finally:
        os._exit(1)  # a normal exit would wait for the listening thread


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most), most)
        )


def _listen(source: IO[bytes], jobs: queue.SimpleQueue[Job]) -> None:
    """Queue incoming jobs; when the pipe closes, the parent is done or dead."""
    with contextlib.suppress(EOFError):
        while True:
            jobs.put(Job(*_receive(source)))
    os._exit(0)


def _open_table(path: str, digest: str) -> Table:
    """The table that the parent has open; an error if the file was replaced since."""
    table = Table.open(Path(path))
    if table.digest != digest:
        raise ModelError(f"model file {Path(path).name} has changed", "run the command again")
    return table
