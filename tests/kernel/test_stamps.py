"""The kernel tells which files look as they did."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kernel import kernel

pytestmark = kernel.needed
LATER = 1 << 62


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    opened = os.open(tmp_path, os.O_RDONLY)
    yield tmp_path, opened
    os.close(opened)


def row_of(path: Path) -> tuple[Any, ...]:
    status = path.lstat()
    return b"digest", status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, 0, 0


def test_files_that_are_as_they_were_are_left_out(folder: tuple[Path, int]) -> None:
    root, opened = folder
    names = ["a.py", "größe.py", "deep/er/b.py", os.fsdecode(b"\xff.py"), "link"]
    for name in names[:-1]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name.encode("utf-8", "replace").decode())
    (root / "link").symlink_to("a.py")
    rows = {name: row_of(root / name) for name in names}
    unlike = kernel.module().unlike
    assert unlike(opened, rows, LATER) == []
    assert unlike(opened, rows, 0) == names  # whose stamps are younger than that
    assert unlike(opened, {}, LATER) == []
    (root / "a.py").write_text("other")
    (root / "deep/er/b.py").unlink()
    assert unlike(opened, rows, LATER) == ["a.py", "deep/er/b.py"]


def test_every_stamp_counts(folder: tuple[Path, int]) -> None:
    root, opened = folder
    (root / "a").write_text("text")
    row = row_of(root / "a")
    for place in range(1, 5):
        changed = list(row)
        changed[place] += 1
        assert kernel.module().unlike(opened, {"a": tuple(changed)}, LATER) == ["a"]
    os.utime(root / "a", ns=(0, -(10**18)))
    assert kernel.module().unlike(opened, {"a": row_of(root / "a")}, LATER) == []


def test_rows_that_say_nothing_are_left_to_python(folder: tuple[Path, int]) -> None:
    root, opened = folder
    (root / "a").write_text("text")
    good = row_of(root / "a")
    rows: dict[Any, Any] = {
        "a\0b": good, "\udfff\ud800": good, 5: good, "short": good[:4], "none": None, "words": ("a",) * 7,
        "huge": (b"", 1 << 70, 1 << 70, 1 << 70, 1 << 70, 0, 0), "negative": (b"", 4, 0, 0, -1, 0, 0), "a": good,
    }  # fmt: skip
    assert kernel.module().unlike(opened, rows, LATER) == [name for name in rows if name != "a"]
    assert kernel.module().unlike(-1, {"a": good}, LATER) == ["a"]
    for wrong in ((opened, [], LATER), (opened, {}), ("x", {}, LATER), (opened, {}, 1 << 80)):
        with pytest.raises((TypeError, OverflowError)):
            kernel.module().unlike(*wrong)
