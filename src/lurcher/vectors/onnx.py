"""The provider `onnx`: an embedding model that runs in this process; and ONNX models with their tokenizers, for rerankers too.

A model is found in a folder or in the local hub cache, and never downloaded.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import user_files
from lurcher.config.trust import user_setting
from lurcher.errors import MissingExtra, ModelError
from lurcher.net.http import Deadline
from lurcher.vectors.service import Identity, ProviderRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_HUB_NAME = re.compile(r"^\w[\w.-]*/[\w.-]+$")
_REVISION = re.compile(r"^[0-9a-f]{7,64}$")
_PLACES = ("model.onnx", "onnx/model.onnx")
INSTALL = "run: pip install 'lurcher[onnx]'"
_OFFSET = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet"}
"""Models whose first two positions are not for text."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model."""

    model: Path
    tokenizer: Path
    config: Path | None


def find_model(named: str, key: str) -> ModelFiles:
    """The files of the model that the setting `key` names."""
    hint = "name a folder with model.onnx and tokenizer.json, or a model of the hub as OWNER/NAME"
    if not named.strip():
        raise ModelError(f"{key} is empty", hint)
    if not _HUB_NAME.match(named):
        path = Path(named).expanduser()
        if not path.is_dir():
            raise ModelError(f"there is no folder {named}", hint)
        return _files_in(path, named)
    # A hub name never means a local folder: a repository could have one of that name, with a model of its own.
    folder = _find_cached(named)
    if folder is None:
        here = f"; if you mean the folder, write ./{named}" if Path(named).is_dir() else ""
        raise ModelError(f"the model {named} is not on this machine", f"run: {download_command(named)}{here}")
    try:
        return _files_in(folder, named)
    except ModelError as problem:
        raise ModelError(problem.message, f"run: {download_command(named)}") from None


def download_command(name: str) -> str:
    """The command that downloads a model with the hub's own tool."""
    return f"pip install huggingface_hub && hf download {shlex.quote(name)} --include 'onnx/model.onnx*' '*.json'"


def _files_in(folder: Path, named: str) -> ModelFiles:
    models = [folder / place for place in _PLACES if (folder / place).is_file()]
    models = models or sorted(folder.glob("onnx/model*.onnx")) or sorted(folder.glob("*.onnx"))
    tokenizer, about = folder / "tokenizer.json", folder / "config.json"
    if not models:
        raise ModelError(f"the model {named} has no ONNX file", f"put model.onnx or onnx/model.onnx into {folder}")
    if not tokenizer.is_file():
        raise ModelError(f"the model {named} has no tokenizer.json", f"put the model's tokenizer.json into {folder}")
    return ModelFiles(models[0], tokenizer, about if about.is_file() else None)


def _find_cached(name: str) -> Path | None:
    """The revision of a model's main branch in the hub cache, otherwise any."""
    hub = user_files.hub_folder()
    if hub is None:
        return None
    folder = hub / f"models--{name.replace('/', '--')}"
    snapshots = folder / "snapshots"
    try:
        revision = (folder / "refs" / "main").read_text("ascii").strip()
        if _REVISION.match(revision) and (snapshots / revision).is_dir():
            return snapshots / revision
    except (OSError, ValueError):
        pass
    try:
        found = sorted(entry for entry in snapshots.iterdir() if entry.is_dir())
    except OSError:
        return None
    return found[-1] if found else None


class OnnxModel:
    """A loaded model with its tokenizer; `kind` names what it should be, for messages."""

    def __init__(self, files: ModelFiles, kind: str) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as missing:
            raise MissingExtra(f"{kind} needs {missing.name}, which is not installed", INSTALL) from None
        self._kind = kind
        self.about = read_json(files.config)
        try:
            self.tokenizer = Tokenizer.from_file(str(files.tokenizer))
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise errors of their own
            raise ModelError(f"{files.model.parent} cannot be loaded: {_line(error)}", "download the model again") from None
        self._inputs = {item.name: item.type for item in self._session.get_inputs()}
        self.outputs = {item.name: len(item.shape) for item in self._session.get_outputs()}
        """Names of the outputs, with their number of axes."""
        if "input_ids" not in self._inputs:
            raise ModelError(f"{files.model.name} takes {', '.join(self._inputs)}, not input_ids", f"use {kind}")
        self._pad = _pad_id(self.about, self.tokenizer)
        self.tokenizer.no_padding()

    def max_tokens(self) -> int:
        """How many tokens the model can read."""
        found = self.about.get("max_position_embeddings")
        if not isinstance(found, int) or isinstance(found, bool):
            return 512
        return found - 2 if self.about.get("model_type") in _OFFSET else found

    def run(self, encoded: Sequence[Any], output: str | None, setting: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The output for some encoded texts, and the attention mask; a hint names `setting`, if any."""
        import numpy as np

        longest = max(len(item.ids) for item in encoded)
        shape = (len(encoded), longest)
        columns = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        columns["position_ids"] = np.tile(np.arange(longest), (len(encoded), 1))
        columns["input_ids"][:] = self._pad
        for row, item in enumerate(encoded):
            size = len(item.ids)
            columns["input_ids"][row, :size] = item.ids
            columns["attention_mask"][row, :size] = 1
            columns["token_type_ids"][row, :size] = item.type_ids
        try:
            inputs = {
                name: columns[name].astype(np.int32 if "int32" in kind else np.int64) for name, kind in self._inputs.items()
            }
            found = np.asarray(self._session.run(None if output is None else [output], inputs)[0])
        except KeyError as unknown:
            raise ModelError(f"the model has an unknown input {unknown}", f"use {self._kind}") from None
        except Exception as error:
            hint = f"use another model, or lower {setting}" if setting else "use another model"
            raise ModelError(f"the model failed: {_line(error)}", hint) from None
        return found, columns["attention_mask"]


def read_json(path: Path | None) -> dict[str, Any]:
    """A JSON file of a model; empty where there is none."""
    try:
        found = json.loads(path.read_text("utf-8")) if path is not None else {}
    except (OSError, ValueError, RecursionError) as error:
        name = path.name if path is not None else "config.json"
        raise ModelError(f"{name} of the model cannot be read: {error}", "download the model again") from None
    return found if isinstance(found, dict) else {}


def _pad_id(about: dict[str, Any], tokenizer: Any) -> int:
    found = about.get("pad_token_id")
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return found
    known = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((number for number in known if number is not None), 0)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


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
