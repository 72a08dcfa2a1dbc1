"""One setting is changed, and nothing else in the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lurcher import config
from lurcher.config.user_files import edit_text, write_setting
from lurcher.errors import ConfigError


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[dense]\nmodel = "new"\n'),
        ("[search]\nlimit = 5", '[search]\nlimit = 5\n\n[dense]\nmodel = "new"\n'),
        ('[dense]\nmodel = "old"\n', '[dense]\nmodel = "new"\n'),
        ("# mine\n[ dense ]  # too\n\n[search]\n", '# mine\n[ dense ]  # too\nmodel = "new"\n\n[search]\n'),
        ('[dense]\n# why\nmodel="old" # was\n[search]\n', '[dense]\n# why\nmodel = "new"\n[search]\n'),
        ('dense.model = "old"\n', 'dense.model = "new"\n'),
        ('[search]\nmodel = "other"\n', '[search]\nmodel = "other"\n\n[dense]\nmodel = "new"\n'),
    ],
)
def test_one_line_is_put_where_it_belongs(before: str, after: str) -> None:
    assert edit_text(before, "dense.model", "new") == after


def environment(folder: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(folder)}


def test_what_was_set_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "lurcher/config.toml"
    for value in ("none", "/a b/ü\"'\\.table", "builtin"):
        assert write_setting("dense.model", value, environment(tmp_path)) == path
        settings = config.load(None, environ=environment(tmp_path))
        assert (settings.dense.model, settings.origins["dense.model"]) == (value, "config.toml")
    assert not list(path.parent.glob(".*"))


def test_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "lurcher/config.toml"
    path.parent.mkdir()
    path.write_text("# my settings\n[search]\nlimit = 7  # few\n")
    path.chmod(0o600)
    write_setting("dense.model", "none", environment(tmp_path))
    assert path.read_text() == '# my settings\n[search]\nlimit = 7  # few\n\n[dense]\nmodel = "none"\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "lurcher").mkdir()
    (tmp_path / "lurcher/config.toml").symlink_to("../dotfiles/config.toml")
    write_setting("dense.model", "none", environment(tmp_path))
    assert (tmp_path / "lurcher/config.toml").is_symlink()
    assert "none" in (tmp_path / "dotfiles/config.toml").read_text()


@pytest.mark.parametrize(
    "text",
    [
        'dense = { model = "old" }\n',
        '[search]\nnote = """\n[dense]\n"""\n',
        "dense = 3\n",
        "[dense\n",
        '["dense"]\nmodel = "x"\n',
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lurcher/config.toml"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        write_setting("dense.model", "none", environment(tmp_path))
    assert caught.value.hint
    assert path.read_text() == text


def test_without_a_home_there_is_no_place() -> None:
    with pytest.raises(ConfigError) as caught:
        write_setting("dense.model", "none", {})
    assert "HOME" in caught.value.hint


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "lurcher").write_text("a file")
    with pytest.raises(ConfigError):
        write_setting("dense.model", "none", environment(tmp_path))
    assert os.listdir(tmp_path) == ["lurcher"]
