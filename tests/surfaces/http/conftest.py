"""Servers to ask: the application itself, and the real process."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lurcher.engine import Engine
from lurcher.surfaces.http.app import Access, build_app
from tests.conftest import environment, git, write_repository

PORT = 7433
BASE = f"http://127.0.0.1:{PORT}"


@pytest.fixture(autouse=True, scope="package")
def no_settings_of_others() -> Iterator[None]:
    import os

    with pytest.MonkeyPatch.context() as patch:
        for key in [key for key in os.environ if key not in environment()]:
            patch.delenv(key)
        patch.setenv("HOME", os.devnull)
        yield


@contextmanager
def client_for(folder: Path, *, ready: bool = True, **options: Any) -> Iterator[TestClient]:
    """The application with its life around it, asked without a network."""
    access = Access(PORT, **{key: options.pop(key) for key in ("token", "loopback", "hosts") if key in options})
    with (
        Engine.open(folder) as engine,
        TestClient(build_app(engine, access, **options), BASE, raise_server_exceptions=False, follow_redirects=False) as client,
    ):
        if access.token:
            client.headers["authorization"] = f"Bearer {access.token}"
        if ready:
            until(lambda: client.get("/api/symbol?name=x").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def client(shared: Path) -> Iterator[TestClient]:
    with client_for(shared) as found:
        yield found


def with_past(folder: Path) -> Path:
    """A repository with a change, its revert, a further one, and notes."""
    write_repository(folder)
    cookies = folder / "src/cookies.py"
    before = cookies.read_text("utf-8")
    cookies.write_text(before.replace("sorted(jar.items())", "jar.items()"), "utf-8")
    git(folder, "commit", "-qam", "Keep the order of cookies in the jar\n\nSorting them costs time for nothing.")
    git(folder, "revert", "--no-edit", "HEAD")
    client = folder / "src/client.py"
    client.write_text(client.read_text("utf-8").replace("retries=3", "retries=5"), "utf-8")
    git(folder, "commit", "-qam", "Retry a request five times before giving up")
    (folder / "src/app.py").write_text(
        "from client import Client\nfrom cookies import parse_cookie\n\nclient = Client()\n", "utf-8"
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "An application that uses the client and its cookies")
    return folder


class Served:
    """The real process, on a port of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.port = int(re.search(r":(\d+)/", url)[1])  # type: ignore[index]


Serve = Callable[..., Any]


@contextmanager
def serving(folder: Path, *arguments: str, env: dict[str, str] | None = None, before: str = "") -> Iterator[Served]:
    """`before` is Python that runs in the process first, to make its patience shorter."""
    code = f"import sys\n{before}\nfrom lurcher.surfaces.cli import main\nsys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", str(folder), "--port", "0", *arguments],
        env=environment(**(env or {})),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + (process.stderr.read() if process.poll() is not None else "")
        yield Served(process, found[0])
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stderr.close()  # type: ignore[union-attr]


def held(go: Path) -> str:
    """What `serving` is to run before: the index is made by a process of its own, which waits for a file."""
    wait = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
    return (
        "import lurcher.surfaces.http.service as service, lurcher.server.session as builder\n"
        f"service.SMALL_TREE_BYTES = -1\nbuilder._COMMAND = {wait!r} + builder._COMMAND\n"
    )


def until(true: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")
