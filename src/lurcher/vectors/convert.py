"""Choosing a model: describes it, checks or converts it, and writes it into the user's settings.

A Model2Vec folder is converted into a term table. Its `tokenizer.json` (WordPiece) and `model.safetensors` are read without
their libraries. A safetensors file is the length of a JSON header as 8 bytes, the header (name → dtype, shape, offsets), and
the numbers.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import user_files
from lurcher.config.user_files import write_setting
from lurcher.errors import ModelError, PathError
from lurcher.storage.disk import write_atomically
from lurcher.vectors import BUILTIN, BUILTIN_FILE, NONE, Model
from lurcher.vectors.table import MAX_DIMS, VERSION, Table, pack_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SETTING = "dense.model"
_HINT = "a Model2Vec folder has config.json, tokenizer.json (WordPiece) and model.safetensors"
_MAX_JSON = 64_000_000
_MAX_ROWS = 2_000_000
_WIDTHS = {"F32": 4, "F16": 2, "BF16": 2}
_NAMES = ("embeddings", "embedding.weight")


def convert_model2vec(source: Path, target: Path) -> Path:
    """Convert a Model2Vec folder into a table in the folder `target`, named by its content."""
    pieces = _pack(source)
    data = b"".join(pieces)
    table = Table.of(data, source.name)
    table.verify()
    path = target / f"{source.resolve().name or 'model'}-{table.digest[:8]}.table"
    try:
        target.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [data])
    except OSError as error:
        raise ModelError(
            f"the table cannot be written to {target}: {error.strerror}", "set XDG_DATA_HOME to another folder"
        ) from error
    return path


def _pack(folder: Path) -> list[bytes | memoryview]:
    import numpy as np

    configuration = _json(folder / "config.json")
    pieces = _pieces(_json(folder / "tokenizer.json"))
    tensors = _Tensors(folder / "model.safetensors")
    name = next((name for name in _NAMES if name in tensors), None)
    if name is None:
        raise ModelError("model.safetensors has no embeddings", _HINT)
    rows = tensors.matrix(name)
    numbers = np.fromiter(pieces.values(), np.int64, len(pieces))
    if "mapping" in tensors:
        mapping = tensors.whole("mapping")
        if not len(numbers) or int(numbers.max()) >= len(mapping):
            raise ModelError("the tokens of tokenizer.json are not those of model.safetensors", _HINT)
        places = mapping[numbers]
    else:
        places = numbers
    if not len(places) or int(places.min()) < 0 or int(places.max()) >= len(rows):
        raise ModelError("the tokens of tokenizer.json are not those of model.safetensors", _HINT)
    vectors = rows[places]
    if "weights" in tensors:
        weights = tensors.vector("weights")
        if int(numbers.max()) >= len(weights):
            raise ModelError("model.safetensors does not have a weight for each token", _HINT)
        vectors = vectors * weights[numbers][:, None]
    if not np.isfinite(vectors).all() or float(np.abs(vectors).max(initial=0)) > 1e6:
        raise ModelError("model.safetensors has numbers out of range", "download the model again")
    training = {key: value for key, value in configuration.items() if isinstance(value, (str, int, float, bool))}
    meta = {
        "version": VERSION, "name": folder.resolve().name or "model", "compose": "wordpiece",
        "training": {"from": "Model2Vec", **training}, "licence": "that of the model it was made from",
    }  # fmt: skip
    ones = np.ones(len(pieces), np.float32)
    return pack_table(list(pieces), vectors, ones, ones, None, meta)


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_JSON:
            raise ModelError(f"{path.name} is too large", _HINT)
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror}", _HINT) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path.name} is not valid JSON", _HINT) from error
    if not isinstance(value, dict):
        raise ModelError(f"{path.name} is not a JSON object", _HINT)
    return value


def _pieces(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of text with their numbers, without special tokens."""
    model = tokenizer.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(model, dict) or kind != "WordPiece":
        raise ModelError(f"the tokenizer is of the type {str(kind)[:40]!r}, and only WordPiece can be used", _HINT)
    if model.get("continuing_subword_prefix", "##") != "##":
        raise ModelError("the tokenizer does not mark continuations by ##", _HINT)
    vocabulary, added = model.get("vocab"), tokenizer.get("added_tokens") or []
    if not isinstance(vocabulary, dict) or not isinstance(added, list):
        raise ModelError("tokenizer.json has no vocabulary", _HINT)
    special = {entry.get("content") for entry in added if isinstance(entry, dict) and entry.get("special")}
    pieces = {token: number for token, number in vocabulary.items() if token not in special}
    if any(type(number) is not int or not 0 <= number < _MAX_ROWS for number in pieces.values()):
        raise ModelError("tokenizer.json has token numbers out of range", _HINT)
    return pieces


class _Tensors:
    """The arrays of a safetensors file, each checked before it is read."""

    def __init__(self, path: Path) -> None:
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path.name} cannot be read: {error.strerror}", _HINT) from error
        size = struct.unpack("<Q", self._data[:8])[0] if len(self._data) >= 8 else 0
        if not 2 <= size <= min(_MAX_JSON, len(self._data) - 8):
            raise self._broken("its header has no usable length")
        self._start = 8 + size
        try:
            header = json.loads(self._data[8 : self._start])
        except (ValueError, RecursionError) as error:
            raise self._broken("its header is not valid JSON") from error
        if not isinstance(header, dict):
            raise self._broken("its header is not a JSON object")
        self._header = header

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def _broken(self, reason: str) -> ModelError:
        return ModelError(f"model.safetensors cannot be used: {reason}", _HINT)

    def _entry(self, name: str, axes: int, widths: Mapping[str, int]) -> tuple[str, list[int], memoryview]:
        entry = self._header[name]
        try:
            kind, shape, (first, last) = entry["dtype"], list(entry["shape"]), entry["data_offsets"]
        except (TypeError, KeyError, ValueError) as error:
            raise self._broken(f"'{name}' is not described") from error
        if not isinstance(kind, str) or kind not in widths:
            raise self._broken(f"'{name}' is of the type {str(kind)[:20]}, not {', '.join(widths)}")
        if any(type(number) is not int or number < 0 for number in (*shape, first, last)) or len(shape) != axes:
            raise self._broken(f"'{name}' has no usable shape")
        count = shape[0] * (shape[1] if axes == 2 else 1)
        if last - first != count * widths[kind] or self._start + last > len(self._data):
            raise self._broken(f"'{name}' is not as long as its shape says")
        return kind, shape, memoryview(self._data)[self._start + first : self._start + last]

    def matrix(self, name: str) -> NDArray[np.float32]:
        kind, shape, data = self._entry(name, 2, _WIDTHS)
        if not 1 <= shape[1] <= MAX_DIMS or shape[0] > _MAX_ROWS:
            raise self._broken(f"'{name}' has the shape {shape}")
        return _floats(kind, data).reshape(shape)

    def vector(self, name: str) -> NDArray[np.float32]:
        kind, _, data = self._entry(name, 1, {**_WIDTHS, "F64": 8})
        return _floats(kind, data)

    def whole(self, name: str) -> NDArray[np.int64]:
        import numpy as np

        kind, _, data = self._entry(name, 1, {"I64": 8, "I32": 4})
        return np.frombuffer(data, "<i8" if kind == "I64" else "<i4").astype(np.int64)


def _floats(kind: str, data: memoryview) -> NDArray[np.float32]:
    import numpy as np

    if kind == "BF16":
        wide: NDArray[np.uint32] = np.left_shift(np.frombuffer(data, "<u2").astype(np.uint32), np.uint32(16))
        return wide.view(np.float32)
    return np.frombuffer(data, {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[kind]).astype(np.float32)


def describe_model(model: Model) -> dict[str, Any]:
    """A description of a model, with the time it takes to open."""
    import numpy as np  # noqa: F401  (every search needs numpy, so its import does not count)

    started = time.perf_counter()
    table = model.table
    loaded = 1000 * (time.perf_counter() - started)
    if model.problem is not None:
        raise model.problem
    if model.textual:
        from lurcher.vectors.text_model import describe_provider

        return describe_provider(model)
    if table is None:
        return {"name": NONE, "setting": model.setting}
    meta = table.meta
    return {
        "name": meta.name, "setting": model.setting, "path": str(model.path), "version": meta.version, "dims": meta.dims,
        "bits": meta.bits, "terms": len(table), "compose": meta.compose, "buckets": table.buckets, "bytes": table.size,
        "digest": table.digest, "licence": meta.licence, "fields": meta.fields, "card": meta.card, "views": meta.views,
        "training": meta.training, "load_ms": round(loaded, 3),
    }  # fmt: skip


def choose_model(named: str) -> tuple[str, Path]:
    """Set the user's model: `builtin`, `none`, a table, or a Model2Vec folder. Returns the setting's value and its file."""
    if named == NONE:
        value = NONE
    elif named == BUILTIN:
        if not Path(BUILTIN_FILE).exists():
            raise ModelError("this installation has no built-in model", "choose one: lurcher model use PATH")
        Table.open(BUILTIN_FILE).verify()
        value = BUILTIN
    else:
        value = str(_table_at(Path(named).expanduser()))
    return value, write_setting(SETTING, value)


def _table_at(path: Path) -> Path:
    """The table at a path; a Model2Vec folder is converted first."""
    if not path.exists():
        raise PathError(f"{path} does not exist", "name a table, a Model2Vec folder, builtin or none")
    if path.is_dir():
        return convert_model2vec(path, user_files.data_folder() / "models")
    Table.open(path).verify()
    return path.absolute()
