"""The file that lists git remotes, whose lines are not trusted, and the clones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lurcher.errors import LurcherError, PathError
from lurcher.server.remotes import Clone, Remote, RemoteError, read_remotes
from tests.conftest import git, write_repository


def listed(tmp_path: Path, text: str) -> tuple[list[Remote], list[int]]:
    (tmp_path / "repos.txt").write_text(text)
    found, refused = read_remotes(tmp_path / "repos.txt")
    return found, [one.line for one in refused]


@pytest.mark.parametrize(
    ("line", "remote"),
    [
        ("https://h.example/acme/web.git", Remote("https://h.example/acme/web.git", "acme/web")),
        ("git@h.example:acme/web.git ref=v2", Remote("git@h.example:acme/web.git", "acme/web@v2", "v2")),
        ("ssh://git@h.example:22/acme/web", Remote("ssh://git@h.example:22/acme/web", "acme/web")),
        ("h.example:web.git name=x/y  # a comment", Remote("h.example:web.git", "x/y")),
        ("file:///srv/git/tools.git", Remote("file:///srv/git/tools.git", "tools")),
        ("/srv/git/tools.git ref=release/1.x", Remote("/srv/git/tools.git", "tools@release/1.x", "release/1.x")),
        ('"/srv/my code/tools"', Remote("/srv/my code/tools", "tools")),
    ],
)
def test_lines(tmp_path: Path, line: str, remote: Remote) -> None:
    assert listed(tmp_path, f"# remotes\n\n{line}\n") == ([remote], [])


def test_a_relative_path_is_relative_to_the_file(tmp_path: Path) -> None:
    assert listed(tmp_path, "git/tools.git\n")[0] == [Remote(str(tmp_path / "git/tools.git"), "tools")]


HOSTILE = (
    "ext::sh -c touch% /tmp/x", "--upload-pack=touch", "-u", "'--upload-pack=touch x' name=a", "fd::17/foo", "ext::/x name=a/b",
    "http://h.example/x", "git://h.example/x", "ftp://h/x", "ssh://-oProxyCommand=x/y", "ssh://git@-oProxyCommand=x/y",
    "-oProxyCommand=x:y", "git@-oProxyCommand=x:y", "h.example:-x", "https://h/x ref=--all", "https://h/x ref=a..b",
    "https://h/x ref=+a:b", "https://h/x ref=@{1}", "https://h/x ref=", "https://h/x name=../x", "https://h/x name=-x",
    "https://h/x config=core.sshCommand=x", "https://h/x extra", "https://h/x ref=a ref=b", "'https://h/\x07x'", "'unclosed",
    "https://h/x ref=a.lock", "HTTPS::x", "a::b",
)  # fmt: skip


@pytest.mark.parametrize("line", HOSTILE)
def test_hostile_lines_are_refused_and_the_others_stay(tmp_path: Path, line: str) -> None:
    found, refused = listed(tmp_path, f"https://h.example/acme/one\n{line}\nhttps://h.example/acme/two\n")
    assert [remote.project for remote in found] == ["acme/one", "acme/two"]
    assert refused == [2]


def test_a_project_is_listed_once(tmp_path: Path) -> None:
    assert listed(tmp_path, "https://h/a/b\nhttps://other/a/b\n")[1] == [2]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PathError):
        read_remotes(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(PathError):
        read_remotes(tmp_path / "binary")


# -- clones --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    write_repository(folder)
    git(folder, "tag", "-a", "v1", "-m", "one")
    (folder / "more.py").write_text("def more():\n    return 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "More")
    return folder


def head(folder: Path, name: str = "HEAD") -> str:
    return git(folder, "rev-parse", f"{name}^{{commit}}").strip()


def test_a_branch_and_a_tag_are_checked_out(origin: Path, tmp_path: Path) -> None:
    for ref, name, there in (("", "HEAD", True), ("v1", "refs/tags/v1", False)):
        clone = Clone(Remote(str(origin), f"acme/shop@{ref}" if ref else "acme/shop", ref), tmp_path / "clones")
        assert clone.find_tip() == (head(origin, ref or "HEAD"), name)
        assert clone.update(name, whole=False) == head(origin, ref or "HEAD")
        assert clone.tree.name == "shop"
        assert (clone.tree / "more.py").exists() == there


def test_a_clone_follows_its_remote(origin: Path, tmp_path: Path) -> None:
    clone = Clone(Remote(str(origin), "acme/shop"), tmp_path / "clones")
    clone.update("HEAD", whole=False)
    assert len(git(clone.tree, "log", "--oneline").splitlines()) == 1
    git(origin, "rm", "-q", "more.py")
    git(origin, "commit", "-qm", "Less")
    assert clone.update("HEAD", whole=True) == head(origin)
    assert not (clone.tree / "more.py").exists()
    assert len(git(clone.tree, "log", "--oneline").splitlines()) == 3


def test_what_a_killed_run_left_is_repaired(origin: Path, tmp_path: Path) -> None:
    clone = Clone(Remote(str(origin), "acme/shop"), tmp_path / "clones")
    clone.update("HEAD", whole=False)
    (clone.tree / ".git" / "index.lock").touch()
    assert clone.update("HEAD", whole=False) == head(origin)
    (clone.tree / ".git" / "index").write_bytes(b"broken")
    assert clone.update("HEAD", whole=False) == head(origin)
    shutil.rmtree(clone.tree / ".git")
    assert clone.update("HEAD", whole=False) == head(origin)


def test_what_cannot_be_read_is_one_error(origin: Path, tmp_path: Path) -> None:
    for remote in (Remote(str(tmp_path / "none"), "a"), Remote(str(origin), "b", "no-such")):
        with pytest.raises(RemoteError):
            Clone(remote, tmp_path / "clones").find_tip()
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(LurcherError, match="no commits"):
        Clone(Remote(str(tmp_path / "empty"), "a"), tmp_path / "clones").find_tip()


def test_hooks_of_the_user_s_templates_do_not_run(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "post-checkout").chmod(0o755)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "template"))
    Clone(Remote(str(origin), "acme/shop"), tmp_path / "clones").update("HEAD", whole=False)
    assert not (tmp_path / "ran").exists()
