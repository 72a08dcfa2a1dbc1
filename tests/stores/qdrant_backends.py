"""Stores in Qdrant to test: its own engine in this process, and that engine behind HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from lurcher import config

MEMORY = Path("/dev/shm")


@contextmanager
def quick(folder: Path) -> Iterator[Path]:
    """A folder in memory, where there is such a thing: the engine flushes often, and a disk that others use is slow at that."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else folder.parent) as made:
        yield Path(made)


@contextmanager
def edge(folder: Path) -> Iterator[str]:
    pytest.importorskip("qdrant_edge")
    with quick(folder) as place:
        yield f"qdrant+edge://{place}"


@contextmanager
def server(folder: Path) -> Iterator[str]:
    pytest.importorskip("qdrant_client")
    pytest.importorskip("qdrant_edge")
    from tests.stores.qdrant_server import serving

    with quick(folder) as place, serving(place) as running:
        yield running.url


PLACES: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "qdrant-edge": edge, "qdrant-http": server,
}  # fmt: skip


def settings(**values: object) -> config.Settings:
    """Settings of Qdrant, as flags set them."""
    return config.apply(config.Settings(), {f"qdrant.{key}": value for key, value in values.items()}, "flag")
