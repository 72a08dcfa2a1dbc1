"""What the parts of one running process share: its collector, cancellation, caches, time, paths, and text for people.

Cancellation ends work that nobody waits for any more: servers say when, and loops that may run long call `check_cancelled`. It
belongs to a thread: work that is handed to another thread goes on. Paths are strings here: importing `pathlib` takes too long.

File names, code, messages, authors, settings and answers of servers come from others and may try to control a terminal.
Replaced by U+FFFD are: control characters (C0 except tab, DEL, C1), line and paragraph separators, directional overrides,
embeddings and isolates, which can make code look like other code, tag characters, which carry invisible text, and lone
surrogates, which cannot be encoded. Everything else stays, whether Python calls it printable or not: spaces of every width,
joiners, which emoji and many scripts need, soft hyphens, directional marks.
"""

from __future__ import annotations

import errno
import gc
import os
import stat
import time
from _thread import RLock, _local, allocate_lock
from time import monotonic

from lurcher.errors import DeadlineExceeded
from lurcher.runtime.stdlib import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from mmap import mmap
    from threading import Event
    from types import TracebackType
    from typing import Any, TextIO, TypeVar

    Result = TypeVar("Result")
    Value = TypeVar("Value")


WINDOWS = os.name == "nt"
_owned = False


def claim_process() -> None:
    """Declare that this process is a lurcher command, not a program that uses lurcher as a library.

    Only such a process may be forked (runtime/parallel.py): we know what runs in it.
    """
    global _owned
    _owned = True


def is_own_process() -> bool:
    return _owned


class CollectorPause:
    """`with GC_PAUSED:` turns Python's cycle collector off, for work that makes many objects and no cycles.

    Threads share one counter: if each remembered by itself whether the collector was on, one that begins while another has
    paused it would leave it off for good.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._depth = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth and self._was_on:
                gc.enable()


GC_PAUSED = CollectorPause()


_thread_state = _local()


class Cancelled(BaseException):
    """Nobody waits for the answer. A BaseException, so that no handler of ordinary errors catches it."""


def run_cancellable(work: Callable[[], Result], stop: Event, seconds: float | None = None) -> Result:
    """Run `work` in this thread; it ends early once `stop` is set, or after `seconds`."""
    before = getattr(_thread_state, "watched", None)
    _thread_state.watched = (stop, seconds, None if seconds is None else monotonic() + seconds)
    try:
        check_cancelled()
        return work()
    finally:
        _thread_state.watched = before


def check_cancelled() -> None:
    """Raise Cancelled or DeadlineExceeded if the work of this thread is to end."""
    watched = getattr(_thread_state, "watched", None)
    if watched is None:
        return
    stop, seconds, end = watched
    if stop.is_set():
        raise Cancelled
    if end is not None and monotonic() > end:
        raise DeadlineExceeded(f"the query took longer than {seconds:g} s", "narrow it to a folder or a language")


class Cache:
    """A cache for what takes long to make, such as a loaded model. It makes each value once.

    Thread-safe: other threads wait while a value is made.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a value may need another one to be made
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: Value = self._values[key]
            return value

    def peek(self, key: Hashable) -> Any:
        """The value if it was made, else None."""
        return self._values.get(key)


class LruCache:
    """Keeps the values that were used last, as many as fit into `capacity` and at most `entries`. Thread-safe."""

    def __init__(self, capacity: int, entries: int | None = None) -> None:
        self._capacity, self._entries = capacity, entries
        self._lock = RLock()
        self._values: dict[Hashable, tuple[Any, int]] = {}  # the one used last at the end
        self.used = 0
        """The sizes of all values together."""

    def get(self, key: Hashable) -> Any:
        """The value, or None."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int = 1) -> None:
        with self._lock:
            self.used += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self.used > self._capacity or (self._entries is not None and len(self._values) > self._entries):
                self.used -= self._values.pop(next(iter(self._values)))[1]

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.used = 0


class Waitable(Protocol):
    """A process like `subprocess.Popen`."""

    def wait(self, timeout: float | None = None) -> int: ...


class Stopwatch:
    """Named laps in milliseconds; laps with one name add up."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        """Continue from an earlier result of `total`."""
        self._laps = dict(before or ())
        self._last = time.perf_counter()
        self._started = self._last - self._laps.pop("total", 0.0) / 1000

    def lap(self, name: str) -> None:
        """End a lap and add its time to this name."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + (now - self._last) * 1000
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self._laps, "total": (time.perf_counter() - self._started) * 1000}


_MAX_POLL_SECONDS = 0.02


def pause(seconds: float) -> None:
    """Sleep for a duration.

    `select` gets a duration. `time.sleep` waits for a point in time and may fail or last for days if a clock jumps.
    """
    import select

    try:
        select.select((), (), (), max(0.0, seconds))
    except OSError:  # systems where select needs a file
        time.sleep(max(0.0, seconds))


def is_running(number: int) -> bool:
    """Whether there is a process of that number; also where that cannot be known."""
    if WINDOWS:  # os.kill would end it
        import ctypes

        kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
        handle = kernel32.OpenProcess(_WINDOWS_SYNCHRONIZE, False, number)
        if not handle:
            return bool(kernel32.GetLastError() == _WINDOWS_ACCESS_DENIED)
        ended: int = kernel32.WaitForSingleObject(handle, 0)
        kernel32.CloseHandle(handle)
        return ended != 0
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def interrupt_self() -> None:
    """What Ctrl-C does to this process, from any of its threads."""
    if WINDOWS:  # os.kill would end it at once
        import _thread

        _thread.interrupt_main()
    else:
        import signal

        os.kill(os.getpid(), signal.SIGINT)


_WINDOWS_SYNCHRONIZE, _WINDOWS_ACCESS_DENIED = 0x00100000, 5


def wait_for_exit(process: Waitable, seconds: float) -> int | None:
    """The exit code of a process; None if it does not end in time. Polls with `pause`, where `subprocess` would sleep."""
    from subprocess import TimeoutExpired

    waited, moment = 0.0, 0.001
    while True:
        try:
            return process.wait(0)
        except TimeoutExpired:
            if waited >= seconds:
                return None
        pause(moment)
        waited, moment = waited + moment, min(2 * moment, _MAX_POLL_SECONDS)


# -- files: what differs between systems about opening, reading, replacing and mapping them -------------------------------
#
# Windows opens without the flags that refuse links and pipes, has no reading at a place, and neither replaces nor removes a
# file that somebody has mapped. What stands here for it has been tested by fakes only (docs/platforms.md).

NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""A pipe in the place of a file does not hold us up."""
PRIVATE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
"""Children do not get the file, and its bytes are not translated."""
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LONG_PATH = 240
"""Characters from which on Windows wants a path in its long form."""
_REPLACE_SECONDS = 2.0
"""How long a file is waited for that a scanner or another process has open."""
_READ_ONLY = getattr(os, "ST_RDONLY", 0)


def open_file(path: str | os.PathLike[str], flags: int = os.O_RDONLY, mode: int = 0o600, *, follow: bool = False) -> int:
    """A descriptor of a file, which neither waits for a pipe nor is inherited; OSError with ELOOP for a link."""
    if WINDOWS:
        path = extended(os.fspath(path))
    if not follow and not NO_FOLLOW and _is_link(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return os.open(path, flags | NO_WAIT | PRIVATE | (0 if follow else NO_FOLLOW), mode)


def open_waiting_for_nobody(path: str, flags: int) -> int:
    """An `opener` for `open`: links are followed, pipes are not waited for."""
    return os.open(path, flags | NO_WAIT)


def _is_link(path: str | os.PathLike[str]) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    # Junctions are no links for Python, but lead elsewhere as well.
    return stat.S_ISLNK(status.st_mode) or bool(getattr(status, "st_reparse_tag", 0))


def extended(path: str) -> str:
    """A long path in the form in which Windows has no limit of 260 characters; others as they are."""
    if len(path) < _LONG_PATH or path.startswith("\\\\?\\"):
        return path
    path = os.path.abspath(path).replace("/", "\\")
    return "\\\\?\\UNC" + path[1:] if path.startswith("\\\\") else "\\\\?\\" + path


def read_at(descriptor: int, size: int, position: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, position)
    os.lseek(descriptor, position, os.SEEK_SET)
    return os.read(descriptor, size)


def write_at(descriptor: int, data: bytes, position: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, position)
    os.lseek(descriptor, position, os.SEEK_SET)
    return os.write(descriptor, data)


def replace_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename over whatever is there. Windows refuses while somebody has the file open, mostly for a moment."""
    if not WINDOWS:
        os.replace(source, target)
        return
    deadline = monotonic() + _REPLACE_SECONDS
    while True:
        try:
            os.replace(extended(os.fspath(source)), extended(os.fspath(target)))
            return
        except PermissionError:
            if monotonic() >= deadline:
                raise
            time.sleep(0.02)


def map_file(descriptor: int, size: int) -> mmap | bytes:
    """The bytes of a file: mapped, or read where a mapped file could neither be replaced nor removed."""
    if not WINDOWS:
        from mmap import ACCESS_READ, mmap

        return mmap(descriptor, 0, access=ACCESS_READ)
    pieces = []
    while size > 0 and (piece := os.read(descriptor, min(size, 1 << 24))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def user_id() -> int:
    """The user whose rights count; 0 on Windows, where every file has that owner."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def is_read_only(folder: str | os.PathLike[str]) -> bool:
    """Whether nothing can be written in a folder, whatever its permissions say."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & _READ_ONLY)


_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def exists(path: str) -> bool:
    """Whether a path exists; OSError where that is unknown, as in a folder that may not be entered."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    except ValueError:
        return False
    return True


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it, by name alone."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_REPLACED = (
    (0x00, 0x08), (0x0A, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), (0x202A, 0x202E), (0x2066, 0x2069), (0xD800, 0xDFFF),
    (0xE0000, 0xE007F),
)  # fmt: skip
_ESCAPE = "\x1b"
COLOURS = frozenset(
    ("0", "0;1;33", "0;2;3", "0;32", "1", "1;31", "1;33", "1;34", "2", "2;3", "32", "33", "35", "36"),
)  # fmt: skip
"""The colour codes that `Painter` writes between `ESC [` and `m`; no others get through."""
CLEAR_LINE = "\r\x1b[K"
"""Clears the line before progress is shown in it again."""

_LINE_TABLE: dict[int, str] = {}
_LINES_TABLE: dict[int, str] = {}


def _fill_tables() -> None:
    for first, last in _REPLACED:
        _LINE_TABLE.update(dict.fromkeys(range(first, last + 1), _REPLACEMENT))
    _LINES_TABLE.update(_LINE_TABLE)
    del _LINES_TABLE[0x0A]


def format_count(number: int, one: str, many: str = "") -> str:
    """A number of things: `1 file`, `0 files`, `12,000 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """One line of foreign text, safe to show."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINE_TABLE)


def printable_lines(text: str) -> str:
    """Foreign text of several lines, safe to show."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINES_TABLE)


def without_controls(text: str) -> str:
    """A query without control characters: they become spaces, since it is read and not shown."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(dict.fromkeys(_LINES_TABLE.keys() - {0x0D}, " "))


class SafeStream:
    """A text stream to a terminal that lets no escape sequences through but our own colours and progress."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        """The stream below, for output that programs read."""

    def write(self, text: str) -> int:
        if not text.isprintable() and text != "\n":
            text = _make_safe(text)
        return self.stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _make_safe(text: str) -> str:
    if _ESCAPE not in text:
        return printable_lines(text)
    begin = CLEAR_LINE if text.startswith(CLEAR_LINE) else ""
    first, *others = text[len(begin) :].split(_ESCAPE)
    out = [begin, printable_lines(first)]
    for part in others:
        end = part.find("m", 0, 9)
        ours = part[:1] == "[" and part[1:end] in COLOURS
        out += [_ESCAPE if ours else _REPLACEMENT, printable_lines(part)]
    return "".join(out)


def raw_stream(stream: Any) -> Any:
    """The stream below a SafeStream, for output that programs read."""
    return stream.stream if isinstance(stream, SafeStream) else stream
