"""What a repository may bring along must not be believed, nor make us write elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lurcher import Engine, LurcherError


def tree(folder: Path, text: str = "def harmless():\n    return 1\n") -> Path:
    folder.mkdir()
    (folder / "code.py").write_text(text)
    return folder


def test_an_index_that_came_with_the_tree_is_not_believed(tmp_path: Path) -> None:
    original = tree(tmp_path / "original")
    with Engine.open(original) as engine:
        engine.index()
    copy = tmp_path / "copy"
    shutil.copytree(original, copy)
    with Engine.open(copy) as engine:
        answer = engine.search("harmless")
        assert "another folder" in answer.degraded[0].reason
        assert not engine.search("harmless").degraded


def test_an_index_that_was_moved_with_its_tree_is_used(tmp_path: Path) -> None:
    with Engine.open(tree(tmp_path / "before")) as engine:
        engine.index()
    (tmp_path / "before").rename(tmp_path / "after")
    with Engine.open(tmp_path / "after") as engine:
        assert not engine.search("harmless").degraded


@pytest.mark.parametrize("inside", [True, False])
def test_an_index_folder_that_is_a_link_is_refused(tmp_path: Path, inside: bool) -> None:
    root = tree(tmp_path / "root")
    target = root if inside else tmp_path / "outside"
    target.mkdir(exist_ok=True)
    (root / ".lurcher").symlink_to(target)
    before = sorted(path.name for path in target.iterdir())
    with pytest.raises(LurcherError):
        Engine.open(root).search("harmless")
    assert sorted(path.name for path in target.iterdir()) == before


@pytest.mark.parametrize(
    "place",
    ["../outside", "/tmp/outside-of-it", ".", ".git", ".git/.lurcher", ".GIT/.lurcher", ".github/.lurcher-x", "src"],
)
def test_a_projects_own_setting_cannot_make_us_write_over_files(tmp_path: Path, place: str) -> None:
    root = tree(tmp_path / "root")
    (root / "lurcher.toml").write_text(f'[index]\ndir = "{place}"\n')
    with pytest.raises(LurcherError) as caught:
        Engine.open(root)
    assert caught.value.code == "config"
    assert sorted(path.name for path in root.iterdir()) == ["code.py", "lurcher.toml"]


def test_a_projects_own_setting_cannot_make_us_write_among_gits_files_through_a_link(tmp_path: Path) -> None:
    root = tree(tmp_path / "root")
    (root / ".git").mkdir()
    (root / "build").symlink_to(".git")
    (root / "lurcher.toml").write_text('[index]\ndir = "build/.lurcher"\n')
    with pytest.raises(LurcherError) as caught:
        Engine.open(root, root=root)
    assert caught.value.code == "config" and not list((root / ".git").iterdir())


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    root, other = tree(tmp_path / "root"), tree(tmp_path / "other")
    (other / "manifest").write_text("precious")
    answer = Engine.open(root, index_dir=other).search("harmless")
    assert answer.hits and "not an index folder" in answer.degraded[0].reason
    assert sorted(path.name for path in other.iterdir()) == ["code.py", "manifest"]
    assert (other / "manifest").read_text() == "precious"


def test_a_pipe_in_place_of_the_manifest_is_not_waited_for(tmp_path: Path) -> None:
    root = tree(tmp_path / "root")
    Engine.open(root).index()
    (root / ".lurcher" / "manifest").unlink()
    os.mkfifo(root / ".lurcher" / "manifest")
    assert Engine.open(root).search("harmless").hits
