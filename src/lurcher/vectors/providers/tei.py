"""`tei`: text-embeddings-inference, and other servers with its `/embed`. The server was started with its one model."""

from __future__ import annotations

from typing import Any

from lurcher.errors import ServerError
from lurcher.net.http import Deadline
from lurcher.vectors.service import Identity, ProviderRequest, Service, char_limit, connect_service

DEFAULT = "http://127.0.0.1:8080"


def identity(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, DEFAULT)
    return {"model": wanted.settings.model}


def connect(wanted: ProviderRequest) -> Service:
    def body(texts: list[str]) -> Any:
        return {"inputs": texts, "normalize": True, "truncate": True}

    return Service(connect_service(wanted, DEFAULT), "/embed", body, lambda answer: answer, char_limit(wanted), _name)


def _name(service: Service, deadline: Deadline) -> str:
    try:
        found = service.request("/info", deadline)
    except ServerError as problem:
        if problem.status:  # other servers may not have this endpoint
            return ""
        raise
    name = found.get("model_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.isprintable() and len(name) < 200 else ""
