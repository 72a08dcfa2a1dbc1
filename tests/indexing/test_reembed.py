"""An index and its model: made anew for another one, in use without it, never a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import ConfigError
from lurcher.types import Answer
from tests.indexing.conftest import TREE, answers, write
from tests.tables import write_tiny

QUESTION = "what is redirected"


def with_model(root: Path, model: Path | str, **settings: object) -> Engine:
    return Engine.open(root, root=root, overrides={"dense.model": str(model), **settings})


def stages(answer: Answer) -> list[str]:
    return [note.stage for note in answer.degraded]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "one.table")


def test_another_model_makes_new_vectors_and_nothing_else(
    root: Path, tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stages(with_model(root, table).search(QUESTION)) == []
    assert with_model(root, table).search(QUESTION).degraded == ()
    other = write_tiny(tmp_path / "other.table", dims=16)
    monkeypatch.setattr("lurcher.indexing.build.parse", None)  # calling it would fail
    answer = with_model(root, other).search(QUESTION)
    assert "another model" in answer.degraded[0].reason and "made anew" in answer.degraded[0].reason
    assert "dense" in answer.hits[0].why.lanes
    assert with_model(root, other).search(QUESTION).degraded == ()
    monkeypatch.undo()
    fresh = Engine.open(root, root=root, index_dir=tmp_path / "fresh", overrides={"dense.model": str(other)})
    fresh.index()
    segments = [{path.name for path in folder.glob("*.segment")} for folder in (root / ".lurcher", tmp_path / "fresh")]
    assert segments[0] == segments[1], "not the bytes of an index that was made with that model"


def test_vectors_of_another_model_with_as_many_numbers_are_not_taken_for_ours(root: Path, tmp_path: Path, table: Path) -> None:
    with_model(root, table).index()
    other = write_tiny(tmp_path / "other.table", name="other")
    asked = with_model(root, other).search(QUESTION, refresh=False)
    assert stages(asked) == ["dense"] and "no vectors of this model" in asked.degraded[0].reason
    assert all("dense" not in hit.why.lanes for hit in asked.hits)


def test_the_same_model_elsewhere_is_the_same_model(root: Path, tmp_path: Path, table: Path) -> None:
    with_model(root, table).index()
    (tmp_path / "copy.table").write_bytes(table.read_bytes())
    assert with_model(root, tmp_path / "copy.table").search(QUESTION).degraded == ()


def test_without_a_model_there_are_no_vectors_and_no_complaints(root: Path, table: Path) -> None:
    engine = with_model(root, "none")
    answer = engine.search("how are redirects followed")
    assert answer.hits and answer.degraded == ()
    assert all("dense" not in hit.why.lanes for hit in answer.hits)
    status = engine.status()
    assert (status["vector_bytes"], status["model"]) == (0, {"name": "none"})
    asked = engine.search(QUESTION, mode="dense")
    assert (asked.mode, asked.ranking) == ("lexical", "default")
    assert "no model is in use" in asked.degraded[0].reason and asked.degraded[0].hint


def test_status_names_the_model(root: Path, table: Path) -> None:
    engine = with_model(root, table)
    status = engine.index()
    assert status["model"]["name"] == "tiny" and status["model"]["dims"] == 32
    assert status["vector_bytes"] == (status["units"] + status["files"]) * (32 + 4)
    assert status["vector_bytes"] > 0


def test_a_model_that_goes_away_costs_its_lane_only(root: Path, table: Path) -> None:
    with_model(root, table).index()
    kept = table.read_bytes()
    segments = sorted((root / ".lurcher").glob("*.segment"))
    table.unlink()
    engine = with_model(root, table)
    answer = engine.search("how are redirects followed")
    assert answer.hits[0].path == "src/client.py"
    assert stages(answer) == ["dense"] and "missing" in answer.degraded[0].reason
    assert sorted((root / ".lurcher").glob("*.segment")) == segments
    assert engine.status()["model"]["problem"]
    table.write_bytes(kept)
    assert with_model(root, table).search("how are redirects followed").degraded == ()


def test_what_was_indexed_without_the_model_is_rebuilt_with_it(root: Path, tmp_path: Path, table: Path) -> None:
    with_model(root, table).index()
    kept = table.read_bytes()
    table.unlink()
    write(root, {"late.py": "def zeppelin(location):\n    return location\n"})
    engine = with_model(root, table)
    assert engine.search("where does the zeppelin go").hits[0].path == "late.py"
    assert with_model(root, table).search("where does the zeppelin go").hits[0].path == "late.py"
    table.write_bytes(kept)
    answer = with_model(root, table).search(QUESTION)
    assert "made anew" in answer.degraded[0].reason
    back = with_model(root, table)
    assert back.search(QUESTION).degraded == ()
    fresh = Engine.open(root, root=root, index_dir=tmp_path / "fresh", overrides={"dense.model": str(table)})
    assert answers(back) == answers(fresh)


def test_answers_continue_after_a_merge_without_the_model(root: Path, table: Path) -> None:
    with_model(root, table).index()
    table.unlink()
    for number in range(12):
        write(root, {f"late_{number}.py": f"def zeppelin_{number}():\n    return {number}\n"})
        assert with_model(root, table).search(f"zeppelin_{number}").hits[0].path == f"late_{number}.py"
    assert len(list((root / ".lurcher").glob("*.segment"))) < 10


@pytest.mark.parametrize("section", [b"rows", b"scales"])
def test_a_model_that_is_damaged_inside_costs_its_lane_only(root: Path, table: Path, section: bytes) -> None:
    """Blocks are checked on first touch: the file opens well, and fails in the middle of indexing."""
    from lurcher.storage.container import Container

    entry = Container.open(table)._table[section.decode()]
    data = bytearray(table.read_bytes())
    data[entry.position : entry.position + entry.length] = bytes(entry.length)
    table.write_bytes(data)
    engine = with_model(root, table)
    answer = engine.search("how are redirects followed")
    assert answer.hits[0].path == "src/client.py"
    assert "checksum" in next(note.reason for note in answer.degraded if note.stage == "dense")
    assert engine.status()["vector_bytes"] == 0
    assert engine.search("how are redirects followed", mode="dense").hits


def test_a_model_that_is_damaged_later_costs_its_lane_only(root: Path, table: Path) -> None:
    with_model(root, table).index()
    from lurcher.storage.container import Container

    entry = Container.open(table)._table["rows"]
    data = bytearray(table.read_bytes())
    data[entry.position] ^= 1
    table.write_bytes(data)
    answer = with_model(root, table).search("how are redirects followed")
    assert answer.hits[0].path == "src/client.py" and stages(answer) == ["dense"]
    assert with_model(root, table).status()["vector_bytes"] > 0


def test_a_project_brings_its_own_model(root: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny(root / "own.table", name="own")
    (root / "lurcher.toml").write_text('[dense]\nmodel = "own.table"\n')
    monkeypatch.delenv("LURCHER_DENSE_MODEL")
    assert Engine.open(root, root=root).index()["model"]["name"] == "own"
    (root / "lurcher.toml").write_text(f'[dense]\nmodel = "{table}"\n')
    with pytest.raises(ConfigError, match=r"lurcher\.toml: dense\.model must be a file of the project"):
        Engine.open(root, root=root)


def test_folders_with_different_models_are_searched_by_words(
    root: Path, tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LURCHER_DENSE_MODEL")
    other = tmp_path / "other"
    write(other, {"src/redirect.py": TREE["src/client.py"]})
    for folder, dims in ((root, 32), (other, 16)):
        write_tiny(folder / "own.table", dims=dims)
        (folder / "lurcher.toml").write_text('[dense]\nmodel = "own.table"\n')
        (folder / ".git").mkdir()
    answer = Engine.open([root, other], overrides={}).search("how are redirects followed")
    assert {hit.path.split("/")[0] for hit in answer.hits} == {"tree", "other"}
    assert "different models" in next(note.reason for note in answer.degraded if note.stage == "dense")


def test_several_folders_with_one_model_are_searched_by_meaning(root: Path, tmp_path: Path, table: Path) -> None:
    write(tmp_path / "other", {"src/location.py": "def follow(location):\n    return location\n"})
    engine = Engine.open([root, tmp_path / "other"], overrides={"dense.model": str(table)})
    answer = engine.search(QUESTION, mode="dense")
    assert answer.degraded == () and answer.ranking == "cosine"
    assert {hit.path.split("/")[0] for hit in answer.hits} == {"tree", "other"}


def test_by_meaning_alone_every_page_is_different(root: Path, table: Path) -> None:
    engine = with_model(root, table)
    seen, cursor = [], None
    while True:
        page = engine.search(QUESTION, mode="dense", limit=1, cursor=cursor)
        seen += [hit.id for hit in page.hits]
        if page.next is None:
            break
        cursor = page.next
    assert len(seen) == len(set(seen)) == page.total > 1
