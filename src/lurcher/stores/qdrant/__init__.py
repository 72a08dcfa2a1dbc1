"""A store in Qdrant: on a server, or on this machine by its client's local mode or its embedded engine.

    address   which of the three, and where
    points    what is asked of any of them, in the words of Qdrant's REST interface
    rest      the server: `wire` carries, `patience` tries again
    local     qdrant-client's local mode
    edge      qdrant-edge-py: Qdrant's own engine in this process
    layout    collections, points and conditions as they are kept
    lease     one writer at a time, and heads that change all at once
    feed      batches on their way in
    mend      what a killed writer left half done
    search    candidates
    store     all of that as a `Store`

A server needs no package: `rest` speaks HTTP by itself, which starts in milliseconds where the client takes seconds to import.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.stores.base import Store


def open_store(url: str, settings: Settings) -> Store:
    """The store at an address; nothing is asked of a server yet."""
    from lurcher.config.trust import user_setting
    from lurcher.errors import ConfigError
    from lurcher.stores.qdrant.address import parsed
    from lurcher.stores.qdrant.points import Points
    from lurcher.stores.qdrant.store import QdrantStore

    for key in settings.origins:
        if key.startswith("qdrant."):
            user_setting(settings, key)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}", settings.qdrant.collection):
        hint = "letters, digits, - and _ can be in it"
        raise ConfigError(f"qdrant.collection cannot be {settings.qdrant.collection!r}", hint)
    address = parsed(url)
    points: Points
    if address.kind == "server":
        from lurcher.stores.qdrant.rest import connected

        points = connected(address, settings)
    elif address.kind == "edge":
        from lurcher.stores.qdrant.edge import opened as opened_edge

        points = opened_edge(address.path, settings.store.seconds)
    else:
        from lurcher.stores.qdrant.local import opened as opened_local

        points = opened_local(address.path, settings.store.seconds)
    return QdrantStore(points, settings.qdrant)
