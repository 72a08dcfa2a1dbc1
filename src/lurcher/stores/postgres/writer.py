"""Writes to PostgreSQL: one writer of a project at a time, in transactions that a writer without the lock cannot make.

Taking the lock of a project gives it a new epoch. Each transaction locks the project's row, and checks that the epoch
is still the writer's own and that the generation it writes is not published: nothing can be added to what readers see.
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
from lurcher.net.http import Deadline
from lurcher.stores.base import Head, StoredFile
from lurcher.stores.postgres.connection import Connection, Server
from lurcher.stores.postgres.segments import build_segments, encode_half, encode_terms, ensure_hnsw, escape_text

_BATCH_UNITS = 2000
_BATCH_BYTES = 16_000_000
_LOCK_POLL_SECONDS = 0.05
DELETE_BATCH = 2000
"""Files that one transaction removes."""
_ANALYSE_UNITS = 2000
"""New units after which the server's statistics are updated."""


class _Row(NamedTuple):
    id: int
    generation: int
    epoch: int


class Writer:
    """The writing half of a store; the lock of a project is held by a connection of its own."""

    def __init__(self, server: Server, seconds: float, vectors: str) -> None:
        self._server, self._seconds, self._vectors = server, seconds, vectors
        self._epochs: dict[str, int] = {}

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        self._server.check_schema(writing=True)
        connection = self._server.connect(self._seconds)
        try:
            try:
                self._lock(connection, project, seconds)
                self._epochs[project] = self._next_epoch(connection, project)
            except psycopg.Error as error:
                raise self._server.translate_error(error) from None
            try:
                yield
            finally:
                self._epochs.pop(project, None)
        finally:
            with suppress(psycopg.Error):
                connection.close()  # which also releases the lock

    def _lock(self, connection: Connection, project: str, seconds: float) -> None:
        deadline = Deadline.after(seconds)
        key = f"{self._server.schema}/{escape_text(project)}"
        while True:
            row = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (key,)).fetchone()
            if row is not None and row[0]:
                return
            if not deadline.left:
                raise _locked_error(project)
            time.sleep(_LOCK_POLL_SECONDS)

    @staticmethod
    def _next_epoch(connection: Connection, project: str) -> int:
        connection.execute("INSERT INTO projects (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", (escape_text(project),))
        # This waits for an open transaction of the previous holder of the lock.
        row = connection.execute(
            "UPDATE projects SET epoch = epoch + 1 WHERE name = %s RETURNING epoch", (escape_text(project),)
        ).fetchone()
        assert row is not None
        return int(row[0])

    # -- transactions -----------------------------------------------------------------------------------------------------

    def _transact(
        self, project: str, work: Callable[[Connection, _Row], Any], *, create: bool = False, exclusive: bool = False
    ) -> Any:
        """Run `work` in a transaction on a project; None where it does not exist. `exclusive`: no other one meanwhile."""
        self._server.check_schema(writing=True)

        def once(connection: Connection) -> Any:
            with connection.transaction():
                connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{round(self._seconds * 1000)}ms",))
                row = self._lock_row(connection, project, exclusive)
                if row is None and create:
                    connection.execute(
                        "INSERT INTO projects (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", (escape_text(project),)
                    )
                    row = self._lock_row(connection, project, exclusive)
                return None if row is None else work(connection, row)

        return self._server.run(once)

    def _lock_row(self, connection: Connection, project: str, exclusive: bool) -> _Row | None:
        found = connection.execute(_LOCK_EXCLUSIVE if exclusive else _LOCK_SHARED, (escape_text(project),)).fetchone()
        if found is None:
            return None
        row = _Row(*found)
        if self._epochs.get(project, row.epoch) != row.epoch:
            raise _locked_error(project)
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
            _check_unpublished(project, row, born)
            there = connection.execute("SELECT key FROM files WHERE project = %s AND key = ANY(%s)", (row.id, list(by_key)))
            old = [key for (key,) in there]
            if old:
                revive_files(connection, row.id, row.generation, old, born)
            known = set(old)
            insert_files(connection, row.id, {key: file for key, file in by_key.items() if key not in known}, born)

        for attempt in (0, 1):
            try:
                self._transact(project, work, create=True)
                break
            except StoreError as error:
                # A writer without the lock has put the same file at the same moment.
                if attempt or not isinstance(error.__context__, errors.UniqueViolation):
                    raise
        done(len(batch))

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            _check_unpublished(project, row, born)
            connection.cursor().executemany(
                "INSERT INTO pages (project, name, born, data) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (project, name, born) DO UPDATE SET data = excluded.data",
                [(row.id, escape_text(name), born, bytes(data)) for name, data in sorted(pages.items())],
            )

        self._transact(project, work, create=True)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            # A published file may be kept from dying; one that readers do not see yet needs a new generation.
            connection.execute(
                "UPDATE files SET born = %(born)s, died = NULL WHERE project = %(project)s AND key = ANY(%(keys)s) "
                "AND (%(born)s > %(seen)s OR (born <= %(seen)s AND (died IS NULL OR died > %(seen)s)))",
                {"born": born, "project": row.id, "keys": [UUID(key) for key in keys], "seen": row.generation},
            )

        self._transact(project, work)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        def work(connection: Connection, row: _Row) -> None:
            marked = connection.execute(
                "UPDATE files SET died = %(died)s WHERE project = %(project)s AND key = ANY(%(keys)s) "
                "AND (died IS NULL OR died > %(died)s)",
                {"died": died, "project": row.id, "keys": [UUID(key) for key in keys]},
            ).rowcount
            if marked:
                _check_unpublished(project, row, died)

        self._transact(project, work)

    # -- the head ---------------------------------------------------------------------------------------------------------

    def publish(self, project: str, head: Head) -> None:
        """Build segments first, which changes nothing for readers; then set the head, if all files are in segments."""

        def work(connection: Connection, row: _Row) -> bool:
            if _is_published(connection, row, head):
                return True  # a first attempt succeeded, but its reply was lost
            if _has_uncovered_files(connection, row.id):
                return False
            done = connection.execute(_PUBLISH, _head_row(project, head)).rowcount
            if done != 1:
                raise _locked_error(project)
            return True

        for _ in range(10):
            self.build_segments(project, head.dims)
            if self._transact(project, work, create=True, exclusive=True):
                return
        raise _locked_error(project)

    def build_segments(self, project: str, dims: int) -> None:
        """Build the segments of all files that were put."""

        def create(connection: Connection, row: _Row) -> int:
            return build_segments(connection, row.id, dims)

        if (self._transact(project, create, exclusive=True) or 0) >= _ANALYSE_UNITS:
            self._transact(project, lambda connection, _: connection.execute(_ANALYSE) and None)
        if self._vectors == "hnsw" and dims:
            ensure_hnsw(self._server, dims, self._seconds)

    def sweep(self, project: str, generation: int) -> int:
        swept = 0
        while True:
            count = self._transact(project, lambda connection, row: delete_unseen_files(connection, row.id, generation)) or 0
            swept += count
            if count < DELETE_BATCH:
                break

        def pages(connection: Connection, row: _Row) -> int:
            return connection.execute(_SWEEP_PAGES, {"project": row.id, "generation": generation}).rowcount

        return swept + (self._transact(project, pages) or 0)

    def drop(self, project: str) -> bool:
        def work(connection: Connection, row: _Row) -> bool:
            for statement in _DROP:
                connection.execute(statement, (row.id,))
            return row.generation > 0

        return bool(self._transact(project, work, exclusive=True))


_LOCK_SHARED = "SELECT id, generation, epoch FROM projects WHERE name = %s FOR SHARE"
_LOCK_EXCLUSIVE = "SELECT id, generation, epoch FROM projects WHERE name = %s FOR NO KEY UPDATE"
_ANALYSE = "ANALYZE files, segments, postings, cells, vectors"
"""Makes query plans right at once. A role without the right gets a warning; autovacuum does it a minute later."""
_PUBLISH = """
    UPDATE projects SET generation = %(generation)s, fingerprint = %(fingerprint)s, written = %(written)s,
        "commit" = %(commit)s, files = %(files)s, units = %(units)s, dims = %(dims)s, more = %(more)s
    WHERE name = %(name)s AND generation = %(generation)s - 1
"""
_SWEEP_PAGES = """
    DELETE FROM pages p WHERE p.project = %(project)s AND (p.born > %(generation)s OR p.data = '' OR EXISTS (
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


def _locked_error(project: str) -> IndexLocked:
    return IndexLocked(f"another client is writing the project {project} in the store", "try again when it is done")


def _check_unpublished(project: str, row: _Row, generation: int) -> None:
    """Raise if a generation is published: it must not be changed."""
    if generation <= row.generation:
        raise _locked_error(project)


def _head_row(project: str, head: Head) -> dict[str, Any]:
    return {
        "name": escape_text(project), "generation": head.generation, "fingerprint": escape_text(head.fingerprint),
        "written": escape_text(head.written), "commit": escape_text(head.commit), "files": head.files, "units": head.units,
        "dims": head.dims,
        "more": Jsonb({escape_text(key): escape_text(value) for key, value in head.more.items()}),
    }  # fmt: skip


def _is_published(connection: Connection, row: _Row, head: Head) -> bool:
    """Whether this head is published already."""
    if row.generation != head.generation:
        return False
    found = connection.execute(
        'SELECT fingerprint, written, "commit", files, units FROM projects WHERE id = %s', (row.id,)
    ).fetchone()
    return found == (escape_text(head.fingerprint), escape_text(head.written), escape_text(head.commit), head.files, head.units)


def _has_uncovered_files(connection: Connection, project: int) -> bool:
    """Whether some files are in no segment yet."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND no > "
        "(SELECT coalesce(max(high), 0) FROM segments WHERE project = %(project)s))",
        {"project": project},
    ).fetchone()
    return bool(row and row[0])


def revive_files(connection: Connection, project: int, seen: int, keys: list[UUID], born: int) -> None:
    """Files that exist already: those visible at generation `seen` keep their `born`, the others get the new one."""
    connection.execute(
        "UPDATE files SET died = NULL, born = CASE WHEN born <= %(seen)s AND (died IS NULL OR died > %(seen)s) THEN born "
        "ELSE %(born)s END WHERE project = %(project)s AND key = ANY(%(keys)s)",
        {"seen": seen, "born": born, "project": project, "keys": keys},
    )


def insert_files(connection: Connection, project: int, files: Mapping[UUID, StoredFile], born: int) -> None:
    if not files:
        return
    cursor = connection.cursor()
    with cursor.copy(
        "COPY files (project, key, path, language, digest, names, units, born) FROM STDIN (FORMAT binary)"
    ) as copy:
        copy.set_types(["int4", "uuid", "text", "text", "text", "text[]", "int4", "int4"])
        for key, file in files.items():
            names = [escape_text(name) for name in file.names]
            path, language, digest = escape_text(file.path), escape_text(file.language), escape_text(file.digest)
            copy.write_row((project, key, path, language, digest, names, len(file.units), born))
    numbers = dict(
        cursor.execute("SELECT key, no FROM files WHERE project = %s AND key = ANY(%s)", (project, list(files))).fetchall()
    )
    with cursor.copy("COPY records (file, record, card) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "bytea", "bytea"])
        for key, file in files.items():
            copy.write_row((numbers[key], file.record, encode_half(file.card)))
    with cursor.copy(
        "COPY units (file, place, start_line, end_line, symbol, kind, digest, text, dense, terms) FROM STDIN (FORMAT binary)"
    ) as copy:
        copy.set_types(["int4"] * 4 + ["text"] * 4 + ["bytea"] * 2)
        for key, file in files.items():
            number = numbers[key]
            for place, unit in enumerate(file.units):
                copy.write_row((
                    number, place, unit.start_line, unit.end_line, escape_text(unit.symbol), escape_text(unit.kind),
                    escape_text(unit.digest), escape_text(unit.text), encode_half(unit.dense),
                    encode_terms(unit.sparse.numbers, unit.sparse.weights),
                ))  # fmt: skip


def delete_unseen_files(connection: Connection, project: int, generation: int) -> int:
    """Remove up to `DELETE_BATCH` files that no reader of this generation or a later one sees; returns how many."""
    rows = connection.execute(
        "SELECT no FROM files WHERE project = %(project)s AND (died <= %(generation)s OR born > %(generation)s) "
        "ORDER BY no LIMIT %(most)s",
        {"project": project, "generation": generation, "most": DELETE_BATCH},
    )
    gone = [number for (number,) in rows]
    if gone:
        for statement in _DELETE_FILES:
            connection.execute(statement, (gone,))
    return len(gone)


_DELETE_FILES = (
    "DELETE FROM units WHERE file = ANY(%s)",
    "DELETE FROM records WHERE file = ANY(%s)",
    "DELETE FROM vectors WHERE file = ANY(%s)",
    """
    UPDATE segments s SET gone = s.gone + g.count FROM (
        SELECT t.id, count(*) FROM unnest(%s::integer[]) AS w (no) JOIN files f ON f.no = w.no
        JOIN segments t ON t.project = f.project AND w.no > t.low AND w.no <= t.high GROUP BY t.id
    ) AS g WHERE s.id = g.id
    """,
    "DELETE FROM files WHERE no = ANY(%s)",
)
