"""JSON with comments is changed in one place only, and what is no JSON is not changed at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.surfaces.agents.config_files import NotEditable, parse, with_member, without_member

ENTRY = {"command": "lurcher", "args": ["mcp"]}
PATH = ("mcpServers", "lurcher")

TEXTS = [
    "{}",
    "{ }\n",
    '{\n  "mcpServers": {}\n}\n',
    '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    '{\n  // a comment with "quotes" and , { }\n  "mcpServers": {\n    "other": {"command": "x"}, // theirs\n  },\n}\n',
    '{"a":1,"mcpServers":{"o":{}},"b":[1,2,{"c":null}]}',
    '{\r\n\t"a": "// not a comment",\r\n\t"b": true\r\n}\r\n',
    '/* first */ {"a": "\\u00fc \\" /*"} // last\n',
    '\ufeff{"a": 1}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_only_the_entry_is_added_and_taking_it_out_gives_the_old_text(text: str) -> None:
    after = with_member(text, PATH, ENTRY)
    expected = parse(text).data
    expected.setdefault("mcpServers", {})["lurcher"] = ENTRY
    assert parse(after).data == expected
    if "\n" in text.strip():
        for line in text.split("\n"):
            assert line.strip(" \t\r,{}") in after  # every line of the user's is still there
    back = without_member(after, PATH)
    assert parse(back).data == {name: value for name, value in parse(text).data.items() if value != {}}
    assert "lurcher" not in back


def test_the_old_bytes_come_back() -> None:
    for text in TEXTS[3:6]:
        assert without_member(with_member(text, PATH, ENTRY), PATH) == text


def test_an_entry_that_is_there_is_replaced_in_place() -> None:
    text = '{\n  "mcpServers": {\n    "lurcher": {"command": "lurcher"}, // old\n    "z": 1\n  }\n}\n'
    after = with_member(text, PATH, ENTRY)
    assert parse(after).data["mcpServers"] == {"lurcher": ENTRY, "z": 1}
    assert "// old" in after


def test_the_indentation_of_the_file_is_used() -> None:
    assert '\n\t\t"lurcher": {\n\t\t\t"command"' in with_member('{\n\t"mcpServers": {\n\t\t"x": 1\n\t}\n}', PATH, ENTRY)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"a": }', '{"a": 1 "b": 2}', "{'a': 1}", '{"a": 1} {"b": 2}', '{"a": 1, "a": 2}',
     '{"mcpServers": []}', '{"mcpServers": "no"}', '{"a": NaN}', '{"a": "\x01"}', "{" * 5000, '{"a": 1,,}'],
)  # fmt: skip
def test_what_is_broken_or_laid_out_otherwise_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        with_member(text, PATH, ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_any_object_has_the_same_content_after_an_edit(data: dict[str, Any], indent: Any, has: bool) -> None:
    if has:
        data["mcpServers"] = {"other": {"command": "x"}}
    elif not isinstance(data.get("mcpServers", {}), dict):
        del data["mcpServers"]
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    after = with_member(text, PATH, ENTRY)
    assert json.loads(after) == {**data, "mcpServers": {**data.get("mcpServers", {}), "lurcher": ENTRY}}
    back = json.loads(without_member(after, PATH))
    assert back == data or {**back, "mcpServers": {}} == data
