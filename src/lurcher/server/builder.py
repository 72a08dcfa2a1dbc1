"""Builds or updates an index in a process of its own: queries are answered meanwhile, and cancelling it is ending the process.

An index survives the end of its writer at any point, so nothing has to be cleaned up. The child ends with its parent, because
it reads from a pipe that only the parent holds open.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import IndexError_, LurcherError, Template
from lurcher.types import Progress, silent

if TYPE_CHECKING:
    from lurcher.engine import Engine

_COMMAND = "from lurcher.server.builder import run_child; run_child()"
_MAX_MESSAGE = 2000


class Unwritable(IndexError_):
    """An index cannot be written to disk."""

    code = "unwritable"


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to build."""

    paths: tuple[str, ...]
    overrides: Mapping[str, Any]
    index_dir: str | None = None
    rebuild: bool = False
    history: bool = False


class Build:
    """One run of the builder. `what`, `done` and `total` are its progress; `error` says why it failed, once it has ended."""

    def __init__(self, request: BuildRequest, progress: Progress = silent, after: Callable[[], None] = lambda: None) -> None:
        """`after` is called once it has ended, from another thread."""
        self.request = request
        self._after = after
        self.started = time.monotonic()
        self.what, self.done, self.total = "listing files", 0, 0
        self.result: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.cancelled = False
        self.waiting = 0
        """How many callers wait for it; the last one to stop waiting may cancel it."""
        self._ended = threading.Event()
        self._progress = progress
        self._begin()

    def _begin(self) -> None:
        self._process = _start(self.request)
        threading.Thread(target=self._read, name="lurcher-build", daemon=True).start()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        return self._ended.wait(seconds)

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the time left; None while it is not known."""
        share = self.done / self.total if self.total else 0.0
        return None if share < 0.02 else (time.monotonic() - self.started) * (1 - share) / share

    def check(self) -> dict[str, Any]:
        """The result of the build once it has ended; raises its error."""
        if self.error is not None:
            problem = IndexError_(self.error["message"], Template.from_json(self.error.get("hint", "")))
            problem.code = self.error.get("code", problem.code)
            raise problem
        return self.result or {}

    def cancel(self) -> None:
        """End it now; the index before it stays."""
        if not self.ended:
            self.kill()
            self._ended.wait(5)

    def kill(self) -> None:
        """The same without waiting, for signal handlers."""
        if not self.ended:
            self.cancelled = True
            self._process.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None and self._process.stdin is not None
        try:
            for line in self._process.stdout:
                with contextlib.suppress(ValueError):
                    self._update(json.loads(line))
        finally:
            status = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            if self.result is None and self.error is None:
                reason = "it was cancelled" if self.cancelled else f"its process ended with status {status}"
                hint = "" if self.cancelled else "run: lurcher doctor"
                problem = IndexError_(f"the index was not built: {reason}", hint)
                self.error = problem.to_dict()
            self._ended.set()
            self._after()

    def _update(self, message: dict[str, Any]) -> None:
        if "what" in message:
            self.what, self.done, self.total = message["what"], message["done"], message["total"]
            self._progress(self.what, self.done, self.total)
        self.result = message.get("result", self.result)
        self.error = message.get("error", self.error)


class InProcessBuild(Build):
    """The same in a thread of this process, for an index in memory: another process could not hand it over."""

    def __init__(self, request: BuildRequest, engine: Engine, progress: Progress, after: Callable[[], None]) -> None:
        self._engine = engine
        super().__init__(request, progress, after)

    def _begin(self) -> None:
        threading.Thread(target=self._work, name="lurcher-build", daemon=True).start()

    def cancel(self) -> None:
        """Stop waiting for it: it ends by itself."""
        self.cancelled = True

    kill = cancel

    def _work(self) -> None:
        try:
            request = self.request
            self.result = self._engine.index(
                rebuild=request.rebuild, history=request.history, share=False, progress=self._report
            )
        except LurcherError as error:
            self.error = error.to_dict()
        except Exception as error:
            self.error = _unexpected_error(error)
        self._ended.set()
        self._after()

    def _report(self, what: str, done: int, total: int) -> None:
        self._update({"what": what, "done": done, "total": total})


def _unexpected_error(error: Exception) -> dict[str, str]:
    return {"code": "index", "message": str(error)[:_MAX_MESSAGE], "hint": "run: lurcher doctor"}


def _start(request: BuildRequest) -> subprocess.Popen[bytes]:
    # Started in lurcher's own folder, so that nothing of a repository is imported; its output never reaches ours.
    home = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    fields = {name: getattr(request, name) for name in BuildRequest.__match_args__}
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(fields).encode() + b"\n")
        process.stdin.flush()
    return process


def run_child() -> None:
    """The child process: reads a request, builds the index, and writes its progress line by line."""
    from lurcher.engine import Engine
    from lurcher.runtime.process import claim_process

    claim_process()
    with contextlib.suppress(OSError):
        os.nice(5)  # queries have priority
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lock = threading.Lock()
    last = 0.0

    def send(message: Mapping[str, Any]) -> None:
        with lock, contextlib.suppress(OSError, ValueError):
            out.write(json.dumps(message).encode() + b"\n")
            out.flush()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.05 or done >= total:
            last = now
            send({"what": what, "done": done, "total": total})

    try:
        with Engine.open(request["paths"], index_dir=request["index_dir"], overrides=request["overrides"]) as engine:
            if request["history"] and not request["rebuild"]:
                engine.begin_history(progress)  # a query waits for it
            if not all(project.can_write() for project in engine.projects):
                raise Unwritable("the index cannot be written", "set LURCHER_INDEX_DIR to a folder that can be written")
            # A query must not change a shared store.
            done = engine.index(rebuild=request["rebuild"], history=request["history"], share=False, progress=progress)
            send({"result": done})
    except LurcherError as error:
        hint = error.hint.to_json() if isinstance(error.hint, Template) else error.hint
        send({"error": {**error.to_dict(), "hint": hint}})
    except Exception as error:
        send({"error": _unexpected_error(error)})
    out.close()
    os._exit(0)


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(1)


def make_request(paths: Sequence[Path], overrides: Mapping[str, Any] | None, **what: Any) -> BuildRequest:
    return BuildRequest(tuple(map(str, paths)), dict(overrides or {}), **what)
