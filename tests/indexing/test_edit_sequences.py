"""An index that followed a tree through any history answers, byte for byte, as one that was made of the result.

`python -m tests.indexing.edits` is the long form; EDITS_SEED chooses other histories here.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from lurcher import query
from lurcher.indexing import writer
from lurcher.lanes import symbol
from tests.indexing import edits
from tests.indexing.conftest import QUESTIONS, answers, opened, write

SEED = int(os.environ.get("EDITS_SEED", "20261116"))
SEQUENCES = 12


def test_an_index_that_followed_a_history_answers_as_a_fresh_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    differences: list[str] = []
    done = edits.run(tmp_path, SEED, SEQUENCES, differences.append)
    with capsys.disabled():
        print(f"\n{edits.line(done, SEED)}")
    assert differences == []
    assert done["sequences"] == SEQUENCES


def test_every_kind_of_edit_is_among_them(tmp_path: Path) -> None:
    tree = edits.Tree(tmp_path / "tree", random.Random(1), repository=True)
    before = {path: path.lstat().st_mtime_ns for path in tree.root.rglob("*")}
    done = {tree.edit() for _ in range(220)}
    assert {"add", "same_size", "rename", "rename_folder", "delete", "binary", "large", "link", "ignore", "commit"} <= done
    assert {"add_note", "rename_note", "delete_note", "amend", "rebase", "merge", "pick", "revert", "collect"} <= done
    assert {"switch", "stash", "reset", "file_to_folder", "folder_to_file", "mode", "not_utf8", "line_ends"} <= done
    assert {path: path.lstat().st_mtime_ns for path in tree.root.rglob("*")} != before


def followed(root: Path, changes: list[Mapping[str, str]]) -> None:
    """An index in as many segments as there are changes, and one more."""
    engine = opened(root)
    engine.index()
    for change in changes:
        write(root, change)
        engine.index()


@pytest.fixture
def never_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_SEGMENTS", 100)
    monkeypatch.setattr(writer, "MAX_DEAD_SHARE", 100.0)


@pytest.mark.usefixtures("never_merged")
def test_words_that_are_gone_do_not_crowd_out_others(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms of a word are looked for among few enough terms; those of dead files are none of them."""
    monkeypatch.setattr(query, "_MAX_SCANNED", 12)
    write(root, {"words.py": "\n".join(f"redirect{letter}x = 1" for letter in "abcdefghijklmn")})
    followed(root, [{"words.py": "redirectively = redirecting\n"}])
    assert len(opened(root).status()["segments"]) == 2
    assert answers(opened(root)) == answers(opened(root, tmp_path / "fresh"))
    assert "redirecting" in str(opened(root).search("redirected redirects").to_dict())


@pytest.mark.usefixtures("never_merged")
@pytest.mark.parametrize(
    "limits", [{"_MAX_DEFINITIONS": 2}, {"_MAX_CONTAINERS": 1, "_MAX_DEFINITIONS": 1}, {"_MAX_SCANNED_UNITS": 2}], ids=str
)
def test_a_limit_selects_files_by_path_not_by_segment(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    for name, most in limits.items():
        monkeypatch.setattr(symbol, name, most)
    source = "class Client:\n    def parse_cookie(self):\n        return Client().parse_cookie()\n"
    write(root, {"a.py": "def parse_cookie(header):\n    return header\n"})
    followed(root, [{f"{name}.py": f"{source}x = '{name * count}'\n" * count} for count, name in enumerate("zyxb", 1)])
    engine, fresh = opened(root), opened(root, tmp_path / "fresh")
    assert len(engine.status()["segments"]) > 3
    assert answers(engine) == answers(fresh)
    for name in ("Client", "parse_cookie", "Client.parse_cookie"):
        assert engine.symbol(name).definitions == fresh.symbol(name).definitions


@pytest.mark.usefixtures("never_merged")
def test_a_stack_trace_leads_to_the_same_files_whichever_segment_holds_them(root: Path, tmp_path: Path) -> None:
    followed(root, [{f"{name}/server/pool.py": f"{name} = 1\n"} for name in "bcaed"])
    report = (
        "The pool is empty\n\nTraceback (most recent call last):\n"
        '  File "server/pool.py", line 1, in acquire\n  File "b/server/pool.py", line 1, in acquire\nError: empty\n'
    )
    questions = (*QUESTIONS, report)
    assert answers(opened(root), questions) == answers(opened(root, tmp_path / "fresh"), questions)


def test_what_is_left_out_unread_is_counted_as_it_is_now(root: Path) -> None:
    engine = opened(root, max_file_bytes=2000)
    engine.index()
    write(root, {"large.py": "x = 1\n" * 1000})
    engine.index()
    assert engine.status()["skipped"] == {"oversized": 1}
