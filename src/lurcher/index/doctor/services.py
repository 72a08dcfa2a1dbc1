"""The services that are set: whether each answers, and as what."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.index.doctor.finding import NOTE, OK, PROBLEM, Finding
from lurcher.index.project import Project
from lurcher.services.health import Health, stack

_CHECKS = {"embedding": "model", "reranker": "cross", "judge": "llm"}
"""The checks that ask such a service for more; where it does not answer, what it was asked here is all there is to say."""
_OPTIONAL = ("reranker", "judge")
"""Without these answers are there, in the order they had before."""


def examine(project: Project) -> Iterator[Finding]:
    for health in stack(project.settings, project.root.path):
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
