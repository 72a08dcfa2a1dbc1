"""Changes one setting in the user's file; comments, order and all other lines stay as they are."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from lurcher.config.loader import apply, parse_toml, read_file, user_file_path
from lurcher.config.schema import Settings, sections
from lurcher.errors import ConfigError


def write_setting(key: str, value: str, environ: Mapping[str, str] | None = None) -> Path:
    """Set `section.name` in the user's file and return its path. ConfigError, and no change, where that is not safe."""
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
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "check its permissions") from error
