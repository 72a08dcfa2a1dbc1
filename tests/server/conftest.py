"""Trees for engines that live long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.indexing.conftest import TREE, write


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests leaks in."""
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    for name in ("LURCHER_INDEX_DIR", "LURCHER_INDEX_WORKERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    write(folder, TREE)
    return folder
