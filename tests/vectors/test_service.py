"""A server that embeds, asked: what it should be asked, what of its answers is believed, and when it is asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lurcher import config
from lurcher.errors import ConfigError, ModelError, ServerError
from lurcher.indexing.root_index import select_model
from lurcher.net import resilience
from lurcher.net.http import Deadline
from lurcher.vectors.providers import provider_named
from lurcher.vectors.service import ProviderRequest
from lurcher.vectors.text_model import TextModel, describe_provider
from tests.rerank import server
from tests.rerank.server import Conduct, playing
from tests.vectors import servers
from tests.vectors.servers import DIMS, after, embedding, saying, texts_in, wrongly

PROVIDERS = ("tei", "openai", "ollama")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilience, "SERVICE", resilience.Backoff(0.01, attempts=6, jitter=0.5))


def settings_of(**values: Any) -> config.Settings:
    named = {f"embedding.{name}": value for name, value in {"model": "subjects", **values}.items()}
    return config.apply(config.Settings(), named, "flag")


def embed(provider: str, url: str, texts: list[str], seconds: float = 5.0, **values: Any) -> Any:
    wanted = ProviderRequest(settings_of(provider=provider, url=url, **values), Path())
    return provider_named(provider)[1](wanted).embed(texts, Deadline.after(seconds))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_protocol_gives_a_row_of_length_one_for_each_text_in_their_order(provider: str) -> None:
    with playing(embedding()) as played:
        rows = embed(provider, played.url, ["redirects", "cookies", "cookies in a jar"])
    assert rows.shape == (3, DIMS)
    assert (rows * rows).sum(axis=1) == pytest.approx(1.0)
    assert rows[1] @ rows[2] > 0.9 > 0.1 > rows[0] @ rows[1]


def test_each_protocol_has_its_own_request_format() -> None:
    with playing(embedding()) as played:
        for provider in PROVIDERS:
            embed(provider, played.url, ["a text"])
        embed("openai", f"{played.url}/v1", ["a text"])
    assert played.asked == [
        ("/embed", {"inputs": ["a text"], "normalize": True, "truncate": True}),
        ("/v1/embeddings", {"model": "subjects", "input": ["a text"], "encoding_format": "float"}),
        ("/api/embed", {"model": "subjects", "input": ["a text"], "truncate": True}),
        ("/v1/embeddings", {"model": "subjects", "input": ["a text"], "encoding_format": "float"}),
    ]


WRONG: dict[str, Callable[[list[list[Any]]], Any]] = {
    "too few": lambda rows: rows[:-1],
    "too many": lambda rows: [*rows, rows[0]],
    "none at all": lambda rows: None,
    "no rows": lambda rows: [1.0, 2.0],
    "of two sizes": lambda rows: [rows[0], rows[1][:-1]],
    "of no size": lambda rows: [[], []],
    "no numbers": lambda rows: [["1.0"] * DIMS, rows[1]],
    "yes and no": lambda rows: [[True] * DIMS, rows[1]],
    "not a number": lambda rows: [[float("nan")] * DIMS, rows[1]],
    "without end": lambda rows: [[float("inf")] * DIMS, rows[1]],
    "beyond all numbers": lambda rows: [[1e300] * DIMS, rows[1]],
    "of no length": lambda rows: [[0.0] * DIMS, rows[1]],
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_vectors_that_make_no_sense_are_refused(provider: str, change: Callable[[list[list[Any]]], Any]) -> None:
    with playing(wrongly(change)) as played, pytest.raises(ServerError) as caught:
        embed(provider, played.url, ["one", "two"])
    assert caught.value.hint and "127.0.0.1" in caught.value.message


FAILURES: dict[str, Conduct] = {
    "fails": server.failing, "garbage": server.garbage, "not JSON": server.not_json, "other JSON": server.other_json,
    "hangs": server.hanging, "drips": server.dripping_body, "half": server.half, "hangs up": server.hanging_up,
    "elsewhere": server.elsewhere,
}  # fmt: skip


@pytest.mark.parametrize("conduct", FAILURES.values(), ids=FAILURES)
def test_a_server_that_fails_is_given_up_within_the_limit(conduct: Conduct) -> None:
    with playing(conduct) as played, pytest.raises(ServerError):
        embed("tei", played.url, ["a text"], seconds=0.5)


def test_a_server_that_is_not_running_is_reported_with_the_command_that_starts_it() -> None:
    with playing(embedding()) as played:
        pass
    with pytest.raises(ServerError, match="nothing answers at http://127"):
        embed("tei", played.url, ["a text"])
    with pytest.raises(ServerError) as caught:
        embed("ollama", played.url, ["a text"])
    assert caught.value.hint == "run: ollama serve"


def test_a_model_that_ollama_lacks_is_reported_with_the_command_that_gets_it() -> None:
    with playing(embedding()) as played, pytest.raises(ServerError) as caught:
        embed("ollama", played.url, ["a text"], model="nomic-embed-text")
    assert caught.value.hint == "run: ollama pull nomic-embed-text" and len(played.asked) == 1


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Service Unavailable", "429 Too Many Requests"])
def test_temporary_failures_are_retried(status: str) -> None:
    with playing(after(2, saying(status), embedding())) as played:
        assert len(embed("tei", played.url, ["a text"])) == 1
    assert len(played.asked) == 3


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found", "422 Unprocessable Entity"])
def test_permanent_failures_are_not_retried(status: str) -> None:
    with playing(saying(status)) as played, pytest.raises(ServerError) as caught:
        embed("tei", played.url, ["a text"])
    assert len(played.asked) == 1 and caught.value.status == int(status[:3])


def test_a_retry_waits_as_long_as_retry_after_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(resilience.retry_request, "__defaults__", (pauses.append,))
    with playing(after(1, saying("503 Service Unavailable", "Retry-After: 1\r\n"), embedding())) as played:
        embed("tei", played.url, ["a text"])
    assert len(pauses) == 1 and pauses[0] >= 1.0


def test_a_retry_after_beyond_the_time_limit_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(resilience.retry_request, "__defaults__", (pauses.append,))
    with playing(saying("429 Too Many Requests", "Retry-After: 3600\r\n")) as played, pytest.raises(ServerError):
        embed("tei", played.url, ["a text"], seconds=300.0)
    assert pauses == [] and len(played.asked) == 1


# -- keys and who may decide -------------------------------------------------------------------------------------------


@pytest.fixture
def heads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Everything that was sent, as it was."""
    seen: list[bytes] = []
    original = server._request

    class Listening:
        def __init__(self, wire: Any) -> None:
            self._wire = wire

        def recv(self, size: int) -> bytes:
            data: bytes = self._wire.recv(size)
            seen.append(data)
            return data

    monkeypatch.setattr(server, "_request", lambda wire: original(Listening(wire)))  # type: ignore[arg-type]
    yield seen


def test_a_key_goes_along_and_is_shown_nowhere(heads: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_EMBEDDING_KEY", "s3cret-key")
    with playing(after(1, embedding(), saying("401 Unauthorized"))) as played:
        embed("openai", played.url, ["a text"])
        with pytest.raises(ServerError) as caught:
            embed("openai", played.url, ["a text"])
    assert b"Authorization: Bearer s3cret-key" in b"".join(heads)
    wanted = ProviderRequest(settings_of(provider="openai", url=played.url), Path())
    made = provider_named("openai")[1](wanted)
    assert "s3cret" not in f"{made!r} {caught.value.to_dict()} {wanted!r}"


def test_a_key_is_not_sent_in_the_clear_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_EMBEDDING_KEY", "s3cret-key")
    assert config.load(None, environ={"LURCHER_EMBEDDING_KEY": "s3cret-key"}) == config.Settings()
    with pytest.raises(ConfigError, match="in the clear"):
        embed("openai", "http://models.example", ["a text"])


@pytest.mark.parametrize("key", ["provider", "url"])
def test_a_project_cannot_decide_where_text_is_sent(key: str, tmp_path: Path) -> None:
    value = {"provider": "tei", "url": "http://evil.example"}[key]
    (tmp_path / "lurcher.toml").write_text(f'[embedding]\n{key} = "{value}"\n')
    flags = {} if key == "provider" else {"embedding.provider": "tei"}
    with pytest.raises(ConfigError, match=rf"lurcher\.toml: embedding\.{key}"):
        select_model(config.load(tmp_path, flags, {}), tmp_path)


def test_a_provider_that_nobody_knows_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match=r"unknown embedding\.provider 'voyager'") as caught:
        select_model(settings_of(provider="voyager"), Path())
    assert "tei" in caught.value.hint and "onnx" in caught.value.hint


def test_a_missing_required_setting_is_an_error() -> None:
    for values in ({"provider": "openai", "url": ""}, {"provider": "openai", "url": "http://127.0.0.1:1", "model": " "}):
        with pytest.raises(ConfigError, match="is empty"):
            select_model(settings_of(**values), Path())


# -- the model that a provider makes -----------------------------------------------------------------------------------


def text_model(**values: Any) -> TextModel:
    model = select_model(settings_of(provider="tei", **values), Path())
    assert isinstance(model, TextModel)
    return model


def test_prefixes_go_before_questions_and_before_texts() -> None:
    with playing(embedding()) as played:
        model = text_model(url=played.url, query_prefix="query: ", document_prefix="passage: ")
        model.embed_query("where")
        model.embed_documents(["there"], Deadline.after(5))
    assert texts_in(played) == ["query: where", "passage: there"]


def test_a_repeated_query_is_embedded_once() -> None:
    with playing(embedding()) as played:
        model = text_model(url=played.url)
        assert (model.embed_query("where") == model.embed_query("where")).all()
    assert len(played.asked) == 1


def test_a_hanging_server_is_waited_for_only_once() -> None:
    with playing(server.hanging) as played:
        model = text_model(url=played.url, query_seconds=0.4)
        for _ in range(2):
            with pytest.raises(ModelError, match="did not answer"):
                model.embed_query("where")
        assert len(played.asked) == 1


def test_only_what_changes_a_text_s_vector_changes_the_model() -> None:
    plain = text_model(url="http://127.0.0.1:1").digest
    assert text_model(url="http://127.0.0.1:2", query_prefix="q: ", seconds=9.0).digest == plain
    for changed in ({"model": "other"}, {"document_prefix": "d: "}, {"tokens": 99}, {"provider": "ollama"}):
        values = {"url": "http://127.0.0.1:1", "provider": "tei", **changed}
        assert select_model(settings_of(**values), Path()).digest != plain


def test_a_provider_is_described_by_what_it_does() -> None:
    with playing(embedding()) as played:
        told = describe_provider(text_model(url=played.url))
    assert (told["dims"], told["served"], told["provider"]) == (servers.DIMS, "subjects", "tei")
    assert told["load_ms"] > 0


# -- providers of other packages ---------------------------------------------------------------------------------------


def test_an_installed_package_can_bring_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group is public: it stays `lurcher.embedding.providers`, wherever lurcher's own providers are."""
    groups: list[str] = []

    class Plugin:
        @staticmethod
        def load() -> Any:
            return SimpleNamespace(identity=lambda wanted: {"model": "other"}, connect=lambda wanted: "an embedder")

    def entry_points(*, group: str, name: str) -> list[Any]:
        groups.append(group)
        return [Plugin] if (group, name) == ("lurcher.embedding.providers", "other") else []

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    identity, connect = provider_named("other")
    assert (identity(None), connect(None)) == ({"model": "other"}, "an embedder")  # type: ignore[arg-type, comparison-overlap]
    assert set(groups) == {"lurcher.embedding.providers"}
    with pytest.raises(ConfigError, match="unknown embedding"):
        provider_named("missing")
