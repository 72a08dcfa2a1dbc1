"""Reads the small files in which packages tell of themselves; a broken one says nothing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

_MOST = 32_000_000
_VERSION = re.compile(r"[\w.+!~^-]{1,100}", re.ASCII)


def content_of(path: Path, most: int = _MOST) -> str:
    """The text of a file; nothing where there is none, or something else. A pipe in its place cannot hold us up."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as handle:
            return (handle.read(most) or b"").decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(content_of(path))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """A version, if it is one: it is shown to people and kept in an index."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else ""


def order_of(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Sorts versions such as 1.2.3 and v1.2.3-rc.1 by their numbers, releases after what came before them."""
    base = version.removeprefix("v").partition("+")[0]
    numbers, dash, before = base.partition("-")
    return tuple(int(part) if part.isdecimal() else 0 for part in numbers.split(".")[:8]), not dash, before
