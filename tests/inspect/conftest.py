"""The small tree of tests/indexing."""

from __future__ import annotations

from tests.indexing.conftest import root

__all__ = ["root"]
