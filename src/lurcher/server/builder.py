"""Makes or updates an index in a process of its own: answers go on meanwhile, and to cancel it is to end it.

An index survives the end of its writer at any point, so nothing has to be tidied up. The process ends with us, since it
listens to a pipe that only we hold open.
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

_COMMAND = "from lurcher.server.builder import work; work()"
_MOST_ERROR = 2000


class Unwritable(IndexError_):
    """There is no place for an index on disk."""

    code = "unwritable"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built."""

    paths: tuple[str, ...]
    overrides: Mapping[str, Any]
    index_dir: str | None = None
    rebuild: bool = False
    history: bool = False


class Build:
    """One run of the builder. `what`, `done` and `total` tell how far it is; `error` why it failed, once it has ended."""

    def __init__(self, order: Order, progress: Progress = silent, after: Callable[[], None] = lambda: None) -> None:
        """`after` is called once it has ended, from another thread."""
        self.order = order
        self._after = after
        self.started = time.monotonic()
        self.what, self.done, self.total = "listing files", 0, 0
        self.result: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.cancelled = False
        self.waiting = 0
        """How many wait for it; whoever is the last to give up may cancel it."""
        self._ended = threading.Event()
        self._progress = progress
        self._begin()

    def _begin(self) -> None:
        self._process = _start(self.order)
        threading.Thread(target=self._read, name="lurcher-build", daemon=True).start()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        return self._ended.wait(seconds)

    @property
    def seconds_left(self) -> float | None:
        """About how long it will take still; None while nobody knows."""
        share = self.done / self.total if self.total else 0.0
        return None if share < 0.02 else (time.monotonic() - self.started) * (1 - share) / share

    def check(self) -> dict[str, Any]:
        """What the index is like now, once it has ended well; else raises what it failed with."""
        if self.error is not None:
            problem = IndexError_(self.error["message"], Template.from_json(self.error.get("hint", "")))
            problem.code = self.error.get("code", problem.code)
            raise problem
        return self.result or {}

    def cancel(self) -> None:
        """End it now; what was there before stays."""
        if not self.ended:
            self.kill()
            self._ended.wait(5)

    def kill(self) -> None:
        """The same without waiting: for handlers of signals."""
        if not self.ended:
            self.cancelled = True
            self._process.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None and self._process.stdin is not None
        try:
            for line in self._process.stdout:
                with contextlib.suppress(ValueError):
                    self._note(json.loads(line))
        finally:
            status = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            if self.result is None and self.error is None:
                reason = "it was cancelled" if self.cancelled else f"its process ended with status {status}"
                problem = IndexError_(f"the index was not made: {reason}", "run: lurcher doctor" if not self.cancelled else "")
                self.error = problem.to_dict()
            self._ended.set()
            self._after()

    def _note(self, news: dict[str, Any]) -> None:
        if "what" in news:
            self.what, self.done, self.total = news["what"], news["done"], news["total"]
            self._progress(self.what, self.done, self.total)
        self.result = news.get("result", self.result)
        self.error = news.get("error", self.error)


class BuildHere(Build):
    """The same in a thread of ours, for an index that cannot be written: another process could not hand it over."""

    def __init__(self, order: Order, engine: Engine, progress: Progress, after: Callable[[], None]) -> None:
        self._engine = engine
        super().__init__(order, progress, after)

    def _begin(self) -> None:
        threading.Thread(target=self._work, name="lurcher-build", daemon=True).start()

    def cancel(self) -> None:
        """Forget it: it ends by itself."""
        self.cancelled = True

    kill = cancel

    def _work(self) -> None:
        try:
            order = self.order
            self.result = self._engine.index(
                rebuild=order.rebuild, history=order.history, share=False, progress=self._told
            )
        except LurcherError as error:
            self.error = error.to_dict()
        except Exception as error:
            self.error = _unforeseen(error)
        self._ended.set()
        self._after()

    def _told(self, what: str, done: int, total: int) -> None:
        self._note({"what": what, "done": done, "total": total})


def _unforeseen(error: Exception) -> dict[str, str]:
    return {"code": "index", "message": str(error)[:_MOST_ERROR], "hint": "run: lurcher doctor"}


def _start(order: Order) -> subprocess.Popen[bytes]:
    # In lurcher's own folder nothing of a repository is imported; and what it prints never reaches our own output.
    home = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    told = {name: getattr(order, name) for name in Order.__match_args__}
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
    return process


def work() -> None:
    """The other side: build what was ordered, telling of progress line by line."""
    from lurcher.engine import Engine
    from lurcher.runtime.process import claim_process

    claim_process()
    with contextlib.suppress(OSError):
        os.nice(5)  # whoever asks meanwhile goes first
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lock = threading.Lock()
    last = 0.0

    def tell(news: Mapping[str, Any]) -> None:
        with lock, contextlib.suppress(OSError, ValueError):
            out.write(json.dumps(news).encode() + b"\n")
            out.flush()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.05 or done >= total:
            last = now
            tell({"what": what, "done": done, "total": total})

    try:
        with Engine.open(order["paths"], index_dir=order["index_dir"], overrides=order["overrides"]) as engine:
            if order["history"] and not order["rebuild"]:
                engine.begin_history(progress)  # somebody waits for an answer about it
            if not all(project.can_write() for project in engine.projects):
                raise Unwritable("the index cannot be written", "set LURCHER_INDEX_DIR to a folder that can be written")
            # Questions must not write what others share.
            done = engine.index(rebuild=order["rebuild"], history=order["history"], share=False, progress=progress)
            tell({"result": done})
    except LurcherError as error:
        hint = error.hint.to_json() if isinstance(error.hint, Template) else error.hint
        tell({"error": {**error.to_dict(), "hint": hint}})
    except Exception as error:
        tell({"error": _unforeseen(error)})
    out.close()
    os._exit(0)


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(1)


def order_for(paths: Sequence[Path], overrides: Mapping[str, Any] | None, **what: Any) -> Order:
    return Order(tuple(map(str, paths)), dict(overrides or {}), **what)
