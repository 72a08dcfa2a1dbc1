"""Several folders at once: each file is indexed and shown once."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine

WHO = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    monkeypatch.delenv("LURCHER_INDEX_DIR", raising=False)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)


def made(folder: Path, name: str) -> Path:
    """A repository with one file that defines a function."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / f"{name}.py").write_text(f"def zeppelin_{name}():\n    return 'zeppelin'\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def found(paths: Sequence[Path], **overrides: Any) -> list[str]:
    with Engine.open(paths, overrides={f"index.{name}": value for name, value in overrides.items()}) as engine:
        answer = engine.search("zeppelin", limit=50)
        for hit in answer.hits:
            assert engine.locate(hit.path).is_file()
        return sorted(hit.path for hit in answer.hits)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work tree with a clone, a submodule with a clone in it, and a further work tree of its own."""
    work = made(tmp_path / "work", "top")
    made(work / "inner", "inner")
    git(work, "submodule", "add", str(made(tmp_path / "library", "module")), "libs/module")
    made(work / "libs/module/deep", "deep")
    git(work, "worktree", "add", "-q", ".worktrees/x")
    return work


ALL = ["inner/inner.py", "libs/module/deep/deep.py", "libs/module/module.py", "top.py"]


def test_a_work_tree_shows_what_is_in_it(work: Path) -> None:
    assert found([work]) == ALL
    assert found([work], submodules=False) == ["top.py"]


@pytest.mark.parametrize(
    "names",
    [("", "inner"), ("inner", ""), ("libs/module", ""), ("", "libs/module/deep"), ("libs", "inner", ""),
     ("libs/module/deep", "", "inner", "libs/module")],
)  # fmt: skip
def test_naming_a_part_beside_the_whole_adds_nothing(work: Path, names: tuple[str, ...]) -> None:
    assert found([work / name for name in names]) == ALL
    assert not (work / "inner/.lurcher").exists()


def test_sub_folders_are_separate_roots_where_their_parent_is_not_searched(work: Path) -> None:
    assert found([work / "inner", work / "libs/module"]) == ["inner/inner.py", "module/deep/deep.py", "module/module.py"]


def test_a_part_is_searched_alone_though_the_whole_is_needed_for_another(work: Path) -> None:
    """Two folders of one tree, one of them a repository in it: neither is widened to the whole."""
    (work / "pkg").mkdir()
    (work / "pkg/p.py").write_text("def zeppelin_p(): pass\n")
    assert found([work / "pkg", work / "inner"]) == ["inner/inner.py", "pkg/p.py"]
    assert found([work / "inner", work / "pkg"]) == ["inner/inner.py", "pkg/p.py"]


def test_what_the_whole_leaves_out_is_a_root_of_its_own(work: Path) -> None:
    assert found([work, work / ".worktrees/x"]) == [*(f"work/{path}" for path in ALL), "x/top.py"]
    (work / ".gitignore").write_text("inner/\n")
    assert found([work / "inner", work]) == ["inner/inner.py", *(f"work/{path}" for path in ALL[1:])]
    assert found([work, work / "libs/module"], submodules=False) == ["module/module.py", "work/top.py"]


def test_two_work_trees_of_one_repository_are_two_roots(tmp_path: Path) -> None:
    main = made(tmp_path / "a/same", "top")
    git(main, "worktree", "add", "-q", str(tmp_path / "b/same"))
    assert found([main, tmp_path / "b/same"]) == ["same-2/top.py", "same/top.py"]


def test_a_folder_of_repositories_and_one_of_them(tmp_path: Path) -> None:
    made(tmp_path / "all/one", "one")
    made(tmp_path / "all/two", "two")
    for paths in (["all", "all/one"], ["all/one", "all"]):
        assert found([tmp_path / path for path in paths]) == ["one/one.py", "two/two.py"]
