"""One writer of a project at a time, and atomic changes of its head.

Both use one point per project, its *head*, and the operation "set these fields where this filter matches". Qdrant applies the
updates of a shard one after the other, and those of a point go through one replica (`ordering=strong`): of several clients
that want to change the head from the same state exactly one succeeds, and each learns which by reading it back. Guaranteed:

- A head is published only over the generation before it, and only by the writer that still holds the lease.
- A writer renews its lease in the background. One that cannot, or finds that another has it, stops at its next call.
- A lease has expired when a waiting client saw no renewal for `lease_seconds`, by that client's own clock; or, so that nobody
  has to wait for a writer that died yesterday, when its end is `lease_seconds` ago by the clocks of the machines.

Not guaranteed: a request that a stopped writer sent earlier may arrive after another writer took over. What it writes belongs
to the generation that is not published yet, and `repair_units` runs when a lease is taken, so this needs a request that is
under way for longer than a lease.
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
from lurcher.stores.qdrant.layout import escape_text, match, named_point_id
from lurcher.stores.qdrant.points import Json, Points, check_reply

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

    def state(self, project: str, *, majority: bool = False) -> Json:
        """The payload of the head's point; empty where there is none. `majority`: as most replicas have it."""
        point = named_point_id("head", project)
        found = self._points.get(self._collection, [point], FIELDS, majority=majority).get(point, {})
        with check_reply(self._points.url, "head of a project"):
            if found and found["project_id"] != escape_text(project):
                raise ValueError("the head of another project")
            return found

    def check(self, project: str) -> None:
        """Raise where this store's writer of a project has lost its lease."""
        held = self._held.get(project)
        if held is None:
            return
        if not self._points.exclusive and time.monotonic() - held.renewed > self._seconds:
            held.lost = True  # another client may have taken it by now
        if held.lost:
            raise IndexLocked(f"another client is writing {project!r} now", "run it again; what was sent is not lost")

    @contextmanager
    def hold(self, project: str, seconds: float) -> Iterator[None]:
        self._make(project)
        token = f"{_PROCESS}:{os.getpid()}:{uuid4().hex}"
        held = _Held(token, time.monotonic())
        held.beat = self._acquire(project, token, seconds)
        held.renewed = time.monotonic()
        with self._lock:
            self._held[project] = held
        stop = threading.Event()
        beat = threading.Thread(target=self._renew, args=(project, held, stop), name="lurcher-lease", daemon=True)
        beat.start()
        unreachable = False
        try:
            yield
        except StoreError as error:
            unreachable = error.passing
            raise
        finally:
            stop.set()
            with self._lock:
                self._held.pop(project, None)
            if not held.lost and not unreachable:  # otherwise it expires by itself
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
        if self.state(project, majority=True).get("publisher") != publisher:
            message = f"{project!r} is not at generation {head.generation - 1} any more: another client has written it"
            raise IndexLocked(message, "run it again")

    def _make(self, project: str) -> None:
        payload = {
            "sort": "head", "project_id": escape_text(project), "generation": 0, "head": {}, "publisher": "",
            "writer": "", "beat": 0, "until": 0.0, "by": "",
        }  # fmt: skip
        if not self.state(project):
            self._points.upsert(
                self._collection, [{"id": named_point_id("head", project), "vector": {}, "payload": payload}], only_new=True
            )

    def _acquire(self, project: str, token: str, seconds: float) -> int:
        """Wait for the lease; returns the beat that it begins with."""
        give_up = time.monotonic() + seconds
        watched: tuple[Any, Any] = (None, None)
        since, pause = time.monotonic(), _POLL
        while True:
            found = self.state(project, majority=True)
            with check_reply(self._points.url, "lease of a project"):
                writer, beat = str(found["writer"]), int(found["beat"])
                until, by = float(found["until"]), str(found["by"])
            if (writer, beat) != watched:
                watched, since = (writer, beat), time.monotonic()
            if not writer or self._expired(writer, until, since):
                mine = {"writer": token, "by": f"{gethostname()}, process {os.getpid()}", **self._renewal(beat + 1)}
                self._swap(project, mine, match("writer", writer), match("beat", beat))
                if self.state(project, majority=True).get("writer") == token:
                    return beat + 1
            if time.monotonic() >= give_up:
                who = "".join(letter for letter in by if letter.isprintable())[:100]
                raise IndexLocked(f"{project!r} is being written by {who or 'another client'}", "try again when it is done")
            time.sleep(min(pause, max(0.0, give_up - time.monotonic())))
            pause = min(pause * 1.5, 1.0)

    def _expired(self, writer: str, until: float, since: float) -> bool:
        if self._points.exclusive:  # no other process can be writing
            return not writer.startswith(f"{_PROCESS}:{os.getpid()}:")
        return time.monotonic() - since > self._seconds or time.time() > until + self._seconds

    def _renewal(self, beat: int) -> Json:
        return {"beat": beat, "until": time.time() + self._seconds}

    def _renew(self, project: str, held: _Held, stop: threading.Event) -> None:
        while not stop.wait(self._seconds / 3):
            began = time.monotonic()
            try:
                held.beat += 1
                self._swap(project, self._renewal(held.beat), match("writer", held.token))
                if self.state(project, majority=True).get("writer") != held.token:
                    held.lost = True
                    return
                held.renewed = began
            except StoreError:
                # A server that cannot be reached for a moment does not end a lease; its expiry does.
                if not self._points.exclusive and time.monotonic() - held.renewed > self._seconds:
                    held.lost = True
                    return

    def _swap(self, project: str, payload: Json, *conditions: Json) -> None:
        where = {"must": [{"has_id": [named_point_id("head", project)]}, *conditions]}
        self._points.change(self._collection, payload, where)


class _Held:
    """A lease of this process."""

    def __init__(self, token: str, renewed: float) -> None:
        self.token, self.renewed, self.beat, self.lost = token, renewed, 0, False
