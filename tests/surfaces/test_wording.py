"""What surfaces without flags say instead of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lurcher
from lurcher.surfaces.http.endpoints import WORDS as HTTP
from lurcher.surfaces.mcp.words import WORDS as MCP
from lurcher.surfaces.wording import Words

SOURCES = Path(lurcher.__file__).parent
_OWN = ("cli", "evaluation", "init")
"""The command line itself, and what only it can ask for."""


def said() -> Iterator[tuple[str, str]]:
    """Every text that an error or a note is made with and that has a flag in it, wherever it stands."""
    for path in sorted(SOURCES.rglob("*.py")):
        if set(path.parts) & set(_OWN):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ""
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name != "Degraded" and not re.search(r"(Error|Index|Extra|Error_|Projects?|Gone)$", name):
                continue
            for given in [*node.args, *(keyword.value for keyword in node.keywords)]:
                for part in ast.walk(given):
                    text = part.value if isinstance(part, ast.Constant) else ""
                    if isinstance(part, ast.JoinedStr):
                        text = "".join(str(one.value) if isinstance(one, ast.Constant) else "NAME" for one in part.values)
                    if isinstance(text, str) and re.search(r"(^|\W)--[a-z]", text):
                        yield str(path.relative_to(SOURCES)), text


TEXTS = sorted(set(said()))


def test_there_are_such_texts() -> None:
    assert len(TEXTS) > 25


@pytest.mark.parametrize("words", [HTTP, MCP], ids=["http", "mcp"])
def test_no_error_or_note_names_a_flag(words: Words) -> None:
    for path, text in TEXTS:
        if "git " in text or "lurcher mcp" in text:  # another program's own, or what such a program is told to start
            continue
        assert not re.search(r"(^|\W)--[a-z]", words.of(text)), (path, text, words.of(text))


@pytest.mark.parametrize(
    ("text", "http", "mcp"),
    [
        ("use --mode hybrid to read it as words", "use mode=hybrid to read it as words", "use mode=hybrid to read it as words"),
        ("use --fixed to look for it", "use fixed=true to look for it", "use the option fixed to look for it"),
        ("leave --in out, or ask", "leave 'in' out, or ask", "leave 'source' out, or ask"),
        ("--library is for --in libraries", "'library' is for in=libraries", "'library' is for source=libraries"),
        ("--since is later than --until", "'since' is later than 'until'", "'since' is later than 'until'"),
        ("for example: --path 'src/**/*.py'", "for example: path='src/**/*.py'", "for example: path='src/**/*.py'"),
        ("for example: --tag area/home", "for example: tag=area/home", "for example: the option tag area/home"),
        ("only with --lang", "only with 'lang'", "only with 'language'"),
        ("or use --snippet-lines", "or use 'snippet_lines'", "or use 'lines'"),
        (
            "run: lurcher index --history",
            "run lurcher index in a terminal, with its option history",
            "call index with history=true",
        ),
        (
            "run: lurcher index --history --rebuild",
            "run lurcher index in a terminal, with its options history and rebuild",
            "call index with history=true and rebuild=true",
        ),
        (
            "to see what was left out: lurcher status --skipped",
            "to see what was left out: call status with skipped=true",
            "to see what was left out: run lurcher status in a terminal, with its option skipped",
        ),
        ("run: lurcher doctor", "run: lurcher doctor", "run: lurcher doctor"),
        ("nothing is named '--mode'", "nothing is named '--mode'", "nothing is named '--mode'"),
        ("to have all: git fetch --unshallow", "to have all: git fetch --unshallow", "to have all: git fetch --unshallow"),
        ("a -- b", "a -- b", "a -- b"),
    ],
)
def test_each_surface_has_its_own_words(text: str, http: str, mcp: str) -> None:
    assert (HTTP.of(text), MCP.of(text)) == (http, mcp)


def test_what_repositories_hold_is_left_as_it_is() -> None:
    hits = [{"hint": "use --mode hybrid", "text": "--mode hybrid"}]
    told = HTTP.told({"hits": hits, "query": "--mode hybrid", "degraded": [{"reason": "r", "hint": "use --mode hybrid"}]})
    assert told["hits"] == hits and told["query"] == "--mode hybrid"
    assert told["degraded"] == [{"reason": "r", "hint": "use mode=hybrid"}]


def test_the_names_are_those_of_the_tools() -> None:
    tools = pytest.importorskip("lurcher.surfaces.mcp.tools").TOOLS
    known = {parameter.name for tool in tools for parameter in tool.parameters}
    assert {name.partition("=")[0] for name in MCP.names.values()} <= known
    assert MCP.commands <= {tool.name for tool in tools}
