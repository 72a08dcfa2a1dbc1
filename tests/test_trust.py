"""What a repository may not decide, and where a user's key may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.config import Settings, apply, load
from lurcher.errors import ConfigError
from lurcher.remote import checked_url
from lurcher.rerank import cross, llm
from lurcher.rerank.reranker import Candidate, Request
from lurcher.trust import users_key, users_url
from tests.rerank.server import playing, replying, send


def test_a_key_goes_along_to_a_judge_and_a_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_JUDGE_KEY", "sesame")
    monkeypatch.setenv("LURCHER_RERANKER_KEY", "mellon")
    asked = [Candidate("a.py", "text", 1.0)]
    with playing(replying(lambda system, text, body: "0:7")) as judge:
        settings = apply(Settings(), {"judge.url": judge.url, "judge.protocol": "openai"}, "flag")
        llm.rerank(Request("question", asked, settings, Path()))
    assert judge.heads and all("Authorization: Bearer sesame" in head for head in judge.heads)
    with playing(lambda wire, played, path, body: send(wire, [{"index": 0, "score": 0.5}])) as server:
        cross.rerank(Request("question", asked, apply(Settings(), {"reranker.url": server.url}, "flag"), Path()))
    assert ["Authorization: Bearer mellon" in head for head in server.heads] == [True]


def test_without_a_key_nothing_is_said_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_JUDGE_KEY", raising=False)
    with playing(replying(lambda system, text, body: "0:7")) as judge:
        llm.rerank(Request("q", [Candidate("a", "b", 1.0)], apply(Settings(), {"judge.url": judge.url}, "flag"), Path()))
    assert not any("authorization" in head.lower() for head in judge.heads)


def test_a_key_is_not_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_JUDGE_KEY", "sesame")
    assert users_key(Settings(), "judge", checked_url("https://example.org", "judge.url")) == "sesame"
    assert users_key(Settings(), "judge", checked_url("http://127.0.0.1:1", "judge.url")) == "sesame"
    with pytest.raises(ConfigError, match="in the clear") as caught:
        users_key(Settings(), "judge", checked_url("http://example.org", "judge.url"))
    assert "sesame" not in str(caught.value)


def test_a_project_names_neither_servers_nor_secrets(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text('[judge]\nurl = "http://example.org"\nkey = "AWS_SECRET"\n')
    settings = load(tmp_path, None)
    with pytest.raises(ConfigError, match="which a project cannot"):
        users_url(settings, "judge.url")
    with pytest.raises(ConfigError, match="secret"):
        users_key(settings, "judge", checked_url("https://example.org", "judge.url"))
