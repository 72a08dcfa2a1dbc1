"""A damaged index costs a rebuild and a line that says so, never an answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lurcher.corpora.history import schema
from lurcher.engine import Engine
from lurcher.errors import PathError
from lurcher.indexing import writer
from lurcher.storage import disk, manifest
from lurcher.storage.segment import FORMAT
from lurcher.types import Answer
from tests.indexing.conftest import QUESTIONS, in_two_segments, index_files, opened, write
from tests.indexing.faults import folder_bytes, restore
from tests.storage.damage import intact
from tests.storage.kinds import KEPT, Kept


@pytest.fixture(scope="module", params=sorted(KEPT))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, dict[str, bytes], object]:
    """An index of each corpus, of two segments; its files, and what it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LURCHER_CONFIG", os.devnull)
        kept = KEPT[request.param](tmp_path_factory.mktemp(request.param))
        said, notes = kept.ask()
    assert notes == []
    return kept, folder_bytes(kept.folder), said


@pytest.fixture
def kept(made: tuple[Kept, dict[str, bytes], object]) -> Kept:
    """The same, as it was at first."""
    kept, files, _ = made
    restore(kept.folder, files)
    return kept


@pytest.fixture
def expected(made: tuple[Kept, dict[str, bytes], object]) -> object:
    return made[2]


@pytest.fixture
def indexed(root: Path) -> Path:
    """A tree with an index of two segments."""
    return in_two_segments(root)


def hits(answer: Answer) -> list[dict[str, object]]:
    return [hit.to_dict() for hit in answer.hits]


def ask(root: Path, engine: Engine | None = None) -> list[Answer]:
    engine = engine or opened(root)
    return [engine.search(question) for question in (*QUESTIONS, "zeppelin")]


@pytest.mark.parametrize("number", range(3), ids=["manifest", "one segment", "other segment"])
@pytest.mark.parametrize("how", ["delete", "empty", "half", "last byte", "grow", "folder", "replace"])
def test_a_file_that_is_broken_as_a_whole_is_rebuilt(kept: Kept, expected: object, number: int, how: str) -> None:
    path = kept.files()[number]
    data = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how != "delete":
        broken = {
            "empty": b"",
            "half": data[: len(data) // 2],
            "last byte": data[:-1],
            "grow": data + b"x",
            "replace": b"x" * len(data),
        }
        path.write_bytes(broken[how])
    said, notes = kept.ask()
    assert said == expected
    if how == "folder":
        # A folder cannot be replaced by a file: what would take its name stays in memory, and the answer says so.
        assert any("in memory only" in note for note in notes) is (number == 0)
        assert any("it was rebuilt" in note for note in notes)
        return
    # Without a manifest there is no index that could be damaged: it is simply made.
    missing = how == "delete" and number == 0
    assert len([note for note in notes if "it was rebuilt" in note]) == len(notes) == (0 if missing else 1)
    intact(kept.folder)
    assert kept.ask() == (expected, [])


@pytest.mark.parametrize("kind", sorted(KEPT))
def test_an_index_of_an_older_format_is_rebuilt_with_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        for module in (manifest, schema):
            older.setattr(module, "FORMAT", FORMAT - 1)
        kept = KEPT[kind](tmp_path)
    said, notes = kept.ask()
    called = {"history": "history index"}.get(kind, "index")
    assert notes == [f"the {called} was made with format {FORMAT - 1} (now {FORMAT}); it was rebuilt"]
    assert kept.ask() == (said, [])


def test_a_segment_under_the_name_of_another_is_seen(kept: Kept, expected: object) -> None:
    """Both are sound, and each would show what the other has of the living and the dead."""
    one, other = kept.files()[1:3]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    said, notes = kept.ask()
    assert said == expected
    assert [note for note in notes if "it was rebuilt" in note and (one.name in note or other.name in note)] == notes != []
    intact(kept.folder)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_damage_that_a_query_meets_is_repaired(kept: Kept, expected: object, share: float) -> None:
    """Blocks are checked on first touch, so damage may be met in the middle of a search."""
    for path in kept.files()[1:3]:
        data = bytearray(path.read_bytes())
        begin = 16 + int((len(data) - 200) * share)
        for position in range(begin, min(begin + len(data) // 8, len(data) - 100)):
            data[position] ^= 1
        path.write_bytes(data)
    said, notes = kept.ask()
    assert said == expected
    if any("checksum; it was rebuilt" in note for note in notes):
        intact(kept.folder)
        assert kept.ask() == (expected, [])
    else:  # what no question read is found by whoever reads everything
        assert notes == []
        assert {name for path in kept.files()[1:3] for finding in kept.problems() if (name := path.name) in finding.message}


def test_damaged_outcomes_are_found_again(tmp_path: Path) -> None:
    kept = KEPT["history"](tmp_path)
    expected, _ = kept.ask()
    path = kept.files()[-1]
    for data in (b"", path.read_bytes()[:-1], bytes(path.stat().st_size), None):
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        assert any(path.name in finding.message for finding in kept.problems())
        assert kept.ask() == (expected, [])
        assert kept.problems() == []


@pytest.mark.parametrize("merged", [False, True])
def test_an_old_manifest_over_new_segments_costs_no_answer(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, merged: bool
) -> None:
    """As a backup that was put back in part would leave it."""
    folder = indexed / ".lurcher"
    old = (folder / "manifest").read_bytes()
    if merged:
        monkeypatch.setattr(writer, "MAX_SEGMENTS", 1)
        (indexed / "new.py").unlink()
    write(indexed, {"src/cookies.py": "def parse_biscuit(): pass\n", "later.py": "def airship(): return parse_cookie\n"})
    opened(indexed).index()
    expected = [hits(answer) for answer in ask(indexed)]
    (folder / "manifest").write_bytes(old)
    found = ask(indexed)
    assert [hits(answer) for answer in found] == expected
    assert any("is missing; it was rebuilt" in note.reason for note in found[0].degraded) is merged
    opened(indexed).index()
    intact(indexed / ".lurcher")


def test_a_folder_that_lost_its_mark_is_still_known_by_what_it_holds(kept: Kept, expected: object) -> None:
    (kept.folder / "CACHEDIR.TAG").unlink()
    assert kept.ask() == (expected, [])
    intact(kept.folder)


@pytest.mark.parametrize("name", ["manifest", "notes.txt", "x.segment"])
def test_a_folder_of_someone_else_is_left_alone(root: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_text("precious")
    answer = opened(root, folder).search("parse_cookie")
    assert answer.hits
    assert "is not an index folder" in answer.degraded[0].reason
    assert folder_bytes(folder) == {name: b"precious"}


def test_symbols_survive_damage_too(indexed: Path) -> None:
    expected = opened(indexed).symbol("parse_cookie")
    for path in index_files(indexed)[1:]:
        data = bytearray(path.read_bytes())
        data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
        path.write_bytes(data)
    found = opened(indexed).symbol("parse_cookie")
    assert found.definitions == expected.definitions
    assert "rebuilt" in found.degraded[0].reason
    intact(indexed / ".lurcher")


def test_damage_met_while_merging_is_healed(indexed: Path) -> None:
    """Indexing a change may read old segments as a whole, to merge them."""
    for path in index_files(indexed)[1:]:
        data = bytearray(path.read_bytes())
        data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
        path.write_bytes(data)
    write(indexed, dict.fromkeys(("src/client.py", "src/cookies.py", "web/router.ts", "new.py"), "def biscuit(): pass\n"))
    status = opened(indexed).index()
    assert status["files"] == 6
    assert opened(indexed).search("biscuit").total == 4
    opened(indexed).search(QUESTIONS[0])
    intact(indexed / ".lurcher")


def test_a_file_in_place_of_the_parent_folder_means_answers_from_memory(root: Path, tmp_path: Path) -> None:
    said = [hits(answer) for answer in ask(root)]
    (tmp_path / "blocked").write_text("")
    engine = opened(root, tmp_path / "blocked" / "index")
    for attempt in range(2):
        found = ask(root, engine)
        assert [hits(answer) for answer in found] == [*said], attempt
        for answer in found:
            assert [note.stage for note in answer.degraded] == ["index"]
            assert "kept in memory only: Not a directory" in answer.degraded[0].reason
            assert "LURCHER_INDEX_DIR" in answer.degraded[0].hint
    write(root, {"later.py": "def zeppelin(): pass\n"})
    assert engine.search("zeppelin").hits[0].path == "later.py"
    (root / "later.py").unlink()
    assert [hits(answer) for answer in ask(root, engine)] == said


def test_a_file_in_place_of_the_folder_is_a_mistake(root: Path) -> None:
    (root / ".lurcher").write_text("")
    with pytest.raises(PathError, match="is a file"):
        opened(root)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_disk_that_is_full_means_answers_from_memory(
    kept: Kept, expected: object, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    for path in kept.folder.iterdir():
        path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, failing, fail_with(errno.ENOSPC))
        said, notes = kept.ask()
    assert said == expected
    assert notes and all("No space left on device" in note for note in notes)
    assert not list(kept.folder.glob("*.segment"))
    assert not list(kept.folder.glob(".*.tmp"))
    # Another engine, with space: everything is as it should be.
    assert kept.ask() == (expected, [])
    intact(kept.folder)


def fail_with(error: int) -> Callable[..., None]:
    def fail(*arguments: object) -> None:
        raise OSError(error, os.strerror(error))

    return fail


def test_a_disk_that_fills_up_later_leaves_the_last_good_generation(
    kept: Kept, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in kept.files()}
    kept.add()
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "replace", fail_with(errno.ENOSPC))
        _, notes = kept.ask()
    assert notes and all("in memory only" in note for note in notes)
    assert {path: path.read_bytes() for path in kept.files()} == before
    assert kept.ask()[1] == []
    kept.take_back()
    assert kept.ask() == (expected, [])


def test_damage_and_an_unwritable_folder_at_once_still_give_an_answer(
    kept: Kept, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in kept.files()[1:3]:
        data = bytearray(path.read_bytes())
        data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
        path.write_bytes(data)
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "replace", fail_with(errno.EROFS))
        said, notes = kept.ask()
    assert said == expected
    assert {"in memory only" in note for note in notes} == {True, False}


def test_leftovers_of_a_killed_writer_are_swept(kept: Kept) -> None:
    (kept.folder / ".abc.segment.999.tmp").write_bytes(b"half")
    (kept.folder / ("f" * 24 + ".segment")).write_bytes(b"nobody names this")
    kept.add()
    kept.index()
    kept.take_back()
    kept.index()
    intact(kept.folder)


def test_a_disk_that_has_room_again_is_used_again(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that met a full disk once does not stay in memory for ever."""
    engine = opened(indexed)
    now = [1000.0]
    monkeypatch.setattr("lurcher.storage.time", SimpleNamespace(monotonic=lambda: now[0]))
    pause = engine.projects[0].store._pause

    def full(step: str, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write(indexed, {"later.py": "def airship(): pass\n"})
    disk.observe_steps(full)
    try:
        answer = engine.search("airship")
        assert answer.hits[0].path == "later.py"
        assert any("No space left" in note.reason for note in answer.degraded)
        now[0] += pause
        assert any("No space left" in note.reason for note in engine.search("airship").degraded)
    finally:
        disk.observe_steps(None)
    now[0] += 1.5 * pause
    assert any("No space left" in note.reason for note in engine.search("airship").degraded)  # it waits longer now
    now[0] += pause
    answer = engine.search("airship")
    assert (answer.hits[0].path, answer.degraded) == ("later.py", ())
    assert opened(indexed).search("airship", check=False).hits[0].path == "later.py"
    intact(indexed / ".lurcher")


def test_a_segment_that_vanishes_under_an_open_engine_is_rebuilt(indexed: Path) -> None:
    """As when a tree that holds its own index is checked out at another commit."""
    engine = opened(indexed)
    engine.refresh()
    for path in (indexed / ".lurcher").glob("*.segment"):
        path.unlink()
    write(indexed, {"later.py": "def airship(): pass\n"})
    engine.index()
    answer = engine.search("airship", check=False)
    assert answer.hits[0].path == "later.py"
    assert engine.search("parse_cookie").hits[0].path == "src/cookies.py"
    intact(indexed / ".lurcher")
