"""A model in ONNX with its tokenizer, loaded and fed: what cross-encoders and embedding models have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import MissingExtra, ModelError
from lurcher.hub import Files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INSTALL = "run: pip install 'lurcher[onnx]'"
_OFFSET = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet"}
"""Models whose first two positions are not for text."""


class Network:
    """Model and tokenizer of some files; `kind` is what it should be, in words."""

    def __init__(self, files: Files, kind: str) -> None:
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
        except Exception as error:  # both are native code with errors of their own
            raise ModelError(f"{files.model.parent} cannot be loaded: {_line(error)}", "get the model anew") from None
        self._inputs = {item.name: item.type for item in self._session.get_inputs()}
        self.outputs = {item.name: len(item.shape) for item in self._session.get_outputs()}
        """Name and number of axes of what it answers with."""
        if "input_ids" not in self._inputs:
            raise ModelError(f"{files.model.name} takes {', '.join(self._inputs)}, not input_ids", f"use {kind}")
        self._pad = _pad_id(self.about, self.tokenizer)
        self.tokenizer.no_padding()

    def positions(self) -> int:
        """How many tokens the model has places for."""
        found = self.about.get("max_position_embeddings")
        if not isinstance(found, int) or isinstance(found, bool):
            return 512
        return found - 2 if self.about.get("model_type") in _OFFSET else found

    def run(self, encoded: Sequence[Any], output: str | None, setting: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """What the model answers for some encoded texts, and which places are text; `setting` limits how many there are."""
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
            fed = {name: columns[name].astype(np.int32 if "int32" in kind else np.int64) for name, kind in self._inputs.items()}
            found = np.asarray(self._session.run(None if output is None else [output], fed)[0])
        except KeyError as unknown:
            raise ModelError(f"the model wants {unknown}, which is not known here", f"use {self._kind}") from None
        except Exception as error:
            raise ModelError(f"the model failed: {_line(error)}", f"use another model, or lower {setting}") from None
        return found, columns["attention_mask"]


def read_json(path: Path | None) -> dict[str, Any]:
    """What a file of a model says; nothing where there is none."""
    try:
        found = json.loads(path.read_text("utf-8")) if path is not None else {}
    except (OSError, ValueError, RecursionError) as error:
        name = path.name if path is not None else "config.json"
        raise ModelError(f"{name} of the model cannot be read: {error}", "get the model anew") from None
    return found if isinstance(found, dict) else {}


def _pad_id(about: dict[str, Any], tokenizer: Any) -> int:
    found = about.get("pad_token_id")
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return found
    known = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((number for number in known if number is not None), 0)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
