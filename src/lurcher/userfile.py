"""Changes one line of a settings file and nothing else: comments, order and what others wrote stay as they are."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from lurcher.errors import ConfigError


def with_setting(text: str, key: str, value: str) -> str:
    """The text with `section.name` set. Whoever calls checks that it then says just that: TOML has many ways to write it."""
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
    place = next((i for i in range(head + 1, following) if re.match(rf"\s*{name}\s*=", lines[i])), None)
    if place is None:
        lines.insert(head + 1, line)
    else:
        lines[place] = line
    return "\n".join(lines) + "\n"


def replace(path: Path, data: bytes) -> None:
    """Put new content in place of a file at once, keeping its permissions; a link to it stays one."""
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
