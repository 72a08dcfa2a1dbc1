"""Writers in PostgreSQL that die, are cut off, or come two at a time; readers see a whole generation throughout."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.config import Settings
from lurcher.errors import IndexLocked
from lurcher.stores.base import Store, store_at
from tests.stores.postgres_server import TestServer, postgres, server
from tests.stores.postgres_writer import files, whole, write
from tests.stores.test_contract import head, key, put

ROOT = Path(__file__).resolve().parents[2]
FILES = 200


@pytest.fixture
def url() -> Iterator[str]:
    with postgres(Path()) as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = store_at(url, Settings())
    yield opened
    opened.close()


def started(url: str, generations: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.stores.postgres_writer", url, "one", str(FILES), str(generations)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_a_writer_is_killed_at_any_moment(url: str, store: Store) -> None:
    chance = random.Random(9)
    seen = [0]
    for _ in range(4):
        process = started(url, 100)
        time.sleep(chance.uniform(0.02, 0.5))
        process.kill()
        process.wait(120)
        seen.append(whole(store, "one", FILES))
    assert seen == sorted(seen)
    last = write(store, "one", FILES)
    assert whole(store, "one", FILES) == last == seen[-1] + 1
    assert len(list(store.listing("one"))) == FILES


def test_readers_see_a_whole_project_while_it_is_written(url: str, store: Store) -> None:
    write(store, "one", FILES)
    process = started(url, 4)
    try:
        seen = []
        while process.poll() is None:
            seen.append(whole(store, "one", FILES))
    finally:
        process.kill()
        process.wait(120)
    assert process.returncode == 0 and len(seen) > 3 and seen == sorted(seen)
    assert whole(store, "one", FILES) == 5


def test_two_writers_take_turns(url: str, store: Store) -> None:
    other = store_at(url, Settings())
    done: list[int] = []
    threads = [threading.Thread(target=lambda s=s: done.extend(write(s, "one", 40) for _ in range(3))) for s in (store, other)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    other.close()
    assert sorted(done) == [1, 2, 3, 4, 5, 6] and whole(store, "one", 40) == 6


def test_a_writer_that_was_cut_off_can_write_no_more(url: str, store: Store) -> None:
    """Its connection dies without it noticing, another writer comes; then it goes on as if nothing had happened."""
    write(store, "one", 20)
    other = store_at(url, Settings())
    with store.writing("one", 1):
        put(store, "one", list(files(20, 2))[:5], 2)
        _cut_off(server())
        with other.writing("one", 5):
            for attempt in (
                lambda: put(store, "one", list(files(20, 2))[5:], 2), lambda: store.put_pages("one", {"all": b"2"}, 2),
                lambda: store.retire("one", [key(1)], 2), lambda: store.adopt("one", [key(1)], 2),
                lambda: store.publish("one", head(2)), lambda: store.sweep("one", 1),
            ):  # fmt: skip
                with pytest.raises(IndexLocked):
                    attempt()
    assert whole(store, "one", 20) == 1
    assert write(other, "one", 20) == 2 and whole(store, "one", 20) == 2
    with pytest.raises(IndexLocked):
        put(store, "one", list(files(3, 9)), 2)  # without a lock, into what is public already
    assert whole(store, "one", 20) == 2


def _cut_off(here: TestServer) -> None:
    """End the sessions that hold a writer's lock, and wait for that."""
    holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    assert here.run(f"SELECT pg_terminate_backend(pid) FROM ({holders}) AS h") == [(True,)]
    deadline = time.monotonic() + 120
    while here.run(holders) and time.monotonic() < deadline:
        time.sleep(0.02)


def test_only_one_of_two_heads_is_published(url: str, store: Store) -> None:
    write(store, "one", 20)
    stores = [store_at(url, Settings()) for _ in range(4)]
    gate, outcomes = threading.Barrier(4), []

    def publish(number: int) -> None:
        gate.wait(10)
        try:
            stores[number].publish("one", head(2, number))
            outcomes.append(number)
        except IndexLocked:
            outcomes.append(-1)

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    winners = [number for number in outcomes if number >= 0]
    assert len(outcomes) == 4 and len(winners) == 1
    published = store.head("one")
    assert published is not None and published.files == winners[0]
    for opened in stores:
        opened.close()


def test_readers_do_not_wait_for_a_writer(url: str, store: Store) -> None:
    """A transaction that changed every table and has not ended holds nobody up who only reads."""
    import psycopg

    write(store, "one", 20)
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = lurcher, public")
        connection.execute("SELECT 1 FROM projects FOR UPDATE")
        for table in ("files", "units", "records", "vectors", "postings", "segments", "cells", "pages"):
            connection.execute(f"DELETE FROM {table}".encode())
        assert whole(store, "one", 20) == 1  # who waited would wait for ever
        connection.rollback()
