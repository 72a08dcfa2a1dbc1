"""An index of pgvector over the vectors of one length, for who has more of them than cells are good for."""

from __future__ import annotations

from psycopg import errors, sql

from lurcher.errors import StoreError
from lurcher.stores.postgres.connection import Connection, Server


def statement(dims: int) -> sql.Composed:
    return sql.SQL(
        "CREATE INDEX IF NOT EXISTS {name} ON vectors USING hnsw ((dense::halfvec({dims})) halfvec_ip_ops) WHERE dims = {dims}"
    ).format(name=sql.Identifier(f"vectors_hnsw_{dims}"), dims=sql.Literal(dims))


def ensure(server: Server, dims: int, seconds: float) -> None:
    """Make the index unless it is there; only the owner of the tables may."""

    def work(connection: Connection) -> None:
        if connection.execute("SELECT to_regclass(%s)", (f"vectors_hnsw_{dims}",)).fetchone() != (None,):
            return
        with connection.transaction():
            connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{round(seconds * 1000)}ms",))
            try:
                connection.execute(statement(dims))
            except errors.InsufficientPrivilege as error:
                path = sql.SQL("SET search_path = {}, public; ").format(sql.Identifier(server.schema)).as_string()
                raise StoreError(
                    f"only the owner of the tables can make the index of hnsw: {error.diag.message_primary}",
                    f"as the owner: {path}{statement(dims).as_string()};",
                ) from None

    server.ask(work)
