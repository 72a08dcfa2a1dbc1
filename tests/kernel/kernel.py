"""The compiled kernel as tests find it: skipped where it was not built."""

from __future__ import annotations

from types import ModuleType

import pytest

from lurcher.runtime.kernel import native

needed = pytest.mark.skipif(native() is None, reason="the kernel was not built")


def module() -> ModuleType:
    found = native()
    assert found is not None
    return found
