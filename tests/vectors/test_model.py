"""Which table the settings lead to, and what becomes of one that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import config
from lurcher import vectors as models
from lurcher.config import Settings
from lurcher.errors import ConfigError, LurcherError, ModelError, PathError
from lurcher.indexing.root_index import select_model
from lurcher.vectors import BUILTIN_FILE, UNAVAILABLE, Model
from lurcher.vectors.convert import choose_model, describe_model
from lurcher.vectors.table import Table
from tests.tables import write_tiny


def named(value: str, origin: str = "flag") -> Settings:
    return config.apply(Settings(), {"dense.model": value}, origin)


def test_the_default_is_the_built_in_table(tmp_path: Path) -> None:
    assert select_model(Settings(), tmp_path).path == Path(BUILTIN_FILE)


def test_a_missing_built_in_table_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "BUILTIN_FILE", tmp_path / "builtin.table")
    model = select_model(Settings(), tmp_path)
    assert model.table is None and model.digest == UNAVAILABLE
    assert model.problem is not None and "built-in" in model.problem.message and model.problem.hint


def test_none_is_no_problem(tmp_path: Path) -> None:
    model = select_model(named("none"), tmp_path)
    assert (model.table, model.problem, model.digest) == (None, None, "none")
    assert describe_model(model) == {"name": "none", "setting": "none"}


def test_a_path_leads_to_its_table(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.table")
    model = select_model(named(str(path)), tmp_path / "elsewhere")
    assert model.table is not None and model.digest == Table.open(path).digest
    found = describe_model(model)
    assert (found["name"], found["dims"], found["bits"], found["licence"]) == ("tiny", 32, 8, "CC0-1.0")
    assert found["bytes"] == path.stat().st_size and found["load_ms"] < 1000 and found["training"] == {"pairs": 0}


@pytest.mark.parametrize("origin", ["lurcher.toml", "pyproject.toml"])
def test_a_project_may_name_only_a_table_of_its_own(tmp_path: Path, origin: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    outside = write_tiny(tmp_path / "outside.table")
    write_tiny(root / "inside.table")
    (root / "link.table").symlink_to(outside)
    assert select_model(named("inside.table", origin), root).table is not None
    for value in (str(outside), "../outside.table", "link.table", "~/x.table"):
        try:
            path = select_model(named(value, origin), root).path
        except ConfigError as error:
            assert origin in error.message and error.hint
        else:
            assert path is not None and path.resolve().is_relative_to(root)
    for value in ("builtin", "none"):
        select_model(named(value, origin), root)


def test_an_empty_setting_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is empty"):
        select_model(named(" "), tmp_path)


def test_a_folder_or_nothing_in_place_of_a_table_is_a_problem(tmp_path: Path) -> None:
    for value in (tmp_path, tmp_path / "nowhere"):
        model = select_model(named(str(value)), tmp_path)
        assert model.table is None and model.problem is not None and model.problem.hint
        with pytest.raises(LurcherError):
            describe_model(model)


def test_a_broken_model_has_its_setting_and_no_digest() -> None:
    model = Model("x", Path("x")).with_problem(ModelError("damaged"))
    assert (model.setting, model.digest) == ("x", UNAVAILABLE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("LURCHER_CONFIG", raising=False)
    return tmp_path


def test_a_choice_is_checked_before_it_is_written(home: Path) -> None:
    path = write_tiny(home / "t.table")
    value, file = choose_model(str(path))
    assert (value, file) == (str(path), home / "config/lurcher/config.toml")
    before = file.read_text()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    (home / "damaged.table").write_bytes(data)
    for bad, error in ((home / "damaged.table", ModelError), (home / "nowhere", PathError), (home / "data", LurcherError)):
        with pytest.raises(error):
            choose_model(str(bad))
    assert file.read_text() == before
    assert choose_model("none")[0] == "none"
    assert file.read_text() == before.replace(str(path), "none")


def test_a_relative_path_is_made_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny(home / "t.table")
    monkeypatch.chdir(home)
    assert choose_model("t.table")[0] == str(home / "t.table")


def test_there_may_be_no_built_in_table_to_choose(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lurcher.vectors.convert.BUILTIN_FILE", home / "builtin.table")
    with pytest.raises(ModelError):
        choose_model("builtin")
    write_tiny(home / "builtin.table")
    assert choose_model("builtin")[0] == "builtin"
