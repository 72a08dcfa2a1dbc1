"""A repository without an index: searches have a quick answer that says so, and the server ends at once while one is made."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import git
from tests.surfaces.http.conftest import Served, held, serving, until, with_past


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return with_past(folder)


def asked(served: Served, **values: str) -> httpx.Response:
    return httpx.get(f"{served.url}api/search", params=values, timeout=60)


def children(process: int) -> set[int]:
    """Whatever descends from a process."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == process:
            found |= {int(entry.name)} | children(int(entry.name))
    return found


def test_a_search_is_answered_before_there_is_an_index(cold: Path, tmp_path: Path) -> None:
    with serving(cold, before=held(tmp_path / "go")) as served:
        answer = asked(served, q="how are cookies parsed")
        found = answer.json()
        assert answer.status_code == 200 and found["hits"][0]["path"] == "src/cookies.py"
        assert not found["index"]["fresh"] and found["index"]["coverage"]["code"] <= 1
        assert found["degraded"][0]["stage"] == "index" and "the index is being made" in found["degraded"][0]["reason"]
        assert asked(served, q="parse_cookie", mode="literal").json()["hits"]
        everything = asked(served, q="cookies", **{"in": "all"}).json()
        assert everything["hits"] and "history" in [note["stage"] for note in everything["degraded"]]
        past = asked(served, q="cookies", **{"in": "history"})
        assert past.status_code == 200 and past.json()["hits"]  # commits have an index of their own
        file = httpx.get(f"{served.url}api/file?path=src/cookies.py&names=true", timeout=60).json()
        assert file["text"] == (cold / "src/cookies.py").read_text("utf-8") and file["names"]["places"]
        assert "the index is being made" in file["degraded"][0]["reason"]
        outline = httpx.get(f"{served.url}api/outline?path=src/cookies.py", timeout=60).json()
        assert "parse_cookie" in [symbol["name"] for symbol in outline["files"][0]["symbols"]]
        for path in ("../shop/src/cookies.py", "/etc/hostname", "src", "nowhere.py", ".git/config", "src/../.git/config"):
            assert httpx.get(f"{served.url}api/file", params={"path": path}, timeout=60).status_code == 404
        for name in ("facets?q=cookies", "references?name=Client", "symbol?name=Client"):
            error = httpx.get(f"{served.url}api/{name}", timeout=60)
            assert (error.status_code, error.json()["error"]["code"]) == (503, "indexing")
        assert not (cold / ".lurcher/manifest").exists()
        (tmp_path / "go").touch()
        whole = until(lambda: (now := asked(served, q="how are cookies parsed").json())["index"]["fresh"] and now, 60)
        assert whole["degraded"] == [] and whole["hits"][0]["path"] == "src/cookies.py"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_while_the_index_is_made(cold: Path, tmp_path: Path, sent: signal.Signals) -> None:
    """The builder waits for what never comes: whoever waited for it would wait for ever."""
    with serving(cold, before=held(tmp_path / "never")) as served:
        until(lambda: children(served.process.pid), 60)
        assert asked(served, q="cookies").status_code == 200
        started = children(served.process.pid)
        assert started
        served.process.send_signal(sent)
        assert served.process.wait(60) == 0
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in started), 60)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_before_the_server_runs_ends_it_without_a_traceback(cold: Path, sent: signal.Signals) -> None:
    before = (
        "import asyncio, os\nrun = asyncio.run\n"
        f"asyncio.run = lambda coroutine: (os.kill(os.getpid(), {int(sent)}), run(coroutine))[1]\n"
    )
    with serving(cold, before=before) as served:
        assert served.process.wait(60) == 0
        assert served.process.stderr is not None and served.process.stderr.read() == ""


def test_a_signal_ends_it_where_the_server_itself_builds_the_index(cold: Path) -> None:
    """As for small trees: here one whose files never come to an end."""
    before = (
        "import threading, lurcher.engine as engine\n"
        "engine.Engine.refresh = lambda self, **_: self.projects[0]._lock.__enter__() and threading.Event().wait()\n"
    )
    with serving(cold, before=before) as served:
        until(lambda: httpx.get(f"{served.url}api/symbol?name=x", timeout=60).status_code == 503, 60)
        served.process.terminate()
        assert served.process.wait(60) == 0


def test_a_tree_that_is_far_behind_is_brought_up_to_date_beside_the_answers(cold: Path, tmp_path: Path) -> None:
    with serving(cold) as served:
        until(lambda: asked(served, q="cookies").json().get("index", {}).get("fresh"), 60)
    for number in range(30):
        (cold / f"src/more_{number}.py").write_text(f"def zebra_{number}():\n    pass\n")
    git(cold, "add", "-A")
    with serving(cold, env={"LURCHER_INDEX_REFRESH_LIMIT": "5"}, before=held(tmp_path / "go")) as served:
        behind = asked(served, q="cookies").json()
        assert behind["hits"] and behind["index"]["stale_paths"] == 30
        (tmp_path / "go").touch()
        until(lambda: asked(served, q="zebra_7").json()["index"]["fresh"], 60)
        assert asked(served, q="zebra_7").json()["hits"][0]["path"] == "src/more_7.py"


def test_waiting_clients_are_released_when_the_server_ends(cold: Path) -> None:
    """What takes long is given up, with an answer that says so and nothing printed."""
    before = (
        "import threading, lurcher.surfaces.http.endpoints as endpoints\n"
        "endpoints._count_sources = lambda *_: threading.Event().wait()\n"
    )
    with serving(cold, before=before) as served:
        until(lambda: asked(served, q="cookies").status_code == 200, 60)
        found: list[httpx.Response] = []
        waiting = threading.Thread(
            target=lambda: found.append(httpx.get(f"{served.url}api/facets", params={"q": "cookies"}, timeout=60))
        )
        waiting.start()
        time.sleep(1)  # it has been asked by then, or the next line is the answer
        served.process.terminate()
        assert served.process.wait(60) == 0
        waiting.join(60)
        assert found and found[0].status_code == 503 and "ending" in found[0].json()["error"]["message"]
        assert served.process.stderr is not None and served.process.stderr.read() == ""
