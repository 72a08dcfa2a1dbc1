"""Which events lead to a look at the tree, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.indexing.watcher import Burst, WatchIntervals

PACE = WatchIntervals(quiet=0.2, latest=3, slow=4, slowest=30)
KNOWN = {"src/a.py": 1, "src/deep/b.py": 1, "readme.md": 1}


@pytest.fixture
def burst(tmp_path: Path) -> Burst:
    found = Burst(tmp_path, tmp_path / ".lurcher", PACE)
    found.set_files(KNOWN)
    return found


def note(burst: Burst, root: Path, *paths: str, now: float = 100.0) -> float | None:
    burst.add_events([str(root / path) for path in paths], now)
    return burst.due


@pytest.mark.parametrize(
    "path",
    ["src/a.py", "src/new.py", "new.py", "fresh/deep/new.py", ".gitignore", "src/.lurcherignore", ".git/index", ".git/HEAD"],
)
def test_events_that_may_change_the_index_are_due_after_a_moment(burst: Burst, tmp_path: Path, path: str) -> None:
    assert note(burst, tmp_path, path) == pytest.approx(100.2)


@pytest.mark.parametrize(
    "path",
    [
        ".git/objects/ab/cdef", ".git/index.lock", ".git/refs/heads/main", "sub/.git/index", ".lurcher/manifest",
        ".lurcher/x.segment", "node_modules/left/pad.js", "src/__pycache__/a.pyc", "../elsewhere/a.py",
    ],
)  # fmt: skip
def test_events_that_cannot_change_the_index_are_not_due(burst: Burst, tmp_path: Path, path: str) -> None:
    burst.add_events([f"{tmp_path}/{path}" if not path.startswith("..") else str(tmp_path.parent / "elsewhere/a.py")], 100.0)
    assert burst.due is None


def test_a_burst_of_events_leads_to_one_check_after_it_ends(burst: Burst, tmp_path: Path) -> None:
    assert note(burst, tmp_path, "src/a.py", now=100.0) == pytest.approx(100.2)
    assert note(burst, tmp_path, "src/a.py", "src/c.py", now=100.15) == pytest.approx(100.35)
    burst.mark_checked(KNOWN)
    assert burst.due is None


def test_endless_writing_does_not_put_it_off_for_ever(burst: Burst, tmp_path: Path) -> None:
    for tenth in range(100):
        note(burst, tmp_path, "src/a.py", now=100 + tenth / 10)
    assert burst.due == pytest.approx(103.0)


def test_a_generated_folder_that_is_indexed_all_the_same_is_watched(burst: Burst, tmp_path: Path) -> None:
    burst.set_files({**KNOWN, "node_modules/mine/a.js": 1})
    assert note(burst, tmp_path, "node_modules/mine/b.js") is not None


def test_paths_that_caused_checks_in_vain_are_checked_less_and_less_often(burst: Burst, tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "1.log").write_text("x")
    assert note(burst, tmp_path, "output/1.log", now=100) == pytest.approx(100.2)
    burst.mark_checked(KNOWN)
    for start, wait in ((200, 4), (300, 8), (400, 16), (500, 30), (600, 30)):
        assert note(burst, tmp_path, "output/2.log", now=start) == pytest.approx(start + wait)
        assert note(burst, tmp_path, "output/3.log", now=start + 1) == pytest.approx(start + wait)
        burst.mark_checked(KNOWN)
    # An edit is not held up by it, and new rules may bring it in.
    assert note(burst, tmp_path, "output/4.log", "src/a.py", now=700) == pytest.approx(700.2)
    burst.mark_checked(KNOWN)
    note(burst, tmp_path, ".gitignore", now=800)
    burst.mark_checked(KNOWN)
    assert note(burst, tmp_path, "output/5.log", now=900) == pytest.approx(900.2)


def test_removed_files_and_empty_folders_do_not_count_as_checks_in_vain(burst: Burst, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    note(burst, tmp_path, "src/removed.py", "package", now=100)
    burst.mark_checked(KNOWN)
    assert note(burst, tmp_path, "src/removed.py", now=200) == pytest.approx(200.2)
    burst.mark_checked(KNOWN)
    assert note(burst, tmp_path, "package/a.py", now=300) == pytest.approx(300.2)


def test_what_is_indexed_at_last_is_prompt_again(burst: Burst, tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "1.log").write_text("x")
    note(burst, tmp_path, "output/1.log", now=100)
    burst.mark_checked(KNOWN)
    burst.mark_checked({**KNOWN, "output/a.py": 1})
    assert note(burst, tmp_path, "output/b.py", now=200) == pytest.approx(200.2)
