"""A setting of an earlier version is an error that says what to do instead, wherever it is set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lurcher.config import apply, load
from lurcher.config.removed import REMOVED
from lurcher.config.schema import Settings, settings_by_key
from lurcher.errors import ConfigError


def refused(root: Path | None, flags: dict[str, str] | None = None, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, flags, environ or {})
    return caught.value


@pytest.mark.parametrize("file", ["lurcher.toml", "pyproject.toml", "mine.toml"])
def test_a_renamed_setting_in_a_file_names_its_replacement(tmp_path: Path, file: str) -> None:
    head = "tool.lurcher.past" if file == "pyproject.toml" else "past"
    (tmp_path / file).write_text(f'[{head}]\nranking = "classic"\n')
    environ = {"LURCHER_CONFIG": str(tmp_path / file)} if file == "mine.toml" else {}
    problem = refused(tmp_path, environ=environ)
    assert problem.message == f"{file}: there is no setting 'past.ranking' any more"
    assert problem.hint == "it is 'history.ranking' now"


def test_a_removed_setting_in_the_environment_or_a_flag_says_so() -> None:
    problem = refused(None, environ={"LURCHER_DEFAULT_DENSE_CARD": "0.3"})
    assert problem.message == "environment: there is no setting 'default.dense_card' any more"
    assert "constants now" in problem.hint and "docs/reference.md" in problem.hint
    problem = refused(None, {"judge.key": "OPENAI_API_KEY"})
    assert problem.message == "flag: there is no setting 'judge.key' any more"
    assert "LURCHER_JUDGE_KEY" in problem.hint


def test_no_setting_is_both_declared_and_removed() -> None:
    assert not set(REMOVED) & set(settings_by_key())


def test_a_replacement_exists_and_takes_what_the_old_one_took() -> None:
    named = {old: match[1] for old, hint in REMOVED.items() if (match := re.match(r"it is '([a-z_0-9.]+)' now", hint))}
    assert len(named) > 5
    for new in named.values():
        apply(Settings(), {new: settings_by_key()[new].default}, "test")
