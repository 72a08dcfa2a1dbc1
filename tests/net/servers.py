"""Servers of every kind that a stack has, on 127.0.0.1: dense and sparse vectors, scores, chat."""

from __future__ import annotations

import re
import socket
import zlib
from typing import Any

from tests.rerank.server import Conduct, Played, send
from tests.vectors.servers import embedding

_WORD = re.compile(r"[a-z]+")


def splade(text: str) -> list[dict[str, Any]]:
    """A place for every word, the weight growing with how often it occurs."""
    words = _WORD.findall(text.lower())
    return [{"index": zlib.crc32(word.encode()) % 30_000, "value": 0.5 + words.count(word)} for word in sorted(set(words))]


def sparse(answer: Any = None) -> Conduct:
    """A server with TEI's `/embed_sparse`; `answer` is what it says in place of vectors."""

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        if path == "/embed_sparse":
            send(wire, [splade(text) for text in body["inputs"]] if answer is None else answer)
        elif path == "/info":
            send(wire, {"model_id": "naver/splade-tiny", "version": "1.7.2", "model_type": {"embedding": {}}})
        else:
            send(wire, {"error": "not found"}, "404 Not Found")

    return conduct


def scoring(raw: bool = False) -> Conduct:
    """A reranker, TEI's way and infinity's: the more words of the question a text has, the better."""

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        if path == "/info":
            send(wire, {"model_id": "acme/reranker", "version": "1.6.0"})
        elif path == "/openapi.json":
            send(wire, {"info": {"title": "infinity", "version": "0.0.77"}})
        elif path == "/rerank":
            texts = body.get("texts", body.get("documents"))
            asked = set(_WORD.findall(body["query"].lower()))
            scores = [len(asked & set(_WORD.findall(text.lower()))) / (len(asked) + 1) for text in texts]
            scores = [10 * score - 5 for score in scores] if raw else scores
            if "texts" in body:
                send(wire, [{"index": i, "score": score} for i, score in enumerate(scores)][::-1])
            else:
                send(wire, {"results": [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]})
        else:
            send(wire, {"error": "not found"}, "404 Not Found")

    return conduct


def infinity(model: str = "subjects") -> Conduct:
    """Embeddings at the root, as infinity has them; a model that it has not is refused."""
    inner = embedding()

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        if path == "/embeddings" and body["model"] == model:
            inner(wire, played, "/v1/embeddings", body)
        elif path == "/embeddings":
            problem = f"Invalid model: Engine for model name `{body['model']}` not found. Available model names are ['{model}']"
            send(wire, {"error": {"message": problem, "type": None, "param": None, "code": 400}}, "400 Bad Request")
        elif path == "/rerank" and "documents" not in body:
            wrong = {"type": "missing", "loc": ["body", "documents"], "msg": "Field required", "input": body}
            send(wire, {"detail": [wrong]}, "422 Unprocessable Entity")
        elif path == "/openapi.json":
            send(wire, {"info": {"title": "infinity", "version": "0.0.78"}})
        else:
            send(wire, {"detail": "Not Found"}, "404 Not Found")

    return conduct
