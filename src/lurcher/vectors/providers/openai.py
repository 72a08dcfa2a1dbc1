"""`openai`: any server with `/v1/embeddings`, such as OpenAI's own, llama.cpp's, vLLM's or LM Studio's."""

from __future__ import annotations

from typing import Any

from lurcher.vectors.service import Identity, ProviderRequest, Service, connect_service, model_name

CHARS_PER_TOKEN = 2
"""Characters per token, a low estimate: most such servers refuse a text that is too long for the model."""


def identity(wanted: ProviderRequest) -> Identity:
    connect_service(wanted)
    return {"model": model_name(wanted)}


def connect(wanted: ProviderRequest) -> Service:
    client = connect_service(wanted)
    path = "/embeddings" if client.base.path.rstrip("/").endswith("/v1") else "/v1/embeddings"

    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    return Service(client, path, body, read_rows, wanted.settings.tokens * CHARS_PER_TOKEN)


def read_rows(answer: Any) -> Any:
    """The rows of a reply in the order of the texts."""
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
