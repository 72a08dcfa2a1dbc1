"""A cross-encoder in ONNX, from a folder or from the hub cache, and the servers that stand in for one."""

from __future__ import annotations

import math
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from lurcher.config import Settings, apply
from lurcher.engine import Engine
from lurcher.errors import ModelError, ServerError
from lurcher.rerank import cross
from lurcher.rerank.stage import Candidate, Request
from lurcher.runtime.process import Cache
from tests.rerank.onnx_model import make_model
from tests.rerank.server import Played, playing, send

onnx = pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

WORDS = "parcel weigh scale stamp post letter the a is how".split()


def request(texts: list[str], query: str = "weigh parcel", warm: Cache | None = None, **values: Any) -> Request:
    settings = apply(Settings(), {key.replace("__", "."): value for key, value in values.items()}, "flag")
    return Request(query, [Candidate("", text, 1.0) for text in texts], settings, Path(), warm or Cache())


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), WORDS)


def test_scores_are_the_models_through_a_sigmoid(folder: Path) -> None:
    found = cross.rerank(request(["stamp", "weigh parcel", "parcel parcel parcel", ""], reranker__model=str(folder)))
    assert found.scores == pytest.approx([sigmoid(shared - 1) for shared in (0, 2, 3, 0)])
    assert not found.notes


def test_batches_and_lengths_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["parcel " * (count % 3) + "stamp " * count for count in range(12)]
    expected = [sigmoid(count % 3 - 1) for count in range(12)]
    for batch in (1, 2, 5, 50):
        monkeypatch.setattr(cross, "BATCH", batch)
        found = cross.rerank(request(texts, reranker__model=str(folder)))
        assert found.scores == pytest.approx(expected)


def test_a_long_text_is_cut_and_the_question_is_not(folder: Path) -> None:
    question = "stamp " * 80 + "parcel"
    texts = ["post " * 30 + "parcel", "post " * 500 + "parcel", "parcel " + "post " * 500]
    found = cross.rerank(request(texts, question, reranker__model=str(folder)))
    # The last word of the question is always there; the last of the longer text is behind what 128 tokens hold.
    assert found.scores == pytest.approx([sigmoid(0), sigmoid(-1), sigmoid(0)]) and not found.notes


def test_a_question_without_end_leaves_room_for_the_text(folder: Path) -> None:
    found = cross.rerank(request(["parcel", "stamp"], "parcel " * 4000, reranker__model=str(folder)))
    first, second = found.scores
    assert first is not None and second is not None and first > second
    assert "longer than the model reads" in found.notes[0].reason


def test_two_classes_are_yes_and_no(tmp_path: Path) -> None:
    made = make_model(tmp_path, WORDS, classes=2)
    found = cross.rerank(request(["parcel weigh", "stamp"], reranker__model=str(made)))
    assert found.scores == pytest.approx([sigmoid(1), sigmoid(-1)])


def test_a_model_of_the_hub_cache_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    held = tmp_path / "models--acme--judge"
    make_model(held / "snapshots" / "0123abc", WORDS, place="onnx/model.onnx")
    make_model(held / "snapshots" / "ffff000", WORDS, bias=9.0, place="onnx/model.onnx")
    (held / "refs").mkdir()
    (held / "refs" / "main").write_text("0123abc")
    found = cross.rerank(request(["parcel"], reranker__model="acme/judge"))
    assert found.scores == pytest.approx([sigmoid(0)])


def test_a_missing_model_is_named_with_the_command_that_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"BAAI/bge-reranker-base is not on this machine") as raised:
        cross.rerank(request(["parcel"]))
    assert "hf download BAAI/bge-reranker-base" in raised.value.hint


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_model_is_reported(tmp_path: Path, broken: str) -> None:
    (make_model(tmp_path, WORDS) / broken).write_bytes(b"\x00nonsense")
    with pytest.raises(ModelError):
        cross.rerank(request(["parcel"], reranker__model=str(tmp_path)))


def test_the_model_is_loaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm = Cache()
    cross.rerank(request(["parcel"], warm=warm, reranker__model=str(folder)))
    monkeypatch.setattr("lurcher.rerank.cross.CrossEncoder.__init__", None)  # a second one could not be made
    assert cross.rerank(request(["parcel"], warm=warm, reranker__model=str(folder))).scores == pytest.approx([0.5])


def test_too_little_time_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lurcher.net.http import Deadline

    monkeypatch.setattr(Deadline, "left", property(lambda self: 0.0))
    with pytest.raises(ModelError, match=r"0 of 2 pairs were scored"):
        cross.rerank(request(["parcel", "stamp"], reranker__model=str(folder)))


def test_hits_are_reordered_and_say_so(tmp_path: Path, folder: Path) -> None:
    for name, text in {"a": "parcel = 1", "b": "parcel = weigh = 1\nparcel = weigh", "c": "parcel = 2"}.items():
        (tmp_path / f"{name}.py").write_text(text + "\n")
    with Engine.open(tmp_path, root=tmp_path, overrides={"reranker.model": str(folder)}) as engine:
        plain = engine.search("parcel weigh", rerank=["none"])
        found = engine.search("parcel weigh", rerank=["cross"])
    assert found.hits[0].path == "b.py" and {hit.id for hit in found.hits} == {hit.id for hit in plain.hits}
    for rank, hit in enumerate(found.hits, 1):
        assert hit.score == hit.why.scores["cross"]
        before = next(place for place, other in enumerate(plain.hits, 1) if other.id == hit.id)
        moved = f"stays at {rank}" if before == rank else f"from {before} to {rank}"
        assert hit.why.stages[-1].stage == "cross" and hit.why.stages[-1].note.endswith(moved)
    assert not found.degraded and "rerank" in found.timings_ms


def test_without_reranking_no_model_is_loaded(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "a.py").write_text("parcel = 1\n")
    script = (
        "import sys; from lurcher.surfaces.cli import main\n"
        f"code = main(['search', 'parcel', {str(tmp_path)!r}, '--no-rerank', '--rerank', 'cross'])\n"
        "print(code, sorted({'onnxruntime', 'tokenizers', 'http.client'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


# -- servers ----------------------------------------------------------------------------------------------------------


def _pair_scores(body: Any, texts: list[str]) -> list[float]:
    words = body["query"].split()
    return [sum(word in text for word in words) / len(words) for text in texts]


def tei(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    assert path == "/rerank" and len(body["texts"]) <= 32 and body["raw_scores"] is False
    scores = _pair_scores(body, body["texts"])
    found = [{"index": i, "score": score} for i, score in enumerate(scores)]
    send(wire, sorted(found, key=lambda entry: -entry["score"]))


def infinity(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    if "documents" not in body:
        send(wire, {"detail": "documents is missing"}, "422 Unprocessable Entity")
        return
    found = [{"index": i, "relevance_score": 8 * score - 4} for i, score in enumerate(_pair_scores(body, body["documents"]))]
    send(wire, {"object": "rerank", "results": found[::-1]})


def forgetful(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    odd = [{"index": "2", "score": 1}, {"index": 0, "score": "high"}, {"index": True, "score": 1}, 5]
    send(wire, [{"index": 1, "score": 0.9}, *odd])


def test_requests_to_tei_have_at_most_its_batch_size() -> None:
    texts = [f"letter {i} " + "weigh " * (i % 2) + "parcel" * (i == 40) for i in range(50)]
    with playing(tei) as played:
        found = cross.rerank(request(texts, reranker__url=played.url))
    assert len(played.asked) == 2
    assert found.scores == tuple((i % 2 + (i == 40)) / 2 for i in range(50))


def test_infinity_and_scores_that_are_no_shares() -> None:
    with playing(infinity) as played:
        texts = ["stamp", "weigh", "weigh parcel"]
        found = cross.rerank(request(texts, reranker__url=played.url, reranker__protocol="infinity"))
    assert found.scores == pytest.approx([sigmoid(-4), sigmoid(0), sigmoid(4)])


def test_a_text_that_a_server_forgets_has_no_score() -> None:
    with playing(forgetful) as played:
        assert cross.rerank(request(["a", "b", "c"], reranker__url=played.url)).scores == (None, 0.9, None)


def test_a_server_that_speaks_otherwise_is_reported() -> None:
    with playing(infinity) as played, pytest.raises(ServerError, match="422: "):
        cross.rerank(request(["a"], reranker__url=played.url))


def test_the_environment_names_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("parcel = 1\n")
    (tmp_path / "b.py").write_text("parcel = weigh = 1\n")
    with playing(infinity) as played:
        for name, value in {"URL": played.url, "PROTOCOL": "infinity", "MODEL": "acme/judge"}.items():
            monkeypatch.setenv(f"LURCHER_RERANKER_{name}", value)
        with Engine.open(tmp_path, root=tmp_path) as engine:
            assert engine.search("parcel weigh", rerank="cross").hits[0].path == "b.py"
    assert played.asked[0][1]["model"] == "acme/judge"
