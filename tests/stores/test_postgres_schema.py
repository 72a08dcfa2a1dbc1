"""Tables of a store in PostgreSQL: made once, brought up to date from any older version; and what roles may do."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.config import Settings, apply
from lurcher.errors import ConfigError, StoreError
from lurcher.stores.base import Question, Store, store_at
from lurcher.stores.postgres import schema
from tests.stores.postgres_server import TestServer, server
from tests.stores.test_contract import direction, file, found, head, key, put, sparse

PAGE = Path(__file__).resolve().parents[2] / "docs" / "postgres.md"


@pytest.fixture
def here() -> TestServer:
    """The server, with an empty database."""
    found = server()
    found.run("DROP SCHEMA IF EXISTS lurcher CASCADE")
    return found


def opened(url: str, **settings: object) -> Store:
    return store_at(url, apply(Settings(), {f"postgres.{name}": value for name, value in settings.items()}, "flag"))


def fill(store: Store, project: str = "one") -> None:
    put(store, project, [file(1, "a.py", [(direction(0), sparse(a=1.0))], card=direction(0))], 1)
    store.publish(project, head(1, 1))


def test_readers_make_no_tables(here: TestServer) -> None:
    store = opened(here.address())
    assert store.projects() == [] and store.head("one") is None and list(store.listing("one")) == []
    assert store.candidates("one", 1, Question(direction(0), None)) == [] and not store.drop("one")
    assert (
        store.pages("one", 1, ["a"]) == {} and store.records("one", [key(1)]) == {} and store.texts("one", [(key(1), 0)]) == {}
    )
    assert "not created yet" in store.state()["schema"]
    assert here.run("SELECT count(*) FROM pg_namespace WHERE nspname = 'lurcher'") == [(0,)]


@pytest.mark.parametrize("before", range(schema.VERSION))
def test_every_older_version_is_brought_up_to_date(here: TestServer, before: int) -> None:
    import psycopg

    store = opened(here.address())
    if before:
        with psycopg.connect(here.address(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            connection.execute("SET search_path = lurcher, public")
            schema.migrate(connection, "lurcher", lambda _: "", before)
            connection.execute("INSERT INTO projects (name) VALUES ('kept')")
        with pytest.raises(StoreError, match=f"version {before}, and this lurcher needs {schema.VERSION}") as refused:
            store.head("one")
        assert f"schema lurcher {before} | psql" in refused.value.hint
    fill(store)
    assert found(store, "one", 1, dense=direction(0)) == ["a.py"]
    assert here.run("SELECT version FROM lurcher.versions ORDER BY 1") == [(step + 1,) for step in range(schema.VERSION)]
    assert here.run("SELECT count(*) FROM lurcher.projects WHERE name = 'kept'") == [(1 if before else 0,)]


def test_a_newer_version_is_refused(here: TestServer) -> None:
    fill(opened(here.address()))
    here.run("INSERT INTO lurcher.versions VALUES (99)")
    store = opened(here.address())
    for use in (lambda: store.head("one"), lambda: fill(store), lambda: store.state()):
        with pytest.raises(StoreError, match="version 99") as refused:
            use()
        assert "pip install -U" in refused.value.hint


def test_two_processes_create_the_tables_at_once(here: TestServer) -> None:
    problems: list[BaseException] = []

    def make(project: str) -> None:
        try:
            fill(opened(here.address()), project)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=make, args=(f"p{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not problems and opened(here.address()).projects() == ["p0", "p1", "p2", "p3"]


def test_another_schema_is_another_store(here: TestServer) -> None:
    name = 'team "b"; DROP SCHEMA lurcher --'
    here.run('DROP SCHEMA IF EXISTS "team ""b""; DROP SCHEMA lurcher --" CASCADE')
    fill(opened(here.address()))
    other = opened(here.address(), schema=name)
    assert other.projects() == []
    fill(other, "two")
    assert other.projects() == ["two"] and opened(here.address()).projects() == ["one"]


def test_a_project_cannot_choose_the_schema() -> None:
    settings = apply(Settings(), {"postgres.schema": "theirs"}, "lurcher.toml")
    with pytest.raises(ConfigError, match="which a project cannot"):
        store_at("postgres://localhost/x", settings)


# -- roles, as the page has them --------------------------------------------------------------------------------------------


def documented() -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


@pytest.fixture
def roles(here: TestServer) -> Iterator[TestServer]:
    """The roles of the page, and tables made by the script that it names."""
    if not PAGE.is_file():
        pytest.skip("the documentation is not here")
    for role in ("reader", "indexer", "lurcher_reader", "lurcher_writer", "lurcher_owner"):
        here.run(f"DROP ROLE IF EXISTS {role}")
    setup, people = documented()
    here.run(setup, people.replace("change me", "pw"))
    printed = subprocess.run(
        [sys.executable, "-m", "lurcher.stores.postgres.schema", "lurcher", "0"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    here.run(f"SET ROLE lurcher_owner;\n{printed}")
    yield here
    here.run("DROP SCHEMA lurcher CASCADE")
    for role in ("reader", "indexer", "lurcher_reader", "lurcher_writer", "lurcher_owner"):
        here.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_writer_writes_and_a_reader_reads(roles: TestServer) -> None:
    writer, reader = opened(roles.address(user="indexer")), opened(roles.address(user="reader"))
    with writer.writing("one", 1):
        fill(writer)
        put(writer, "one", [file(2, "b.py", [(direction(1), sparse(b=1.0))])], 2)
        writer.put_pages("one", {"page": b"x"}, 2)
        writer.retire("one", [key(1)], 2)
        writer.publish("one", head(2, 1))
        assert writer.sweep("one", 2) == 1
    assert found(reader, "one", 2, dense=direction(1), sparse=sparse(b=1.0), names=("x",)) == ["b.py"]
    assert reader.records("one", [key(2)]) and reader.texts("one", [(key(2), 0)]) and reader.pages("one", 2, ["page"])
    assert reader.projects() == ["one"] and len(list(reader.listing("one"))) == 1 and reader.state()["units"] == "1"
    assert writer.drop("one")


def test_a_reader_cannot_write(roles: TestServer) -> None:
    fill(opened(roles.address(user="indexer")))
    reader = opened(roles.address(user="reader"))
    tries = [
        lambda: put(reader, "one", [file(2, "b.py", [])], 2), lambda: reader.put_pages("one", {"p": b""}, 2),
        lambda: reader.adopt("one", [key(1)], 2), lambda: reader.retire("one", [key(1)], 2),
        lambda: reader.publish("one", head(2)), lambda: reader.sweep("one", 1), lambda: reader.drop("one"),
        lambda: reader.writing("one", 0).__enter__(),
    ]  # fmt: skip
    for attempt in tries:
        with pytest.raises(StoreError, match="does not allow it: permission denied"):
            attempt()
    assert found(reader, "one", 1, dense=direction(0)) == ["a.py"]


def test_a_user_who_may_not_create_tables_gets_the_command_for_it(roles: TestServer) -> None:
    roles.run("DROP TABLE lurcher.versions")
    with pytest.raises(StoreError, match="has no tables yet, and indexer may not change it") as refused:
        fill(opened(roles.address(user="indexer")))
    assert "python -m lurcher.stores.postgres.schema lurcher 0 | psql" in refused.value.hint
    with pytest.raises(StoreError, match="only the owner of the tables can create the hnsw index") as refused:
        roles.run("SET ROLE lurcher_owner; CREATE TABLE lurcher.versions (version int, applied timestamptz)")
        roles.run(
            "INSERT INTO lurcher.versions SELECT generate_series(1, 3)", "GRANT SELECT ON lurcher.versions TO lurcher_writer"
        )
        fill(opened(roles.address(user="indexer"), vectors="hnsw"))
    assert "CREATE INDEX" in refused.value.hint and "halfvec(8)" in refused.value.hint
