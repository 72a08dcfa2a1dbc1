"""A model that embeds whole texts by a provider, with the prefixes that the settings put before queries and documents.

A digest identifies what made a vector, and an index stores it: another provider, model, document prefix or length of texts
means other vectors. The prefix of queries does not.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import LurcherError, MissingExtra, ModelError, ServerError
from lurcher.net.http import Deadline
from lurcher.runtime.process import LruCache
from lurcher.vectors import UNAVAILABLE, Model
from lurcher.vectors.providers import provider_named
from lurcher.vectors.service import Embedder, ProviderRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LAYOUT = 1
"""The version of how the texts of units and files are composed."""
_CACHED_QUERIES = 64
"""Queries whose vectors are cached: the pages of an answer need the same one."""
_FAILURE_SECONDS = 1.0
"""How long a failure is repeated without a new request: one answer may need the vector twice."""


class TextModel(Model):
    """A provider's model, loaded or connected when it is first needed. Thread-safe."""

    textual = True

    def __init__(self, settings: Settings, root: Path) -> None:
        chosen = settings.embedding
        super().__init__(f"{chosen.provider} {chosen.model}".strip(), root)
        self.settings = chosen
        self._request = ProviderRequest(settings, root)
        user_setting(settings, "embedding.provider")
        self._identity, self._connect = provider_named(chosen.provider)
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._cached = LruCache(_CACHED_QUERIES)
        self._failed: tuple[float, ModelError] | None = None
        _ = self._identified  # a wrong setting is an error at once

    @cached_property
    def _identified(self) -> tuple[str, LurcherError | None]:
        """The digest, or why there is none."""
        chosen = self.settings
        try:
            identity = dict(self._identity(self._request))
        except (ModelError, MissingExtra) as problem:
            return UNAVAILABLE, problem
        read = {"prefix": chosen.document_prefix, "tokens": chosen.tokens}
        text = json.dumps({"layout": LAYOUT, "provider": chosen.provider, **read, **identity}, sort_keys=True)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(), None

    @property
    def table(self) -> None:
        return None

    @property
    def problem(self) -> LurcherError | None:
        return self._identified[1]

    @property
    def digest(self) -> str:
        return self._identified[0]

    def about(self) -> dict[str, Any]:
        """What an index records about its model."""
        chosen = self.settings
        return {"provider": chosen.provider, "model": chosen.model, "document_prefix": chosen.document_prefix}

    def embedder(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._connect(self._request)
            return self._embedder

    def embed_documents(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """One row of length 1 per text."""
        prefix = self.settings.document_prefix
        return self._embed([prefix + text for text in texts], deadline)

    def _embed(self, texts: list[str], deadline: Deadline) -> NDArray[np.float32]:
        import numpy as np

        try:
            rows = np.asarray(self.embedder().embed(texts, deadline), np.float32)
            if rows.ndim != 2 or len(rows) != len(texts):
                raise ModelError(f"the provider gives vectors of shape {rows.shape} for {len(texts)} texts", "use another one")
            if not np.isfinite(rows).all():
                raise ModelError("the provider gives vectors that are not all numbers", "use another one")
            return rows
        except LurcherError:
            raise
        except Exception as error:  # a model or a plugin may fail in any way, and search works without it
            raise ModelError(f"the provider failed: {type(error).__name__}: {error}", "use another one") from error

    def embed_query(self, text: str) -> NDArray[np.float64]:
        """The vector of a query; every failure is a ModelError."""
        import numpy as np

        text = text.encode("utf-8", "replace").decode()
        known: NDArray[np.float64] | None = self._cached.get(text)
        if known is not None:
            return known
        with self._lock:
            if self._failed is not None and time.monotonic() - self._failed[0] < _FAILURE_SECONDS:
                raise self._failed[1]
        try:
            limit = Deadline.after(self.settings.query_seconds)
            rows = self._embed([self.settings.query_prefix + text], limit)
        except LurcherError as problem:
            raise self.record_failure(problem) from problem
        found: NDArray[np.float64] = rows[0].astype(np.float64)
        self._cached.put(text, found)
        return found

    def record_failure(self, problem: LurcherError) -> ModelError:
        """A failure as a ModelError, which queries within the next second get again."""
        error = problem if isinstance(problem, ModelError) else ModelError(problem.message, problem.hint)
        error.service, error.tried = problem.service, problem.tried
        if isinstance(problem, ServerError):
            with self._lock:
                self._failed = time.monotonic(), error
        return error


def describe_provider(model: Model) -> dict[str, Any]:
    """A description of a provider and its model; it embeds one text for this."""
    assert isinstance(model, TextModel)
    chosen, started = model.settings, time.perf_counter()
    limit = Deadline.after(chosen.query_seconds)
    embedder = model.embedder()
    vector = embedder.embed([f"{chosen.query_prefix}where is this"], limit)
    took = 1000 * (time.perf_counter() - started)
    return {
        "name": model.setting, "setting": model.setting, "provider": chosen.provider, "model": chosen.model,
        "served": embedder.served(limit), "dims": int(vector.shape[1]), "digest": model.digest,
        "query_prefix": chosen.query_prefix, "document_prefix": chosen.document_prefix, "load_ms": round(took, 3),
    }  # fmt: skip
