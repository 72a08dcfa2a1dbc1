"""Sparse vectors from a server: in batches, checked, and never without a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import ConfigError, ServerError
from lurcher.net import resilience
from lurcher.vectors.service import SparseEmbedder, make_sparse_embedder
from tests.net.servers import sparse, splade
from tests.rerank import server
from tests.rerank.server import playing
from tests.vectors.servers import after, saying


def embedder(url: str, **settings: Any) -> SparseEmbedder:
    found = make_sparse_embedder(of(url, **settings))
    assert found is not None
    return found


def of(url: str, **settings: Any) -> Settings:
    values = {"sparse.provider": "tei", "sparse.url": url, "embedding.seconds": 2.0, "embedding.query_seconds": 2.0, **settings}
    return config.apply(Settings(), {key.replace("__", "."): value for key, value in values.items()}, "flag")


def test_our_own_terms_need_no_server() -> None:
    assert make_sparse_embedder(Settings()) is None


def test_every_text_has_its_vector_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lurcher.vectors.service.BATCH", 7)
    texts = [f"cookie jar number {i} {'jar ' * (i % 5)}" for i in range(50)]
    with playing(sparse()) as played:
        for concurrency in (1, 4):
            monkeypatch.setattr(resilience, "PACE", resilience.Pace(concurrency=concurrency))
            resilience.reset_breakers()
            found = embedder(played.url).embed_documents(texts)
            assert len(found) == 50
            for text, vector in zip(texts, found, strict=True):
                expected = sorted((entry["index"], entry["value"]) for entry in splade(text))
                assert list(zip(vector.numbers.tolist(), vector.weights.tolist(), strict=True)) == expected
                assert (vector.numbers.dtype, vector.weights.dtype) == (np.uint32, np.float32)
        sizes = [len(body["inputs"]) for _, body in played.asked]
    assert sorted(sizes) == [1, 1, *[7] * 14]
    assert all(body["truncate"] is True for _, body in played.asked)


def test_no_texts_send_no_request() -> None:
    with playing(sparse()) as played:
        assert embedder(played.url).embed_documents([]) == []
    assert played.asked == []


def test_texts_are_cut_at_the_limit_of_tokens() -> None:
    with playing(sparse()) as played:
        chosen = embedder(played.url, embedding__tokens=16)
        chosen.embed_query("where")
        chosen.embed_documents(["x" * 1000])
    assert [body["inputs"] for _, body in played.asked] == [["where"], ["x" * 64]]


def test_only_the_greatest_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lurcher.vectors.service.TOP", 5)
    entries = [{"index": i, "value": float(i % 10)} for i in range(100, 200)]
    with playing(sparse([entries])) as played:
        found = embedder(played.url).embed_query("a")
    assert found.numbers.tolist() == [109, 119, 129, 139, 149] and set(found.weights.tolist()) == {9.0}


def test_numbers_that_are_not_positive_are_left_out() -> None:
    with playing(sparse([[{"index": 1, "value": 0.0}, {"index": 2, "value": -3.5}]])) as played:
        assert embedder(played.url).embed_query("a").numbers.tolist() == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": 1}, "answers without sparse vectors"),
        (["a"], "answers without sparse vectors"),
        ([[], []], "2 sparse vectors for 1 texts"),
        ([[7]], "not term numbers"),
        ([[{"index": -1, "value": 1}]], "not term numbers"),
        ([[{"index": 1 << 32, "value": 1}]], "not term numbers"),
        ([[{"index": True, "value": 1}]], "not term numbers"),
        ([[{"index": 1.5, "value": 1}]], "not term numbers"),
        ([[{"index": 1, "value": "1"}]], "not all numbers"),
        ([[{"index": 1}]], "not all numbers"),
        ([[{"index": 1, "value": 10**400}]], "not all numbers"),
        ([[{"index": 1, "value": 1e300}]], "not all numbers"),
        (b'[[{"index": 1, "value": NaN}]]', "not all numbers"),
        ([[{"index": 1, "value": 1}] * 250_001], "250,001 numbers"),
    ],
)
def test_answers_that_make_no_sense_are_refused(answer: Any, said: str) -> None:
    with playing(sparse(answer)) as played, pytest.raises(ServerError, match=said) as raised:
        embedder(played.url, embedding__query_seconds=60.0).embed_query("a")
    assert raised.value.service == "sparse"


def test_the_same_place_twice_counts_once() -> None:
    with playing(sparse([[{"index": 3, "value": 1.0}, {"index": 3, "value": 2.0}]])) as played:
        found = embedder(played.url).embed_query("a")
    assert (found.numbers.tolist(), found.weights.tolist()) == ([3], [2.0])


BAD = [server.hanging, server.dripping_body, server.garbage, server.half, server.huge, server.elsewhere, server.not_json]


@pytest.mark.parametrize("conduct", BAD)
def test_bad_servers_cost_no_more_than_the_limit(conduct: server.Conduct) -> None:
    with playing(conduct) as played, pytest.raises(ServerError) as raised:
        embedder(played.url, embedding__query_seconds=0.3).embed_query("a")
    assert raised.value.service == "sparse"


def test_a_server_that_comes_back_is_waited_for() -> None:
    with playing(after(2, saying("503 Service Unavailable"), sparse())) as played:
        assert len(embedder(played.url, embedding__seconds=10.0).embed_documents(["a cookie"])) == 1


def test_a_service_that_is_down_gets_no_request_after_three_failures() -> None:
    with playing(server.failing) as played:
        chosen = embedder(played.url, embedding__query_seconds=0.1)
        for _ in range(5):
            with pytest.raises(ServerError):
                chosen.embed_query("a")
        assert len(played.asked) == 3
        with pytest.raises(ServerError, match="failed 3 times in a row") as raised:
            chosen.embed_query("a")
    assert raised.value.tried == f"POST {played.url}/embed_sparse"


def test_a_server_without_a_sparse_model_is_reported_in_its_words_and_asked_once() -> None:
    problem = "Backend error: Model is not an embedding model with SPLADE pooling"

    def conduct(wire: Any, played: server.Played, path: str, body: Any) -> None:
        server.send(wire, {"error": problem, "error_type": "Backend"}, "424 Failed Dependency")

    with playing(conduct) as played:
        with pytest.raises(ServerError, match=f"answers 424: {problem}"):
            embedder(played.url).embed_documents(["cookie jar"])
        assert len(played.asked) == 1


def test_the_fingerprint_depends_on_how_documents_are_embedded_only() -> None:
    url = "http://127.0.0.1:9"
    one = embedder(url).fingerprint
    assert embedder("http://127.0.0.1:10", embedding__query_prefix="q: ", embedding__seconds=9.0).fingerprint == one
    for change in ({"sparse__model": "b"}, {"embedding__tokens": 99}):
        assert embedder(url, **change).fingerprint != one


def test_a_project_cannot_decide_where_text_is_sent() -> None:
    for values in ({"sparse.provider": "tei"}, {"sparse.url": "http://127.0.0.1:9"}):
        mine = config.apply(Settings(), values, config.PROJECT_FILE)
        with pytest.raises(ConfigError, match="which a project cannot"):
            make_sparse_embedder(config.apply(mine, {"sparse.provider": "tei"} if "sparse.url" in values else {}, "flag"))


def test_a_key_is_sent_along_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_SPARSE_KEY", "s3cret-key")
    with playing(sparse()) as played:
        chosen = embedder(played.url)
        chosen.embed_query("a")
        assert "Authorization: Bearer s3cret-key" in played.heads[0]
        assert "s3cret" not in repr(chosen) + chosen.fingerprint
    config.load(None)  # the key is no setting
    with pytest.raises(ConfigError, match="in the clear"):
        embedder("http://example.com")
