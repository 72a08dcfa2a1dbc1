"""The trees of tests/indexing, for tests of the files that an index of them has."""

from __future__ import annotations

from tests.indexing.conftest import any_scene, plain, root

__all__ = ["any_scene", "plain", "root"]
