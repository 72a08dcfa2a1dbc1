"""Finds an ONNX model with its tokenizer: in a folder, or by its name in the local hub cache. Never downloads."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from lurcher import config
from lurcher.errors import ModelError

_HUB_NAME = re.compile(r"^\w[\w.-]*/[\w.-]+$")
_REVISION = re.compile(r"^[0-9a-f]{7,64}$")
_PLACES = ("model.onnx", "onnx/model.onnx")


@dataclass(frozen=True, slots=True)
class Files:
    model: Path
    tokenizer: Path
    config: Path | None


def find_model(named: str, key: str) -> Files:
    """The files of the model that the setting `key` names."""
    hint = "name a folder with model.onnx and tokenizer.json, or a model of the hub as OWNER/NAME"
    if not named.strip():
        raise ModelError(f"{key} is empty", hint)
    if not _HUB_NAME.match(named):
        path = Path(named).expanduser()
        if not path.is_dir():
            raise ModelError(f"there is no folder {named}", hint)
        return _files_in(path, named)
    # A name of the hub is never a folder here: a repository could have one of that name, with a model of its own.
    folder = _cached(named)
    if folder is None:
        here = f"; if you mean the folder, write ./{named}" if Path(named).is_dir() else ""
        raise ModelError(f"the model {named} is not on this machine", f"run: {command(named)}{here}")
    try:
        return _files_in(folder, named)
    except ModelError as problem:
        raise ModelError(problem.message, f"run: {command(named)}") from None


def command(name: str) -> str:
    """What gets a model of the hub, with the hub's own tool."""
    return f"pip install huggingface_hub && hf download {shlex.quote(name)} --include 'onnx/model.onnx*' '*.json'"


def _files_in(folder: Path, named: str) -> Files:
    models = [folder / place for place in _PLACES if (folder / place).is_file()]
    models = models or sorted(folder.glob("onnx/model*.onnx")) or sorted(folder.glob("*.onnx"))
    tokenizer, about = folder / "tokenizer.json", folder / "config.json"
    if not models:
        raise ModelError(f"the model {named} has no ONNX file", f"put model.onnx or onnx/model.onnx into {folder}")
    if not tokenizer.is_file():
        raise ModelError(f"the model {named} has no tokenizer.json", f"put the model's tokenizer.json into {folder}")
    return Files(models[0], tokenizer, about if about.is_file() else None)


def _cached(name: str) -> Path | None:
    """The newest revision of a model in the hub cache: the one that its main branch pointed to, else any."""
    hub = config.hub_folder()
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
