"""The index follows the tree: whatever happens to a file, the next question knows."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.indexing import writer
from lurcher.indexing.freshness import COARSE_NS, FINE_NS, compare_listing, racy
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.inspection import status_of
from lurcher.sources import Entry, Listing
from lurcher.storage.manifest import FileRow, Manifest, make_fingerprint
from tests.indexing.conftest import QUESTIONS, TREE, answers, opened, write


def found(engine: Engine, question: str) -> list[str]:
    return [hit.path for hit in engine.search(question).hits]


def generation(engine: Engine) -> int:
    return engine.search("anything at all").index.generation


def settle(root: Path) -> None:
    """Make every file look old, so that time stamps are believed."""
    for path in root.rglob("*"):
        if path.is_file() and ".lurcher" not in path.parts:
            os.utime(path, ns=(10**18, 10**18 + 1))
    age()


def age() -> None:
    """Let time stamps become old enough to be believed."""
    time.sleep(1.2 * FINE_NS / 1e9)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are parsed from here on."""
    seen: list[str] = []
    original = writer.build_segment

    def build(inputs: list[tuple[str, bytes]], *others: Any) -> object:
        seen.extend(path for path, _ in inputs)
        return original(inputs, *others)

    monkeypatch.setattr(writer, "build_segment", build)
    return seen


@pytest.fixture(params=["one engine", "a new engine each time"])
def ask(request: pytest.FixtureRequest, root: Path) -> Callable[[], Engine]:
    engine = opened(root)
    engine.refresh()
    return (lambda: engine) if request.param == "one engine" else (lambda: opened(root))


def test_a_new_file_is_found(root: Path, ask: Callable[[], Engine]) -> None:
    assert found(ask(), "zeppelin") == []
    write(root, {"air/ship.py": "def zeppelin():\n    pass\n"})
    assert found(ask(), "zeppelin") == ["air/ship.py"]


def test_a_change_is_found_and_the_old_text_is_not(root: Path, ask: Callable[[], Engine]) -> None:
    assert found(ask(), "parse_cookie")[0] == "src/cookies.py"
    write(root, {"src/cookies.py": "def read_biscuit(header):\n    return header\n"})
    assert found(ask(), "read_biscuit")[0] == "src/cookies.py"
    assert all("parse_cookie" not in hit.text for hit in ask().search("parse_cookie").hits)


def test_a_renamed_file_is_found_under_its_new_name(root: Path, ask: Callable[[], Engine]) -> None:
    (root / "server/pool.go").rename(root / "server/reservoir.go")
    assert found(ask(), "Pool.Acquire") == ["server/reservoir.go"]


def test_a_renamed_folder_takes_its_files_along(root: Path, ask: Callable[[], Engine]) -> None:
    (root / "src").rename(root / "lib")
    assert {path.split("/")[0] for path in found(ask(), "follow_redirects parse_cookie")} == {"lib", "docs"}


def test_a_deleted_file_is_not_found(root: Path, ask: Callable[[], Engine]) -> None:
    (root / "server/pool.go").unlink()
    assert "server/pool.go" not in found(ask(), "Pool Acquire")


def test_an_emptied_tree_answers_with_nothing(root: Path, ask: Callable[[], Engine]) -> None:
    for path in [path for path in root.rglob("*") if path.is_file() and ".lurcher" not in path.parts]:
        path.unlink()
    answer = ask().search("redirects")
    assert answer.hits == ()
    assert answer.degraded == ()


def test_a_file_that_becomes_binary_is_left_out_in_a_new_generation(root: Path, ask: Callable[[], Engine]) -> None:
    before = generation(ask())
    (root / "server/pool.go").write_bytes(b"\0\1\2Pool Acquire")
    assert "server/pool.go" not in found(ask(), "Pool Acquire")
    assert generation(ask()) == before + 1
    write(root, {"server/pool.go": "package server\n\nfunc Acquire() {}\n"})
    assert found(ask(), "Acquire") == ["server/pool.go"]


def test_a_file_turns_into_a_folder_and_back(root: Path, ask: Callable[[], Engine]) -> None:
    (root / "docs/guide.md").unlink()
    write(root, {"docs/guide.md/part.md": "# Zeppelins\n"})
    assert found(ask(), "zeppelins") == ["docs/guide.md/part.md"]
    (root / "docs/guide.md/part.md").unlink()
    (root / "docs/guide.md").rmdir()
    write(root, {"docs/guide.md": "# Airships\n"})
    assert found(ask(), "airships") == ["docs/guide.md"]
    assert found(ask(), "zeppelins") == []


def test_a_mode_change_or_a_touch_costs_no_parsing_and_no_generation(root: Path, parsed: list[str]) -> None:
    settle(root)
    engine = opened(root)
    before = generation(engine)
    assert parsed == sorted(TREE)
    parsed.clear()
    (root / "src/client.py").chmod(0o755)
    os.utime(root / "src/cookies.py", ns=(10**18, 10**18 + 5_000_000_001))
    age()
    for current in (engine, opened(root)):
        answer = current.search("redirects")
        assert answer.index.generation == before
        assert (answer.index.fresh, answer.index.stale_paths) == (True, 0)
    assert parsed == []
    assert compare_listing(_manifest(opened(root)), _listing(opened(root))).suspects == ()


def test_only_what_changed_is_parsed(root: Path, parsed: list[str]) -> None:
    engine = opened(root)
    engine.refresh()
    parsed.clear()
    write(root, {"src/client.py": "class Client: pass\n", "new.py": "x = 1\n"})
    (root / "web/router.ts").unlink()
    engine.refresh()
    assert parsed == ["new.py", "src/client.py"]


def test_a_second_query_writes_nothing(root: Path) -> None:
    settle(root)
    engine = opened(root)
    answers(engine)
    age()
    answers(engine)
    before = {path: path.stat().st_mtime_ns for path in (root / ".lurcher").iterdir()}
    answers(engine)
    answers(opened(root))
    assert {path: path.stat().st_mtime_ns for path in (root / ".lurcher").iterdir()} == before


def test_an_edit_that_changes_no_time_stamp_is_noticed_while_the_file_is_young(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of a file system is coarse: two writes may get one time stamp."""
    monkeypatch.setattr("lurcher.indexing.freshness.FINE_NS", 3600 * 10**9)  # young for as long as the test takes
    path = root / "young.py"
    path.write_text("zeppelin = 1\n")
    engine = opened(root)
    before = {entry.path: entry for entry in _listing(engine).entries}
    assert found(engine, "zeppelin") == ["young.py"]
    path.write_text("airships = 1\n")
    original = RootIndex.list_files

    def as_before(project: RootIndex) -> Listing:
        listing = original(project)
        return Listing([before[entry.path] for entry in listing.entries], listing.skipped, listing.method)

    monkeypatch.setattr(RootIndex, "list_files", as_before)
    for current in (engine, opened(root)):
        assert found(current, "airships") == ["young.py"]
        assert found(current, "zeppelin") == []


def test_a_file_stays_suspect_until_it_was_read_some_time_after_its_last_change() -> None:
    now = 1_700_000_000_123_456_789
    row = _row(ctime_ns=now)
    entry = Entry("a", row.size, row.mtime_ns, row.ctime_ns, row.inode)
    for checked, suspects in ((now, (entry,)), (now + FINE_NS, (entry,)), (now + FINE_NS + 1, ())):
        manifest = Manifest(1, make_fingerprint(1500, "none"), (), {"a": row}, {}, checked)
        assert compare_listing(manifest, Listing([entry])).suspects == suspects


def test_which_time_stamps_are_believed() -> None:
    now, old = 1_700_000_000_123_456_789, 1_000_000_001
    for stamps in ((now, old), (old, now)):  # modification and change time, the one or the other young
        assert racy(*stamps, now)
        assert racy(*stamps, now - 5)
        assert racy(*stamps, now + FINE_NS)
        assert not racy(*stamps, now + FINE_NS + 1)
    whole = now // 10**9 * 10**9  # a file system that keeps whole seconds
    for stamps in ((whole, old), (old, whole)):
        assert racy(*stamps, whole + COARSE_NS)
        assert not racy(*stamps, whole + COARSE_NS + 1)
    assert not racy(now + 10**12, old, now)  # somebody set it; a change would end that
    assert racy(old, now + 10**12, now)


def _row(**changes: int) -> FileRow:
    return FileRow(b"d" * 16, 10, 1_000_000_001, 2_000, 77, 0, 0)._replace(**changes)


@pytest.mark.parametrize("column", ["size", "mtime_ns", "ctime_ns", "inode"])
def test_any_difference_makes_a_suspect(column: str) -> None:
    row = _row()
    manifest = Manifest(1, make_fingerprint(1500, "none"), (), {"a": row, "b": row}, {}, 10**19)
    same = Entry("a", row.size, row.mtime_ns, row.ctime_ns, row.inode)
    other = same._replace(path="b", **{column: getattr(same, column) + 1})
    assert compare_listing(manifest, Listing([same, other])).suspects == (other,)


def test_new_and_gone_files_are_distinguished() -> None:
    row = _row()
    manifest = Manifest(1, make_fingerprint(1500, "none"), (), {"a": row, "b": row}, {}, 10**19)
    new = Entry("c", 1, 1, 1, 1)
    changes = compare_listing(manifest, Listing([Entry("a", row.size, row.mtime_ns, row.ctime_ns, row.inode), new]))
    assert (changes.suspects, changes.gone, len(changes)) == ((new,), ("b",), 2)
    assert not compare_listing(Manifest(1, {}, (), {}, {}, 0), Listing([]))


def _manifest(engine: Engine) -> Manifest:
    return engine.projects[0].view(lambda *_: None).manifest


def _listing(engine: Engine) -> Listing:
    return engine.projects[0].list_files()


def test_the_number_of_segments_stays_bounded(root: Path) -> None:
    chance = random.Random(7)
    engine = opened(root)
    names = [f"pkg/m{i}.py" for i in range(12)]
    write(root, {name: f"def {name[4:-3]}(): return 0\n" for name in names})
    for step in range(60):
        write(root, {chance.choice(names): f"def step_{step}(): return {chance.random()}\n"})
        view = engine.projects[0].view(lambda *_: None)
        on_disk = {path.name for path in (root / ".lurcher").glob("*.segment")}
        assert on_disk == set(view.manifest.segments)
        assert len(on_disk) <= writer.MAX_SEGMENTS
        live = sum(row.segment >= 0 for row in view.manifest.rows.values())
        assert view.snapshot.file_total <= (1 + writer.MAX_DEAD_SHARE) * live
        assert view.snapshot.file_count == live == len(names) + 5
    assert found(engine, "step_59")


def test_more_changes_than_allowed_are_reported_instead_of_indexed(root: Path) -> None:
    opened(root).refresh()
    write(root, {f"many/{i}.py": f"zeppelin_{i} = 1\n" for i in range(4)})
    answer = opened(root, refresh_limit=3).search("zeppelin_1")
    assert (answer.index.fresh, answer.index.stale_paths) == (False, 4)
    assert [note.stage for note in answer.degraded][-1:] == ["freshness"]
    assert opened(root, refresh_limit=4).search("zeppelin_1").hits[0].path == "many/1.py"


def test_without_a_refresh_the_last_generation_answers(root: Path) -> None:
    engine = opened(root)
    engine.refresh()
    (root / "server/pool.go").unlink()
    stale = engine.search("Pool.Acquire", refresh=False)
    assert [hit.path for hit in stale.hits] == ["server/pool.go"]
    assert stale.index.stale_paths == 1
    assert engine.search("Pool.Acquire").hits == ()


def test_another_configuration_rebuilds_and_says_so(root: Path) -> None:
    opened(root).refresh()
    answer = opened(root, chunk_chars=400).search("redirects")
    assert any("chunk_chars 1500 (now 400); it was rebuilt" in note.reason for note in answer.degraded)
    assert opened(root, chunk_chars=400).search("redirects").degraded == ()


def test_a_rebuild_continues_the_generations_and_gives_the_same_answers(root: Path) -> None:
    engine = opened(root)
    said = answers(engine)
    before = generation(engine)
    engine.index(rebuild=True)
    assert generation(engine) == before + 1
    assert answers(engine) == said
    assert len(list((root / ".lurcher").glob("*.segment"))) == 1


def test_clearing_removes_the_index_and_the_next_question_makes_one(root: Path) -> None:
    engine = opened(root)
    said = answers(engine)
    assert engine.clear() is True
    assert engine.clear() is False
    assert not list((root / ".lurcher").glob("*.segment"))
    assert answers(engine) == said


def test_one_engine_sees_what_another_wrote(root: Path) -> None:
    one, other = opened(root), opened(root)
    assert answers(one) == answers(other)
    write(root, {"src/cookies.py": "def read_biscuit(): pass\n"})
    assert found(other, "read_biscuit") == ["src/cookies.py"]
    before = generation(other)
    assert found(one, "read_biscuit") == ["src/cookies.py"]
    assert generation(one) == before


def test_a_reader_outlives_the_segments_that_it_reads(root: Path) -> None:
    engine = opened(root)
    old = engine.projects[0].view(lambda *_: None).snapshot
    texts = [old.file_text(i) for i in range(old.file_total)]
    opened(root).index(rebuild=True)
    write(root, {"src/client.py": "x = 1\n"})
    opened(root).index(rebuild=True)
    assert [old.file_text(i) for i in range(old.file_total)] == texts


def test_the_index_is_ignored_by_git(root: Path) -> None:
    opened(root).refresh()
    assert (root / ".lurcher/.gitignore").read_text() == "*\n"


def test_nothing_is_written_through_links_that_came_with_the_tree(root: Path, tmp_path: Path) -> None:
    (root / ".lurcher").mkdir()
    for name in (".gitignore", "lock"):
        (root / ".lurcher" / name).symlink_to(tmp_path / f"outside-{name}")
    answer = opened(root).search(QUESTIONS[0])
    assert answer.hits
    assert not list(tmp_path.glob("outside-*"))


def test_the_status_counts_what_is_live(root: Path) -> None:
    engine = opened(root)
    assert status_of(engine.projects[0])["exists"] is False
    engine.refresh()
    write(root, {"src/client.py": "class Client: pass\n"})
    (root / "docs/guide.md").unlink()
    engine.refresh()
    status = engine.status()
    assert (status["files"], status["definitions"] > 3, status["fresh"]) == (4, True, True)
    assert status["languages"] == {"python": 2, "go": 1, "typescript": 1}
    assert status["bytes"] == sum(path.stat().st_size for path in (root / ".lurcher").glob("*.segment"))


def test_one_folder_can_hold_the_indexes_of_many_roots(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "elsewhere" / "tree"
    write(other, {"a.py": "def zeppelin(): pass\n"})
    monkeypatch.setenv("LURCHER_INDEX_DIR", str(tmp_path / "indexes"))
    assert found(opened(root), "zeppelin") == []
    assert found(opened(other), "zeppelin") == ["a.py"]
    assert found(opened(root), "parse_cookie")[0] == "src/cookies.py"
    folders = sorted(path.name for path in (tmp_path / "indexes").iterdir())
    assert len(folders) == 2
    assert all(name.startswith("tree-") for name in folders)
    assert not (root / ".lurcher").exists()


def test_a_project_can_say_where_its_index_lies(root: Path) -> None:
    (root / "lurcher.toml").write_text('[index]\ndir = "build/.lurcher-index"\n')
    opened(root).refresh()
    assert (root / "build/.lurcher-index/manifest").exists()
    assert not (root / ".lurcher").exists()


def test_an_index_inside_of_the_tree_does_not_index_itself(root: Path) -> None:
    engine = opened(root, root / "own")
    for _ in range(3):
        engine.refresh()
        engine = opened(root, root / "own")
    assert not any(path.startswith("own/") for path in _manifest(engine).rows)
    assert generation(engine) == 1


def test_a_tree_that_is_removed_while_it_is_read_stays_removed(root: Path) -> None:
    engine = opened(root)
    engine.refresh()
    project = engine.projects[0]
    listing = project.list_files()
    shutil.rmtree(root)
    project.list_files = lambda: listing  # type: ignore[method-assign]
    with contextlib.suppress(LurcherError):
        engine.search("parse_cookie")
    assert not root.exists()


def test_the_first_file_of_an_empty_tree_is_found(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    for _ in range(2):
        with opened(root) as engine:
            assert found(engine, "where does it begin") == []
    write(root, {"begin.py": "def begin():\n    return 1\n"})
    with opened(root) as engine:
        assert found(engine, "where does it begin") == ["begin.py"]


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", ".gitignore"])
def test_a_mark_that_a_crash_left_empty_is_rewritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.py").write_text("def one():\n    pass\n")
    with Engine.open(tmp_path, root=tmp_path) as engine:
        engine.index()
    mark = tmp_path / ".lurcher" / name
    whole = mark.read_bytes()
    mark.write_bytes(b"")
    (tmp_path / "b.py").write_text("def two():\n    pass\n")
    with Engine.open(tmp_path, root=tmp_path) as engine:
        engine.index()
        assert engine.symbol("two")
    assert mark.read_bytes() == whole
