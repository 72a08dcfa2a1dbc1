"""A store to test, a project to put there, and engines that share them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from lurcher import Engine
from lurcher.config import Settings
from lurcher.stores import shared
from lurcher.stores.base import Store, store_at
from tests.conftest import FILES
from tests.stores import memory, qdrant_backends
from tests.stores.backends import EXAMPLE, PLACES


@pytest.fixture(autouse=True)
def _memory_is_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lurcher.stores.memory", memory)
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setitem(sys.modules, "lurcher.stores.shelf", import_module("lurcher_example.shelf"))
    for name in ("LURCHER_STORE", "LURCHER_STORE_PROJECT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=sorted(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store, of each kind in turn."""
    with PLACES[request.param](tmp_path / "store") as url:
        yield url


@pytest.fixture(params=sorted(qdrant_backends.PLACES))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store in Qdrant, of each kind in turn."""
    with qdrant_backends.PLACES[request.param](tmp_path / "store") as address:
        yield address


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """The store behind `place`."""
    opened = store_at(place, Settings())
    yield opened
    opened.close()


class Unclosed:
    """A store that engines leave open, since others use it too."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def close(self) -> None:
        pass


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Makes engines use a store, whatever address they are given."""

    def patched(store: Any) -> None:
        monkeypatch.setattr(shared, "store_at", lambda url, settings: Unclosed(store))

    return patched


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project in several languages, outside of git."""
    return write_tree(tmp_path / "shop", FILES)


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(dedent(text))
    return root


@pytest.fixture
def opened(place: str, store: Store, use: Callable[[Any], None], tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Engines on the store under test, closed at the end."""
    use(store)
    engines: list[Engine] = []

    def make(root: Path, **options: Any) -> Engine:
        engines.append(Engine.open(root, root=root, index_dir=tmp_path / "indexes" / root.name, store=place, **options))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def local(tmp_path: Path) -> Callable[..., Engine]:
    """Engines on the local index alone."""

    def make(root: Path, **options: Any) -> Engine:
        return Engine.open(root, root=root, index_dir=tmp_path / "indexes" / root.name, **options)

    return make
