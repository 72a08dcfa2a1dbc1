"""A file of the index that is as it was written is believed; any other is checked as it is read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import CorruptIndex
from lurcher.storage import container as containers
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from tests.indexing.conftest import answers, opened, write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere a file has no time of change")


def trusted(engine: Engine) -> list[bool]:
    return [segment.container.trusted for segment in engine.projects[0].view(lambda *_: None).snapshot.segments]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sections of files that were checked."""
    seen: list[str] = []
    verify = Container._verify

    def noted(self: Container, name: str, *arguments: object) -> None:
        if not self.trusted:
            seen.append(f"{self.name.rpartition('.')[2]}: {name}")
        verify(self, name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Container, "_verify", noted)
    return seen


def test_an_index_that_was_written_here_is_believed(root: Path, checked: list[str]) -> None:
    first = answers(opened(root))
    assert trusted(opened(root)) == [True]
    checked.clear()
    assert answers(opened(root)) == first
    assert not [name for name in checked if name.startswith("segment")]
    assert "manifest: rows" in checked


def test_what_is_written_later_is_believed_too_and_what_was_before_still(root: Path) -> None:
    opened(root).index()
    write(root, {"src/new.py": "def new():\n    pass\n"})
    opened(root).search("new")
    assert trusted(opened(root)) == [True, True]
    opened(root).index()
    assert all(trusted(opened(root)))


def test_a_file_that_was_touched_is_checked_once(root: Path, checked: list[str]) -> None:
    first = answers(opened(root))
    for segment in (root / ".lurcher").glob("*.segment"):
        segment.chmod(0o600)
    checked.clear()
    assert trusted(opened(root)) == [False]
    assert [name for name in checked if name.startswith("segment")]
    assert trusted(opened(root)) == [True]
    assert answers(opened(root)) == first


def test_a_touched_file_whose_bytes_are_wrong_is_not_believed_again(root: Path) -> None:
    opened(root).index()
    (segment,) = (root / ".lurcher").glob("*.segment")
    status = segment.stat()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    os.utime(segment, ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(2):
        engine = opened(root)
        engine._workspace.views(lambda *told: None)
        assert not engine.projects[0].is_trusted()


def test_a_copy_is_checked(root: Path, tmp_path: Path) -> None:
    first = answers(opened(root, tmp_path / "one"))
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    assert trusted(opened(root, tmp_path / "other")) == [False]
    assert answers(opened(root, tmp_path / "other")) == first


def test_a_file_that_was_written_to_is_found_out(root: Path) -> None:
    opened(root).index()
    (segment,) = (root / ".lurcher").glob("*.segment")
    status = segment.stat()
    data = bytearray(segment.read_bytes())
    data[64] ^= 1  # of what every question reads
    segment.write_bytes(data)
    os.utime(segment, ns=(status.st_atime_ns, status.st_mtime_ns))
    engine = opened(root)
    assert trusted(engine) == [False]
    assert any("rebuilt" in note.reason for note in engine.search("redirects").degraded)


def test_everything_can_be_checked_although_it_is_believed() -> None:
    data = bytearray(b"".join(bytes(part) for part in encode_container({"a": ("u1", b"x" * 70_000)}, {})))
    data[100] ^= 1
    container = Container(bytes(data), "one")
    container.trusted = True
    assert len(container.section("a")) == 70_000
    with pytest.raises(CorruptIndex, match="checksum"):
        container.verify()
    with pytest.raises(CorruptIndex, match="checksum"):
        container.section("a")


@pytest.mark.parametrize("stamp", [1, [1, 2, 3], [1, 2, 3, "4"], [1, 2, 3, True], {}])
def test_an_invalid_stamp_is_damage(root: Path, monkeypatch: pytest.MonkeyPatch, stamp: object) -> None:
    opened(root).index()
    name = next((root / ".lurcher").glob("*.segment")).name
    read = containers.loads

    def told(data: bytes) -> object:
        found = read(data)
        if isinstance(found, dict) and "stamps" in found.get("meta", {}):
            found["meta"]["stamps"] = {name: stamp}
        return found

    monkeypatch.setattr(containers, "loads", told)
    project = opened(root).projects[0]
    with pytest.raises(CorruptIndex, match="stamp"):
        manifests.read_manifest(root / ".lurcher", project.fingerprint)


def test_the_manifest_says_what_it_believes(root: Path) -> None:
    opened(root).index()
    (segment,) = (root / ".lurcher").glob("*.segment")
    status = segment.stat()
    meta = Container.open(root / ".lurcher" / manifests.NAME).meta
    assert meta["stamps"] == {segment.name: [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]}
