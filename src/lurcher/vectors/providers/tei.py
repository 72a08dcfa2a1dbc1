"""`tei`: text-embeddings-inference, and what else speaks its `/embed`. Its model is the one that it was started with."""

from __future__ import annotations

from typing import Any

from lurcher.errors import ServerError
from lurcher.net.http import Deadline
from lurcher.vectors.service import Identity, Service, Wanted, address, breaker_for, key_for, most_chars

DEFAULT = "http://127.0.0.1:8080"


def identity(wanted: Wanted) -> Identity:
    key_for(address(wanted, DEFAULT))
    return {"model": wanted.settings.model}


def connect(wanted: Wanted) -> Service:
    base = address(wanted, DEFAULT)

    def body(texts: list[str]) -> Any:
        return {"inputs": texts, "normalize": True, "truncate": True}

    key, breaker = key_for(base), breaker_for(base)
    return Service(base, "/embed", body, lambda answer: answer, most_chars(wanted), key, _name, breaker)


def _name(service: Service, deadline: Deadline) -> str:
    try:
        found = service.ask("/info", deadline)
    except ServerError as problem:
        if problem.status:  # others that speak the same way need not tell
            return ""
        raise
    name = found.get("model_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.isprintable() and len(name) < 200 else ""
