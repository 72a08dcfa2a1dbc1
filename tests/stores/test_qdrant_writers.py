"""Writers of a store in Qdrant: several at once, ones that die, ones that stop half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher import config
from lurcher.errors import IndexLocked, StoreError
from lurcher.stores.base import Store, store_at
from lurcher.stores.qdrant import rest
from lurcher.stores.qdrant import store as qdrant_store
from lurcher.stores.qdrant.layout import in_project, match, match_any, named_point_id
from lurcher.stores.qdrant.writer import Leases
from tests.stores import qdrant_killed_writer
from tests.stores.qdrant_backends import PLACES, quick, settings
from tests.stores.qdrant_killed_writer import ROOT, killed, look, write
from tests.stores.samples import asking, file, head

pytest.importorskip("qdrant_client")
pytest.importorskip("qdrant_edge")


@pytest.fixture(params=sorted(PLACES.keys() - {"qdrant-edge"}))
def http(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with PLACES[request.param](tmp_path / "store") as place:
        yield place


def begun(store: Store, files: int = 3) -> list[str]:
    """A project at generation 1; the keys of its files."""
    made = [file("p", f"{number}.py") for number in range(files)]
    with store.writing("p", 5):
        store.put("p", made, 1, lambda count: None)
        store.publish("p", head(1, files, 2 * files))
    return [one.key for one in made]


def paths(store: Store, generation: int) -> list[str]:
    return sorted(one.path for one in store.candidates("p", generation, asking("common")))


class TestHalfDone:
    """Each test leaves what a writer leaves that is killed between two requests."""

    def test_units_without_their_file_are_removed(self, url):
        store = store_at(url, settings())
        begun(store)
        store.put("p", [file("p", "left.py")], 2, lambda count: None)
        store._points.delete(store._files, in_project("p", match("key", file("p", "left.py").key)))
        with store.writing("p", 5):
            store.publish("p", head(2, 3, 6))
        assert paths(store, 2) == ["0.py", "1.py", "2.py"]
        assert store.texts("p", [(file("p", "left.py").key, 0)]) == {}
        store.close()

    def test_units_that_were_not_retired_die_with_their_file(self, url):
        store = store_at(url, settings())
        keys = begun(store)
        store._points.change(store._files, {"died": 2}, in_project("p", match_any("key", keys[:1])))
        with store.writing("p", 5):
            store.publish("p", head(2, 2, 4))
        assert paths(store, 1) == ["0.py", "1.py", "2.py"]
        assert paths(store, 2) == ["1.py", "2.py"]
        store.close()

    def test_units_that_died_before_their_file_live_on_with_it(self, url):
        store = store_at(url, settings())
        keys = begun(store)
        store._points.change(store._units, {"died": 2}, in_project("p", match_any("key", keys[:1])))
        with store.writing("p", 5):
            store.publish("p", head(2, 3, 6))
        assert paths(store, 2) == ["0.py", "1.py", "2.py"]
        store.close()

    def test_units_that_were_born_again_before_their_file_are_as_dead_as_it_is(self, url):
        store = store_at(url, settings())
        keys = begun(store)
        with store.writing("p", 5):
            store.retire("p", keys[:1], 2)
            store.publish("p", head(2, 2, 4))
        store._points.change(store._units, {"born": 3, "died": 1 << 52}, in_project("p", match_any("key", keys[:1])))
        with store.writing("p", 5):
            store.publish("p", head(3, 2, 4))
        assert paths(store, 3) == ["1.py", "2.py"]
        store.close()

    def test_what_was_sent_is_not_sent_again(self, http):
        store = store_at(http, settings())
        begun(store, 2)
        before = {one.key: one for one in store.listing("p")}
        with store.writing("p", 5):
            store.put("p", [file("p", f"{number}.py") for number in range(3)], 2, lambda count: None)
            assert paths(store, 1) == ["0.py", "1.py"]  # and readers did not lose sight of it
            store.publish("p", head(2, 3, 6))
        after = {one.key: one for one in store.listing("p")}
        assert {key: after[key] for key in before} == before
        assert paths(store, 2) == ["0.py", "1.py", "2.py"]
        store.close()

    def test_a_file_that_is_put_again_when_it_was_to_die_lives(self, url):
        store = store_at(url, settings())
        keys = begun(store)
        store.retire("p", keys, 2)
        with store.writing("p", 5):
            store.put("p", [file("p", "0.py")], 2, lambda count: None)
            assert paths(store, 1) == ["0.py", "1.py", "2.py"]
            store.publish("p", head(2, 1, 2))
        assert paths(store, 2) == ["0.py"]
        store.close()


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setattr(qdrant_store, "LEASE_SECONDS", 1.0)


class TestLease:
    @pytest.mark.usefixtures("short_lease")
    def test_it_is_renewed_for_as_long_as_the_writer_lives(self, http):
        first, second = (store_at(http, settings()) for _ in range(2))
        with first.writing("p", 1):
            with pytest.raises(IndexLocked, match="is being written by"), second.writing("p", 2.5):
                pass
            first.put("p", [file("p", "a.py")], 1, lambda count: None)
            first.publish("p", head(1, 1, 2))
        with second.writing("p", 1):
            pass

    @pytest.mark.usefixtures("short_lease")
    def test_that_of_a_dead_writer_runs_out(self, http):
        store = store_at(http, settings())
        store._ensure_projects()
        store._leases._make("p")
        store._leases._acquire("p", "a writer that died", 1)
        began = time.monotonic()
        with store.writing("p", 10):
            assert time.monotonic() - began > 0.9

    def test_one_that_ran_out_long_ago_is_not_waited_for(self, http):
        store = store_at(http, settings())
        store._ensure_projects()
        store._leases._make("p")
        store._leases._acquire("p", "a writer that died", 1)
        store._leases._swap("p", {"until": time.time() - 70})
        with store.writing("p", 1):
            pass

    def test_a_folder_has_no_writers_in_other_processes(self, tmp_path):
        with PLACES["qdrant-edge"](tmp_path / "store") as place:
            store = store_at(place, settings())
            store._ensure_projects()
            store._leases._make("p")
            store._leases._acquire("p", "other-process:1:x", 1)
            with store.writing("p", 0):
                pass
            store.close()

    @pytest.mark.usefixtures("short_lease")
    def test_a_writer_that_lost_it_stops_and_publishes_nothing(self, http):
        slow, quick_one = (store_at(http, settings()) for _ in range(2))
        begun(slow)
        with pytest.raises(IndexLocked), slow.writing("p", 1):
            slow._leases._swap("p", {"writer": ""}, match("writer", slow._leases._held["p"].token))
            with quick_one.writing("p", 1):
                with pytest.raises(IndexLocked):
                    slow.publish("p", head(2, 9, 9))
                time.sleep(0.6)
                for call in (
                    lambda: slow.put("p", [file("p", "late.py")], 2, lambda count: None),
                    lambda: slow.retire("p", ["x"], 2),
                    lambda: slow.put_pages("p", {"a": b""}, 2),
                    lambda: slow.sweep("p", 1),
                ):
                    with pytest.raises(IndexLocked, match="another client is writing"):
                        call()
                quick_one.publish("p", head(2, 3, 6))
            slow.publish("p", head(3, 9, 9))
        assert slow.head("p") == head(2, 3, 6)

    @pytest.mark.usefixtures("short_lease")
    def test_one_that_cannot_reach_the_server_gives_it_up(self, tmp_path, monkeypatch):
        from tests.stores.qdrant_server import serving

        with quick(tmp_path / "x") as folder, serving(folder) as server:
            monkeypatch.setattr(rest, "PATIENCE", 0.1)
            made = config.apply(settings(), {"store.seconds": 0.1}, "flag")
            store = store_at(server.url, made)
            with pytest.raises((IndexLocked, StoreError)), store.writing("p", 1):
                server.trouble = [(503, {}, b"{}")] * 1000
                time.sleep(2.5)
                server.trouble = []
                store.put("p", [file("p", "a.py")], 1, lambda count: None)


class TestSeveral:
    def test_of_many_that_publish_the_same_generation_one_does(self, url):
        stores = [store_at(url, settings()) for _ in range(6)]
        begun(stores[0])
        ready, won = threading.Barrier(6), []

        def publish(number: int) -> None:
            ready.wait(10)
            try:
                stores[number].publish("p", head(2, number, number, by=str(number)))
                won.append(number)
            except IndexLocked:
                pass

        threads = [threading.Thread(target=publish, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(won) == 1
        assert stores[0].head("p").more == {"by": str(won[0])}
        for store in stores:
            store.close()

    def test_of_many_that_want_the_lease_one_has_it_at_a_time(self, http):
        stores = [store_at(http, settings()) for _ in range(4)]
        inside, most, turns = 0, 0, 0
        guard = threading.Lock()

        def enter(store: Store) -> None:
            nonlocal inside, most, turns
            for _ in range(3):
                with store.writing("p", 30):
                    with guard:
                        inside += 1
                        most, turns = max(most, inside), turns + 1
                    time.sleep(0.01)
                    with guard:
                        inside -= 1

        threads = [threading.Thread(target=enter, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert (most, turns) == (1, 12)

    def test_of_two_that_find_it_free_at_once_one_has_it(self, url, monkeypatch):
        stores = [store_at(url, settings()) for _ in range(2)]
        begun(stores[0])
        met, inside, refused = threading.Barrier(2), [], []
        swap = Leases._swap

        def late(self: Leases, project: str, payload: dict[str, object], *conditions: dict[str, object]) -> None:
            if payload.get("writer") and not self.__dict__.setdefault("_met", False):
                self.__dict__["_met"] = True
                met.wait(5)
            swap(self, project, payload, *conditions)

        monkeypatch.setattr(Leases, "_swap", late)
        done = threading.Barrier(2)

        def enter(store: Store) -> None:
            try:
                with store.writing("p", 0):
                    inside.append(store)
                    done.wait(10)
            except IndexLocked:
                refused.append(store)
                done.wait(10)
            except threading.BrokenBarrierError:
                pass

        threads = [threading.Thread(target=enter, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert (len(inside), len(refused)) == (1, 1)
        for store in stores:
            store.close()

    def test_two_machines_write_in_turn_and_readers_see_whole_versions(self, http):
        problems: list[BaseException] = []

        def run() -> None:
            store = store_at(http, qdrant_killed_writer.settings())
            try:
                for _ in range(3):
                    write(store, "p", 12)
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=run) for _ in range(2)]
        reader = store_at(http, settings())
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            look(reader, "p", 12)
        assert not problems
        assert look(reader, "p", 12) == 6


class TestKilled:
    def test_a_server_whose_writers_are_killed_always_has_a_whole_project(self, http):
        told = killed(http, 25, 3, seed=int(time.time()))
        assert told["looks"] > 5

    def test_a_folder_whose_writer_is_killed_has_a_whole_project(self, tmp_path):
        with quick(tmp_path / "x") as folder:
            place = f"qdrant+edge://{folder}"
            store = store_at(place, qdrant_killed_writer.settings())
            write(store, "p", 20)
            store.close()
            environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
            command = [sys.executable, "-m", "tests.stores.qdrant_killed_writer", place, "p", "20"]
            for number in range(2):
                writer = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
                assert writer.stdout is not None and writer.stdout.readline() == b"writing\n"
                time.sleep(0.15 * number)
                writer.send_signal(signal.SIGKILL)
                writer.wait(120)
                writer.stdout.close()
                store = store_at(place, qdrant_killed_writer.settings())
                assert look(store, "p", 20) is not None
                store.close()


def test_a_head_is_found_by_its_project_alone():
    assert named_point_id("head", "a") != named_point_id("head", "b") != named_point_id("page", "b")
