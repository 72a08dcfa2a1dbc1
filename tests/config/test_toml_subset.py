"""What is read plainly of TOML is what the standard library reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lurcher import config
from lurcher.config.toml_subset import parse_toml_subset

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

VALUES = st.sampled_from([
    "1", "-1", "0", "00", "01", "-0", "1.5", "-0.25", "1.", ".5", "1e3", "+1", "1_000", "0x1f", "true", "false", "True", "nan",
    '"a"', '""', '"a\\n"', '"a#b"', '"a"b"', "'a'", "'a\\b'", "''", '"""a"""', "'''", "[1]", "{a = 1}", "2020-01-01", "",
    "1 # one", '"a" # b', "9" * 17, "9" * 30, "1.0000000000000001", '"über\u2028"', '"\x7f"', '"\t"', "-", "١",
])  # fmt: skip
NAMES = st.sampled_from(["a", "b", "a-b", "a_b", "1", "a.b", '"a"', "", "ü", "a b", " a ", "\ta"])
LINES = st.one_of(
    st.tuples(NAMES, st.sampled_from(["=", " = ", "  =", " == ", " "]), VALUES).map("".join),
    st.sampled_from(["", "# a comment", " \t", "#\x00", "#\t", "[a]", "[b]", "[a.b]", "[a]]", "[[a]]", "[ a ]", "[a", "[]",
                     "[a.]", '["a"]', "[a] # b", "\r", "a = 1\r", "\x0c"]),
)  # fmt: skip


def standard(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


@settings(max_examples=400)
@given(st.lists(LINES, max_size=7).map("\n".join))
@example("")
@example("[search]\nlimit = 5\nmode = 'hybrid'\n\n[index]\nworkers = 2\n")
@example("[a]\nb = 1\n[a.b]\nc = 1")
@example("[a.b]\nc = 1\n[a]\nb = 2")
@example("[a.b]\n[a]\n[a.b]")
@example("a = 1\na = 1")
def test_the_same_as_the_standard_library_or_nothing(text: str) -> None:
    found = parse_toml_subset(text)
    if found is not None:
        assert repr(found) == repr(standard(text))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    found = parse_toml_subset(text)
    assert found is None or repr(found) == repr(standard(text))


@pytest.mark.parametrize("text", ["", "# none\n", "[search]\nlimit = 7\n", "search.limit = 7", "[search]\nlimit = 7 # yes\n"])
def test_a_file_is_read_plainly_or_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "lurcher.toml").write_text(text)
    limit = config.load(tmp_path, environ={}).search.limit
    assert limit == (7 if "7" in text else config.Settings().search.limit)


def test_plain_files_are_read_plainly() -> None:
    text = '# mine\n[search]\nlimit = 7\nmode = "hybrid"\n\n[dense]\nmodel = \'none\'\nweight = 0.5\nuse = true\n'
    found = parse_toml_subset(text)
    assert found == tomllib.loads(text) and found["dense"] == {"model": "none", "weight": 0.5, "use": True}
