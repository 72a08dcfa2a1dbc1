"""How the shared store is doing, for `lurcher doctor`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.inspect.doctor.services import Health, examine, one_line, timed
from lurcher.net.http import Deadline, redact_url
from lurcher.stores.base import store_at

_COLUMNS = ("version", "model", "dims", "url", "latency")
"""What a store says of itself that has a field of its own."""


def store_health(settings: Settings, root: Path) -> Health | None:
    """None where no store is set."""
    url = settings.store.url
    if not url or url == "local":
        return None

    def look(about: Health, deadline: Deadline) -> Health:
        soon = replace(settings.store, seconds=min(settings.store.seconds, deadline.seconds))
        where = user_setting(settings, "store.url")
        opened = store_at(where, replace(settings, store=soon))
        try:
            state, took = timed(opened.state)
        finally:
            opened.close()
        rest = ", ".join(f"{name} {value}" for name, value in state.items() if name not in _COLUMNS)
        dims = state.get("dims", "")
        return replace(about, version=state.get("version", ""), model=state.get("model", ""), latency_ms=took,
                       state=one_line(rest), dims=int(dims) if dims.isdecimal() else 0)  # fmt: skip

    return examine(Health("store", url.partition("://")[0], redact_url(url)), look)
