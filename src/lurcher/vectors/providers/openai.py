"""`openai`: any server with `/v1/embeddings`, such as OpenAI's own, llama.cpp's, vLLM's or LM Studio's."""

from __future__ import annotations

from typing import Any

from lurcher.errors import ConfigError
from lurcher.vectors.service import Identity, Service, Wanted, address, breaker_for, key_for

CHARS_PER_TOKEN = 2
"""Characters of a token, counted low: most such servers refuse a text that is too long for the model."""


def identity(wanted: Wanted) -> Identity:
    key_for(address(wanted))
    if not wanted.settings.model.strip():
        raise ConfigError("embedding.model is empty", "name the model that the server should use")
    return {"model": wanted.settings.model}


def connect(wanted: Wanted) -> Service:
    base = address(wanted)
    path = "/embeddings" if base.path.rstrip("/").endswith("/v1") else "/v1/embeddings"

    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    most, breaker = wanted.settings.tokens * CHARS_PER_TOKEN, breaker_for(base)
    return Service(base, path, body, rows, most, key_for(base), breaker=breaker)


def rows(answer: Any) -> Any:
    """The rows in the order of the texts, whatever order they come in."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        return None
    places = [entry.get("index", i) for i, entry in enumerate(data)]
    if sorted(place for place in places if type(place) is int) != list(range(len(data))):
        return None
    rows: list[Any] = [None] * len(data)
    for place, entry in zip(places, data, strict=True):
        rows[place] = entry.get("embedding")
    return rows
