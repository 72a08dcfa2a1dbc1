"""`onnx`: an embedding model that runs in this process, from a folder or from the local hub cache."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.config.trust import user_setting
from lurcher.errors import ModelError
from lurcher.net.http import Deadline
from lurcher.vectors.onnx_model import ModelFiles, OnnxModel, find_model, read_json
from lurcher.vectors.service import Identity, ProviderRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CHARS = 20_000
"""Characters of a text that are read: no model takes more."""
_SAMPLES, _SAMPLE = 16, 1 << 14
_POOLING = (("pooling_mode_cls_token", "cls"), ("pooling_mode_mean_tokens", "mean"), ("pooling_mode_lasttoken", "last"))
_ONE_VECTOR = "sentence_embedding"
"""The output of models that pool by themselves."""


def identity(wanted: ProviderRequest) -> Identity:
    files = _files(wanted)
    return {"model": _digest(files), "pooling": wanted.settings.pooling, "tokens": wanted.settings.tokens}


def connect(wanted: ProviderRequest) -> Encoder:
    return Encoder(_files(wanted), wanted.settings.tokens, wanted.settings.pooling)


def _files(wanted: ProviderRequest) -> ModelFiles:
    return find_model(user_setting(wanted.all, "embedding.model"), "embedding.model")


def _digest(files: ModelFiles) -> str:
    """Identifies a model by samples of its file: reading all of it would take longer than a query."""
    digest = hashlib.blake2b(digest_size=16)
    weights = files.model.with_name(files.model.name + "_data")
    pooling = files.tokenizer.parent / "1_Pooling" / "config.json"
    try:
        for path in (files.model, weights, files.tokenizer, pooling):
            if not path.is_file():
                continue
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as handle:
                for number in range(_SAMPLES):
                    handle.seek(max(0, size - _SAMPLE) * number // (_SAMPLES - 1))
                    digest.update(handle.read(_SAMPLE))
    except OSError as error:
        raise ModelError(f"{files.model} cannot be read: {error.strerror}", "check its permissions") from None
    return digest.hexdigest()


class Encoder:
    """Loaded when it is first needed. Thread-safe."""

    def __init__(self, files: ModelFiles, tokens: int, pooling: str) -> None:
        self._network = OnnxModel(files, "an embedding model")
        folder = files.tokenizer.parent
        self._pooling = _read_pooling(folder) if pooling == "auto" else pooling
        self._output = self._choose_output(pooling)
        limit = min(tokens, self._network.max_tokens(), _read_max_tokens(folder))
        self._network.tokenizer.enable_truncation(limit)
        self._lock = threading.Lock()

    def _choose_output(self, pooling: str) -> str:
        """The output to use: one vector per text, if the model has that and no pooling is configured."""
        outputs: dict[str, int] = self._network.outputs
        if _ONE_VECTOR in outputs and (pooling == "auto" or 3 not in outputs.values()):
            return _ONE_VECTOR
        return next((name for name, axes in outputs.items() if axes == 3), next(iter(outputs)))

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:  # one run with all cores is faster than two that share them
            encoded = self._network.tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])
            found, mask = self._network.run(encoded, self._output, "embedding.tokens")
        rows = np.asarray(found, np.float64)
        if rows.ndim == 3:
            rows = _pool(rows, mask, self._pooling)
        if rows.ndim != 2 or len(rows) != len(texts):
            raise ModelError(f"the model answers {found.shape} for {len(texts)} texts", "use an embedding model")
        lengths = np.sqrt((rows * rows).sum(axis=1))
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise ModelError("the model gives vectors that are not numbers", "use another model")
        unit: NDArray[np.float32] = (rows / lengths[:, None]).astype(np.float32)
        return unit

    def served(self, deadline: Deadline) -> str:
        return ""


def _pool(rows: NDArray[np.float64], mask: NDArray[np.int64], pooling: str) -> NDArray[np.float64]:
    import numpy as np

    if pooling == "cls":
        first: NDArray[np.float64] = rows[:, 0]
        return first
    if pooling == "last":
        last: NDArray[np.float64] = rows[np.arange(len(rows)), mask.sum(axis=1) - 1]
        return last
    together: NDArray[np.float64] = (rows * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
    return together


def _read_pooling(folder: Path) -> str:
    """The pooling that the model's own files name; otherwise the mean."""
    path = folder / "1_Pooling" / "config.json"
    about = read_json(path) if path.is_file() else {}
    chosen = [name for key, name in _POOLING if about.get(key) is True]
    if len(chosen) > 1 or (about and not chosen):
        named = ", ".join(sorted(key for key, value in about.items() if value is True))
        raise ModelError(f"the model pools by {named or 'nothing known'}", "set embedding.pooling to mean, cls or last")
    return chosen[0] if chosen else "mean"


def _read_max_tokens(folder: Path) -> int:
    """The most tokens that the model was trained for, where its files say so."""
    path = folder / "sentence_bert_config.json"
    found = read_json(path).get("max_seq_length") if path.is_file() else None
    return found if type(found) is int and found >= 16 else 1 << 20
