"""The folders that belong to the user (data, state, caches), and changes of one setting in the user's file."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from lurcher.config import apply, parse_toml, read_file, user_file_path
from lurcher.config.schema import Settings, sections
from lurcher.errors import ConfigError
from lurcher.runtime.process import replace_file


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
    """The path that an environment variable names, else the one below the user's home; None where there is neither."""
    environ = os.environ if environ is None else environ
    if environ.get(variable):
        return Path(environ[variable])
    return Path(environ["HOME"], below_home) if below_home and environ.get("HOME") else None


def _own_folder(variable: str, below_home: str, purpose: str, environ: Mapping[str, str] | None) -> Path:
    base = named_folder(variable, below_home, environ)
    if base is None:
        raise ConfigError(f"there is no folder for the user's {purpose}", f"set HOME or {variable}")
    return base / "lurcher"


def write_setting(key: str, value: str, environ: Mapping[str, str] | None = None) -> Path:
    """Set `section.name` in the user's file and return its path. ConfigError, and no change, where that is not safe.

    Comments, order and all other lines stay as they are.
    """
    named = user_file_path(environ)
    if named is None:
        raise ConfigError("there is no place for the user's settings", "set HOME, XDG_CONFIG_HOME or LURCHER_CONFIG")
    path = Path(named)
    before = read_file(path) or b""
    wanted = parse_toml(before, path.name)
    apply(Settings(), {key: value}, path.name)
    after = edit_text(before.decode("utf-8"), key, value).encode("utf-8", "surrogateescape")
    section, _, name = key.partition(".")
    table = wanted.setdefault(section, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path.name}: '{section}' is not a section", "sections: " + ", ".join(sections()))
    table[name] = value
    # TOML has many ways to write a table: the edit is kept only if the new text parses to exactly the wanted values.
    try:
        as_meant = parse_toml(after, path.name) == wanted
    except ConfigError:
        as_meant = False
    if not as_meant:
        raise ConfigError(
            f"{path.name}: '{key}' is set in a way that cannot be changed safely", f'write there yourself: {key} = "{value}"'
        )
    _replace_file(path, after)
    return path


def edit_text(text: str, key: str, value: str) -> str:
    """The text with `section.name` set, for the usual ways to write a table; the caller checks the result."""
    section, _, name = key.partition(".")
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    lines = text.splitlines()
    head = next((i for i, item in enumerate(lines) if re.match(rf"\s*\[\s*{section}\s*\]\s*(#.*)?$", item)), None)
    if head is None:
        dotted = next((i for i, item in enumerate(lines) if re.match(rf"\s*{section}\s*\.\s*{name}\s*=", item)), None)
        if dotted is not None:
            lines[dotted] = f"{section}.{line}"
        else:
            lines += [*([""] if lines and lines[-1].strip() else []), f"[{section}]", line]
        return "\n".join(lines) + "\n"
    following = next((i for i in range(head + 1, len(lines)) if re.match(r"\s*\[", lines[i])), len(lines))
    present = next((i for i in range(head + 1, following) if re.match(rf"\s*{name}\s*=", lines[i])), None)
    if present is None:
        lines.insert(head + 1, line)
    else:
        lines[present] = line
    return "\n".join(lines) + "\n"


def _replace_file(path: Path, data: bytes) -> None:
    """Replace a file's content atomically; its permissions stay, and so does a link to it."""
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o777)
        replace_file(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "check its permissions") from error
