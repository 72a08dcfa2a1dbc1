"""A grammar of another ABI or layout is not run by the kernel: tree-sitter parses its files, and `status` says so."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.languages import grammar, load_capsule
from lurcher.languages.grammar import describe_grammars, grammar_of
from lurcher.surfaces.cli.print_inspect import print_status
from tests.indexing.conftest import opened, write
from tests.kernel import kernel

pytestmark = kernel.needed
NAME = b"tree_sitter.Language"
SIZE = 8 * 40
"""More than the tables' head has in any ABI, and less than follows it in a grammar's library."""


class Copy:
    """A copy of a grammar's head that may be changed; its tables are the package's."""

    def __init__(self, capsule: object) -> None:
        find = ctypes.pythonapi.PyCapsule_GetPointer
        find.restype, find.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        self._kept, self._room = capsule, ctypes.create_string_buffer(ctypes.string_at(find(capsule, NAME), SIZE), SIZE)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule: Any = make(ctypes.addressof(self._room), NAME, None)

    def put(self, offset: int, form: str, value: int) -> None:
        struct.pack_into(form, self._room, offset, value)


@pytest.fixture
def copy() -> Iterator[Copy]:
    made = Copy(load_capsule("tree_sitter_zig", "language"))
    assert struct.unpack_from("<I", made._room)[0] == 14
    grammar_of.cache_clear()
    yield made
    grammar_of.cache_clear()


def test_a_copy_is_taken_as_it_is(copy: Copy) -> None:
    assert kernel.module().Language(copy.capsule).parse(b"const a = 1;\n").type == "source_file"


@pytest.mark.parametrize(
    ("offset", "form", "value", "reason"),
    [
        (0, "<I", 13, "ABI"), (0, "<I", 16, "ABI"), (0, "<I", 0, "ABI"),
        (4, "<I", 0, "counts"), (4, "<I", 70_000, "counts"), (12, "<I", 60_000, "counts"), (16, "<I", 60_000, "counts"),
        (20, "<I", 1, "counts"), (24, "<I", 60_000, "counts"), (28, "<I", 0, "counts"), (32, "<I", 70_000, "counts"),
        *((40 + 8 * table, "<Q", 0, "missing") for table in (0, 1, 2, 3, 4, 8, 9, 12, 13)),
    ],
)  # fmt: skip
def test_another_layout_is_refused(copy: Copy, offset: int, form: str, value: int, reason: str) -> None:
    copy.put(offset, form, value)
    with pytest.raises(ValueError, match=reason):
        kernel.module().Language(copy.capsule)


def test_tables_in_another_order_are_refused(copy: Copy) -> None:
    names, fields = (struct.unpack_from("<Q", copy._room, 40 + 8 * table)[0] for table in (4, 5))
    copy.put(40 + 8 * 4, "<Q", fields)
    copy.put(40 + 8 * 5, "<Q", names)
    with pytest.raises(ValueError, match=r"first symbol|no name"):
        kernel.module().Language(copy.capsule)


@kernel.limits_memory
def test_tree_sitter_parses_instead_and_status_says_so(
    copy: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.put(0, "<I", 13)
    taken = load_capsule
    monkeypatch.setattr(
        grammar, "load_capsule", lambda module, name: copy.capsule if module == "tree_sitter_zig" else taken(module, name)
    )
    known = describe_grammars(["zig", "python", "text"])
    assert (known["zig"]["reader"], known["zig"]["reason"]) == ("tree-sitter", "the ABI version of the grammar is not 14 or 15")
    assert known["python"]["reader"] == "kernel" and "reason" not in known["python"]
    loaded = grammar_of("zig")
    assert loaded is not None and loaded.kernel is None
    parsed = loaded.parsed(b"const a = 1;\n")
    assert parsed is not None and isinstance(parsed[1], grammar.TreeSitterReader) and parsed[0].type == "source_file"
    monkeypatch.setenv("LURCHER_INDEX_DIR", str(tmp_path / "index"))
    write(tmp_path / "tree", {"a.zig": "pub fn hello() void {}\n", "b.py": "def there(): pass\n"})
    engine = opened(tmp_path / "tree")
    assert engine.symbol("hello").definitions
    status = engine.status()
    assert status["grammars"]["zig"]["reason"] == "the ABI version of the grammar is not 14 or 15"
    print_status(status)
    assert "zig is read by tree-sitter" in capsys.readouterr().out
