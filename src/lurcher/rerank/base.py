"""The interface of rerankers: models that read query and text together.

A reranker is one file of this folder (or an entry point in the group `lurcher.rerank`) with

    rerank(request) -> Judged
    top(settings)   -> how many of the first candidates it reads

It raises a LurcherError if it fails; the order then stays as it was, and the answer says why.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import UsageError
from lurcher.registry import find
from lurcher.runtime.light import TYPE_CHECKING, dataclass, field
from lurcher.runtime.process import Cache
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit as a reranker reads it."""

    header: str
    """Path and symbol of code, subject of a commit, title and heading of a note."""
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Request:
    query: str
    candidates: Sequence[Candidate]
    """Best first."""
    settings: Settings
    root: Path
    """The project's folder, in which its own settings may name files."""
    warm: Cache = field(default_factory=Cache)
    """Holds loaded models from one request to the next."""


@dataclass(frozen=True, slots=True)
class Judged:
    scores: tuple[float | None, ...]
    """One for each candidate, from 0 to 1; None for one without a score, which counts as 0.5. Where most have none, the order
    stays."""
    held: frozenset[int] = frozenset()
    """Candidates that keep their place."""
    notes: tuple[Degraded, ...] = ()
    hint: str = ""
    """What to do where some have no score; the answer reports that by itself."""


def reranker_named(name: str) -> tuple[Callable[[Request], Judged], Callable[[Settings], int]]:
    """A reranker's `rerank` function, and its `top`: how many candidates it looks at."""
    rerank, top = find("rerank", name, "rerank"), find("rerank", name, "top")
    if rerank is None or top is None:
        hint = "a reranker is a file of lurcher.rerank, or an entry point in that group"
        raise UsageError(f"unknown reranker '{name}'", hint)
    return rerank, top
