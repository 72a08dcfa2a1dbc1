"""Sparse vectors of texts from a server with TEI's `/embed_sparse`, such as one that runs SPLADE.

    embedder = sparse_of(settings)          # None where our own terms are compared
    vectors = embedder.documents(texts)     # in batches, some at a time; one Sparse for each text
    vector = embedder.query("a question")

Nothing that the server answers is believed unchecked: numbers of terms are whole and fit 32 bits, weights are positive, and of
a vector with too many of them the greatest stay.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.schema import EmbeddingSettings, SparseSettings
from lurcher.config.trust import authorization, service_key, user_setting
from lurcher.errors import ServerError
from lurcher.net.breaker import Breaker, breaker_of
from lurcher.net.http import Deadline, ask, checked_url, place
from lurcher.stores.base import Sparse
from lurcher.vectors.service import CHARS_PER_TOKEN, MOST_BYTES, patiently

DEFAULT = "http://127.0.0.1:8080"
PATH = "/embed_sparse"
BATCH = 32
"""Texts in one request: what servers accept unless set up otherwise."""
TOP = 512
"""Numbers of a vector that are kept, the greatest first; hand-set."""
_LAYOUT = 1
_MOST_NUMBERS = 250_000
"""Numbers in one vector that are looked at: as many as the largest vocabularies have words."""
_HINT = "check sparse.url: the server must have been started with a sparse model"


def sparse_of(settings: Settings) -> SparseEmbedder | None:
    """Who makes sparse vectors; None where they are made of our own terms."""
    if settings.sparse.provider == "terms":
        return None
    user_setting(settings, "sparse.provider")
    base = checked_url(user_setting(settings, "sparse.url").strip() or DEFAULT, "sparse.url")
    key, breaker = service_key("sparse", base), breaker_of("sparse", base)
    return SparseEmbedder(settings.sparse, settings.embedding, base, breaker, key)


@dataclass(frozen=True, slots=True)
class SparseEmbedder:
    """May be asked from several threads."""

    settings: SparseSettings
    limits: EmbeddingSettings
    """Tokens and seconds are those of all models on servers."""
    base: SplitResult
    breaker: Breaker
    key: str = field(default="", repr=False)

    @property
    def fingerprint(self) -> str:
        """What tells vectors of documents from those of another model. The empty text was a prefix of documents once."""
        told = [_LAYOUT, self.settings.provider, self.settings.model, "", self.limits.tokens, TOP]
        return hashlib.blake2b(json.dumps(told).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def documents(self, texts: Sequence[str]) -> list[Sparse]:
        """One vector for each text; a text that says nothing to the model has one without numbers."""
        batches = [list(texts[first : first + BATCH]) for first in range(0, len(texts), BATCH)]
        if len(batches) < 2:
            return [vector for batch in batches for vector in self._batch(batch)]
        with ThreadPoolExecutor(min(self.breaker.pace.concurrency, len(batches)), "lurcher-sparse") as pool:
            waiting = [pool.submit(self._batch, batch) for batch in batches]
            try:
                return [vector for done in waiting for vector in done.result()]
            except BaseException:
                for left in waiting:
                    left.cancel()
                raise

    def _batch(self, texts: list[str]) -> list[Sparse]:
        limit = Deadline.after(self.limits.seconds)
        with self.breaker.guard(limit):
            return patiently(lambda: self.once(texts, limit), limit)

    def query(self, text: str) -> Sparse:
        limit = Deadline.after(self.limits.query_seconds)
        with self.breaker.guard(limit):
            return patiently(lambda: self.once([text], limit), limit)[0]

    def once(self, texts: Sequence[str], deadline: Deadline) -> list[Sparse]:
        """The vectors of one batch, asked once, whatever became of it before."""
        cut = [text[: self.limits.tokens * CHARS_PER_TOKEN].encode("utf-8", "replace").decode() for text in texts]
        answer = self.ask(PATH, deadline, {"inputs": cut, "truncate": True})
        return vectors_of(answer, len(texts), TOP, place(self.base))

    def ask(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        return ask(self.base, path, deadline, body, headers=authorization(self.key), most=MOST_BYTES)


def vectors_of(found: Any, count: int, top: int, server: str) -> list[Sparse]:
    """As many vectors as there are texts, each checked."""
    if not isinstance(found, list) or not all(isinstance(entries, list) for entries in found):
        raise ServerError(f"{server} answers without sparse vectors", _HINT)
    if len(found) != count:
        raise ServerError(f"{server} answers with {len(found)} sparse vectors for {count} texts", _HINT)
    return [_vector(entries, top, server) for entries in found]


def _vector(entries: list[Any], top: int, server: str) -> Sparse:
    import numpy as np

    if len(entries) > _MOST_NUMBERS:
        raise ServerError(f"{server} answers with a sparse vector of {len(entries):,} numbers", "use a sparse model")
    weights: dict[int, float] = {}
    for number, weight in _pairs(entries, server):
        weights[number] = max(weight, weights.get(number, 0.0))
    kept = sorted(sorted(weights, key=lambda number: (-weights[number], number))[:top])
    return Sparse(np.array(kept, np.uint32), np.array([weights[number] for number in kept], np.float32))


def _pairs(entries: list[Any], server: str) -> Iterator[tuple[int, float]]:
    for entry in entries:
        told: dict[str, Any] = entry if isinstance(entry, dict) else {}
        number, weight = told.get("index"), told.get("value", math.nan)
        if type(number) is not int or not 0 <= number < 1 << 32:
            raise ServerError(f"{server} answers with a sparse vector whose places are no numbers of terms", _HINT)
        if type(weight) not in (int, float) or not abs(weight) < 1e30:
            raise ServerError(f"{server} answers with a sparse vector that is not all numbers", "use another model")
        if weight > 1e-30:  # a weight of nothing is none
            yield number, float(weight)
