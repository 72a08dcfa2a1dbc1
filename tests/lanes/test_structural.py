"""The structural lane: every match of every file, in the languages that read the pattern, by unit."""

from __future__ import annotations

import pytest

from lurcher.config import Settings
from lurcher.errors import QueryError
from lurcher.lanes import Request, is_located, structural
from lurcher.lanes.structural import StructuralMatches, run
from lurcher.query import make_plan
from lurcher.ranking import ranking_named
from lurcher.storage.snapshot import Snapshot
from tests.small import context_of, model_with, snapshot_of

FILES = {
    "src/a.py": "def one(x):\n    return check(x, 1)\n\n\nclass Two:\n    def two(self):\n        check(self)\n",
    "src/b.js": "function three() { return check(1); }\n",
    "src/c.rs": "fn four() { check(2) }\n",
    "tests/test_a.py": "def test_one():\n    check(3)\n",
    "README.md": "check(4)\n",
    "schema.sql": "select check(5);\n",
}


def search(text: str, files: dict[str, str] = FILES, languages: tuple[str, ...] = ()) -> StructuralMatches:
    snapshot = snapshot_of(files)
    plan = make_plan(text, "structural", snapshot)
    return run(Request(snapshot, plan, Settings(), snapshot.live_files, model_with(None), languages))


def places(found: StructuralMatches) -> list[tuple[str, int]]:
    return [
        (snapshot_path(found.snapshot, unit), item.start_line)
        for unit in found.units
        for item in found.matches(*found.snapshot.unit(unit)[:3])
    ]


def snapshot_path(snapshot: Snapshot, unit: int) -> str:
    return snapshot.path(int(snapshot.unit_file[unit]))


def test_it_finds_every_match_in_every_language_that_reads_the_pattern() -> None:
    found = search("check($$$)")
    assert is_located(found)
    assert places(found) == [("src/a.py", 2), ("src/a.py", 7), ("src/b.js", 1), ("src/c.rs", 1), ("tests/test_a.py", 2)]
    assert found.languages == ("javascript", "python", "rust")


def test_calls_are_found_in_go_as_people_write_them() -> None:
    go = """package shop

import "fmt"

func start(c *Client) {
	fmt.Println("begin")
	if c == nil {
		panic("no client")
	}
	c.Flags()
}
"""
    for pattern, line in (("fmt.Println($X)", 6), ("fmt.Println($$$)", 6), ("panic($X)", 8), ("c.Flags()", 10)):
        assert places(search(pattern, {"shop.go": go})) == [("shop.go", line)]
    assert places(search("func $NAME($$$) { $$$ }", {"shop.go": go})) == [("shop.go", 5)]


def test_what_was_not_searched_is_reported() -> None:
    (note,) = search("def $F($$$): $$$").notes
    assert note.stage == "structural"
    assert note.reason == (
        "searched python; it does not parse as javascript, rust; markdown only with --lang; there is no grammar for sql"
    )
    assert search("check($X)", {"a.py": "check(1)\n"}).notes == ()


def test_the_position_of_a_syntax_error_is_for_the_most_common_language() -> None:
    (note,) = search("fn $F() { $$$ }").notes
    assert note.hint.startswith("as python: column 1: unexpected")


def test_a_language_that_is_requested_is_searched_though_it_is_markup() -> None:
    found = search("check(4)", languages=("markdown",))
    assert places(found) == [("README.md", 1)]


def test_an_error_names_the_language_that_was_requested() -> None:
    with pytest.raises(QueryError, match="does not parse as rust: column"):
        search("def $F($$$): $$$", languages=("rust",))
    with pytest.raises(QueryError, match="does not parse as python, nor as javascript, rust"):
        search("check($$$")


def test_an_empty_index_finds_nothing_but_still_reads_the_pattern() -> None:
    assert search("check($X)", {}).units == {}
    with pytest.raises(QueryError, match="does not parse"):
        search("check($X", {})


def test_a_match_belongs_to_the_unit_in_which_it_begins() -> None:
    body = "".join(f"    value_{i} = compute({i})\n" for i in range(200))
    found = search("class $C: $$$", {"a.py": f"import os\n\n\nclass Large:\n{body}"})
    ((unit, here),) = found.units.items()
    assert len(here.starts) == 1 and here.defines
    assert found.snapshot.unit(unit)[3] <= 4 <= found.snapshot.unit(unit)[4]
    (item,) = found.matches(*found.snapshot.unit(unit)[:3])
    assert (item.start_line, item.end_line) == (4, 204)


def test_files_without_its_words_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = structural.find_spans
    monkeypatch.setattr(structural, "find_spans", lambda pattern, text: parsed.append(text) or real(pattern, text))
    search("check(self)")
    assert parsed == [FILES["src/a.py"]]


def test_a_file_that_cannot_be_parsed_is_named_and_the_others_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    real = structural.find_spans

    def spans(pattern: object, text: str) -> list[tuple[int, int]]:
        if text == FILES["src/a.py"]:
            raise structural.UnreadableFile("makes ast-grep panic")
        return real(pattern, text)  # type: ignore[arg-type]

    monkeypatch.setattr(structural, "find_spans", spans)
    found = search("check($$$)")
    assert [path for path, _ in places(found)] == ["src/b.js", "src/c.rs", "tests/test_a.py"]
    assert found.notes[-1].reason == "src/a.py was not searched: it makes ast-grep panic"


def test_every_file_is_searched_as_one_by_one() -> None:
    """Against ast-grep on each file by itself: nothing is lost to prefilters or to the borders of units."""
    files = {f"p{i}/f{i}.py": "x = 1\n" * (i * 37 % 300) + f"call_{i % 3}(é, '{i}')\n" * (i % 5) for i in range(40)}
    found = search("call_1($$$ARGS)", files)
    expected = [
        (path, line)
        for path, text in sorted(files.items())
        for line, row in enumerate(text.split("\n"), 1)
        if row.startswith("call_1(")
    ]
    assert sorted(places(found)) == sorted(expected) and expected


def ranked(text: str, files: dict[str, str]) -> list[str]:
    context = context_of(files, text, mode="structural")
    return [snapshot_path(context.snapshot, unit) for unit in ranking_named("structural")(context).units]


def test_definitions_come_first_and_tests_last() -> None:
    files = {
        "a_use.py": "def use():\n    limit = 3\n",
        "b_defines.py": "limit = 4\n",
        "tests/test_c.py": "limit = 5\n",
        "vendor/d.py": "def use():\n    limit = 6\n",
    }
    assert ranked("limit = $N", files) == ["b_defines.py", "a_use.py", "tests/test_c.py", "vendor/d.py"]


def test_ties_are_by_path_and_line() -> None:
    files = {f"{name}.py": "check(1)\n" for name in "cab"}
    assert ranked("check($X)", files) == ["a.py", "b.py", "c.py"]


def test_the_ranking_says_why() -> None:
    context = context_of(FILES, "check($X)", mode="structural")
    result = ranking_named("structural")(context)
    last = result.why(len(result) - 1)
    assert [stage.stage for stage in last.stages] == ["definition", "noise"]
    assert last.lanes["structural"].score == 1.0
