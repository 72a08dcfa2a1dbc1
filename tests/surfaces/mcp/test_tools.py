"""Every tool of the real process, called by the official client: typed data, compact text, errors that are errors."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from lurcher.answer import count_tokens
from lurcher.engine import Engine
from lurcher.surfaces.mcp.answers import fit_data
from lurcher.surfaces.mcp.requests import input_schema
from lurcher.surfaces.mcp.server import INSTRUCTIONS, STRUCTURED
from lurcher.surfaces.mcp.tools import TOOLS, UNLISTED
from tests.surfaces.mcp.talk import CALLS, Near, Talk, wait_until

NAMES = [
    "search", "symbol", "references", "search_history", "explain_change", "brief", "outline", "read", "impact", "projects",
    "status",
]  # fmt: skip


def test_the_tools_are_those_of_the_design(talk: Talk) -> None:
    listed = talk.do(talk.client.list_tools).tools
    assert [tool.name for tool in listed] == NAMES
    for tool in listed:
        assert tool.description and tool.title
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema is None  # only for clients that ask, see below
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.idempotent_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False


def test_descriptions_and_schemas_cost_less_than_1300_tokens() -> None:
    shown = [
        {"name": tool.name, "description": tool.description, "inputSchema": input_schema(tool.parameters)} for tool in TOOLS
    ]
    assert sum(count_tokens(json.dumps(tool, separators=(",", ":"))) for tool in shown) <= 1300


def test_data_and_its_schemas_are_for_clients_that_ask(talk: Talk, repository: Path) -> None:
    async def listed(client: Client) -> list[Any]:
        return list((await client.list_tools(meta={STRUCTURED: True})).tools)

    with Near(repository) as other:
        schemas = {tool.name: tool.output_schema for tool in other.do(listed, other.client)}
    assert all(schema["type"] == "object" for schema in schemas.values())
    assert list(CALLS) == NAMES
    for name, arguments in CALLS.items():
        plain = talk.call(name, **arguments)
        assert not plain.is_error and plain.structured_content is None and plain.content[0].text
        jsonschema.validate(talk.data(name, **arguments), schemas[name])


@pytest.mark.parametrize("budget", [300, 1000, 4000])
def test_the_budget_covers_all_that_is_sent(talk: Talk, budget: int) -> None:
    for name, arguments in {
        "search": {"query": "how are redirects followed"}, "outline": {"path": "src"}, "symbol": {"name": "Client"},
        "read": {"path": "src/client.py"}, "search_history": {"query": "begin"}, "impact": {"path": "src/client.py"},
    }.items():  # fmt: skip
        assert count_tokens(talk.text(name, budget=budget, **arguments)) <= budget
        data = talk.data(name, budget=budget, **arguments)
        sent = count_tokens(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
        assert sent <= budget or not any(data[key] for key in ("hits", "definitions", "files") if key in data), (name, sent)


def test_data_that_does_not_fit_says_how_much_is_missing() -> None:
    hit = {"path": "a.py", "text": "word " * 500, "places": [{"start_line": 1}, {"start_line": 9, "text": "more " * 500}]}
    kept = fit_data({"hits": [hit, hit], "total": 2}, 700)
    assert [bool(item["text"]) for item in kept["hits"]] == [True, False]
    assert kept["left_out"] == 3 and hit["text"]
    few = fit_data({"entries": [{"path": f"{n}.py", "line": n} for n in range(500)], "total": 500}, 300)
    assert 0 < len(few["entries"]) < 50 and few["left_out"] == 500 - len(few["entries"])
    small = {"entries": [1, 2, 3]}
    assert fit_data(small, 300) is small


def test_a_symbol_is_shown_whole(talk: Talk) -> None:
    text = talk.text("symbol", name="parse_cookie")
    assert text.startswith("src/cookies.py:") and "def parse_cookie" in text and "return" in text
    assert talk.data("symbol", name="Client")["definitions"][0]["path"] == "src/client.py"
    assert "nothing defines no_such_name" in talk.text("symbol", name="no_such_name")


def test_read_shows_lines_below_the_signatures_around_them(talk: Talk) -> None:
    lines = talk.data("outline", path="src/client.py")["files"][0]["symbols"]
    method = next(symbol for symbol in lines if symbol["qualified"] == "Client.__init__")
    text = talk.text("read", path="src/client.py", start_line=method["start_line"] + 1, end_line=method["end_line"])
    head, *rest = text.split("\n")
    assert head == f"src/client.py:{method['start_line'] + 1}-{method['end_line']}"
    assert rest[0].startswith("class Client") and rest[1].strip().startswith("def __init__")
    whole = talk.data("read", path="src/client.py", budget=20_000)
    assert (whole["start_line"], whole["end_line"]) == (1, whole["lines"])
    cut = talk.text("read", path="src/client.py", budget=120)
    assert "go on with start_line=" in cut and count_tokens(cut) <= 120


def test_a_brief_is_about_a_file_a_symbol_or_a_folder(talk: Talk) -> None:
    assert talk.text("brief", name="src/client.py").startswith("# Before you edit src/client.py")
    assert talk.data("brief", name="parse_cookie")["path"] == "src/cookies.py"
    assert talk.data("brief", name="src")["files"] > 1


def test_projects_and_the_parameter_that_takes_them(talk: Talk, repository: Path) -> None:
    assert talk.data("projects") == {
        "projects": [{"name": "repository", "folder": str(repository), "indexed": True}], "total": 1,
    }  # fmt: skip
    for project in ("repository", str(repository), str(repository / "src")):
        assert talk.data("search", query="redirect", project=project)["hits"]
    assert talk.error("search", query="x", project="other")["code"] == "path"
    assert talk.error("search", query="x", project="/etc")["code"] == "path"


def test_tools_that_are_not_listed_answer_all_the_same(talk: Talk) -> None:
    assert {tool.name for tool in UNLISTED} == {"find_pattern", "related", "context", "exists", "index"}
    assert talk.text("find_pattern", query="begin") == talk.text("search_history", query="begin")


def test_the_first_sentence_says_when_to_use_it_instead_of_grep() -> None:
    """Clients that load tools late show only the beginning of a description."""
    first = INSTRUCTIONS.partition(". ")[0]
    assert "instead of grep" in first and "grep is better" in first
    search = next(tool for tool in TOOLS if tool.name == "search").description.partition(". ")[0]
    assert "instead of grep" in search and "grep is better" in search
    assert count_tokens(INSTRUCTIONS) < 120


def test_search_gives_the_hits_of_the_engine(talk: Talk, repository: Path) -> None:
    data = talk.data("search", query="how are redirects followed", limit=5, budget=5000)
    with Engine.open(repository, overrides={"search.patience": 4}) as engine:  # as servers have it
        expected = engine.search("how are redirects followed", limit=5, budget=2000)
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
    first = talk.data("search", query="count the redirects of a request", limit=3, budget=5000)
    second = talk.data("search", query="count the redirects of a request", limit=3, budget=5000, cursor=first["next"])
    places = [(hit["path"], hit["start_line"]) for page in (first, second) for hit in page["hits"]]
    assert len(set(places)) == 6
    text = talk.text("search", query="count the redirects of a request", limit=3)
    following = talk.text("search", query="count the redirects of a request", limit=3, cursor=text.rpartition("cursor=")[2])
    assert following and following != text


def test_a_folder_a_file_or_a_language_narrows(talk: Talk, repository: Path) -> None:
    assert {hit["path"] for hit in talk.data("search", query="redirect", path="web")["hits"]} <= {
        "web/router.ts", "web/getUserById.js",
    }  # fmt: skip
    whole = talk.data("search", query="redirect", path=str(repository / "src/client.py"))
    assert {hit["path"] for hit in whole["hits"]} == {"src/client.py"}
    assert {hit["language"] for hit in talk.data("search", query="redirect", language="typescript")["hits"]} == {"typescript"}


def test_nothing_found_is_no_error(talk: Talk) -> None:
    assert talk.data("search", query="zzzyxq", mode="literal")["hits"] == []
    assert "nothing found" in talk.text("search", query="zzzyxq", mode="literal")


def test_modes_and_sources(talk: Talk) -> None:
    assert talk.data("search", query="parse_cookie")["hits"][0]["symbol"] == "parse_cookie"
    assert talk.data("search", query=r"def \w+_cookie", mode="literal")["total"] > 0
    assert talk.data("search", query="redirects", source="notes")["hits"][0]["path"] == "docs/guide.md"
    assert talk.data("search", query="begin", source="history")["hits"][0]["commit"]["subject"] == "Begin"


def test_search_history_shows_commits(talk: Talk) -> None:
    data = talk.data("search_history", query="begin", outcome=["success"], path="src")
    assert data["hits"][0]["commit"]["subject"] == "Begin"
    assert data["hits"][0]["commit"]["outcome"]["verdict"] == "success"
    assert "Begin" in talk.text("search_history", query="begin", since="10y")


def test_explain_change_names_the_authors_of_lines(talk: Talk) -> None:
    data = talk.data("explain_change", path="src/client.py", start_line=3, end_line=5)
    assert data["commits"][0]["subject"] == "Begin"
    assert data["commits"][0]["lines"] == [[3, 5]]
    assert "Begin" in talk.text("explain_change", path="src/client.py")
    assert talk.text("explain_change", path="src/client.py", start_line=3, end_line=3).startswith("line 3: ")


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
        ("search_history", {"query": "x", "since": "yesteryear"}, "filter"),
        ("search_history", {"query": "x", "outcome": ["splendid"]}, "usage"),
        ("symbol", {"name": ""}, "query"),
        ("read", {"path": "src/client.py", "start_line": 100_000}, "query"),
        ("read", {"path": "src/client.py", "start_line": 9, "end_line": 3}, "query"),
        ("read", {"path": "/etc/passwd"}, "path"),
        ("read", {"path": "../../etc/passwd"}, "path"),
        ("read", {"path": "src"}, "path"),
        ("brief", {"name": "/etc/passwd"}, "path"),
        ("brief", {"name": "no_such_name"}, "path"),
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
        ("search", {}, "usage"),
        ("search", {"query": "x", "path": "\n\n"}, "path"),
        ("search", {"query": "x", "path": "🦊" * 2000}, "path"),
        ("read", {"path": "é" * 200}, "path"),
        ("brief", {"name": "n" * 300}, "path"),
        ("references", {"name": "Client", "show": "callers", "depth": 99}, "usage"),
    ],
)
def test_a_bad_argument_is_an_error_that_says_what_to_do(
    talk: Talk, tool: str, arguments: dict[str, object], code: str
) -> None:
    error = talk.error(tool, **arguments)
    assert error["code"] == code
    assert len(error["message"]) < 500
    assert error["hint"] and "\n" not in error["message"] + error["hint"]


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

    def counts() -> dict[str, token_stats.TokenCount]:
        return {count.tool: count for count in token_stats.by_tool(token_stats.read(state / "lurcher"))}

    def settled() -> bool:
        seen = counts()
        time.sleep(0.5)
        return counts() == seen

    wait_until(settled)  # earlier answers are counted in pauses between calls
    before = counts().get("search", token_stats.TokenCount("", "mcp", "search", 0))
    talk.call("search", query="how are redirects followed", limit=1)
    wait_until(lambda: "search" in counts() and counts()["search"].calls == before.calls + 1)
    assert counts()["search"].grep > before.grep  # the words are in the file of the answer
    assert {count.surface for count in counts().values()} == {"mcp"}
    assert "outline" not in counts() or counts()["outline"].grep == 0
