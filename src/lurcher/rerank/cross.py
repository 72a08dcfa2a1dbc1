"""`--rerank cross`: a cross-encoder reads question and text together; here, or on a server that speaks TEI's or infinity's
`/rerank` where `reranker.url` names one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.trust import authorization, service_key, user_setting
from lurcher.errors import ModelError, ServerError
from lurcher.net.breaker import breaker_of
from lurcher.net.http import Deadline, ask, checked_url, place
from lurcher.rerank.base import Judged, Request
from lurcher.types import Degraded
from lurcher.vectors.onnx_model import Files, Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_TEXT = 20_000
"""Characters of a text that are looked at: no model has places for more."""
TOKENS = 512
"""Of a pair, at most; the text is cut, not the query. The models that the classic pipelines name read no more."""
BATCH = 8
"""Pairs that the local model scores together; hand-set."""
AT_ONCE = 32
"""Texts in one request: what servers take unless told otherwise."""


def top(settings: Settings) -> int:
    return settings.reranker.top


def rerank(request: Request) -> Judged:
    settings = request.settings.reranker
    deadline = Deadline.after(settings.seconds)
    texts = [f"{candidate.header}\n{candidate.text}"[:MOST_TEXT] for candidate in request.candidates]
    url = user_setting(request.settings, "reranker.url")
    return _remote(request, url, texts, deadline) if url.strip() else _local(request, texts, deadline)


def _local(request: Request, texts: list[str], deadline: Deadline) -> Judged:
    from lurcher.vectors.onnx_model import find_model

    files = find_model(user_setting(request.settings, "reranker.model"), "reranker.model")
    encoder = request.warm.get(("cross", files, TOKENS), lambda: Encoder(files, TOKENS))
    scores, cut = encoder.score(request.query, texts, BATCH, deadline)
    said = "the question is longer than the model reads; its beginning was compared"
    return Judged(tuple(scores), notes=(Degraded("cross", said, "ask a shorter question"),) if cut else ())


def _remote(request: Request, url: str, texts: list[str], deadline: Deadline) -> Judged:
    server = server_of(request.settings, url)
    with breaker_of("reranker", server.base).guard(deadline):
        return Judged(tuple(server.scores(request.query, texts, deadline)), hint="look at the server's own log")


@dataclass(frozen=True, slots=True)
class Server:
    """A cross-encoder on a server."""

    base: SplitResult
    protocol: str
    model: str
    key: str = field(default="", repr=False)

    def ask(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        return ask(self.base, path, deadline, body, headers=authorization(self.key))

    def scores(self, query: str, texts: list[str], deadline: Deadline) -> list[float | None]:
        """A score from 0 to 1 for each text; None for one that the server passes over."""
        scores: list[float | None] = []
        for first in range(0, len(texts), AT_ONCE):
            part = texts[first : first + AT_ONCE]
            if self.protocol == "tei":
                body = {"query": query, "texts": part, "truncate": True, "raw_scores": False}
                scores += _read(self.ask("/rerank", deadline, body), "score", len(part), place(self.base))
            else:
                body = {"query": query, "documents": part, "return_documents": False, "model": self.model}
                answer = self.ask("/rerank", deadline, body)
                results = answer.get("results") if isinstance(answer, dict) else None
                scores += _read(results, "relevance_score", len(part), place(self.base))
        if any(score is not None and not 0 <= score <= 1 for score in scores):  # a server that leaves this to us
            scores = [None if score is None else 1 / (1 + exp(-max(-60.0, min(60.0, score)))) for score in scores]
        return scores


def server_of(settings: Settings, url: str) -> Server:
    base = checked_url(url, "reranker.url")
    chosen = settings.reranker
    return Server(base, chosen.protocol, chosen.model, service_key("reranker", base))


def _read(entries: Any, name: str, count: int, server: str) -> list[float | None]:
    """The scores of some texts by their places; what makes no sense is passed over, unless nothing is left.

    A text with two scores has none: who could tell which is its own. A place that no text has says that the server counts
    them otherwise, and that each score may be another text's.
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

# ----------------------------------------------------------------------------------------------------------------------
# A cross-encoder in ONNX with its tokenizer: scores pairs of a question and a text.


LEAST_TEXT = 32
"""Tokens that a text keeps, however long the question is."""


class Encoder:
    """Loaded once; may be asked from several threads."""

    def __init__(self, files: Files, tokens: int) -> None:
        self._network = Network(files, "a cross-encoder")
        self._tokenizer = self._network.tokenizer
        self._lock = threading.Lock()
        """How much is cut is the tokenizer's own state."""
        self._limit = min(tokens, self._network.positions())
        if self._limit < 2 * LEAST_TEXT:
            raise ModelError(f"the model reads {self._limit} tokens, too few for a question and a text", "use another model")
        self._special = self._tokenizer.num_special_tokens_to_add(True)
        self._tokenizer.enable_truncation(self._limit, strategy="only_second")

    def score(self, query: str, texts: Sequence[str], batch: int, deadline: Deadline) -> tuple[list[float], bool]:
        """A score from 0 to 1 for each text, and whether the question had to be cut: only where it leaves a text no room."""
        import numpy as np

        with self._lock:
            asked, cut = self._whole(query)
            pairs = self._tokenizer.encode_batch([(asked, text) for text in texts])
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
            raise ModelError("the model gives scores that are no numbers", "use another model")
        return [float(value) for value in scores], cut

    def _whole(self, query: str) -> tuple[str, bool]:
        """The question as it is, unless it would leave less than `LEAST_TEXT` tokens for a text."""
        room = self._limit - self._special - LEAST_TEXT
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
    if found.shape == (count, 2):  # two classes, of which the second is yes
        logits: NDArray[np.float64] = found[:, 1] - found[:, 0]
        return logits
    raise ModelError(f"the model answers {found.shape} for {count} pairs", "use a cross-encoder with one score for each pair")


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(values, -60, 60)))
    return np.where(np.isnan(values), np.nan, found)
