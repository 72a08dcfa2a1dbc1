"""What every reranker is asked and what it answers with.

A reranker is one file of this folder (or an entry point in the group `lurcher.rerank`) with

    rerank(request) -> Judged
    top(settings)   -> how many of the first candidates it looks at

It raises a LurcherError where it cannot do its work; the order then stays as it was, and the answer says why.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import UsageError
from lurcher.registry import find
from lurcher.runtime.cache import Cache
from lurcher.runtime.light import TYPE_CHECKING, dataclass, field
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Candidate:
    """One hit as a reranker reads it."""

    header: str
    """What it is: path and symbol of code, subject of a commit, title and heading of a note."""
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Request:
    query: str
    candidates: Sequence[Candidate]
    """Best first."""
    settings: Settings
    root: Path
    """The folder that the project's own settings may name files of."""
    warm: Cache = field(default_factory=Cache)
    """Holds loaded models from one request to the next."""


@dataclass(frozen=True, slots=True)
class Judged:
    scores: tuple[float | None, ...]
    """One for each candidate, from 0 to 1; None for one that got none, which counts as the middle. Where most got none, the
    order stays."""
    held: frozenset[int] = frozenset()
    """Candidates that must not be moved: they keep the place they have."""
    notes: tuple[Degraded, ...] = ()
    hint: str = ""
    """What to do where some got no score; that it is so is told without it."""


def reranker_named(name: str) -> tuple[Callable[[Request], Judged], Callable[[Settings], int]]:
    """A reranker's `rerank` function, and its `top`: how many candidates it looks at."""
    rerank, top = find("rerank", name, "rerank"), find("rerank", name, "top")
    if rerank is None or top is None:
        hint = "a reranker is a file of lurcher.rerank, or an entry point in that group"
        raise UsageError(f"unknown reranker '{name}'", hint)
    return rerank, top
