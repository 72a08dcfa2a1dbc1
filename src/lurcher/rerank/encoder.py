"""A cross-encoder in ONNX with its tokenizer: scores pairs of a question and a text."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import MissingExtra, ModelError
from lurcher.remote import Deadline
from lurcher.rerank.hub import Files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_TEXT = 32
"""Tokens that a text keeps, however long the question is."""
_OFFSET = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet"}
"""Models whose first two positions are not for text."""
INSTALL = "run: pip install 'lurcher[onnx]'"


class Encoder:
    """Loaded once; may be asked from several threads."""

    def __init__(self, files: Files, tokens: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as missing:
            raise MissingExtra(f"a cross-encoder needs {missing.name}, which is not installed", INSTALL) from None
        about = _about(files.config)
        self._lock = threading.Lock()
        """How much is cut is the tokenizer's own state."""
        try:
            self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both are native code with errors of their own
            raise ModelError(f"{files.model.parent} cannot be loaded: {_line(error)}", "get the model anew") from None
        self._inputs = {item.name: item.type for item in self._session.get_inputs()}
        if "input_ids" not in self._inputs:
            raise ModelError(f"{files.model.name} takes {', '.join(self._inputs)}, not input_ids", "use a cross-encoder")
        self._limit = min(tokens, _positions(about))
        self._pad = _pad_id(about, self._tokenizer)
        self._tokenizer.no_padding()
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
        import numpy as np

        longest = max(len(pair.ids) for pair in pairs)
        shape = (len(pairs), longest)
        columns = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        columns["input_ids"][:] = self._pad
        for row, pair in enumerate(pairs):
            size = len(pair.ids)
            columns["input_ids"][row, :size] = pair.ids
            columns["attention_mask"][row, :size] = 1
            columns["token_type_ids"][row, :size] = pair.type_ids
        try:
            fed = {name: columns[name].astype(np.int32 if "int32" in kind else np.int64) for name, kind in self._inputs.items()}
            found = np.asarray(self._session.run(None, fed)[0], np.float64)
        except KeyError as unknown:
            raise ModelError(f"the model wants {unknown}, which is not known here", "use a cross-encoder") from None
        except Exception as error:
            raise ModelError(f"the model failed: {_line(error)}", "use another model, or lower reranker.tokens") from None
        return _sigmoid(_logits(found, len(pairs)))


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


def _about(path: Path | None) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8")) if path is not None else {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"config.json of the model cannot be read: {error}", "get the model anew") from None
    return found if isinstance(found, dict) else {}


def _positions(about: dict[str, Any]) -> int:
    """How many tokens the model has places for."""
    found = about.get("max_position_embeddings")
    if not isinstance(found, int) or isinstance(found, bool):
        return 512
    limit = found - 2 if about.get("model_type") in _OFFSET else found
    if limit < 2 * LEAST_TEXT:
        raise ModelError(f"the model reads {limit} tokens, too few for a question and a text", "use another model")
    return limit


def _pad_id(about: dict[str, Any], tokenizer: Any) -> int:
    found = about.get("pad_token_id")
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return found
    known = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((number for number in known if number is not None), 0)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
