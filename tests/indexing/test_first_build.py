"""The first index of a large tree comes in waves: each question has more of it, and the last one all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.indexing import writer
from lurcher.indexing.writer import by_priority
from lurcher.inspect.inspection import status_of
from lurcher.sources import Entry
from lurcher.storage import IndexFolder
from lurcher.storage.manifest import WAITING
from tests.indexing.conftest import TREE, answers, opened, write

NO_TIME = 1e-9
"""Seconds for a first answer that only leave time for one file."""


def segments(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".lurcher").glob("*.segment"))


def notes(engine: Engine, question: str = "redirects") -> list[str]:
    return [f"{note.stage}: {note.reason}" for note in engine.search(question).degraded]


def test_an_answer_from_the_first_wave_says_how_much_it_is_from(root: Path) -> None:
    answer = opened(root, first_answer_seconds=NO_TIME).search("redirects")
    [note] = answer.degraded
    size = sum(len(text) for text in TREE.values())
    assert note.stage == "index" and note.hint == "ask again to go on with it, or run: lurcher index"
    assert note.reason == f"the index is not complete yet: it has 1 of 5 files, 0.0 of {size / 1e6:.1f} MB"
    assert (answer.index.fresh, answer.index.stale_paths, answer.index.coverage) == (False, 4, {"code": 0.2})


def test_every_question_goes_on_until_the_index_is_as_if_made_at_once(root: Path, tmp_path: Path) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    stale = [engine.search("redirects").index.stale_paths for _ in range(6)]
    assert stale == [4, 3, 2, 1, 0, 0]
    assert notes(engine) == []
    at_once = tmp_path / "once"
    whole = opened(root, at_once)
    assert answers(opened(root)) == answers(whole)
    assert segments(root) == [path.name for path in at_once.glob("*.segment")]
    assert engine.search("redirects").index.coverage == {}


def test_a_new_process_goes_on_where_the_last_one_stopped(root: Path) -> None:
    stale = [opened(root, first_answer_seconds=NO_TIME).search("redirects").index.stale_paths for _ in range(5)]
    assert stale == [4, 3, 2, 1, 0]


def test_sources_come_before_tests_documents_and_what_others_wrote() -> None:
    paths = ["docs/guide.md", "src/b.py", "src/huge.py", "tests/test_a.py", "vendor/x.js", "src/a.py", "data/a.json"]
    entries = [Entry(path, 10**6 if "huge" in path else 10, 0, 0, 0) for path in paths]
    ordered = [entry.path for entry in by_priority(entries, {"vendor/x.js"})]
    assert ordered[:4] == ["vendor/x.js", "src/a.py", "src/b.py", "src/huge.py"]
    assert ordered[-1] == "data/a.json"
    assert ordered == [entry.path for entry in by_priority(reversed(entries), {"vendor/x.js"})]


def test_an_edit_comes_before_the_files_that_wait(root: Path) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    engine.search("redirects")
    [victim] = engine.projects[0].view(lambda *_: None, refresh=False).manifest.rows
    (root / victim).write_text("def brand_new_words(): pass\n")
    assert [hit.path for hit in engine.search("brand_new_words").hits][:1] == [victim]


def test_to_wait_for_all_is_a_setting_and_what_index_does(root: Path) -> None:
    assert opened(root, first_answer_seconds=0).search("redirects").index.fresh
    partial = opened(root, root.parent / "other", first_answer_seconds=NO_TIME)
    assert not partial.search("redirects").index.fresh
    assert not partial.indexed
    partial.index()
    assert partial.search("redirects").index.fresh and partial.indexed
    assert len(list((root.parent / "other").glob("*.segment"))) == 1


def test_a_partial_index_is_reported_without_a_check_too(root: Path) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    engine.search("redirects")
    told = "index: the index is not complete yet: it has 1 of 5 files"
    assert told in [f"{note.stage}: {note.reason}" for note in engine.search("redirects", check=False).degraded]
    still = engine.search("redirects", refresh=False)
    assert (still.index.stale_paths, still.index.coverage) == (4, {"code": 0.2})
    assert status_of(engine.projects[0])["waiting"] == 4


def test_files_that_vanish_while_they_wait_are_not_waited_for(root: Path) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    engine.search("redirects")
    manifest = engine.projects[0].view(lambda *_: None, refresh=False).manifest
    for path in TREE:
        if path not in manifest.rows:
            (root / path).unlink()
    assert notes(engine) == []
    assert engine.search("redirects").index.fresh and WAITING not in status_of(engine.projects[0])["skipped"]


def test_literal_questions_read_the_files_while_there_is_no_whole_index(root: Path) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    engine.search("redirects")
    found = engine.search("parse_cookie", mode="literal")
    assert [hit.path for hit in found.hits] == ["src/cookies.py"]


@pytest.mark.parametrize("died", ["while it read", "before the manifest"])
def test_a_wave_that_is_interrupted_leaves_the_one_before(root: Path, died: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(root, first_answer_seconds=NO_TIME)
    engine.search("redirects")
    before = segments(root)

    def die(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*((writer, "build_segment", die) if died == "while it read" else (IndexFolder, "commit", die)))
        with pytest.raises(KeyboardInterrupt):
            engine.search("redirects")
    again = opened(root, first_answer_seconds=NO_TIME)
    seen = again.search("redirects", refresh=False)
    assert seen.index.stale_paths == 4 and set(before) <= set(segments(root))
    assert [again.search("redirects").index.stale_paths for _ in range(4)] == [3, 2, 1, 0]


def test_many_waves_make_few_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_SEGMENTS", 3)
    root = tmp_path / "tree"
    write(root, {f"src/m{number}.py": f"def function{number}(): pass\n" for number in range(8)})
    engine = opened(root, first_answer_seconds=NO_TIME)
    for left in range(7, -1, -1):
        assert engine.search("function3").index.stale_paths == left
        assert len(segments(root)) <= 4
    assert len(segments(root)) == 1


def test_the_command_says_it_in_json_and_in_text(root: Path) -> None:
    environment = {**os.environ, "LURCHER_CONFIG": os.devnull, "LURCHER_INDEX_FIRST_ANSWER_SECONDS": "0.000001"}

    def ran(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lurcher", "search", "redirects", str(root), *options]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    answer = json.loads(ran("--json").stdout)
    assert "1 of 5 files" in answer["degraded"][0]["reason"] and answer["index"]["coverage"] == {"code": 0.2}
    plain = ran()
    assert "2 of 5 files" in plain.stderr and "lurcher index" in plain.stderr
