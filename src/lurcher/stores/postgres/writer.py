"""What writers do: one at a time in a project, in transactions that a writer who was cut off can no longer make.

Who takes a project's lock gives it a new epoch. Each transaction holds the project's row and looks whether the epoch is still
the writer's own, and whether what it writes is not yet public: so nothing can slip into a generation that readers see already.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

from lurcher.errors import IndexLocked, StoreError
from lurcher.stores.base import Head, StoredFile
from lurcher.stores.postgres import lists, rows
from lurcher.stores.postgres.connection import Connection, Server
from lurcher.stores.postgres.rows import kept

_BATCH_UNITS = 2000
_BATCH_BYTES = 16_000_000
_PAUSE = 0.05
_MANY = 2000
"""Units in new lists after which the server takes its statistics anew."""


class _Row(NamedTuple):
    id: int
    generation: int
    epoch: int


class Writer:
    """The writing half of a store; it has a connection for long statements, made when it is first needed."""

    def __init__(self, server: Server, seconds: float, vectors: str) -> None:
        self._server, self._seconds, self._vectors = server, seconds, vectors
        self._epochs: dict[str, int] = {}

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        self._server.ready(writing=True)
        connection = self._server.connect(self._seconds)
        try:
            try:
                self._lock(connection, project, seconds)
                self._epochs[project] = self._next_epoch(connection, project)
            except psycopg.Error as error:
                raise self._server.explained(error) from None
            try:
                yield
            finally:
                self._epochs.pop(project, None)
        finally:
            with suppress(psycopg.Error):
                connection.close()  # and with it goes the lock

    def _lock(self, connection: Connection, project: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        key = f"{self._server.schema}/{kept(project)}"
        while True:
            row = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (key,)).fetchone()
            if row is not None and row[0]:
                return
            if time.monotonic() >= deadline:
                raise _locked(project)
            time.sleep(_PAUSE)

    @staticmethod
    def _next_epoch(connection: Connection, project: str) -> int:
        connection.execute("INSERT INTO projects (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", (kept(project),))
        # Waits for a transaction of whoever had the lock before.
        row = connection.execute(
            "UPDATE projects SET epoch = epoch + 1 WHERE name = %s RETURNING epoch", (kept(project),)
        ).fetchone()
        assert row is not None
        return int(row[0])

    # -- transactions -----------------------------------------------------------------------------------------------------

    def _change(self, project: str, work: Callable[[Connection, _Row], Any], *, make: bool = False, alone: bool = False) -> Any:
        """One transaction on a project, or None where there is no such project; `alone`: no other one at the same time."""
        self._server.ready(writing=True)

        def once(connection: Connection) -> Any:
            with connection.transaction():
                connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{round(self._seconds * 1000)}ms",))
                row = self._held(connection, project, alone)
                if row is None and make:
                    connection.execute(
                        "INSERT INTO projects (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", (kept(project),)
                    )
                    row = self._held(connection, project, alone)
                return None if row is None else work(connection, row)

        return self._server.ask(once)

    def _held(self, connection: Connection, project: str, alone: bool) -> _Row | None:
        found = connection.execute(_HOLD_ALONE if alone else _HOLD, (kept(project),)).fetchone()
        if found is None:
            return None
        row = _Row(*found)
        if self._epochs.get(project, row.epoch) != row.epoch:
            raise _locked(project)
        return row

    # -- files ------------------------------------------------------------------------------------------------------------

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        batch: list[StoredFile] = []
        units = size = 0
        for file in files:
            batch.append(file)
            units += len(file.units)
            size += len(file.record) + sum(len(unit.text) for unit in file.units)
            if units >= _BATCH_UNITS or size >= _BATCH_BYTES:
                self._put(project, batch, born, done)
                batch, units, size = [], 0, 0
        if batch:
            self._put(project, batch, born, done)

    def _put(self, project: str, batch: Sequence[StoredFile], born: int, done: Callable[[int], None]) -> None:
        by_key = {UUID(file.key): file for file in batch}

        def work(connection: Connection, row: _Row) -> None:
            _not_public(project, row, born)
            there = connection.execute("SELECT key FROM files WHERE project = %s AND key = ANY(%s)", (row.id, list(by_key)))
            old = [key for (key,) in there]
            if old:
                rows.put_again(connection, row.id, row.generation, old, born)
            known = set(old)
            rows.insert(connection, row.id, {key: file for key, file in by_key.items() if key not in known}, born)

        for attempt in (0, 1):
            try:
                self._change(project, work, make=True)
                break
            except StoreError as error:
                # Somebody without the lock put the same file at the same moment.
                if attempt or not isinstance(error.__context__, errors.UniqueViolation):
                    raise
        done(len(batch))

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            _not_public(project, row, born)
            connection.cursor().executemany(
                "INSERT INTO pages (project, name, born, data) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (project, name, born) DO UPDATE SET data = excluded.data",
                [(row.id, kept(name), born, bytes(data)) for name, data in sorted(pages.items())],
            )

        self._change(project, work, make=True)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            # What readers see may be kept from dying; to put something before their eyes takes a new generation.
            connection.execute(
                "UPDATE files SET born = %(born)s, died = NULL WHERE project = %(project)s AND key = ANY(%(keys)s) "
                "AND (%(born)s > %(seen)s OR (born <= %(seen)s AND (died IS NULL OR died > %(seen)s)))",
                {"born": born, "project": row.id, "keys": [UUID(key) for key in keys], "seen": row.generation},
            )

        self._change(project, work)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            marked = connection.execute(
                "UPDATE files SET died = %(died)s WHERE project = %(project)s AND key = ANY(%(keys)s) "
                "AND (died IS NULL OR died > %(died)s)",
                {"died": died, "project": row.id, "keys": [UUID(key) for key in keys]},
            ).rowcount
            if marked:
                _not_public(project, row, died)

        self._change(project, work)

    # -- the head ---------------------------------------------------------------------------------------------------------

    def publish(self, project: str, head: Head) -> None:
        """Lists first, which change nothing for readers; then the head, in one step, if all files are in lists."""

        def work(connection: Connection, row: _Row) -> bool:
            if _has(connection, row, head):
                return True  # the answer to our first try was lost on the way
            if _uncovered(connection, row.id):
                return False
            done = connection.execute(_PUBLISH, _head_row(project, head)).rowcount
            if done != 1:
                raise _locked(project)
            return True

        for _ in range(10):
            self.bring_up(project, head.dims)
            if self._change(project, work, make=True, alone=True):
                return
        raise _locked(project)

    def bring_up(self, project: str, dims: int) -> None:
        """Make the lists that questions are answered by, for all that was put."""

        def make(connection: Connection, row: _Row) -> int:
            return lists.bring_up(connection, row.id, dims)

        if (self._change(project, make, alone=True) or 0) >= _MANY:
            self._change(project, lambda connection, _: connection.execute(_ANALYSE) and None)
        if self._vectors == "hnsw" and dims:
            from lurcher.stores.postgres import hnsw

            hnsw.ensure(self._server, dims, self._seconds)

    def sweep(self, project: str, generation: int) -> int:
        swept = 0
        while True:
            count = self._change(project, lambda connection, row: rows.sweep(connection, row.id, generation)) or 0
            swept += count
            if count < rows.SWEPT_AT_ONCE:
                break

        def pages(connection: Connection, row: _Row) -> int:
            return connection.execute(_SWEEP_PAGES, {"project": row.id, "generation": generation}).rowcount

        return swept + (self._change(project, pages) or 0)

    def drop(self, project: str) -> bool:
        def work(connection: Connection, row: _Row) -> bool:
            for statement in _DROP:
                connection.execute(statement, (row.id,))
            return row.generation > 0

        return bool(self._change(project, work, alone=True))


_HOLD = "SELECT id, generation, epoch FROM projects WHERE name = %s FOR SHARE"
_HOLD_ALONE = "SELECT id, generation, epoch FROM projects WHERE name = %s FOR NO KEY UPDATE"
_ANALYSE = "ANALYZE files, segments, postings, cells, vectors"
"""So that plans are right at once; who may not gets a warning, and autovacuum does it a minute later."""
_PUBLISH = """
    UPDATE projects SET generation = %(generation)s, fingerprint = %(fingerprint)s, written = %(written)s,
        "commit" = %(commit)s, files = %(files)s, units = %(units)s, dims = %(dims)s, more = %(more)s
    WHERE name = %(name)s AND generation = %(generation)s - 1
"""
_SWEEP_PAGES = """
    DELETE FROM pages p WHERE p.project = %(project)s AND (p.born > %(generation)s OR EXISTS (
        SELECT 1 FROM pages n WHERE n.project = p.project AND n.name = p.name AND n.born > p.born AND n.born <= %(generation)s))
"""
_DROP = (
    "DELETE FROM units USING files f WHERE f.project = %s AND units.file = f.no",
    "DELETE FROM records USING files f WHERE f.project = %s AND records.file = f.no",
    "DELETE FROM vectors WHERE project = %s",
    "DELETE FROM postings WHERE project = %s",
    "DELETE FROM cells WHERE project = %s",
    "DELETE FROM segments WHERE project = %s",
    "DELETE FROM pages WHERE project = %s",
    "DELETE FROM files WHERE project = %s",
    "DELETE FROM projects WHERE id = %s",
)


def _locked(project: str) -> IndexLocked:
    return IndexLocked(f"somebody else is writing the project {project} in the store", "try again once that has ended")


def _not_public(project: str, row: _Row, generation: int) -> None:
    """Refuse to change what readers see already."""
    if generation <= row.generation:
        raise _locked(project)


def _head_row(project: str, head: Head) -> dict[str, Any]:
    return {
        "name": kept(project), "generation": head.generation, "fingerprint": kept(head.fingerprint),
        "written": kept(head.written), "commit": kept(head.commit), "files": head.files, "units": head.units, "dims": head.dims,
        "more": Jsonb({kept(key): kept(value) for key, value in head.more.items()}),
    }  # fmt: skip


def _has(connection: Connection, row: _Row, head: Head) -> bool:
    """Whether this very head is the head."""
    if row.generation != head.generation:
        return False
    found = connection.execute(
        'SELECT fingerprint, written, "commit", files, units FROM projects WHERE id = %s', (row.id,)
    ).fetchone()
    return found == (kept(head.fingerprint), kept(head.written), kept(head.commit), head.files, head.units)


def _uncovered(connection: Connection, project: int) -> bool:
    """Whether there are files that no list has."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND no > "
        "(SELECT coalesce(max(high), 0) FROM segments WHERE project = %(project)s))",
        {"project": project},
    ).fetchone()
    return bool(row and row[0])
