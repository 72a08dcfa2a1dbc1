"""Building shards in parallel: plain child processes that read jobs from a pipe and end when it closes.

A child is a fresh interpreter started in lurcher's own folder, so neither the caller's main module nor anything in the
repository is ever imported by it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from lurcher.embedding.table import Table
from lurcher.errors import ModelError
from lurcher.index.build import build
from lurcher.index.segment import SegmentData

_LENGTH = struct.Struct("<Q")
_COMMAND = "from lurcher.index.worker import serve; serve()"

def build_shards(
    shards: Sequence[list[tuple[str, bytes]]],
    chunk_chars: int,
    workers: int,
    progress: Callable[[int], None],
    table: Table | None = None,
) -> list[SegmentData]:
    """One segment per shard, in order, whatever the number of workers. This process works too."""
    results: list[SegmentData | None] = [None] * len(shards)
    pending = list(range(len(shards)))[::-1]
    lock = threading.Lock()

    def take() -> int | None:
        with lock:
            return pending.pop() if pending else None

    def done(number: int, result: SegmentData) -> None:
        with lock:
            results[number] = result
            progress(len(shards[number]))

    children = _start(min(workers, len(shards)) - 1)
    model = None if table is None else (str(table.path), table.digest)
    threads = [threading.Thread(target=child.work, args=(shards, chunk_chars, model, take, done)) for child in children]
    for thread in threads:
        thread.start()
    try:
        while (number := take()) is not None:
            done(number, build(shards[number], chunk_chars, table))
        for thread in threads:
            thread.join()
        # A child that died gave its shard back by not delivering it.
        for number, result in enumerate(results):
            if result is None:
                done(number, build(shards[number], chunk_chars, table))
    except BaseException:
        # An interrupted build must not wait for shards that nobody wants any more.
        for child in children:
            child.kill()
        raise
    finally:
        for child in children:
            child.close()
    return [result for result in results if result is not None]


def _start(count: int) -> list[_Child]:
    """Up to `count` children: as many as the system lets us have."""
    children: list[_Child] = []
    with contextlib.suppress(OSError):
        while sys.executable and len(children) < count:
            children.append(_Child())
    return children


class _Child:
    def __init__(self) -> None:
        home = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND], cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def work(
        self,
        shards: Sequence[list[tuple[str, bytes]]],
        chunk_chars: int,
        model: tuple[str, str] | None,
        take: Callable[[], int | None],
        done: Callable[[int, SegmentData], None],
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        while (number := take()) is not None:
            try:
                _send(self._process.stdin, (shards[number], chunk_chars, model))
                result = _receive(self._process.stdout)
            except Exception:  # whatever it was: the shard is built by this process then
                return
            done(number, result)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve() -> None:
    """The child's side: build what comes in until the pipe closes."""
    gc.disable()  # as the parent does while it builds
    source, target = sys.stdin.buffer, sys.stdout.buffer
    table: Table | None = None
    while True:
        try:
            inputs, chunk_chars, model = _receive(source)
        except EOFError:
            return
        if model is not None and table is None:
            table = _opened(*model)
        try:
            _send(target, build(inputs, chunk_chars, table))
        except BrokenPipeError:
            os._exit(0)


def _opened(path: str, digest: str) -> Table:
    """The table that the parent has open too, and not one that has taken its name since."""
    table = Table.open(Path(path))
    if table.digest != digest:
        raise ModelError(f"model file {Path(path).name} has changed", "run the command again")
    return table


def _send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    data = stream.read(_LENGTH.unpack(head)[0])
    if len(data) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return pickle.loads(data)
