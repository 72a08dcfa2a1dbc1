"""`lurcher model`, and searching by meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tables import write_tiny
from tests.vectors.test_convert import folder

Ask = Callable[..., Any]


@pytest.fixture
def at_home(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The command line of somebody with a home, and without a model in the environment."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("LURCHER_DENSE_MODEL")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return ask


def test_info_shows_the_model_in_use(ask: Ask, tiny_model: Path) -> None:
    found = ask("model", "info", "--json")
    assert found.status == 0
    assert (found.json["name"], found.json["dims"], found.json["licence"]) == ("tiny", 32, "CC0-1.0")
    assert found.json["path"] == str(tiny_model) and found.json["bytes"] == tiny_model.stat().st_size
    text = ask("model", "info").out
    for words in ("name        tiny", "32 numbers of 8 bits", "64 n-gram buckets", "CC0-1.0", "training    pairs: 0", " ms"):
        assert words in text


def test_info_of_a_table_that_is_not_in_use(ask: Ask, tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "other.table", name="other")
    assert ask("model", "info", path, "--json").json["name"] == "other"
    assert ask("model", "info", "--json").json["name"] == "tiny"


def test_use_changes_what_the_next_search_uses(at_home: Ask, tmp_path: Path, repository: Path) -> None:
    path = write_tiny(tmp_path / "mine.table", name="mine")
    used = at_home("model", "use", path)
    assert used.status == 0 and "name        mine" in used.out
    assert str(tmp_path / "config/lurcher/config.toml") in used.err
    assert at_home("model", "info", "--json").json["setting"] == str(path)
    status = at_home("index", repository, "-q", "--json").json
    assert status["model"]["name"] == "mine"
    assert at_home("model", "use", "none").status == 1
    answer = at_home("search", "how are redirects followed", repository, "--json").json
    assert answer["degraded"] == [] and all("dense" not in hit["why"]["lanes"] for hit in answer["hits"])
    assert at_home("model", "info").out == "no model is in use: there are no vectors and no dense lane\n"


def test_a_model2vec_folder_is_converted_into_the_users_data(at_home: Ask, tmp_path: Path) -> None:
    used = at_home("model", "use", folder(tmp_path / "potion"), "--json")
    assert used.status == 0 and used.json["compose"] == "wordpiece"
    (path,) = (tmp_path / "data/lurcher/models").iterdir()
    assert used.json["path"] == str(path)
    assert at_home("model", "info", "--json").json["name"] == "potion"


def test_a_setting_that_goes_before_is_pointed_out(at_home: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_DENSE_MODEL", "none")
    used = at_home("model", "use", write_tiny(tmp_path / "mine.table"))
    assert "note: environment sets dense.model too" in used.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("use",), "no model was named"),
        (("use", "nowhere.table"), "does not exist"),
        (("use", "."), "config.json cannot be read"),
        (("info", "nowhere.table"), "missing"),
        (("forget",), "unknown action 'forget'"),
    ],
)
def test_mistakes_are_one_line_and_a_hint(at_home: Ask, arguments: tuple[str, ...], words: str) -> None:
    result = at_home("model", *arguments)
    assert result.status == 2 and words in result.err and result.err.count("\n") == 1 and "(" in result.err
    assert result.out == ""


def test_semantic_goes_by_meaning_alone(ask: Ask, shared: Path) -> None:
    answer = ask("search", "what was redirected", shared, "--semantic", "--flat", "--json").json
    assert (answer["mode"], answer["ranking"], answer["degraded"]) == ("dense", "cosine", [])
    for rank, hit in enumerate(answer["hits"], 1):
        assert list(hit["why"]["lanes"]) == ["dense"]
        assert hit["why"]["lanes"]["dense"] == {"rank": rank, "score": hit["score"]}
    assert answer == ask("search", "what was redirected", shared, "--mode", "dense", "--flat", "--json").json


def test_lexical_leaves_meaning_out(ask: Ask, shared: Path) -> None:
    hits = ask("search", "how are redirects followed", shared, "--mode", "lexical", "--json").json["hits"]
    assert hits and all(list(hit["why"]["lanes"]) == ["lexical"] for hit in hits)
    hits = ask("search", "how are redirects followed", shared, "--json").json["hits"]
    assert "dense" in hits[0]["why"]["lanes"]
    assert "dense" in {stage["stage"] for stage in hits[0]["why"]["stages"]}


def test_semantic_and_another_mode_contradict(ask: Ask, shared: Path) -> None:
    result = ask("search", "x", shared, "--semantic", "--mode", "lexical")
    assert result.status == 2 and "contradict" in result.err


def test_explain_shows_what_pushes_down_with_a_minus(ask: Ask, shared: Path) -> None:
    text = ask("search", "how are redirects followed", shared, "--explain", "-k", "30").out
    assert "dense lane: rank" in text
    assert "    dense + " in text and "    dense - " in text
    assert "+ -" not in text


def test_damage_to_the_model_is_a_note(ask: Ask, tmp_path: Path, repository: Path) -> None:
    (tmp_path / "bad.table").write_bytes(b"LURCHER1 and nothing else")
    result = ask("search", "how are redirects followed", repository, "--set", f"dense.model={tmp_path / 'bad.table'}")
    assert result.status == 0
    assert "note: model file bad.table is damaged" in result.err


def test_the_status_shows_the_model(ask: Ask, shared: Path) -> None:
    text = ask("status", shared).out
    assert "model       tiny, 32 numbers per vector, " in text and "vectors     " in text
