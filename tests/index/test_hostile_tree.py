"""What a repository may bring along must not be believed, nor make us write elsewhere."""

from __future__ import annotations

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


def test_an_index_that_was_moved_with_its_tree_is_kept(tmp_path: Path) -> None:
    with Engine.open(tree(tmp_path / "before")) as engine:
        engine.index()
    (tmp_path / "before").rename(tmp_path / "after")
    with Engine.open(tmp_path / "after") as engine:
        assert not engine.search("harmless").degraded


def test_an_index_folder_that_links_elsewhere_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tree(tmp_path / "root")
    (root / ".lurcher").symlink_to(outside)
    with pytest.raises(LurcherError):
        Engine.open(root).search("harmless")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("place", ["../outside", "/tmp/outside-of-it"])
def test_a_projects_own_setting_cannot_lead_out_of_it(tmp_path: Path, place: str) -> None:
    root = tree(tmp_path / "root")
    (root / "lurcher.toml").write_text(f'[index]\ndir = "{place}"\n')
    with pytest.raises(LurcherError) as caught:
        Engine.open(root)
    assert caught.value.code == "config"
    assert not (tmp_path / "outside").exists()
