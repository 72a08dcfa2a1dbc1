"""`lurcher search`, flag by flag."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.answer import count_tokens

HEAD = re.compile(r"^(?P<path>(?:\S.*?)?):(?P<first>\d+)-(?P<last>\d+)(?:  (?P<symbol>\S.*?))?  (?P<score>\d\.\d{3})$")

ANSWER = {
    "query": str, "mode": str, "intent": str, "ranking": str, "sources": list, "confidence": str,
    "likelihood": dict, "hits": list, "total": int, "tokens": int,
    "next": (str, type(None)), "index": dict, "degraded": list, "timings_ms": dict,
}  # fmt: skip
HIT = {
    "id": str, "source": str, "path": str, "start_line": int, "end_line": int, "line": int, "language": str,
    "symbol": (str, type(None)), "kind": (str, type(None)), "score": float, "tokens": int, "text": str, "commit": type(None),
    "why": dict, "links": dict, "places": list,
}  # fmt: skip


def shaped(value: dict[str, Any], shape: dict[str, Any]) -> None:
    assert list(value) == list(shape)
    for key, kind in shape.items():
        assert isinstance(value[key], kind), key


def heads(text: str) -> list[re.Match[str]]:
    return [match for line in text.splitlines() if (match := HEAD.match(line))]


def paths(result: Any) -> list[str]:
    return [hit["path"] for hit in result.json["hits"]]


def test_a_question_finds_the_code_that_answers_it(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "how are redirects followed", shared)
    assert result.status == 0
    first = heads(result.out)[0]
    assert first["path"].endswith("src/client.py")
    assert "def follow_redirects" in result.out


@pytest.mark.parametrize(
    ("query", "path", "symbol"),
    [
        ("getUserById", "web/getUserById.js", "getUserById"),
        ("Client", "src/client.py", "Client"),
        ("Buffer::write", "native/buffer.cpp", "net.Buffer.write"),
        ("step_1_7", "src/pipeline_1.py", "step_1_7"),
        ("Cache", "engine/cache.rs", "Cache"),
        ("parse_cookie", "src/cookies.py", "parse_cookie"),
    ],
)
def test_a_name_finds_its_definition_first(
    shared: Path, ask: Callable[..., Any], query: str, path: str, symbol: str
) -> None:
    first = ask("search", query, shared, "--json", "-k", "1").json["hits"][0]
    assert first["path"] == path
    assert first["symbol"] == symbol


def test_json_has_the_documented_fields(shared: Path, ask: Callable[..., Any]) -> None:
    answer = ask("search", "how are redirects followed", shared, "--json", "-k", "6").json
    shaped(answer, ANSWER)
    assert answer["query"] == "how are redirects followed"
    assert (answer["mode"], answer["intent"], answer["ranking"]) == ("hybrid", "natural-language", "default")
    assert answer["sources"] == ["code"]
    assert answer["total"] >= len(answer["hits"]) == 6
    assert answer["tokens"] == sum(hit["tokens"] for hit in answer["hits"])
    assert answer["index"] == {"generation": 1, "fresh": True, "stale_paths": 0, "coverage": {}}
    assert answer["degraded"] == []
    assert answer["timings_ms"] == {}
    assert [hit["score"] for hit in answer["hits"]] == sorted((hit["score"] for hit in answer["hits"]), reverse=True)
    for hit in answer["hits"]:
        shaped(hit, HIT)
        assert list(hit["why"]) == ["lanes", "fused", "stages"]
        assert hit["links"] == {"commits": [], "notes": []}
        lines = (shared / hit["path"]).read_text().splitlines(keepends=True)
        assert "".join(lines[hit["start_line"] - 1 : hit["end_line"]]) == hit["text"]


def test_json_is_one_line_and_all_there_is_on_stdout(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "redirect", shared, "--json", "--explain")
    assert result.out.count("\n") == 1


def test_explain_says_why(shared: Path, ask: Callable[..., Any]) -> None:
    plain = ask("search", "how are redirects followed", shared, "-k", "1")
    explained = ask("search", "how are redirects followed", shared, "-k", "1", "--explain")
    added = explained.out.removeprefix(plain.out)
    assert "lexical lane: rank" in added
    assert "redirects" in added


def test_timings_are_there_on_request(shared: Path, run: Callable[..., Any]) -> None:
    timings = run("search", "redirect", shared, "--json", "--timings").json["timings_ms"]
    assert timings["total"] > 0
    plain = run("search", "redirect", shared, "--timings", "-k", "1")
    assert re.search(r"total \d+\.\d ms", plain.err)
    assert " ms" not in plain.out


@pytest.mark.parametrize("flag", ["-k", "--limit"])
def test_limit_is_the_number_of_hits(shared: Path, ask: Callable[..., Any], flag: str) -> None:
    result = ask("search", "redirect", shared, flag, "3")
    assert len(heads(result.out)) == 3
    assert re.search(r"3 hits; the name is in \d+ places, 2 more have parts of it; more: --continue \S+\n", result.err)


def test_budget_is_a_ceiling_in_exact_tokens(shared: Path, ask: Callable[..., Any]) -> None:
    answer = ask("search", "redirect", shared, "--json", "--budget", "900", "-k", "50").json
    assert 0 < answer["tokens"] <= 900
    assert [hit["tokens"] for hit in answer["hits"]] == [count_tokens(hit["text"]) for hit in answer["hits"]]
    assert answer["tokens"] == sum(hit["tokens"] for hit in answer["hits"])


def test_a_hit_larger_than_the_budget_is_named_and_not_cut(shared: Path, ask: Callable[..., Any]) -> None:
    answer = ask("search", "how are redirects followed", shared, "--json", "--budget", "60", "-k", "50").json
    assert [note["stage"] for note in answer["degraded"]] == ["budget"]
    assert "larger than the whole budget" in answer["degraded"][0]["reason"]
    assert "--snippet-lines" in answer["degraded"][0]["hint"]


@pytest.mark.parametrize(("name", "language"), [("go", "go"), ("golang", "go"), ("ts", "typescript"), ("Python", "python")])
def test_lang_restricts(shared: Path, ask: Callable[..., Any], name: str, language: str) -> None:
    answer = ask("search", "request", shared, "--json", "-k", "50", "--lang", name).json
    assert {hit["language"] for hit in answer["hits"]} == {language}


def test_lang_repeats(shared: Path, ask: Callable[..., Any]) -> None:
    answer = ask("search", "request redirect", shared, "--json", "-k", "50", "-l", "go", "-l", "typescript").json
    assert {hit["language"] for hit in answer["hits"]} == {"go", "typescript"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--path", "web/*"), {"web/router.ts", "web/getUserById.js"}),
        (("--path", "*.ts", "--path", "docs"), {"web/router.ts", "docs/guide.md"}),
        (("--path", "**/*.js"), {"web/getUserById.js"}),
        (("--path", "web", "--exclude", "*.js"), {"web/router.ts"}),
        (("--exclude", "*.py", "--exclude", "docs/"), {"web/router.ts", "web/getUserById.js"}),
    ],
)
def test_path_and_exclude_choose_files(
    shared: Path, ask: Callable[..., Any], arguments: tuple[str, ...], expected: set[str]
) -> None:
    assert set(paths(ask("search", "redirect", shared, "--json", "-k", "50", *arguments))) == expected


def test_a_filter_that_matches_nothing_finds_nothing(shared: Path, ask: Callable[..., Any]) -> None:
    result = ask("search", "redirect", shared, "--path", "nowhere/*")
    assert (result.status, result.out, result.err) == (1, "", "nothing found\n")
    assert ask("search", "redirect", shared, "--lang", "haskell").status == 1


def test_snippet_lines_shows_the_lines_that_match_best(shared: Path, ask: Callable[..., Any]) -> None:
    answer = ask("search", "how are redirects followed", shared, "--json", "-k", "5", "--snippet-lines", "2").json
    assert "redirects" in answer["hits"][0]["text"]
    for hit in answer["hits"]:
        lines = (shared / hit["path"]).read_text().splitlines(keepends=True)
        assert hit["end_line"] - hit["start_line"] + 1 <= 2
        assert "".join(lines[hit["start_line"] - 1 : hit["end_line"]]) == hit["text"]


def test_context_none_shows_places_only(shared: Path, ask: Callable[..., Any]) -> None:
    result = ask("search", "redirect", shared, "--context", "none")
    assert all(HEAD.match(line) for line in result.out.splitlines() if line)
    assert all(hit["text"] == "" for hit in ask("search", "redirect", shared, "--json", "--context", "none").json["hits"])


def test_signatures_around_a_place_are_shown_in_short(tmp_path: Path, ask: Callable[..., Any]) -> None:
    wide = ", ".join(f"parameter_{i}=None" for i in range(20))
    body = "".join(f"        total_{i} = {i}\n" for i in range(80))
    code = f"class Teapot:\n    def pour(self, {wide}):\n{body}        return sieve_leaves(total_7)\n"
    (tmp_path / "teapot.py").write_text(code)
    shown = ask("search", "sieve leaves", tmp_path, "--snippet-lines", "2").out.splitlines()
    assert shown[1:3] == [" 1  class Teapot …", f" 2      {f'def pour(self, {wide}'[:96]} …"]
    (hit,) = ask("search", "sieve leaves", tmp_path, "--snippet-lines", "2", "--json").json["hits"]
    assert len(hit["headers"][1]["text"]) > 150


def test_context_function_shows_whole_functions(shared: Path, ask: Callable[..., Any]) -> None:
    hits = ask("search", "step_1_7", shared, "--json", "-k", "3", "--context", "function").json["hits"]
    assert hits[0]["text"].startswith("def step_1_7(request):\n")
    assert hits[0]["text"].count("def ") == 1


def test_context_class_shows_the_whole_class(shared: Path, ask: Callable[..., Any]) -> None:
    hit = ask("search", "Client.retry", shared, "--json", "-k", "1", "--context", "class").json["hits"][0]
    assert hit["text"].startswith("class Client:")
    assert hit["text"].rstrip().endswith("return request.transport.handle(request)")


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "symbol"])
def test_the_mode_is_used_and_reported(shared: Path, ask: Callable[..., Any], mode: str) -> None:
    answer = ask("search", "Client", shared, "--json", "--mode", mode).json
    assert answer["mode"] == mode
    assert answer["hits"]


def test_both_rankings_answer(shared: Path, ask: Callable[..., Any]) -> None:
    answers = {name: ask("search", "how are redirects followed", shared, "--json", "--ranking", name).json
               for name in ("default", "classic")}  # fmt: skip
    assert {name: answer["ranking"] for name, answer in answers.items()} == {"default": "default", "classic": "classic"}
    assert all("src/client.py" in [hit["path"] for hit in answer["hits"][:5]] for answer in answers.values())
    assert answers["default"]["hits"] != answers["classic"]["hits"]


def test_set_changes_a_setting_for_this_ask(shared: Path, ask: Callable[..., Any]) -> None:
    assert len(paths(ask("search", "redirect", shared, "--json", "--set", "search.limit=2"))) == 2
    noisy = ask("search", "follow_redirects", shared, "--json", "--set", "noise.tests=0").json["hits"]
    quiet = ask("search", "follow_redirects", shared, "--json").json["hits"]
    assert [hit["score"] for hit in noisy] != [hit["score"] for hit in quiet]


def test_in_names_the_source(shared: Path, ask: Callable[..., Any]) -> None:
    assert ask("search", "redirect", shared, "--in", "code", "-k", "1").status == 0
    assert ask("search", "redirect", shared, "--in", "nowhere", "-k", "1").status == 2


def test_a_changed_file_is_found_at_once(repository: Path, run: Callable[..., Any]) -> None:
    assert run("search", "kaleidoscope", repository).status == 1
    (repository / "src" / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    assert paths(run("search", "kaleidoscope", repository, "--json")) == ["src/toy.py"]
    (repository / "src" / "toy.py").rename(repository / "src" / "optics.py")
    assert paths(run("search", "kaleidoscope", repository, "--json")) == ["src/optics.py"]
    (repository / "src" / "optics.py").unlink()
    assert run("search", "kaleidoscope", repository).status == 1


def test_no_refresh_answers_from_the_index_as_it_is(repository: Path, ask: Callable[..., Any]) -> None:
    ask("index", repository)
    (repository / "src" / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    stale = ask("search", "kaleidoscope", repository, "--json", "--no-refresh")
    assert stale.status == 1
    assert (stale.json["index"]["fresh"], stale.json["index"]["stale_paths"]) == (False, 1)
    assert "freshness" in [note["stage"] for note in stale.json["degraded"]]
    assert ask("search", "kaleidoscope", repository).status == 0


def test_a_report_of_many_lines_comes_from_standard_input(shared: Path, run: Callable[..., Any]) -> None:
    report = """Retry never gives up

    Traceback (most recent call last):
      File "src/client.py", line 23, in retry
        return self.send(request)
    ConnectionError: gave up after all retries
    """
    answer = run("search", "-", shared, "--json", stdin=report).json
    assert answer["intent"] == "report"
    assert answer["hits"][0]["path"] == "src/client.py"


def test_paths_may_stand_anywhere_among_the_flags(shared: Path, ask: Callable[..., Any]) -> None:
    expected = {"src/client.py", "web/router.ts"}
    client, router = shared / "src/client.py", shared / "web/router.ts"
    for arguments in (
        ("redirect", client, router, "--json"),
        ("redirect", client, "--json", router),
        ("redirect", "--json", client, router),
        ("--json", "redirect", client, router),
        ("--json", "-k", "5", "--", "redirect", client, router),
    ):
        assert set(paths(ask("search", *arguments))) == expected


def test_literal_by_its_flags(shared: Path, ask: Callable[..., Any]) -> None:
    found = ask("search", "--literal", r"def \w+\(self", shared, "--json").json
    assert found["mode"] == "literal" and found["hits"]
    assert all(hit["matches"] for hit in found["hits"])
    assert ask("search", "-F", "def retry(", shared, "--json").json["hits"][0]["path"] == "src/client.py"
    assert ask("search", "-w", "retr", shared, "--json").json["hits"] == []
    assert ask("search", "-s", "-F", "DEF RETRY(", shared).status == 1
    assert ask("search", "-i", "-F", "DEF RETRY(", shared).status == 0


def test_flags_of_different_modes_contradict_each_other(shared: Path, ask: Callable[..., Any]) -> None:
    for flags in (("--literal", "--semantic"), ("-w", "--mode", "symbol"), ("--literal", "--mode", "dense")):
        result = ask("search", *flags, "client", shared)
        assert result.status == 2 and "contradict" in result.err
    assert ask("search", "--literal", "(", shared).status == 2
