"""A damaged index costs a rebuild and a line that says so, never an answer."""

from __future__ import annotations

import errno
import itertools
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.corpora.history import schema
from lurcher.engine import Engine
from lurcher.errors import CorruptIndex, PathError
from lurcher.indexing import writer
from lurcher.storage import disk, manifest
from lurcher.storage.container import Container
from lurcher.storage.segment import FORMAT
from lurcher.types import Answer
from tests.indexing.conftest import QUESTIONS, answers, in_two_segments, index_files, opened, write
from tests.indexing.faults import folder_bytes, restore
from tests.storage.kinds import KEPT, Kept


def intact(folder: Path) -> None:
    """Every byte of an index on disk is as it should be."""
    names = sorted(path.name for path in folder.iterdir())
    own = [".gitignore", "CACHEDIR.TAG", "lock", "manifest"]
    assert names == sorted([*own, *(name for name in names if name.endswith((".segment", ".outcomes")))])
    for name in names:
        if name not in (".gitignore", "CACHEDIR.TAG", "lock"):
            Container.open(folder / name).verify()


@pytest.fixture(params=sorted(KEPT))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """An index of each schema, of two segments."""
    return KEPT[request.param](tmp_path)


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
def test_a_file_that_is_broken_as_a_whole_is_rebuilt(kept: Kept, number: int, how: str) -> None:
    expected, notes = kept.ask()
    assert notes == []
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
    called = {"files": "index", "commits": "history index"}[kind]
    assert notes == [f"the {called} was made with format {FORMAT - 1} (now {FORMAT}); it was rebuilt"]
    assert kept.ask() == (said, [])


CUTS = (0, 1, 7, 8, 9, 100)
FLIPS = 30


def damaged(files: dict[str, bytes]) -> Iterator[tuple[str, str, dict[str, bytes]]]:
    """Each file of an index cut at many lengths, with a bit flipped at many places, with more at its end, and gone."""
    for name, data in files.items():
        size = len(data)
        lengths = {*CUTS, size // 4, size // 2, 3 * size // 4, size - 33, size - 24, size - 9, size - 1}
        for length in sorted(length for length in lengths if 0 <= length < size):
            yield name, "cut", {**files, name: data[:length]}
        ends = (0, 4, size - 1, size - 5, size - 12, size - 16, size - 24, size - 40)
        for position in sorted({*ends, *range(0, size, max(size // FLIPS, 1))} if size else ()):
            if 0 <= position < size:
                yield name, "flipped", {**files, name: flipped(data, position)}
        yield name, "grown", {**files, name: data + b"\0"}
        yield name, "gone", {other: kept for other, kept in files.items() if other != name}


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ (1 << position % 8)]) + data[position + 1 :]


def test_no_damage_to_any_file_goes_unseen_or_changes_an_answer(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = indexed / ".lurcher"
    questions = ("parse_cookie", "how are redirects followed")
    expected = [hits(opened(indexed).search(question)) for question in questions]
    files = folder_bytes(folder)
    containers = {path.name for path in index_files(indexed)}
    tally: Counter[str] = Counter()
    for name, how, broken in damaged(files):
        restore(folder, broken)
        tally["tried"] += 1
        engine = opened(indexed)
        found = [engine.search(question) for question in questions]
        assert [hits(answer) for answer in found] == expected, (name, how)
        notes = [note.reason for answer in found for note in answer.degraded]
        if notes:
            tally["named by a search"] += 1
            assert [note for note in notes if name not in note or "it was rebuilt" not in note] == [], (name, how)
        elif name not in containers:
            tally["of no consequence"] += 1  # nothing is believed that stands in a lock, a mark or a .gitignore
        elif how == "gone":
            tally["made anew"] += 1
            assert name == "manifest"
        elif (folder / name).read_bytes() != broken[name]:
            tally["written anew"] += 1  # where nobody reads, until the next manifest took its place
            assert name == "manifest"
            intact(indexed / ".lurcher")
        else:
            # A search believes only what it has checked; what it did not read is found by whoever checks everything.
            tally["named by a check of everything"] += 1
            with pytest.raises(CorruptIndex, match=name):
                Container.open(folder / name).verify()
            engine.index(rebuild=True)
        write(indexed, {"x.py": ""})
        engine.index()  # whatever is missing is put back as soon as anything is written
        (indexed / "x.py").unlink()
        engine.index()
        intact(indexed / ".lurcher")
        assert opened(indexed).search(questions[0]).degraded == ()
    with capsys.disabled():
        print(f"\ndamage: {', '.join(f'{count} {what}' for what, count in tally.items())}, 0 unseen")
    assert tally["named by a search"] > 60


def test_a_segment_under_the_name_of_another_is_seen(indexed: Path) -> None:
    """Both are sound, and each would show what the other has of the living and the dead."""
    write(indexed, {"src/client.py": "def follow_redirects_again(): pass\n"})
    opened(indexed).index()
    expected = [hits(answer) for answer in ask(indexed)]
    files = folder_bytes(indexed / ".lurcher")
    segments = [path.name for path in index_files(indexed)[1:]]
    assert len(segments) == 3
    for one, other in itertools.permutations(segments, 2):
        restore(indexed / ".lurcher", {**files, one: files[other], other: files[one]})
        found = ask(indexed)
        assert [hits(answer) for answer in found] == expected
        assert any("it was rebuilt" in note.reason for note in found[0].degraded)
        assert one in found[0].degraded[0].reason or other in found[0].degraded[0].reason
        opened(indexed).index()
        intact(indexed / ".lurcher")


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


def test_a_folder_that_lost_its_mark_is_still_known_by_what_it_holds(indexed: Path) -> None:
    expected = [hits(answer) for answer in ask(indexed)]
    (indexed / ".lurcher/CACHEDIR.TAG").unlink()
    found = ask(indexed)
    assert [hits(answer) for answer in found] == expected
    assert found[0].degraded == ()
    intact(indexed / ".lurcher")


@pytest.mark.parametrize("name", ["manifest", "notes.txt", "x.segment"])
def test_a_folder_of_someone_else_is_left_alone(root: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_text("precious")
    answer = opened(root, folder).search("parse_cookie")
    assert answer.hits
    assert "is not an index folder" in answer.degraded[0].reason
    assert folder_bytes(folder) == {name: b"precious"}


def test_a_byte_flipped_under_an_open_engine_is_noticed(indexed: Path) -> None:
    """Blocks are checked on first touch, so damage may be met in the middle of a search."""
    expected = [hits(answer) for answer in ask(indexed)]
    for path in index_files(indexed)[1:]:
        data = bytearray(path.read_bytes())
        for position in range(16, len(data) // 2):
            data[position] ^= 1
        path.write_bytes(data)
    engine = opened(indexed)
    found = ask(indexed, engine)
    assert [hits(answer) for answer in found] == expected
    assert any("checksum; it was rebuilt" in note.reason for note in found[0].degraded)
    intact(indexed / ".lurcher")


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
def test_a_disk_that_is_full_means_answers_from_memory(root: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    said = [hits(answer) for answer in ask(root)]
    opened(root).clear()
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, failing, fail)
        engine = opened(root)
        found = ask(root, engine)
    assert [hits(answer) for answer in found] == said
    assert all("No space left on device" in answer.degraded[0].reason for answer in found)
    assert not list((root / ".lurcher").glob("*.segment"))
    assert not list((root / ".lurcher").glob(".*.tmp"))
    # Another engine, with space: everything is as it should be.
    assert all(answer.degraded == () for answer in ask(root))
    intact(root / ".lurcher")


def test_a_disk_that_fills_up_later_keeps_the_last_good_generation(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {path: path.read_bytes() for path in index_files(indexed)}
    write(indexed, {"later.py": "def airship(): pass\n"})
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "replace", fail)
        answer = opened(indexed).search("airship")
    assert answer.hits[0].path == "later.py"
    assert "in memory only" in answer.degraded[0].reason
    assert {path: path.read_bytes() for path in index_files(indexed)} == before
    assert opened(indexed).search("airship").degraded == ()


def test_damage_and_an_unwritable_folder_at_once_still_give_an_answer(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    expected = [hits(answer) for answer in ask(indexed)]
    for path in index_files(indexed)[1:]:
        data = bytearray(path.read_bytes())
        data[16 : len(data) // 2] = bytes(len(data) // 2 - 16)
        path.write_bytes(data)
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "replace", fail)
        found = ask(indexed)
    assert [hits(answer) for answer in found] == expected
    assert {"in memory only" in note.reason for note in found[0].degraded} == {True, False}


def test_leftovers_of_a_killed_writer_are_swept(indexed: Path) -> None:
    folder = indexed / ".lurcher"
    (folder / ".abc.segment.999.tmp").write_bytes(b"half")
    (folder / ("f" * 24 + ".segment")).write_bytes(b"nobody names this")
    write(indexed, {"later.py": "x = 1\n"})
    answers(opened(indexed))
    intact(indexed / ".lurcher")


def test_a_disk_that_has_room_again_is_used_again(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that met a full disk once does not stay in memory for ever."""
    engine = opened(indexed)
    store = engine.projects[0].store
    store._pause = 0.05

    def full(step: str, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write(indexed, {"later.py": "def airship(): pass\n"})
    disk.observe_steps(full)
    try:
        answer = engine.search("airship")
        assert answer.hits[0].path == "later.py"
        assert any("No space left" in note.reason for note in answer.degraded)
        time.sleep(0.06)
        assert any("No space left" in note.reason for note in engine.search("airship").degraded)
    finally:
        disk.observe_steps(None)
    assert any("No space left" in note.reason for note in engine.search("airship").degraded)  # it waits longer now
    time.sleep(0.12)
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
