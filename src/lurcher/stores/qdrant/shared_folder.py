"""A folder that one process at a time can have open: stores of the same process share what is open already."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lurcher.errors import StoreError
from lurcher.stores.qdrant.points import DOCTOR

T = TypeVar("T")
_open: dict[str, tuple[Folder, Any]] = {}
_lock = threading.Lock()


class Folder:
    def __init__(self, path: str) -> None:
        self.path = path
        self._users, self._handle = 0, -1

    def take(self, url: str, seconds: float) -> None:
        """Wait so long for another process to be done with it."""
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
                        hint = f"wait for it to end; a server (qdrant://HOST) is there for several at once; {DOCTOR}"
                        raise StoreError(f"the store at {url} is open in another process", hint, passing=True) from None
                    time.sleep(0.05)
        except OSError as error:
            raise StoreError(f"the store at {url} cannot be opened: {error.strerror}", DOCTOR) from error
        except StoreError:
            self.release()
            raise

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def used(self) -> None:
        self._users += 1

    def left(self) -> bool:
        """Whether that was the last one."""
        with _lock:
            self._users -= 1
            if self._users == 0:
                _open.pop(self.path, None)
            return self._users == 0


def shared(path: str, make: Callable[[Folder], T]) -> T:
    with _lock:
        if path not in _open:
            folder = Folder(path)
            _open[path] = (folder, make(folder))
        folder, made = _open[path]
        folder.used()
        found: T = made
        return found
