"""The files of an index in a store: whoever is killed while writing them, readers see one whole generation or the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import StoreError
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.stores import files
from lurcher.stores.files import BLOCK, LAYOUT, BlockReader, Layout, ReadLimit, block_name, decode_layout, encode
from tests.stores.memory import MemoryStore

WRITES = ("put", "put_pages", "adopt", "retire", "publish", "sweep")


class Killed(BaseException):
    """Stands for the death of a process: nothing may catch it."""


class Mortal:
    """A store whose writer dies before one of its calls."""

    def __init__(self, store: MemoryStore, life: int) -> None:
        self._store, self.life = store, life

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name not in WRITES:
            return call

        def counted(*arguments: Any) -> Any:
            self.life -= 1
            if self.life < 0:
                raise Killed
            return call(*arguments)

        return counted


def change(tree: Path, number: int) -> None:
    (tree / "src/state.py").write_text(f"def state_{number}():\n    return {number}\n")


def seen(engine: Engine) -> list[int]:
    """The states that a reader finds, by each of the ways to look for them."""
    by_text = [number for number in range(40) if engine.exists(f"state_{number}", exact=True).exists]
    by_file = engine.file("src/state.py").text
    assert [number for number in range(40) if f"state_{number}(" in by_file] == by_text
    assert engine.search(f"state_{by_text[0]}", sources=["code"]).hits[0].path == "src/state.py"
    assert engine.symbol(f"state_{by_text[0]}").definitions
    return by_text


def test_a_writer_killed_at_any_step_leaves_one_generation_or_the_next(
    tree: Path, tmp_path: Path, use: Callable[[Any], None]
) -> None:
    store = MemoryStore()
    (tmp_path / "empty").mkdir()

    def write(life: int) -> bool:
        """Whether the writer survived."""
        use(Mortal(store, life))
        try:
            with Engine.open(tree, root=tree, index_dir=tmp_path / "index", store="memory://x", project="shop") as engine:
                engine.index()
            return True
        except Killed:
            return False

    change(tree, 0)
    assert write(1_000_000)
    use(store)
    with Engine.open(tmp_path / "empty", store="memory://x", project="shop") as reader:
        published, step, deaths = 0, 0, 0
        for number in range(1, 40):
            change(tree, number)
            done = write(step)
            now = seen(reader)
            assert now in ([published], [number])
            if not done:
                deaths += 1
                if step % 2:  # sometimes the next writer finds another state of the tree, sometimes the same
                    assert write(1_000_000) and seen(reader) == [number]
                    now = [number]
            published, step = now[0], 0 if done and number > 20 else step + 1
        assert deaths > 8
        assert write(1_000_000)
        newest = decode_layout(store.pages("shop", 1_000, [LAYOUT])[LAYOUT])
        assert newest is not None
        pages = store._shelf("shop").pages
        blocks = {name for name, versions in pages.items() if name.startswith("f.") and any(versions.values())}
        assert blocks == {block_name(name, i) for name, size in newest.files.items() for i in range(-(-size // BLOCK))}


def stored(sections: dict[str, tuple[str, bytes]], limit: int = 1 << 30) -> tuple[MemoryStore, BlockReader, str]:
    """A container with these sections in a store, and a reader."""
    data = b"".join(encode_container(sections, {"some": "meta"}))
    name = f"{Container(data, 'x').digest()}.segment"
    store = MemoryStore()
    pages = {block_name(name, i): encode(data[i * BLOCK : (i + 1) * BLOCK]) for i in range(-(-len(data) // BLOCK))}
    store.put_pages("p", pages, 1)
    reader = BlockReader(store, "p", limit)
    reader.open(1, Layout({}, {name: len(data)}))
    return store, reader, name


def counted(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    pages = store.pages

    def noted(project: str, generation: int, names: list[str]) -> dict[str, bytes]:
        asked.extend(names)
        return pages(project, generation, names)

    monkeypatch.setattr(store, "pages", noted)
    return asked


def test_only_the_blocks_that_are_read_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    table, text = bytes(range(256)) * 4096, b"the quick brown fox " * 200_000
    store, reader, name = stored({"table": ("u1", table), "more": ("u1", table), "text": ("lz4", text)})
    asked = counted(store, monkeypatch)
    container = reader.container(name)
    assert len(asked) <= 3
    assert bytes(container.section("table", 300_000, 300_010)) == table[300_000:300_010]
    assert len(asked) <= 5
    assert bytes(container.section("text", 1_000_000, 1_000_100)) == text[1_000_000:1_000_100]
    before = len(asked)
    assert bytes(container.section("text", 1_000_000, 1_000_100)) == text[1_000_000:1_000_100] and len(asked) == before
    assert bytes(container.section("text")) == text and bytes(container.section("table")) == table
    assert len(asked) == len(set(asked)), "a block was fetched twice"
    container.verify()


@pytest.mark.parametrize(("damage", "message"), [
    (b"", "written while it was being read"), (encode(b"\1" * BLOCK), "fails its checksum"), (encode(b"short"), "damaged"),
    (b"no envelope", "damaged"),
])  # fmt: skip
def test_a_block_that_is_gone_or_wrong_is_an_error(damage: bytes, message: str) -> None:
    store, reader, name = stored({"table": ("u1", bytes(range(256)) * 4096)})
    container = reader.container(name)
    store.put_pages("p", {block_name(name, 5): damage}, 1)
    assert len(container.section("table", 0, 10)) == 10
    for _ in range(2):
        with pytest.raises(StoreError, match=message):
            container.section("table")


def test_a_file_under_another_name_is_not_used() -> None:
    store, reader, name = stored({"table": ("u1", b"x" * 100)})
    other = "0" * 24 + ".segment"
    store.put_pages("p", {block_name(other, 0): store.pages("p", 1, [block_name(name, 0)])[block_name(name, 0)]}, 1)
    reader.open(1, Layout({}, {other: reader._layout.files[name]}))
    with pytest.raises(StoreError, match="belongs to another name"):
        reader.container(other)


@pytest.mark.parametrize("damage", [
    b"junk", encode(b"{}"), encode(b"[1, 2]"), encode(b'{"format": 1, "parts": {"code": ["x"]}, "files": {}}'),
    encode(b'{"format": 1, "parts": {}, "files": {"../../etc/passwd": 10}}'),
    encode(b'{"format": 1, "parts": {"code": ["missing", ""]}, "files": {}}'),
    encode(b'{"format": 1, "parts": {}, "files": {"000000000000000000000000.segment": -4}}'),
])  # fmt: skip
def test_a_layout_that_cannot_be_is_refused(damage: bytes) -> None:
    with pytest.raises(StoreError, match="damaged"):
        decode_layout(damage)


def test_a_layout_of_a_later_version_is_none() -> None:
    assert decode_layout(encode(b'{"format": 99}')) is None and decode_layout(b"") is None and decode_layout(None) is None


def test_a_question_reads_no_more_than_it_may() -> None:
    table = bytes(range(256)) * 4096
    _, reader, name = stored({"table": ("u1", table)}, limit=4 * BLOCK)
    container = reader.container(name)
    assert len(container.section("table", 0, BLOCK)) == BLOCK
    with pytest.raises(ReadLimit, match="would read more than"):
        container.section("table")
    reader.begin()
    assert len(container.section("table", 3 * BLOCK, 5 * BLOCK)) == 2 * BLOCK


def test_what_is_true_on_this_machine_alone_is_not_sent(tree: Path, tmp_path: Path, use: Callable[[Any], None]) -> None:
    store = MemoryStore()
    use(store)
    with Engine.open(tree, root=tree, index_dir=tmp_path / "index", store="memory://x", project="shop") as engine:
        engine.index()
    with Engine.open(tmp_path, store="memory://x", project="shop") as reader:
        assert reader.exists("Client").exists
        project = reader._store._workspace.projects[0]  # type: ignore[union-attr]
        manifest = project.view(lambda *_: None).manifest
        assert all((row.ctime_ns, row.inode) == (0, 0) for row in manifest.rows.values())
        assert manifest.signature is None and not manifest.stamps
        manifest_file = project.layout.parts[files.CODE].manifest
        assert str(tree).encode() not in bytes(project.reader.container(manifest_file).content)
