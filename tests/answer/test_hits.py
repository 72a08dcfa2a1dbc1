"""A hit is named after the definition around the lines that it shows, and leads to the one that matched."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.answer.hits import MAX_LINES_BELOW, cut_densest
from lurcher.chunking.code import parse
from lurcher.languages.detect import detect
from lurcher.surfaces.cli import printer
from lurcher.surfaces.mcp import answers
from lurcher.types import Hit

_TOPICS = ("cookie", "redirect", "session", "token", "header", "upload", "cache", "retry")


def _python(topic: str) -> str:
    """Short methods, so that several share a unit, and one of them is about something else."""
    rows = [f"import {topic}s", "", "", f"class {topic.title()}Store:"]
    rows += [f'    """Keeps a {topic}."""', "", f"    {topic}_limit = 10"]
    for verb in ("open", "close", "check", "drop", "merge"):
        rows += ["", f"    def {verb}_{topic}(self, name):"]
        rows += [f"        # step {i} of {verb}" for i in range(3)]
        rows += [f"        return self.{verb}er.{verb}(name)  # the {verb}ed {topic}"]
    return "\n".join([*rows, "", "", f"def make_{topic}():", f"    return {topic.title()}Store()", ""])


def _go(topic: str) -> str:
    rows = ["package main", ""]
    for verb in ("open", "close", "check", "drop"):
        rows += [f"// {verb}{topic.title()} will {verb} the {topic}", "// and say so.", f"func {verb}{topic.title()}() int {{"]
        rows += [f"\tstep({i})" for i in range(4)]
        rows += ["\treturn 1", "}", ""]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("labels")
    for topic in _TOPICS:
        (root / f"{topic}.py").write_text(_python(topic))
        (root / f"{topic}.go").write_text(_go(topic))
    return root


def _overlaps(root: Path, hit: Hit, first: int, last: int) -> bool:
    text = (root / hit.path).read_bytes()
    definitions = parse(text, detect(hit.path, text)).definitions
    return any(item.qualified == hit.symbol and item.start_line <= last and item.end_line >= first for item in definitions)


_QUESTIONS = [f"{verb} the {topic}" for topic in _TOPICS for verb in ("close", "check", "merge")]


@pytest.mark.parametrize("lines", [None, 12, 4, 1])
def test_the_definition_named_is_among_the_lines_shown(tree: Path, lines: int | None) -> None:
    engine, labelled = Engine.open(tree), 0
    for question in _QUESTIONS:
        for hit in engine.search(question, limit=5, snippet_lines=lines).hits:
            assert hit.start_line <= hit.line <= hit.end_line
            if hit.symbol is None:
                continue
            labelled += 1
            assert _overlaps(tree, hit, hit.start_line, hit.end_line), hit
            # A terminal and the page show twelve lines of a long hit: those that the line may stand among.
            _, first, last = cut_densest(hit.text, hit.start_line, 12, {"step"}, (hit.line, hit.line + MAX_LINES_BELOW))
            assert first <= hit.line <= last
            assert _overlaps(tree, hit, first, last), (hit, first, last)
    assert labelled > 70


def test_a_hit_leads_to_the_line_that_matched(tree: Path) -> None:
    engine = Engine.open(tree)
    answer = engine.search("merge the cookie", limit=1, snippet_lines=4)
    (hit,) = answer.hits
    assert hit.symbol == "CookieStore.merge_cookie"
    row = (tree / hit.path).read_text().split("\n")[hit.line - 1]
    assert "merge" in row and "cookie" in row
    assert hit.to_dict()["line"] == hit.line
    (told,) = answers.render_search(answer, 10_000).data["hits"]
    assert (told["line"], told["symbol"]) == (hit.line, hit.symbol)
    with redirect_stdout(io.StringIO()) as out:
        printer.print_vimgrep(answer, lambda path: tree / path)
    assert out.getvalue().split(":")[1] == str(hit.line) and out.getvalue().rstrip("\n").endswith(row)


def test_a_name_leads_to_its_definition_below_the_decorators(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import x\n\n\n@x.one\n@x.two(\n    1,\n)\ndef wanted():\n    pass\n\n\nother = wanted()\n")
    for lines in (None, 3):
        hit = Engine.open(tmp_path).search("wanted", snippet_lines=lines).hits[0]
        assert (hit.line, hit.symbol, hit.kind) == (8, "wanted", "function")


def test_a_comment_is_named_after_what_it_is_about(tree: Path) -> None:
    hit = next(h for h in Engine.open(tree).search("will drop the header", limit=5).hits if h.path == "header.go")
    row = (tree / hit.path).read_text().split("\n")[hit.line - 1]
    assert row == "// dropHeader will drop the header"
    assert hit.symbol == "dropHeader"


def test_the_best_line_does_not_depend_on_words_of_files_that_are_gone(tmp_path: Path) -> None:
    lines = []
    for name, gone in (("grown", True), ("fresh", False)):
        root = tmp_path / name
        root.mkdir()
        (root / "a.py").write_text("'''cookies'''\n\n\ndef pools():\n    '''pools'''\n" + "x = 1\n" * 30)
        if gone:
            (root / "b.py").write_text("cookie = 1\n")
            with Engine.open(root, root=root) as engine:
                engine.index()
            (root / "b.py").unlink()
        (root / "c.py").write_text("session = 1\n")
        with Engine.open(root, root=root) as engine:
            hit = next(hit for hit in engine.search("session cookies of a pool").hits if hit.path == "a.py")
            lines.append((hit.line, hit.symbol))
    assert lines[0] == lines[1]
