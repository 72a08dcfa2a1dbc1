"""The API answers as the command line does, from the tree as it is."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lurcher.engine import Engine
from lurcher.surfaces.http.app import Access, build_app
from lurcher.surfaces.http.endpoints import ENDPOINTS
from lurcher.surfaces.http.service import AnswerCache, Service
from tests.conftest import Run, git
from tests.surfaces.http.conftest import BASE, PORT, client_for, with_past


@pytest.mark.parametrize(
    ("address", "arguments"),
    [
        ("search?q=follow+redirects&limit=3", ("search", "follow redirects", "-k", "3")),
        ("search?q=Client.retry", ("search", "Client.retry")),
        (
            "search?q=redirect&lang=python&path=src/**&context=none",
            ("search", "redirect", "-l", "python", "--path", "src/**", "--context", "none"),
        ),
        ("search?q=jar&mode=literal&word=true", ("search", "jar", "--literal", "-w")),
        ("search?q=cookies&in=notes", ("notes", "cookies")),
        ("search?q=begin&in=history", ("history", "begin")),
        ("symbol?name=Client.retry", ("symbol", "Client.retry")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_bytes_are_those_of_the_command_line(
    client: TestClient, shared: Path, ask: Run, address: str, arguments: Any
) -> None:
    client.get(f"/api/{address}")  # the first question may read some history
    answer = client.get(f"/api/{address}")
    assert answer.status_code == 200, answer.text
    assert answer.content.decode() == ask(*arguments, shared, "--json").out


@pytest.mark.parametrize(
    ("address", "arguments"),
    [
        ("impact?path=src/client.py", ("impact", "src/client.py")),
        ("outline?path=src/client.py", ("outline", "src/client.py")),
        ("related?path=src/client.py&line=12", ("related", "src/client.py:12")),
        ("why?path=src/client.py&q=follow+redirects", ("why", "src/client.py", "follow redirects")),
        ("explain?path=src/client.py&first=3&last=5", ("explain", "src/client.py:3-5")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_answers_about_a_file_are_those_of_the_command_line(
    client: TestClient, shared: Path, ask: Run, address: str, arguments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared)
    assert client.get(f"/api/{address}").content.decode() == ask(*arguments, "--json").out


def test_pages_follow_each_other(client: TestClient) -> None:
    first = client.get("/api/search?q=redirects&limit=4").json()
    second = client.get("/api/search", params={"q": "redirects", "limit": 4, "cursor": first["next"]}).json()
    ids = [hit["id"] for page in (first, second) for hit in page["hits"]]
    assert len(set(ids)) == len(ids) == 8


def test_a_file_is_its_indexed_text_and_where_it_lies(client: TestClient, shared: Path) -> None:
    found = client.get("/api/file?path=src/cookies.py").json()
    assert found["text"] == (shared / "src/cookies.py").read_text("utf-8")
    assert found["location"] == str(shared / "src/cookies.py")
    assert (found["language"], found["lines"]) == ("python", found["text"].count("\n"))


def test_the_graph_has_both_directions(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("import c\n")
    (tmp_path / "c.py").write_text("x = 1\n")
    with client_for(tmp_path) as client:
        found = client.get("/api/graph?path=b.py").json()
    assert {(node["path"], node["hop"]) for node in found["nodes"]} == {("a.py", 1), ("b.py", 0), ("c.py", -1)}
    assert {(edge["source"], edge["target"]) for edge in found["edges"]} == {("a.py", "b.py"), ("b.py", "c.py")}


def test_a_large_graph_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("x = 1\n")
    for number in range(30):
        (tmp_path / f"user_{number}.py").write_text("import core\n")
    with client_for(tmp_path) as client:
        found = client.get("/api/graph?path=core.py&most=10").json()
    assert (len(found["nodes"]), found["total"]) == (10, 31)


def test_lines_have_their_age(tmp_path: Path) -> None:
    with client_for(with_past(tmp_path)) as client:
        found = client.get("/api/blame?path=src/client.py").json()["commits"]
    mine = {entry["subject"]: entry["lines"] for entry in found}
    assert set(mine) == {"Retry a request five times before giving up", "Begin"}
    assert mine["Retry a request five times before giving up"] == [[8, 8]]
    lines = [line for entry in found for first, last in entry["lines"] for line in range(first, last + 1)]
    assert sorted(lines) == list(range(1, len(lines) + 1))


def test_facets_count_what_each_value_would_leave(client: TestClient) -> None:
    found = client.get("/api/facets?q=redirects").json()
    languages = {row["value"]: row["count"] for row in found["facets"]["lang"]}
    hits = client.get("/api/search?q=redirects&limit=100&context=none&flat=true").json()["hits"]
    assert languages == {
        language: sum(hit["language"] == language for hit in hits) for language in {h["language"] for h in hits}
    }
    only = client.get("/api/facets?q=redirects&lang=go").json()["facets"]
    assert {row["value"]: row["count"] for row in only["lang"]} == languages  # another language can still be chosen
    assert only["path"] == [] or sum(row["count"] for row in only["path"]) <= languages.get("go", 0) * 2
    assert {row["value"] for row in found["sources"]} == {"code", "history", "notes"}


def test_to_count_hits_nothing_is_worked_out_that_only_shown_ones_have(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links of a hundred hits take longer than to find them."""
    from lurcher.corpora.links import Linker

    monkeypatch.setattr(Linker, "linked", lambda *_: pytest.fail("nobody sees these hits"))
    found = client.get("/api/facets", params={"q": "how are redirects counted", "in": "all"})
    assert found.status_code == 200 and found.json()["looked_at"]


def test_outcomes_and_years_are_facets_of_history(tmp_path: Path) -> None:
    with client_for(with_past(tmp_path)) as client:
        found = client.get("/api/facets?q=cookies+jar&in=history").json()["facets"]
    assert {row["value"] for row in found["outcome"]} >= {"reverted"}
    assert len(found["year"]) == 1


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("search", 400, "query"),
        ("search?q=", 400, "query"),
        ("search?q=a&limit=0", 400, "query"),
        ("search?q=a&limit=1e3", 400, "query"),
        ("search?q=a&limit=5&limit=6", 400, "query"),
        ("search?q=a&surprise=1", 400, "query"),
        ("search?q=a&mode=loud", 400, "query"),
        ("search?q=a&lang=klingon", 400, "filter"),
        ("search?q=a&outcome=reverted", 400, "usage"),
        ("search?q=a&cursor=nonsense", 400, "cursor"),
        ("search?q=(&mode=literal", 400, "query"),
        ("search?q=a&in=history&since=yesteryear", 400, "filter"),
        ("file?path=nowhere.py", 404, "path"),
        ("graph?path=src", 404, "path"),
        ("nothing", 404, "path"),
    ],
)
def test_an_error_has_a_status_a_code_and_a_hint(client: TestClient, address: str, status: int, code: str) -> None:
    answer = client.get(f"/api/{address}")
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert error["message"]
    assert set(error) == {"code", "message", "hint"}


def test_an_edit_is_seen_by_the_next_question(repository: Path) -> None:
    with client_for(repository) as client:
        assert client.get("/api/search?q=zebra").json()["hits"] == []
        assert client.get("/api/search?q=zebra").json()["hits"] == []
        (repository / "src/zebra.py").write_text("def zebra():\n    return 'stripes'\n")
        assert [hit["path"] for hit in client.get("/api/search?q=zebra").json()["hits"]][:1] == ["src/zebra.py"]
        (repository / "src/zebra.py").unlink()
        assert client.get("/api/search?q=zebra").json()["hits"] == []


def test_a_commit_is_seen_by_the_next_question(repository: Path) -> None:
    with client_for(repository) as client:
        address = "/api/search?q=stripes&in=history"
        assert client.get(address).json()["hits"] == []
        (repository / "src/zebra.py").write_text("def zebra():\n    return 'stripes'\n")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "Give the zebra its stripes")
        assert client.get(address).json()["hits"][0]["commit"]["subject"] == "Give the zebra its stripes"


def test_the_same_question_is_worked_on_once(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = Engine.search

    def counted(self: Engine, text: str, **options: Any) -> Any:
        asked.append(text)
        return real(self, text, **options)

    monkeypatch.setattr(Engine, "search", counted)
    with client_for(shared) as client:
        answers: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.get("/api/search?q=router").content)) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(set(answers)) == 1
        client.get("/api/search?q=router")
    assert asked == ["router"]


def test_no_question_is_worked_on_twice(client: TestClient) -> None:
    """The look that all share stands for the one that a question makes by itself; where it cannot, nothing is asked twice."""
    runs: list[str] = []
    own = [endpoint for endpoint in ENDPOINTS if not endpoint.of_workspace]  # this server has no workspace
    for endpoint in own:
        real = endpoint.run
        object.__setattr__(endpoint, "run", lambda *a, name=endpoint.name, real=real: (runs.append(name), real(*a))[1])
        try:
            values = {"q": "twice", "path": "engine/cache.rs", "line": "3", "name": "Cache"}
            wanted = {parameter.name: values[parameter.name] for parameter in endpoint.parameters if parameter.required}
            assert client.get(endpoint.path, params=wanted).status_code == 200
            if endpoint.name in ("search", "facets"):
                for source in ("history", "notes"):
                    assert client.get(endpoint.path, params={**wanted, "in": source}).status_code == 200
        finally:
            object.__setattr__(endpoint, "run", real)
    assert runs == [
        name for endpoint in own for name in [endpoint.name] * (3 if endpoint.name in ("search", "facets") else 1)
    ]


def test_what_differs_from_run_to_run_is_not_remembered(client: TestClient) -> None:
    first, second = (client.get("/api/search?q=router&timings=true").json()["timings_ms"] for _ in range(2))
    assert first["total"] > 0
    assert first != second


def test_while_the_first_index_is_made_questions_are_put_off(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    real = Engine.refresh

    def slow(self: Engine, **options: Any) -> Any:
        options["progress"]("reading", 3, 10)
        begun.set()
        assert go_on.wait(120)
        return real(self, **options)

    monkeypatch.setattr(Engine, "refresh", slow)
    with client_for(repository, ready=False) as client:
        assert begun.wait(120)
        answer = client.get("/api/symbol?name=router")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "indexing")
        assert "3 of 10" in answer.json()["error"]["message"]
        assert answer.headers["retry-after"] == "1"
        go_on.set()
        for _ in range(200):
            if client.get("/api/search?q=router").status_code == 200:
                break
        else:
            raise AssertionError("it never answered")


def test_the_least_recently_used_answers_go_first() -> None:
    known = AnswerCache(most_bytes=80, most_entries=3)
    for name in "abc":
        known.put(name, 1, b"x" * 8)
    assert known.get("a", 1) is not None
    known.put("d", 1, b"x" * 8)
    assert [known.get(name, 1) is not None for name in "abcd"] == [True, False, True, True]
    assert known.get("a", 2) is None  # another stamp, another answer
    known.put("e", 1, b"x" * 60)
    assert known.get("e", 1) is None  # one answer does not push out all others
    assert known.used == 24


def test_the_document_describes_every_endpoint(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {endpoint.path for endpoint in ENDPOINTS}
    limit = next(p for p in document["paths"]["/api/search"]["get"]["parameters"] if p["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 200}


def test_a_mounted_application_is_behind_the_same_checks(shared: Path) -> None:
    from contextlib import asynccontextmanager

    from starlette.responses import PlainTextResponse

    from lurcher.surfaces.http.app import MountedApp

    lives: list[str] = []

    @asynccontextmanager
    async def life() -> Any:
        lives.append("begun")
        yield
        lives.append("ended")

    with Engine.open(shared) as engine:
        app = build_app(engine, Access(PORT), beside=[MountedApp("/other", PlainTextResponse("here"), life)])
        with TestClient(app, BASE) as client:
            assert client.post("/other", content=b"{}").text == "here"
            assert client.post("/other", headers={"host": "evil.example"}).status_code == 403
    assert lives == ["begun", "ended"]


def test_history_is_searched_with_its_own_filters(tmp_path: Path) -> None:
    with client_for(with_past(tmp_path)) as client:
        found = client.get("/api/search?q=cookies&in=history&outcome=reverted").json()
    assert [hit["commit"]["subject"] for hit in found["hits"]] == ["Keep the order of cookies in the jar"]
    assert json.dumps(found)


def test_a_service_that_ends_while_a_request_waits_raises_nothing(shared: Path) -> None:
    async def life() -> None:
        service = Service(engine)
        await service.start()
        search = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "search")
        waiting = asyncio.create_task(service.ask(search, {"q": "router"}))
        await asyncio.sleep(0)
        waiting.cancel()
        await service.stop()

    with Engine.open(shared) as engine:
        asyncio.run(asyncio.wait_for(life(), 20))
