"""A home folder or a whole disk is not indexed because somebody asked a question there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import BroadRoot, ConfigError
from lurcher.server.session import Session
from lurcher.sources import Root, breadth
from tests.corpora.history.repo import Repo
from tests.surfaces.terminal import on_terminal

ASKING = (
    ["search", "password"], ["search", "password", "--literal"], ["search", "password", "--in", "all"], ["symbol", "password"],
    ["notes", "password"], ["outline"], ["context"], ["exists", "password"], ["impact", "a.py"], ["related", "a.py:1"],
    ["why", "a.py", "password"], ["index"], ["index", "--rebuild"], ["index", "--watch"], ["serve", "--port", "0"],
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "a.py").write_text("def password():\n    return 1\n")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def answered(command: list[str], said: str, environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """What a command does and shows at a terminal where somebody answers its question."""
    told = False

    def answer(seen: bytes, process: object) -> bytes | None:
        nonlocal told
        if told or b"[y/N]" not in seen:
            return None
        told = True
        return f"{said}\n".encode()

    status, seen = on_terminal([sys.executable, "-m", "lurcher", *command], environment, folder, answer)
    return status, seen.decode("utf-8", "replace")


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_without_a_terminal_a_broad_folder_is_refused(command: list[str], home: Path, run: Callable[..., Any]) -> None:
    result = run(*command, cwd=home, env={"HOME": str(home)})
    assert result.status == 2
    assert "is your home folder, and has no index yet (name a folder in it; or" in result.err
    assert "lurcher index --yes" in result.err
    assert not (home / ".lurcher").exists()


def test_it_is_an_error_that_programs_know(home: Path, run: Callable[..., Any]) -> None:
    result = run("search", "password", "--json", cwd=home, env={"HOME": str(home)})
    assert json.loads(result.out)["error"]["code"] == "broad-root"
    assert run("status", cwd=home, env={"HOME": str(home)}).status == 1
    assert "home folder" in run("status", "--json", cwd=home, env={"HOME": str(home)}).json["problem"]


def test_the_root_of_the_file_system_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    result = run("search", "password", "/", env={"HOME": str(tmp_path), "LURCHER_INDEX_DIR": str(tmp_path / "index")})
    assert result.status == 2 and "/ is the root of a file system" in result.err
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("said", ["", "n", "no", "what?"])
def test_at_a_terminal_no_is_what_is_not_yes(home: Path, clean_environment: Callable[..., dict[str, str]], said: str) -> None:
    status, seen = answered(["search", "password"], said, clean_environment(HOME=str(home)), home)
    assert status == 2 and "Index all of it? [y/N]" in seen
    assert not (home / ".lurcher").exists()


@pytest.mark.parametrize("command", [["search", "password"], ["search", "password", "--mode=lexical"], ["symbol", "password"]])
def test_a_terminal_prompts_for_yes_once(
    home: Path, clean_environment: Callable[..., dict[str, str]], command: list[str]
) -> None:
    environment = clean_environment(HOME=str(home))
    status, seen = answered(command, "y", environment, home)
    assert status == 0 and "[y/N]" in seen and "a.py" in seen
    status, seen = answered(command, "n", environment, home)
    assert status == 0 and "[y/N]" not in seen and "a.py" in seen


def test_scripts_can_say_yes(home: Path, run: Callable[..., Any]) -> None:
    environment = {"HOME": str(home)}
    assert run("index", "--yes", cwd=home, env=environment).status == 0
    assert run("search", "password", cwd=home, env=environment).status == 0
    assert run("index", "--clear", cwd=home, env=environment).status == 0
    assert run("search", "password", cwd=home, env=environment).status == 2
    assert run("search", "password", "--set", "index.broad=true", cwd=home, env=environment).status == 0


def test_a_project_below_it_is_one(home: Path, run: Callable[..., Any]) -> None:
    (home / "project").mkdir()
    (home / "project" / "a.py").write_text("def password(): ...\n")
    assert run("search", "password", cwd=home / "project", env={"HOME": str(home)}).status == 0


def test_a_home_folder_under_git_is_a_home_folder(home: Path, tmp_path: Path) -> None:
    Repo(home)
    with Engine.open(home) as engine, pytest.raises(BroadRoot):
        engine.search("password")
    assert not (home / ".lurcher").exists()


def test_the_python_api_refuses_to_index_a_broad_folder(home: Path) -> None:
    with Engine.open(home) as engine:
        anew = partial(engine.index, rebuild=True)
        for ask in (partial(engine.search, "password"), engine.index, engine.refresh, anew, engine.look):
            with pytest.raises(BroadRoot):
                ask()
        assert "problem" in engine.status()
    assert not (home / ".lurcher").exists()
    with Engine.open(home, overrides={"index.broad": True}) as engine:
        assert engine.search("password").hits
    with Engine.open(home) as engine:
        assert engine.search("password").hits


@pytest.mark.parametrize("git", [False, True])
def test_servers_refuse_a_broad_folder_too(home: Path, git: bool) -> None:
    if git:
        Repo(home)
    with Session.open(home) as served:
        for ask in (partial(served.search, "password"), partial(served.views_of, home / "a.py")):
            with pytest.raises(BroadRoot):
                ask()
    assert not (home / ".lurcher").exists()


def test_a_project_cannot_say_yes(home: Path) -> None:
    (home / "lurcher.toml").write_text("[index]\nbroad = true\n")
    with pytest.raises(ConfigError, match="a project cannot"):
        Engine.open(home)


def test_broad_folders_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place in ("/", "/usr", "/etc", "/tmp", "/home", "/var/tmp"):
        assert breadth(Root(place, False, ""))
    assert breadth(Root("/", True, ""))
    for place in ("/usr/src/linux", "/tmp/project", str(tmp_path), "/srv", "/work", "/home/ada/project"):
        assert not breadth(Root(place, False, ""))
    assert not breadth(Root("/etc", True, ""))  # as etckeeper has it
    own = tmp_path / "ada"
    own.mkdir()
    assert not breadth(Root(str(own), False, ""))
    account = SimpleNamespace(pw_dir=str(own))
    monkeypatch.setattr("pwd.getpwuid", lambda user: account)
    assert breadth(Root(str(own), False, "")) == "a home folder", "HOME may say something else, as under sudo"
    assert not breadth(Root(str(own / "project"), False, "")) and not breadth(Root(str(own), True, ""))
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    assert breadth(Root("/mnt/c", False, "")) and breadth(Root("/media/ada/disk", False, ""))
    assert not breadth(Root("/workspace", False, ""))
