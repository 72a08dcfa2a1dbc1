"""The schema of a store, as steps: each is applied once, in order, under a lock, in one transaction with its number.

`python -m lurcher.stores.postgres.schema [NAME]` prints all of them, for databases where lurcher may not create tables.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lurcher.errors import StoreError, Template

if TYPE_CHECKING:
    import psycopg

STEPS = (
    """
    CREATE TABLE projects (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        epoch bigint NOT NULL DEFAULT 0,
        generation integer NOT NULL DEFAULT 0,
        fingerprint text NOT NULL DEFAULT '',
        written text NOT NULL DEFAULT '',
        "commit" text NOT NULL DEFAULT '',
        files integer NOT NULL DEFAULT 0,
        units integer NOT NULL DEFAULT 0,
        dims integer NOT NULL DEFAULT 0,
        more jsonb NOT NULL DEFAULT '{}'
    );
    CREATE TABLE files (
        no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        project integer NOT NULL REFERENCES projects (id),
        key uuid NOT NULL,
        path text NOT NULL,
        language text NOT NULL,
        digest text NOT NULL,
        names text[] NOT NULL,
        units integer NOT NULL,
        born integer NOT NULL,
        died integer,
        UNIQUE (project, key)
    );
    CREATE INDEX files_in_order ON files (project, no);
    CREATE TABLE records (
        file integer PRIMARY KEY,
        record bytea NOT NULL,
        card bytea
    );
    ALTER TABLE records ALTER record SET STORAGE EXTERNAL;
    ALTER TABLE records SET (toast_tuple_target = 8160);
    CREATE TABLE units (
        file integer NOT NULL,
        place integer NOT NULL,
        start_line integer NOT NULL,
        end_line integer NOT NULL,
        symbol text NOT NULL,
        kind text NOT NULL,
        digest text NOT NULL,
        text text NOT NULL,
        dense bytea,
        terms bytea NOT NULL,
        PRIMARY KEY (file, place)
    );
    ALTER TABLE units SET (toast_tuple_target = 4080);
    ALTER TABLE units ALTER dense SET STORAGE EXTERNAL, ALTER terms SET STORAGE EXTERNAL;
    CREATE TABLE pages (
        project integer NOT NULL REFERENCES projects (id),
        name text NOT NULL,
        born integer NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (project, name, born)
    );
    """,
    """
    ALTER TABLE projects ADD trained integer NOT NULL DEFAULT 0;
    CREATE TABLE segments (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        project integer NOT NULL REFERENCES projects (id),
        low integer NOT NULL,
        high integer NOT NULL,
        files integer NOT NULL,
        units integer NOT NULL,
        gone integer NOT NULL DEFAULT 0
    );
    CREATE INDEX segments_of_project ON segments (project, low);
    CREATE TABLE postings (
        project integer NOT NULL,
        term integer NOT NULL,
        segment integer NOT NULL,
        part integer NOT NULL,
        size integer NOT NULL,
        peak real NOT NULL,
        scale real NOT NULL,
        entries bigint[] NOT NULL,
        PRIMARY KEY (project, term, segment, part)
    );
    ALTER TABLE postings ALTER entries SET STORAGE EXTERNAL;
    CREATE INDEX postings_of_segment ON postings (segment);
    CREATE TABLE cells (
        project integer NOT NULL REFERENCES projects (id),
        number integer NOT NULL,
        centre halfvec NOT NULL,
        PRIMARY KEY (project, number)
    );
    CREATE TABLE vectors (
        project integer NOT NULL,
        cell integer NOT NULL,
        file integer NOT NULL,
        place integer NOT NULL,
        dims integer NOT NULL,
        dense halfvec NOT NULL
    );
    CREATE INDEX vectors_of_cell ON vectors (project, cell) WHERE place >= 0;
    CREATE INDEX cards_of_cell ON vectors (project, cell) WHERE place < 0;
    CREATE INDEX vectors_of_file ON vectors (file);
    """,
    """
    CREATE INDEX files_by_name ON files USING gin (names);
    CREATE INDEX files_by_birth ON files (project, born);
    CREATE INDEX files_dying ON files (project) WHERE died IS NOT NULL;
    """,
)
"""Units, records and vectors refer to a file by its number `no`, which is never used again for another file."""
_VERSIONS = "CREATE TABLE IF NOT EXISTS versions (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())"
VERSION = len(STEPS)
LOCK = 0x6C757263
"""The advisory lock under which steps are applied."""


def version_of(connection: psycopg.Connection[Any], schema: str) -> int:
    """The number of steps that were applied; 0 where there is no schema yet."""
    found = connection.execute("SELECT to_regclass(quote_ident(%s) || '.versions')::text", (schema,)).fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM versions").fetchone()
    return int(row[0]) if row else 0


def migrate(connection: psycopg.Connection[Any], schema: str, enter: Any, steps: int = VERSION) -> None:
    """Apply the missing steps; `enter` makes the connection use the schema once it exists."""
    from psycopg import sql

    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, schema))
        enter(connection)
        before = version_of(connection, schema)
        if before == 0:
            # The owner of a schema may lack the right to create one, which "IF NOT EXISTS" would require.
            there = connection.execute("SELECT to_regnamespace(quote_ident(%s)) IS NOT NULL", (schema,)).fetchone()
            if there != (True,):
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            connection.execute(_VERSIONS)
        for number, step in enumerate(STEPS[:steps], 1):
            if number > before:
                connection.execute(step.encode())
                connection.execute("INSERT INTO versions (version) VALUES (%s)", (number,))


def newer_schema_error(found: int) -> StoreError:
    return StoreError(
        f"the schema of the store has version {found}, and this lurcher knows versions up to {VERSION}",
        "update lurcher: pip install -U lurcher",
    )


def older_schema_error(found: int, schema: str, why: str = "") -> StoreError:
    """`why` says what prevents the migration."""
    state = f"has version {found}, and this lurcher needs {VERSION}" if found else "has no tables yet"
    return StoreError(
        f"the schema {schema} of the store {state}{why}",
        Template(
            "as its owner: {index: store=URL}, or: python -m lurcher.stores.postgres.schema {*} {*} | psql URL", schema, found
        ),
    )


def script(schema: str, before: int = 0) -> str:
    """All steps after number `before`, as one script for psql."""
    name = '"' + schema.replace('"', '""') + '"'
    text = "'" + name.replace("'", "''") + "'"
    lines = [
        "BEGIN;",
        "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;",
        f"DO $lurcher$ BEGIN IF to_regnamespace({text}) IS NULL THEN CREATE SCHEMA {name}; END IF; END $lurcher$;",
        f"SELECT set_config('search_path', {text} || ', ' || current_setting('search_path'), true);",
        f"{_VERSIONS};",
    ]
    for number, step in enumerate(STEPS[before:], before + 1):
        lines += [step.strip("\n").rstrip(), f"    INSERT INTO versions (version) VALUES ({number});"]
    return "\n".join([*lines, "COMMIT;", ""])


if __name__ == "__main__":
    sys.stdout.write(script(sys.argv[1] if len(sys.argv) > 1 else "lurcher", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
