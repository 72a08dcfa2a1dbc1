"""Repositories inside of a work tree: submodules, clones, and further work trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lurcher.sources import FilesSettings, Listing, Root
from lurcher.sources import git as git_command
from lurcher.sources.git import worktree
from lurcher.sources.listing import list_files

BOTH = pytest.mark.parametrize("use_git", [True, False], ids=["git", "walk"])
WHO = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always")


def listing(folder: Path, use_git: bool = True, **settings: object) -> Listing:
    return list_files(Root(folder.resolve(), use_git, ""), FilesSettings(**settings))


def paths(result: Listing) -> list[str]:
    return [entry.path for entry in result.entries if not entry.path.endswith((".gitmodules", ".gitignore"))]


@pytest.fixture
def made(git, put):
    """A repository with these files in one commit."""

    def make(folder: Path, files: dict[str, str]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q")
        put(folder, files)
        git(folder, "add", "-A")
        git(folder, *WHO, "commit", "-q", "--allow-empty", "-m", "first")
        return folder

    return make


@BOTH
def test_a_repository_inside_is_listed_with_its_own_rules(made, put, repo, use_git):
    made(repo, {"a.py": "", ".gitignore": "*.log\n"})
    made(repo / "inner", {"b.py": "", ".gitignore": "*.tmp\n"})
    put(repo, {"inner/new.py": "", "inner/x.tmp": "", "inner/pkg/c.py": "", "plain/d.py": "", "x.tmp": ""})
    result = listing(repo, use_git)
    assert paths(result) == ["a.py", "inner/b.py", "inner/new.py", "inner/pkg/c.py", "plain/d.py", "x.tmp"]
    assert (result.skipped, result.nested) == ({}, ("inner",))


def test_submodules_are_listed_however_deep(made, put, repo, git, tmp_path):
    made(tmp_path / "deep", {"c.py": ""})
    middle = made(tmp_path / "middle", {"b.py": ""})
    git(middle, *WHO, "submodule", "--quiet", "add", str(tmp_path / "deep"), "vendor/deep")
    git(middle, *WHO, "commit", "-q", "-m", "with a submodule")
    made(repo, {"a.py": ""})
    git(repo, *WHO, "submodule", "--quiet", "add", str(middle), "libs/middle")
    result = listing(repo)
    assert paths(result) == ["a.py", "libs/middle/b.py"]
    assert result.skipped == {"submodule": 1}  # not checked out
    git(repo, *WHO, "submodule", "--quiet", "update", "--init", "--recursive")
    put(repo, {"libs/middle/untracked.py": "", "libs/middle/vendor/deep/new.py": ""})
    result = listing(repo)
    assert paths(result) == [
        *("a.py", "libs/middle/b.py", "libs/middle/untracked.py"),
        *("libs/middle/vendor/deep/c.py", "libs/middle/vendor/deep/new.py"),
    ]
    assert (result.skipped, result.nested) == ({}, ("libs/middle", "libs/middle/vendor/deep"))


@BOTH
def test_they_can_be_left_out(made, repo, use_git):
    made(repo, {"a.py": ""})
    made(repo / "inner", {"b.py": ""})
    result = listing(repo, use_git, submodules=False)
    assert (paths(result), result.skipped, result.nested) == (["a.py"], {"submodule": 1}, ())


def test_a_folder_of_repositories_is_searched_in_any_case(made, tmp_path):
    made(tmp_path / "one", {"a.py": ""})
    made(tmp_path / "two", {"b.py": ""})
    assert paths(listing(tmp_path, False, submodules=False)) == ["one/a.py", "two/b.py"]


@BOTH
def test_another_work_tree_of_the_same_repository_is_left_out(made, repo, git, use_git):
    made(repo, {"a.py": ""})
    git(repo, "worktree", "add", "-q", ".worktrees/x")
    result = listing(repo, use_git)
    assert (paths(result), result.skipped) == (["a.py"], {"worktree": 1})
    other = listing(repo / ".worktrees" / "x")
    assert (paths(other), other.method) == (["a.py"], "git")


def test_of_several_work_trees_of_another_repository_one_is_listed(made, repo, git, tmp_path):
    elsewhere = made(tmp_path / "elsewhere", {"b.py": ""})
    made(repo, {"a.py": ""})
    for name in ("one", "two"):
        git(elsewhere, "worktree", "add", "-q", str(repo / name))
    result = listing(repo)
    assert (paths(result), result.skipped) == (["a.py", "one/b.py"], {"worktree": 1})
    git(repo, "clone", "-q", str(elsewhere), "zzz")
    git(elsewhere, "worktree", "remove", "two")
    git(repo / "zzz", "worktree", "add", "-q", "../aaa")
    result = listing(repo)  # the main work tree is listed rather than a linked one, whatever their names
    assert (paths(result), result.skipped) == (["a.py", "one/b.py", "zzz/b.py"], {"worktree": 1})


def test_an_ignored_repository_is_left_out(made, put, repo):
    made(repo / "inner", {"b.py": ""})
    made(repo, {"a.py": "", ".gitignore": "inner/\n"})
    assert paths(listing(repo)) == ["a.py"]
    put(repo, {".gitignore": "", ".lurcherignore": "inner\n"})
    result = listing(repo)
    assert (paths(result), result.skipped) == ([".lurcherignore", "a.py"], {"ignored": 1})


@BOTH
def test_rules_reach_into_repositories_inside(made, put, repo, use_git):
    made(repo / "inner", {"b.py": "", "b.txt": "", "pkg/c.py": "", "pkg/d.py": ""})
    put(repo, {".lurcherignore": "*.txt\n", "a.txt": "", "inner/pkg/.lurcherignore": "/d.py\n"})
    assert [path for path in paths(listing(repo, use_git)) if path.endswith(("py", "txt"))] == ["inner/b.py", "inner/pkg/c.py"]


def test_rules_bring_back_what_a_repository_inside_ignores(made, put, repo):
    made(repo / "inner", {".gitignore": "*.gen\n"})
    put(repo, {".lurcherignore": "!wanted.gen\n", "inner/wanted.gen": "", "inner/other.gen": ""})
    assert paths(listing(repo)) == [".lurcherignore", "inner/wanted.gen"]


def test_a_file_that_two_repositories_track_is_listed_once(made, put, repo, git):
    made(repo, {"a.py": "", "inner/b.py": ""})
    made(repo / "inner", {"b.py": "", "c.py": ""})
    found = paths(listing(repo))
    assert len(found) == len(set(found))
    assert {"a.py", "inner/b.py"} <= set(found)


def test_a_broken_repository_inside_is_counted(made, put, repo):
    made(repo, {"a.py": ""})
    made(repo / "inner", {"b.py": ""})
    (repo / "inner" / ".git" / "config").write_text("[core\n")
    result = listing(repo)
    assert (paths(result), result.skipped, result.method) == (["a.py"], {"refused-repository": 1}, "git")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_repository_of_another_owner_is_refused_as_git_does(made, repo):
    made(repo, {"a.py": ""})
    made(repo / "inner", {"b.py": ""})
    for path in (repo / "inner", repo / "inner" / ".git"):
        os.chown(path, 12345, 12345)
    result = listing(repo)
    assert (paths(result), result.skipped) == (["a.py"], {"refused-repository": 1})


def test_a_repository_inside_cannot_run_programs_or_lead_elsewhere(made, put, repo, git, tmp_path):
    put(tmp_path, {"secret/s.py": "", "secret/b.py": ""})
    made(repo, {"a.py": ""})
    inner = made(repo / "inner", {"b.py": "", "evil.sh": "#!/bin/sh\ntouch ran\n"})
    (inner / "evil.sh").chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "alias.ls-files"):
        git(inner, "config", key, "./evil.sh")
    git(inner, "config", "core.worktree", str(tmp_path / "secret"))
    put(inner, {"untracked.py": ""})
    assert paths(listing(repo)) == ["a.py", "inner/b.py", "inner/evil.sh", "inner/untracked.py"]
    assert not list(tmp_path.rglob("ran"))


def test_a_marker_that_leads_nowhere_is_not_a_repository(made, put, repo):
    made(repo, {"a.py": ""})
    put(repo, {"inner/b.py": "", "inner/.git": "gitdir: /nowhere/at/all\n"})
    result = listing(repo)
    assert "a.py" in paths(result)
    assert result.method == "git"
    (repo / "inner" / ".git").unlink()
    os.mkfifo(repo / "inner" / ".git")
    assert "a.py" in paths(listing(repo))


def test_a_repository_behind_a_link_is_not_entered(made, repo, tmp_path):
    made(tmp_path / "outside", {"b.py": ""})
    made(repo, {"a.py": ""})
    (repo / "link").symlink_to(tmp_path / "outside")
    assert paths(listing(repo)) == ["a.py"]


def test_the_depth_is_bounded(made, repo, monkeypatch):
    monkeypatch.setattr(worktree, "MAX_DEPTH", 2)
    folder = repo
    for _ in range(5):
        made(folder, {"a.py": ""})
        folder = folder / "n"
    result = listing(repo)
    assert (paths(result), result.skipped) == (["a.py", "n/a.py", "n/n/a.py"], {"submodule": 1})


def test_so_is_their_number(made, repo, monkeypatch):
    monkeypatch.setattr(worktree, "MAX_REPOSITORIES", 2)
    for name in "abcd":
        made(repo / name, {"x.py": ""})
    result = listing(repo)
    assert (paths(result), result.skipped) == (["a/x.py", "b/x.py"], {"submodule": 2})


def test_a_repository_in_which_git_hangs_is_left_out_and_no_other_is_tried(made, put, repo, monkeypatch):
    made(repo, {"a.py": ""})
    for name in ("b", "c", "d"):
        made(repo / name, {"x.py": ""})
        (repo / name / ".gitignore").unlink(missing_ok=True)
        os.mkfifo(repo / name / ".gitignore")  # git opens it and waits for a writer
    monkeypatch.setattr(git_command.finish, "__defaults__", (0.5,))
    result = listing(repo)  # without a time limit it would never return
    assert (paths(result), result.skipped) == (["a.py"], {"refused-repository": 3})
    assert result.signature is None
