"""Runs code in a process of its own, and checks what it left."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lurcher.storage.container import Container

INDEX = "import sys; from lurcher.engine import Engine; Engine.open(sys.argv[1], root=sys.argv[1]).index()"
"""Indexes the tree that is its argument."""


@contextlib.contextmanager
def running(code: str, root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def intact(root: Path) -> None:
    names = sorted(path.name for path in (root / ".lurcher").iterdir())
    assert [name for name in names if not name.endswith(".segment")] == [".gitignore", "CACHEDIR.TAG", "lock", "manifest"]
    for name in names:
        if name not in (".gitignore", "CACHEDIR.TAG", "lock"):
            Container.open(root / ".lurcher" / name).verify()


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
