"""Settings: where they come from, which wins, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher import config
from lurcher.config import Settings, load
from lurcher.errors import ConfigError
from lurcher.runtime import kernel


def user_file(folder: Path, text: str) -> dict[str, str]:
    """An environment whose user file holds `text`."""
    path = folder / "home" / "lurcher" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder / "home")}


def origin(settings: Settings, key: str) -> str:
    return next(where for name, _, where, _ in settings.rows() if name == key)


def refused(root: Path, *, flags: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, flags, environ or {})
    return caught.value


def test_without_any_layer_everything_is_a_default(tmp_path: Path) -> None:
    settings = load(tmp_path, None, {})
    assert settings == Settings()
    assert {where for _, _, where, _ in settings.rows()} == {"default"}
    assert load(None, None, {}) == Settings()


def test_each_layer_wins_over_the_one_before(tmp_path: Path) -> None:
    environ = user_file(tmp_path, "[search]\nlimit = 11\n")
    assert load(tmp_path, None, environ).search.limit == 11
    (tmp_path / "pyproject.toml").write_text("[tool.lurcher.search]\nlimit = 12\n")
    assert load(tmp_path, None, environ).search.limit == 12
    (tmp_path / "lurcher.toml").write_text("[search]\nlimit = 13\n")
    assert load(tmp_path, None, environ).search.limit == 13
    environ["LURCHER_SEARCH_LIMIT"] = "14"
    assert load(tmp_path, None, environ).search.limit == 14
    assert load(tmp_path, {"search.limit": 15}, environ).search.limit == 15


def test_every_value_says_where_it_came_from(tmp_path: Path) -> None:
    environ = user_file(tmp_path, "[lexical]\nk1 = 2.0\nb = 0.5\n[noise]\ntests = 0.1\n")
    (tmp_path / "lurcher.toml").write_text("[noise]\ntests = 0.2\nlegacy = 0.2\n[lexical]\nb = 0.6\n")
    environ["LURCHER_NOISE_LEGACY"] = "0.4"
    settings = load(tmp_path, {"search.mode": "symbol"}, environ)
    assert origin(settings, "lexical.k1") == "config.toml"
    assert origin(settings, "lexical.b") == "lurcher.toml"
    assert origin(settings, "noise.tests") == "lurcher.toml"
    assert origin(settings, "noise.legacy") == "environment"
    assert origin(settings, "search.mode") == "flag"
    assert origin(settings, "search.limit") == "default"
    assert (settings.lexical.k1, settings.lexical.b, settings.noise.tests, settings.noise.legacy) == (2.0, 0.6, 0.2, 0.4)


def test_the_project_file_hides_the_table_of_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.lurcher.search]\nlimit = 12\n")
    (tmp_path / "lurcher.toml").write_text("[lexical]\nb = 0.5\n")
    assert load(tmp_path, None, {}).search.limit == 10


@pytest.mark.parametrize(
    "text",
    [
        "[tool.lurcher.search]\nlimit = 12\n",
        "[tool.lurcher]\nsearch = { limit = 12 }\n",
        "[tool]\nlurcher.search.limit = 12\n",
        '[tool."lurcher".search]\nlimit = 12\n',
        "[tool.lurcher]\nsearch.limit = 12\n",
    ],
)
def test_pyproject_may_spell_the_table_in_any_way(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    settings = load(tmp_path, None, {})
    assert settings.search.limit == 12
    assert origin(settings, "search.limit") == "pyproject.toml"


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "this is = = no TOML", "[project]\nname = 'lurcher'\n"])
def test_a_pyproject_that_is_not_about_us_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert load(tmp_path, None, {}) == Settings()


@pytest.mark.parametrize("text", ["[tool]\nlurcher = 3\n", "[[tool.lurcher]]\nsearch = 1\n"])
def test_a_table_of_ours_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    error = refused(tmp_path)
    assert "pyproject.toml" in error.message
    assert "index" in error.hint


def test_tool_itself_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('tool = "lurcher"\n')
    assert load(tmp_path, None, {}) == Settings()


def test_an_unknown_key_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text("[index]\nchunk_char = 500\n")
    error = refused(tmp_path)
    assert error.message == "lurcher.toml: unknown setting 'index.chunk_char'"
    assert "did you mean 'index.chunk_chars'?" in error.hint


def test_an_unknown_key_unlike_any_other_leads_to_the_list(tmp_path: Path) -> None:
    error = refused(tmp_path, flags={"zzzzzz": "1"})
    assert error.message == "flag: unknown setting 'zzzzzz'"
    assert error.hint == "`lurcher config show` lists them all"


def test_a_value_outside_of_any_section_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text("limit = 3\n")
    error = refused(tmp_path)
    assert "'limit' is not a section" in error.message
    assert "search" in error.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search.limit", 1.5), ("search.limit", True), ("search.limit", "ten"), ("search.limit", ""), ("search.limit", [1]),
        ("search.limit", None), ("lexical.k1", "NaN"), ("lexical.k1", float("nan")), ("lexical.k1", "inf"),
        ("classic.definition_symbol", float("inf")), ("lexical.k1", False), ("lexical.k1", 10**400), ("lexical.k1", {}),
        ("index.follow_symlinks", "maybe"), ("index.follow_symlinks", 1), ("index.dir", 3), ("index.dir", "a\0b"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_refused(tmp_path: Path, key: str, value: object) -> None:
    error = refused(tmp_path, flags={key: value})
    assert error.message.startswith(f"flag: '{key}' must be ")


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("search.limit", 0, "allowed: 1 to 1000"),
        ("search.limit", 1001, "allowed: 1 to 1000"),
        ("lexical.b", 1.01, "allowed: 0 to 1"),
        ("lexical.b", -0.01, "allowed: 0 to 1"),
        ("index.refresh_limit", -2, "allowed: -1 or more"),
        ("search.mode", "fast", "allowed: auto, hybrid, lexical, dense, symbol"),
        ("search.ranking", "", "allowed: default, classic"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_the_bounds(tmp_path: Path, key: str, value: object, hint: str) -> None:
    error = refused(tmp_path, flags={key: value})
    assert error.message == f"flag: '{key}' cannot be {value!r}"
    assert error.hint == hint


def test_a_whole_number_serves_as_a_number(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").write_text("[lexical]\nk1 = 2\n")
    value = load(tmp_path, None, {}).lexical.k1
    assert (value, type(value)) == (2.0, float)


@pytest.mark.parametrize(("text", "value"), [("1", True), ("TRUE", True), ("yes", True), ("0", False), ("no", False)])
def test_variables_hold_text(tmp_path: Path, text: str, value: bool) -> None:
    settings = load(
        tmp_path, None, {"LURCHER_INDEX_FOLLOW_SYMLINKS": text, "LURCHER_INDEX_DIR": "/x", "LURCHER_LEXICAL_K1": "2"}
    )
    assert settings.index.follow_symlinks is value
    assert settings.index.dir == "/x"
    assert settings.lexical.k1 == 2.0


def test_an_unknown_variable_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, environ={"LURCHER_INDEX_CHUNKCHARS": "500"})
    assert error.message == "environment: unknown setting 'index.chunkchars'"
    assert "index.chunk_chars" in error.hint


def test_variables_of_others_do_not_matter(tmp_path: Path) -> None:
    assert load(tmp_path, None, {"LURCH": "1", "PATH": "/bin", "lurcher_index_dir": "x"}) == Settings()


def test_a_variable_can_name_the_user_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[search]\nlimit = 7\n")
    settings = load(None, None, {"LURCHER_CONFIG": str(path), **user_file(tmp_path, "[search]\nlimit = 8\n")})
    assert settings.search.limit == 7
    assert origin(settings, "search.limit") == "mine.toml"


def test_a_user_file_that_was_named_must_exist(tmp_path: Path) -> None:
    error = refused(tmp_path, environ={"LURCHER_CONFIG": str(tmp_path / "none.toml")})
    assert "none.toml" in error.message


def test_no_user_file_at_all_can_be_requested(tmp_path: Path) -> None:
    environ = {**user_file(tmp_path, "[search]\nlimit = 8\n"), "LURCHER_CONFIG": os.devnull}
    assert load(tmp_path, None, environ) == Settings()


def test_the_user_file_is_in_the_home_folder_by_default(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "lurcher" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[search]\nlimit = 9\n")
    assert load(None, None, {"HOME": str(tmp_path)}).search.limit == 9
    assert load(None, None, {"HOME": os.devnull}) == Settings()


@pytest.mark.parametrize(
    "data", [b"[search\n", b"a = = 1", b"\xff\xfe", b"[search]\nlimit = 1\nlimit = 2\n", b"x = " + b"[" * 5000]
)
def test_broken_toml_is_refused_and_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "lurcher.toml").write_bytes(data)
    error = refused(tmp_path)
    assert error.message.startswith("lurcher.toml: not valid TOML: ")
    assert error.hint


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").mkdir()
    assert refused(tmp_path).message == "lurcher.toml: cannot be read: Is a directory"


def test_a_folder_called_pyproject_is_none_of_our_business(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert load(tmp_path, None, {}) == Settings()


def test_a_pipe_in_place_of_the_file_does_not_hold_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lurcher.toml")
    assert load(tmp_path, None, {}) == Settings()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_an_endless_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lurcher.toml").symlink_to("/dev/zero")
    assert refused(tmp_path).message == "lurcher.toml: larger than 1 MB"


@given(
    st.sampled_from(sorted(Settings().to_dict())),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
)
def test_a_setting_takes_a_value_that_it_allows_or_says_why_not(key: str, value: object) -> None:
    try:
        settings = config.apply(Settings(), {key: value}, "test")
    except ConfigError as error:
        assert f"'{key}'" in error.message
        return
    taken = settings.to_dict()[key]
    assert type(taken) is type(Settings().to_dict()[key])
    others = {name: item for name, item in settings.to_dict().items() if name != key}
    assert others == {name: item for name, item in Settings().to_dict().items() if name != key}
    # What was taken can be written down and taken again.
    assert config.apply(Settings(), {key: str(taken)}, "test") == settings


def test_every_setting_is_within_its_own_bounds_and_explained() -> None:
    for key, value, _, doc in Settings().rows():
        assert config.apply(Settings(), {key: value}, "test") == Settings()
        assert doc.endswith((".", "`"))


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm"}, True)],
)
def test_colour_follows_the_conventions_of_terminals(environ: dict[str, str], wanted: bool) -> None:
    assert config.wants_colour(environ) is wanted


@pytest.mark.parametrize(("value", "wanted"), [("", True), ("auto", True), ("python", False)])
def test_the_kernel_can_be_done_without(value: str, wanted: bool) -> None:
    environ = {"LURCHER_KERNEL": value}
    assert kernel.wants_kernel(environ) is wanted
    assert config.load(None, environ=environ) == config.Settings()


def test_an_unknown_kernel_is_an_error() -> None:
    with pytest.raises(ConfigError, match="LURCHER_KERNEL") as caught:
        kernel.wants_kernel({"LURCHER_KERNEL": "rust"})
    assert "python" in (caught.value.hint or "")
