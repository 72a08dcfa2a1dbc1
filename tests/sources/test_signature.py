"""What a listing depends on: whatever changes the list of files shows in it, and little else does."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher.sources import FilesSettings, Root, TreeSignature, circumstances
from lurcher.sources import git as git_command
from lurcher.sources.git import worktree
from lurcher.sources.listing import list_files

FILES = {
    "a.py": "", "src/b.py": "", "src/deep/c.py": "", ".gitignore": "*.log\nout/\nself/.gitignore\n", "x.log": "",
    "out/o.py": "", "logs/only.log": "", "self/.gitignore": "*.gen\n", "self/s.gen": "", "big.py": "x" * 500,
    "pkg/.lurcherignore": "no.py\n", "pkg/no.py": "", "node_modules/m/i.js": "", "tracked/t.py": "",
}  # fmt: skip


@pytest.fixture
def tree(repo: Path, put, git) -> Path:
    put(repo, FILES)
    (repo / "empty" / "inside").mkdir(parents=True)
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "first")
    put(repo, {"inner/i.py": "", "inner/.gitignore": "*.tmp\n", "new.py": ""})
    git(repo / "inner", "init", "-q")
    (repo / "inner" / "hollow").mkdir()
    return repo


class Looker:
    def __init__(self, root: Root, settings: FilesSettings) -> None:
        self.root, self.settings = root, settings
        self.listing = list_files(root, settings)
        assert self.listing.signature is not None
        self.signature: TreeSignature = self.listing.signature.replace(settled=True)
        time.sleep(0.02)  # a tick of the file system's clock

    def holds(self) -> bool:
        opened = os.open(self.root.path, os.O_RDONLY)
        try:
            return self.signature.holds(str(self.root.path), opened, circumstances(self.root, self.settings))
        finally:
            os.close(opened)

    def paths(self) -> list[str]:
        return [entry.path for entry in list_files(self.root, self.settings).entries]


def look(folder: Path, use_git: bool = True, **settings: object) -> Looker:
    return Looker(Root(folder.resolve(), use_git, ""), FilesSettings(**{"max_file_bytes": 400, **settings}))


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def write(name: str, text: str = "") -> Callable[[Path], None]:
    def action(tree: Path) -> None:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)

    return action


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": write("src/new.py"),
    "at the top": write("top.py"),
    "in an empty folder": write("empty/new.py"),
    "in an empty folder's folder": write("empty/inside/new.py"),
    "in a folder of ignored files": write("logs/new.py"),
    "in a new folder": write("src/other/more/new.py"),
    "in a repository inside": write("inner/new.py"),
    "in an empty folder of a repository inside": write("inner/hollow/new.py"),
    "a file is gone": lambda tree: (tree / "src/b.py").unlink(),
    "a folder is gone": lambda tree: shutil.rmtree(tree / "src"),
    "a folder is renamed": lambda tree: (tree / "src").rename(tree / "lib"),
    "a folder becomes a link": lambda tree: ((tree / "src").rename(tree / "out/src"), (tree / "src").symlink_to("out/src")),
    "an untracked file is renamed": lambda tree: (tree / "new.py").rename(tree / "newer.py"),
    "a rule": write(".gitignore", "out/\nself/.gitignore\n"),
    "a rule of a repository inside": write("inner/.gitignore", "i.py\n"),
    "a rule that ignores its own file": write("self/.gitignore", "*.txt\n"),
    "a nested rule": write("pkg/.lurcherignore", "#\n"),
    "a new rule": write(".lurcherignore", "src/\n"),
    "an excluded name": write(".git/info/exclude", "new.py\n"),
    "an excluded name inside": write("inner/.git/info/exclude", "i.py\n"),
    "a large file shrinks": write("big.py", "x"),
    "forced into the index": lambda tree: run(tree, "add", "-f", "x.log"),
    "forced into the index inside": lambda tree: (
        (tree / "inner/x.tmp").write_text(""), run(tree / "inner", "add", "-f", "x.tmp"),
    ),
    "configuration": lambda tree: (
        (tree / ".git/names").write_text("new.py\n"), run(tree, "config", "core.excludesFile", ".git/names"),
    ),
    "a repository appears": lambda tree: run(tree, "init", "-q", "fresh"),
    "a folder becomes a repository": lambda tree: run(tree / "src", "init", "-q"),
    "a repository inside is one no longer": lambda tree: shutil.rmtree(tree / "inner/.git"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_the_list_shows(tree: Path, change: str) -> None:
    looker = look(tree)
    before = looker.paths()
    assert looker.holds()
    CHANGES[change](tree)
    assert not looker.holds()
    different = {"a repository appears", "a repository inside is one no longer", "a folder becomes a repository"}
    assert change in different or looker.paths() != before


NOTHING: dict[str, Callable[[Path], object]] = {
    "an edit in place": write("src/b.py", "changed"),
    "an ignored file is edited": write("x.log", "changed"),
    "a file in an ignored folder": write("out/more/new.py"),
    "a file in a folder that is never searched": write("node_modules/m/new.js"),
    "a new object": lambda tree: run(tree, "hash-object", "-w", "src/b.py"),
    "a new branch": lambda tree: run(tree, "branch", "other"),
    "a tag inside of a repository": lambda tree: write("inner/.git/refs/tags/x")(tree),
}


@pytest.mark.parametrize("change", NOTHING)
def test_what_changes_nothing_does_not(tree: Path, change: str) -> None:
    looker = look(tree)
    before = looker.paths()
    NOTHING[change](tree)
    assert looker.paths() == before
    assert looker.holds()


WALKED = (
    *("a new file", "at the top", "in an empty folder", "in an empty folder's folder", "in a folder of ignored files"),
    *("in a new folder", "a file is gone", "a folder is gone", "a rule", "a rule that ignores its own file", "a nested rule"),
    *("a new rule", "an excluded name", "a large file shrinks", "a folder becomes a link", "in a repository inside"),
)


@pytest.mark.parametrize("change", WALKED)
def test_outside_of_git_too(tree: Path, change: str) -> None:
    looker = look(tree, False)
    before = looker.paths()
    assert looker.holds()
    CHANGES[change](tree)
    assert not looker.holds()
    assert looker.paths() != before


def test_ignored_folders_are_not_read(tree: Path, put) -> None:
    put(tree, {"out/many/deep/x.py": "", "node_modules/a/b/c.js": ""})
    for use_git in (True, False):
        signature = look(tree, use_git).signature
        assert {"", "src", "empty/inside", "logs", "inner/hollow"} <= set(signature.folders)
        assert not [path for path in signature.folders if path.startswith(("out", "node_modules", ".git"))]


def test_another_work_tree_may_change_as_it_likes(tree: Path, put) -> None:
    run(tree, "worktree", "add", "-q", ".worktrees/x")
    looker = look(tree)
    put(tree, {".worktrees/x/new.py": "", ".worktrees/x/src/new.py": ""})
    assert looker.holds()
    (tree / ".worktrees/x/.git").unlink()
    assert not looker.holds()


def test_in_a_linked_work_tree_its_own_index_counts(tree: Path, tmp_path: Path, put) -> None:
    run(tree, "worktree", "add", "-q", str(tmp_path / "linked"))
    looker = look(tmp_path / "linked")
    run(tree, "add", "-f", "x.log")
    assert looker.holds()
    put(tmp_path / "linked", {"y.log": ""})
    looker = look(tmp_path / "linked")
    run(tmp_path / "linked", "add", "-f", "y.log")
    assert not looker.holds()


def test_submodules_that_are_not_checked_out_may_come(tree: Path, tmp_path: Path, git) -> None:
    run(tmp_path, "clone", "-q", str(tree), "other")
    run(tree, "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "other"), "sub")
    run(tree, "submodule", "deinit", "-f", "sub")
    looker = look(tree)
    assert looker.holds()
    run(tree, "-c", "protocol.file.allow=always", "submodule", "update", "--init")
    assert not looker.holds()


def test_the_users_own_ignore_file_may_come_and_go(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    looker = look(tree)
    (tmp_path / "home/git").mkdir(parents=True)
    (tmp_path / "home/git/ignore").write_text("new.py\n")
    assert not looker.holds()
    looker = look(tree)
    assert "new.py" not in looker.paths()
    (tmp_path / "home/git/ignore").unlink()
    assert not looker.holds()


def test_configuration_that_is_included_counts_even_before_it_is_there(tree: Path, tmp_path: Path) -> None:
    run(tree, "config", "include.path", str(tmp_path / "more"))
    run(tree, "config", "includeIf.onbranch:other.path", "../later")
    for path in (tmp_path / "more", tree / ".git" / ".." / "later"):
        looker = look(tree)
        path.write_text("[core]\n\texcludesFile = /dev/null\n")
        assert not looker.holds()


def test_settings_environment_and_user_count(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looker = look(tree)
    for settings in ({"max_file_bytes": 500}, {"submodules": False}, {"skip_folders": ()}):
        looker.settings = FilesSettings(**{"max_file_bytes": 400, **settings})
        assert not looker.holds()
    looker = look(tree)
    looker.root = Root(looker.root.path, False, "")
    assert not looker.holds()
    looker = look(tree)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    assert not looker.holds()
    looker = look(tree)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert not looker.holds()


def test_there_is_no_signature_where_it_could_miss_changes(tree: Path, put, monkeypatch: pytest.MonkeyPatch) -> None:
    def signature(**settings: object) -> TreeSignature | None:
        return list_files(Root(tree, True, ""), FilesSettings(**settings)).signature

    assert signature() is not None
    assert signature(follow_symlinks=True) is None
    put(tree, {".lurcherignore": "!out/\n"})
    assert signature() is None
    (tree / ".lurcherignore").unlink()
    monkeypatch.setattr(worktree, "MAX_FOLDERS", 3)
    assert signature() is None
    monkeypatch.undo()
    monkeypatch.setattr(git_command, "run_with_input", lambda *_, **__: (128, b""))
    assert signature() is None
    monkeypatch.undo()
    (tree / ".git/config").write_text("[core\n")  # git fails and may work the next time
    assert signature() is None


def test_what_rules_bring_back_is_not_followed_outside_of_git_either(tree: Path, put) -> None:
    put(tree, {".lurcherignore": "!wanted.js\n"})
    assert list_files(Root(tree, False, ""), FilesSettings()).signature is None


def test_deep_folders_without_files_are_bounded(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "/".join("d" * 10)).mkdir(parents=True)
    assert len(look(repo).signature.folders) == 11
    monkeypatch.setattr(worktree, "MAX_LEVELS", 4)
    assert list_files(Root(repo, True, ""), FilesSettings()).signature is None


def test_an_unreadable_folder_that_becomes_readable_shows(tree: Path) -> None:
    (tree / "logs").chmod(0)
    looker = look(tree)
    assert looker.holds()
    (tree / "logs").chmod(0o755)
    assert not looker.holds()


def test_only_an_unsettled_signature_is_computed(tree: Path) -> None:
    signature = list_files(Root(tree, True, ""), FilesSettings()).signature
    assert signature is not None
    assert not signature.settled
    opened = os.open(tree, os.O_RDONLY)
    assert not signature.holds(str(tree), opened, signature.circumstances)
    os.close(opened)


def test_our_own_folder_can_be_left_out() -> None:
    seen = (0, 1, 1, 1)
    signature = TreeSignature("", {"": seen, "own": seen, "own/x": seen, "owner": seen}, {"own/.gitignore": seen})
    assert (list(signature.without("own").folders), signature.without("own").files) == (["", "owner"], {})
