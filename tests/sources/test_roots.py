from __future__ import annotations

import os
from pathlib import Path

import pytest

from lurcher.errors import PathError
from lurcher.sources import Root, find_root


def test_a_work_tree_is_the_root_of_everything_in_it(repo, put):
    put(repo, {"src/deep/a.py": ""})
    assert find_root(repo) == Root(repo.resolve(), True, "")
    assert find_root(repo / "src" / "deep") == Root(repo.resolve(), True, "src/deep")
    assert find_root(repo / "src" / "deep" / "a.py") == Root(repo.resolve(), True, "src/deep/a.py")


def test_relative_paths_and_links_are_resolved(repo, put, monkeypatch, tmp_path):
    put(repo, {"src/a.py": ""})
    monkeypatch.chdir(repo / "src")
    assert find_root(Path()) == Root(repo.resolve(), True, "src")
    (tmp_path / "link").symlink_to(repo / "src")
    assert find_root(tmp_path / "link") == Root(repo.resolve(), True, "src")


def test_a_linked_work_tree_is_its_own_root(repo, git, tmp_path):
    git(repo, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert (tmp_path / "linked" / ".git").is_file()
    assert find_root(tmp_path / "linked") == Root((tmp_path / "linked").resolve(), True, "")


def test_an_ignored_path_is_its_own_root(repo, put):
    put(repo, {".gitignore": "out/\n-odd\n", "out/pkg/a.py": "", "kept/a.py": "", "-odd/b.py": ""})
    assert find_root(repo / "out" / "pkg") == Root(repo.resolve() / "out" / "pkg", False, "")
    assert find_root(repo / "out" / "pkg" / "a.py") == Root(repo.resolve() / "out" / "pkg", False, "a.py")
    assert find_root(repo / "-odd") == Root(repo.resolve() / "-odd", False, "")
    assert find_root(repo / "kept").git


def test_names_in_the_form_of_pathspec_magic_are_only_names(repo, put):
    put(repo, {":(top)x/a.py": "", ".gitignore": "y\n"})
    assert find_root(repo / ":(top)x").prefix == ":(top)x"


def test_git_variables_in_the_environment_do_not_redirect(repo, put, monkeypatch, tmp_path):
    put(repo, {".gitignore": "out/\n", "out/a.py": ""})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert find_root(repo / "out") == Root(repo.resolve() / "out", False, "")


def test_without_git_an_index_above_marks_the_root(tmp_path, put):
    put(tmp_path, {"notes/2024/a.md": "", "notes/.lurcher/manifest": ""})
    assert find_root(tmp_path / "notes" / "2024") == Root(tmp_path.resolve() / "notes", False, "2024")


def test_without_git_or_index_the_path_is_the_root(tmp_path, put):
    put(tmp_path, {"notes/a.md": ""})
    assert find_root(tmp_path / "notes") == Root(tmp_path.resolve() / "notes", False, "")
    assert find_root(tmp_path / "notes" / "a.md") == Root(tmp_path.resolve() / "notes", False, "a.md")


def test_an_empty_git_folder_is_no_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    assert not find_root(tmp_path).git


def test_without_a_git_binary_the_top_is_walked(repo, put, monkeypatch, tmp_path):
    put(repo, {"src/a.py": ""})
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert find_root(repo / "src") == Root(repo.resolve(), False, "src")


def test_paths_that_cannot_be_searched_say_why(tmp_path, repo, git):
    (tmp_path / "broken").symlink_to(tmp_path / "missing")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    git(tmp_path, "init", "-q", "--bare", "store.git")
    wrong = {
        "missing": "does not exist",
        "broken": "broken symbolic link",
        "loop": "cannot be opened",
        "pipe": "neither a folder nor a regular file",
        "store.git": "inside a git directory",
        "repo/.git": "inside a git directory",
        "repo/.git/objects": "inside a git directory",
    }
    for name, message in wrong.items():
        with pytest.raises(PathError, match=message) as caught:
            find_root(tmp_path / name)
        assert caught.value.hint


def test_an_unreadable_folder_is_refused(tmp_path, monkeypatch):
    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PathError, match="cannot be read"):
        find_root(tmp_path)
