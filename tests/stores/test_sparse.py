"""The words' leg of a store by a sparse model: kept with the units, asked with the question, never mixed with our terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import ServerError, StoreError
from tests.net.servers import sparse
from tests.rerank import server
from tests.rerank.server import Played, playing

Opened = Callable[..., Engine]
QUESTION = "how are redirects followed"


def by(played: Played | str, **more: Any) -> dict[str, Any]:
    url = played if isinstance(played, str) else played.url
    quick = {"embedding.query_seconds": 1.0, "embedding.seconds": 1.0, "dense.model": "none"}
    return {"overrides": {"sparse.provider": "tei", "sparse.url": url, **quick, **more}}


def asked(played: Played) -> list[str]:
    return [text for path, body in played.asked if path == "/embed_sparse" for text in body["inputs"]]


def test_units_are_stored_and_found_by_the_sparse_model(tree: Path, opened: Opened) -> None:
    with playing(sparse()) as played:
        engine = opened(tree, **by(played))
        done = engine.index()["sent"][0]
        texts = asked(played)
        assert len(texts) == done["sent_units"] and any(text.startswith("src/client.py Client") for text in texts)
        answer = engine.search(QUESTION)
        assert answer.hits[0].path == "src/client.py" and not answer.degraded
        assert asked(played)[len(texts) :] == [QUESTION]
        engine.search(QUESTION, mode="lexical")
        before = len(asked(played))
        (tree / "src/new.py").write_text('def larder():\n    """Keeps apples."""\n')
        assert engine.index()["sent"][0]["sent_files"] == 1
        assert [text.partition("\n")[0] for text in asked(played)[before:]] == ["src/new.py larder"]


def test_a_service_that_is_down_leaves_the_leg_out_and_says_so(tree: Path, opened: Opened) -> None:
    with playing(sparse()) as played:
        opened(tree, **by(played)).index()
    lost = opened(tree, **by(played))
    answer = lost.search("Client.retry")
    assert answer.hits[0].path == "src/client.py"  # by its name
    note = next(note for note in answer.degraded if note.stage == "sparse")
    assert f"nothing answers at {played.url}; words were not compared" in note.reason
    assert len([note for note in answer.degraded if note.stage == "sparse"]) == 1


def test_an_index_run_without_the_service_fails_and_is_taken_up_later(tree: Path, opened: Opened) -> None:
    with playing(server.failing) as played, pytest.raises(ServerError) as raised:
        opened(tree, **by(played)).index()
    assert (raised.value.service, raised.value.tried) == ("sparse", f"POST {played.url}/embed_sparse")
    with playing(sparse()) as played:
        engine = opened(tree, **by(played))
        engine.index()
        assert engine.search(QUESTION).hits


def test_models_are_not_mixed(tree: Path, opened: Opened) -> None:
    with playing(sparse()) as played:
        opened(tree, **by(played)).index()
        for other in ({"overrides": {"dense.model": "none"}}, by(played, **{"sparse.model": "another"})):
            engine = opened(tree, **other)
            answer = engine.search("Client.retry")
            assert [note.reason for note in answer.degraded if note.stage == "sparse"] == [
                "shop in the store has vectors of another sparse model, which were not compared"
            ]
            with pytest.raises(StoreError, match="another sparse model"):
                engine.index()
        opened(tree, overrides={"dense.model": "none"}).index(rebuild=True)
        assert not opened(tree, overrides={"dense.model": "none"}).search(QUESTION).degraded


def test_terms_need_no_service(tree: Path, opened: Opened) -> None:
    engine = opened(tree, overrides={"sparse.url": "http://127.0.0.1:9"})
    engine.index()
    assert engine.search(QUESTION).hits[0].path == "src/client.py"
