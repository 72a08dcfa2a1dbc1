"""`lurcher export`: what other programs read of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import UsageError
from lurcher.sources import scip

FILES = {
    "shop/cart.py": (
        "import functools\n\n\n@functools.cache\ndef total(\n    cart,\n):\n    return 1\n\n\n"
        "class Cart:\n    ü = 'naïve'; size = 1\n\n    @property\n    def total(self): ...\n    @total.setter\n"
        "    def total(self, value): ...\n"
    ),
    "shop/till.ts": "export class Till<T> { open(key: string): void {} }\nexport const $close = () => 1 / 2 // costs $\n",
    "shop/pool.go": "package shop\n\ntype (\n\tPool struct{ Size int }\n)\n\nfunc (p *Pool) Get() {}\n",
    "notes.md": "# ! C:\\tmp\n\n## Sub\n",
    "empty.txt": "nothing\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text, "utf-8")
    return tmp_path / "tree"


def exported(tree: Path, format: str, folder: Path | None = None) -> bytes:
    with Engine.open(tree) as engine:
        return b"".join(engine.export(format, folder=folder).pieces)


def test_a_scip_index_has_each_definition_at_its_name(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "out.scip").write_bytes(exported(tree, "scip"))
    index = scip.read_index(tmp_path / "out.scip")
    assert (index.tool, index.project_root) == ("lurcher", tree.as_uri())
    documents = {document.path: document for document in index.documents}
    assert {path: document.language for path, document in documents.items()} == {
        "shop/cart.py": "Python", "shop/pool.go": "Go", "shop/till.ts": "TypeScript",
    }  # fmt: skip
    symbols = set()
    for path, document in documents.items():
        lines = [line.encode() for line in FILES[path].split("\n")]
        names = {symbol.symbol: symbol.name for symbol in document.symbols}
        symbols |= {(symbol.symbol.removeprefix("lurcher . tree . "), symbol.kind) for symbol in document.symbols}
        for occurrence in document.occurrences:
            line, start, last, end = occurrence.range
            assert line == last
            if occurrence.roles != scip.DEFINITION:
                continue
            assert lines[line][start:end] == names[occurrence.symbol].encode()
            assert occurrence.enclosing is not None
            assert occurrence.enclosing[:2] <= (line, start) < (line, end) <= occurrence.enclosing[2:]
    assert symbols >= {
        ("`shop/cart.py`/total().", 17), ("`shop/cart.py`/Cart#", 7), ("`shop/cart.py`/Cart#total().", 26),
        ("`shop/cart.py`/Cart#total(+1).", 26), ("`shop/cart.py`/Cart#size.", 15), ("`shop/till.ts`/Till#open().", 26),
        ("`shop/till.ts`/$close().", 17), ("`shop/pool.go`/Pool#", 49), ("`shop/pool.go`/Pool#Size.", 15),
        ("`shop/pool.go`/Pool#Get().", 26),
    }  # fmt: skip


def test_tags_are_sorted_and_point_at_names(tree: Path) -> None:
    data = exported(tree, "ctags")
    lines = data.decode().splitlines()
    head = [line for line in lines if line.startswith("!_TAG_")]
    tags = lines[len(head) :]
    assert "!_TAG_FILE_SORTED\t1\t/0=unsorted, 1=sorted, 2=foldcase/" in head
    assert lines[: len(head)] == sorted(head)
    assert tags == sorted(tags, key=str.encode)
    fields = {(tag.split("\t")[0], tag.split("kind:")[1].split("\t")[0]): tag for tag in tags}
    assert fields["total", "function"] == (
        'total\tshop/cart.py\t/^def total($/;"\tkind:function\tline:5\tlanguage:python\tsignature:( cart, )\tend:8'
    )
    assert "\tline:12\t" in fields["size", "field"]
    assert "\tclass:Till\tsignature:(key: string)\t" in fields["open", "method"]
    assert r"/^export const $close = () => 1 \/ 2 \/\/ costs \$$/;" in fields["$close", "function"]
    assert "\tstruct:Pool\t" in fields["Get", "method"]
    assert "\theading:! C:\\\\tmp\t" in fields["Sub", "heading"]
    assert "\\x21 C:\\\\tmp\tnotes.md" in fields["\\x21 C:\\\\tmp", "heading"]
    assert exported(tree, "ctags") == data


def test_paths_of_tags_are_seen_from_where_the_file_is(tree: Path, tmp_path: Path) -> None:
    for folder, path in ((tree / "shop", "till.ts"), (tmp_path, "tree/shop/till.ts"), (tmp_path / "a", "../tree/shop/till.ts")):
        assert f"\nopen\t{path}\t".encode() in exported(tree, "ctags", folder)


def test_readtags_finds_every_definition(tree: Path) -> None:
    program = shutil.which("readtags")
    if program is None:
        pytest.skip("universal-ctags is not here")
    (tree / "tags").write_bytes(exported(tree, "ctags"))

    def read(*arguments: str) -> list[str]:
        done = subprocess.run([program, "-t", str(tree / "tags"), "-e", *arguments], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert len(read("-l")) == len([line for line in (tree / "tags").read_text().splitlines() if not line.startswith("!_TAG_")])
    for name in ("Cart", "total", "$close", "Pool", "Sub"):
        for line in read(name):
            found = re.match(r"([^\t]+)\t([^\t]+)\t/\^(.*?)\$?/;\"\t", line)
            assert found is not None
            assert found[1] == name
            assert found[3].replace("\\/", "/").replace("\\$", "$") in FILES[found[2]]
    assert len(read("total")) == 3


def test_only_what_is_below_the_given_folder(tree: Path) -> None:
    with Engine.open(tree / "shop") as engine:
        done = engine.export("ctags")
    assert b"notes.md" not in b"".join(done.pieces)
    assert done.files == 3


def test_the_command_writes_both_and_overwrites_only_its_own(tree: Path, run: Callable[..., Any]) -> None:
    result = run("export", "--ctags", "tags", "--scip", "index.scip", cwd=tree)
    assert result.status == 0
    assert [line.split(maxsplit=1)[1] for line in result.out.splitlines()] == [
        "definitions of 3 files written to index.scip", "definitions of 4 files written to tags",
    ]  # fmt: skip
    assert [path.name for path in sorted(tree.glob(".*.tmp"))] == []
    before = (tree / "tags").read_bytes(), (tree / "index.scip").read_bytes()
    again = run("export", "--ctags", "tags", "--scip", "index.scip", "--json", cwd=tree)
    assert [entry["format"] for entry in again.json["exports"]] == ["scip", "ctags"]
    assert ((tree / "tags").read_bytes(), (tree / "index.scip").read_bytes()) == before
    refused = run("export", "--ctags", "shop/cart.py", cwd=tree)
    assert refused.status == 2
    assert "is not overwritten" in refused.err
    assert (tree / "shop/cart.py").read_text("utf-8") == FILES["shop/cart.py"]
    assert "nothing to export" in run("export", cwd=tree).err
    missing = run("export", "--ctags", "no/such/tags", cwd=tree)
    assert missing.status == 2
    assert "No such file" in missing.err


def test_one_root_and_a_known_format(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.py").write_text("a = 1\n")
    with Engine.open([tree, tmp_path / "other"]) as engine, pytest.raises(UsageError, match="one root"):
        engine.export("scip")
    with Engine.open(tree) as engine, pytest.raises(UsageError, match="unknown format 'lsif'"):
        engine.export("lsif")


def test_what_is_exported_can_be_loaded(tree: Path) -> None:
    (tree.parent / "index.scip").write_bytes(exported(tree, "scip"))
    later = max(path.stat().st_mtime_ns for path in tree.rglob("*")) + 10**9
    os.utime(tree.parent / "index.scip", ns=(later, later))
    with Engine.open(tree) as engine:
        status = engine.index(scip=[tree.parent / "index.scip"])
    assert status["scip"]["files"] == 3
    assert status["scip"]["left_out"] == {}


def test_a_scip_index_has_resolved_references_that_can_be_read_back(tmp_path: Path) -> None:
    top = tmp_path / "tree"
    top.mkdir()
    cart = "class Cart:\n    def add(self):\n        return self.add()\n\n\n"
    (top / "a.py").write_text(cart + "def make() -> Cart:\n    return Cart()\n")
    (top / "b.py").write_text("from a import make\n\n\ndef use(other):\n    make().add()\n    other.add()\n")
    with Engine.open(top) as engine:
        found = {name: engine.references(name).references for name in ("Cart.add", "Cart", "make")}
        (tmp_path / "out.scip").write_bytes(exported(top, "scip"))
    documents = {document.path: document for document in scip.read_index(tmp_path / "out.scip").documents}
    written = {
        (path, occurrence.range[0] + 1, occurrence.range[1] + 1, occurrence.symbol.rpartition("/")[2])
        for path, document in documents.items()
        for occurrence in document.occurrences
        if not occurrence.roles & scip.DEFINITION
    }
    symbols = {"Cart.add": "Cart#add().", "Cart": "Cart#", "make": "make()."}
    assert written == {
        (use.path, use.line, use.column, symbols[name]) for name, uses in found.items() for use in uses
        if use.resolution == "resolved"
    }  # fmt: skip
    assert len(written) == 6
    later = max(path.stat().st_mtime_ns for path in top.rglob("*")) + 10**9
    os.utime(tmp_path / "out.scip", ns=(later, later))
    with Engine.open(top) as engine:
        engine.index(scip=[tmp_path / "out.scip"])
        again = engine.references("Cart.add").references
    assert [(use.path, use.line, use.how) for use in again if use.resolution == "resolved"] == [
        ("a.py", 3, "scip"), ("b.py", 5, "scip"),
    ]  # fmt: skip
