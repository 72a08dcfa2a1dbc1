"""Errors and notes name parameters in the words of the surface that shows them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lurcher
from lurcher.errors import Template, UsageError
from lurcher.surfaces.http.endpoints import PAGE_WORDING as PAGE
from lurcher.surfaces.http.endpoints import WORDING as HTTP
from lurcher.surfaces.mcp.requests import ARGUMENTS
from lurcher.surfaces.mcp.requests import WORDING as MCP
from lurcher.surfaces.wording import Wording

SOURCE = Path(lurcher.__file__).parent
COMMAND_LINE = (
    "surfaces/cli/", "surfaces/agents/", "surfaces/http/__init__.py", "surfaces/http/server.py", "surfaces/mcp/requests.py",
    "evaluation/", "inspect/doctor/",
)  # fmt: skip
"""Files whose errors only the command line can show: `lurcher serve` and `lurcher mcp` too, while they start."""
FLAG = re.compile(r"(^|[^\w`])--[a-z]")
OTHER_PROGRAMS = re.compile(r"\b(git|hf|pip|python3?|lurcher mcp) [^;,)]*")
WORDINGS = pytest.mark.parametrize("wording", [HTTP, MCP, PAGE], ids=["http", "mcp", "page"])


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the source outside of the command line's own files, with the name of what is called."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(COMMAND_LINE):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield name, node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""), node


def literal(node: ast.expr) -> str | None:
    """A string in the source, with NAME for what an f-string fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "NAME" for part in node.values)
    return None


def templates() -> list[tuple[str, str]]:
    found = []
    for path, name, node in calls():
        if name == "Template" and node.args:
            texts = [text for part in ast.walk(node.args[0]) if isinstance(part, ast.expr) and (text := literal(part))]
            found += [(path, text) for text in texts if "{" in text]
    return sorted(set(found))


TEMPLATES = templates()


def test_there_are_templates() -> None:
    assert len(TEMPLATES) > 30


@WORDINGS
@pytest.mark.parametrize(("path", "text"), TEMPLATES)
def test_every_template_renders_without_a_flag(path: str, text: str, wording: Wording) -> None:
    rendered = Template(text, *["VALUE"] * text.count("*")).render(wording)
    assert rendered and "{" not in rendered and not FLAG.search(OTHER_PROGRAMS.sub("", rendered)), rendered


def test_no_error_or_note_has_a_flag_outside_of_a_template() -> None:
    for path, name, node in calls():
        if name != "Degraded" and not re.search(r"(Error|Index|Extra|Error_|Projects?|Gone|Root|Checkout)$", name):
            continue
        inside = {id(part) for call in ast.walk(node) if _is_template(call) for part in ast.walk(call)}
        for part in ast.walk(node):
            text = literal(part) if isinstance(part, ast.expr) and id(part) not in inside else None
            assert not text or not FLAG.search(OTHER_PROGRAMS.sub("", text)), (path, node.lineno, text)


def _is_template(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Template"


@pytest.mark.parametrize(
    ("template", "command_line", "http", "mcp", "page"),
    [
        ("use {mode=hybrid}", "use --mode hybrid", "use mode=hybrid", "use mode=hybrid", "use mode=hybrid in the address"),
        (
            "use {fixed}", "use --fixed", "use fixed=true", "use the command-line option 'fixed'",
            "use the switch Exact without .*",
        ),
        (
            "{library} is for {in=libraries}", "--library is for --in libraries", "'library' is for in=libraries",
            "'library' is for source=libraries", "the command-line option 'library' is for the tabs with libraries",
        ),
        ("only with {lang}", "only with --lang", "only with 'lang'", "only with 'language'", "only with the filter Language"),
        (
            "or use {snippet_lines}", "or use --snippet-lines", "or use 'snippet_lines'", "or use 'lines'",
            "or use the command-line option 'snippet-lines'",
        ),
        (
            "{run index: history rebuild}", "run: lurcher index --history --rebuild",
            "run lurcher index in a terminal, with its options history and rebuild",
            "call index with history=true and rebuild=true",
            "run lurcher index in a terminal, with its options history and rebuild",
        ),
        (
            "left out: {status: skipped}", "left out: lurcher status --skipped", "left out: call status with skipped=true",
            "left out: run lurcher status in a terminal, with its option skipped",
            "left out: run lurcher status in a terminal, with its option skipped",
        ),
        (
            "{index: store=URL}", "lurcher index --store URL", "run lurcher index in a terminal, with its option store URL",
            "run lurcher index in a terminal, with its option store URL",
            "run lurcher index in a terminal, with its option store URL",
        ),
    ],
)  # fmt: skip
def test_each_surface_has_its_own_words(template: str, command_line: str, http: str, mcp: str, page: str) -> None:
    text = Template(template)
    assert (text, text.render(HTTP), text.render(MCP), text.render(PAGE)) == (command_line, http, mcp, page)


def test_a_first_argument_is_the_question() -> None:
    text = Template("for example: {search: literal *}", "'a b'")
    assert text == "for example: lurcher search --literal 'a b'"
    assert text.render(MCP) == "for example: call search with mode=literal and query='a b'"
    assert text.render(HTTP) == "for example: call search with mode=literal and q='a b'"
    assert text.render(PAGE) == "for example: 'a b' with the switch Exact"


def test_values_are_not_read_as_templates() -> None:
    text = Template("{*} is not {mode=*}", "{fixed}", "{x}")
    assert text == "{fixed} is not --mode {x}" and text.render(HTTP) == "{fixed} is not mode={x}"


def test_a_template_in_a_template_is_rendered_too() -> None:
    text = Template("{*}; then {*}", Template("{fixed}"), "stop")
    assert text == "--fixed; then stop" and text.render(HTTP) == "fixed=true; then stop"
    for copy in (Template.from_json(text.to_json()), Template.from_json(text)):
        assert isinstance(copy, Template) and copy == text and copy.render(HTTP) == text.render(HTTP)


def test_what_repositories_hold_is_left_as_it_is() -> None:
    hint = Template("use {mode=hybrid}")
    hits = [{"hint": "use --mode hybrid", "text": "--mode hybrid"}]
    shown = HTTP.render_json({"hits": hits, "query": "--mode hybrid", "degraded": [{"reason": "r", "hint": hint}]})
    assert shown["hits"] == hits and shown["query"] == "--mode hybrid"
    assert shown["degraded"] == [{"reason": "r", "hint": "use mode=hybrid"}]


def test_the_string_of_an_error_is_plain_text() -> None:
    error = UsageError(Template("{since} is later than {until}"), "exchange them")
    assert str(error) == error.to_dict()["message"] == "--since is later than --until"


def test_every_tool_has_its_arguments() -> None:
    tools = pytest.importorskip("lurcher.surfaces.mcp.tools").BY_NAME
    assert set(tools) == set(ARGUMENTS)
