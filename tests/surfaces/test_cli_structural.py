"""`lurcher search --structural` as people and programs meet it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.query import syntax_pattern
from lurcher.query import syntax_pattern as languages

Ask = Callable[..., Any]


def places(answer: dict[str, Any]) -> list[tuple[str, int]]:
    return [(hit["path"], match["start_line"]) for hit in answer["hits"] for match in hit["matches"]]


def test_a_hit_has_exact_places_captures_and_the_symbol_around_it(shared: Path, run: Ask) -> None:
    answer = run("search", "--structural", "self.send($ARG)", shared, "--json", "--lang", "python").json
    assert (answer["mode"], answer["intent"], answer["ranking"]) == ("structural", "pattern", "structural")
    assert answer["languages"] == ["python"] and answer["degraded"] == []
    text = (shared / "src/client.py").read_text().split("\n")
    assert answer["total"] == len(answer["hits"]) == 1
    (hit,) = answer["hits"]
    assert (hit["path"], hit["symbol"]) == ("src/client.py", "Client.follow_redirects")
    assert hit["captures"] == hit["matches"][0]["captures"] == {"ARG": "response.next_request"}
    assert [match["captures"]["ARG"] for match in hit["matches"]] == ["response.next_request", "request"]
    for match in hit["matches"]:
        row = text[match["start_line"] - 1]
        assert row[match["start_column"] - 1 : match["end_column"] - 1] == f"self.send({match['captures']['ARG']})"
    assert hit["text"].split("\n")[0] == text[hit["start_line"] - 1] and hit["start_line"] == hit["matches"][0]["start_line"]


def test_several_nodes_are_a_list(shared: Path, ask: Ask) -> None:
    answer = ask("search", "pub fn $NAME($$$ARGS) -> $R { $$$ }", shared, "--json").json
    assert answer["mode"] == "structural"  # by its metavariables alone
    (hit,) = answer["hits"]
    assert hit["symbol"] == "Cache.evict"
    assert hit["captures"] == {"NAME": "evict", "R": "usize", "ARGS": ["&mut self", "now: u64"]}
    answer = ask("search", "--mode", "structural", "$C.push($$$ARGS)", shared, "--json", "-l", "ts").json
    assert answer["hits"][0]["captures"] == {"C": "this.routes", "ARGS": ["{ path, handler }"]}


def test_other_modes_have_no_such_fields(shared: Path, ask: Ask) -> None:
    answer = ask("search", "how are redirects followed", shared, "--json").json
    assert "languages" not in answer
    assert not {"matches", "captures"} & set(answer["hits"][0])


def test_plain_output_shows_place_and_captures(shared: Path, ask: Ask) -> None:
    result = ask("search", "--structural", "def $F(self, $$$REST): $$$", shared)
    assert result.status == 0
    head, place, *_ = result.out.split("\n")
    assert "src/client.py:8-" in head and head.endswith("  Client.__init__  1.000")
    assert place == "    8:5-10:31  $F = __init__  $REST = retries=3, backoff=0.5"
    assert " 8      def __init__(self, retries=3, backoff=0.5):" in result.out.split("\n")
    assert "python; it does not parse as go, javascript" in result.err and "no grammar for sql" in result.err


def test_nothing_found_is_status_one(shared: Path, ask: Ask) -> None:
    result = ask("search", "--structural", "no_such_function($X)", shared)
    assert (result.status, result.out) == (1, "")
    assert result.err.endswith("nothing found\n")
    guessed = ask("search", "no_such_function($X)", shared)
    assert "read as a pattern (use --mode hybrid to read it as words)" in guessed.err


def test_an_error_draws_the_place(shared: Path, run: Ask) -> None:
    result = run("search", "--structural", "x = = $Y", shared, "-l", "python")
    assert (result.status, result.out) == (2, "")
    assert result.err == "lurcher: the pattern does not parse as python: column 5: unexpected '='\n    x = = $Y\n        ^\n"
    error = run("search", "--structural", "x = = $Y", shared, "-l", "python", "--json").json["error"]
    assert error["code"] == "query" and "\n" not in error["message"] and error["hint"] == "x = = $Y\n    ^"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("$X", "matches everything"),
        ("$$$", "matches everything"),
        ("(" * 2500, "does not parse|deep"),
        ("f(" * 1500 + "$X" + ")" * 900, "does not parse|deep"),
        ("f($X)" * 2000, "characters"),
    ],
)
def test_hostile_patterns_are_refused(shared: Path, run: Ask, query: str, says: str) -> None:
    import re

    result = run("search", "--structural", query, shared)
    assert result.status == 2
    assert re.search(says, result.err)


def test_bytes_that_are_no_text_do_no_harm(shared: Path, run: Ask) -> None:
    assert run("search", "--structural", b"foo(\xff, $X)", shared).status in (1, 2)
    assert run("search", "--structural", "-", shared, stdin="foo(\0, $X)").status in (1, 2)


def test_switches_that_contradict_each_other_are_refused(shared: Path, ask: Ask) -> None:
    for flags in (("--structural", "--mode", "lexical"), ("--structural", "--semantic")):
        result = ask("search", "f($X)", shared, *flags)
        assert result.status == 2 and "contradict each other" in result.err
    assert ask("search", "self.send($X)", shared, "--structural", "--mode", "structural").status == 0


@pytest.mark.parametrize("budget", [None, 60, 400])
@pytest.mark.parametrize("shape", [(), ("--context", "function"), ("--context", "none"), ("--snippet-lines", "1")])
def test_pages_show_every_hit_once(shared: Path, ask: Ask, budget: int | None, shape: tuple[str, ...]) -> None:
    arguments = ("search", "--structural", "raise $E($$$)", shared, "--json", "--quiet", *shape)
    whole = ask(*arguments, "-k", "1000").json
    assert whole["total"] == len(whole["hits"]) > 10
    limits = ("-k", "7") if budget is None else ("-k", "7", "--budget", str(budget))
    seen: list[str] = []
    answer = ask(*arguments, *limits).json
    seen += [hit["id"] for hit in answer["hits"]]
    while answer["next"]:
        answer = ask(*arguments, *limits, "--continue", answer["next"]).json
        seen += [hit["id"] for hit in answer["hits"]]
    assert len(seen) == len(set(seen))
    if budget is None:
        assert seen == [hit["id"] for hit in whole["hits"]]
    every = places(whole)
    assert len(every) == len(set(every)) == 91  # one for each of 90 steps, and the client's


def test_filters_hold(shared: Path, ask: Ask) -> None:
    only = ask("search", "--structural", "def $F($$$): $$$", shared, "--json", "--path", "tests/**").json
    assert {path for path, _ in places(only)} == {"tests/test_client.py"}
    assert ask("search", "--structural", "def $F($$$): $$$", shared / "web").status == 2  # no language there reads it
    assert ask("search", "--structural", "f($X)", shared, "--path", "nowhere/**").status == 1


def test_snippets_are_around_the_match(shared: Path, ask: Ask) -> None:
    (hit,) = ask(
        "search", "--structural", "raise ConnectionError($X)", shared, "--json", "--snippet-lines", "1", "--context", "function"
    ).json["hits"]
    assert hit["text"].strip().startswith("raise ConnectionError(")
    assert hit["start_line"] == hit["end_line"] == hit["matches"][0]["start_line"]


def test_a_match_larger_than_its_unit_is_shown_whole_unless_it_is_huge(tmp_path: Path, ask: Ask) -> None:
    for name, lines in (("small", 60), ("huge", 2000)):
        body = "".join(f"    field_{i} = compute_the_value_of({i})\n" for i in range(lines))
        (tmp_path / f"{name}.py").write_text(f"import os\n\n\nclass {name.title()}(Base):\n{body}")
    (tmp_path / "wide.js").write_text("check(1); " * 2000 + "\n" + "other();\n" * 2000)
    found = {hit["symbol"]: hit for hit in ask("search", "class $C(Base): $$$", tmp_path, "--json").json["hits"]}
    assert (found["Small"]["start_line"], found["Small"]["end_line"]) == (4, 64)
    assert found["Small"]["text"].endswith("(59)\n")
    assert found["Huge"]["end_line"] < 200 and found["Huge"]["matches"][0]["end_line"] == 2004
    wide = ask("search", "check($X)", tmp_path, "--json", "-k", "1000").json
    assert sum(len(hit["matches"]) for hit in wide["hits"]) == 2000
    assert all(len(hit["text"]) < 6100 for hit in wide["hits"])


def test_a_tree_that_changes_is_searched_as_it_is(repository: Path, ask: Ask) -> None:
    assert ask("search", "--structural", "brand_new($X)", repository).status == 1
    (repository / "src/new.py").write_text("é = 1\nbrand_new(é)\n")
    answer = ask("search", "--structural", "brand_new($X)", repository, "--json").json
    assert places(answer) == [("src/new.py", 2)] and answer["hits"][0]["captures"] == {"X": "é"}
    (repository / "src/new.py").unlink()
    assert ask("search", "--structural", "brand_new($X)", repository).status == 1


def test_without_ast_grep_words_answer_and_the_command_is_reported(
    shared: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "has_ast_grep", lambda: False)
    monkeypatch.setattr(syntax_pattern, "has_ast_grep", lambda: False)
    result = ask("search", "self.send($X)", shared)
    assert result.status == 0
    assert "looks like a pattern; these hits are by words" in result.err
    assert "(for structural search run: pip install ast-grep-py)" in result.err


def test_python_has_the_same_names(shared: Path) -> None:
    with Engine.open(shared) as engine:
        answer = engine.search("self.send($ARG)", languages=["python"])
        assert answer.mode == "structural" and answer.languages == ("python",)
        hit = answer.hits[0]
        assert hit.captures == hit.matches[0].captures == {"ARG": "response.next_request"}
        assert engine.search("$HOME is not set").mode == "hybrid"
