"""One writer of a project at a time, and heads that change all at once.

Both are on one point for each project, its *head*, and change by "set these fields where these conditions hold". Qdrant applies
the updates of a shard one after the other, and those of a point go through one replica (`ordering=strong`), so of several that
want to change it from the same state exactly one does; which one, all learn by reading it back. That is what is guaranteed:

- A head is published only over the generation before it, and by the writer that still has the lease.
- A writer renews its lease in the background. One that cannot, or finds that another has it, stops at its next call.
- A lease is over when it was not renewed for `lease_seconds` while somebody watched, by that one's own clock; or, so that
  nobody has to watch for a writer that died yesterday, when it ran out as long ago again by the clocks of the machines.

What is not guaranteed: a request that a stopped writer had sent before may still arrive after another one took over. What it
puts is of the generation that is not published yet, and `mend` runs when a lease is taken, so this takes a request that is on
its way for longer than a lease.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import gethostname
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lurcher.errors import IndexLocked, StoreError
from lurcher.stores.qdrant.layout import match, named, writable
from lurcher.stores.qdrant.points import Json, Points, understood

if TYPE_CHECKING:
    from lurcher.stores.base import Head

_PROCESS = uuid4().hex[:12]
FIELDS = ("project_id", "generation", "head", "publisher", "writer", "beat", "until", "by")
_POLL = 0.05


class Leases:
    """Heads and leases of all projects, for one store."""

    def __init__(self, points: Points, collection: str, seconds: float) -> None:
        self._points, self._collection, self._seconds = points, collection, seconds
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def state(self, project: str, *, sure: bool = False) -> Json:
        """All that the head's point says; empty where there is none."""
        point = named("head", project)
        found = self._points.get(self._collection, [point], FIELDS, sure=sure).get(point, {})
        with understood(self._points.url, "what the head of a project is"):
            if found and found["project_id"] != writable(project):
                raise ValueError("another project's")
            return found

    def check(self, project: str) -> None:
        """Raise where this store's writer of a project has lost its lease."""
        held = self._held.get(project)
        if held is None:
            return
        if not self._points.alone and time.monotonic() - held.renewed > self._seconds:
            held.lost = True  # whoever waits for it may have it by now
        if held.lost:
            raise IndexLocked(f"another one is writing {project!r} now", "run it again; what was sent is not lost")

    @contextmanager
    def taken(self, project: str, seconds: float) -> Iterator[None]:
        self._make(project)
        token = f"{_PROCESS}:{os.getpid()}:{uuid4().hex}"
        held = _Held(token, time.monotonic())
        held.beat = self._take(project, token, seconds)
        held.renewed = time.monotonic()
        with self._lock:
            self._held[project] = held
        stop = threading.Event()
        beat = threading.Thread(target=self._renew, args=(project, held, stop), name="lurcher-lease", daemon=True)
        beat.start()
        away = False
        try:
            yield
        except StoreError as error:
            away = error.passing
            raise
        finally:
            stop.set()
            with self._lock:
                self._held.pop(project, None)
            if not held.lost and not away:  # else it runs out by itself
                beat.join()
                with suppress(StoreError):
                    self._swap(project, {"writer": "", "by": ""}, match("writer", token))

    def publish(self, project: str, head: Head, payload: Json) -> None:
        self.check(project)
        self._make(project)
        publisher = uuid4().hex
        conditions = [match("generation", head.generation - 1)]
        held = self._held.get(project)
        if held is not None:
            conditions.append(match("writer", held.token))
        self._swap(project, {"generation": head.generation, "head": payload, "publisher": publisher}, *conditions)
        if self.state(project, sure=True).get("publisher") != publisher:
            said = f"{project!r} is not at generation {head.generation - 1} any more: another one has written it"
            raise IndexLocked(said, "run it again")

    def _make(self, project: str) -> None:
        payload = {
            "sort": "head", "project_id": writable(project), "generation": 0, "head": {}, "publisher": "",
            "writer": "", "beat": 0, "until": 0.0, "by": "",
        }  # fmt: skip
        if not self.state(project):
            self._points.upsert(
                self._collection, [{"id": named("head", project), "vector": {}, "payload": payload}], only_new=True
            )

    def _take(self, project: str, token: str, seconds: float) -> int:
        """Wait for the lease; the beat that it begins with."""
        give_up = time.monotonic() + seconds
        watched: tuple[Any, Any] = (None, None)
        since, pause = time.monotonic(), _POLL
        while True:
            found = self.state(project, sure=True)
            with understood(self._points.url, "who writes a project"):
                writer, beat = str(found["writer"]), int(found["beat"])
                until, by = float(found["until"]), str(found["by"])
            if (writer, beat) != watched:
                watched, since = (writer, beat), time.monotonic()
            if not writer or self._over(writer, until, since):
                mine = {"writer": token, "by": f"{gethostname()}, process {os.getpid()}", **self._fresh(beat + 1)}
                self._swap(project, mine, match("writer", writer), match("beat", beat))
                if self.state(project, sure=True).get("writer") == token:
                    return beat + 1
            if time.monotonic() >= give_up:
                who = "".join(letter for letter in by if letter.isprintable())[:100]
                raise IndexLocked(f"{project!r} is being written by {who or 'another one'}", "try again when it is done")
            time.sleep(min(pause, max(0.0, give_up - time.monotonic())))
            pause = min(pause * 1.5, 1.0)

    def _over(self, writer: str, until: float, since: float) -> bool:
        if self._points.alone:  # then a writer of another process is gone
            return not writer.startswith(f"{_PROCESS}:{os.getpid()}:")
        return time.monotonic() - since > self._seconds or time.time() > until + self._seconds

    def _fresh(self, beat: int) -> Json:
        return {"beat": beat, "until": time.time() + self._seconds}

    def _renew(self, project: str, held: _Held, stop: threading.Event) -> None:
        while not stop.wait(self._seconds / 3):
            began = time.monotonic()
            try:
                held.beat += 1
                self._swap(project, self._fresh(held.beat), match("writer", held.token))
                if self.state(project, sure=True).get("writer") != held.token:
                    held.lost = True
                    return
                held.renewed = began
            except StoreError:
                # A server that is out of reach for a moment does not end a lease: its end does.
                if not self._points.alone and time.monotonic() - held.renewed > self._seconds:
                    held.lost = True
                    return

    def _swap(self, project: str, payload: Json, *conditions: Json) -> None:
        where = {"must": [{"has_id": [named("head", project)]}, *conditions]}
        self._points.change(self._collection, payload, where)


class _Held:
    def __init__(self, token: str, renewed: float) -> None:
        self.token, self.renewed, self.beat, self.lost = token, renewed, 0, False
