"""What a SCIP index says, kept beside the index: positions, staleness, damage, crashes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lurcher.engine import Engine, diagnose
from lurcher.errors import PathError, UsageError
from lurcher.indexing.scip_edges import IMPLEMENTATION, INVERSE, REFERENCE, ScipEdges, open_edges
from lurcher.sources import scip
from lurcher.sources.scip import Document, Index, Occurrence, Relationship, Symbol
from lurcher.storage import disk
from lurcher.storage.snapshot import Snapshot
from lurcher.types import silent
from tests.npm import modules_with

FILES = {
    "shop/cart.py": (
        "class Cart:\n    def add(self, item):\n        return item\n\n\nclass Gift(Cart):\n    def add(self, item): ...\n"
    ),
    "shop/tills.py": "from shop.cart import Cart\n\n# ü 🛒 in front of names\ntotal = '🛒ü'; cart = Cart()\ncart.add(1)\n",
}
CART, ADD, GIFT_ADD = (
    scip.make_symbol(("scip-test", "pip", "shop", "1"), [("shop.cart", "/"), *names])
    for names in ([("Cart", "#")], [("Cart", "#"), ("add", "().")], [("Gift", "#"), ("add", "().")])
)


def place(path: str, text: str, nth: int = 0, encoding: int = scip.UTF16) -> tuple[int, int, int, int]:
    """The range of the nth occurrence of a text in a file."""
    whole, start = FILES[path], -1
    for _ in range(nth + 1):
        start = whole.index(text, start + 1)
    line = whole.count("\n", 0, start)
    before = whole[whole.rfind("\n", 0, start) + 1 : start]
    codec, width = {scip.UTF8: ("utf-8", 1), scip.UTF16: ("utf-16-le", 2), scip.UTF32: ("utf-32-le", 4)}[encoding]
    column = len(before.encode(codec)) // width
    return line, column, line, column + len(text)


def documents(encoding: int = scip.UTF16, tills: str = "shop/tills.py") -> list[Document]:
    def at(path: str, text: str, nth: int = 0) -> tuple[int, int, int, int]:
        return place(path, text, nth, encoding)

    cart_py, tills_py = FILES
    defined = (
        Occurrence((0, 0, 0, 0), "scip-test pip shop 1 `shop.cart`/__init__:", scip.DEFINITION),
        Occurrence(at(cart_py, "Cart"), CART, scip.DEFINITION), Occurrence(at(cart_py, "Cart", 1), CART),
        Occurrence(at(cart_py, "add"), ADD, scip.DEFINITION), Occurrence(at(cart_py, "add", 1), GIFT_ADD, scip.DEFINITION),
        Occurrence(at(cart_py, "item"), "local 0", scip.DEFINITION), Occurrence(at(cart_py, "item", 1), "local 0", scip.READ),
    )  # fmt: skip
    used = (
        Occurrence(at(tills_py, "Cart"), CART, scip.IMPORT), Occurrence(at(tills_py, "Cart", 1), CART),
        Occurrence((*at(tills_py, "cart = ")[:3], at(tills_py, "cart = ")[1] + 4), "local 0", scip.DEFINITION),
        Occurrence(at(tills_py, "add"), ADD),
    )  # fmt: skip
    overrides = Symbol(GIFT_ADD, relationships=(Relationship(ADD, is_reference=True, is_implementation=True),))
    return [
        Document(cart_py, "python", defined, (overrides,), encoding=encoding if encoding != scip.UTF16 else 0),
        Document(tills, "python", used, encoding=encoding),
    ]


def write_scip(path: Path, documents: list[Document], made_in: str = "file:///somewhere/else", later: int = 5) -> Path:
    path.write_bytes(b"".join(scip.encode_index(Index("scip-test", "1", made_in, documents))))
    newest = max(file.stat().st_mtime_ns for file in path.parent.rglob("*.py")) + later * 10**9
    os.utime(path, ns=(newest, newest))
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def engine(tree: Path) -> Iterator[Engine]:
    with Engine.open(tree) as opened:
        yield opened


def opened(engine: Engine) -> tuple[ScipEdges, Snapshot]:
    edges, note = open_edges(engine.projects[0])
    assert note is None
    assert edges is not None
    return edges, engine.projects[0].view(silent).snapshot


def named(edges: ScipEdges, symbol: str) -> list[int]:
    return [number for number in range(edges.symbols) if edges.symbol(number) == symbol]


@pytest.mark.parametrize("encoding", [scip.UTF8, scip.UTF16, scip.UTF32])
def test_places_are_bytes_whatever_the_encoding(tree: Path, engine: Engine, encoding: int) -> None:
    status = engine.index(scip=[write_scip(tree.parent / "index.scip", documents(encoding))])
    assert "degraded" not in status
    edges, snapshot = opened(engine)
    for symbol, text, count in ((CART, b"Cart", 4), (ADD, b"add", 2), (GIFT_ADD, b"add", 1)):
        places = edges.places(named(edges, symbol))
        assert [snapshot.file_text(snapshot.live_paths[at.path])[at.start : at.end] for at in places] == [text] * count
        assert [at.is_definition for at in places] == [True] + [False] * (count - 1)
        assert all(edges.symbols_at(at.path, byte) == [at.symbol] for at in places for byte in (at.start, at.end - 1))
    assert edges.symbols_at("shop/cart.py", FILES["shop/cart.py"].index("return")) == []
    assert edges.symbols_at("shop/none.py", 0) == []


def test_symbols_by_name_and_how_they_are_related(tree: Path, engine: Engine) -> None:
    engine.index(scip=[write_scip(tree / "index.scip", documents())])
    edges, _ = opened(engine)
    assert [edges.symbol(number) for number in edges.symbols_named("add")] == sorted((ADD, GIFT_ADD))
    assert edges.symbols_named("ad") == edges.symbols_named("zzz") == []
    assert edges.related(named(edges, GIFT_ADD)) == [(named(edges, ADD)[0], REFERENCE | IMPLEMENTATION)]
    assert edges.related(named(edges, ADD)) == [(named(edges, GIFT_ADD)[0], REFERENCE | IMPLEMENTATION | INVERSE)]
    # `local 0` of one document has nothing to do with that of another, and is named after its text.
    item, cart = edges.symbols_named("item"), edges.symbols_named("cart")
    assert [{at.path for at in edges.places(numbers)} for numbers in (item, cart)] == [{"shop/cart.py"}, {"shop/tills.py"}]


def test_a_changed_file_is_not_covered_and_status_says_so(tree: Path, engine: Engine) -> None:
    engine.index(scip=[write_scip(tree / "index.scip", documents())])
    assert engine.status()["scip"] == {"tools": ["scip-test 1"], "left_out": {}, "files": 2, "changed": 0}
    (tree / "shop/tills.py").write_text("pass\n")
    edges, snapshot = opened(engine)
    assert [edges.covers(snapshot, path) for path in FILES] == [True, False]
    assert engine.status()["scip"]["changed"] == 1
    (tree / "shop/tills.py").write_text(FILES["shop/tills.py"])
    edges, snapshot = opened(engine)
    assert [edges.covers(snapshot, path) for path in FILES] == [True, True]
    (tree / "shop/tills.py").unlink()
    assert not edges.covers(opened(engine)[1], "shop/tills.py")
    assert not edges.covers(snapshot, "shop/unknown.py")


def test_what_describes_another_text_is_left_out(tree: Path, engine: Engine) -> None:
    """An index of an earlier version of the file: its definitions are elsewhere now, or its lines are shorter."""
    index = write_scip(tree / "index.scip", documents())
    cart_py = tree / "shop/cart.py"
    cart_py.write_text("# one line more\n" + FILES["shop/cart.py"])
    os.utime(cart_py, ns=(0, 0))  # older than the index, as after `git checkout` of another branch
    status = engine.index(scip=[index])
    assert status["scip"]["left_out"] == {"of another text": 1}
    assert status["degraded"][0]["hint"] == "make the SCIP index anew"
    assert "1 of another text" in status["degraded"][0]["reason"]
    cart_py.write_text("pass")
    os.utime(cart_py, ns=(0, 0))
    assert engine.index(scip=[index])["scip"]["left_out"] == {"of another text": 1}


def test_a_file_that_was_changed_after_the_index_was_made_is_left_out(tree: Path, engine: Engine) -> None:
    status = engine.index(scip=[write_scip(tree / "index.scip", documents(), later=-5)])
    assert status["scip"] == {"tools": ["scip-test 1"], "left_out": {"changed since": 2}, "files": 0, "changed": 0}


def test_a_text_in_the_index_decides_by_itself(tree: Path, engine: Engine) -> None:
    whole = [replace(item, text=FILES[item.path]) for item in documents()]
    assert engine.index(scip=[write_scip(tree / "index.scip", whole, later=-5)])["scip"]["files"] == 2
    other = [replace(item, text=FILES[item.path] + " ") for item in documents()]
    assert engine.index(scip=[write_scip(tree / "index.scip", other)])["scip"]["left_out"] == {"of another text": 2}


@pytest.mark.parametrize("path", ["../a.py", "/etc/passwd", "shop/../../a.py", "shop/no.py", "", "a\0b", ".lurcher/manifest"])
def test_documents_outside_of_the_index_are_left_out(tree: Path, engine: Engine, path: str) -> None:
    status = engine.index(scip=[write_scip(tree / "index.scip", [Document(path, occurrences=documents()[0].occurrences)])])
    assert status["scip"]["left_out"] == {"not indexed": 1}
    assert status["degraded"][0]["hint"] == ""


def test_an_index_of_a_folder_inside_or_around_the_root(tree: Path, engine: Engine) -> None:
    inside = [Document(item.path.removeprefix("shop/"), "", item.occurrences) for item in documents()]
    around = [Document(f"tree/{item.path}", "", item.occurrences) for item in documents()]
    for made, folder in ((inside, tree / "shop"), (around, tree.parent)):
        engine.index(scip=[write_scip(tree / "index.scip", made, folder.as_uri())])
        edges, snapshot = opened(engine)
        assert [edges.covers(snapshot, path) for path in FILES] == [True, True]


def test_several_indexes_are_one_and_replace_what_was_there(tree: Path, engine: Engine) -> None:
    one, two = ([document] for document in documents())
    paths = [write_scip(tree / "one.scip", one), write_scip(tree / "two.scip", two)]
    assert engine.index(scip=paths)["scip"]["files"] == 2
    before = (tree / ".lurcher/scip").read_bytes()
    engine.index(scip=paths)
    assert (tree / ".lurcher/scip").read_bytes() == before
    assert engine.index(scip=paths[1:])["scip"]["files"] == 1
    assert engine.index(rebuild=True)["scip"]["files"] == 1
    assert engine.clear()
    assert not (tree / ".lurcher/scip").exists()
    assert "scip" not in engine.index()


def test_a_bad_index_leaves_the_old_edges(tree: Path, engine: Engine) -> None:
    engine.index(scip=[write_scip(tree / "index.scip", documents())])
    (tree / "bad.scip").write_bytes(b"\x0a\x02\x08")
    with pytest.raises(PathError, match="not a SCIP index"):
        engine.index(scip=[tree / "bad.scip"])
    assert engine.status()["scip"]["files"] == 2


def test_several_roots_need_to_be_told_apart(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.py").write_text("a = 1\n")
    index = write_scip(tree / "index.scip", documents())
    with Engine.open([tree, tmp_path / "other"]) as engine, pytest.raises(UsageError, match="about one root"):
        engine.index(scip=[index])


def test_damaged_edges_are_a_note_and_found_by_doctor(tree: Path, engine: Engine) -> None:
    engine.index(scip=[write_scip(tree / "index.scip", documents())])
    path = tree / ".lurcher/scip"
    whole = path.read_bytes()
    assert {finding.state for finding in diagnose([tree]) if finding.check == "scip"} == {"ok"}
    for damage in (whole[:-1], b"", whole.replace(b'"format":1', b'"format":2')):
        path.write_bytes(damage)
        edges, note = open_edges(engine.projects[0])
        assert edges is None
        assert note is not None
        assert "index --scip" in note.hint
        assert "problem" in engine.status()["scip"]
        assert [finding.state for finding in diagnose([tree]) if finding.check == "scip"] == ["problem"]
    changed = bytearray(whole)
    changed[20] ^= 1  # in the first table: noticed when it is read
    path.write_bytes(bytes(changed))
    assert [finding.state for finding in diagnose([tree]) if finding.check == "scip"] == ["problem"]


def test_edges_that_came_with_a_repository_are_not_believed(tree: Path, tmp_path: Path, engine: Engine) -> None:
    engine.index(scip=[write_scip(tree / "index.scip", documents())])
    edges = (tree / ".lurcher/scip").read_bytes()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.py").write_text("a = 1\n")
    with Engine.open(tmp_path / "copy") as other:
        other.index()
        (tmp_path / "copy/.lurcher/scip").write_bytes(edges)
        found, note = open_edges(other.projects[0])
        assert found is None
        assert note is not None
        assert "not made in this folder" in note.reason


def test_a_crash_at_any_step_leaves_the_old_edges_or_the_new(tree: Path, engine: Engine) -> None:
    old, new = write_scip(tree / "old.scip", documents()[:1]), write_scip(tree / "new.scip", documents())
    engine.index(scip=[old])
    contents = [(tree / ".lurcher/scip").read_bytes()]
    steps: list[str] = []
    disk.observe_steps(lambda name, path: steps.append(name) if "scip" in path.name else None)
    try:
        engine.index(scip=[new])
    finally:
        disk.observe_steps(None)
    contents.append((tree / ".lurcher/scip").read_bytes())
    assert {"create", "write", "flush", "rename"} <= set(steps)
    seen = set()
    for stop in range(len(steps)):
        engine.index(scip=[old])
        left = stop

        def crash(name: str, path: Path) -> None:
            nonlocal left
            if "scip" in path.name:
                if left == 0:
                    raise KeyboardInterrupt
                left -= 1

        disk.observe_steps(crash)
        try:
            with pytest.raises(KeyboardInterrupt):
                engine.index(scip=[new])
        finally:
            disk.observe_steps(None)
        seen.add(contents.index((tree / ".lurcher/scip").read_bytes()))
    assert seen == {0}  # the rename is the last step of the file itself


def test_an_index_folder_that_cannot_be_written_is_told(tree: Path, engine: Engine) -> None:
    index = write_scip(tree / "index.scip", documents())

    def full(name: str, path: Path) -> None:
        if name == "write" and "scip" in path.name:
            raise OSError(28, "No space left on device")

    engine.index()
    disk.observe_steps(full)
    try:
        status = engine.index(scip=[index])
    finally:
        disk.observe_steps(None)
    assert "was not kept: No space left" in status["degraded"][-1]["reason"]
    assert "scip" not in status


# -- real indexers ------------------------------------------------------------------------------------------------------

PROGRAM = {
    "package.json": '{"name": "shop", "version": "1.0.0"}\n',
    "tsconfig.json": '{"compilerOptions": {"noLib": true}, "files": ["src/cart.ts", "src/till.ts"]}\n',
    "src/cart.ts": "export class Cart {\n    add(item: string): string { return item }\n}\n",
    "src/till.ts": 'import { Cart } from "./cart"\n\nconst label = "ü🛒"; const cart = new Cart()\ncart.add(label)\n',
    "shop/__init__.py": "",
    "shop/cart.py": "class Cart:\n    def add(self, item: str) -> str:\n        return item\n",
    "shop/till.py": 'from shop.cart import Cart\n\nlabel = "ü🛒"; cart = Cart()\ncart.add(label)\n',
}


@pytest.mark.parametrize(
    ("package", "program", "options", "files"),
    [
        ("@sourcegraph/scip-typescript", "scip-typescript", ("--no-progress-bar",), ("src/cart.ts", "src/till.ts")),
        (
            "@sourcegraph/scip-python", "scip-python",
            ("--project-name", "shop", "--project-version", "1", "--environment", "none.json"),
            ("shop/cart.py", "shop/till.py"),
        ),
    ],
)  # fmt: skip
def test_the_index_of_a_real_indexer(
    tmp_path: Path, package: str, program: str, options: tuple[str, ...], files: tuple[str, str]
) -> None:
    modules = modules_with(package, f".bin/{program}")
    for name, text in {**PROGRAM, "none.json": "[]"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [str(modules / ".bin" / program), "index", *options, "--output", "index.scip"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"{program} does not run here: {done.stderr[-200:]}")
    with Engine.open(tmp_path) as engine:
        status = engine.index(scip=[tmp_path / "index.scip"])
        assert status["scip"]["changed"] == 0
        edges, snapshot = opened(engine)
        assert all(edges.covers(snapshot, path) for path in files)
        cart, till = (PROGRAM[path].encode() for path in files)
        (add,) = edges.symbols_at(files[0], cart.index(b"add"))
        assert [(at.path, at.start, at.is_definition) for at in edges.places([add])] == [
            (files[0], cart.index(b"add"), True), (files[1], till.index(b"add"), False),
        ]  # fmt: skip
