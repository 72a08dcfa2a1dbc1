"""What every embedding provider is asked and what it answers with.

A provider is one file of `providers/` (or an entry point in the group `lurcher.embedding.providers`) with

    identity(wanted) -> what tells its vectors from those of other models, found without asking anybody
    connect(wanted)  -> an Embedder

Both raise a LurcherError where they cannot do it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.schema import EmbeddingSettings
from lurcher.config.trust import authorization, service_key, user_setting
from lurcher.errors import ConfigError, ServerError, Template
from lurcher.net.breaker import Breaker, breaker_of
from lurcher.net.http import Deadline, ask, checked_url, place
from lurcher.registry import find

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PROVIDERS = ("builtin", "onnx", "tei", "openai", "infinity", "ollama")

Identity = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings say, and the folder that the project's own settings may name files of."""

    all: Settings
    root: Path

    @property
    def settings(self) -> EmbeddingSettings:
        return self.all.embedding


class Embedder(Protocol):
    """May be asked from several threads."""

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """One row for each text, of any length but none; all rows have as many numbers."""

    def served(self, deadline: Deadline) -> str:
        """What whoever embeds says of its model; empty where it says nothing."""

# ----------------------------------------------------------------------------------------------------------------------
# Vectors from a server over HTTP: asked again where that may help, and nothing that it answers is believed unchecked.


Kind = TypeVar("Kind")
MOST_BYTES = 100_000_000
MOST_DIMS = 16_384
ATTEMPTS = 6
_TELLING = 4
"""So many different texts do not have one vector in common, unless the server does not look at them."""
PAUSE = 0.5
"""Seconds before the second attempt; twice as many before each further one, give or take a half of it."""
CHARS_PER_TOKEN = 4
"""Characters of a token, counted high: servers cut texts themselves, so this only saves the way."""


@dataclass(frozen=True, slots=True)
class Service:
    """An Embedder on a server, by what its protocol asks for and answers with."""

    base: SplitResult
    path: str
    body: Callable[[list[str]], Any]
    read: Callable[[Any], Any]
    """The rows in an answer."""
    most_chars: int
    key: str = field(default="", repr=False)
    name: Callable[[Service, Deadline], str] | None = None
    """What the server says of its model."""
    breaker: Breaker | None = None

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        with self.breaker.guard(deadline) if self.breaker is not None else nullcontext():
            return patiently(lambda: self.once(texts, deadline), deadline)

    def once(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """The same, asked once, whatever became of it before."""
        cut = [text[: self.most_chars] for text in texts]
        rows = rows_of(self.read(self.ask(self.path, deadline, self.body(cut))), len(texts), place(self.base))
        if len(set(cut)) >= _TELLING and (rows == rows[0]).all():
            said = f"{place(self.base)} answers with one vector for {len(set(cut))} different texts"
            raise ServerError(said, "use another model")
        return rows

    def served(self, deadline: Deadline) -> str:
        return self.name(self, deadline) if self.name is not None else ""

    def ask(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        headers = authorization(self.key)
        return ask(self.base, path, deadline, body, headers=headers, most=MOST_BYTES)


def patiently(attempt: Callable[[], Kind], deadline: Deadline, sleep: Callable[[float], None] = time.sleep) -> Kind:
    """What an attempt gives. One that failed for now is made again, later each time, as long as the limit allows."""
    for number in range(ATTEMPTS):
        try:
            return attempt()
        except ServerError as problem:
            pause = max(problem.after, PAUSE * 2**number * random.uniform(0.5, 1.5))
            if not problem.passing or number == ATTEMPTS - 1 or pause >= deadline.left:
                raise
            sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def rows_of(found: Any, count: int, server: str) -> NDArray[np.float32]:
    """As many rows as there are texts, all of one size, of numbers that are numbers."""
    import numpy as np

    hint = "check the address, embedding.provider and embedding.model"
    if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
        raise ServerError(f"{server} answers without vectors", hint)
    if len(found) != count:
        raise ServerError(f"{server} answers with {len(found)} vectors for {count} texts", hint)
    sizes = {len(row) for row in found}
    if len(sizes) > 1 or not 1 <= max(sizes, default=1) <= MOST_DIMS:
        raise ServerError(f"{server} answers with vectors of {', '.join(map(str, sorted(sizes)))} numbers", hint)
    if not all(type(value) in (int, float) and isfinite(value) and abs(value) < 1e30 for row in found for value in row):
        raise ServerError(f"{server} answers with vectors that are not all numbers", "use another model")
    rows = np.array(found, np.float64)
    if not (np.abs(rows).max(axis=1, initial=0.0) > 0).all():
        raise ServerError(f"{server} answers with a vector of no length", "use another model")
    unit: NDArray[np.float32] = (rows / np.sqrt((rows * rows).sum(axis=1))[:, None]).astype(np.float32)
    return unit


def address(wanted: Wanted, default: str = "") -> SplitResult:
    """The server that the user set."""
    user_setting(wanted.all, "embedding.provider")
    url = user_setting(wanted.all, "embedding.url").strip() or default
    if not url:
        hint = Template("set it to the server's address, as LURCHER_EMBEDDING_URL or with {set}")
        raise ConfigError("embedding.url is empty", hint)
    return checked_url(url, "embedding.url")


def key_for(base: SplitResult) -> str:
    return service_key("embedding", base)


def breaker_for(base: SplitResult) -> Breaker:
    return breaker_of("embedding", base)


def most_chars(wanted: Wanted) -> int:
    return wanted.settings.tokens * CHARS_PER_TOKEN


def provider_named(name: str) -> tuple[Callable[[Wanted], Identity], Callable[[Wanted], Embedder]]:
    """A provider's `identity` and `connect` functions."""
    identity, connect = find("vectors.providers", name, "identity"), find("vectors.providers", name, "connect")
    if identity is None or connect is None:
        raise ConfigError(f"unknown embedding.provider {name!r}", f"known are: {', '.join(PROVIDERS)}")
    return identity, connect
