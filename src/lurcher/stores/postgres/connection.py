"""Connections to the server: a few stay open, each with its limits set; a statement on one that has died is run once more."""

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
"""The first pgvector with vectors in half precision."""


class Server:
    """The server at an address: connections to it, and the check of its schema."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._seconds = settings.store.seconds
        try:
            self._parameters = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            # libpq's own message may repeat the address, and with it the password.
            raise ConfigError(
                "the address of the store cannot be parsed", "write it like postgres://user@host:5432/database?sslmode=require"
            ) from None
        secret = read_secret("store")
        if secret and not self._parameters.get("password"):
            self._parameters["password"] = secret
        self._uses_hnsw = settings.postgres.vectors == "hnsw"
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self._version: int | None = None
        self.schema = user_setting(settings, "postgres.schema")

    @property
    def location(self) -> str:
        """Host, port and database, without anything secret."""
        known = {
            option.keyword.decode(): (option.val or b"").decode(errors="replace")
            for option in psycopg.pq.Conninfo.get_defaults()
        }
        known |= {key: str(value) for key, value in self._parameters.items() if value is not None}
        host = known.get("host") or known.get("hostaddr") or "localhost"
        database = known.get("dbname") or known.get("user") or ""
        return f"{host}:{known.get('port') or '5432'}/{database}"

    def connect(self, seconds: float | None = None) -> Connection:
        """A new connection, set up for statements that may take `seconds`."""
        limit = self._seconds if seconds is None else seconds
        options: dict[str, Any] = {
            "connect_timeout": max(2, round(self._seconds)), "application_name": "lurcher",
            "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, **self._parameters,
        }  # fmt: skip
        try:
            connection = psycopg.connect(**options, autocommit=True)
        except (psycopg.Error, UnicodeError) as error:  # UnicodeError: characters that no host name can have
            raise self._unreachable(error) from None
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            # Such a database stores bytes without an encoding: text could come back as something else.
            connection.close()
            raise StoreError(
                f"the database at {self.location} has the encoding SQL_ASCII, but lurcher needs UTF8",
                "create another one: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
            )
        try:
            self._prepare(connection, limit)
        except psycopg.Error as error:
            connection.close()
            raise translate_error(error, self.location, self._password()) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection, limit: float) -> None:
        connection.execute(_SESSION, {"timeout": f"{max(1, round(limit * 1000))}ms"})
        self.set_search_path(connection)
        if self._uses_hnsw:
            connection.execute(_HNSW)

    def set_search_path(self, connection: Connection) -> str:
        """Resolve names in our schema and in that of pgvector only; returns the version of pgvector, empty without it."""
        row = connection.execute(_PATH, {"schema": self.schema}).fetchone()
        return (row[1] if row else None) or ""

    def _unreachable(self, error: Exception) -> StoreError:
        message = first_line(str(error), self._password())
        return StoreError(f"the store at {self.location} cannot be reached: {message}", "run: lurcher doctor", passing=True)

    def _password(self) -> str:
        return str(self._parameters.get("password") or "")

    @contextmanager
    def borrow(self, *, fresh: bool = False) -> Iterator[Connection]:
        """One of the few connections; a broken one is closed afterwards."""
        if not self._room.acquire(timeout=2 * self._seconds):
            raise StoreError(
                f"all connections to the store at {self.location} are in use", "ask fewer questions at a time", passing=True
            )
        try:
            connection = None if fresh else self._take_idle()
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

    def _take_idle(self) -> Connection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work`; if an idle connection had died, `work` runs once more on a new one."""
        for attempt in (0, 1):
            try:
                with self.borrow(fresh=attempt > 0) as connection:
                    try:
                        return work(connection)
                    except psycopg.OperationalError:
                        if not connection.closed or attempt:
                            raise
                self._close_idle()
            except psycopg.Error as error:
                raise translate_error(error, self.location, self._password()) from None
        raise AssertionError("unreachable")

    def _close_idle(self) -> None:
        """Close idle connections: when one has died, the others have too."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(psycopg.Error):
                connection.close()

    def translate_error(self, error: psycopg.Error) -> StoreError:
        return translate_error(error, self.location, self._password())

    def check_schema(self, *, writing: bool = False) -> bool:
        """Whether the schema exists in the current version; for `writing` it is created or migrated first."""
        if self._version != schemas.VERSION:
            self._version = self.run(lambda connection: schemas.version_of(connection, self.schema))
            if self._version > schemas.VERSION:
                raise schemas.newer_schema_error(self._version)
            if self._version < schemas.VERSION and writing:
                self._migrate(self._version)
            elif 0 < self._version < schemas.VERSION:
                raise schemas.older_schema_error(self._version, self.schema)
        return self._version == schemas.VERSION

    def _migrate(self, before: int) -> None:
        def work(connection: Connection) -> None:
            self._ensure_pgvector(connection)
            try:
                schemas.migrate(connection, self.schema, self.set_search_path)
            except psycopg.errors.InsufficientPrivilege as error:
                raise schemas.older_schema_error(
                    before, self.schema, f", and {connection.info.user} may not change it: {error.diag.message_primary}"
                ) from None

        self.run(work)
        self._close_idle()  # their search path was set before the schema existed
        self._version = schemas.VERSION

    def _ensure_pgvector(self, connection: Connection) -> None:
        """Install pgvector into the database if it is missing, and check its version."""
        version = self.set_search_path(connection)
        if not version:
            try:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            except errors.UniqueViolation:
                pass  # another writer has installed it at the same moment, which "IF NOT EXISTS" does not prevent
            except psycopg.Error as error:
                raise StoreError(
                    f"the database at {self.location} has no pgvector: {error.diag.message_primary or error}",
                    "install pgvector on the server, then as a superuser in this database: CREATE EXTENSION vector;",
                ) from None
            version = self.set_search_path(connection)
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST_VECTOR:
            raise StoreError(
                f"the database at {self.location} has pgvector {version}, but 0.7 or later is needed",
                "update pgvector on the server, then in this database: ALTER EXTENSION vector UPDATE;",
            )

    def close(self) -> None:
        self._close_idle()


def first_line(message: str, password: str) -> str:
    """The first line of a message, with the password masked."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no reason given")
    return line.replace(password, "***") if password else line


def translate_error(error: psycopg.Error, location: str, password: str = "") -> StoreError:
    """An error of the server as one that says what to do."""
    message = first_line(error.diag.message_primary or str(error), password)
    if isinstance(error, errors.QueryCanceled):
        return StoreError(
            f"the store at {location} did not answer in time: {message}",
            "raise store.seconds, or: lurcher doctor",
            passing=True,
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"the store at {location} does not allow it: {message}", "docs/postgres.md lists the rights that a role needs"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError(f"the store at {location} is read-only: {message}", "use the primary server, not a replica")
    if isinstance(error, errors.DiskFull):
        return StoreError(f"the disk of the store at {location} is full: {message}", "free some space on the server")
    return StoreError(
        f"the store at {location} failed: {message}", "run: lurcher doctor", passing=isinstance(error, psycopg.OperationalError)
    )
