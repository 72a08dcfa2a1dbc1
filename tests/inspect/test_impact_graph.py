"""One file as the index has it, and its neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import PathError, QueryError


def tree(folder: Path) -> Path:
    files = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "import d\n", "d.py": "x = 1\n", "test_c.py": "import c\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_file_is_read_from_the_index(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\nnext\n")
    with Engine.open(tmp_path) as engine:
        found = engine.file("a.txt")
        assert (found.text, found.lines) == ("café\nnext\n", 2)
        (tmp_path / "a.txt").write_text("new\n")
        assert engine.file("a.txt").text == "new\n"
        assert engine.file("a.txt", refresh=False).basis.index.fresh


@pytest.mark.parametrize("path", ["b.txt", "..", "/etc/passwd", "../a.py"])
def test_what_is_not_in_the_index_is_not_read(tmp_path: Path, path: str) -> None:
    with Engine.open(tree(tmp_path)) as engine, pytest.raises(PathError):
        engine.file(path)


def test_nor_what_is_outside_of_what_was_requested(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/e.py").write_text("y = 1\n")
    with Engine.open(tmp_path / "sub", root=tmp_path) as engine:
        assert engine.file("sub/e.py").text == "y = 1\n"
        for question in (engine.file, engine.graph, engine.heat):
            with pytest.raises(PathError):
                question("a.py")


def test_hops_count_both_ways(tmp_path: Path) -> None:
    with Engine.open(tree(tmp_path)) as engine:
        near, far = engine.graph("c.py"), engine.graph("c.py", hops=2)
        with pytest.raises(QueryError):
            engine.graph("c.py", hops=0)
    assert {node.path: node.hop for node in near.nodes} == {"b.py": 1, "c.py": 0, "d.py": -1, "test_c.py": 1}
    assert {node.path: node.hop for node in far.nodes} == {"a.py": 2, "b.py": 1, "c.py": 0, "d.py": -1, "test_c.py": 1}
    assert {node.path for node in far.nodes if node.test} == {"test_c.py"}
    assert {(edge.source, edge.target, edge.line) for edge in far.edges} == {
        ("a.py", "b.py", 1), ("b.py", "c.py", 1), ("c.py", "d.py", 1), ("test_c.py", "c.py", 1),
    }  # fmt: skip


def test_a_circle_has_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("import a\n")
    with Engine.open(tmp_path) as engine:
        found = engine.graph("a.py", hops=3)
    assert sorted(node.path for node in found.nodes) == ["a.py", "b.py"]
    assert {(edge.source, edge.target) for edge in found.edges} == {("a.py", "b.py"), ("b.py", "a.py")}


def test_of_too_many_the_nearest_of_both_sides_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("".join(f"import part_{number}\n" for number in range(20)))
    for number in range(20):
        (tmp_path / f"part_{number}.py").write_text("x = 1\n")
        (tmp_path / f"user_{number}.py").write_text("import core\n")
    with Engine.open(tmp_path) as engine:
        found = engine.graph("core.py", most=11)
    assert (len(found.nodes), found.total) == (11, 41)
    assert sum(node.hop > 0 for node in found.nodes) == sum(node.hop < 0 for node in found.nodes) == 5


def test_a_file_without_imports_is_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    with Engine.open(tmp_path) as engine:
        found = engine.graph("notes.md")
    assert [node.path for node in found.nodes] == ["notes.md"]
    assert found.edges == ()
