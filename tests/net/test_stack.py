"""The whole stack: what the doctor shows of it, and what answers and errors say when a part of it is down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine, config
from lurcher.config import Settings
from lurcher.errors import ConfigError, StoreError
from lurcher.inspect.doctor.services import stack
from lurcher.net import resilience
from lurcher.stores.shared import store_health
from lurcher.vectors import providers
from tests.conftest import Run, write_repository
from tests.net.servers import infinity, scoring, sparse
from tests.rerank import server
from tests.rerank.server import Conduct, playing, replying
from tests.vectors.servers import DIMS, embedding

QUESTION = "how are redirects followed"
DOWN = "http://127.0.0.1:9"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repository")


@pytest.fixture
def servers() -> Iterator[dict[str, str]]:
    """Addresses of one server of each kind."""
    kinds: dict[str, Conduct] = {
        "embedding": embedding(), "sparse": sparse(), "reranker": scoring(), "judge": replying(lambda *_: "0: 5"),
    }  # fmt: skip
    with ExitStack() as running:
        yield {name: running.enter_context(playing(kind)).url for name, kind in kinds.items()}


def configured(servers: dict[str, str]) -> dict[str, Any]:
    chosen = {"embedding.provider": "tei", "sparse.provider": "tei"}
    return {**chosen, **{f"{name}.url": url for name, url in servers.items()}}


def of(values: dict[str, Any]) -> Settings:
    return config.apply(Settings(), values, "flag")


def test_services_that_are_not_configured_get_no_request(root: Path) -> None:
    assert list(stack(Settings(), root)) == []


def test_every_service_reports_address_model_and_version(root: Path, servers: dict[str, str]) -> None:
    found = {entry.service: entry for entry in stack(of(configured(servers)), root)}
    assert all(entry.reachable and entry.address == servers[name] for name, entry in found.items())
    assert list(found) == ["embedding", "sparse", "reranker", "judge"]
    assert (found["embedding"].model, found["embedding"].dims) == ("subjects", DIMS)
    assert (found["sparse"].model, found["sparse"].version) == ("naver/splade-tiny", "1.7.2")
    assert found["sparse"].state == "3 terms of 3 words"
    assert (found["reranker"].model, found["reranker"].version) == ("acme/reranker", "1.6.0")
    assert (found["judge"].model, found["judge"].state) == ("llama3.2:1b", "2 chat models")
    assert all(0 < entry.latency_ms < 60_000 for entry in found.values())


def test_what_is_down_is_named_with_what_was_tried(root: Path, servers: dict[str, str]) -> None:
    broken = dict.fromkeys(servers, DOWN)
    found = {entry.service: entry for entry in stack(of(configured(broken)), root)}
    assert {name: entry.tried for name, entry in found.items()} == {
        "embedding": f"POST {DOWN}/embed", "sparse": f"POST {DOWN}/embed_sparse", "reranker": f"POST {DOWN}/rerank",
        "judge": f"GET {DOWN}/api/tags",
    }  # fmt: skip
    assert all(not entry.reachable and "nothing answers" in entry.problem and entry.hint for entry in found.values())


@pytest.mark.parametrize("conduct", [server.hanging, server.garbage, server.other_json, server.huge, server.dripping_head])
def test_a_bad_server_costs_the_doctor_no_more_than_its_limit(
    root: Path, conduct: Conduct, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lurcher.inspect.doctor.services.SECONDS", 0.3)
    with playing(conduct) as played:
        values = {"embedding.provider": "tei", "embedding.url": played.url}
        (found,) = stack(of(values), root)
    assert not found.reachable and found.problem


def test_what_a_server_says_of_itself_cannot_write_to_a_terminal(root: Path) -> None:
    with playing(embedding(model="\x1b[31mred\n" + "x" * 1000)) as played:
        (found,) = stack(of({"embedding.provider": "tei", "embedding.url": played.url}), root)
    assert found.model.isprintable() and len(found.model) <= 200


def test_the_doctor_prints_a_table(root: Path, servers: dict[str, str], ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    flags = [flag for key, value in configured(servers).items() for flag in ("--set", f"{key}={value}")]
    shown = ask("doctor", "--quick", *flags)
    table = shown.out[shown.out.index("service  ") :].splitlines()
    assert table[0].split() == ["service", "protocol", "address", "reachable", "version", "model", "dims", "ms", "state"]
    assert [line.split()[0] for line in table[1:5]] == ["embedding", "sparse", "reranker", "judge"]
    assert table[1].split()[1:7] == ["tei", servers["embedding"], "yes", "-", "subjects", str(DIMS)]
    report = ask("doctor", "--quick", "--json", *flags).json
    assert [entry["service"] for entry in report["services"]] == ["embedding", "sparse", "reranker", "judge"]
    assert report["services"][0]["dims"] == DIMS


def test_the_doctor_ends_with_1_where_a_service_is_missed(root: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert ask("index", "-q").status == 0
    lost = ask("doctor", "--quick", "--set", "sparse.provider=tei", "--set", f"sparse.url={DOWN}")
    assert lost.status == 1
    assert f"nothing answers at {DOWN}; tried: POST {DOWN}/embed_sparse" in lost.out
    second = ask("doctor", "--quick", "--set", f"reranker.url={DOWN}")
    assert second.status == 0 and f"tried: POST {DOWN}/rerank" in second.out  # answers keep their order without it
    assert "service  " not in ask("doctor", "--quick").out


def test_a_store_is_part_of_the_stack(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        def state(self) -> dict[str, str]:
            return {"version": "1.15.1", "collection": "code_chunks", "points": "12"}

        def close(self) -> None: ...

    settings = of({"store.url": "qdrant://someone:secret@127.0.0.1:6333/x?api_key=secret"})
    monkeypatch.setattr("lurcher.stores.shared.store_at", lambda url, settings: Store())
    found = store_health(settings, root)
    assert found is not None and found.reachable
    assert (found.version, found.state) == ("1.15.1", "collection code_chunks, points 12")
    assert found.address == "qdrant://someone:***@127.0.0.1:6333/x?api_key=***"

    def lost(url: str, settings: Settings) -> Store:
        raise StoreError("the store does not answer", "start it")

    monkeypatch.setattr("lurcher.stores.shared.store_at", lost)
    gone = store_health(settings, root)
    assert gone is not None and (gone.problem, gone.hint) == ("the store does not answer", "start it")
    assert "secret" not in str(gone)
    assert store_health(of({"store.url": "local"}), root) is None


# -- answers and errors -----------------------------------------------------------------------------------------------


def test_an_answer_says_which_service_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilience, "PACE", resilience.Pace(failures=2))
    resilience.reset_breakers()
    with playing(embedding()) as played:
        values: dict[str, Any] = {"embedding.provider": "tei", "embedding.url": played.url, "embedding.query_seconds": 0.2}
        with Engine.open(root, overrides=values) as engine:
            engine.index()
    with Engine.open(root, overrides=values) as engine:
        reasons = []
        for i in range(4):
            engine.projects[0].model._failed = None  # type: ignore[attr-defined]  # as if a second had passed
            answer = engine.search(f"{QUESTION} {i}")
            assert answer.hits
            reasons += [note for note in answer.degraded if note.stage == "dense"]
    assert [("nothing answers" in note.reason, "times in a row" in note.reason) for note in reasons] == [
        (True, False), (True, False), (True, True), (True, True)
    ]  # fmt: skip
    assert reasons[2].reason.startswith(f"the embedding service at {played.url} failed 2 times in a row, the first ")
    assert reasons[2].hint == "run: lurcher doctor"


def test_a_reranker_that_fails_leaves_the_order_and_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilience, "PACE", resilience.Pace(failures=2))
    with playing(server.failing) as played:
        with Engine.open(root, overrides={"reranker.url": played.url}) as engine:
            plain = engine.search(QUESTION)
            for _ in range(4):
                found = engine.search(QUESTION, rerank=["cross"])
                assert [hit.id for hit in found.hits] == [hit.id for hit in plain.hits]
        assert len(played.asked) == 2
    assert "failed 2 times in a row" in found.degraded[-1].reason and found.degraded[-1].stage == "cross"


@pytest.mark.parametrize("protocol", ["tei", "infinity"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_reranker_service_reorders(root: Path, protocol: str, raw: bool) -> None:
    with playing(scoring(raw)) as played:
        values = {"reranker.url": played.url, "reranker.protocol": protocol, "reranker.model": "acme/reranker"}
        with Engine.open(root, overrides=values) as engine:
            found = engine.search("cookie header names values", rerank=["cross"])
        body = played.asked[0][1]
    assert not found.degraded
    scores = [hit.why.scores["cross"] for hit in found.hits if "cross" in hit.why.scores]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    assert body.get("model") == (None if protocol == "tei" else "acme/reranker")


def test_an_error_names_service_and_what_was_tried(root: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("LURCHER_EMBEDDING_QUERY_SECONDS", "0.2")
    lost = ask("model", "info", "--json", "--set", "embedding.provider=tei", "--set", f"embedding.url={DOWN}")
    assert lost.status == 2
    error = lost.json["error"]
    assert (error["code"], error["service"], error["tried"]) == ("server", "embedding", f"POST {DOWN}/embed")
    assert error["hint"]


def test_infinity_embeds_at_its_root(root: Path) -> None:
    with playing(infinity()) as played:
        values = {"embedding.provider": "infinity", "embedding.url": played.url, "embedding.model": "subjects"}
        with Engine.open(root, overrides=values) as engine:
            assert engine.index()["model"]["missing"] == 0
            assert not engine.search("who is forwarded elsewhere").degraded
        assert {path for path, _ in played.asked} == {"/embeddings"}
        (found,) = stack(of(values), root)
        assert (found.version, found.model, found.dims) == ("0.0.78", "subjects", DIMS)
        (other,) = stack(of({**values, "embedding.model": "none"}), root)
        assert "Available model names are ['subjects']" in other.problem
    with pytest.raises(ConfigError, match=r"embedding\.model is empty"):
        Engine.open(root, overrides={"embedding.provider": "infinity"})


def test_a_server_of_another_protocol_is_reported_in_its_own_words(root: Path) -> None:
    with playing(infinity()) as played:
        values = {"embedding.provider": "tei", "embedding.url": played.url, "reranker.url": played.url}
        found = {entry.service: entry.problem for entry in stack(of(values), root)}
    assert found["embedding"] == f"{played.url} answers 404: Not Found"
    assert found["reranker"] == f"{played.url} answers 422: Field required (body.documents)"


def test_what_is_down_at_its_default_address_is_named_by_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "INFINITY_URL", DOWN)
    (found,) = stack(of({"embedding.provider": "infinity", "embedding.model": "subjects"}), root)
    assert (found.address, found.reachable) == (DOWN, False)


def test_a_store_that_is_down_is_an_error_of_its_own(root: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(url: str, settings: Settings) -> Any:
        raise StoreError("the store does not answer", "start it")

    monkeypatch.chdir(root)
    monkeypatch.setattr("lurcher.stores.shared.store_at", lost)
    monkeypatch.setenv("LURCHER_STORE", "qdrant://me:secret@127.0.0.1:9")
    for command in (["search", QUESTION], ["index", "-q"]):
        error = ask(*command, "--json").json["error"]
        assert (error["code"], error["service"], error["tried"]) == ("store", "store", "qdrant://me:***@127.0.0.1:9")
        assert "lurcher doctor" in error["hint"]
    answer = ask("search", QUESTION, "--json", "--set", "store.fallback=local").json
    assert answer["hits"][0]["path"] == "src/client.py"
    assert "the local index answered" in answer["degraded"][0]["reason"]
