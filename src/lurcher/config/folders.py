"""The folders that belong to the user: data, state, caches, and those of other tools."""

from __future__ import annotations

import os
from pathlib import Path

from lurcher.errors import ConfigError
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Keeps what the user added, such as models."""
    return _own_folder("XDG_DATA_HOME", ".local/share", "data", environ)


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Keeps what is counted over time."""
    return _own_folder("XDG_STATE_HOME", ".local/state", "state", environ)


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Keeps what can be built again."""
    return _own_folder("XDG_CACHE_HOME", ".cache", "caches", environ)


def hub_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where the tools of the Hugging Face hub keep their downloads."""
    environ = os.environ if environ is None else environ
    if environ.get("HF_HUB_CACHE"):
        return Path(environ["HF_HUB_CACHE"])
    if environ.get("HF_HOME"):
        return Path(environ["HF_HOME"]) / "hub"
    base = named_folder("XDG_CACHE_HOME", ".cache", environ)
    return base / "huggingface" / "hub" if base else None


def named_folder(variable: str, below_home: str = "", environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder that an environment variable names, else the one below the user's home; None where there is neither."""
    environ = os.environ if environ is None else environ
    if environ.get(variable):
        return Path(environ[variable])
    return Path(environ["HOME"], below_home) if below_home and environ.get("HOME") else None


def _own_folder(variable: str, below_home: str, purpose: str, environ: Mapping[str, str] | None) -> Path:
    base = named_folder(variable, below_home, environ)
    if base is None:
        raise ConfigError(f"there is no folder for the user's {purpose}", f"set HOME or {variable}")
    return base / "lurcher"
