"""Reads what git writes, piece by piece, while git is already at work on what follows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import IO

_CHUNK = 1 << 18
_AHEAD = 64
"""Chunks that may wait to be read: git works on while commits are being counted."""
LONGEST = 1 << 16
"""Bytes of a line that are kept; what is longer was not written by anybody."""
LONGEST_FIELD = 1 << 20


class Broken(Exception):
    """The output ended where it should not, or is not what was asked for."""


class Ahead:
    """Takes what comes from a pipe in a thread of its own, a bounded amount ahead of who reads it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._chunks: queue.Queue[bytes] = queue.Queue(_AHEAD)
        self._stopped = False
        self._thread = threading.Thread(target=self._fetch, daemon=True)
        self._thread.start()

    def _fetch(self) -> None:
        try:
            while not self._stopped and (chunk := self._pipe.read1(_CHUNK)):  # type: ignore[attr-defined]
                self._put(chunk)
        except (OSError, ValueError):
            pass  # the process was stopped
        self._put(b"")

    def _put(self, chunk: bytes) -> None:
        while not self._stopped:
            try:
                self._chunks.put(chunk, timeout=0.2)
                return
            except queue.Full:
                continue

    def __call__(self) -> bytes:
        return self._chunks.get()

    def stop(self) -> None:
        """To be called when the process has been ended; the thread ends with it."""
        self._stopped = True
        self._thread.join(5)


class Stream:
    """Lines and zero-terminated fields out of chunks; an empty chunk is the end."""

    def __init__(self, fetch: Callable[[], bytes]) -> None:
        self._fetch = fetch
        self._data = b""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Put a further chunk behind what is left."""
        if self._ended:
            return False
        chunk = self._fetch()
        if not chunk:
            self._ended = True
            return False
        self._data = self._data[self._at :] + chunk
        self._at = 0
        return True

    def peek(self) -> bytes:
        """The next byte; none at the end."""
        if self._at >= len(self._data) and not self._more():
            return b""
        return self._data[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def starts(self, text: bytes) -> bool:
        """Whether `text` follows."""
        while len(self._data) - self._at < len(text) and self._more():
            pass
        return self._data.startswith(text, self._at)

    def field(self) -> bytes:
        """Up to the next zero byte, without it; one longer than anybody writes is cut."""
        end = self._data.find(b"\0", self._at)
        if 0 <= end <= self._at + LONGEST_FIELD:
            return self._through(end)
        return self._long(b"\0", LONGEST_FIELD)

    def line(self) -> bytes:
        """Up to the next line feed, without it; an overlong line is cut."""
        end = self._data.find(b"\n", self._at)
        if 0 <= end <= self._at + LONGEST:
            return self._through(end)
        return self._long(b"\n", LONGEST)

    def _through(self, end: int) -> bytes:
        found = self._data[self._at : end]
        self._at = end + 1
        return found

    def _long(self, mark: bytes, most: int) -> bytes:
        """Up to a mark that may be many chunks away, of which no more than `most` bytes are held."""
        kept = bytearray()
        while True:
            end = self._data.find(mark, self._at)
            stop = end if end >= 0 else len(self._data)
            kept += self._data[self._at : min(stop, self._at + most - len(kept))]
            self._at = stop
            if end >= 0:
                self._at = end + 1
                return bytes(kept)
            if not self._more():
                raise Broken("it ends too early")

    def lines(self, count: int) -> list[bytes]:
        """As many lines; this is where most of the reading is done."""
        found: list[bytes] = []
        data, position = self._data, self._at
        while len(found) < count:
            end = data.find(b"\n", position)
            if 0 <= end <= position + LONGEST:
                found.append(data[position:end])
                position = end + 1
            else:
                self._at = position
                found.append(self._long(b"\n", LONGEST))
                data, position = self._data, self._at
        self._at = position
        return found
