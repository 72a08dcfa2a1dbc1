"""The benchmarks are scripts that import each other by plain names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
if FOLDER.is_dir():
    # At the end: one of the scripts is called http, and the one of the standard library must win.
    sys.path.append(str(FOLDER))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not FOLDER.is_dir():
        for item in items:
            if Path(item.path).parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="the benchmarks are not here"))
