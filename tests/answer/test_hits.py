"""A hit is named after the definition around the lines that it shows, and leads to the one that matched."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.answer.excerpts import cut_densest
from lurcher.answer.hits import MAX_LINES_BELOW
from lurcher.chunking.code import parse
from lurcher.languages.detect import detect
from lurcher.surfaces.cli import printer
from lurcher.surfaces.cli.printer import narrow_place
from lurcher.surfaces.mcp import answers
from lurcher.types import Definition, Hit

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


@lru_cache(maxsize=256)
def _definitions(path: Path) -> Sequence[Definition]:
    text = path.read_bytes()
    return parse(text, detect(path.name, text)).definitions


def _overlaps(root: Path, hit: Hit, first: int, last: int) -> bool:
    definitions = _definitions(root / hit.path)
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


_REAL_QUESTIONS = (
    "how is a line of a file read", "where are errors reported", "what happens when a name is not found", "count and sort",
    "close and free what was opened", "write the header of a table", "parse arguments",
)


@pytest.fixture(scope="module")
def real_trees(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Python of this repository and of an installed package, C of the kernel, the scripts of the page."""
    repository, copies = Path(__file__).parents[2], tmp_path_factory.mktemp("real")
    sources = {
        "python": repository / "src/lurcher/surfaces", "package": Path(pytest.__file__).parents[1] / "_pytest",
        "c": repository / "kernel",
    }  # fmt: skip
    return [Path(shutil.copytree(source, copies / name)) for name, source in sources.items()]


def test_no_label_of_real_code_lies_outside_of_the_lines_shown(real_trees: list[Path]) -> None:
    labelled, wrong = 0, []
    cuts: list[dict[str, Any]] = [
        {"context": context, "snippet_lines": lines} for context in ("block", "function", "class") for lines in (None, 12, 3)
    ]
    for root in real_trees:
        with Engine.open(root) as engine:
            for question in _REAL_QUESTIONS:
                for options in [*cuts, {"budget": 3000}, {"flat": True}, {"context": "none"}]:
                    answer = engine.search(question, limit=5, **options)
                    for hit in [place for found in answer.hits for place in found.split()]:
                        assert hit.start_line <= hit.best_line <= hit.end_line
                        if hit.symbol is None:
                            continue
                        labelled += 1
                        windows = [(hit.start_line, hit.end_line)]
                        for lines in (12, 7) if hit.text else ():  # what a terminal and the page show of it
                            kept = (hit.line, hit.line + MAX_LINES_BELOW)
                            windows.append(cut_densest(hit.text, hit.start_line, lines, {"name"}, kept)[1:])
                            first, end = narrow_place(hit, hit.text.rstrip("\n").split("\n"), lines, {"name"}, None)
                            assert first <= hit.best_line - hit.start_line < end <= first + lines
                            windows.append((hit.start_line + first, hit.start_line + end - 1))
                        wrong += [(hit.path, hit.symbol, window) for window in windows if not _overlaps(root, hit, *window)]
    assert wrong == []
    assert labelled >= 500


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


_COMMENTED = {
    "Basket.php": "<?php\nclass Basket {\n    public $limit = 10;\n\n    /**\n     * Throws the zebra away.\n     *\n     */\n"
    "    public function drop($x) {\n        return 1;\n    }\n}\n",
    "Basket.java": "class Basket {\n    int limit = 10;\n\n    // Throws the zebra away.\n    int drop(int x) {\n"
    "        return 1;\n    }\n}\n",
    "basket.rb": "class Basket\n  LIMIT = 10\n\n  # Throws the zebra away.\n  #\n  def drop(x)\n    1\n  end\nend\n",
}


@pytest.mark.parametrize("name", _COMMENTED)
def test_a_comment_inside_a_class_is_named_after_the_method_below_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(_COMMENTED[name])
    with Engine.open(tmp_path) as engine:
        (comment,) = engine.search("how is the zebra thrown away", limit=1).hits
        (field,) = engine.search("limit", mode="literal", limit=1).hits
    assert (comment.symbol, comment.kind) == ("Basket.drop", "method")
    assert field.symbol == "Basket"


def test_a_comment_at_the_end_of_a_class_is_not_named_after_the_next_class(tmp_path: Path) -> None:
    basket = "class Basket {\n    int limit = 10;\n    // The zebra is thrown away elsewhere.\n}\n"
    (tmp_path / "Basket.java").write_text(basket + "class Mail {\n    int size;\n}\n")
    with Engine.open(tmp_path) as engine:
        assert engine.search("zebra thrown away", limit=1)[0].symbol == "Basket"


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
