"""What a path says about its file."""

from __future__ import annotations

import pytest

from lurcher.terms import folders_of, name_of, name_parts


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/http/client.py", "client"),
        ("src/http/__init__.py", "http"),
        ("web/router/index.d.ts", "router"),
        ("crates/parser/src/lib.rs", "src"),
        ("main.go", "main"),
        ("a/user.test.ts", "user"),
        (".gitignore", ".gitignore"),
        ("Makefile", "Makefile"),
    ],
)
def test_a_file_goes_by_its_stem_or_its_folder(path: str, name: str) -> None:
    assert name_of(path) == name


def test_a_names_parts_leave_out_the_compound() -> None:
    assert name_parts("getUserById") == ["get", "user", "by", "id"]
    assert name_parts("client") == ["client"]
    assert name_parts("") == []


def test_the_last_three_folders_count() -> None:
    assert folders_of("a/b/c/d/e.py") == ["b", "c", "d"]
    assert folders_of("e.py") == []
