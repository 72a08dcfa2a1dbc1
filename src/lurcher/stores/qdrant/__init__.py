"""A store in Qdrant: on a server by its REST interface, or in a folder of this machine by its embedded engine.

    __init__  addresses: which of the two, and where
    points    the operations that both offer, in terms of Qdrant's REST interface
    rest      a server
    edge      qdrant-edge-py: Qdrant's own engine in this process
    layout    collections, points and filters
    lease     one writer at a time, and atomic changes of a project's head
    writer    batches of files, and the repair of what a killed writer left
    search    candidates
    store     all of that as a `Store`

A server needs no package.

Addresses:

    qdrant://HOST[:PORT]                               a server; the default port is 6333
    qdrants://HOST[:PORT], qdrant+https://HOST[:PORT]  the same over TLS
    qdrant+edge:///FOLDER                              the embedded engine, with its data in a folder
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.stores.base import Store

DEFAULT_PORT = 6333
_SCHEMES = {"qdrant": "http", "qdrant+http": "http", "qdrants": "https", "qdrant+https": "https"}
_HINT = "write qdrant://HOST:PORT, qdrants://HOST:PORT or qdrant+edge:///FOLDER"


def open_store(url: str, settings: Settings) -> Store:
    """The store at an address; no request is sent yet."""
    from lurcher.config.trust import user_setting
    from lurcher.errors import ConfigError
    from lurcher.stores.qdrant.layout import Points
    from lurcher.stores.qdrant.store import QdrantStore

    for key in settings.origins:
        if key.startswith("qdrant."):
            user_setting(settings, key)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}", settings.qdrant.collection):
        hint = "it may have letters, digits, - and _"
        raise ConfigError(f"qdrant.collection cannot be {settings.qdrant.collection!r}", hint)
    address = parse_address(url)
    points: Points
    if address.server is not None:
        from lurcher.stores.qdrant.rest import connect_rest

        points = connect_rest(address.url, address.server, settings)
    else:
        from lurcher.stores.qdrant.edge import open_edge

        points = open_edge(address.folder, settings.store.seconds)
    return QdrantStore(points, settings.qdrant)


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    """How messages name the store."""
    server: SplitResult | None = None
    """The HTTP address of a server."""
    folder: str = ""
    """The folder of the embedded engine, where there is no server."""


def parse_address(url: str) -> Address:
    from lurcher.errors import ConfigError
    from lurcher.net.http import check_url

    url = url.strip()
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme in _SCHEMES and found:
        server = check_url(f"{_SCHEMES[scheme]}://{rest}", "the store's address")
        host = server.hostname or ""
        host = f"[{host}]" if ":" in host else host
        netloc = f"{host}:{server.port or DEFAULT_PORT}"
        return Address(f"{scheme}://{netloc}", server._replace(netloc=netloc))
    if scheme != "qdrant+edge" or not found:
        raise ConfigError(f"{url!r} is not the address of a store in Qdrant", _HINT)
    folder = unquote(rest)
    if not folder.startswith("/") or "\0" in folder:
        raise ConfigError(f"{url!r} does not name a folder by its full path", _HINT)
    return Address(url, folder=os.path.realpath(folder))
