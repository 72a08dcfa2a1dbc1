"""The tests run in a home folder of their own, and what they write to the real one is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lurcher.config import user_files
from tests import own_home

STRAY = """
import os, pathlib, subprocess, sys
def test_a_stray_file():
    {}
"""


def test_all_folders_of_the_user_are_the_tests_own() -> None:
    own = own_home.folder()
    folders = [user_files.state_folder(), user_files.cache_folder(), user_files.data_folder()]
    places = [*folders, Path.home(), Path(tempfile.gettempdir())]
    assert all(place.is_relative_to(own) for place in places)
    assert own_home.real_home() not in (Path.home(), own)
    code = "import os, tempfile; print(os.path.expanduser('~'), tempfile.gettempdir())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert [Path(place).is_relative_to(own) for place in said.split()] == [True, True]


def session(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A test session of somebody whose home is `folder`."""
    tests = folder.parent / "session"
    tests.mkdir()
    (tests / "conftest.py").write_text("from tests.conftest import pytest_addoption, pytest_configure, pytest_sessionfinish\n")
    (tests / "test_stray.py").write_text(STRAY.format(body))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TESTS_", "XDG_", "PYTEST"))}
    environment |= {"HOME": str(folder), "PYTHONPATH": str(own_home.REPOSITORY)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tests)], cwd=tests, env=environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_a_file_in_the_real_home_fails_the_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    stray = home / "stray.txt"
    done = session(home, f"pathlib.Path({str(stray)!r}).write_text('x')", "-n", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"real home folder: {stray}" in done.stderr


def test_a_place_of_lurchers_that_a_child_makes_there_fails_it_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".local/state").mkdir(parents=True)
    done = session(home, f"subprocess.run(['mkdir', {str(home / '.local/state/lurcher')!r}], check=True)")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "real home folder" in done.stderr


def test_a_session_that_writes_elsewhere_passes_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, scratch = tmp_path / "home", tmp_path / "t"
    home.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))  # one of its own: other tests run beside this one
    done = session(home, "(pathlib.Path.home() / 'mine.txt').write_text('x')", "-n", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(home.iterdir()) == []
    assert list(scratch.iterdir()) == []
