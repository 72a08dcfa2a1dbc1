"""What a repository may not decide, and where a user's key may go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lurcher.config import PROJECT_FILE, Settings, apply, load
from lurcher.config.schema import settings_by_key
from lurcher.config.trust import TABLE, service_key, user_setting
from lurcher.engine import Engine
from lurcher.errors import ConfigError
from lurcher.net.http import check_url
from lurcher.rerank import cross, llm
from lurcher.rerank.stage import Candidate, Request
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


def test_without_a_key_no_authorization_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_JUDGE_KEY", raising=False)
    with playing(replying(lambda system, text, body: "0:7")) as judge:
        llm.rerank(Request("q", [Candidate("a", "b", 1.0)], apply(Settings(), {"judge.url": judge.url}, "flag"), Path()))
    assert not any("authorization" in head.lower() for head in judge.heads)


def test_a_key_is_not_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_JUDGE_KEY", "sesame")
    assert service_key("judge", check_url("https://example.org", "judge.url")) == "sesame"
    assert service_key("judge", check_url("http://127.0.0.1:1", "judge.url")) == "sesame"
    with pytest.raises(ConfigError, match="in the clear") as caught:
        service_key("judge", check_url("http://example.org", "judge.url"))
    assert "sesame" not in str(caught.value)


def test_a_project_names_no_servers(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text('[judge]\nurl = "http://example.org"\n')
    with pytest.raises(ConfigError, match="which a project cannot"):
        load(tmp_path, None)
    # Checked again where it is used, however the settings were put together.
    settings = apply(Settings(), {"judge.url": "http://example.org"}, PROJECT_FILE)
    with pytest.raises(ConfigError, match="which a project cannot"):
        user_setting(settings, "judge.url")


def test_every_setting_is_classified() -> None:
    declared = [key for key, *_ in Settings().rows()]
    missing, unknown = sorted(set(declared) - set(TABLE)), sorted(set(TABLE) - set(declared))
    assert not missing, f"say in lurcher.config.trust.TABLE what a project's own file may set of {', '.join(missing)}"
    assert not unknown, f"lurcher.config.trust.TABLE has {', '.join(unknown)}, which is no setting"


def test_no_text_and_no_limitless_number_is_a_projects_by_oversight() -> None:
    """What a project may set freely is harmless by its kind, or looked at elsewhere."""
    looked_at_elsewhere = {"index.dir", "dense.model", "blame.ignore", "outcomes.words"}
    for key, item in settings_by_key().items():
        if TABLE[key].why or key in looked_at_elsewhere or isinstance(item.default, bool):
            continue
        if isinstance(item.default, str):
            assert item.choices and not item.stage, key
        elif "second" in key or "worker" in key or "candidates" in key:
            raise AssertionError(f"{key}: a project could have it take as long as it likes")


def test_the_defaults_themselves_may_be_written_down() -> None:
    for key, value, _, _ in Settings().rows():
        rule = TABLE[key]
        if rule.words or rule.most is not None:
            assert rule.allows(value), key


HOSTILE = [
    ("index.workers", "256"), ("index.max_file_bytes", "100000000"), ("index.first_answer_seconds", "0"),
    ("index.refresh_limit", "-1"), ("search.rerank", '"llm"'), ("search.rerank", '"outcome cross"'),
    ("search.lanes", '"tickets=1"'),
    ("history.ranking", '"theirs"'), ("judge.model", '"other"'), ("reranker.model", '"./model"'),
    ("embedding.provider", '"onnx"'),
    ("embedding.document_prefix", '"x"'), ("classic.candidates", "100000"), ("savings.count", "false"),
    ("store.project", '"theirs"'), ("postgres.schema", '"theirs"'), ("qdrant.collection", '"theirs"'), ("serve.port", "0"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), HOSTILE)
@pytest.mark.parametrize("file", ["lurcher.toml", "pyproject.toml"])
def test_a_project_cannot_decide_what_is_the_users(tmp_path: Path, file: str, key: str, value: str) -> None:
    section, _, name = key.partition(".")
    head = section if file == "lurcher.toml" else f"tool.lurcher.{section}"
    root = tmp_path / "root"
    root.mkdir()
    (root / file).write_text(f"[{head}]\n{name} = {value}\n")
    with pytest.raises(ConfigError) as caught:
        load(root, None, {})
    assert caught.value.message.startswith(f"{file}: {key} ") and "set it yourself" in caught.value.hint

    # Who decides it has decided it, in each of the ways that the hint names.
    mine = tmp_path / "mine.toml"
    default = Settings().to_dict()[key]
    said = str(default).lower() if isinstance(default, bool) else f'"{default}"' if isinstance(default, str) else default
    mine.write_text(f"[{section}]\n{name} = {said}\n")
    ways: list[tuple[dict[str, Any] | None, dict[str, str]]] = [(None, {"LURCHER_CONFIG": str(mine)}), ({key: default}, {})]
    variable = f"LURCHER_{key.upper().replace('.', '_')}"
    if variable in caught.value.hint:
        ways.append((None, {variable: str(default)}))
    for flags, environ in ways:
        assert load(root, flags, environ).to_dict()[key] == default


def test_a_project_may_ask_for_less(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text(
        '[index]\nmax_file_bytes = 1000\nrefresh_limit = 0\n[search]\nrerank = "outcome"\nlimit = "20"\n'
        "[history]\nrefresh_seconds = 1\n"
    )
    found = load(tmp_path, None, {}).to_dict()
    assert (found["index.max_file_bytes"], found["search.rerank"], found["search.limit"]) == (1000, "outcome", 20)


def test_a_file_of_the_user_is_the_users_whatever_it_is_called(tmp_path: Path) -> None:
    mine = tmp_path / "lurcher.toml"
    mine.write_text('[judge]\nurl = "http://127.0.0.1:9"\n[search]\nrerank = "llm"\n')
    settings = load(None, None, {"LURCHER_CONFIG": str(mine)})
    assert user_setting(settings, "judge.url") == "http://127.0.0.1:9" and settings.search.rerank == "llm"


def test_a_hostile_clone_sends_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def weigh(parcel):\n    return parcel\n")
    (tmp_path / "lurcher.toml").write_text('[search]\nrerank = "llm"\n')
    with playing(replying(lambda system, text, body: "0:7")) as judge:
        with pytest.raises(ConfigError, match="whether text is sent"):
            Engine.open(tmp_path, root=tmp_path, overrides={"judge.url": judge.url})
        overrides = {"judge.url": judge.url, "search.rerank": "none"}
        with Engine.open(tmp_path, root=tmp_path, overrides=overrides) as engine:
            assert engine.search("weigh").hits
        assert not judge.asked
