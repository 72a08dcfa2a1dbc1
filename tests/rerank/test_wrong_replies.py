"""Servers that answer, and wrongly: an answer never pretends that all hits were reranked, or all texts embedded."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lurcher.config import Settings, apply
from lurcher.engine import Engine
from lurcher.errors import LurcherError, ModelError, ServerError
from lurcher.net.http import Deadline
from lurcher.types import Answer
from lurcher.vectors import providers
from lurcher.vectors.service import ProviderRequest, make_sparse_embedder
from lurcher.vectors.text_model import TextModel
from tests.rerank.server import Played, playing, replying, send

COUNT = 6
QUERY = "weigh the parcel"
Scores = list[dict[str, Any]]

ALL: Scores = [{"index": i, "score": (i + 1) / 10} for i in range(COUNT)]
MOSTLY_WRONG: dict[str, Scores] = {
    "half of them": ALL[: COUNT // 2],
    "one of all": ALL[-1:],
    "two of all": ALL[-2:],
    "one place for all": [{"index": 0, "score": score / 10} for score in range(COUNT)],
    "one place and one score for all": [{"index": 5, "score": 0.9}] * COUNT,
    "counted from 1": [{"index": i + 1, "score": 0.1 * i} for i in range(COUNT)],
    "places that no text has": [*ALL, {"index": COUNT, "score": 0.5}],
    "below 0": [*ALL[1:], {"index": -1, "score": 0.5}],
    "a place that is far away": [{"index": 10**30, "score": 0.5}, *ALL],
    "no numbers": [{"index": i, "score": float("nan")} for i in range(COUNT)],
    "without end": [{"index": i, "score": float("inf")} for i in range(COUNT)],
    "words": [{"index": i, "score": "high"} for i in range(COUNT)],
    "places as words": [{"index": str(i), "score": 0.5} for i in range(COUNT)],
    "yes and no": [{"index": i, "score": True} for i in range(COUNT)],
    "nothing": [],
}
PARTLY_WRONG: dict[str, tuple[Scores, int]] = {
    "one is missing": (ALL[1:], 1),
    "one twice, and they differ": ([*ALL, {"index": 0, "score": 0.99}], 1),
    "one instead of another": ([*ALL[1:], {"index": 1, "score": 0.99}], 2),
    "one that is no number": ([*ALL[1:], {"index": 0, "score": float("nan")}], 1),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(COUNT):
        (tmp_path / f"parcel_{number}.py").write_text(f"def weigh_{number}(parcel):\n    return parcel.weight + {number}\n")
    return tmp_path


def tei_says(scores: Scores) -> Callable[[socket.socket, Played, str, Any], None]:
    return lambda wire, played, path, body: send(wire, scores)


def infinity_says(scores: Scores) -> Callable[[socket.socket, Played, str, Any], None]:
    found = [{"index": entry["index"], "relevance_score": entry["score"]} for entry in scores]
    return lambda wire, played, path, body: send(wire, {"results": found})


def asked(tree: Path, overrides: dict[str, Any], rerank: list[str], **more: Any) -> Answer:
    with Engine.open(tree, root=tree, overrides=overrides) as engine:
        return engine.search(QUERY, rerank=rerank, limit=COUNT, **more)


def order(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


def reranked(tree: Path, name: str, scores: Scores, **more: Any) -> Answer:
    """Hits reranked by one that says these scores, in its own way."""
    if name == "llm":
        numeric = (int, float)
        tenths = [{**entry, "score": 10 * entry["score"] if type(entry["score"]) in numeric else entry["score"]}
                  for entry in scores]  # fmt: skip
        with playing(replying(lambda system, text, body: json.dumps(tenths))) as played:
            return asked(tree, {"judge.url": played.url}, ["llm"], **more)
    says = tei_says if name == "tei" else infinity_says
    with playing(says(scores)) as played:
        return asked(tree, {"reranker.url": played.url, "reranker.protocol": name}, ["cross"], **more)


@pytest.mark.parametrize("name", ["tei", "infinity", "llm"])
def test_right_scores_are_followed_without_a_word(tree: Path, name: str) -> None:
    before = order(asked(tree, {}, ["none"]))
    answer = reranked(tree, name, ALL)
    assert order(answer) == before[::-1] and not answer.degraded


@pytest.mark.parametrize("lie", MOSTLY_WRONG)
@pytest.mark.parametrize("name", ["tei", "infinity", "llm"])
def test_where_most_got_no_score_the_order_stays_and_the_answer_says_so(tree: Path, name: str, lie: str) -> None:
    if name == "llm" and lie in ("places that no text has", "below 0", "a place that is far away", "places as words"):
        pytest.skip("a chat model may say more than it was asked, and numbers as words: all that counts is there")
    answer = reranked(tree, name, MOSTLY_WRONG[lie])
    assert order(answer) == order(asked(tree, {}, ["none"]))
    stage = "llm" if name == "llm" else "cross"
    assert [note.stage for note in answer.degraded] == [stage]
    assert answer.degraded[0].reason.endswith("; the order is as it was before")
    assert not any(stage in hit.why.scores for hit in answer.hits)


@pytest.mark.parametrize("lie", PARTLY_WRONG)
@pytest.mark.parametrize("name", ["tei", "infinity"])
def test_where_some_got_no_score_the_answer_says_how_many(tree: Path, name: str, lie: str) -> None:
    scores, missed = PARTLY_WRONG[lie]
    answer = reranked(tree, name, scores)
    assert [note.reason for note in answer.degraded] == [f"{missed} of {COUNT} hits got no score, and count as 0.5"]
    assert sum("cross" in hit.why.scores for hit in answer.hits) == COUNT - missed


def test_a_judge_that_forgets_one_is_reported_on_every_page(tree: Path) -> None:
    judge = replying(lambda system, text, body: json.dumps(ALL[1:]))
    with playing(judge) as played, Engine.open(tree, root=tree, overrides={"judge.url": played.url}) as engine:
        first = engine.search(QUERY, rerank=["llm"], limit=2)
        second = engine.search(QUERY, rerank=["llm"], limit=2, cursor=first.next)
    for answer in (first, second):
        assert f"1 of {COUNT} hits got no score" in answer.degraded[0].reason
    assert "judge.model" in first.degraded[0].hint


# -- vectors --------------------------------------------------------------------------------------------------------------

TEXTS = ["a text", "another", "a third", "a fourth"]
GOOD = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 1.0]]
BAD: dict[str, Any] = {
    "fewer": GOOD[:3],
    "more": [*GOOD, [1.0, 2.0]],
    "none": [],
    "one": GOOD[0],
    "one for all": [[1.0, 2.0]] * 4,
    "of several sizes": [*GOOD[:3], [1.0]],
    "of no size": [[], [], [], []],
    "not all numbers": [*GOOD[:3], [float("nan"), 1.0]],
    "without end": [*GOOD[:3], [float("inf"), 1.0]],
    "words": [*GOOD[:3], ["a", "b"]],
    "yes and no": [*GOOD[:3], [True, False]],
    "nothing": None,
    "no length": [*GOOD[:3], [0.0, 0.0]],
}
SHAPES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "tei": (providers.connect_tei, lambda rows: rows),
    "ollama": (providers.connect_ollama, lambda rows: {"embeddings": rows}),
    "openai": (providers.connect_openai, lambda rows: {"data": _indexed(rows)}),
    "infinity": (providers.connect_infinity, lambda rows: {"data": _indexed(rows)}),
}


def _indexed(rows: Any) -> Any:
    return [{"index": i, "embedding": row} for i, row in enumerate(rows)] if isinstance(rows, list) else rows


def embedded(provider: str, answer: Any) -> Any:
    with playing(lambda wire, played, path, body: send(wire, answer)) as played:
        values = {"embedding.provider": provider, "embedding.url": played.url, "embedding.model": "m"}
        service = SHAPES[provider][0](ProviderRequest(apply(Settings(), values, "flag"), Path()))
        return service.embed(TEXTS, Deadline.after(30))


@pytest.mark.parametrize("provider", SHAPES)
def test_right_vectors_are_taken(provider: str) -> None:
    assert embedded(provider, SHAPES[provider][1](GOOD)).shape == (4, 2)


@pytest.mark.parametrize("lie", BAD)
@pytest.mark.parametrize("provider", SHAPES)
def test_wrong_vectors_are_an_error(provider: str, lie: str) -> None:
    with pytest.raises(ServerError):
        embedded(provider, SHAPES[provider][1](BAD[lie]))


@pytest.mark.parametrize("places", [[0, 0, 0, 0], [0, 1, 1, 2], [1, 2, 3, 4], [0, 1, 2, "3"], [0, 1, 2, None], [-1, 0, 1, 2]])
def test_vectors_for_texts_that_were_not_sent_are_an_error(places: list[Any]) -> None:
    data = [{"index": place, "embedding": row} for place, row in zip(places, GOOD, strict=True)]
    with pytest.raises(ServerError):
        embedded("openai", {"data": data})


@pytest.mark.parametrize(
    "answer", [[[{"index": 1, "value": 1.0}]] * 3, [], None, [{"index": 1}] * 4, [[{"index": 1, "value": "x"}]] * 4,
               [[{"index": 1, "value": float("nan")}]] * 4, [[{"index": -1, "value": 1.0}]] * 4, [[5]] * 4],
)  # fmt: skip
def test_wrong_sparse_vectors_are_an_error(answer: Any) -> None:
    with playing(lambda wire, played, path, body: send(wire, answer)) as played:
        embedder = make_sparse_embedder(apply(Settings(), {"sparse.provider": "tei", "sparse.url": played.url}, "flag"))
        assert embedder is not None
        with pytest.raises(LurcherError):
            embedder.embed_documents(TEXTS)


@pytest.mark.parametrize("rows", [np.ones((3, 2)), np.ones(2), np.full((4, 2), np.nan), "words", None])
def test_a_provider_of_another_package_is_checked_too(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def embed(self, texts: Any, deadline: Any) -> Any:
            return rows

    made = (lambda wanted: {}, lambda wanted: Other())
    monkeypatch.setattr("lurcher.vectors.text_model.provider_named", lambda name: made)
    model = TextModel(apply(Settings(), {"embedding.provider": "theirs"}, "flag"), Path())
    with pytest.raises(ModelError):
        model.embed_documents(TEXTS, Deadline.after(5))
