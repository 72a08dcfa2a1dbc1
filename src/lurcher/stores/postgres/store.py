"""A `Store` in PostgreSQL: reads with one statement each, and leaves writing to `writer`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from uuid import UUID

from lurcher.runtime.terminal import format_count
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile
from lurcher.stores.postgres import search
from lurcher.stores.postgres.connection import Connection, Server
from lurcher.stores.postgres.encoding import escape_text, unescape_text
from lurcher.stores.postgres.schema import VERSION
from lurcher.stores.postgres.writer import Writer

if TYPE_CHECKING:
    from lurcher.config import Settings

WRITE_SECONDS = 900.0
"""How long one step of writing may take, such as the merge of a large project; hand-set."""
_LISTING_ROWS = 5000
"""Files that one statement lists."""


class PostgresStore:
    """A `Store`; nothing is sent to the server before the first call."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings.postgres
        self._server = Server(url, settings)
        self._writer = Writer(self._server, WRITE_SECONDS, settings.postgres.vectors)

    def __repr__(self) -> str:
        return f"PostgresStore({self._server.location!r})"

    # -- reading ----------------------------------------------------------------------------------------------------------

    def projects(self) -> list[str]:
        if not self._server.check_schema():
            return []
        rows = self._server.run(lambda c: c.execute("SELECT name FROM projects WHERE generation > 0").fetchall())
        return sorted(unescape_text(name) for (name,) in rows)

    def head(self, project: str) -> Head | None:
        if not self._server.check_schema():
            return None
        row = self._server.run(lambda c: c.execute(_HEAD, (escape_text(project),)).fetchone())
        if row is None:
            return None
        generation, fingerprint, written, commit, files, units, dims, more = row
        details = {unescape_text(str(key)): unescape_text(str(value)) for key, value in more.items()}
        fingerprint, written, commit = (unescape_text(text) for text in (fingerprint, written, commit))
        return Head(generation, fingerprint, written, commit, files, units, dims, details)

    def listing(self, project: str) -> Iterator[Listed]:
        if not self._server.check_schema():
            return
        after = 0
        while True:
            values = (escape_text(project), after, _LISTING_ROWS)
            rows = self._server.run(lambda c: c.execute(_LISTING, values).fetchall())  # noqa: B023
            for number, key, path, digest, born, died in rows:
                after = number
                yield Listed(key, unescape_text(path), unescape_text(digest), born, died)
            if len(rows) < _LISTING_ROWS:
                return

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        if not self._server.check_schema():
            return {}
        wanted = [escape_text(name) for name in names]
        rows = self._server.run(lambda c: c.execute(_PAGES, (escape_text(project), wanted, generation), binary=True).fetchall())
        return {unescape_text(name): bytes(data) for name, data in rows}

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        if not self._server.check_schema():
            return []

        row = self._server.run(lambda c: c.execute(_PROJECT, (escape_text(project),)).fetchone())
        if row is None:
            return []
        number, public, dims = row
        if generation > public:  # only the writer itself searches what is not published yet
            self._writer.build_segments(project, dims or (0 if question.dense is None else len(question.dense)))
        return self._server.run(lambda c: search.find_candidates(c, number, generation, question, self._settings))

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        if not self._server.check_schema():
            return {}
        wanted = [UUID(key) for key in keys]
        rows = self._server.run(lambda c: c.execute(_RECORDS, (escape_text(project), wanted), binary=True).fetchall())
        return {str(key): bytes(record) for key, record in rows}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        if not self._server.check_schema():
            return {}
        keys, places = [UUID(key) for key, _ in wanted], [place for _, place in wanted]
        rows = self._server.run(lambda c: c.execute(_TEXTS, (keys, places, escape_text(project)), binary=True).fetchall())
        return {(str(key), place): unescape_text(text) for key, place, text in rows}

    # -- writing ----------------------------------------------------------------------------------------------------------

    def writing(self, project: str, seconds: float) -> AbstractContextManager[None]:
        return self._writer.writing(project, seconds)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        self._writer.put(project, files, born, done)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        self._writer.put_pages(project, pages, born)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        self._writer.adopt(project, keys, born)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        self._writer.retire(project, keys, died)

    def publish(self, project: str, head: Head) -> None:
        self._writer.publish(project, head)

    def sweep(self, project: str, generation: int) -> int:
        return self._writer.sweep(project, generation)

    def drop(self, project: str) -> bool:
        return self._server.check_schema() and self._writer.drop(project)

    # -- the store itself -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, str]:
        begin = time.perf_counter()
        ready = self._server.check_schema()
        state = {"place": self._server.location}

        def work(connection: Connection) -> None:
            started = time.perf_counter()
            row = connection.execute(_SERVER).fetchone()
            state["latency"] = f"{(time.perf_counter() - started) * 1000:.1f} ms"
            assert row is not None
            state["server"], state["pgvector"] = f"PostgreSQL {row[0]}", row[1] or "not installed"
            schema = self._server.schema
            state["schema"] = f"{schema}, version {VERSION}" if ready else f"{schema}, not created yet"
            if ready:
                self._sizes(connection, state)

        self._server.run(work)
        state["connected in"] = f"{(time.perf_counter() - begin) * 1000:.0f} ms"
        return state

    @staticmethod
    def _sizes(connection: Connection, state: dict[str, str]) -> None:
        counts = connection.execute(_COUNTS).fetchone()
        assert counts is not None
        projects, files, units, dims, left = counts
        state |= {"projects": f"{projects:,}", "files": f"{files:,}", "units": f"{units:,}", "dims": dims or "none"}
        state["unpublished"] = format_count(left, "project") if left else "none"
        row = connection.execute(_SIZE).fetchone()
        state["size"] = row[0] if row else ""

    def close(self) -> None:
        self._server.close()


_PROJECT = "SELECT id, generation, dims FROM projects WHERE name = %s"
_HEAD = """
    SELECT generation, fingerprint, written, "commit", files, units, dims, more FROM projects WHERE name = %s AND generation > 0
"""
_LISTING = """
    SELECT f.no, f.key::text, f.path, f.digest, f.born, f.died FROM projects p JOIN files f ON f.project = p.id
    WHERE p.name = %s AND f.no > %s ORDER BY f.no LIMIT %s
"""
_PAGES = """
    SELECT DISTINCT ON (g.name) g.name, g.data FROM projects p JOIN pages g ON g.project = p.id
    WHERE p.name = %s AND g.name = ANY(%s) AND g.born <= %s ORDER BY g.name, g.born DESC
"""
_RECORDS = """
    SELECT f.key, r.record FROM projects p JOIN files f ON f.project = p.id JOIN records r ON r.file = f.no
    WHERE p.name = %s AND f.key = ANY(%s)
"""
_TEXTS = """
    SELECT f.key, u.place, u.text FROM unnest(%s::uuid[], %s::integer[]) AS w (key, place)
    JOIN projects p ON p.name = %s JOIN files f ON f.project = p.id AND f.key = w.key
    JOIN units u ON u.file = f.no AND u.place = w.place
"""
_SERVER = "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
_COUNTS = """
    SELECT count(*) FILTER (WHERE generation > 0), coalesce(sum(files), 0), coalesce(sum(units), 0),
           string_agg(DISTINCT dims::text, ', ') FILTER (WHERE dims > 0), count(*) FILTER (WHERE generation = 0)
    FROM projects
"""
_SIZE = """
    SELECT pg_size_pretty(coalesce(sum(pg_total_relation_size(c.oid)), 0)) FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
"""
