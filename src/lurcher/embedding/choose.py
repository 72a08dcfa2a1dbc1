"""Choosing a model: told what it is, checked or converted, and put into the user's settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lurcher import config
from lurcher.embedding.model import BUILTIN, BUILTIN_FILE, NONE, Model
from lurcher.embedding.table import Table
from lurcher.errors import ModelError, PathError

SETTING = "dense.model"


def describe(model: Model) -> dict[str, Any]:
    """What a model says of itself, and how long it takes to open it."""
    import numpy as np  # noqa: F401  (any search needs it, so it is no part of a model's time)

    started = time.perf_counter()
    table = model.table
    loaded = 1000 * (time.perf_counter() - started)
    if model.problem is not None:
        raise model.problem
    if model.textual:
        from lurcher.embedding.text import describe_text

        return describe_text(model)
    if table is None:
        return {"name": NONE, "setting": model.setting}
    meta = table.meta
    return {
        "name": meta.name, "setting": model.setting, "path": str(model.path), "version": meta.version, "dims": meta.dims,
        "bits": meta.bits, "terms": len(table), "compose": meta.compose, "buckets": table.buckets, "bytes": table.size,
        "digest": table.digest, "licence": meta.licence, "fields": meta.fields, "card": meta.card, "views": meta.views,
        "training": meta.training, "load_ms": round(loaded, 3),
    }  # fmt: skip


def choose(named: str) -> tuple[str, Path]:
    """Make a model the user's: `builtin`, `none`, a table, or a Model2Vec folder. The setting's new value, and its file."""
    if named == NONE:
        value = NONE
    elif named == BUILTIN:
        if not Path(BUILTIN_FILE).exists():
            raise ModelError("this installation has no built-in model", "choose one: lurcher model use PATH")
        Table.open(BUILTIN_FILE).verify()
        value = BUILTIN
    else:
        value = str(_table_at(Path(named).expanduser()))
    return value, config.set_for_user(SETTING, value)


def _table_at(path: Path) -> Path:
    """The table that a path stands for; a Model2Vec folder is converted into one first."""
    if not path.exists():
        raise PathError(f"{path} does not exist", "name a table, a Model2Vec folder, builtin or none")
    if path.is_dir():
        from lurcher.embedding.model2vec import convert

        return convert(path, config.data_folder() / "models")
    Table.open(path).verify()
    return path.absolute()
