"""The health of each configured service: one real request to it, even if earlier ones failed.

Only configured services are contacted; without any, nothing leaves the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.errors import ConfigError, LurcherError, ServerError
from lurcher.net.http import Deadline, one_line

SECONDS = 3.0
"""How long `lurcher doctor` waits for each service; hand-set."""
_TEXT = "where is this"

Request = Callable[..., Any]
"""Requests a path of a service within a deadline."""


@dataclass(frozen=True, slots=True)
class Health:
    service: str
    """embedding, sparse, reranker, judge or store"""
    protocol: str
    address: str
    reachable: bool = False
    version: str = ""
    model: str = ""
    dims: int = 0
    """Numbers of a vector; 0 if there are none, or their number varies."""
    latency_ms: float = 0.0
    state: str = ""
    """Other details, such as what a store holds."""
    problem: str = ""
    hint: str = ""
    tried: str = ""
    misconfigured: bool = False
    """Whether it was not contacted, because a setting is wrong."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Check = Callable[[Settings, Path], Health | None]
"""Checks one service; None if it is not configured."""


def stack(settings: Settings, root: Path, further: Sequence[Check] = ()) -> Iterator[Health]:
    """Check every configured service in turn; `further` are checks of services that other modules know."""
    for check in (embedding, sparse, reranker, judge, *further):
        found = check(settings, root)
        if found is not None:
            yield found


def embedding(settings: Settings, root: Path) -> Health | None:
    from lurcher.vectors.providers import provider_named
    from lurcher.vectors.service import ProviderRequest

    chosen = settings.embedding
    if chosen.provider in ("builtin", "onnx") or settings.dense.model == "none":
        return None

    def connect() -> Any:
        return provider_named(chosen.provider)[1](ProviderRequest(settings, root))

    def probe(embedder: Any, about: Health, deadline: Deadline) -> Health:
        service = getattr(embedder, "service", embedder)
        once = getattr(embedder, "embed_once", embedder.embed)
        rows, took = timed(lambda: once([f"{chosen.query_prefix}{_TEXT}"], deadline))
        info = _server_info(chosen.provider, getattr(service, "request", None), deadline)
        return replace(about, model=info.get("model") or chosen.model, version=info.get("version", ""),
                       dims=int(rows.shape[1]), latency_ms=took)  # fmt: skip

    return examine(Health("embedding", chosen.provider, chosen.url), connect, probe)


def sparse(settings: Settings, root: Path) -> Health | None:
    from lurcher.vectors.service import make_sparse_embedder

    chosen = settings.sparse
    if chosen.provider == "terms":
        return None

    def probe(embedder: Any, about: Health, deadline: Deadline) -> Health:
        found, took = timed(lambda: embedder.embed_once([_TEXT], deadline))
        info = _server_info("tei", embedder.request, deadline)
        return replace(about, model=info.get("model") or chosen.model, version=info.get("version", ""), latency_ms=took,
                       state=f"{len(found[0].numbers)} terms of {len(_TEXT.split())} words")  # fmt: skip

    return examine(Health("sparse", chosen.provider, chosen.url), lambda: make_sparse_embedder(settings), probe)


def reranker(settings: Settings, root: Path) -> Health | None:
    from lurcher.config.trust import user_setting
    from lurcher.rerank.cross import make_server

    chosen = settings.reranker
    if not chosen.url.strip():
        return None

    def connect() -> Any:
        return make_server(settings, user_setting(settings, "reranker.url"))

    def probe(server: Any, about: Health, deadline: Deadline) -> Health:
        _, took = timed(lambda: server.scores(_TEXT, ["here", "there"], deadline))
        info = _server_info(chosen.protocol, server.request, deadline)
        model = chosen.model if chosen.protocol == "infinity" else ""
        return replace(about, model=model or info.get("model", ""), version=info.get("version", ""), latency_ms=took)

    return examine(Health("reranker", chosen.protocol, chosen.url), connect, probe)


def judge(settings: Settings, root: Path) -> Health | None:
    from lurcher.rerank.llm import OLLAMA_MODEL, make_chat

    chosen = settings.judge
    if "llm" not in settings.search.rerank.split() and not any(key.startswith("judge.") for key in settings.origins):
        return None

    def probe(chat: Any, about: Health, deadline: Deadline) -> Health:
        models, took = timed(lambda: chat.models(deadline))
        wanted = chat.model or (OLLAMA_MODEL if chat.protocol == "ollama" else next(iter(models), ""))
        there = bool({wanted, f"{wanted}:latest"} & set(models))
        state = f"{len(models)} chat models" + ("" if there else f", {wanted or 'none'} is not among them")
        info = _server_info(chosen.protocol, chat.request, deadline) if chosen.protocol == "ollama" else {}
        return replace(about, model=wanted, version=info.get("version", ""), latency_ms=took, state=state)

    return examine(Health("judge", chosen.protocol, chosen.url), lambda: make_chat(settings), probe)


def examine(about: Health, connect: Callable[[], Any], probe: Callable[[Any, Health, Deadline], Health]) -> Health:
    """Make the client of a service, without a request, and probe it; a failure has the address that the client uses."""
    try:
        client = connect()
        base = getattr(getattr(client, "service", client), "base", None)
        about = replace(about, address=_address(base)) if base is not None else about
        return replace(probe(client, about, Deadline.after(SECONDS)), reachable=True)
    except LurcherError as problem:
        wrong = isinstance(problem, ConfigError)
        tried = problem.tried or ("nothing" if wrong else about.address)
        return replace(about, problem=one_line(problem.message), hint=problem.hint, tried=tried, misconfigured=wrong)
    except Exception as error:  # a store's own client may fail in any way; the other services are still checked
        reason = one_line(f"{type(error).__name__}: {error}")
        return replace(about, problem=reason, hint="see the service's own log", tried=about.address)


def _server_info(protocol: str, request: Request | None, deadline: Deadline) -> dict[str, str]:
    """The model and version that a server reports, if it does."""
    if request is None:
        return {}
    found: dict[str, str] = {}
    for path, key, name in _INFO_PATHS.get(protocol, ()):
        try:
            value: Any = request(path, deadline)
            for part in key.split("."):
                value = value[int(part)] if part.isdecimal() else value[part]
        except (ServerError, LookupError, TypeError, ValueError):
            continue  # not every server with this protocol reports it
        if isinstance(value, str):
            found[name] = one_line(value)
    return found


_INFO_PATHS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "tei": (("/info", "model_id", "model"), ("/info", "version", "version")),
    "infinity": (("/openapi.json", "info.version", "version"),),
    "ollama": (("/api/version", "version", "version"),),
}
"""For each protocol: the path to request, the key in its JSON, and the field that it fills."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    found = work()
    return found, round(1000 * (time.perf_counter() - started), 1)


def _address(base: SplitResult) -> str:
    return f"{base.scheme}://{base.netloc}{base.path.rstrip('/')}"
