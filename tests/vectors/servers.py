"""A server that embeds: TEI's way, OpenAI's and Ollama's; and ways to do it wrong.

Its model knows what words are about. Texts about the same things are near each other, whatever their words.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.rerank.server import Conduct, Played, send

SUBJECTS = (
    ("redirect", "redirects", "forwarded", "location", "follow", "elsewhere", "moved"),
    ("cookie", "cookies", "jar", "remembered", "visitor", "biscuit"),
    ("pool", "connection", "connections", "idle", "acquire", "reuse", "sockets"),
    ("retry", "attempt", "backoff", "failure", "again", "perseverance"),
    ("route", "routes", "router", "dispatch", "register", "signpost"),
    ("cache", "evict", "expired", "entries", "stale", "larder"),
)
DIMS = len(SUBJECTS) + 10
_WORD = re.compile(r"[a-z]+")

Embed = Callable[[Sequence[str]], list[list[float]]]


def vectors(texts: Sequence[str], dims: int = DIMS) -> list[list[float]]:
    """One number for each subject, and a little of a text's own so that none is without a direction."""
    rows = []
    for text in texts:
        words = _WORD.findall(text.lower())
        row = np.random.default_rng(zlib.crc32(text.encode())).uniform(0, 0.02, dims)
        for i, subject in enumerate(SUBJECTS):
            row[i] += sum(word in subject for word in words) ** 0.5
        rows.append([float(value) for value in row])
    return rows


def embedding(embed: Embed = vectors, model: str = "subjects") -> Conduct:
    """A server that speaks all three protocols."""

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        if path == "/embed":
            send(wire, embed(body["inputs"]))
        elif path == "/info":
            send(wire, {"model_id": model, "max_input_length": 512})
        elif path == "/v1/embeddings":
            rows = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(embed(body["input"]) or ())]
            send(wire, {"object": "list", "data": rows[::-1], "model": body["model"]})  # in another order than asked
        elif path == "/api/embed":
            if body["model"] != model:
                send(wire, {"error": f"model \"{body['model']}\" not found, try pulling it first"}, "404 Not Found")
            else:
                send(wire, {"model": model, "embeddings": embed(body["input"])})
        else:
            send(wire, {"error": "not found"}, "404 Not Found")

    return conduct


def wrongly(change: Callable[[list[list[Any]]], Any]) -> Conduct:
    """A server that answers with something else than it should."""
    return embedding(lambda texts: change(vectors(texts)))


def after(times: int, first: Conduct, then: Conduct) -> Conduct:
    """A server that does one thing some times, then another."""

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        (first if len(played.asked) <= times else then)(wire, played, path, body)

    return conduct


def saying(status: str, headers: str = "") -> Conduct:
    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        send(wire, {"error": "not now"}, status, headers)

    return conduct


def texts_in(played: Played) -> list[str]:
    """Every text that was to be embedded."""
    found: list[str] = []
    for path, body in played.asked:
        if path in ("/embed", "/v1/embeddings", "/api/embed"):
            found += body["inputs" if path == "/embed" else "input"]
    return found
