"""Compares one table of vectors with tables partitioned by project: loading, a query's part of it, removing a project, vacuum.

    python benchmarks/partitions.py --server FOLDER --project NAME [--projects 50] [--rows 400000] --out FILE

FOLDER is the data folder of a running server of the tests that has the project; its vectors are dealt out to so many
projects, in a schema of its own that is removed in the end. Each figure is the fastest of three.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import psycopg

COLUMNS = "project integer NOT NULL, cell integer NOT NULL, file integer NOT NULL, place integer NOT NULL, " \
          "dims integer NOT NULL, dense public.halfvec NOT NULL"  # fmt: skip
INDEXES = (
    "CREATE INDEX ON {table} (project, cell) WHERE place >= 0",
    "CREATE INDEX ON {table} (project, cell) WHERE place < 0",
    "CREATE INDEX ON {table} (file)",
)
HASHES = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with psycopg.connect(f"postgres://postgres@/postgres?host={given.server}", autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS lurcher_partitions CASCADE")
        connection.execute("CREATE SCHEMA lurcher_partitions")
        connection.execute("SET search_path = lurcher_partitions, public")
        connection.execute("SET plan_cache_mode = force_custom_plan")
        try:
            found = compare(connection, given.project, given.projects, given.rows)
        finally:
            connection.execute("DROP SCHEMA lurcher_partitions CASCADE")
    given.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def compare(connection: psycopg.Connection[Any], project: str, projects: int, rows: int) -> dict[str, Any]:
    run = connection.execute
    run(f"CREATE TABLE source ({COLUMNS})")
    run(
        "INSERT INTO source SELECT v.file %% %s + 1, v.cell %% 32, v.file, v.place, v.dims, v.dense FROM lurcher.vectors v "
        "JOIN lurcher.projects p ON p.id = v.project WHERE p.name = %s LIMIT %s",
        (projects, project, rows),
    )
    found: dict[str, Any] = {"projects": projects, "rows": count(connection, "source")}
    for kind in ("one table", "hash", "list"):
        times: dict[str, list[float]] = {}
        for _ in range(3):
            make(connection, kind, projects)
            times.setdefault("load_seconds", []).append(took(connection, "INSERT INTO v SELECT * FROM source"))
            run("ANALYZE v")
            times.setdefault("query_ms", []).append(1000 * query(connection, projects))
            gone = "DROP TABLE v_1" if kind == "list" else "DELETE FROM v WHERE project = 1"
            times.setdefault("remove_project_seconds", []).append(took(connection, gone))
            times.setdefault("vacuum_seconds", []).append(took(connection, "VACUUM v"))
            run("DROP TABLE v")
        found[kind] = {name: round(min(values), 3) for name, values in times.items()}
    return found


def make(connection: psycopg.Connection[Any], kind: str, projects: int) -> None:
    by = {"one table": "", "hash": "PARTITION BY HASH (project)", "list": "PARTITION BY LIST (project)"}[kind]
    connection.execute(f"CREATE TABLE v ({COLUMNS}) {by}".encode())
    for number in range(HASHES if kind == "hash" else 0):
        connection.execute(
            f"CREATE TABLE v_{number} PARTITION OF v FOR VALUES WITH (MODULUS {HASHES}, REMAINDER {number})".encode()
        )
    for number in range(1, projects + 1 if kind == "list" else 1):
        connection.execute(f"CREATE TABLE v_{number} PARTITION OF v FOR VALUES IN ({number})".encode())
    for statement in INDEXES:
        connection.execute(statement.format(table="v").encode())


def query(connection: psycopg.Connection[Any], projects: int) -> float:
    """Seconds for the vectors of four cells of a project, the median over projects, planning included."""
    times = []
    vector = connection.execute("SELECT dense::text FROM source LIMIT 1").fetchone()
    assert vector is not None
    for _ in range(2):
        times = [
            took(
                connection, "SELECT file, place FROM v WHERE project = %s AND cell = ANY(%s) AND place >= 0 "
                "ORDER BY dense <#> %s::halfvec LIMIT 300", (number, [1, 9, 17, 25], vector[0]),
            )
            for number in range(1, projects + 1)
        ]  # fmt: skip
    return sorted(times)[len(times) // 2]


def took(connection: psycopg.Connection[Any], statement: str, values: tuple[Any, ...] = ()) -> float:
    begin = time.perf_counter()
    connection.execute(statement.encode(), values or None)
    return time.perf_counter() - begin


def count(connection: psycopg.Connection[Any], table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    main()
