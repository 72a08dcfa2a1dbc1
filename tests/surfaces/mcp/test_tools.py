"""Every tool of the real process, called by the official client: typed data, compact text, errors that are errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lurcher.answer import count_tokens
from lurcher.engine import Engine
from lurcher.surfaces.mcp.requests import input_schema
from lurcher.surfaces.mcp.server import INSTRUCTIONS
from lurcher.surfaces.mcp.tools import TOOLS
from tests.surfaces.mcp.talk import Talk

NAMES = [
    "search", "find_pattern", "explain_change", "related", "outline", "context", "impact", "references", "exists", "index",
    "status",
]  # fmt: skip


def test_the_tools_are_those_of_the_design(talk: Talk) -> None:
    listed = talk.do(talk.client.list_tools).tools
    assert [tool.name for tool in listed] == NAMES
    for tool in listed:
        assert tool.description and tool.title
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint is (tool.name != "index")
        assert tool.annotations.idempotent_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False


def test_descriptions_and_schemas_cost_less_than_1300_tokens() -> None:
    shown = [
        {"name": tool.name, "description": tool.description, "inputSchema": input_schema(tool.parameters)} for tool in TOOLS
    ]
    assert sum(count_tokens(json.dumps(tool, separators=(",", ":"))) for tool in shown) < 1300


def test_the_first_sentence_says_when_to_use_it_instead_of_grep() -> None:
    """Clients that load tools late show only the beginning of a description."""
    first = INSTRUCTIONS.partition(". ")[0]
    assert "instead of grep" in first and "grep is better" in first
    search = next(tool for tool in TOOLS if tool.name == "search").description.partition(". ")[0]
    assert "instead of grep" in search and "grep is better" in search
    assert count_tokens(INSTRUCTIONS) < 120


def test_search_gives_the_hits_of_the_engine(talk: Talk, repository: Path) -> None:
    data = talk.data("search", query="how are redirects followed", limit=5)
    with Engine.open(repository) as engine:
        expected = engine.search("how are redirects followed", limit=5, budget=1600)
    assert [(hit["path"], hit["start_line"], hit["text"]) for hit in data["hits"]] == [
        (hit.path, hit.start_line, hit.text) for hit in expected.hits
    ]
    assert data["hits"][0]["path"] == "src/client.py"
    assert data["index"]["fresh"] is True
    assert data["degraded"] == []


def test_text_has_places_and_code_within_the_budget(talk: Talk) -> None:
    text = talk.text("search", query="how are redirects followed")
    assert text.startswith("src/client.py:")
    assert "def follow_redirects" in text
    assert count_tokens(text) <= 2000
    assert count_tokens(talk.text("search", query="redirects", budget=300, lines=0)) <= 300


def test_pages_follow_each_other(talk: Talk) -> None:
    first = talk.data("search", query="count the redirects of a request", limit=3)
    second = talk.data("search", query="count the redirects of a request", limit=3, cursor=first["next"])
    places = [(hit["path"], hit["start_line"]) for page in (first, second) for hit in page["hits"]]
    assert len(set(places)) == 6
    assert f"cursor={first['next']}" in talk.text("search", query="count the redirects of a request", limit=3)


def test_a_folder_a_file_or_a_language_narrows(talk: Talk, repository: Path) -> None:
    assert {hit["path"] for hit in talk.data("search", query="redirect", path="web")["hits"]} <= {
        "web/router.ts", "web/getUserById.js",
    }  # fmt: skip
    whole = talk.data("search", query="redirect", path=str(repository / "src/client.py"))
    assert {hit["path"] for hit in whole["hits"]} == {"src/client.py"}
    assert {hit["language"] for hit in talk.data("search", query="redirect", language="typescript")["hits"]} == {"typescript"}


def test_nothing_found_is_no_error(talk: Talk) -> None:
    result = talk.call("search", query="zzzyxq", mode="literal")
    assert not result.is_error
    assert result.structured_content["hits"] == []
    assert "nothing found" in result.content[0].text


def test_modes_and_sources(talk: Talk) -> None:
    assert talk.data("search", query="parse_cookie")["hits"][0]["symbol"] == "parse_cookie"
    assert talk.data("search", query=r"def \w+_cookie", mode="literal")["total"] > 0
    assert talk.data("search", query="redirects", source="notes")["hits"][0]["path"] == "docs/guide.md"
    assert talk.data("search", query="begin", source="history")["hits"][0]["commit"]["subject"] == "Begin"


def test_find_pattern_shows_commits(talk: Talk) -> None:
    data = talk.data("find_pattern", query="begin", outcome=["success"], path="src")
    assert data["hits"][0]["commit"]["subject"] == "Begin"
    assert data["hits"][0]["commit"]["outcome"]["verdict"] == "success"
    assert "Begin" in talk.text("find_pattern", query="begin", since="10y")


def test_explain_change_names_the_authors_of_lines(talk: Talk) -> None:
    data = talk.data("explain_change", path="src/client.py", start_line=3, end_line=5)
    assert data["commits"][0]["subject"] == "Begin"
    assert data["commits"][0]["lines"] == [[3, 5]]
    assert "Begin" in talk.text("explain_change", path="src/client.py")


def test_related_outline_context_impact_exists(talk: Talk) -> None:
    assert talk.data("related", path="src/pipeline_0.py", line=5)["hits"]
    outline = talk.data("outline", path="src/client.py")
    assert [symbol["qualified"] for symbol in outline["files"][0]["symbols"]][:2] == ["Client", "Client.__init__"]
    assert "class Client" in talk.text("outline", path="src/client.py")
    assert "Client" in talk.text("context", path="src/client.py")
    assert count_tokens(talk.text("context", path=".", budget=400)) <= 400
    assert [entry["path"] for entry in talk.data("impact", path="src/client.py")["dependents"]] == ["tests/test_client.py"]
    assert talk.data("exists", text="parse_cookie", exact=True)["path"] == "src/cookies.py"
    assert talk.data("exists", text="no_such_name")["exists"] is False


def test_an_outline_that_does_not_fit_says_so(talk: Talk) -> None:
    data = talk.data("outline", path="src", budget=200)
    assert data["shown"] < data["total"]
    assert f"of {data['total']:,} symbols" in talk.text("outline", path="src", budget=200)
    assert count_tokens(talk.text("outline", path="src", budget=200)) <= 200


def test_status(talk: Talk, repository: Path) -> None:
    root = talk.data("status")["roots"][0]
    assert root["root"] == str(repository)
    assert root["fresh"] is True and root["history"]["commits"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("search", {}, "usage"),
        ("search", {"query": ""}, "query"),
        ("search", {"query": 5}, "usage"),
        ("search", {"query": "x", "limit": "ten"}, "usage"),
        ("search", {"query": "x", "limit": 0}, "usage"),
        ("search", {"query": "x", "limit": True}, "usage"),
        ("search", {"query": "x", "mode": "telepathy"}, "usage"),
        ("search", {"query": "x", "colour": "red"}, "usage"),
        ("search", {"query": "x", "cursor": "nonsense"}, "cursor"),
        ("search", {"query": "x", "language": "klingon"}, "filter"),
        ("search", {"query": "(", "mode": "literal"}, "query"),
        ("search", {"query": "x" * 300_000}, "usage"),
        ("search", {"query": "x", "path": "no/such/folder"}, "path"),
        ("find_pattern", {"query": "x", "since": "yesteryear"}, "filter"),
        ("find_pattern", {"query": "x", "outcome": ["splendid"]}, "usage"),
        ("explain_change", {"path": "src/client.py", "start_line": 100_000}, "query"),
        ("related", {"path": "src/client.py", "line": 100_000}, "query"),
        ("outline", {"path": "src/client.py", "kinds": ["spell"]}, "filter"),
        ("outline", {"path": "nul\0byte"}, "path"),
        ("impact", {"path": "x" * 5000}, "usage"),
        ("exists", {"text": ""}, "query"),
        ("references", {"name": "x" * 1_000_000}, "usage"),
        ("references", {"name": "x" * 4000}, "query"),
        ("references", {"name": "a\nb"}, "query"),
        ("references", {"name": "a\x1b[31m"}, "query"),
        ("references", {"name": "src/client.py:100000"}, "query"),
        ("references", {"name": "src/client.py:0"}, "query"),
        ("references", {"name": "src/client.py:1:-1"}, "query"),
        ("references", {"name": "src/client.py:1:0"}, "query"),
        ("references", {"name": "src/client.py:" + "9" * 4000}, "query"),
        ("references", {"name": "nul\0byte:1"}, "path"),
        ("references", {"name": "Client", "show": "friends"}, "usage"),
        ("references", {"name": "Client", "show": "callers", "depth": 99}, "usage"),
    ],
)
def test_a_bad_argument_is_an_error_that_says_what_to_do(
    talk: Talk, tool: str, arguments: dict[str, object], code: str
) -> None:
    error = talk.error(tool, **arguments)
    assert error["code"] == code
    assert len(error["message"]) < 500


def test_an_unknown_tool_is_an_error_of_the_protocol(talk: Talk) -> None:
    from mcp import MCPError

    with pytest.raises(MCPError, match="unknown tool 'dowse'") as caught:
        talk.call("dowse")
    assert caught.value.code == -32602
    assert "search" in caught.value.data["hint"]


def test_odd_texts_are_answered(talk: Talk) -> None:
    for query in ("nul \0 byte", "\x1b[31m red", "نص عربي", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "a" * 90_000, "\u202e x"):
        assert not talk.call("search", query=query).is_error


def test_resources(talk: Talk) -> None:
    listed = talk.do(talk.client.list_resources)
    uris = [resource.uri for resource in listed.resources]
    assert uris[0] == "lurcher://status"
    assert "lurcher://outline/src/client.py" in uris
    templates = talk.do(talk.client.list_resource_templates).resource_templates
    assert templates[0].uri_template == "lurcher://outline/{+path}"
    status = json.loads(talk.do(talk.client.read_resource, "lurcher://status").contents[0].text)
    assert status["roots"][0]["exists"] is True
    assert "class Client" in talk.do(talk.client.read_resource, "lurcher://outline/src/client.py").contents[0].text


@pytest.mark.parametrize(
    "uri", ["lurcher://outline/../../etc/passwd", "lurcher://outline/no.py", "lurcher://x", "file:///etc/passwd"]
)
def test_a_resource_that_is_not_there_is_an_error(talk: Talk, uri: str) -> None:
    from mcp import MCPError

    with pytest.raises(MCPError) as caught:
        talk.do(talk.client.read_resource, uri)
    assert caught.value.data["code"] == "path"


def test_an_unknown_page_of_resources_is_an_error(talk: Talk) -> None:
    from mcp import MCPError

    async def page() -> None:
        await talk.client.list_resources(cursor="from-x")

    with pytest.raises(MCPError, match="cursor is damaged"):
        talk.do(page)


def test_what_was_saved_is_counted(talk: Talk, state: Path) -> None:
    from lurcher.server import token_stats

    before = token_stats.by_tool(token_stats.read(state / "lurcher"))
    talk.call("search", query="how are redirects followed", limit=1)
    after = token_stats.by_tool(token_stats.read(state / "lurcher"))
    assert sum(tool.calls for tool in after) == sum(tool.calls for tool in before) + 1
    assert {tool.surface for tool in after} == {"mcp"}
