"""A cross-encoder in ONNX with its tokenizer: scores pairs of a question and a text."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lurcher.errors import ModelError
from lurcher.hub import Files
from lurcher.onnx import Network
from lurcher.remote import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
                    "raise reranker.seconds, lower reranker.top or reranker.tokens, or use a smaller model",
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
        found, _ = self._network.run(pairs, None, "reranker.tokens")
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
