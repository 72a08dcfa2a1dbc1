"""Embedding providers and the services that embed: their interface, and clients for dense and for sparse vectors.

A provider (`providers.py`, or an entry point in the group `lurcher.embedding.providers`) has two functions:

    identity(wanted) -> what identifies its vectors, found without a request
    connect(wanted)  -> an Embedder

Both get a `ProviderRequest`, and raise a LurcherError if they fail.

Sparse vectors come from a server with TEI's `/embed_sparse`, such as one that runs SPLADE:

    embedder = make_sparse_embedder(settings)        # None where lurcher's own terms are used
    vectors = embedder.embed_documents(texts)        # in batches, some at a time; one Sparse per text
    vector = embedder.embed_query("a query")

Replies of servers are checked before they are used.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.schema import EmbeddingSettings, SparseSettings
from lurcher.config.trust import user_setting
from lurcher.errors import ConfigError, ServerError, Template
from lurcher.net.http import Deadline, check_url
from lurcher.net.resilience import ServiceClient

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray



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


DEFAULT = "http://127.0.0.1:8080"
PATH = "/embed_sparse"
BATCH = 32
"""Texts in one request: what servers accept unless set up otherwise."""
TOP = 512
"""Numbers of a vector that are kept, the greatest first; hand-set."""
_LAYOUT = 1
_MAX_ENTRIES = 250_000
"""The most entries of a vector: as many as the largest vocabularies have words."""
_HINT = "check sparse.url: the server must have been started with a sparse model"


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: term numbers in ascending order, and the weight of each."""

    numbers: NDArray[np.uint32]
    weights: NDArray[np.float32]


def make_sparse_embedder(settings: Settings) -> SparseEmbedder | None:
    """The configured sparse model; None where vectors are made of lurcher's own terms."""
    if settings.sparse.provider == "terms":
        return None
    user_setting(settings, "sparse.provider")
    base = check_url(user_setting(settings, "sparse.url").strip() or DEFAULT, "sparse.url")
    return SparseEmbedder(settings.sparse, settings.embedding, ServiceClient("sparse", base, MAX_BYTES))


@dataclass(frozen=True, slots=True)
class SparseEmbedder:
    """A sparse model on a server. Thread-safe."""

    settings: SparseSettings
    limits: EmbeddingSettings
    """Tokens and seconds are those of all models on servers."""
    client: ServiceClient

    @property
    def base(self) -> SplitResult:
        return self.client.base

    @property
    def fingerprint(self) -> str:
        """Identifies the vectors of documents. The empty text was the prefix of documents once."""
        fields = [_LAYOUT, self.settings.provider, self.settings.model, "", self.limits.tokens, TOP]
        return hashlib.blake2b(json.dumps(fields).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def embed_documents(self, texts: Sequence[str]) -> list[Sparse]:
        """One vector per text; it may be empty."""
        batches = [list(texts[first : first + BATCH]) for first in range(0, len(texts), BATCH)]
        if len(batches) < 2:
            return [vector for batch in batches for vector in self._batch(batch)]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self.client.breaker.limits.concurrency, len(batches)), "lurcher-sparse") as pool:
            waiting = [pool.submit(self._batch, batch) for batch in batches]
            try:
                return [vector for done in waiting for vector in done.result()]
            except BaseException:
                for left in waiting:
                    left.cancel()
                raise

    def _batch(self, texts: list[str]) -> list[Sparse]:
        limit = Deadline.after(self.limits.seconds)
        return self.client.run(lambda: self.embed_once(texts, limit), limit)

    def embed_query(self, text: str) -> Sparse:
        limit = Deadline.after(self.limits.query_seconds)
        return self.client.run(lambda: self.embed_once([text], limit), limit)[0]

    def embed_once(self, texts: Sequence[str], deadline: Deadline) -> list[Sparse]:
        """The vectors of one batch by one request: without retries and breaker."""
        cut = [text[: self.limits.tokens * CHARS_PER_TOKEN].encode("utf-8", "replace").decode() for text in texts]
        answer = self.request(PATH, deadline, {"inputs": cut, "truncate": True})
        return check_vectors(answer, len(texts), TOP, self.client.name)

    def request(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        return self.client.request(path, deadline, body)


def check_vectors(found: Any, count: int, top: int, server: str) -> list[Sparse]:
    """The vectors in a reply, checked; as many as there are texts."""
    if not isinstance(found, list) or not all(isinstance(entries, list) for entries in found):
        raise ServerError(f"{server} answers without sparse vectors", _HINT)
    if len(found) != count:
        raise ServerError(f"{server} answers with {len(found)} sparse vectors for {count} texts", _HINT)
    return [_vector(entries, top, server) for entries in found]


def _vector(entries: list[Any], top: int, server: str) -> Sparse:
    import numpy as np

    if len(entries) > _MAX_ENTRIES:
        raise ServerError(f"{server} answers with a sparse vector of {len(entries):,} numbers", "use a sparse model")
    weights: dict[int, float] = {}
    for number, weight in _pairs(entries, server):
        weights[number] = max(weight, weights.get(number, 0.0))
    numbers = sorted(sorted(weights, key=lambda number: (-weights[number], number))[:top])
    return Sparse(np.array(numbers, np.uint32), np.array([weights[number] for number in numbers], np.float32))


def _pairs(entries: list[Any], server: str) -> Iterator[tuple[int, float]]:
    for entry in entries:
        fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
        number, weight = fields.get("index"), fields.get("value", math.nan)
        if type(number) is not int or not 0 <= number < 1 << 32:
            raise ServerError(f"{server} answers with a sparse vector whose indices are not term numbers", _HINT)
        if type(weight) not in (int, float) or not abs(weight) < 1e30:
            raise ServerError(f"{server} answers with a sparse vector that is not all numbers", "use another model")
        if weight > 1e-30:  # zero and negative weights are left out
            yield number, float(weight)
