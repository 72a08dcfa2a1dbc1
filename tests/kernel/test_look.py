"""The kernel sees the changes that the reference sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lurcher.sources.standing import mark_of
from tests.kernel import kernel

pytestmark = [kernel.needed, pytest.mark.skipif(os.name != "posix", reason="the look of POSIX systems")]
NEVER = 1 << 62
Row = tuple[bytes, int, int, int, int, int, int]


def row(path: Path) -> Row:
    return (b"", *mark_of(str(path), follow=False), 0, 0)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Row]:
    names = [f"folder {i % 7}/größe {i}.py" for i in range(5000)]  # enough for several threads
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return {name: row(tmp_path / name) for name in names}


def unlike(root: Path, rows: dict[str, Row], young: int = NEVER) -> list[str]:
    opened = os.open(root, os.O_RDONLY)
    try:
        found: list[str] = kernel.module().unlike(rows, 1, opened, young, False)
        return found
    finally:
        os.close(opened)


def test_files_that_are_as_they_were_are_not_told(tmp_path: Path, files: dict[str, Row]) -> None:
    assert unlike(tmp_path, files) == []
    assert unlike(tmp_path, {}) == []


def test_every_change_shows_in_the_order_of_the_rows(tmp_path: Path, files: dict[str, Row]) -> None:
    names = list(files)
    (tmp_path / names[4]).unlink()
    (tmp_path / names[1200]).write_text("something else")
    os.utime(tmp_path / names[2500], ns=(1, 1))
    other = tmp_path / "other"
    other.write_text(names[4900])
    os.replace(other, tmp_path / names[4900])
    link = tmp_path / names[4999]
    link.unlink()
    link.symlink_to(tmp_path / names[0])
    assert unlike(tmp_path, files) == [names[4], names[1200], names[2500], names[4900], names[4999]]


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_each_number_counts(tmp_path: Path, files: dict[str, Row], place: int) -> None:
    name = next(iter(files))
    numbers = list(files[name])
    numbers[place] += 1  # type: ignore[operator]
    assert unlike(tmp_path, {**files, name: tuple(numbers)}) == [name]  # type: ignore[dict-item]


def test_young_stamps_are_told(tmp_path: Path, files: dict[str, Row]) -> None:
    newest = max(files.values(), key=lambda item: item[3])[3]
    assert unlike(tmp_path, files, newest + 1) == []
    assert {files[name][3] for name in unlike(tmp_path, files, newest)} == {newest}


def test_names_that_cannot_be_looked_up_are_left_to_the_reference(tmp_path: Path, files: dict[str, Row]) -> None:
    strange = {name: next(iter(files.values())) for name in ("\udcff", "a\0b", "no/such")}
    assert unlike(tmp_path, {**files, **strange}) == list(strange)


def test_folders_are_compared_without_their_size(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    marks = {name: mark_of(str(tmp_path / name), follow=False) for name in ("", "a", "a/b")}
    opened = os.open(tmp_path, os.O_RDONLY)
    try:
        look = kernel.module().unlike
        assert look({name: (0, *mark[1:]) for name, mark in marks.items()}, 0, opened, 0, True) == []
        (tmp_path / "a/b/new").write_text("")
        assert look(marks, 0, opened, 0, True) == ["a/b"]
        assert look({"file": mark_of(str(tmp_path / "file"), follow=False)}, 0, opened, 0, True) == ["file"]
    finally:
        os.close(opened)


def test_rows_that_are_none_are_refused(tmp_path: Path) -> None:
    for rows in ({"a": (1, 2)}, {"a": (1, "2", 3, 4, 5)}, {"a": [1, 2, 3, 4, 5]}, {1: (1, 2, 3, 4, 5)}):
        with pytest.raises(TypeError):
            kernel.module().unlike(rows, 1, 0, 0, False)
    with pytest.raises(TypeError):
        kernel.module().unlike([("a", (1, 2, 3, 4, 5))], 1, 0, 0, False)
    with pytest.raises(TypeError):
        kernel.module().unlike({"a": (1, 2, 3, 4, 5)}, -1, 0, 0, False)
