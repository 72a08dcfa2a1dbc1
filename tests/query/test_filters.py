from __future__ import annotations

import time

import pytest

from lurcher.errors import FilterError
from lurcher.query.validate import check_globs, matches_glob, resolve_languages


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "src/a.py", True),
        ("tests", "pkg/tests/test_a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/deep/er/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("**/a.py", "a.py", True),
        ("src", "src/deep/a.py", True),
        ("/src/deep/", "src/deep/a.py", True),
        ("deep/a.py", "src/deep/a.py", False),
        ("./src/a.py", "src/a.py", True),
        ("*.rs", "src/a.py", False),
    ],
)
def test_globs_read_as_in_gitignore(glob: str, path: str, matches: bool) -> None:
    assert matches_glob(glob, path) is matches


def test_many_stars_do_not_hang() -> None:
    started = time.process_time()
    matches_glob("/".join(["**"] * 8 + ["*a*a*a*a*a*a*b"]), "/".join(["a" * 30] * 30))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("glob", ["", "a\0b", "x" * 1001, "/".join(["**"] * 9)])
def test_unusable_globs_are_refused(glob: str) -> None:
    with pytest.raises(FilterError):
        check_globs((glob,))


def test_languages_by_name_alias_or_extension() -> None:
    assert resolve_languages(("py", "Python", "ts")) == ("python", "typescript")
    with pytest.raises(FilterError) as caught:
        resolve_languages(("pythn",))
    assert "python" in caught.value.hint
