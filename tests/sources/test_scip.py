from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from lurcher.errors import PathError
from lurcher.sources import scip
from lurcher.sources.scip import Document, Index, Occurrence, Relationship, Symbol

PACKAGE = ("scip-test", "pip", "shop", "1.0")
CART = scip.make_symbol(PACKAGE, [("shop.cart", "/"), ("Cart", "#")])
ADD = scip.make_symbol(PACKAGE, [("shop.cart", "/"), ("Cart", "#"), ("add", "().")])
DOCUMENT = Document(
    "shop/cart.py", "python",
    (
        Occurrence((0, 6, 0, 10), CART, scip.DEFINITION, (0, 0, 300, 0)), Occurrence((1, 8, 1, 11), ADD, scip.DEFINITION),
        Occurrence((70000, 4, 70001, 7), ADD, scip.READ | scip.WRITE), Occurrence((2, 0, 2, 5), "local 3"),
    ),
    (
        Symbol(CART, 7, "Cart"),
        Symbol(ADD, 26, "add", CART, (Relationship(CART, is_reference=True, is_definition=True), Relationship("b"))),
    ),
    "class Cart: …", scip.UTF8,
)  # fmt: skip


def write(path: Path, *documents: Document) -> Path:
    path.write_bytes(b"".join(scip.encode_index(Index("tool", "2", "file:///home/shop", documents))))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    index = scip.read_index(write(tmp_path / "index.scip", DOCUMENT, Document("empty.py")))
    assert (index.tool, index.version, index.project_root) == ("tool", "2", "file:///home/shop")
    first, second = index.documents
    assert (first.path, first.language, first.text, first.encoding) == ("shop/cart.py", "python", "class Cart: …", scip.UTF8)
    assert tuple(first.occurrences) == DOCUMENT.occurrences
    assert tuple(first.symbols) == DOCUMENT.symbols
    assert second == Document("empty.py", occurrences=[], symbols=[])
    assert len(list(index.documents)) == 2  # a second iteration begins again


def message(*fields: tuple[int, bytes | int]) -> bytes:
    """A protobuf message, encoded byte by byte; all numbers are below 128."""
    out = bytearray()
    for number, value in fields:
        out += bytes((number << 3, value)) if isinstance(value, int) else bytes((number << 3 | 2, len(value))) + value
    return bytes(out)


METADATA = (1, message((3, b"file:///")))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (((1, b"\1\2\5"), (2, b"local 1")), ((1, 2, 1, 5), None)),
        (((1, 1), (1, 2), (1, 5), (2, b"local 1")), ((1, 2, 1, 5), None)),
        (((2, b"local 1"), (8, message((1, 1), (2, 2), (3, 5)))), ((1, 2, 1, 5), None)),
        (((2, b"local 1"), (8, message((3, 5)))), ((0, 0, 0, 5), None)),
        (((2, b"local 1"), (9, message((1, 1), (3, 4), (4, 5))), (11, message((3, 9)))), ((1, 0, 4, 5), (0, 0, 9, 0))),
        (((1, b"\1\2\3\5"), (2, b"local 1"), (7, b"\1\0\7\0"), (12, b"later")), ((1, 2, 3, 5), (1, 0, 7, 0))),
    ],
)
def test_every_encoding_of_a_range_is_understood(
    tmp_path: Path, fields: tuple[tuple[int, bytes | int], ...], expected: object
) -> None:
    """Packed numbers, single ones, and the messages that newer indexers write; unknown fields are skipped."""
    path = tmp_path / "index.scip"
    path.write_bytes(message(METADATA, (2, message((1, b"a.py"), (2, message(*fields))))))
    (document,) = scip.read_index(path).documents
    (occurrence,) = document.occurrences
    assert (occurrence.range, occurrence.enclosing) == expected


def test_an_occurrence_without_a_symbol_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "index.scip"
    path.write_bytes(message(METADATA, (2, message((1, b"a.py"), (2, message((1, b"\1\2\5"), (5, 4)))))))
    assert [list(document.occurrences) for document in scip.read_index(path).documents] == [[]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it has no metadata"),
        (b"just some text\n", "not a SCIP index"),
        (message(METADATA) + b"\x12\x7f", "it is cut short"),
        (message(METADATA) + b"\x12" + b"\xff" * 9 + b"\x01", "it is cut short"),
        (message(METADATA) + b"\x12" + b"\xff" * 11, "more than ten bytes"),
        (message(METADATA) + b"\x13", "unknown wire type"),
        (message(METADATA) + b"\x00\x00", "a field has the number 0"),
        (message(METADATA, (2, 7)), "the wrong type"),
        (message(METADATA, (2, message((1, b"\xff\xfe")))), "not UTF-8"),
        (message(METADATA, (2, message((2, message((1, b"\1\2"), (2, b"local 1")))))), "neither three nor four"),
        (message(METADATA, (2, message((2, message((1, b"\1\5\2"), (2, b"local 1")))))), "ends before it begins"),
        (message(METADATA, (2, message((2, message((1, b"\1\2\xff\xff\xff\xff\x7f"), (2, b"local 1")))))), "before it begins"),
        (message(METADATA, (2, message((6, b"x")))), "the wrong type"),
    ],
)
def test_what_is_not_scip_is_one_error_with_a_hint(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "index.scip"
    path.write_bytes(content)
    with pytest.raises(PathError, match=reason) as caught:
        list(scip.read_index(path).documents)
    assert caught.value.hint


def test_bytes_that_were_changed_or_cut_are_never_another_error(tmp_path: Path) -> None:
    whole = write(tmp_path / "index.scip", DOCUMENT).read_bytes()
    chance = random.Random(7)
    damaged = [whole[:end] for end in range(len(whole))]
    for _ in range(2000):
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        damaged.append(bytes(changed))
    errors = 0
    for content in damaged:
        (tmp_path / "index.scip").write_bytes(content)
        try:
            list(scip.read_index(tmp_path / "index.scip").documents)
        except PathError:
            errors += 1
    assert errors > len(whole)


def test_only_files_of_a_sane_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PathError, match="No such file"):
        scip.read_index(tmp_path / "missing.scip")
    with pytest.raises(PathError, match=r"Is a directory|is not a file"):
        scip.read_index(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PathError, match="is not a file"):
        scip.read_index(tmp_path / "pipe")
    path = write(tmp_path / "index.scip", DOCUMENT)
    monkeypatch.setattr(scip, "MAX_BYTES", 10)
    with pytest.raises(PathError, match="at most 0 MB are read"):
        scip.read_index(path)


@pytest.mark.parametrize(
    ("symbol", "descriptors"),
    [
        ("scip-python python click 8 `click.core`/Context#run().", [("click.core", "/"), ("Context", "#"), ("run", "().")]),
        ("scip-go gomod example.com/m 1 `example.com/m`/Mux#Get().", [("example.com/m", "/"), ("Mux", "#"), ("Get", "().")]),
        ("s . . . f(+1).(x)", [("f", "()."), ("x", "()")]),
        ("s . . . A#[T]", [("A", "#"), ("T", "[]")]),
        ("s . . . m/__init__:", [("m", "/"), ("__init__", ":")]),
        ("s . . . LOG!", [("LOG", "!")]),
        ("s  t . a  b . `a``b`.", [("a`b", ".")]),
        ("local 12", []),
        ("s . . . (((", []),
        ("s", []),
        ("", []),
    ],
)
def test_descriptors_of_a_symbol(symbol: str, descriptors: list[tuple[str, str]]) -> None:
    assert scip.parse_descriptors(symbol) == descriptors


def test_a_symbol_that_is_made_is_parsed_again() -> None:
    descriptors = [("a b", "/"), ("ünïcode", "#"), ("`", "."), ("T", "[]"), ("x", "()"), ("run", "().")]
    symbol = scip.make_symbol(("lurcher", "", "my package", ""), descriptors)
    assert symbol.startswith("lurcher . my  package . `a b`/`ünïcode`#")
    assert scip.parse_descriptors(symbol) == descriptors
