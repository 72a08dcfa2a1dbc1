"""Files that git's grep finds come first where there is no index and the tree is too large to be scanned in time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.indexing.root_index import RootIndex
from lurcher.server import unindexed
from lurcher.server.file_grep import FileGrep
from tests.conftest import git
from tests.indexing.conftest import write

FILES = {
    "aaa/client.py": "def retry():\n    pass\n",
    "bbb/plain.py": "class Widget:\n    def EnsureBalance(self):\n        return 'Retry the request'\n",
    "ccc/other.py": "def EnsureBalanceDeleted():\n    pass\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tree", FILES)
    git(tmp_path / "tree", "init", "-q")
    git(tmp_path / "tree", "add", "--all")
    return tmp_path / "tree"


def _find(folder: Path, text: str, *stems: str) -> set[str]:
    with Engine.open(folder) as engine, FileGrep(engine.projects, text, stems) as grep:
        return set(grep.files(0, time.monotonic() + 60))


def test_a_name_is_found_whole_and_as_it_is_written(folder: Path) -> None:
    assert _find(folder, "who calls EnsureBalance", "ensurebalance", "call") == {"bbb/plain.py"}
    assert _find(folder, "EnsureBalance or EnsureBalanceDeleted") == {"bbb/plain.py", "ccc/other.py"}


def test_of_words_all_must_be_in_a_file(folder: Path) -> None:
    assert _find(folder, "how do we retry a request", "retry", "request") == {"bbb/plain.py"}
    assert _find(folder, "retry", "retry") == {"aaa/client.py"}
    assert _find(folder, "") == set()


def test_a_query_is_never_an_option_of_git(folder: Path) -> None:
    _find(folder, "-O/usr/bin/touch --open-files-in-pager=touch made_by_git", "-O", "--all")
    assert sorted(path.name for path in folder.iterdir()) == [".git", "aaa", "bbb", "ccc"]


def test_outside_of_git_nothing_is_found(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert _find(tmp_path, "EnsureBalance") == set()


def test_what_still_runs_is_stopped(folder: Path) -> None:
    with Engine.open(folder) as engine:
        with FileGrep(engine.projects, "EnsureBalance", ()) as grep:
            running = grep._running[0]
        assert running is not None and running.returncode is not None
        assert grep.files(0, time.monotonic()) == frozenset()


def test_the_files_that_were_found_are_read_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = RootIndex.read_text
    monkeypatch.setattr(RootIndex, "read_text", lambda self, path: read.append(path) or whole(self, path))
    with Engine.open(folder) as engine:
        search = unindexed.UnindexedSearch()
        glimpse = unindexed.Glimpse(search, engine, "it is being built", time.monotonic() + 30)
        answer = glimpse.search("EnsureBalance")
    assert read[0] == "bbb/plain.py"
    assert answer.hits[0].path == "bbb/plain.py"
