"""Copies of source trees to measure on, and what is in them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CHANGE_BYTES = range(4_000, 20_000)
"""Size of the files that a measurement of one change edits: neither trivial nor outliers."""
HASH_COMMENTS = {".py", ".rb", ".sh", ".yml", ".toml"}


def copy(tree: Path, target: Path) -> Path:
    """A copy outside of any repository around the original, with its own .git if it has one and without anybody's index."""
    shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".lurcher"))
    if (target / ".git").exists():
        # The copy has new inodes; without this, git would look at every file's content on each call.
        subprocess.run(["git", "-C", str(target), "status", "--porcelain"], stdout=subprocess.DEVNULL, check=True)
    return target


def sources(tree: Path) -> list[Path]:
    return sorted(
        path
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in path.relative_to(tree).parts)
    )


def size(tree: Path) -> dict[str, int | bool]:
    files = sources(tree)
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files), "git": (tree / ".git").exists()}


def files_to_change(tree: Path, count: int) -> list[Path]:
    """Files of a usual size, spread over the tree."""
    files = [path for path in sources(tree) if path.stat().st_size in CHANGE_BYTES]
    if len(files) < count:
        raise SystemExit(f"the tree has only {len(files)} files of a usual size to change")
    return [files[(i + 1) * len(files) // (count + 1)] for i in range(count)]


def change(path: Path, word: str) -> None:
    """Put a comment with a new word at the top of a file."""
    mark = "#" if path.suffix in HASH_COMMENTS else "//"
    path.write_bytes(f"{mark} {word}\n".encode() + path.read_bytes())
