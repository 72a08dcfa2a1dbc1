"""Runs native code of others in a child process, with limits of processor time and memory for each call.

Grammars are native code, which Python cannot interrupt, and some run for ever on broken text or take all memory. The kernel's
parser counts its steps and stops by itself; tree-sitter and ast-grep can only be stopped by ending their process.

Children wait for further calls and end when their parent closes the pipe or dies.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import IO, Any

CPU_SECONDS = 1.5
"""Processor time for one call. The largest file takes less than a second."""
MEMORY_BYTES = 500 << 20
"""Address space of a child."""
WALL_SECONDS = 20.0
"""Wall-clock limit on systems without a timer for processor time."""
_MAX_IDLE = 4
"""Children that are kept for further calls."""
_LENGTH = struct.Struct("<Q")
_COMMAND = "from lurcher.runtime.sandbox import serve; serve()"


class SandboxFailure(Exception):
    """A call took too much time or memory, or crashed."""


def can_start_child() -> bool:
    """Whether this program knows its interpreter."""
    return bool(sys.executable)


def call(function: str, *arguments: Any) -> Any:
    """Call `module:name` in a child and return its result, or raise its error.

    Thread-safe: a child serves one call at a time.
    """
    child = _take()
    try:
        outcome, value = child.call(function, arguments)
    except BaseException as error:
        child.kill()
        if isinstance(error, (OSError, EOFError, pickle.UnpicklingError)):
            raise SandboxFailure("it took too much time or memory, or crashed") from None
        raise
    _release(child)
    if outcome:
        return value
    if isinstance(value, MemoryError):
        raise SandboxFailure("it took too much memory") from None
    raise value


class _Child:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND], cwd=Path(__file__).resolve().parents[2], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def call(self, function: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        limit = None
        if not hasattr(signal, "setitimer"):
            limit = threading.Timer(WALL_SECONDS, self._process.kill)
            limit.start()
        try:
            send(self._process.stdin, (function, arguments))
            outcome, value = receive(self._process.stdout)
            return outcome, value
        finally:
            if limit is not None:
                limit.cancel()

    def kill(self) -> None:
        self._process.kill()
        self.close()

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


_lock = threading.Lock()
_idle: list[_Child] = []
_foreign: list[_Child] = []
"""Children of the process that we were forked from, which must not be used or closed here."""


def _take() -> _Child:
    with _lock:
        while _idle:
            child = _idle.pop()
            if child.owner == os.getpid():
                return child
            _foreign.append(child)
    try:
        return _Child()
    except OSError as error:
        raise SandboxFailure(f"no process can be started for it: {error.strerror}") from error


def _release(child: _Child) -> None:
    with _lock:
        if len(_idle) < _MAX_IDLE:
            if not _idle:
                import atexit

                atexit.unregister(close)
                atexit.register(close)
            _idle.append(child)
            return
    child.close()


def close() -> None:
    """End the idle children."""
    with _lock:
        children = [child for child in _idle if child.owner == os.getpid()]
        _idle.clear()
    for child in children:
        child.close()


def serve(source: IO[bytes] | None = None, target: IO[bytes] | None = None) -> None:
    """The side of the child: answer calls until the pipe closes."""
    source, target = source or sys.stdin.buffer, target or sys.stdout.buffer
    for name in ("SIGINT", "SIGTERM"):  # sent to the whole group; the parent decides, and we end with it
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    _limit_memory()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            function, arguments = receive(source)
            send(target, _run_call(function, arguments))
    os._exit(0)


def _run_call(function: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    module, _, name = function.partition(":")
    try:
        called = getattr(import_module(module), name)
        _set_timer(CPU_SECONDS)
        return True, called(*arguments)
    except Exception as error:
        return False, error
    finally:
        _set_timer(0)


def _set_timer(seconds: float) -> None:
    """End this process after so much processor time, by a signal without a handler."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most), most)
        )
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def send(stream: IO[bytes], value: Any) -> None:
    """Write one message to a pipe between our processes."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read the next message; EOFError at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)
