"""A store in PostgreSQL with pgvector: one statement finds candidates, two columns hold generations.

    connection  a few open connections, their limits, and errors of the server as errors of ours
    schema      tables, as steps that are applied once
    encoding    text, vectors and rows in the forms that PostgreSQL takes
    writer      transactions of the one writer of a project
    segments    postings and vectors arranged for searching
    search      the statement that finds candidates
    store       all of that as a `Store`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.errors import MissingExtra

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.stores.base import Store

INSTALL = "pip install 'lurcher[postgres]'"


def open_store(url: str, settings: Settings) -> Store:
    """The store at postgres://user@host:port/database; nothing is sent to the server yet."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtra("a store in PostgreSQL needs the extra `postgres`", INSTALL) from None
    from lurcher.stores.postgres.store import PostgresStore

    return PostgresStore(url, settings)
