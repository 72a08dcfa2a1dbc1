"""Small trees, and what to ask them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lurcher.engine import Engine
from lurcher.indexing import build, freshness
from lurcher.indexing.root_index import RootIndex
from lurcher.sources import Listing, decode
from lurcher.sources.decode import read_text
from lurcher.storage import disk

if TYPE_CHECKING:
    from tests.indexing.scenes import HistoryScene, Scene

Write = Callable[[Mapping[str, str]], None]

TREE = {
    "src/client.py": (
        'class Client:\n    """Follows redirects."""\n\n    def follow_redirects(self, response):\n        return response\n'
    ),
    "src/cookies.py": "# Cookies of a session.\ndef parse_cookie(header):\n    return dict(header)\n",
    "web/router.ts": "export class Router {\n    register(path: string) { return path }\n}\n",
    "server/pool.go": "package server\n\n// Pool keeps connections.\ntype Pool struct{}\n\nfunc (p *Pool) Acquire() {}\n",
    "docs/guide.md": "# Guide\n\nThe client follows redirects and keeps cookies.\n",
}
WHO = ("-c", "user.name=n", "-c", "user.email=e@example.org")
QUESTIONS = ("how are redirects followed", "parse_cookie", "Pool.Acquire", "router register path", "keeps connections cookies")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests leaks in, and nothing here has to survive a power cut."""
    monkeypatch.setattr(disk.os, "fsync", lambda descriptor: None)
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    for name in ("LURCHER_INDEX_DIR", "LURCHER_INDEX_WORKERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    write(folder, TREE)
    return folder


@pytest.fixture(autouse=True)
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(root: Path) -> Path:
    write(root, {".gitignore": "*.log\nout/\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, *WHO, "commit", "-qm", "first")
    return root


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files stay young for so long that even a busy machine reads them in time."""
    monkeypatch.setattr(freshness, "FINE_NS", 10**9)


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """One entry for each time that a tree is listed from here on."""
    seen: list[Path] = []
    original = RootIndex.list_files

    def list_files(project: RootIndex) -> Listing:
        seen.append(project.root.path)
        return original(project)

    monkeypatch.setattr(RootIndex, "list_files", list_files)
    return seen


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read from here on."""
    seen: list[str] = []

    def spy(path: Path | str, *arguments: Any, **options: Any) -> object:
        seen.append(Path(path).name)
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(build, "read_text", spy)
    monkeypatch.setattr(decode, "read_text", spy)
    return seen


SCENES = ("first build", "first build in pieces", "seed", "update", "merge", "rebuild", "clear", "heal")


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Each kind of change to an index in turn."""
    from tests.indexing.scenes import Scene

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LURCHER_CONFIG", os.devnull)
        yield Scene(request.param, tmp_path_factory.mktemp("scene"))


HISTORY_SCENES = (
    "first build of history", "seed of history", "update of history", "rewrite of history", "rebuild of history",
    "clear of history", "heal of history",
)  # fmt: skip


@pytest.fixture(scope="module", params=(*SCENES, *HISTORY_SCENES))
def any_scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene | HistoryScene]:
    """Each kind of change to an index of each schema in turn."""
    from tests.indexing.scenes import HistoryScene, Scene

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LURCHER_CONFIG", os.devnull)
        kind = HistoryScene if request.param in HISTORY_SCENES else Scene
        yield kind(request.param, tmp_path_factory.mktemp("scene"))


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def opened(root: Path, index: Path | None = None, **settings: Any) -> Engine:
    return Engine.open(root, root=root, index_dir=index, overrides={f"index.{name}": value for name, value in settings.items()})


def answers(engine: Engine, questions: tuple[str, ...] = QUESTIONS) -> str:
    """Everything that an engine says, but for the number of its generation and the time that it took."""
    said = []
    for question in questions:
        for options in ({"ranking": "classic"}, {"context": "function", "limit": 30}):
            answer: dict[str, Any] = engine.search(question, **options).to_dict()  # type: ignore[arg-type]
            del answer["timings_ms"], answer["index"]["generation"]
            answer["next"] = answer["next"] is not None
            said.append(answer)
    said.append([hit.to_dict() for name in ("Client", "Pool.Acquire", "parse_cookie") for hit in engine.symbol(name)])  # type: ignore[arg-type]
    return json.dumps(said, indent=1)


def index_files(root: Path) -> list[Path]:
    return [root / ".lurcher" / "manifest", *sorted((root / ".lurcher").glob("*.segment"))]


def in_two_segments(root: Path) -> Path:
    """The tree, with one more file and an index of two segments."""
    for path in root.rglob("*.*"):
        os.utime(path, (10**9, 10**9))
    engine = opened(root)
    engine.refresh()
    write(root, {"new.py": "def zeppelin(): return parse_cookie\n"})
    os.utime(root / "new.py", (10**9, 10**9))
    engine.refresh()
    assert len(index_files(root)) == 3
    return root
