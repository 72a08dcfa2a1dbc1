"""With a store set, every question is answered from it, or says that it was not: no false "no", nothing ignored in silence.

Each table must name all that there is: who adds a command, a tool, an endpoint or a method says here what a store does for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import LurcherError, UsageError
from lurcher.server.session import Session
from lurcher.stores.shared import NeedsCheckout
from lurcher.surfaces.cli.flags import COMMANDS
from lurcher.surfaces.http.endpoints import ENDPOINTS
from tests.conftest import Run
from tests.stores.backends import PLACES
from tests.stores.memory import SHARED

FROM_STORE, HERE, APART = "from the store", "only from what is here", "has nothing to do with it"
CANNOT = "a shared store cannot answer"

ON_THE_COMMAND_LINE: dict[str, tuple[str, list[str]]] = {
    "search": (FROM_STORE, ["how are redirects followed"]),
    "symbol": (FROM_STORE, ["Client.retry"]),
    "status": (FROM_STORE, []),
    "index": (FROM_STORE, []),
    "projects": (FROM_STORE, []),
    "related": (FROM_STORE, ["src/client.py:8"]),
    "why": (FROM_STORE, ["src/client.py", "redirects"]),
    "references": (FROM_STORE, ["follow_redirects"]),
    "implementations": (FROM_STORE, ["Client"]),
    "impact": (FROM_STORE, ["src/client.py"]),
    "outline": (FROM_STORE, ["src/client.py"]),
    "context": (FROM_STORE, ["src/client.py"]),
    "exists": (FROM_STORE, ["follow_redirects"]),
    "history": (FROM_STORE, ["begin"]),
    "notes": (FROM_STORE, ["redirects"]),
    "brief": (FROM_STORE, ["src/client.py"]),
    "explain": (HERE, ["src/client.py:8"]),
    "eval": (APART, []),  # through a store only with --store, see below
    "serve": (APART, []),  # its questions are those of the API, see below
    "mcp": (APART, []),  # the same
    "doctor": (APART, []),  # looks at the store as at every service
    "model": (APART, []),
    "init": (APART, []),
    "stats": (APART, []),
    "completion": (APART, []),
    "workspace": (APART, []),
    "sync": (APART, []),  # writes to the store, see tests/server/test_store_sync.py
    "hook": (APART, []),  # adds what a search finds, or nothing
    "export": (APART, []),  # see below
    "help": (APART, []),
    "config": (APART, []),
}
OF_THE_API: dict[str, tuple[str, dict[str, Any]]] = {
    "search": (FROM_STORE, {"q": "how are redirects followed"}),
    "facets": (FROM_STORE, {"q": "how are redirects followed"}),
    "symbol": (FROM_STORE, {"name": "Client.retry"}),
    "status": (FROM_STORE, {}),
    "why": (FROM_STORE, {"path": "src/client.py", "q": "redirects"}),
    "explain": (HERE, {"path": "src/client.py", "first": 8, "last": 8}),
    "blame": (HERE, {"path": "src/client.py"}),
    "examples": (FROM_STORE, {}),
    "file": (FROM_STORE, {"path": "src/client.py"}),
    "outline": (FROM_STORE, {"path": "src/client.py"}),
    "graph": (FROM_STORE, {"path": "src/client.py"}),
    "impact": (FROM_STORE, {"path": "src/client.py"}),
    "references": (FROM_STORE, {"name": "follow_redirects", "show": "uses"}),
    "related": (FROM_STORE, {"path": "src/client.py", "line": 8}),
}
OF_THE_TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "search": (FROM_STORE, {"query": "how are redirects followed"}),
    "status": (FROM_STORE, {}),
    "index": (APART, {}),  # never writes to a store, see below
    "symbol": (FROM_STORE, {"name": "Client.retry"}),
    "projects": (APART, {}),
    "search_history": (FROM_STORE, {"query": "begin"}),
    "find_pattern": (FROM_STORE, {"query": "begin"}),
    "brief": (FROM_STORE, {"name": "src/client.py"}),
    "read": (FROM_STORE, {"path": "src/client.py"}),
    "explain_change": (HERE, {"path": "src/client.py", "start_line": 8}),
    "related": (FROM_STORE, {"path": "src/client.py", "line": 8}),
    "outline": (FROM_STORE, {"path": "src/client.py"}),
    "context": (FROM_STORE, {"path": "src/client.py"}),
    "impact": (FROM_STORE, {"path": "src/client.py"}),
    "references": (FROM_STORE, {"name": "follow_redirects", "show": "uses"}),
    "exists": (FROM_STORE, {"text": "follow_redirects"}),
}
OF_THE_ENGINE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "search": (FROM_STORE, ("how are redirects followed",)),
    "symbol": (FROM_STORE, ("Client.retry",)),
    "status": (FROM_STORE, ()),
    "index": (FROM_STORE, ()),
    "clear": (FROM_STORE, ()),
    "related": (FROM_STORE, ("src/client.py", 8)),
    "why": (FROM_STORE, ("src/client.py", "redirects")),
    "references": (FROM_STORE, ("follow_redirects",)),
    "calls": (FROM_STORE, ("follow_redirects",)),
    "implementations": (FROM_STORE, ("Client",)),
    "impact": (FROM_STORE, ("src/client.py",)),
    "outline": (FROM_STORE, ("src/client.py",)),
    "context": (FROM_STORE, ("src/client.py",)),
    "exists": (FROM_STORE, ("follow_redirects",)),
    "file": (FROM_STORE, ("src/client.py",)),
    "graph": (FROM_STORE, ("src/client.py",)),
    "history": (FROM_STORE, ("begin",)),
    "notes": (FROM_STORE, ("redirects",)),
    "brief": (FROM_STORE, ("src/client.py",)),
    "heat": (HERE, ("src/client.py",)),
    "examples": (FROM_STORE, ()),
    "explain": (HERE, ("src/client.py", 8, 8)),
    **dict.fromkeys(
        # Upkeep of what is here, which says so by its name, and facts about the engine itself.
        ("refresh", "look", "watch", "begin_history", "past_indexed", "index_library", "clear_library", "libraries", "open",
         "close", "locate", "name_of", "listed", "export"),
        (APART, ()),
    ),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    with PLACES["memory"](tmp_path / "store") as url:
        yield url


@pytest.fixture
def shared(repository: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store that has the repository, as the environment names it."""
    with Engine.open(repository, root=repository, store=place, project="acme/shop") as engine:
        engine.index(history=True)
    monkeypatch.setenv("LURCHER_STORE", place)
    return place


@pytest.fixture
def nowhere(tmp_path: Path, shared: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds nothing, from which the project in the store is asked."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def checkout(repository: Path, shared: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository itself, whose project in the store is asked."""
    with Engine.open(repository, root=repository, store=shared) as engine:
        engine.index()
    monkeypatch.chdir(repository)
    return repository


@pytest.fixture
def asked(ask: Run, shared: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line, which forgets the environment: the store is named again."""
    monkeypatch.setenv("LURCHER_STORE", shared)
    return ask


def names(table: dict[str, tuple[str, Any]], kind: str) -> list[str]:
    return [name for name, (found, _) in table.items() if found == kind]


# -- every one is in a table ----------------------------------------------------------------------------------------------


def test_every_command_says_what_a_store_does_for_it() -> None:
    assert {command.name for command in COMMANDS} == set(ON_THE_COMMAND_LINE)
    takes = {command.name for command in COMMANDS if any("--store" in parameter.flags for parameter in command.parameters)}
    others = {"eval", "export", "serve", "sync"}
    assert takes == {*names(ON_THE_COMMAND_LINE, FROM_STORE), *names(ON_THE_COMMAND_LINE, HERE), *others}


def test_every_endpoint_says_what_a_store_does_for_it() -> None:
    assert {endpoint.name for endpoint in ENDPOINTS if not endpoint.of_workspace} == set(OF_THE_API)


def test_every_tool_says_what_a_store_does_for_it() -> None:
    tools = pytest.importorskip("lurcher.surfaces.mcp.tools")
    assert set(tools.BY_NAME) == set(OF_THE_TOOLS)


def test_every_method_says_what_a_store_does_for_it() -> None:
    known = {
        name for name, value in vars(Engine).items()
        if (isfunction(value) or isinstance(value, classmethod)) and not name.startswith("_")
    }  # fmt: skip
    assert known == set(OF_THE_ENGINE)


# -- without a checkout ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names(ON_THE_COMMAND_LINE, HERE))
def test_a_command_that_needs_the_texts_is_an_error_where_nothing_is_checked_out(
    name: str, nowhere: Path, asked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    result = asked(name, *ON_THE_COMMAND_LINE[name][1])
    assert result.status == 2 and not result.out
    assert CANNOT in result.err and "checkout" in result.err


def test_a_folder_that_is_called_like_the_project_is_no_checkout_of_it(
    tmp_path: Path, repository: Path, place: str, asked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(repository, root=repository, store=place, project="empty") as engine:
        engine.index()
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert "Client.retry" in asked("symbol", "Client.retry").out
    assert asked("exists", "follow_redirects").status == 0
    result = asked("explain", "src/client.py:8")
    assert result.status == 2 and CANNOT in result.err
    # Nor does it take the place of the project.
    result = asked("index")
    assert result.status == 2 and "no files here" in result.err
    assert asked("search", "redirects").status == 0


@pytest.mark.parametrize("name", names(ON_THE_COMMAND_LINE, FROM_STORE))
def test_a_command_that_a_store_can_answer_is_answered_from_it(
    name: str, nowhere: Path, asked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    if name == "index":
        pytest.skip("there is nothing to write; see above")
    result = asked(name, *ON_THE_COMMAND_LINE[name][1], "--json")
    assert result.status == (1 if name == "implementations" else 0), result.err  # nothing implements a client
    told = json.loads(result.out)
    assert "acme/shop" in json.dumps(told["projects"] if name == "projects" else told.get("shared", told.get("index")))
    assert not any(note["stage"] == "store" for note in told.get("degraded", ()))


@pytest.mark.parametrize("source", ["history", "notes", "all"])
def test_other_sources_than_code_are_in_the_store_too(
    source: str, nowhere: Path, asked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    told = json.loads(asked("search", "redirects begin", "--in", source, "--json").out)
    assert told["hits"] and "acme/shop" in told["index"]["shared"]


def test_libraries_are_an_error_where_nothing_is_checked_out(
    nowhere: Path, asked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    result = asked("search", "redirects", "--in", "libraries")
    assert result.status == 2 and CANNOT in result.err


@pytest.mark.parametrize("name", OF_THE_API)
def test_an_endpoint_answers_from_the_store_or_is_an_error(name: str, nowhere: Path) -> None:
    kind, values = OF_THE_API[name]
    run = next(endpoint.run for endpoint in ENDPOINTS if endpoint.name == name)
    with Engine.open(nowhere, root=nowhere) as engine:
        if kind == HERE:
            with pytest.raises(NeedsCheckout, match=CANNOT):
                run(engine, values, True)
        else:
            told = json.dumps(run(engine, values, True))
            assert "acme/shop" in told or name in ("facets", "examples")


@pytest.mark.parametrize("name", names(OF_THE_TOOLS, HERE))
def test_a_tool_that_needs_the_texts_is_an_error_where_nothing_is_checked_out(name: str, nowhere: Path) -> None:
    with pytest.raises(LurcherError, match=CANNOT):
        called(name, nowhere)


def test_the_search_tool_queries_the_store(nowhere: Path) -> None:
    assert "src/client.py" in called("search", nowhere).text
    assert "src/client.py" in called("search", nowhere, path="src").text


def called(name: str, folder: Path, **more: Any) -> Any:
    tools = pytest.importorskip("lurcher.surfaces.mcp.tools")
    from lurcher.surfaces.mcp.requests import Access, check_arguments

    tool = tools.BY_NAME[name]
    with Session.open(folder) as served:
        call = tools.Call(served, Access((folder.resolve(),)), lambda *_: None, lambda access: served)
        return tool.run(call, check_arguments(tool.parameters, {**OF_THE_TOOLS[name][1], **more}))


@pytest.mark.parametrize("name", names(OF_THE_ENGINE, HERE))
def test_a_method_that_needs_the_texts_is_an_error_where_nothing_is_checked_out(name: str, nowhere: Path) -> None:
    with Engine.open(nowhere, root=nowhere) as engine, pytest.raises(NeedsCheckout, match=CANNOT):
        getattr(engine, name)(*OF_THE_ENGINE[name][1])


# -- in a checkout --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names(ON_THE_COMMAND_LINE, HERE))
def test_a_command_says_that_it_did_not_ask_the_store(name: str, checkout: Path, asked: Run) -> None:
    result = asked(name, *ON_THE_COMMAND_LINE[name][1], "--json")
    notes = [note for note in json.loads(result.out)["degraded"] if note["stage"] == "store"]
    assert [CANNOT in note["reason"] for note in notes] == [True], result.out
    assert f"note: {CANNOT}" in asked(name, *ON_THE_COMMAND_LINE[name][1]).err


@pytest.mark.parametrize("name", names(OF_THE_API, HERE))
def test_an_endpoint_says_that_it_did_not_ask_the_store(name: str, checkout: Path) -> None:
    run = next(endpoint.run for endpoint in ENDPOINTS if endpoint.name == name)
    with Engine.open(checkout, root=checkout) as engine:
        told = run(engine, OF_THE_API[name][1], True)
    assert any(CANNOT in note["reason"] for note in told["degraded"])


@pytest.mark.parametrize("name", names(OF_THE_ENGINE, HERE))
def test_a_method_says_that_it_did_not_ask_the_store(name: str, checkout: Path) -> None:
    with Engine.open(checkout, root=checkout) as engine:
        told = getattr(engine, name)(*OF_THE_ENGINE[name][1]).to_dict()
    assert any(CANNOT in note["reason"] for note in told["degraded"])


@pytest.mark.parametrize("name", names(ON_THE_COMMAND_LINE, HERE))
def test_a_flag_that_names_a_project_elsewhere_is_refused_by_who_cannot_ask_it(name: str, checkout: Path, asked: Run) -> None:
    result = asked(name, *ON_THE_COMMAND_LINE[name][1], "--project", "acme/shop")
    assert result.status == 2 and CANNOT in result.err


def test_without_a_store_the_answer_does_not_mention_one(repository: Path) -> None:
    with Engine.open(repository, root=repository) as engine:
        for name, (kind, arguments) in OF_THE_ENGINE.items():
            if kind == HERE:
                told = getattr(engine, name)(*arguments).to_dict()
                assert not any(note["stage"] == "store" for note in told["degraded"])


# -- names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Client", "Client.retry", "follow_redirects", "FOLLOW_REDIRECTS", "Other.retry", "nothing_such"]
)
def test_definitions_are_those_of_a_local_index(name: str, repository: Path, nowhere: Path) -> None:
    with Engine.open(repository, root=repository, store="local") as engine:
        mine = engine.symbol(name)
    with Engine.open(nowhere, root=nowhere) as engine:
        theirs = engine.symbol(name)
    assert [(hit.path, hit.start_line, hit.qualified) for hit in theirs] == [
        (hit.path, hit.start_line, hit.qualified) for hit in mine
    ]
    assert [note.reason for note in theirs.degraded] == [note.reason for note in mine.degraded]
    assert [hit.references for hit in theirs] == [hit.references for hit in mine]


# -- writing --------------------------------------------------------------------------------------------------------------


def test_a_server_writes_nothing_to_a_store(repository: Path, shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions to a server build the local index; whoever asks must not replace what others share."""
    monkeypatch.setenv("LURCHER_STORE_PROJECT", "acme/shop")
    before = SHARED[shared].head("acme/shop")
    (repository / "src" / "secret_plans.py").write_text("def secret_plan():\n    pass\n")
    with Engine.open(repository, root=repository) as engine:
        engine.index(share=False)
        assert SHARED[shared].head("acme/shop") == before
        engine.index()
        assert SHARED[shared].head("acme/shop") != before


def test_the_builder_of_a_server_does_not_share(repository: Path, shared: str) -> None:
    from lurcher.server.session import InProcessBuild, make_request

    told: list[dict[str, Any]] = []

    class Watched:
        def index(self, **options: Any) -> dict[str, Any]:
            told.append(options)
            return {}

    build: Any = InProcessBuild(make_request([repository], {}), Watched(), lambda: None)  # type: ignore[arg-type]
    build.wait(30)
    assert [options["share"] for options in told] == [False]


def test_a_watch_does_not_pretend_to_keep_a_store_up_to_date(checkout: Path, asked: Run) -> None:
    result = asked("index", "--watch")
    assert result.status == 2 and "--watch keeps the local index up to date" in result.err


def test_libraries_are_not_for_a_store(checkout: Path, asked: Run, shared: str) -> None:
    result = asked("index", "--library", "pytest", "--store", shared)
    assert result.status == 2 and "--store is not for --library" in result.err


def test_a_question_that_fails_in_the_store_says_so(nowhere: Path, use: Callable[[Any], None]) -> None:
    with pytest.raises(UsageError, match="no project acme/none"), Engine.open(nowhere, project="acme/none") as engine:
        engine.symbol("Client")
