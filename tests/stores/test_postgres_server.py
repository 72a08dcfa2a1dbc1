"""A server that restarts, is slow, is away, or lacks something; and text that no table was made for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher.config import Settings, apply
from lurcher.errors import ConfigError, MissingExtra, StoreError
from lurcher.stores.base import Head, Question, Sparse, Store, StoredFile, StoredUnit, store_at
from lurcher.stores.postgres import segments
from tests.stores.postgres_server import TestServer, postgres, server
from tests.stores.test_contract import direction, file, found, head, key, put, sparse

PASSWORD = "s3cret-pass/word"


@pytest.fixture
def store() -> Iterator[Store]:
    """A store with one project."""
    with postgres(Path()) as url:
        opened = store_at(url, Settings())
        put(opened, "one", [file(1, "a.py", [(direction(0), sparse(a=1.0))], names=("client",), card=direction(0))], 1)
        opened.publish("one", head(1, 1))
        yield opened
        opened.close()


@pytest.fixture
def here() -> TestServer:
    return server()


def quick(url: str, seconds: float = 10.0) -> Store:
    return store_at(url, apply(Settings(), {"store.seconds": seconds}, "flag"))


def test_a_restart_goes_unnoticed(store: Store, here: TestServer) -> None:
    assert found(store, "one", 1, dense=direction(0)) == ["a.py"]
    here.restart()
    assert found(store, "one", 1, dense=direction(0)) == ["a.py"]
    here.restart()
    put(store, "one", [file(2, "b.py", [(direction(1), sparse(b=1.0))])], 2)
    assert [item.path for item in store.listing("one")] == ["a.py", "b.py"]


def test_a_connection_that_was_ended_is_replaced(store: Store, here: TestServer) -> None:
    for _ in range(3):
        here.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lurcher'")
        assert store.projects() == ["one"]


def test_connections_are_reused_and_closed(store: Store, here: TestServer) -> None:
    for _ in range(20):
        store.head("one")
    assert here.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lurcher'")[0][0] <= 2
    store.close()
    deadline = time.monotonic() + 60
    while here.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lurcher'") != [(0,)]:
        assert time.monotonic() < deadline
    assert store.projects() == ["one"]


def test_a_question_does_not_wait_for_ever(store: Store, here: TestServer) -> None:
    import psycopg

    hasty = quick(here.address(), seconds=0.2)
    assert hasty.projects() == ["one"]
    with psycopg.connect(here.address()) as connection:
        connection.execute("LOCK TABLE lurcher.files IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="did not answer in time") as late:  # the lock is held until it has
            hasty.candidates("one", 1, Question(direction(0), None))
        assert late.value.passing and "store.seconds" in late.value.hint
    assert found(hasty, "one", 1, dense=direction(0)) == ["a.py"]
    hasty.close()


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    for url in (
        f"postgres://joe:{PASSWORD.replace('/', '%2F')}@127.0.0.1:1/code",
        f"postgres://joe@127.0.0.1:1/code?password={PASSWORD}",
        "postgres://joe@/code?host=/nowhere&port=1",
    ):
        store = quick(url, seconds=2)
        with pytest.raises(StoreError) as error:
            store.head("one")
        told = f"{error.value.message} {error.value.hint} {error.value!r} {store!r} {error.value.__cause__}"
        assert "cannot be reached" in told and ":1/code" in told and "lurcher doctor" in error.value.hint
        assert "s3cret" not in told and error.value.passing
        with pytest.raises(StoreError), store.writing("one", 0):
            pass


@pytest.mark.parametrize("given", [f":{PASSWORD.replace('/', '%2F')}", ""])
def test_a_wrong_password_is_not_shown_either(here: TestServer, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("LURCHER_STORE_KEY", PASSWORD)
    store = quick(f"postgres://nobody{given}@/postgres?host={here.folder}")
    with pytest.raises(StoreError, match='"nobody" does not exist') as error:
        store.projects()
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("url", ["postgres://h:not a port/x", f"postgres://u:{PASSWORD}@h/?nonsense=1", "postgres://[::1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="cannot be parsed") as error:
        quick(url)
    assert "s3cret" not in f"{error.value} {error.value.__cause__}" and error.value.__suppress_context__


def test_both_schemes_lead_here(store: Store, here: TestServer) -> None:
    for scheme in ("postgres", "postgresql"):
        assert store_at(here.address().replace("postgres://", f"{scheme}://", 1), Settings()).projects() == ["one"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra) as error:
        quick("postgres://localhost/x")
    assert error.value.hint == "pip install 'lurcher[postgres]'"


def test_without_pgvector_it_says_what_to_run(here: TestServer) -> None:
    here.run("DROP DATABASE IF EXISTS bare", "CREATE DATABASE bare TEMPLATE template0", "DROP ROLE IF EXISTS plain")
    here.run("CREATE ROLE plain LOGIN", "GRANT CREATE ON DATABASE bare TO plain")
    store = quick(here.address("bare", "plain"))
    try:
        assert store.state()["pgvector"] == "not installed"
        with pytest.raises(StoreError, match="has no pgvector") as error:
            put(store, "one", [file(1, "a.py", [])], 1)
        assert "CREATE EXTENSION vector;" in error.value.hint
    finally:
        store.close()
        here.run("DROP DATABASE bare", "DROP ROLE plain")


def test_a_database_without_letters_is_reported(here: TestServer) -> None:
    here.run("DROP DATABASE IF EXISTS raw")
    here.run("CREATE DATABASE raw ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    store = quick(here.address("raw"))
    try:
        for ask in (store.projects, lambda: store.head("one"), store.state):
            with pytest.raises(StoreError, match="SQL_ASCII") as error:
                ask()
            assert "ENCODING 'UTF8'" in error.value.hint
    finally:
        store.close()
        here.run("DROP DATABASE raw")


def test_the_state_has_what_doctor_reports(store: Store) -> None:
    state = store.state()
    assert state["server"].startswith("PostgreSQL 1") and state["pgvector"].startswith("0.")
    assert state["schema"] == "lurcher, version 3" and state["dims"] == "8" and state["units"] == "1"
    assert state["latency"].endswith(" ms") and state["size"].endswith(("kB", "MB")) and state["unpublished"] == "none"
    put(store, "begun", [file(9, "z.py", [])], 1)
    assert store.state()["unpublished"] == "1 project"


# -- hostile text -----------------------------------------------------------------------------------------------------------

ATTACKS = [
    "'; DROP SCHEMA lurcher CASCADE; --", '"; DROP SCHEMA lurcher CASCADE; --', "\\'; SELECT pg_sleep(9); --",
    "$$; DROP TABLE files; $$", "%s", "%(project)s", "{0}", "{", "' OR '1'='1", "\0", "a\0b", "\ud800", "a\udcffb", "\\x00",
    "NULL", "{a,b}", "\U0010ffff", "",
]  # fmt: skip


def stored(number: int, text: str, path: str | None = None) -> StoredFile:
    unit = StoredUnit(1, 2, text, text, text, text, direction(0), sparse(a=1.0))
    return StoredFile(
        key(number),
        path or f"{text}/{text}.py",
        text,
        text,
        (text, f"/{text}"),
        direction(0),
        (unit,),
        text.encode("utf-8", "replace"),
    )


@pytest.mark.parametrize("text", ATTACKS, ids=ascii)
def test_hostile_text_is_text(store: Store, text: str) -> None:
    project = f"p {text}"
    put(store, project, [stored(5, text, f"{text}/x/{text}.py"), stored(6, "other")], 1)
    store.put_pages(project, {text: b"page", "other": b""}, 1)
    store.publish(project, Head(1, text, text, text, 2, 2, 8, {text: text}))
    assert store.head(project) == Head(1, text, text, text, 2, 2, 8, {text: text})
    assert store.projects() == sorted(["one", project])
    path = f"{text}/x/{text}.py"
    assert path in found(store, project, 1, names=(text,))
    assert path in found(store, project, 1, dense=direction(0), languages=(text,))
    assert path in found(store, project, 1, sparse=sparse(a=1.0), folders=(f"{text}/x",))
    assert store.pages(project, 1, [text]) == {text: b"page"}
    assert store.texts(project, [(key(5), 0)]) == {(key(5), 0): text}
    assert (key(5), path, text, 1, None) in [(i.key, i.path, i.digest, i.born, i.died) for i in store.listing(project)]
    assert store.drop(project) and store.projects() == ["one"] and len(list(store.listing("one"))) == 1


@given(st.text())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_comes_back_as_it_was(text: str) -> None:
    kept = segments.escape_text(text)
    kept.encode()
    assert "\0" not in kept
    if not any(0x10F000 <= ord(letter) <= 0x10F800 for letter in text):
        assert segments.unescape_text(kept) == text


def test_numbers_of_words_use_all_their_bits(store: Store) -> None:
    numbers = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    words = Sparse(numbers, np.array([1, 2, 3, 4, 5], np.float32))
    unit = StoredUnit(1, 2, "", "", "", "", None, words)
    put(store, "two", [StoredFile(key(7), "n.py", "python", "d", (), None, (unit,), b"")], 1)
    store.publish("two", head(1, 1))
    for number in numbers:
        assert found(store, "two", 1, sparse=Sparse(np.array([number], np.uint32), np.ones(1, np.float32))) == ["n.py"]
    assert found(store, "two", 1, sparse=Sparse(np.array([77], np.uint32), np.ones(1, np.float32))) == []
