"""Connections to the server: a few that are kept, each with its limits set, and one more try where one had died."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, errors

from lurcher.config import Settings
from lurcher.config.trust import read_secret, user_setting
from lurcher.errors import ConfigError, StoreError
from lurcher.stores.postgres import schema as schemas

Result = TypeVar("Result")
Connection = psycopg.Connection[Any]

_SESSION = """
    SELECT set_config(name, value, false) FROM (VALUES
        ('statement_timeout', %(timeout)s), ('jit', 'off'), ('timezone', 'UTC'), ('plan_cache_mode', 'force_custom_plan'),
        ('idle_in_transaction_session_timeout', '600s'), ('client_connection_check_interval', '5s'),
        ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
        ('idle_session_timeout', '0'), ('work_mem', '32MB')
    ) AS wanted (name, value)
"""
_PATH = """
    SELECT set_config('search_path', concat_ws(', ', quote_ident(%(schema)s), quote_ident(n.nspname), 'pg_temp'), false),
           e.extversion
    FROM (SELECT 1) AS one
    LEFT JOIN pg_extension e ON e.extname = 'vector' LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
"""
_HNSW = """
    SELECT set_config('hnsw.ef_search', '400', false), set_config('hnsw.iterative_scan', 'relaxed_order', false)
"""
CONNECTIONS = 4
"""That one process has at a time; hand-set."""
_OLDEST_VECTOR = (0, 7)
"""The first pgvector with numbers of half the size."""


class Server:
    """What is at an address: connections to it, and whether its schema is one that we know."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._seconds = settings.store.seconds
        try:
            self._given = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            # What libpq says may repeat the address, and with it the password.
            raise ConfigError(
                "the address of the store cannot be read", "such as postgres://user@host:5432/database?sslmode=require"
            ) from None
        secret = read_secret("store")
        if secret and not self._given.get("password"):
            self._given["password"] = secret
        self._by_index = settings.postgres.vectors == "hnsw"
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self._version: int | None = None
        self.schema = user_setting(settings, "postgres.schema")

    @property
    def place(self) -> str:
        """Host, port and database, and nothing that is secret."""
        known = {
            option.keyword.decode(): (option.val or b"").decode(errors="replace")
            for option in psycopg.pq.Conninfo.get_defaults()
        }
        known |= {key: str(value) for key, value in self._given.items() if value is not None}
        host = known.get("host") or known.get("hostaddr") or "localhost"
        database = known.get("dbname") or known.get("user") or ""
        return f"{host}:{known.get('port') or '5432'}/{database}"

    def connect(self, seconds: float | None = None) -> Connection:
        """A connection of one's own, ready for statements that may take so long."""
        limit = self._seconds if seconds is None else seconds
        options: dict[str, Any] = {
            "connect_timeout": max(2, round(self._seconds)), "application_name": "lurcher",
            "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, **self._given,
        }  # fmt: skip
        try:
            connection = psycopg.connect(**options, autocommit=True)
        except (psycopg.Error, UnicodeError) as error:  # the latter of letters that no host has in its name
            raise self._unreachable(error) from None
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            # Such a database has bytes and no letters: text would come back as something else.
            connection.close()
            raise StoreError(
                f"the database at {self.place} has the encoding SQL_ASCII, and text needs UTF8",
                "make another: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
            )
        try:
            self._prepare(connection, limit)
        except psycopg.Error as error:
            connection.close()
            raise explained(error, self.place, self._password()) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection, limit: float) -> None:
        connection.execute(_SESSION, {"timeout": f"{max(1, round(limit * 1000))}ms"})
        self.enter(connection)
        if self._by_index:
            connection.execute(_HNSW)

    def enter(self, connection: Connection) -> str:
        """Look into our schema, and where pgvector is, and nowhere else; which version of pgvector there is."""
        row = connection.execute(_PATH, {"schema": self.schema}).fetchone()
        return (row[1] if row else None) or ""

    def _unreachable(self, error: Exception) -> StoreError:
        told = scrubbed(str(error), self._password())
        return StoreError(f"the store at {self.place} cannot be reached: {told}", "run: lurcher doctor", passing=True)

    def _password(self) -> str:
        return str(self._given.get("password") or "")

    @contextmanager
    def borrowed(self, *, fresh: bool = False) -> Iterator[Connection]:
        """One of the few connections; one that broke is not kept."""
        if not self._room.acquire(timeout=2 * self._seconds):
            raise StoreError(
                f"all connections to the store at {self.place} are in use", "ask fewer questions at a time", passing=True
            )
        try:
            connection = None if fresh else self._kept()
            connection = connection or self.connect()
            try:
                yield connection
            finally:
                if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.close()
                else:
                    with self._guard:
                        self._idle.append(connection)
        finally:
            self._room.release()

    def _kept(self) -> Connection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def ask(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` finds; once more on a new connection where the one that was kept had died."""
        for attempt in (0, 1):
            try:
                with self.borrowed(fresh=attempt > 0) as connection:
                    try:
                        return work(connection)
                    except psycopg.OperationalError:
                        if not connection.closed or attempt:
                            raise
                self._forget()
            except psycopg.Error as error:
                raise explained(error, self.place, self._password()) from None
        raise AssertionError("unreachable")

    def _forget(self) -> None:
        """The server went away: what else is kept has died too."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(psycopg.Error):
                connection.close()

    def explained(self, error: psycopg.Error) -> StoreError:
        return explained(error, self.place, self._password())

    def ready(self, *, writing: bool = False) -> bool:
        """Whether the schema is there, as we know it; a writer makes it, or brings it up to date."""
        if self._version != schemas.VERSION:
            self._version = self.ask(lambda connection: schemas.version_of(connection, self.schema))
            if self._version > schemas.VERSION:
                raise schemas.newer(self._version)
            if self._version < schemas.VERSION and writing:
                self._migrate(self._version)
            elif 0 < self._version < schemas.VERSION:
                raise schemas.older(self._version, self.schema)
        return self._version == schemas.VERSION

    def _migrate(self, before: int) -> None:
        def work(connection: Connection) -> None:
            self._with_vectors(connection)
            try:
                schemas.migrate(connection, self.schema, self.enter)
            except psycopg.errors.InsufficientPrivilege as error:
                raise schemas.older(
                    before, self.schema, f", and {connection.info.user} may not change that: {error.diag.message_primary}"
                ) from None

        self.ask(work)
        self._forget()  # where to look for names was settled before there was a schema
        self._version = schemas.VERSION

    def _with_vectors(self, connection: Connection) -> None:
        """Make sure of pgvector."""
        version = self.enter(connection)
        if not version:
            try:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            except psycopg.Error as error:
                raise StoreError(
                    f"the database at {self.place} does not have pgvector: {error.diag.message_primary or error}",
                    "install pgvector on the server, then as a superuser in this database: CREATE EXTENSION vector;",
                ) from None
            version = self.enter(connection)
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST_VECTOR:
            raise StoreError(
                f"the database at {self.place} has pgvector {version}, and 0.7 is the oldest that will do",
                "bring pgvector up to date on the server, then in this database: ALTER EXTENSION vector UPDATE;",
            )

    def close(self) -> None:
        self._forget()

# ----------------------------------------------------------------------------------------------------------------------
# What goes wrong in the server, as errors that say what was tried and what to do.


def scrubbed(message: str, password: str) -> str:
    """The first line of a message, without the password should it be in there."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no reason was given")
    return line.replace(password, "***") if password else line


def explained(error: psycopg.Error, place: str, password: str = "") -> StoreError:
    told = scrubbed(error.diag.message_primary or str(error), password)
    if isinstance(error, errors.QueryCanceled):
        return StoreError(
            f"the store at {place} did not answer in time: {told}",
            "raise store.seconds, or: lurcher doctor",
            passing=True,
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"the store at {place} does not allow it: {told}", "docs/postgres.md has the rights that a role needs"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError(f"the store at {place} can only be read: {told}", "name the primary server, not a replica")
    if isinstance(error, errors.DiskFull):
        return StoreError(f"the store at {place} is full: {told}", "make room on the server")
    return StoreError(
        f"the store at {place} failed: {told}", "run: lurcher doctor", passing=isinstance(error, psycopg.OperationalError)
    )
