"""The compiled kernel as tests find it: skipped where it was not built."""

from __future__ import annotations

import os
from types import ModuleType

import pytest

from lurcher.runtime.kernel import native

needed = pytest.mark.skipif(native() is None, reason="the kernel was not built")
limits_memory = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="a sanitizer needs more addresses than the process of tree-sitter may have",
)
"""For tests in which tree-sitter parses a file in a process of its own."""


def module() -> ModuleType:
    found = native()
    assert found is not None
    return found
