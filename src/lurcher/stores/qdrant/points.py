"""The operations on Qdrant that the store needs, wherever Qdrant runs: put, change, remove, fetch and search points.

Queries, filters and shapes of collections are the JSON of Qdrant's REST interface; `local` and `edge` translate them. So
there is one way to write a query, and what a test sends to the embedded engine is what a server gets.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lurcher.errors import LurcherError, StoreError

DOCTOR = "`lurcher doctor` shows what is there and what is not"
MEMORY = ":memory:"
"""In place of a folder: the data is kept in memory only."""
Json = dict[str, Any]


class NoCollection(StoreError):
    """The collection does not exist: nothing was ever written to it."""


class Points(Protocol):
    """Methods may be called from several threads. A missing collection raises `NoCollection`."""

    url: str
    """How messages name the store."""
    exclusive: bool
    """Whether no other process can have it open."""
    concurrency: int
    """How many batches are sent at a time."""
    parallel_queries: bool
    """Whether two queries at a time are faster than one after the other."""

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        """Create a collection with its payload indexes; what exists already stays."""
        ...

    def dims(self, collection: str) -> int:
        """Dimensions of its vectors `dense`; 0 without."""
        ...

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None: ...

    def change(self, collection: str, payload: Json, where: Json) -> None:
        """Set payload fields of all points that pass a filter, as one atomic operation."""
        ...

    def delete(self, collection: str, where: Json) -> None: ...

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        """Payloads by id; `majority`: as most replicas have them."""
        ...

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        """Payloads of all points that pass a filter."""
        ...

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        """Ids with scores, best first, for each query; one request for all."""
        ...

    def count(self, collection: str, where: Json) -> int: ...

    def flush(self, collections: Sequence[str]) -> None:
        """Return once everything written survives a power cut, as far as the client can ensure that."""
        ...

    def optimise(self, collections: Sequence[str]) -> None:
        """Build the search graphs over what was written, where the engine does not do so by itself."""
        ...

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        """Engine, version, latency and sizes, for `lurcher doctor`."""
        ...

    def close(self) -> None: ...


@contextmanager
def check_reply(url: str, what: str) -> Iterator[None]:
    """Around the code that reads a reply: a reply of the wrong form becomes a `StoreError` that names `what` was read."""
    try:
        yield
    except LurcherError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        message = f"the store at {url} sent a reply that cannot be understood ({what})"
        raise StoreError(message, f"check that it is a Qdrant server; {DOCTOR}") from error


T = TypeVar("T")


class LockedFolder:
    """A folder that one process at a time has open; all stores of that process share it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._users, self._handle = 0, -1

    def lock(self, url: str, seconds: float) -> None:
        """Wait up to `seconds` for another process to release it."""
        import fcntl

        give_up = time.monotonic() + seconds
        try:
            Path(self.path).mkdir(0o700, parents=True, exist_ok=True)
            self._handle = os.open(os.path.join(self.path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            while True:
                try:
                    fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        hint = f"wait until it ends, or use a server (qdrant://HOST), which several can share; {DOCTOR}"
                        raise StoreError(f"the store at {url} is open in another process", hint, passing=True) from None
                    time.sleep(0.05)
        except OSError as error:
            raise StoreError(f"the store at {url} cannot be opened: {error.strerror}", DOCTOR) from error
        except StoreError:
            self.unlock()
            raise

    def unlock(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def add_user(self) -> None:
        self._users += 1

    def remove_user(self) -> bool:
        """Whether that was the last one."""
        with _lock:
            self._users -= 1
            if self._users == 0:
                _open.pop(self.path, None)
            return self._users == 0


_open: dict[str, tuple[LockedFolder, Any]] = {}
_lock = threading.Lock()


def open_shared(path: str, make: Callable[[LockedFolder], T]) -> T:
    """What `make` gave for a folder; stores of the same process that name the same folder get the same object."""
    with _lock:
        if path not in _open:
            folder = LockedFolder(path)
            _open[path] = (folder, make(folder))
        folder, made = _open[path]
        folder.add_user()
        found: T = made
        return found
