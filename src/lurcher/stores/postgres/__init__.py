"""A store in PostgreSQL with pgvector: candidates by one statement, generations by two columns, one schema with migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.errors import MissingExtra

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.stores.base import Store

INSTALL = "pip install 'lurcher[postgres]'"


def open_store(url: str, settings: Settings) -> Store:
    """The store at postgres://user@host:port/database; nothing is asked of the server yet."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtra("a store in PostgreSQL needs the extra postgres", INSTALL) from None
    from lurcher.stores.postgres.store import PostgresStore

    return PostgresStore(url, settings)
