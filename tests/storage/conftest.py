"""The trees of tests/indexing, for tests of the files that an index of them has."""

from __future__ import annotations

from tests.indexing.conftest import plain, root, scene

__all__ = ["plain", "root", "scene"]
