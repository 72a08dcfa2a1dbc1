"""A question is answered while the tree is looked at, and answered again where that finds a change."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from lurcher.corpora.code import CodeCorpus
from lurcher.engine import Engine
from lurcher.indexing import root_index
from lurcher.indexing.freshness import BackgroundCheck, Changes
from lurcher.indexing.root_index import RootIndex
from lurcher.runtime.kernel import native
from tests.indexing.conftest import QUESTIONS, opened, write

pytestmark = pytest.mark.skipif(native() is None or os.name != "posix", reason="the kernel looks in the background")


@pytest.fixture
def engine(root: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(root_index, "_CHECKS_BEFORE_MONITOR", 0)  # a tree that is watched is not looked at
    """One that has read its index, of a tree that has settled: a glance is enough."""
    for _ in range(20):
        engine = opened(root)
        engine.search("redirects")
        if engine.projects[0].optimistic_view(True) is not None:
            return engine
        time.sleep(0.1)
    raise AssertionError("the tree does not settle")


@pytest.fixture
def answered(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that were answered, each as often as it was."""
    asked: list[str] = []
    answer = CodeCorpus.answer

    def counted(self: CodeCorpus, query: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(query.text)
        return answer(self, query, *arguments, **options)

    monkeypatch.setattr(CodeCorpus, "answer", counted)
    return asked


def said(engine: Engine, question: str, **options: Any) -> str:
    answer = engine.search(question, **options).to_dict()
    del answer["timings_ms"]
    return json.dumps(answer)


def test_an_answer_is_found_once_where_nothing_changed(engine: Engine, answered: list[str]) -> None:
    answer = engine.search("redirects")
    assert answered == ["redirects"]
    assert answer.index.fresh
    assert set(answer.timings_ms) >= {"refresh", "plan", "lexical", "ranking", "pack", "total"}
    assert answer.timings_ms["total"] >= answer.timings_ms["refresh"] + answer.timings_ms["ranking"]


def test_answers_with_a_background_check_equal_those_with_one_before(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ({}, {"mode": "lexical"}, {"mode": "literal"}, {"refresh": False}, {"sources": ["code"]}):
        ahead = [said(engine, question, **options) for question in QUESTIONS]
        with monkeypatch.context() as patch:
            patch.setattr(RootIndex, "optimistic_view", lambda self, needs_vectors: None)
            assert [said(engine, question, **options) for question in QUESTIONS] == ahead


@pytest.mark.parametrize(
    "change",
    [
        lambda root: write(root, {"src/client.py": "def follow_zebra():\n    pass\n"}),
        lambda root: write(root, {"src/new.py": "def follow_zebra():\n    pass\n"}),
        lambda root: write(root, {"src/deep/new.py": "def follow_zebra():\n    pass\n"}),
    ],
    ids=["changed", "new", "new folder"],
)
def test_a_change_is_in_the_answer(engine: Engine, root: Path, change: Any) -> None:
    assert not [hit for hit in engine.search("follow_zebra").hits if "zebra" in hit.text]
    change(root)
    answer = engine.search("follow_zebra")
    assert "zebra" in answer.hits[0].text
    assert answer.index.fresh


def test_a_file_that_is_gone_is_not_in_the_answer(engine: Engine, root: Path) -> None:
    (root / "src/cookies.py").unlink()
    assert "src/cookies.py" not in {hit.path for hit in engine.search("parse_cookie").hits}


def test_a_change_found_by_the_background_check_leads_to_a_new_answer(
    engine: Engine, root: Path, answered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    end, changed = BackgroundCheck.finish, []

    def after_a_change(look: BackgroundCheck) -> Changes | None:
        if not changed:
            write(root, {"src/client.py": "def follow_zebra():\n    pass\n"})
            changed.append(True)
            look = engine.projects[0].optimistic_view(True)[1]  # type: ignore[index]
        return end(look)

    monkeypatch.setattr(BackgroundCheck, "finish", after_a_change)
    assert "zebra" in engine.search("follow_zebra").hits[0].text
    assert answered == ["follow_zebra"] * 2


def test_an_inconclusive_check_repeats_the_search(engine: Engine, answered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BackgroundCheck, "finish", lambda look: None)
    assert engine.search("redirects").index.fresh
    assert answered == ["redirects"] * 2


def test_without_an_index_there_is_nothing_ahead(root: Path) -> None:
    engine = opened(root)
    assert engine.projects[0].optimistic_view(True) is None
    assert engine.search("redirects").hits


def test_a_folder_of_notes_is_searched_as_notes(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a.md": "# Redirects\n\nHow redirects are followed.\n", "b.md": "# Other\n\nSomething else.\n"})
    for _ in range(4):
        assert opened(tmp_path / "notes").search("how are redirects followed").sources == ("notes",)
        time.sleep(0.1)
