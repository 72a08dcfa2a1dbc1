"""Digests and JSON without the modules around them are those of the standard library."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.runtime import stdlib

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
WITHOUT = pytest.mark.parametrize("without", [False, True], ids=["quick", "standard"])


@pytest.fixture
def standard(monkeypatch: pytest.MonkeyPatch, without: bool) -> None:
    """As where the code of the standard library is not to be had."""
    if without:
        monkeypatch.setattr(stdlib, "_scanner", lambda: None)
        monkeypatch.setattr(stdlib, "_encoder", lambda: None)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.booleans(), st.booleans())
def test_values_are_written_and_read_as_json_does(value: Any, ascii_only: bool, ordered: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, sort_keys=ordered)
    assert stdlib.dumps(value, ensure_ascii=ascii_only, sort_keys=ordered) == text
    close = json.dumps(value, separators=(",", ":"))
    assert stdlib.dumps(value, separators=(",", ":")) == close
    assert stdlib.loads(close) == stdlib.loads(f" {close}\n") == json.loads(close)
    if not any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        assert stdlib.loads(text.encode()) == json.loads(text)


@WITHOUT
@pytest.mark.parametrize(
    "text", ["", " ", "{", "[1,]", "{1: 2}", "1 2", "nul", '"\x01"', "'a'", "\ufeff{}", "[" * 100_000, b"\xff"], ids=range(12)
)
def test_what_is_no_json_is_an_error(standard: None, text: str | bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        stdlib.loads(text)


@WITHOUT
def test_numbers_that_are_none(standard: None) -> None:
    assert stdlib.dumps([math.inf, -math.inf]) == "[Infinity, -Infinity]"
    assert stdlib.loads("[Infinity, -Infinity]") == [math.inf, -math.inf]
    assert math.isnan(stdlib.loads("NaN"))
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        stdlib.dumps({1, 2})


def test_digests() -> None:
    for options in ({"digest_size": 8}, {"digest_size": 8, "key": b"k"}):
        assert stdlib.blake2b(b"text", **options).digest() == hashlib.blake2b(b"text", **options).digest()  # type: ignore[arg-type]
