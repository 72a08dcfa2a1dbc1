"""Stores in Qdrant to test: its own engine in this process, that engine behind HTTP, and a real server where there is one.

`TESTS_QDRANT` has the address of a real server, such as qdrant://127.0.0.1:6333. Its collections `code_chunks…` are deleted
before and after each test.
"""

from __future__ import annotations

import http.client
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from lurcher import config
from lurcher.stores.qdrant import parse_address

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


def emptied(url: str) -> None:
    """Delete what lurcher keeps on a server; other collections stay."""
    address = parse_address(url).server
    assert address is not None
    for name in ("code_chunks", "code_chunks_files", "code_chunks_projects"):
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        connection.request("DELETE", f"/collections/{name}")
        assert connection.getresponse().status in (200, 404)
        connection.close()


@contextmanager
def real_server(folder: Path) -> Iterator[str]:
    url = os.environ["TESTS_QDRANT"]
    emptied(url)
    yield url
    emptied(url)


PLACES: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "qdrant-edge": edge, "qdrant-http": server,
}  # fmt: skip
if "TESTS_QDRANT" in os.environ:
    PLACES["qdrant-server"] = real_server


def settings(**values: object) -> config.Settings:
    """Settings of Qdrant, as flags set them."""
    return config.apply(config.Settings(), {f"qdrant.{key}": value for key, value in values.items()}, "flag")
