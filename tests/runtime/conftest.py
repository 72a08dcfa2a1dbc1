"""The small tree of tests/indexing."""

from __future__ import annotations

from tests.indexing.conftest import plain, root

__all__ = ["plain", "root"]
