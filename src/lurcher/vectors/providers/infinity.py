"""`infinity`: OpenAI's protocol at the root of a server that has several models and truncates long texts itself."""

from __future__ import annotations

from typing import Any

from lurcher.vectors.providers.openai import read_rows
from lurcher.vectors.service import Identity, ProviderRequest, Service, char_limit, connect_service, model_name

DEFAULT = "http://127.0.0.1:7997"


def identity(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, DEFAULT)
    return {"model": model_name(wanted)}


def connect(wanted: ProviderRequest) -> Service:
    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    return Service(connect_service(wanted, DEFAULT), "/embeddings", body, read_rows, char_limit(wanted))
