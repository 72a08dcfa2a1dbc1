"""Embedding providers: their interface, and the client of those that run on a server.

A provider is one file of `providers/` (or an entry point in the group `lurcher.embedding.providers`) with

    identity(wanted) -> what identifies its vectors, found without a request
    connect(wanted)  -> an Embedder

Both get a `ProviderRequest`, and raise a LurcherError if they fail. Replies of servers are checked before they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.schema import EmbeddingSettings
from lurcher.config.trust import user_setting
from lurcher.errors import ConfigError, ServerError, Template
from lurcher.net.http import Deadline, check_url
from lurcher.net.resilience import ServiceClient
from lurcher.registry import find

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PROVIDER_GROUP = "lurcher.embedding.providers"
"""The entry point group of embedding providers, which is public and older than their folder."""
PROVIDERS = ("builtin", "onnx", "tei", "openai", "infinity", "ollama")

Identity = Mapping[str, Any]
MAX_BYTES = 100_000_000
MAX_DIMS = 16_384
_DISTINCT_TEXTS = 4
"""If so many different texts get the same vector, the server ignores the texts."""
CHARS_PER_TOKEN = 4
"""Characters per token, a high estimate: servers truncate texts themselves, so this only saves bandwidth."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """The settings, and the project's folder, in which its own settings may name files."""

    all: Settings
    root: Path

    @property
    def settings(self) -> EmbeddingSettings:
        return self.all.embedding


class Embedder(Protocol):
    """A model that embeds text. Thread-safe."""

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """One row per text, all with the same dimensions, none of length zero."""

    def served(self, deadline: Deadline) -> str:
        """The name of the model, as the server reports it; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Service:
    """An Embedder on a server; `body` and `read` are its protocol."""

    client: ServiceClient
    path: str
    body: Callable[[list[str]], Any]
    read: Callable[[Any], Any]
    """The rows in a reply."""
    max_chars: int
    name: Callable[[Service, Deadline], str] | None = None
    """The name of the model, as the server reports it."""

    @property
    def base(self) -> SplitResult:
        return self.client.base

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        return self.client.run(lambda: self.embed_once(texts, deadline), deadline)

    def embed_once(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """The same by one request: without retries and breaker."""
        cut = [text[: self.max_chars] for text in texts]
        rows = check_rows(self.read(self.request(self.path, deadline, self.body(cut))), len(texts), self.client.name)
        if len(set(cut)) >= _DISTINCT_TEXTS and (rows == rows[0]).all():
            message = f"{self.client.name} answers with one vector for {len(set(cut))} different texts"
            raise ServerError(message, "use another model")
        return rows

    def served(self, deadline: Deadline) -> str:
        return self.name(self, deadline) if self.name is not None else ""

    def request(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        return self.client.request(path, deadline, body)


def check_rows(found: Any, count: int, server: str) -> NDArray[np.float32]:
    """The rows in a reply, checked and normalised: as many as there are texts, all of one size, finite and not zero."""
    import numpy as np

    hint = "check the address, embedding.provider and embedding.model"
    if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
        raise ServerError(f"{server} answers without vectors", hint)
    if len(found) != count:
        raise ServerError(f"{server} answers with {len(found)} vectors for {count} texts", hint)
    sizes = {len(row) for row in found}
    if len(sizes) > 1 or not 1 <= max(sizes, default=1) <= MAX_DIMS:
        raise ServerError(f"{server} answers with vectors of {', '.join(map(str, sorted(sizes)))} dimensions", hint)
    if not all(type(value) in (int, float) and isfinite(value) and abs(value) < 1e30 for row in found for value in row):
        raise ServerError(f"{server} answers with vectors that are not all numbers", "use another model")
    rows = np.array(found, np.float64)
    if not (np.abs(rows).max(axis=1, initial=0.0) > 0).all():
        raise ServerError(f"{server} answers with a vector of length zero", "use another model")
    unit: NDArray[np.float32] = (rows / np.sqrt((rows * rows).sum(axis=1))[:, None]).astype(np.float32)
    return unit


def connect_service(wanted: ProviderRequest, default: str = "") -> ServiceClient:
    """The server at `embedding.url`, or at a `default` address; settings are checked, and no request is made."""
    user_setting(wanted.all, "embedding.provider")
    url = user_setting(wanted.all, "embedding.url").strip() or default
    if not url:
        hint = Template("set it to the server's address, as LURCHER_EMBEDDING_URL or with {set}")
        raise ConfigError("embedding.url is empty", hint)
    return ServiceClient("embedding", check_url(url, "embedding.url"), MAX_BYTES)


def model_name(wanted: ProviderRequest) -> str:
    """`embedding.model`, for servers that have several models."""
    if not wanted.settings.model.strip():
        raise ConfigError("embedding.model is empty", "name the model that the server should use")
    return wanted.settings.model


def char_limit(wanted: ProviderRequest) -> int:
    return wanted.settings.tokens * CHARS_PER_TOKEN


def provider_named(name: str) -> tuple[Callable[[ProviderRequest], Identity], Callable[[ProviderRequest], Embedder]]:
    """A provider's `identity` and `connect` functions."""
    identity, connect = (find("vectors.providers", name, part, PROVIDER_GROUP) for part in ("identity", "connect"))
    if identity is None or connect is None:
        raise ConfigError(f"unknown embedding.provider {name!r}", f"known are: {', '.join(PROVIDERS)}")
    return identity, connect
