"""Addresses of stores in Qdrant.

qdrant://HOST[:PORT]                              a server; the port is 6333 unless told
qdrants://HOST[:PORT], qdrant+https://HOST[:PORT]  the same over TLS
qdrant+edge:///FOLDER                              Qdrant's engine in this process, its data in a folder
qdrant+local:///FOLDER, qdrant+local://:memory:    qdrant-client's local mode
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote

from lurcher.errors import ConfigError
from lurcher.net.http import checked_url

PORT = 6333
MEMORY = ":memory:"
_SCHEMES = {"qdrant": "http", "qdrant+http": "http", "qdrants": "https", "qdrant+https": "https"}
_HINT = "write qdrant://HOST:PORT, qdrants://HOST:PORT, qdrant+edge:///FOLDER or qdrant+local:///FOLDER"


@dataclass(frozen=True, slots=True)
class Address:
    kind: str
    """server, edge or local"""
    url: str
    """As it was given; what messages call it."""
    base: SplitResult | None = None
    path: str = ""


def parsed(url: str) -> Address:
    url = url.strip()
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme in _SCHEMES and found:
        base = checked_url(f"{_SCHEMES[scheme]}://{rest}", "the store's address")
        host = base.hostname or ""
        host = f"[{host}]" if ":" in host else host
        return Address("server", f"{scheme}://{host}:{base.port or PORT}", base._replace(netloc=f"{host}:{base.port or PORT}"))
    kind = {"qdrant+edge": "edge", "qdrant+local": "local"}.get(scheme, "")
    if not kind or not found:
        raise ConfigError(f"no store of Qdrant is at {url!r}", _HINT)
    if kind == "local" and rest == MEMORY:
        return Address(kind, url, path=MEMORY)
    path = unquote(rest)
    if not path.startswith("/") or "\0" in path:
        raise ConfigError(f"{url!r} names no folder by its full path", _HINT)
    return Address(kind, url, path=os.path.realpath(path))
