"""An engine that lives long answers at once, says what its answer is from, and does the rest in the background."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lurcher.errors import IndexBuilding, LurcherError
from lurcher.server.session import Session
from lurcher.server.unindexed import list_tracked
from lurcher.storage.disk import find_holder
from tests.conftest import environment, git
from tests.indexing.conftest import write

LONG = 60.0


def _large(folder: Path, files: int = 120) -> Path:
    """A tree whose index takes a few seconds."""
    step = "def step_{}(request):\n    '''Counts the redirects of a request.'''\n    return request.n\n\n\n"
    body = "".join(step.format(i) for i in range(100))
    write(folder, {f"pkg{i % 20}/module_{i}.py": f'"""Module {i}."""\nNUMBER = {i}\n\n\n{body}' for i in range(files)})
    write(folder, {"needle.py": "def find_the_needle(haystack):\n    return haystack.index('needle')\n"})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _large(tmp_path_factory.mktemp("large"))


def _ready(served: Session) -> None:
    assert served.ready(LONG)


def test_a_small_tree_is_answered_in_full_at_once(root: Path) -> None:
    with Session.open(root) as served:
        answer = served.search("how are redirects followed", patience=LONG)
        assert answer.hits[0].path == "src/client.py"
        assert answer.index.fresh


def test_an_index_that_cannot_be_written_is_built_once_in_memory(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "taken", {"somebody's.txt": "not an index"})
    with Session.open(root, index_dir=tmp_path / "taken") as served:
        assert served.ready(LONG)
        answer = served.search("how are redirects followed", patience=LONG)
        assert answer.hits[0].path == "src/client.py"
        assert any("kept in memory only" in note.reason for note in answer.degraded)
        deadline = time.monotonic() + LONG
        while served.building is not None:  # it can be asked a moment before it has told how it ended
            assert time.monotonic() < deadline
            time.sleep(0.05)
        write(root, {"src/new.py": "def find_the_zebra():\n    pass\n"})
        deadline = time.monotonic() + LONG
        while served.search("find_the_zebra", patience=LONG).hits[0].path != "src/new.py":
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["somebody's.txt"]


def test_a_cold_tree_answers_before_it_is_indexed_and_says_so(large: Path, tmp_path: Path) -> None:
    with Session.open(large, index_dir=tmp_path / "index") as served:
        answer = served.search("find the needle", patience=1.2)
        assert answer.hits[0].path == "needle.py"
        assert not answer.index.fresh
        assert answer.index.coverage["code"] < 1
        note = next(note for note in answer.degraded if note.stage == "index")
        assert "index" in note.reason and "scanned" in note.reason
        _ready(served)
        whole = served.search("find the needle")
        assert whole.hits[0].path == "needle.py"
        assert whole.index.fresh and not whole.degraded


def test_a_sample_of_files_does_not_make_a_tree_a_folder_of_notes(large: Path, tmp_path: Path) -> None:
    write(large, {"docs/needle.md": "# Find the needle\n\nFind the needle in the haystack: find the needle.\n"})
    with Session.open(large, index_dir=tmp_path / "index") as served:
        assert served.search("find the needle", patience=1.2).sources == ("code",)


def test_what_git_tracks_is_known_at_once_but_not_through_a_link(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"secret.py": "zebra = 1\n"})
    write(root, {"linked/secret.py": "zebra = 2\n", "ignored.py": "zebra = 3\n", ".gitignore": "ignored.py\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    project = Session.open(root).engine.projects[0]
    entries = list_tracked(project, 10.0)
    assert entries is not None
    assert "linked/secret.py" in [entry.path for entry in entries]
    assert "ignored.py" not in [entry.path for entry in entries]
    shutil.rmtree(root / "linked")
    (root / "linked").symlink_to(outside)
    assert "linked/secret.py" not in [entry.path for entry in list_tracked(project, 10.0) or ()]
    write(root, {"docs/.lurcherignore": "*.md\n"})
    git(root, "add", "-A")
    assert list_tracked(project, 10.0) is None  # more than git decides here


def test_a_walk_in_steps_finds_what_a_listing_does_named_folders_first(root: Path) -> None:
    write(root, {"a/b/zebra/stripes.py": "one = 1\n", "a/left_out/two.py": "two = 2\n"})
    write(root, {".gitignore": "left_out/\n*.log\n", "a/x.log": "x\n"})
    write(root, {f"a/more{i}/m.py": "three = 3\n" for i in range(50)})
    project = Session.open(root).engine.projects[0]
    hurried = project.begin_walk()
    hurried.go_on(["zebra"], 0.0)  # no time at all
    assert not hurried.done and hurried.entries == []
    orders = iter([0.0] * 4 + [2.0])  # the root, a, a/b and the folder with the name, of all that are left
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lurcher.sources.listing.time.monotonic", lambda: next(orders))
        hurried.go_on(["zebra", "a/b"], 1.0)
    assert "a/b/zebra/stripes.py" in [entry.path for entry in hurried.entries]
    assert not hurried.done
    hurried.go_on(["other words"], time.monotonic() + LONG)
    assert hurried.done
    assert hurried.entries == project.list_files().entries


def test_a_tree_that_is_not_listed_in_time_has_hits_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    write(tree, {f"pkg{i}/inner/module.py": "def zebra():\n    return 1\n" for i in range(300)})
    write(tree, {"needles/inner/needle.py": "def find_the_needle(haystack):\n    return haystack.index('needle')\n"})
    entered: list[str] = []
    from lurcher.sources.listing import _Walk

    enter = _Walk._folder

    def slowly(self: _Walk, folder: str, *rest: Any) -> None:
        entered.append(folder)
        time.sleep(0.02)
        enter(self, folder, *rest)

    monkeypatch.setattr(_Walk, "_folder", slowly)
    with Session.open(tree, index_dir=tmp_path / "index") as served:
        built_before: list[int] = []
        build = served.build
        monkeypatch.setattr(served, "build", lambda **what: built_before.append(len(entered)) or build(**what))
        answer = served.search("find_the_needle_in_a_zebra", patience=1.0)
        assert answer.hits[0].path == "needles/inner/needle.py"
        assert len(entered) < 300
        assert built_before == [len(entered)]  # not before the answer
        assert not answer.index.fresh and not answer.unknown_words
        assert "listed in time" in " ".join(note.reason for note in answer.degraded)
        assert not any("nothing is named" in note.reason for note in answer.degraded)


def test_exact_text_is_found_in_a_cold_tree(large: Path, tmp_path: Path) -> None:
    with Session.open(large, index_dir=tmp_path / "index") as served:
        answer = served.search(r"haystack\.index", mode="literal", patience=2.0)
        assert [hit.path for hit in answer.hits] == ["needle.py"]


def test_what_needs_the_whole_index_says_that_it_is_being_made(large: Path, tmp_path: Path) -> None:
    with Session.open(large, index_dir=tmp_path / "index") as served:
        with pytest.raises(IndexBuilding) as caught, served.full_index(0.1):
            pass
        assert "being built" in caught.value.message
        assert "try again" in caught.value.hint
        _ready(served)
        with served.full_index(0.0) as engine:
            assert engine.outline("needle.py").total == 1


def test_a_question_about_history_waits_for_no_index(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Follow redirects")
    with Session.open(root) as served:
        with pytest.raises(IndexBuilding), served.with_history(0.0):
            pass
        with served.with_history(LONG) as engine:
            assert engine.history("redirects").hits[0].commit.subject == "Follow redirects"  # type: ignore[index]


def test_a_build_that_is_cancelled_ends_and_leaves_the_lock(large: Path, tmp_path: Path) -> None:
    with Session.open(large, index_dir=tmp_path / "index") as served:
        build = served.build()
        assert build is not None
        deadline = time.monotonic() + LONG
        while not build.total and time.monotonic() < deadline:
            time.sleep(0.01)
        build.cancel()
        assert build.ended and build.cancelled
        assert find_holder(served.engine.projects[0].store.folder) is None
        with pytest.raises(LurcherError, match="cancelled"):
            build.check()


def test_a_builder_ends_with_the_process_that_ordered_it(large: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom lurcher.server.session import Session\n"
        "served = Session.open(sys.argv[1], index_dir=sys.argv[2])\n"
        "build = served.build()\nprint(build._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(large), str(tmp_path / "index")], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(120)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and _alive(pid):
        time.sleep(0.05)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_many_changes_are_reported_and_indexed_in_the_background(root: Path) -> None:
    with Session.open(root, {"index.refresh_limit": 2}) as served:
        _ready(served)
        write(root, {f"more/m{i}.py": f"zebra_{i} = 1\n" for i in range(10)})
        answer = served.search("zebra_3")
        assert not answer.index.fresh and answer.index.stale_paths == 10
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline and not served.search("zebra_3").index.fresh:
            time.sleep(0.1)
        assert served.search("zebra_3").hits[0].path == "more/m3.py"


def test_settings_that_change_are_read_again(root: Path) -> None:
    with Session.open(root) as served:
        _ready(served)
        assert served.engine.settings.search.limit == 10
        (root / "lurcher.toml").write_text("[search]\nlimit = 1\n")
        assert served.engine.settings.search.limit == 1
        assert len(served.search("redirects").hits) == 1
        (root / "lurcher.toml").write_text("[search\n")  # half written: the settings stay
        assert served.engine.settings.search.limit == 1


def test_a_closed_one_builds_nothing_more(root: Path) -> None:
    served = Session.open(root)
    served.close()
    assert served.build() is None
