"""What a store in Qdrant does beyond the contract: fusion, odd names, collections, folders, packages that are missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.errors import ConfigError, MissingExtra, StoreError
from lurcher.stores.base import Question, Sparse, Store, store_at
from lurcher.stores.qdrant import layout
from tests.stores.qdrant_backends import PLACES, quick, settings
from tests.stores.samples import DIMS, asking, file, head, vector


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[str]:
    with PLACES["qdrant-edge"](tmp_path / "store") as place:
        yield place


def filled(store: Store, project: str = "p", files: int = 30, **more: object) -> Store:
    with store.writing(project, 5):
        made = [file(project, f"src/{number}.py", names=(f"name{number % 10}",), **more) for number in range(files)]
        store.put(project, made, 1, lambda count: None)
        store.publish(project, head(1, files, 2 * files))
        store.sweep(project, 1)
    return store


class TestFusion:
    @pytest.mark.parametrize("rrf", [None, 60.0, 7.0])
    def test_qdrant_fuses_as_we_do(self, url, rrf):
        theirs, ours = filled(store_at(url, settings())), store_at(url, settings())
        theirs._points.exclusive, ours._points.exclusive = False, True  # as a server, and as an embedded engine
        chance = np.random.default_rng(3)
        for number in range(5):
            words = file("p", f"src/{number}.py", words=("common",)).units[0].sparse
            weights = chance.uniform(0.1, 3.0, len(words.numbers)).astype(np.float32)
            question = Question(vector(str(number)), Sparse(words.numbers, weights), ("name3",), rrf=rrf, depth=20, limit=25)
            fused, summed = theirs.candidates("p", 1, question), ours.candidates("p", 1, question)
            # Words that all units have make ties, whose order is the engine's.
            sure = {one.path: one for one in summed if one.legs.get("sparse", 1) == 1}
            for one in fused:
                if one.path in sure:
                    assert one.legs == sure[one.path].legs
                    assert one.score == pytest.approx(sure[one.path].score, rel=1e-5)
        ours.close()
        theirs.close()

    def test_ranks_are_worth_what_the_constant_says(self, edge):
        store = filled(store_at(edge, settings()))
        for rrf, first in ((None, 1 / 2), (60.0, 1 / 61), (0.5, 1 / 1.5)):
            best = store.candidates("p", 1, Question(vector("src/4.py1"), None, rrf=rrf))[0]
            assert best.path == "src/4.py" and best.legs["dense"] == 1
            assert best.score == pytest.approx(first + 1 / ((1.0 if rrf is None else rrf) + best.legs["card"]))
        store.close()

    def test_what_defines_a_name_is_there_whatever_else_is(self, edge):
        store = filled(store_at(edge, settings()))
        found = store.candidates("p", 1, asking("common", near="src/0.py0", names=("name7",), limit=4, rrf=60.0))
        assert len(found) == 4
        assert {"src/7.py", "src/17.py", "src/27.py"} < {one.path for one in found}
        assert len(store.candidates("p", 1, asking("common", names=("name7",), limit=2))) == 2
        store.close()

    def test_a_question_without_anything_to_go_by_finds_nothing(self, edge):
        store = filled(store_at(edge, settings()))
        empty = Sparse(np.zeros(0, np.uint32), np.zeros(0, np.float32))
        assert store.candidates("p", 1, Question(None, empty)) == []
        store.close()


class TestNames:
    @given(st.text(st.characters(exclude_categories=())))
    def test_any_text_comes_back(self, text):
        assert layout.unescape_text(layout.escape_text(text)) == text
        layout.escape_text(text).encode("utf-8")

    def test_a_file_whose_name_is_no_utf8(self, url):
        store = store_at(url, settings())
        path = "src/\udcff\udc80/caf\udce9.py"
        with store.writing("p\udcff", 5):
            store.put("p\udcff", [file("p", path)], 1, lambda count: None)
            store.publish("p\udcff", head(1, 1, 2, root="\udce9"))
        assert store.projects() == ["p\udcff"]
        assert [one.path for one in store.listing("p\udcff")] == [path]
        assert [one.path for one in store.candidates("p\udcff", 1, asking("common", folders=("src/\udcff\udc80",)))] == [path]
        assert store.texts("p\udcff", [(file("p", path).key, 0)])[file("p", path).key, 0].startswith(path)
        assert store.head("p\udcff").more == {"root": "\udce9"}
        store.close()

    def test_files_of_one_key_in_two_projects_are_two(self, url):
        store = store_at(url, settings())
        for project in ("p", "q"):
            with store.writing(project, 5):
                store.put(project, [replace(file("same", "a.py"), record=project.encode())], 1, lambda count: None)
                store.publish(project, head(1, 1, 2))
        key = file("same", "a.py").key
        assert [store.records(project, [key])[key] for project in ("p", "q")] == [b"p", b"q"]
        store.retire("p", [key], 2)
        assert [one.died for one in store.listing("q")] == [None]
        store.close()


class TestCollections:
    def test_a_project_without_vectors_goes_in_beside_others(self, url):
        store = filled(store_at(url, settings()), "q")
        filled(store, "p", dims=0)
        assert store.candidates("p", 1, asking("src/4.py", near="x"))[0].path == "src/4.py"
        assert {leg for one in store.candidates("p", 1, asking("common", near="x")) for leg in one.legs} == {"sparse"}
        store.close()

    def test_the_first_project_may_have_no_vectors(self, edge):
        store = filled(store_at(edge, settings()), dims=0)
        assert store.state()["dims"] == "256"
        assert len(store.candidates("p", 1, asking("common"))) == 30
        store.close()

    def test_the_length_of_vectors_is_that_of_the_first_one_there_is(self, edge):
        store = store_at(edge, settings())
        with store.writing("p", 5):
            made = [file("p", f"{number}.py", dims=0 if number < 20 else DIMS) for number in range(25)]
            store.put("p", made, 1, lambda count: None)
        assert store.state()["dims"] == str(DIMS)
        assert len(list(store.listing("p"))) == 25
        store.close()

    def test_collections_have_the_name_that_is_requested(self, edge):
        filled(store_at(edge, settings(collection="ours"))).close()
        assert store_at(edge, settings()).projects() == []
        store = store_at(edge, settings(collection="ours"))
        assert {"ours", "ours_files", "ours_projects"} < set(store.state())
        store.close()

    @pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 201])
    def test_not_every_name_is_one(self, name):
        with pytest.raises(ConfigError, match="cannot be"):
            store_at("qdrant://127.0.0.1:1", settings(collection=name))

    @pytest.mark.parametrize("sparse", ["", "sparse"])
    def test_a_server_understands_their_shape(self, sparse):
        models = pytest.importorskip("qdrant_client").models
        made = settings(shards=6, replicas=3).qdrant
        for dims in (0, 256):
            read = models.CreateCollection.model_validate(layout.collection_shape(made, dims, sparse))
            assert (read.shard_number, read.replication_factor, read.write_consistency_factor) == (6 if dims else 1, 3, 2)
        for index in (*layout.UNIT_INDEXES.values(), *layout.FILE_INDEXES.values(), *layout.PROJECT_INDEXES.values()):
            models.CreateFieldIndex.model_validate({"field_name": "x", "field_schema": index})

    def test_the_state_has_what_doctor_reports(self, url):
        store = store_at(url, settings())
        assert store.state()["code_chunks"] == "not there yet"
        told = filled(store).state()
        assert "60 points" in told["code_chunks"] and "30 points" in told["code_chunks_files"]
        assert told["dims"] == str(DIMS) and told["projects"] == "1" and told["latency"].endswith(" ms") and told["version"]
        store.close()


class TestFolders:
    def test_what_was_written_is_there_the_next_time(self, tmp_path):
        with quick(tmp_path / "x") as folder:
            place = f"qdrant+edge://{folder}"
            filled(store_at(place, settings())).close()
            store = store_at(place, settings())
            assert store.head("p") == head(1, 30, 60)
            assert store.candidates("p", 1, asking("src/4.py", near="src/4.py"))[0].path == "src/4.py"
            store.close()

    def test_another_process_has_to_wait(self, tmp_path):
        with quick(tmp_path / "x") as folder:
            place = f"qdrant+edge://{folder}"
            script = (
                "import sys; from lurcher import config; from lurcher.stores.base import store_at\n"
                "made = config.apply(config.Settings(), {'store.seconds': 0.1}, 'flag')\n"
                f"try: store_at({place!r}, made).head('p')\n"
                "except Exception as error: print(type(error).__name__, error.message, error.hint)"
            )
            store = store_at(place, settings())
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
            assert ran.stdout.startswith(f"StoreError the store at {place} is open in another process"), ran.stderr
            assert "lurcher doctor" in ran.stdout
            store.close()
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
            assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr

    def test_a_folder_left_half_made_is_rebuilt(self, edge):
        folder = Path(edge.partition("://")[2])
        (folder / "code_chunks" / "shard" / "segments").mkdir(parents=True)
        store = filled(store_at(edge, settings()))
        assert len(store.candidates("p", 1, asking("common"))) == 30
        store.close()

    def test_a_folder_that_cannot_be_is_reported(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match="cannot be opened"):
            store_at(f"qdrant+edge://{tmp_path}/file/below", settings())

    def test_what_is_damaged_is_reported(self, edge):
        filled(store_at(edge, settings())).close()
        for path in (Path(edge.partition("://")[2]) / "code_chunks" / "shard").rglob("*.json"):
            path.write_text("{")
        store = store_at(edge, settings())
        with pytest.raises(StoreError, match="cannot open"):
            store.candidates("p", 1, asking("common"))
        store.close()


class TestPackages:
    def test_a_missing_one_is_named_with_what_installs_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "qdrant_edge", None)
        with pytest.raises(MissingExtra) as told:
            store_at("qdrant+edge:///tmp/x", settings())
        assert told.value.hint == "pip install 'lurcher[qdrant]'"

    def test_a_server_needs_none(self):
        script = (
            "import sys; from lurcher import config; from lurcher.stores.base import store_at\n"
            "quick = config.apply(config.Settings(), {'store.seconds': 0.1}, 'flag')\n"
            "for name in ('qdrant_client', 'qdrant_edge', 'httpx', 'grpc', 'pydantic'): sys.modules[name] = None\n"
            "made = store_at('qdrant://127.0.0.1:1', quick)\n"
            "try: made.head('p')\n"
            "except Exception as error: print(type(error).__name__)"
        )
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert ran.stdout == "StoreError\n", ran.stderr
