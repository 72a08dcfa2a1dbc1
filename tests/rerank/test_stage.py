"""The second look: order, scores and reasons after it; pages; several rerankers; all sources."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.config import Settings
from lurcher.engine import Engine, diagnose
from lurcher.errors import CursorError, QueryError
from lurcher.rerank import stage as second
from lurcher.rerank.stage import Candidate, Judged, RerankedOrder, TopHits, run_rerankers
from lurcher.runtime.process import Cache
from lurcher.types import Answer
from tests.corpora.history.repo import Repo
from tests.rerank import server
from tests.rerank.server import Played, playing, replying, send


def rerank(
    monkeypatch: pytest.MonkeyPatch, count: int, judged: dict[str, Judged], top: int = 50, stored: Any = None
) -> RerankedOrder:
    def named(name: str) -> Any:
        return lambda request: judged[name], lambda settings: top

    monkeypatch.setattr(second, "reranker_named", named)
    head = TopHits(count, lambda i: 2.0 - i / 100, lambda i: Candidate("", str(i), 0.0))
    return run_rerankers(list(judged), "q", head, Settings(), Path(), Cache(), stored=stored)


def test_the_best_comes_first_and_equals_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rerank(monkeypatch, 6, {"a": Judged((0.2, 0.9, 0.2, None))}, top=4)
    assert found.order == (1, 3, 0, 2) and found.scores == (0.9, 0.5, 0.2, 0.2)
    assert [found.before(i) for i in range(6)] == [1, 3, 0, 2, 4, 5]
    assert found.stages is not None
    assert found.stages[1][0].note == "scored 0.9: from 2 to 1" and "got no score" in found.stages[3][0].note


def test_a_held_hit_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rerank(monkeypatch, 4, {"a": Judged((0.1, None, 0.2, 0.9), frozenset({1}))})
    assert found.order == (3, 1, 2, 0) and list(found.scores) == sorted(found.scores, reverse=True)
    first = rerank(monkeypatch, 3, {"a": Judged((None, 0.1, 0.2), frozenset({0}))})
    assert first.order == (0, 2, 1) and first.scores == (0.2, 0.2, 0.1)


def test_rerankers_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rerank(monkeypatch, 3, {"a": Judged((0.1, 0.2, 0.3)), "b": Judged((0.4, 0.9, 0.4))})
    assert found.order == (1, 2, 0)
    assert found.stages is not None and [stage.stage for stage in found.stages[1]] == ["a", "b"]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=20), st.sets(st.integers(0, 19)), st.integers(0, 5))
def test_reranking_obeys_its_laws(scores: list[float | None], held: set[int], more: int) -> None:
    kept = frozenset(i for i in held if i < len(scores))
    with pytest.MonkeyPatch.context() as patch:
        found = rerank(patch, len(scores) + more, {"a": Judged(tuple(scores), kept)}, top=len(scores))
        again = rerank(patch, len(scores) + more, {"a": Judged(())}, top=len(scores), stored=found.stored)
    assert sorted(found.order) == list(range(len(scores)))
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert all(found.order[i] == i for i in kept)
    assert (again.order, again.scores, again.stages) == (found.order, found.scores, found.stages)


@pytest.mark.parametrize("bad", [(0.5,), (0.5, 1.5), (0.5, float("nan")), (0.5, "high")])
def test_scores_that_are_not_numbers_are_a_failure(monkeypatch: pytest.MonkeyPatch, bad: Any) -> None:
    found = rerank(monkeypatch, 2, {"a": Judged(bad)})
    assert found.stored == ((),) and found.before(0) == 0 and "the reranker failed" in found.notes[0].reason


# -- through the engine -----------------------------------------------------------------------------------------------


def by_number(system: str, text: str, body: Any) -> str:
    """Rates a document by the number of its file: the last comes first."""
    import re

    found = re.findall(r"^<document (\d+) \w+>\n\| parcel_(\d+)", text, re.MULTILINE)
    return "\n".join(f"{number}:{int(file) / 3}" for number, file in found)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many")
    for i in range(25):
        (root / f"parcel_{i:02}.py").write_text(f"def weigh_{i}(parcel):\n    return 'weigh a parcel' * {i}\n")
    return root


def pages(engine: Engine, limit: int, **options: Any) -> list[Answer]:
    found = [engine.search("weigh a parcel", limit=limit, **options)]
    while found[-1].next:
        found.append(engine.search("weigh a parcel", limit=limit, cursor=found[-1].next, **options))
    return found


def test_further_pages_use_the_first_judgement_even_if_the_server_fails(tree: Path) -> None:
    with playing(replying(by_number)) as played:
        overrides = {"judge.url": played.url, "judge.top": "10"}
        with Engine.open(tree, root=tree, overrides=overrides) as engine:
            whole = engine.search("weigh a parcel", limit=100, rerank=["llm"])
            first = engine.search("weigh a parcel", limit=4, rerank=["llm"])
        assert len(played.asked) == 2
    with Engine.open(tree, root=tree, overrides=overrides) as engine:  # the server is gone
        found = [first]
        while found[-1].next:
            found.append(engine.search("weigh a parcel", limit=4, rerank=["llm"], cursor=found[-1].next))
            assert not found[-1].degraded
        with pytest.raises(CursorError):
            engine.search("weigh a parcel", limit=4, cursor=first.next)
    assert [hit.to_dict() for page in found for hit in page.hits] == [hit.to_dict() for hit in whole.hits]
    numbers = [int(hit.path[7:9]) for hit in whole.hits[:10]]
    assert numbers == sorted(numbers, reverse=True)
    assert [hit.score for hit in whole.hits] == sorted((hit.score for hit in whole.hits), reverse=True)


def test_a_failure_on_the_first_page_is_one_on_all(tree: Path) -> None:
    with playing(server.failing) as played, Engine.open(tree, root=tree, overrides={"judge.url": played.url}) as engine:
        found = pages(engine, 10, rerank=["llm"])
        assert len(played.asked) == 1
        assert all(page.degraded[-1].stage == "llm" for page in found)
        plain = engine.search("weigh a parcel", limit=100)
        assert [hit.id for page in found for hit in page.hits] == [hit.id for hit in plain.hits]


def test_a_budget_applies_to_reranked_hits(tree: Path) -> None:
    with playing(replying(by_number)) as played, Engine.open(tree, root=tree, overrides={"judge.url": played.url}) as engine:
        found = pages(engine, 100, rerank=["llm"], budget=60)
        whole = engine.search("weigh a parcel", limit=100, rerank=["llm"])
    assert all(page.tokens <= 60 for page in found)
    assert sorted(hit.id for page in found for hit in page.hits) == sorted(hit.id for hit in whole.hits)


def test_the_setting_applies_unless_a_request_overrides_it(tree: Path) -> None:
    with playing(replying(by_number)) as played:
        overrides = {"judge.url": played.url, "search.rerank": "outcome llm"}
        with Engine.open(tree, root=tree, overrides=overrides) as engine:
            engine.search("weigh a parcel", rerank=[])
            engine.search("weigh a parcel", rerank=["none"])
            assert not played.asked
            assert engine.search("weigh a parcel").hits[0].why.scores["llm"] > 0.7


def test_exact_matches_are_left_as_they_are(tree: Path) -> None:
    with playing(replying(by_number)) as played, Engine.open(tree, root=tree, overrides={"judge.url": played.url}) as engine:
        found = engine.search("weigh_1", mode="literal", rerank=["llm"])
        assert found.hits and not played.asked
    assert any(note.stage == "llm" and "not reranked" in note.reason for note in found.degraded)


def test_unknown_rerankers_are_errors(tree: Path) -> None:
    with Engine.open(tree, root=tree) as engine:
        with pytest.raises(QueryError, match="unknown reranker 'magic'"):
            engine.search("x", rerank=["magic"])
        with pytest.raises(QueryError, match="needs commits"):
            engine.search("x", rerank=["outcome"])


def test_commits_are_reranked_as_code_is(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tree")
    for i in range(5):
        repo.commit(f"Weigh parcels anew, part {i}", {f"p{i}.py": f"p = {i}\n"})

    def rate(system: str, text: str, body: Any) -> str:
        import re

        found = re.findall(r"^<document (\d+) \w+>\n\| Weigh parcels anew, part (\d)", text, re.MULTILINE)
        return json.dumps([{"index": int(number), "score": 2 * int(part)} for number, part in found])

    with playing(replying(rate)) as played, Engine.open(repo.top, overrides={"judge.url": played.url}) as engine:
        found = engine.history("weigh parcels", rerank=["llm", "outcome"])
        one = engine.search("weigh parcels", sources=["history"], rerank=["llm"], limit=2)
        two = engine.search("weigh parcels", sources=["history"], rerank=["llm"], limit=2, cursor=one.next)
        assert len(played.asked) == 2
    assert [hit.commit.subject[-1] for hit in found.hits] == list("43210")
    assert [hit.score for hit in found.hits] == [0.8, 0.6, 0.4, 0.2, 0.0]
    assert [hit.id for hit in (*one.hits, *two.hits)] == [hit.id for hit in found.hits[:4]]


# -- doctor -----------------------------------------------------------------------------------------------------------


def test_the_doctor_lists_chat_models_without_those_that_embed(tree: Path) -> None:
    with playing(replying(by_number)) as played:
        checks = {finding.check: finding for finding in diagnose(tree, quick=True, overrides={"judge.url": played.url})}
    assert checks["llm"].state == "ok"
    assert checks["llm"].message == f"chat models at {played.url}: llama3.2:1b, qwen2.5:1.5b"


def test_the_doctor_says_what_is_missing(tree: Path) -> None:
    overrides = {"judge.model": "phi3:mini", "reranker.model": "acme/none"}
    with playing(replying(by_number)) as played:
        found = diagnose(tree, quick=True, overrides={"judge.url": played.url, **overrides})
        checks = {finding.check: finding for finding in found}
    assert checks["llm"].hint == "run: ollama pull phi3:mini" and "hf download acme/none" in checks["cross"].hint


def test_the_doctor_sends_no_request_unless_a_server_is_configured(tree: Path) -> None:
    assert not {"llm", "cross"} & {finding.check for finding in diagnose(tree, quick=True)}


def test_chat_models_are_recognised_by_their_capabilities(tree: Path) -> None:
    def able(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        chat = {"id": "embedded-chat", "capabilities": ["completion"]}
        send(wire, {"data": [{"id": "a", "capabilities": ["embedding"]}, chat, 7]})

    with playing(able) as played:
        overrides = {"judge.url": played.url + "/v1", "judge.protocol": "openai"}
        checks = {finding.check: finding for finding in diagnose(tree, quick=True, overrides=overrides)}
        assert played.asked[0][0] == "/v1/models"
    assert checks["llm"].message.endswith(": embedded-chat")
