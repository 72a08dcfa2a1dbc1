"""Questions that nobody expects: each has an answer or an error of its own, and none tells what is beside the index."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from lurcher.engine import Engine
from lurcher.errors import PathError, QueryError, UsageError
from lurcher.types import MODES
from tests.conftest import git, run_lurcher, write_repository
from tests.surfaces.http.conftest import client_for, serving, until, with_past

OF_FILES = ("why", "explain", "blame", "file", "outline", "graph", "impact", "related")


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_past(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def asked(past: Path) -> TestClient:
    (past / ".gitignore").write_text("private.txt\n*.log\n")
    (past / "private.txt").write_text("nobody's business\n")
    (past / "src/link.py").symlink_to("client.py")
    git(past, "add", ".gitignore")
    git(past, "commit", "-qm", "Ignore what is private")
    with client_for(past) as client:
        yield client  # type: ignore[misc]


@pytest.mark.parametrize("name", OF_FILES)
@pytest.mark.parametrize(
    "path",
    ["private.txt", ".git/config", ".lurcher/manifest", "src/link.py", "a" * 300, "é" * 200, "x/" * 1500, "src/client.py/x"],
)
def test_a_path_that_is_not_in_the_index_has_one_answer(asked: TestClient, name: str, path: str) -> None:
    """Whether there is such a file, git ignores it or no file could have that name: the answer is that of a name made up."""

    def told(path: str) -> tuple[int, str, str]:
        answer = asked.get(f"/api/{name}", params={"path": path, **({"q": "router"} if name == "why" else {}), **line})
        error = answer.json()["error"]
        return answer.status_code, error["code"], error["message"].replace(path[:300], "PATH").replace("…", "")

    line = {"line": 1} if name == "related" else {}
    assert told(path) == told("zzqx/zzqx.zzqx") == (404, "path", "PATH is not in the index")


def test_a_path_is_taken_as_a_hit_has_it(asked: TestClient) -> None:
    assert asked.get("/api/why", params={"path": "src/client.py", "q": "retry"}).json()["path"] == "src/client.py"


@pytest.mark.parametrize("name", ["a" * 300, "x/" * 3000, "\0", "a\ud800b", "circle/x"])
def test_a_name_that_no_file_can_have_is_an_error_of_the_engine_too(past: Path, name: str) -> None:
    if not (past / "circle").is_symlink():
        (past / "circle").symlink_to("circle")
    with Engine.open(past) as engine, pytest.raises(PathError):
        engine.why(name, "router")


@pytest.mark.parametrize("source", ["code", "history", "notes", "all"])
@pytest.mark.parametrize("model", ["", "none"])
def test_a_question_without_any_word_is_answered_in_every_mode(past: Path, source: str, model: str) -> None:
    with Engine.open(past, overrides={"dense.model": model} if model else {}) as engine:
        for mode in MODES:
            for text in (".....", "?", "🤷", "-- //", "...\n---"):
                try:
                    engine.search(text, sources=[source], mode=mode)
                except (QueryError, UsageError):
                    assert mode not in ("auto", "hybrid", "lexical", "dense"), (mode, text)


def test_history_by_meaning_says_so_where_there_is_no_model(past: Path) -> None:
    with Engine.open(past, overrides={"dense.model": "none"}) as engine:
        answer = engine.history("the order of cookies", mode="dense")
        assert answer.hits and answer.mode == "lexical" and answer.ranking == "default"
        assert [note.stage for note in answer.degraded] == ["dense"]
        assert answer.degraded[0].reason.endswith("these hits are by words")


def test_history_by_meaning_without_a_word_finds_nothing(asked: TestClient) -> None:
    answer = asked.get("/api/search", params={"q": ".....", "in": "history", "mode": "dense"})
    assert (answer.status_code, answer.json()["hits"]) == (200, [])


def test_a_folder_that_is_removed_and_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the server was started in it, so that it has no current folder any more."""
    folder = tmp_path / "shop"
    folder.mkdir()
    write_repository(folder)
    monkeypatch.chdir(folder)
    with serving(Path()) as served, httpx.Client(base_url=served.url, timeout=30) as client:
        monkeypatch.chdir(tmp_path)

        def search() -> httpx.Response:
            return client.get("/api/search", params={"q": "cookie"})

        until(lambda: search().status_code == 200, 60)
        shutil.rmtree(folder)
        until(lambda: search().status_code == 503, 60)
        error = search().json()["error"]
        assert error["code"] == "gone" and error["message"] == f"{folder} is gone"
        folder.mkdir()
        write_repository(folder)
        until(lambda: search().status_code == 200, 60)
        found = until(lambda: (answer := search().json()) and answer["hits"] and answer, 60)
        assert found["degraded"] == []
        for name in OF_FILES:
            more = {"q": "cookie"} if name == "why" else {"line": 1} if name == "related" else {}
            assert client.get(f"/api/{name}", params={"path": "src/cookies.py", **more}).status_code == 200


def test_a_port_beyond_the_last_is_refused_and_no_other_is_taken(shared: Path) -> None:
    result = run_lurcher("serve", shared, "--port", "73042")
    assert result.status == 2
    assert result.err == "lurcher: there is no port 73042 (use 1 to 65535, or 0 for any)\n"
