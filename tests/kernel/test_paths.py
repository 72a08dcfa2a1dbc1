"""Paths are counted, and those that lead out of a tree are found, the same in the kernel as in Python."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lurcher import sources
from tests.kernel import kernel

pytestmark = kernel.needed
PARTS = st.sampled_from(["", ".", "..", "...", "a", "..a", "a..", "b.py", "über", "/", "\0", "\0/", "/..", "../", "\0..\0"])


@given(st.lists(PARTS, max_size=12).map("/".join) | st.lists(PARTS, max_size=12).map("".join), st.booleans())
@example("", True)
@example("\0", True)
@example("..", False)
@example("a\0..", True)
@example("a/../b", True)
@example("a\0/etc", True)
@example("a..\0..b\0c/..d", True)
def test_the_same_as_by_splitting(text: str, strict: bool) -> None:
    names = text.encode()
    found = sources.paths_in(memoryview(names), strict)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "native", lambda: None)
        assert found == sources.paths_in(names, strict)


@given(st.binary(max_size=40), st.booleans())
def test_what_is_no_text_is_refused_where_it_must_be(names: bytes, strict: bool) -> None:
    def told() -> object:
        try:
            return sources.paths_in(names, strict)
        except ValueError:
            return "no text"

    found = told()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "native", lambda: None)
        assert found == told()
    assert strict or found != "no text"
