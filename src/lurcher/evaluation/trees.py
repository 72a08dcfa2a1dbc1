"""Looks at an indexed folder from outside the engine: its files, and the questions that stand in them word for word."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

SKIPPED = frozenset({".git", ".hg", ".svn", ".lurcher", "node_modules", "__pycache__"})
MAX_BYTES = 1_000_000
MIN_WORDS = 3


def list_files(root: Path) -> list[str]:
    """Every file below a folder, relative to it, in order."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        inside = Path(folder).relative_to(root).as_posix()
        found += [name if inside == "." else f"{inside}/{name}" for name in names]
    return sorted(found)


def verbatim_queries(root: Path, files: Sequence[str], queries: Iterable[str]) -> dict[str, str]:
    """The queries that stand word for word in a file, each with the first such file.

    White space and the case of ASCII letters do not count. Queries of fewer than three words are names, which are meant
    to be found.
    """
    wanted: list[tuple[str, list[bytes], re.Pattern[bytes]]] = []
    for query in dict.fromkeys(queries):
        words = [word.encode().lower() for word in query.split()]
        if len(words) >= MIN_WORDS:
            # Some word is nearly always absent, a long one most likely: plain search sees that faster than the pattern.
            rarest_first = sorted(dict.fromkeys(words), key=len, reverse=True)
            phrase = rb"(?<!\w)" + rb"\s+".join(map(re.escape, words)) + rb"(?!\w)"
            wanted.append((query, rarest_first, re.compile(phrase)))
    found: dict[str, str] = {}
    for path in files if wanted else ():
        content = _small_text(root / path)
        for query, words, pattern in wanted:
            if query not in found and all(word in content for word in words) and pattern.search(content):
                found[query] = path
    return found


def _small_text(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size >= MAX_BYTES:
            return b""
        content = path.read_bytes()
    except OSError:
        return b""
    return b"" if b"\0" in content[:8192] else content.lower()
