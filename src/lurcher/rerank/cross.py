"""`--rerank cross`: a cross-encoder reads query and text together.

It runs in this process from an ONNX model, or on a server with the `/rerank` of TEI or infinity where `reranker.url` is set.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import ModelError, ServerError
from lurcher.net.http import Deadline, check_url
from lurcher.net.resilience import ServiceClient
from lurcher.rerank.stage import Judged, Request
from lurcher.types import Degraded
from lurcher.vectors.onnx import ModelFiles, OnnxModel, find_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_CHARS = 20_000
"""Characters of a text that are read: no model takes more."""
TOKENS = 512
"""Of a pair, at most; the text is cut, not the query. The models that the classic pipelines name read no more."""
BATCH = 8
"""Pairs that the local model scores together; hand-set."""
MAX_TEXTS = 32
"""Texts in one request: the default limit of servers."""
MIN_TEXT_TOKENS = 32
"""Tokens that a text keeps, however long the query is."""


def top(settings: Settings) -> int:
    return settings.reranker.top


def rerank(request: Request) -> Judged:
    settings = request.settings.reranker
    deadline = Deadline.after(settings.seconds)
    texts = [f"{candidate.header}\n{candidate.text}"[:MAX_CHARS] for candidate in request.candidates]
    url = user_setting(request.settings, "reranker.url")
    return _remote(request, url, texts, deadline) if url.strip() else _local(request, texts, deadline)


def _local(request: Request, texts: list[str], deadline: Deadline) -> Judged:
    files = find_model(user_setting(request.settings, "reranker.model"), "reranker.model")
    encoder = request.warm.get(("cross", files, TOKENS), lambda: CrossEncoder(files, TOKENS))
    scores, cut = encoder.score(request.query, texts, BATCH, deadline)
    reason = "the query is longer than the model reads; only its beginning was compared"
    return Judged(tuple(scores), notes=(Degraded("cross", reason, "use a shorter query"),) if cut else ())


def _remote(request: Request, url: str, texts: list[str], deadline: Deadline) -> Judged:
    server = make_server(request.settings, url)
    with server.client.breaker.guard(deadline):
        return Judged(tuple(server.scores(request.query, texts, deadline)), hint="see the server's own log")


@dataclass(frozen=True, slots=True)
class Server:
    """A cross-encoder on a server."""

    client: ServiceClient
    protocol: str
    model: str

    @property
    def base(self) -> SplitResult:
        return self.client.base

    def request(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        return self.client.request(path, deadline, body)

    def scores(self, query: str, texts: list[str], deadline: Deadline) -> list[float | None]:
        """A score from 0 to 1 for each text; None for one that the server leaves out."""
        scores: list[float | None] = []
        for first in range(0, len(texts), MAX_TEXTS):
            part = texts[first : first + MAX_TEXTS]
            if self.protocol == "tei":
                body = {"query": query, "texts": part, "truncate": True, "raw_scores": False}
                scores += _read_scores(self.request("/rerank", deadline, body), "score", len(part), self.client.name)
            else:
                body = {"query": query, "documents": part, "return_documents": False, "model": self.model}
                answer = self.request("/rerank", deadline, body)
                results = answer.get("results") if isinstance(answer, dict) else None
                scores += _read_scores(results, "relevance_score", len(part), self.client.name)
        if any(score is not None and not 0 <= score <= 1 for score in scores):  # raw logits
            scores = [None if score is None else 1 / (1 + exp(-max(-60.0, min(60.0, score)))) for score in scores]
        return scores


def make_server(settings: Settings, url: str) -> Server:
    chosen = settings.reranker
    return Server(ServiceClient("reranker", check_url(url, "reranker.url")), chosen.protocol, chosen.model)


def _read_scores(entries: Any, name: str, count: int, server: str) -> list[float | None]:
    """The scores of some texts by their index; invalid entries are skipped, unless none is left.

    A text with two different scores has none. An index out of range is an error: the server counts differently, and each
    score may belong to another text.
    """
    found: list[float | None] = [None] * count
    twice: set[int] = set()
    for entry in entries if isinstance(entries, list) else ():
        index, score = (entry.get("index"), entry.get(name)) if isinstance(entry, dict) else (None, None)
        if type(index) is not int:
            continue
        if not 0 <= index < count:
            raise ServerError(f"{server} scores text {index} of {count}, counted from 0", "check reranker.protocol")
        if isinstance(score, (int, float)) and not isinstance(score, bool) and abs(score) < 1e30:
            if found[index] not in (None, float(score)):
                twice.add(index)
            found[index] = float(score)
    for index in twice:
        found[index] = None
    if count and all(score is None for score in found):
        raise ServerError(f"{server} answers without scores", "check the address and reranker.protocol")
    return found


class CrossEncoder:
    """A cross-encoder in ONNX with its tokenizer. Loaded once; thread-safe."""

    def __init__(self, files: ModelFiles, tokens: int) -> None:
        self._network = OnnxModel(files, "a cross-encoder")
        self._tokenizer = self._network.tokenizer
        self._lock = threading.Lock()
        """Truncation is state of the tokenizer."""
        self._limit = min(tokens, self._network.max_tokens())
        if self._limit < 2 * MIN_TEXT_TOKENS:
            raise ModelError(f"the model reads {self._limit} tokens, too few for a query and a text", "use another model")
        self._special = self._tokenizer.num_special_tokens_to_add(True)
        self._tokenizer.enable_truncation(self._limit, strategy="only_second")

    def score(self, query: str, texts: Sequence[str], batch: int, deadline: Deadline) -> tuple[list[float], bool]:
        """A score from 0 to 1 for each text, and whether the query had to be cut to leave room for a text."""
        import numpy as np

        with self._lock:
            question, cut = self._fit_query(query)
            pairs = self._tokenizer.encode_batch([(question, text) for text in texts])
        scores = np.zeros(len(texts))
        order = sorted(range(len(texts)), key=lambda i: (len(pairs[i].ids), i))
        for first in range(0, len(order), batch):
            if not deadline.left:
                raise ModelError(
                    f"{first} of {len(order)} pairs were scored in {deadline.seconds:g} s",
                    "raise reranker.seconds, lower reranker.top, or use a smaller model",
                )
            chosen = order[first : first + batch]
            scores[chosen] = self._run([pairs[i] for i in chosen])
        if not np.isfinite(scores).all():
            raise ModelError("the model gives scores that are not numbers", "use another model")
        return [float(value) for value in scores], cut

    def _fit_query(self, query: str) -> tuple[str, bool]:
        """The query, cut if it would leave less than `MIN_TEXT_TOKENS` tokens for a text; and whether it was cut."""
        room = self._limit - self._special - MIN_TEXT_TOKENS
        self._tokenizer.no_truncation()
        try:
            found = self._tokenizer.encode(query, add_special_tokens=False)
        finally:
            self._tokenizer.enable_truncation(self._limit, strategy="only_second")
        if len(found.ids) <= room:
            return query, False
        return query[: found.offsets[room - 1][1]], True

    def _run(self, pairs: Sequence[Any]) -> NDArray[np.float64]:
        found, _ = self._network.run(pairs, None, "")
        return _sigmoid(_logits(found.astype("f8"), len(pairs)))


def _logits(found: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    if found.shape in ((count,), (count, 1)):
        return found.reshape(count)
    if found.shape == (count, 2):  # two classes: irrelevant, relevant
        logits: NDArray[np.float64] = found[:, 1] - found[:, 0]
        return logits
    raise ModelError(f"the model answers {found.shape} for {count} pairs", "use a cross-encoder with one score for each pair")


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(values, -60, 60)))
    return np.where(np.isnan(values), np.nan, found)
