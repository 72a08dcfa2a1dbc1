"""Finds stages by name: a file of the stage's folder, or an entry point of an installed package.

Only the stage that is asked for is imported.
"""

from __future__ import annotations

import sys

from lurcher.errors import ConfigError, UsageError
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lurcher.config import Settings
    from lurcher.corpora.documents import Documents, Stamp
    from lurcher.corpora.history.ranking.base import PastContext, PastRanking
    from lurcher.lanes.base import Found, Request
    from lurcher.query.plan import Plan
    from lurcher.ranking.context import Context, Ranking
    from lurcher.rerank.base import Judged
    from lurcher.rerank.base import Request as RerankRequest
    from lurcher.stores.base import Store
    from lurcher.vectors.service import Embedder, Identity, Wanted

RANKINGS = ("default", "classic")
STORES = ("qdrant://", "postgres://")
PROVIDERS = ("builtin", "onnx", "tei", "openai", "infinity", "ollama")


def find(folder: str, name: str, attribute: str) -> Any:
    """`attribute` of lurcher.<folder>.<name>, else of the entry point `name` in the group `lurcher.<folder>`.

    A file of ours is not looked for elsewhere: going through all installed packages takes longer than a search.
    """
    module = f"lurcher.{folder}.{name}"
    if name.isascii() and name.isidentifier() and name[0] != "_" and name == name.lower():
        try:
            __import__(module)
            return getattr(sys.modules[module], attribute, None)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
    from importlib.metadata import entry_points

    for entry in entry_points(group=f"lurcher.{folder}", name=name):
        return getattr(entry.load(), attribute, None)
    return None


def installed(folder: str, name: str) -> bool:
    """Whether a package that is installed brings a stage of that name."""
    from importlib.metadata import entry_points

    return bool(entry_points(group=f"lurcher.{folder}", name=name))


def lane_named(name: str) -> Callable[[Request], Found]:
    found = find("lanes", name, "run")
    if found is None:
        raise UsageError(f"unknown lane '{name}'", "a lane is a file of lurcher.lanes, or an entry point in that group")
    lane: Callable[[Request], Found] = found
    return lane


def ranking_named(name: str) -> Callable[[Context], Ranking]:
    found = find("ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}'", f"known are: {', '.join(RANKINGS)}")
    ranking: Callable[[Context], Ranking] = found
    return ranking


def past_ranking_named(name: str) -> Callable[[PastContext], PastRanking]:
    found = find("corpora.history.ranking", name, "rank")
    if found is None:
        raise UsageError(f"unknown ranking '{name}' of history", "a ranking is a file of lurcher.corpora.history.ranking")
    ranking: Callable[[PastContext], PastRanking] = found
    return ranking


def reranker_named(name: str) -> tuple[Callable[[RerankRequest], Judged], Callable[[Settings], int]]:
    """What a reranker does, and how many candidates it looks at."""
    rerank, top = find("rerank", name, "rerank"), find("rerank", name, "top")
    if rerank is None or top is None:
        hint = "a reranker is a file of lurcher.rerank, or an entry point in that group"
        raise UsageError(f"unknown reranker '{name}'", hint)
    return rerank, top


def provider_named(name: str) -> tuple[Callable[[Wanted], Identity], Callable[[Wanted], Embedder]]:
    """What tells an embedding provider's vectors apart, and how it is got hold of."""
    identity, connect = find("vectors.providers", name, "identity"), find("vectors.providers", name, "connect")
    if identity is None or connect is None:
        raise ConfigError(f"unknown embedding.provider {name!r}", f"known are: {', '.join(PROVIDERS)}")
    return identity, connect


def source_named(name: str) -> tuple[Stamp, Documents]:
    """What tells whether a source's documents have changed, and what gathers them."""
    stamp, documents = find("sources", name, "stamp"), find("sources", name, "documents")
    if stamp is None or documents is None:
        raise UsageError(f"unknown source '{name}'", "a source is an entry point in the group lurcher.sources")
    return stamp, documents


def store_at(url: str, settings: Settings) -> Store:
    """The shared store at an address, by its scheme: `open` of a file of lurcher.stores, or of an entry point in that group."""
    scheme = url.partition("://")[0].partition("+")[0].lower()
    name = {"postgresql": "postgres", "qdrants": "qdrant"}.get(scheme, scheme)
    open_ = find("stores", name, "open_store") if "://" in url else None
    if open_ is None:
        from lurcher.stores.address import shown

        raise ConfigError(f"no store is known for the address {shown(url)!r}", f"known are: {', '.join(STORES)}")
    store: Store = open_(url, settings)
    return store


def ranking_lanes(name: str, plan: Plan, settings: Settings) -> tuple[str, ...]:
    """The lanes that a ranking makes use of for a plan: what its `lanes` says, else all that the plan allows."""
    choose: Callable[[Plan, Settings], tuple[str, ...]] | None = find("ranking", name, "lanes")
    return plan.lanes if choose is None else choose(plan, settings)
