"""The kernel sees the changes that the reference sees."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from lurcher.sources import mark_of
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


def test_files_that_are_unchanged_are_not_reported(tmp_path: Path, files: dict[str, Row]) -> None:
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


def test_young_stamps_are_reported(tmp_path: Path, files: dict[str, Row]) -> None:
    newest = max(files.values(), key=lambda item: item[3])[3]
    assert unlike(tmp_path, files, newest + 1) == []
    assert {files[name][3] for name in unlike(tmp_path, files, newest)} == {newest}


def test_paths_that_cannot_be_checked_are_left_to_the_reference(tmp_path: Path, files: dict[str, Row]) -> None:
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
    for first in (-1, 2, (1 << 63) - 1):
        with pytest.raises(TypeError):
            kernel.module().unlike({"a": (1, 2, 3, 4, 5)}, first, 0, 0, False)


@pytest.mark.parametrize("year", [1600, 2400])
def test_times_that_no_number_holds_are_times_like_others(tmp_path: Path, year: int) -> None:
    seconds = (year - 1970) * 31_556_952
    for name in ("a", "b"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, seconds))
    if (tmp_path / "a").stat().st_mtime_ns != seconds * 10**9:
        pytest.skip("the file system has no such times")
    rows = {name: row(tmp_path / name) for name in ("a", "b")}
    last = (1 << 63) - 1  # what has gone around may be anywhere before that
    assert unlike(tmp_path, rows, last) == []
    os.utime(tmp_path / "b", (0, seconds + 1))
    assert unlike(tmp_path, rows, last) == ["b"]


def unlike_rows(root: Path, rows: dict[str, Row], folders: dict[str, object], young: int = NEVER) -> list[int] | None:
    paths, packed = "\0".join(rows).encode(), b"".join(struct.pack("<16sQqqQiI", *row) for row in rows.values())
    opened = os.open(root, os.O_RDONLY)
    try:
        found: list[int] | None = kernel.module().unlike_rows(paths, packed, 56, 16, opened, young, folders)
        return found
    finally:
        os.close(opened)


def test_packed_rows_are_checked_like_others(tmp_path: Path, files: dict[str, Row]) -> None:
    files = dict(sorted(files.items()))
    folders: dict[str, object] = dict.fromkeys(f"folder {i}" for i in range(7))
    assert unlike_rows(tmp_path, files, folders) == []
    assert unlike_rows(tmp_path, {}, {}) == []
    names = list(files)
    (tmp_path / names[4]).unlink()
    (tmp_path / names[1200]).write_text("something else")
    os.utime(tmp_path / names[4999], ns=(1, 1))
    assert unlike_rows(tmp_path, files, folders) == [names.index(name) for name in unlike(tmp_path, files)] == [4, 1200, 4999]
    newest = max(row[3] for row in files.values())
    assert unlike_rows(tmp_path, files, folders, newest) == [names.index(name) for name in unlike(tmp_path, files, newest)]


def test_a_path_outside_of_known_folders_is_not_checked(tmp_path: Path, files: dict[str, Row]) -> None:
    files = dict(sorted(files.items()))
    assert unlike_rows(tmp_path, files, dict.fromkeys(f"folder {i}" for i in range(6))) is None
    assert unlike_rows(tmp_path, {"top": row(tmp_path)}, {}) is None
    assert unlike_rows(tmp_path, {"no": row(tmp_path)}, {"": 0}) == [0]


def begun(root: Path | int, rows: dict[str, Row], folders: dict[str, tuple[int, ...]]) -> object:
    """A look that goes on; the root is a folder, or the number of one that is open."""
    paths, packed = "\0".join(rows).encode(), b"".join(struct.pack("<16sQqqQiI", *row) for row in rows.values())
    names, marks = "\0".join(folders).encode(), b"".join(struct.pack("<QqqQ", *mark) for mark in folders.values())
    opened = root if isinstance(root, int) else os.open(root, os.O_RDONLY)
    try:
        look: object = kernel.module().begin_check(paths, packed, 56, 16, opened, NEVER, names, marks)
        return look
    finally:
        if opened != root:
            os.close(opened)  # it has one of its own


def test_a_background_check_finds_the_same_as_a_direct_one(tmp_path: Path, files: dict[str, Row]) -> None:
    files = dict(sorted(files.items()))
    names, module = list(files), kernel.module()
    (tmp_path / names[4]).unlink()
    os.utime(tmp_path / names[4999], ns=(1, 1))
    folders = {name: row(tmp_path / name)[1:5] for name in ("", *(f"folder {i}" for i in range(7)))}
    look, dropped = begun(tmp_path, files, folders), begun(tmp_path, files, folders)
    del dropped
    assert module.end_check(look) == [4, 4999]
    with pytest.raises(ValueError, match="has ended"):
        module.end_check(look)


def test_a_check_ends_at_the_first_changed_folder(tmp_path: Path, files: dict[str, Row]) -> None:
    module, name = kernel.module(), next(iter(files))
    folder, one = name.rpartition("/")[0], {name: files[name]}
    there = tmp_path / folder
    for change in (lambda: None, lambda: (there / "new").touch(), lambda: there.rename(tmp_path / "b")):
        was = {"": row(tmp_path)[1:5], folder: row(there)[1:5]}
        change()
        changed = not there.exists() or row(there)[1:5] != was[folder]
        assert module.end_check(begun(tmp_path, one, was)) == (None if changed else [])
    there.symlink_to(tmp_path / "b")  # leads to the same file, which is not looked at
    assert module.end_check(begun(tmp_path, one, {"": row(tmp_path)[1:5], folder: row(tmp_path / "b")[1:5]})) is None


def test_a_check_of_invalid_input_returns_none(tmp_path: Path) -> None:
    module, one, top = kernel.module(), {"top": row(tmp_path)}, row(tmp_path)[1:5]
    assert module.end_check(begun(tmp_path, {"folder/top": row(tmp_path)}, {"": top})) is None
    assert module.end_check(begun(tmp_path, one, {})) is None
    assert module.end_check(begun(tmp_path, one, {"": top, "a/b": top})) is None  # whose own folder is not known
    assert module.end_check(begun(tmp_path, {"a/top": row(tmp_path)}, {"a": top})) is None
    assert module.end_check(begun(tmp_path, one, {"": top})) is not None
    with pytest.raises(OSError, match="descriptor"):
        begun(-1, one, {"": top})
    packed = struct.pack("<16sQqqQiI", *row(tmp_path))
    for names, marks in ((b"", b"x" * 31), (b"a", b""), (b"a\0b", b"x" * 32)):
        assert module.end_check(module.begin_check(b"top", packed, 56, 16, 0, 0, names, marks)) is None
    for paths, rows in ((b"top", packed[:-1]), (b"top\0b", packed), (b"top", packed * 2), (b"top", b"")):
        assert module.end_check(module.begin_check(paths, rows, 56, 16, 0, 0, b"", struct.pack("<QqqQ", *top))) is None
    for width, first in ((56, 25), (47, 16), (56, -1), (-56, 0), (0, 0)):
        with pytest.raises(ValueError, match="rows"):
            module.begin_check(b"top", packed, width, first, 0, 0, b"", b"x" * 32)
    with pytest.raises(ValueError, match="Capsule"):
        module.end_check(None)


@pytest.mark.parametrize(
    ("paths", "rows", "width", "first"),
    [
        (b"a", b"", 56, 16), (b"", b"x" * 112, 56, 16), (b"a\0b", b"x" * 56, 56, 16), (b"a", b"x" * 112, 56, 16),
        (b"a", b"x" * 55, 56, 16), (b"a", b"x" * 56, 56, 25), (b"a", b"x" * 56, 56, -1), (b"a", b"x" * 56, 0, 0),
        (b"a", b"x" * 56, -56, 0),
    ],
)  # fmt: skip
def test_packed_rows_that_do_not_fit_are_refused(paths: bytes, rows: bytes, width: int, first: int) -> None:
    with pytest.raises(ValueError, match="rows"):
        kernel.module().unlike_rows(paths, rows, width, first, 0, 0, {"": 0})
