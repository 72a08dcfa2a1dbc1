"""Who sees what of a team's server, how often, and what the server says about itself."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lurcher.errors import StoreError
from lurcher.surfaces.team.service import ReadOnlyStore
from tests.surfaces.team.conftest import PROJECTS, Serve, Server

SEARCH = "/api/search?q=how+are+redirects+followed"
QUESTIONS = (
    "search?q=redirects", "facets?q=redirects", "why?path=src/client.py&q=redirects", "file?path=src/client.py",
    "outline?path=src/client.py", "graph?path=src/client.py", "impact?path=src/client.py", "references?name=parse_cookie",
    "related?path=src/client.py&line=1", "symbol?name=parse_cookie", "examples?", "status?",
)  # fmt: skip


# -- answers -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_from_the_store(server: Server, question: str) -> None:
    found = server.get(f"/api/{question}&project=acme/web", "web")
    assert found.status_code == 200, found.text
    assert "secret" not in found.text


def test_hits_are_of_the_project_that_is_named(server: Server) -> None:
    for project in PROJECTS:
        hits = server.get(f"{SEARCH}&project={project}").json()["hits"]
        assert hits[0]["path"] == "src/client.py"
        text = server.get(f"/api/file?path=src/client.py&project={project}").text
        assert project.replace("/", "_") in text


def test_several_projects_are_one_answer(server: Server) -> None:
    found = server.get(f"{SEARCH}&project=acme/web&project=acme/api").json()
    assert {hit["path"].split("/src")[0] for hit in found["hits"] if "src" in hit["path"]} == {"acme/web", "acme/api"}
    assert set(found["index"]["shared"]) == {"acme/web", "acme/api"}


def test_the_only_project_need_not_be_named(server: Server) -> None:
    assert server.get(SEARCH, "web").json()["index"]["shared"].keys() == {"acme/web"}
    several = server.get(SEARCH, "acme")
    assert several.status_code == 400
    assert "project" in several.json()["error"]["hint"]


def test_what_needs_a_checkout_is_an_error_that_says_so(server: Server) -> None:
    for question in ("blame?path=src/client.py", "explain?path=src/client.py", "search?q=x&in=libraries"):
        found = server.get(f"/api/{question}&project=acme/web")
        assert found.status_code == 400, question
        assert "checkout" in found.json()["error"]["hint"]


# -- who sees what -------------------------------------------------------------------------------------------------------------


def test_projects_are_those_that_the_token_may_see(server: Server) -> None:
    listed = {name: server.get("/api/projects", name).json()["projects"] for name in server.tokens}
    assert listed == {"all": sorted(PROJECTS), "web": ["acme/web"], "acme": ["acme/api", "acme/web"], "none": []}
    assert server.get("/api/page", "web").json()["projects"] == ["acme/web"]


@pytest.mark.parametrize("question", [*QUESTIONS, "blame?path=src/client.py", "explain?path=src/client.py"])
def test_a_hidden_project_answers_like_one_that_is_not_there(server: Server, question: str) -> None:
    replies = [server.get(f"/api/{question}&project={name}", "web") for name in ("secret/plans", "secret/pl_ns")]
    hidden, missing = (
        (one.status_code, one.text.replace("secret/pl_ns", "secret/plans"), dict(one.headers)) for one in replies
    )
    assert hidden == missing
    assert hidden[0] == 404


def test_a_hidden_project_beside_a_visible_one_is_no_less_hidden(server: Server) -> None:
    for name in ("secret/plans", "secret/none"):
        found = server.get(f"{SEARCH}&project=acme/web&project={name}", "web")
        assert (found.status_code, found.json()["error"]["code"]) == (404, "project")
    log = [entry for entry in server.log if entry.get("status") == 404]
    assert len(log) == 2
    assert all("projects" not in entry for entry in log)


def test_a_project_that_is_removed_meanwhile_names_no_others(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = server.get("/api/projects").json()["projects"]
    monkeypatch.setattr(server.store, "_listed", (time.monotonic(), (*listed, "acme/gone")))
    found = server.get(f"{SEARCH}&project=acme/gone", "acme")
    assert found.status_code == 404
    assert found.json()["error"] == server.get(f"{SEARCH}&project=acme/gone", "acme").json()["error"]
    assert "secret" not in found.text


@pytest.mark.parametrize("path", ["/", SEARCH, "/api/projects", "/api/page", "/metrics", "/openapi.json", "/static/app.js"])
def test_nothing_but_the_probes_is_answered_without_a_token(server: Server, path: str) -> None:
    assert server.get(path, None).status_code == 401
    assert server.get(path, None, headers={"authorization": "Bearer wrong"}).status_code == 401
    for probe in ("/healthz", "/readyz"):
        assert server.get(probe, None).status_code == 200


def test_a_browser_gets_a_cookie_once(server: Server) -> None:
    first = server.get(f"/?token={server.tokens['web']}&q=redirects", None)
    assert (first.status_code, first.headers["location"]) == (303, "/?q=redirects")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert server.get("/api/projects", None).json()["projects"] == ["acme/web"]


def test_a_hash_from_the_file_is_no_token(server: Server) -> None:
    for word in server.file.read_text().split():
        assert server.get("/api/projects", None, headers={"authorization": f"Bearer {word}"}).status_code in (401, 429)
        server.client.cookies.set(f"lurcher-{7433}", word.removeprefix("sha256:"))
        assert server.get("/api/projects", None).status_code in (401, 429)


def test_the_file_is_read_again_when_it_changes(server: Server) -> None:
    kept = [line for line in server.file.read_text().splitlines() if not line.startswith("web ")]
    assert server.get("/api/projects", "web").status_code == 200
    server.file.write_text("\n".join([*kept, "bob sha256:12 acme/*"]))
    time.sleep(0.6)
    assert server.get("/api/projects", "web").status_code == 401
    assert server.get("/api/projects", "acme").status_code == 200  # the wrong line counts for nobody, the others still do
    told = [entry for entry in server.log if entry["event"] == "tokens"]
    assert told[-1]["count"] == 3
    assert "line 6" in told[-1]["problems"][0]
    server.file.unlink()
    time.sleep(0.6)
    assert server.get("/api/projects", "acme").status_code == 401


def test_other_hosts_and_sites_are_refused(serve: Serve) -> None:
    with serve(hosts=("search.example.com",), loopback=False) as server:
        for host, status in (
            ("search.example.com", 200), ("search.example.com:8443", 200), ("evil.example.com", 403), ("127.0.0.1:7433", 200),
            ("search.example.com@evil", 403), ("search.example.com/x", 403),
        ):  # fmt: skip
            assert server.get("/api/projects", headers={"host": host}).status_code == status, host
        assert server.get("/api/projects", headers={"origin": "https://evil.example.com"}).status_code == 403


def test_without_tokens_this_machine_sees_everything(serve: Serve) -> None:
    with serve(guarded=False) as server:
        assert server.get("/api/projects", None).json()["projects"] == sorted(PROJECTS)
    with serve(guarded=False, token="0123456789abcdef-one") as server:
        assert server.get("/api/projects", None).status_code == 401
        found = server.get("/api/projects", None, headers={"authorization": "Bearer 0123456789abcdef-one"})
        assert found.json()["projects"] == sorted(PROJECTS)


# -- limits --------------------------------------------------------------------------------------------------------------------


def test_each_token_has_its_own_rate(serve: Serve) -> None:
    with serve(rate=6) as server:
        replies = [server.get("/api/projects", "web") for _ in range(8)]
        assert [one.status_code for one in replies] == [200] * 5 + [429] * 3
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 11
        assert server.get("/api/projects", "acme").status_code == 200
        assert server.get("/static/app.js", "web").status_code == 200
        assert "lurcher_rate_limited_total 3" in server.get("/metrics").text


def test_a_request_names_few_projects(server: Server) -> None:
    many = "".join(f"&project=p{number}" for number in range(9))
    assert server.get(SEARCH + many).status_code == 400


def test_nothing_can_be_written(server: Server) -> None:
    for method in ("post", "put", "delete", "patch"):
        headers = {"authorization": f"Bearer {server.tokens['all']}"}
        assert getattr(server.client, method)("/api/search?q=x&project=acme/web", headers=headers).status_code == 405
    store: Any = ReadOnlyStore(server.store._read_only._store)
    for name in ("writing", "put", "put_pages", "adopt", "retire", "publish", "sweep", "drop"):
        with pytest.raises(AttributeError):
            getattr(store, name)


# -- what it says about itself -------------------------------------------------------------------------------------------------


def test_the_log_has_no_text_of_queries(serve: Serve) -> None:
    with serve() as server:
        server.get("/api/search?q=zebra+crossing&project=acme/web", "web")
        server.get("/api/zebra/crossing", "web")
        server.get("/api/file?path=zebra/crossing.py&project=acme/web", "web")
    assert "zebra" not in "".join(server.lines)
    first = next(entry for entry in server.log if entry["event"] == "request")
    assert {"endpoint": "search", "status": 200, "token": "web", "projects": ["acme/web"]}.items() <= first.items()
    assert first["ms"] > 0
    with serve(log_queries=True) as server:
        server.get("/api/search?q=zebra+crossing&project=acme/web", "web")
    assert next(entry for entry in server.log if entry["event"] == "request")["q"] == "zebra crossing"


def test_metrics_count_requests_and_name_nobody(server: Server) -> None:
    server.get(f"{SEARCH}&project=acme/web", "web")
    server.get(f"{SEARCH}&project=secret/plans", "web")
    text = server.get("/metrics").text
    assert 'lurcher_requests_total{endpoint="search",status="200"} 1' in text
    assert 'lurcher_requests_total{endpoint="search",status="404"} 1' in text
    assert 'lurcher_request_seconds_bucket{endpoint="search",le="+Inf"} 2' in text
    assert "lurcher_tokens 4" in text
    assert "acme" not in text
    assert "web" not in text
    for line in text.splitlines():
        assert line.startswith("# ") or (line.startswith("lurcher_") and float(line.rsplit(" ", 1)[1]) >= 0)


def test_a_store_that_is_down_is_told_to_the_log_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise StoreError("the store at db.internal:5432 cannot be reached", "run: lurcher doctor")

    monkeypatch.setattr(server.store._read_only._store, "projects", fail)
    found = server.get(f"{SEARCH}&project=acme/web")
    assert found.status_code == 503
    assert "retry-after" in found.headers
    assert "db.internal" not in found.text
    ready = server.get("/readyz", None)
    assert (ready.status_code, "db.internal" in ready.text) == (503, False)
    assert server.get("/healthz", None).status_code == 200
    assert any("db.internal" in entry.get("message", "") for entry in server.log)
    assert "lurcher_store_errors_total 1" in server.get("/metrics").text


def test_it_is_not_ready_while_it_ends(server: Server) -> None:
    assert server.get("/readyz", None).json() == {"ready": True}
    server.store.end()
    assert server.get("/readyz", None).status_code == 503
    assert server.get(f"{SEARCH}&project=acme/web").status_code == 200
