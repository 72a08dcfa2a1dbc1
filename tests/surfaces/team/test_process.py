"""`lurcher serve --store` as a process on a real PostgreSQL: start, answer, graceful end; and what is refused at the start."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lurcher.surfaces.team.tokens import make_token
from tests.conftest import environment
from tests.stores.postgres_server import postgres
from tests.surfaces.http.conftest import until
from tests.surfaces.team.conftest import fill_store


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(json.loads(line))  # a line that is no JSON ends the thread, and with it the test

    @property
    def url(self) -> str:
        found: str = until(lambda: self.lines and self.lines[0]["address"])
        return found


@contextmanager
def serving(url: str, *arguments: str, before: str = "") -> Iterator[Running]:
    code = f"import sys\n{before}\nfrom lurcher.surfaces.cli import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "serve", "--store", url, "--port", "0", *arguments]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        yield Running(process)
    finally:
        process.kill()
        process.wait(60)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    with postgres(tmp_path / "pg") as url:
        fill_store(url, tmp_path / "trees", ("acme/web",))
        yield url


SLOW = """
import time
from lurcher.surfaces.team.service import TeamService
real = TeamService.status
def slow(self, names):
    time.sleep(1.5)
    return real(self, names)
TeamService.status = slow
"""


def test_it_answers_and_lets_running_requests_end(store: str, tmp_path: Path) -> None:
    token, line = make_token("web", ["acme/web"])
    (tmp_path / "tokens").write_text(line + "\n")
    with serving(store, "--tokens", str(tmp_path / "tokens"), before=SLOW) as running:
        headers = {"authorization": f"Bearer {token}"}
        url = running.url
        assert httpx.get(f"{url}readyz").json() == {"ready": True}
        hits = httpx.get(f"{url}api/search?q=follow+redirects", headers=headers, timeout=30).json()["hits"]
        assert hits[0]["path"] == "src/client.py"
        assert httpx.get(f"{url}api/search?q=x").status_code == 401
        replies: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: replies.append(httpx.get(f"{url}api/status", headers=headers, timeout=30)))
        asking.start()
        until(lambda: "in_flight 2" in httpx.get(f"{url}metrics", headers=headers).text)
        running.process.send_signal(signal.SIGTERM)
        asking.join(30)
        assert [one.status_code for one in replies] == [200]
        assert running.process.wait(30) == 0
        until(lambda: running.lines[-1]["event"] == "stop")
        assert {entry["event"] for entry in running.lines} == {"start", "request", "stop"}
        assert "redirects" not in json.dumps(running.lines)


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lurcher", "serve", *arguments]
    return subprocess.run(command, env=environment(**env), capture_output=True, text=True, timeout=60, check=False)


def test_a_new_token_is_printed_once_and_its_line_is_for_the_file() -> None:
    done = run("--new-token", "alice", "--project", "acme/web", "--project", "acme/api")
    assert done.returncode == 0
    assert re.fullmatch(r"alice sha256:[0-9a-f]{64} acme/web acme/api\n", done.stdout)
    token = done.stderr.split()[-1]
    assert len(token) >= 40
    assert token not in done.stdout
    assert run("--new-token", "a b").returncode == 2
    assert run("--new-token", "").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tokens", "none"], "needs a store"),
        (["--store", "postgres://127.0.0.1/x", "--tokens", "/nowhere/tokens"], "cannot be read"),
        (["--store", "postgres://127.0.0.1/x", "--host", "0.0.0.0"], "--new-token NAME"),
        (["--store", "postgres://127.0.0.1/x", "--tokens", ""], "has no name"),
        (["--tokens", ""], "needs a store"),
        (["--rate", "5"], "needs a store"),
        (["--log-queries"], "needs a store"),
        (["--store", "postgres://127.0.0.1/x", "."], "no folders"),
        (["--store", "postgres://127.0.0.1/x", "--rate", "0"], "rate"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(arguments: list[str], said: str) -> None:
    done = run(*arguments, "--port", "0") if "--port" not in arguments else run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
