"""A server that fails in any way changes nothing but `degraded`, and no answer is later than the limit allows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import ConfigError
from tests.rerank import server
from tests.rerank.server import playing

SECONDS = 0.6
CONDUCTS = {
    server.failing: "answers 500: out of memory", server.no_model: "", server.garbage: "cannot be reached",
    server.not_json: "something else than JSON", server.other_json: "answers without", server.hanging: "did not answer within",
    server.dripping_head: "did not answer within", server.dripping_body: "did not answer within",
    server.going_on: "did not answer within", server.half: "closed the connection in the middle",
    server.huge: "more than 4,000,000 bytes",
    server.elsewhere: "which is not followed", server.hanging_up: "cannot be reached",
}  # fmt: skip
QUERY = "how is a parcel weighed"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("parcels")
    for name in ("weigh", "parcel", "post", "scale", "stamp"):
        text = f"def {name}_parcel(parcel):\n    '''How a parcel is weighed: {name}.'''\n    return {name!r}\n"
        (root / f"{name}.py").write_text(text)
    with Engine.open(root, root=root) as engine:
        engine.index()
    return root


def opened(tree: Path, name: str, url: str, **more: str) -> Engine:
    section = {"llm": "judge", "cross": "reranker"}[name]
    overrides = {f"{section}.url": url, f"{section}.seconds": str(SECONDS), **more}
    return Engine.open(tree, root=tree, overrides=overrides)


@pytest.mark.parametrize("conduct", CONDUCTS, ids=lambda conduct: conduct.__name__)
@pytest.mark.parametrize("name", ["llm", "cross"])
def test_the_order_stays_and_the_answer_says_why(tree: Path, name: str, conduct: server.Conduct) -> None:
    with playing(conduct) as played, opened(tree, name, played.url) as engine:
        before = engine.search(QUERY)
        after = engine.search(QUERY, rerank=[name])
        assert played.asked, "no request was made"
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    assert [hit.score for hit in after.hits] == [hit.score for hit in before.hits]
    note = next(note for note in after.degraded if note.stage == name)
    assert CONDUCTS[conduct] in note.reason and "the order is as it was before" in note.reason and note.hint
    assert len(played.asked) == 1


def test_a_server_that_is_not_there_is_named_with_what_starts_it(tree: Path) -> None:
    with playing(server.failing) as played:
        url = played.url
    with opened(tree, "llm", url) as engine:
        note = next(note for note in engine.search(QUERY, rerank=["llm"]).degraded if note.stage == "llm")
    assert "nothing answers at" in note.reason and note.hint == "run: ollama serve"


def test_a_model_that_is_not_there_is_named_with_what_gets_it(tree: Path) -> None:
    with playing(server.no_model) as played, opened(tree, "llm", played.url) as engine:
        note = next(note for note in engine.search(QUERY, rerank=["llm"]).degraded if note.stage == "llm")
    assert note.hint == "run: ollama pull llama3.2:1b"


def test_the_command_ends_well_and_in_time(tree: Path) -> None:
    with playing(server.dripping_body) as played:
        plain = _command(tree, played.url)
        reranked = _command(tree, played.url, "--rerank", "llm")
    assert plain.returncode == reranked.returncode == 0
    first, second = json.loads(plain.stdout), json.loads(reranked.stdout)
    assert [hit["id"] for hit in first["hits"]] == [hit["id"] for hit in second["hits"]]
    assert second["degraded"][-1]["stage"] == "llm"
    assert second["timings_ms"]["rerank"] < 30_000


def _command(tree: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    flags = ["--json", "--timings", "--set", f"judge.url={url}", "--set", f"judge.seconds={SECONDS}", *more]
    command = [sys.executable, "-m", "lurcher", "search", QUERY, str(tree), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "127.0.0.1:80", "http://", "http://a b", "http://u:p@h", "http://h:99999", "http://[::1"])
def test_what_is_no_address_is_reported(tree: Path, url: str) -> None:
    with opened(tree, "llm", url) as engine:
        answer = engine.search(QUERY, rerank=["llm"])
    assert answer.hits and any(note.stage == "llm" and "judge.url" in note.reason for note in answer.degraded)


@pytest.mark.parametrize(("name", "section"), [("llm", "judge"), ("cross", "reranker")])
def test_a_project_cannot_decide_where_text_is_sent(tmp_path: Path, name: str, section: str) -> None:
    (tmp_path / "a.py").write_text("def weigh(parcel):\n    return parcel\n")
    with playing(server.failing) as played:
        (tmp_path / "lurcher.toml").write_text(f'[{section}]\nurl = "{played.url}"\n')
        with pytest.raises(ConfigError, match="which a project cannot"), Engine.open(tmp_path, root=tmp_path) as engine:
            engine.search("weigh", rerank=[name])
        assert not played.asked
