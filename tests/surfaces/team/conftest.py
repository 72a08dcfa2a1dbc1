"""A team's server on a store in memory with three projects, asked without a network; and the real process on PostgreSQL."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lurcher import Engine
from lurcher.config import Settings
from lurcher.stores.base import store_at
from lurcher.surfaces.http.app import Access
from lurcher.surfaces.team.app import Team, build_app
from lurcher.surfaces.team.metrics import Log, Metrics
from lurcher.surfaces.team.service import TeamService
from lurcher.surfaces.team.tokens import TokenFile, make_token
from tests.stores import memory
from tests.stores.conftest import write_tree

PORT = 7433
BASE = f"http://127.0.0.1:{PORT}"
PROJECTS = ("acme/web", "acme/api", "secret/plans")


def sources_of(project: str) -> dict[str, str]:
    word = project.replace("/", "_")
    return {
        "src/client.py": f"def follow_redirects(reply):\n    '''How {word} follows redirects.'''\n    return reply.next\n",
        "src/cookies.py": f"def parse_cookie(header):\n    '''Reads the cookies of {word}.'''\n    return dict(header)\n",
        "README.md": f"# {word}\n\nIt follows redirects.\n",
    }


def fill_store(url: str, folder: Path, projects: tuple[str, ...] = PROJECTS) -> None:
    for project in projects:
        root = write_tree(folder / project.replace("/", "-"), sources_of(project))
        with Engine.open(root, root=root, store=url, project=project) as engine:
            engine.index()


@pytest.fixture(scope="module", autouse=True)
def _memory_is_a_store() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "lurcher.stores.memory", memory)
        for name in ("LURCHER_STORE", "LURCHER_STORE_PROJECT"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    found = "memory://team"
    fill_store(found, tmp_path_factory.mktemp("team"))
    yield found
    memory.SHARED.pop(found, None)


class Server:
    """The application, its tokens by name, and the lines of its log."""

    def __init__(self, client: TestClient, tokens: dict[str, str], lines: list[str], file: Path, store: Any) -> None:
        self.client, self.tokens, self.lines, self.file, self.store = client, tokens, lines, file, store

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def get(self, path: str, name: str | None = "all", **options: Any) -> Any:
        headers = {"authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return self.client.get(path, headers={**headers, **options.pop("headers", {})}, **options)


Serve = Callable[..., Any]


@pytest.fixture
def serve(url: str, tmp_path: Path) -> Serve:
    @contextmanager
    def make(*, rate: int = 100_000, log_queries: bool = False, guarded: bool = True, **access: Any) -> Iterator[Server]:
        given = {"all": ["*"], "web": ["acme/web"], "acme": ["acme/*"], "none": ["other/*"]}
        made = {name: make_token(name, patterns) for name, patterns in given.items()}
        file = tmp_path / "tokens"
        file.write_text("# tokens\n\n" + "".join(f"{line}\n" for _, line in made.values()))
        lines: list[str] = []
        log = Log(lines.append)
        tokens = TokenFile.open(file, lambda count, problems: log("tokens", count=count, problems=problems))
        store = store_at(url, Settings())
        (tmp_path / "empty").mkdir(exist_ok=True)
        service = TeamService(store, tmp_path / "empty", {"store.url": url})
        team = Team(service, tokens if guarded else None, log, Metrics(), rate, log_queries)
        app = build_app(team, Access(PORT, **access))
        with TestClient(app, BASE, raise_server_exceptions=False, follow_redirects=False) as client:
            yield Server(client, {name: token for name, (token, _) in made.items()}, lines, file, service)
        service.close(5)

    return make


@pytest.fixture
def server(serve: Serve) -> Iterator[Server]:
    with serve() as found:
        yield found
