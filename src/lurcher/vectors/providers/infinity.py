"""`infinity`: OpenAI's protocol at the root of a server that has several models and truncates long texts itself."""

from __future__ import annotations

from typing import Any

from lurcher.errors import ConfigError
from lurcher.vectors.providers.openai import read_rows
from lurcher.vectors.service import Identity, ProviderRequest, Service, breaker_for, char_limit, key_for, server_address

DEFAULT = "http://127.0.0.1:7997"


def identity(wanted: ProviderRequest) -> Identity:
    key_for(server_address(wanted, DEFAULT))
    if not wanted.settings.model.strip():
        raise ConfigError("embedding.model is empty", "name the model that the server should use")
    return {"model": wanted.settings.model}


def connect(wanted: ProviderRequest) -> Service:
    base = server_address(wanted, DEFAULT)

    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    key, breaker = key_for(base), breaker_for(base)
    return Service(base, "/embeddings", body, read_rows, char_limit(wanted), key, breaker=breaker)
