"""Checks rerankers and services: whether a model is there, which models a server has, whether each service answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec

from lurcher.errors import ConfigError, LurcherError
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, few
from lurcher.inspect.services import Check, Health, stack

_SECONDS = 3.0
"""How long a server may take to list its models."""


def examine_rerankers(project: RootIndex, down: Collection[str] = ()) -> Iterator[Finding]:
    """Only what somebody set: who wants no second look need not hear of it, and no server is asked; nor is one that is down."""
    settings = project.settings
    wanted = settings.search.rerank.split()
    if "cross" not in down and ("cross" in wanted or any(key.startswith("reranker.") for key in settings.origins)):
        yield from _cross(project)
    if "llm" not in down and ("llm" in wanted or any(key.startswith("judge.") for key in settings.origins)):
        yield from _judge(project)


def _cross(project: RootIndex) -> Iterator[Finding]:
    from lurcher.config.trust import user_setting
    from lurcher.vectors.onnx_model import INSTALL, find_model

    settings = project.settings
    try:
        if user_setting(settings, "reranker.url").strip():
            yield Finding("cross", OK, f"{settings.reranker.url} is asked, as {settings.reranker.protocol}")
            return
        missing = [name for name in ("onnxruntime", "tokenizers") if find_spec(name) is None]
        if missing:
            yield Finding("cross", NOTE, f"{' and '.join(missing)} not installed: no cross-encoder can run here", INSTALL)
        found = find_model(user_setting(settings, "reranker.model"), "reranker.model")
    except LurcherError as problem:
        yield Finding("cross", PROBLEM if isinstance(problem, ConfigError) else NOTE, problem.message, problem.hint)
        return
    yield Finding("cross", OK, f"{settings.reranker.model} is there, {found.model.stat().st_size / 1e6:.0f} MB")


def _judge(project: RootIndex) -> Iterator[Finding]:
    from lurcher.net.http import Deadline, origin
    from lurcher.rerank.llm import OLLAMA_MODEL, make_chat

    try:
        chat = make_chat(project.settings)
        models = chat.models(Deadline.after(_SECONDS))
    except LurcherError as problem:
        yield Finding("llm", PROBLEM if isinstance(problem, ConfigError) else NOTE, problem.message, problem.hint)
        return
    wanted = chat.model or (OLLAMA_MODEL if chat.protocol == "ollama" else "")
    listed = f"chat models at {origin(chat.base)}: {few(models, 20) or 'none'}"
    if wanted and not {wanted, f"{wanted}:latest"} & set(models):
        mend = f"run: ollama pull {wanted}" if chat.protocol == "ollama" else "set judge.model to one that is there"
        yield Finding("llm", NOTE, f"{listed}; {wanted} is not one of them", mend)
    elif not models:
        yield Finding("llm", NOTE, listed, "load a chat model there")
    else:
        yield Finding("llm", OK, listed)

_CHECKS = {"embedding": "model", "reranker": "cross", "judge": "llm"}
"""The checks that ask such a service for more; where it does not answer, what it was asked here is all there is to say."""
_OPTIONAL = ("reranker", "judge")
"""Without these answers are there, in the order they had before."""


def examine_services(project: RootIndex, further: Sequence[Check] = ()) -> Iterator[Finding]:
    for health in stack(project.settings, project.root.path, further):
        if health.reachable:
            yield Finding("service", OK, said_of(health), health=health)
        else:
            state = NOTE if health.service in _OPTIONAL and not health.misconfigured else PROBLEM
            yield Finding(_CHECKS.get(health.service, health.service), state, said_of(health), health.hint, health=health)


def said_of(health: Health) -> str:
    """A service in one line."""
    where = f"{health.service} by {health.protocol} at {health.address}"
    if not health.reachable:
        return f"{where}: {health.problem}; tried: {health.tried}"
    told = [health.model, health.version, f"{health.dims} numbers per vector" if health.dims else "", health.state]
    return f"{where}: {', '.join([text for text in told if text] + [f'{health.latency_ms:.0f} ms'])}"
