"""`infinity`: OpenAI's shape at the root of a server that cuts long texts itself; of its models one is asked by name."""

from __future__ import annotations

from typing import Any

from lurcher.errors import ConfigError
from lurcher.vectors.providers.openai import rows
from lurcher.vectors.service import Identity, Service, Wanted, address, breaker_for, key_for, most_chars

DEFAULT = "http://127.0.0.1:7997"


def identity(wanted: Wanted) -> Identity:
    key_for(address(wanted, DEFAULT))
    if not wanted.settings.model.strip():
        raise ConfigError("embedding.model is empty", "name the model that the server should use")
    return {"model": wanted.settings.model}


def connect(wanted: Wanted) -> Service:
    base = address(wanted, DEFAULT)

    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    key, breaker = key_for(base), breaker_for(base)
    return Service(base, "/embeddings", body, rows, most_chars(wanted), key, breaker=breaker)
