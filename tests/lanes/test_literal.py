"""Literal search as a user meets it: hits with exact places, definitions first, with an index and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lurcher.answer import hits
from lurcher.engine import Engine
from lurcher.errors import FilterError, QueryError
from lurcher.lanes import literal
from lurcher.types import Answer

FILES = {
    "src/retry.py": (
        '"""Tries again."""\n\n\ndef retry_request(client, request):\n    """Calls retry_request\'s client."""\n'
        "    return client.send(request)\n"
    ),
    "src/use.py": (
        "from retry import retry_request\n\n\nclass Worker:\n    def run(self):\n        return retry_request(1, 2)\n"
    ),
    "tests/test_retry.py": "def test_retry_request():\n    assert retry_request(None, None)\n",
    "docs/notes.md": "# Notes\n\nCall `retry_request` wisely: größe retry_request.\n",
    "web/app.ts": "export const Größe = 1; // GRÖSSE\nfunction retryRequest() { return Größe }\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "tree"


@pytest.fixture
def engine(tree: Path) -> Engine:
    engine = Engine.open(tree, root=tree)
    engine.index()
    return engine


def places(answer: Answer) -> list[tuple[str, tuple[int, ...]]]:
    return [(hit.path, tuple(match.start_line for match in hit.matches)) for hit in answer.hits]


def test_definitions_come_first_and_tests_later(engine: Engine) -> None:
    answer = engine.search("retry_request", mode="literal")
    assert (answer.mode, answer.intent, answer.ranking) == ("literal", "literal", "literal")
    assert [hit.path for hit in answer.hits[:2]] == ["src/retry.py", "src/use.py"]
    assert {hit.path for hit in answer.hits[2:]} == {"tests/test_retry.py", "docs/notes.md"}
    assert answer.total == 4


def test_a_hit_says_exactly_where_and_in_what(engine: Engine) -> None:
    hit = engine.search(r"return retry_\w+\(", mode="literal").hits[0]
    assert (hit.path, hit.symbol) == ("src/use.py", "Worker.run")
    assert [match.to_dict() for match in hit.matches] == [
        {"start_line": 6, "start_column": 9, "end_line": 6, "end_column": 30}
    ]
    assert hit.start_line <= 6 <= hit.end_line
    assert "return retry_request(1, 2)" in hit.text
    assert hit.text == "".join(FILES["src/use.py"].splitlines(keepends=True)[hit.start_line - 1 : hit.end_line])


def test_columns_count_characters(engine: Engine) -> None:
    hits = engine.search("Größe", mode="literal", case="exact").hits
    assert [(match.start_line, match.start_column, match.end_column) for match in hits[0].matches] == [(1, 14, 19), (2, 34, 39)]
    assert {hit.path for hit in engine.search("GRÖSSE", mode="literal", case="ignore").hits} == {"web/app.ts"}


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({}, {"src/retry.py", "src/use.py", "tests/test_retry.py", "docs/notes.md"}),
        ({"word": True}, {"src/retry.py", "src/use.py", "tests/test_retry.py", "docs/notes.md"}),
        ({"languages": ["python"]}, {"src/retry.py", "src/use.py", "tests/test_retry.py"}),
        ({"paths": ["docs/**"]}, {"docs/notes.md"}),
        ({"excludes": ["src/**"]}, {"tests/test_retry.py", "docs/notes.md"}),
    ],
)
def test_filters(engine: Engine, options: dict[str, Any], paths: set[str]) -> None:
    assert {hit.path for hit in engine.search("retry_request", mode="literal", **options).hits} == paths


def test_pages_hold_everything_once(engine: Engine) -> None:
    seen, cursor = [], None
    for _ in range(10):
        answer = engine.search("retry", mode="literal", limit=1, cursor=cursor)
        seen += [hit.id for hit in answer.hits]
        cursor = answer.next
        if cursor is None:
            break
    whole = engine.search("retry", mode="literal", limit=100)
    assert seen == [hit.id for hit in whole.hits]
    assert len(seen) == len(set(seen)) == whole.total


@pytest.mark.parametrize("question", ["retry_request", r"def \w+", "Größe", "nothing_like_it", "return"])
def test_without_an_index_the_same_hits(tree: Path, tmp_path: Path, question: str) -> None:
    bare = Engine.open(tree, root=tree, index_dir=tmp_path / "none").search(question, mode="literal", limit=50)
    assert not list((tmp_path / "none").glob("*.segment"))
    assert [note.reason for note in bare.degraded] == ["there is no index yet: the files were searched as they are"]
    made = Engine.open(tree, root=tree, index_dir=tmp_path / "made")
    made.index()
    indexed = made.search(question, mode="literal", limit=50)
    assert [hit.to_dict() for hit in bare.hits] == [hit.to_dict() for hit in indexed.hits]
    assert bare.total == indexed.total


def test_where_much_matches_an_index_is_made(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lurcher.indexing import scan

    monkeypatch.setattr(scan, "MAX_BYTES", 100)
    answer = Engine.open(tree, root=tree, index_dir=tmp_path / "made").search("retry", mode="literal")
    assert (answer.index.generation, answer.degraded) == (1, ())


def test_an_edit_is_seen_and_a_deleted_file_is_not(tree: Path, engine: Engine) -> None:
    (tree / "src/use.py").write_text("zeppelin_literal = 1\n")
    (tree / "docs/notes.md").unlink()
    assert places(engine.search("zeppelin_literal", mode="literal")) == [("src/use.py", (1,))]
    assert "docs/notes.md" not in {hit.path for hit in engine.search("retry_request", mode="literal").hits}


def test_auto_takes_a_regular_expression_for_one(engine: Engine) -> None:
    answer = engine.search(r"def \w+_request\(")
    assert (answer.mode, answer.hits[0].path) == ("literal", "src/retry.py")
    assert engine.search("how is a request retried").mode == "hybrid"


@pytest.mark.parametrize("text", ["(", "[a-", r"(?<=x)y"])
def test_what_is_no_pattern_is_an_error_that_helps(engine: Engine, text: str) -> None:
    with pytest.raises(QueryError, match="not a regular expression") as error:
        engine.search(text, mode="literal")
    assert "--fixed" in error.value.hint
    engine.search(text, mode="literal", fixed=True)


def test_why_a_hit_is_there(engine: Engine) -> None:
    first = engine.search("retry_request", mode="literal").hits[0]
    assert first.why.lanes["literal"].score == 2
    assert [stage.note for stage in first.why.stages] == ["defines it"]


@pytest.mark.parametrize(("count", "lines"), [(1, (6, 6)), (2, (5, 6)), (3, (5, 6))])
def test_a_few_lines_are_those_with_the_match(engine: Engine, count: int, lines: tuple[int, int]) -> None:
    hit = engine.search(r"return retry_\w+\(", mode="literal", snippet_lines=count).hits[0]
    assert (hit.start_line, hit.end_line) == lines
    assert hit.text.endswith("return retry_request(1, 2)\n")


def test_context_widens_to_the_function(engine: Engine) -> None:
    hit = engine.search("client.send", mode="literal", fixed=True, context="function").hits[0]
    assert hit.text.startswith("def retry_request(")
    assert engine.search("client.send", mode="literal", fixed=True, context="none").hits[0].text == ""


@pytest.mark.parametrize("text", ["def retry_request(", r"def retry\w*\(", "function retryRequest"])
def test_a_pattern_with_a_whole_head_finds_the_definition(engine: Engine, tree: Path, text: str) -> None:
    (tree / "src" / "a_quote.py").write_text(f"# as in: {text.replace(chr(92) + 'w*' + chr(92), '_request')} and so on\n")
    answer = engine.search(text, mode="literal", fixed="\\" not in text)
    assert len(answer.hits) > 1
    assert answer.hits[0].path == ("web/app.ts" if "function" in text else "src/retry.py")
    assert answer.hits[0].why.stages[0].stage == "definition"


def many_files(folder: Path, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"f{number:02}.py").write_text("".join(f"say(word_{i})\n" for i in range(30)))


def test_a_pattern_that_matches_everywhere_stops_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal, "_MAX_MATCHES", 50)
    many_files(tmp_path / "tree", range(9))
    with Engine.open(tmp_path / "tree", root=tmp_path / "tree") as engine:
        engine.index()
        answer = engine.search("word", mode="literal", limit=100)
        assert {hit.path for hit in answer.hits} == {"f00.py", "f01.py", "f02.py"}  # 20 are counted in each
        assert (answer.at_least, answer.counted) == (True, "3 of at least 3 hits")
        assert answer.to_dict()["at_least"] is True
        assert answer.degraded[0].stage == "literal"
        assert "too many places" in answer.degraded[0].reason
        few = engine.search("word_7", mode="literal", limit=100)
        assert (few.total, few.at_least, few.degraded) == (9, False, ())
        assert "at_least" not in few.to_dict()


def test_where_it_stops_does_not_depend_on_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal, "_MAX_MATCHES", 70)
    monkeypatch.setattr(literal, "_BATCH_BYTES", 700)
    monkeypatch.setattr(literal, "_MIN_BATCH_BYTES", 700)
    answers = []
    for name, steps in (("whole", [range(12)]), ("grown", [range(6, 9), range(0, 12, 5), range(12)])):
        for step in steps:
            many_files(tmp_path / name, step)
            with Engine.open(tmp_path / name, root=tmp_path / name) as engine:
                engine.index()
                answer = engine.search("word", mode="literal", limit=100)
        answers.append(([hit.to_dict() for hit in answer.hits], answer.total, answer.at_least))
    assert answers[0] == answers[1]
    assert answers[0][2]


def test_definitions_come_first_even_if_it_stops_before_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal, "_MAX_MATCHES", 50)
    many_files(tmp_path / "tree", range(9))
    (tmp_path / "tree" / "zz.py").write_text("def say(text):\n    print(text)\n")
    with Engine.open(tmp_path / "tree", root=tmp_path / "tree") as engine:
        answer = engine.search("say", mode="literal", limit=100)
        assert answer.at_least
        assert (answer.hits[0].path, answer.hits[0].symbol) == ("zz.py", "say")


def test_widening_many_matches_to_functions_stops_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "_MAX_WIDENED", 40)
    body = "".join(f"    x{i} = {i}\n" for i in range(30))
    (tmp_path / "m.py").write_text("".join(f"def function_{number}():\n{body}\n\n" for number in range(12)))
    with Engine.open(tmp_path, root=tmp_path) as engine:
        answer = engine.search(".", mode="literal", context="function", limit=100)
        assert answer.at_least
        assert 1 < answer.total < 12
        assert len({hit.symbol for hit in answer.hits}) == answer.total


@pytest.mark.parametrize("query", ["caf\ud83d", "\udcff", "a\udc80b"])
@pytest.mark.parametrize("mode", ["auto", "literal", "hybrid", "dense"])
def test_half_a_character_is_an_error_that_says_so(engine: Engine, query: str, mode: str) -> None:
    with pytest.raises(QueryError, match="not valid Unicode"):
        engine.search(query, mode=mode)
    with pytest.raises(FilterError):
        engine.search("retry", mode=mode, paths=[query])


def test_spaces_and_joiners_of_other_writing_are_part_of_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("price: 10\u00a0000\nname: \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n")
    with Engine.open(tmp_path, root=tmp_path) as engine:
        for wanted in ("10\u00a0000", "\u0645\u06cc\u200c\u062e"):
            assert engine.search(wanted, mode="literal").total == 1
