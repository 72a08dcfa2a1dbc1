"""The graph: both directions, hops, cycles, groups, rows, and what building it may cost."""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.languages.graph import Graph, Link
from lurcher.languages.parsed_file import Import
from tests.languages.trees import graph

CHAIN = {
    "a.py": "from b import x\nimport b\n",
    "b.py": "\nfrom c import y, z\n",
    "c.py": "import a\n",
    "d.py": "import b\nimport os\n",
    "readme.md": "import a",
}


def test_importers_by_hop_with_what_they_take_and_where() -> None:
    found = graph(CHAIN)
    assert found.importers("c.py") == (Link("b.py", 1, "c.py", ("y", "z"), 2, 1.0),)
    assert found.importers("c.py", 2) == (
        Link("b.py", 1, "c.py", ("y", "z"), 2, 1.0),
        Link("a.py", 2, "b.py", ("x",), 1, 1.0),
        Link("d.py", 2, "b.py", (), 1, 1.0),
    )


def test_imports_by_hop() -> None:
    assert [(link.path, link.hop, link.via) for link in graph(CHAIN).imports("d.py", 9)] == [
        ("b.py", 1, "d.py"),
        ("c.py", 2, "b.py"),
        ("a.py", 3, "c.py"),
    ]


def test_a_cycle_ends_and_nothing_reaches_itself() -> None:
    found = graph(CHAIN)
    assert [link.path for link in found.imports("a.py", 100)] == ["b.py", "c.py"]
    assert [link.path for link in found.importers("a.py", 100)] == ["c.py", "b.py", "d.py"]
    assert graph({"a.py": "import a"}).imports("a.py") == ()


def test_unknown_files_none_and_no_hops() -> None:
    found = graph(CHAIN)
    assert found.importers("gone.py", 3) == found.imports("a.py", 0) == found.importers("readme.md", 2) == ()
    assert len(Graph.build([], lambda path: None)) == 0


def test_confidence_is_that_of_the_way_and_the_better_way_is_shown() -> None:
    files = {
        "go.mod": "module m",
        "p/a.go": "package p",
        "p/b.go": 'package p\nimport "m/q"',
        "q/c.go": "package q",
        "main.go": 'package main\nimport "m/p"',
    }
    found = graph(files)
    assert [(link.path, link.confidence) for link in found.imports("main.go", 2)] == [
        ("p/a.go", 0.5),
        ("p/b.go", 0.5),
        ("q/c.go", 0.5),
    ]
    assert [(link.path, link.via) for link in found.importers("q/c.go", 2)] == [("p/b.go", "q/c.go"), ("main.go", "p/b.go")]


def test_one_pair_is_one_edge_with_all_names_and_the_first_line() -> None:
    edges = list(graph({"a.py": "import b\nfrom b import x\nfrom b import y, x\n", "b.py": ""}).edges())
    assert edges == [("a.py", "b.py", ("x", "y"), 1, 1.0)]


def test_a_reader_that_fails_is_no_configuration() -> None:
    def read(path: str) -> str | None:
        raise PermissionError(path)

    files = [("a.ts", "typescript", (Import("./b", (), 1, "import"),)), ("b.ts", "typescript", ())]
    assert [edge.target for edge in Graph.build(files, read).edges()] == ["b.ts"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20), st.integers(1, 8), st.randoms(use_true_random=False)
)
def test_both_directions_agree_and_order_of_files_does_not_matter(
    pairs: list[tuple[int, int]], hops: int, mixer: random.Random
) -> None:
    files = {f"m{number}.py": "" for number in range(8)}
    for source, target in pairs:
        files[f"m{source}.py"] += f"import m{target}\n"
    found = graph(files)
    forward = {(path, link.path, link.hop) for path in files for link in found.imports(path, hops)}
    backward = {(link.path, path, link.hop) for path in files for link in found.importers(path, hops)}
    assert forward == backward
    assert {(source, target) for source, target, hop in forward if hop == 1} == {
        (f"m{source}.py", f"m{target}.py") for source, target in pairs if source != target
    }
    mixed = list(files.items())
    mixer.shuffle(mixed)
    assert list(graph(dict(mixed)).edges()) == list(found.edges())


def many(count: int) -> list[tuple[str, str, tuple[Import, ...]]]:
    """A tree of packages of twenty modules, ten imports each, a third of them external."""
    chance = random.Random(1)
    files: list[tuple[str, str, tuple[Import, ...]]] = []
    for number in range(count):
        imports = []
        for line in range(10):
            other = chance.randrange(count)
            spec, names = f"root.p{other // 20}.m{other}", (f"name{line}",)
            imports.append(
                (
                    Import(f"ext{other}.sub", names, line, "from"),
                    Import(spec, names, line, "from"),
                    Import(f".m{other}", names, line, "from"),
                )[line % 3]
            )
        files.append((f"src/base/p{number // 20}/m{number}.py", "python", tuple(imports)))
    packages = {path.rpartition("/")[0] for path, _, _ in files} | {"src/root"}
    return files + [(f"{package}/__init__.py", "python", ()) for package in sorted(packages)]


def took(files: list[tuple[str, str, tuple[Import, ...]]]) -> float:
    best = 9.0
    for _ in range(3):
        begun = time.process_time()
        Graph.build(files, lambda path: None)
        best = min(best, time.process_time() - begun)
    return best


def test_building_grows_with_the_tree_and_not_faster() -> None:
    small, large = took(many(1_000)), took(many(5_000))
    assert large < 12 * small


def test_building_costs_a_few_dictionary_lookups_per_import() -> None:
    files = many(5_000)
    begun = time.process_time()
    seen: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for path, _, imports in files:
        for entry in imports:
            seen[path.rpartition("/")[0], entry.spec, entry.names] = entry.spec.replace(".", "/").split("/")
    assert took(files) < 12 * (time.process_time() - begun)


def test_a_namespace_that_all_import_does_not_square() -> None:
    using = (Import("N", (), 1, "using"), Import("N", ("A",), 2, "package"))
    files = [(f"f{number}.cs", "csharp", using) for number in range(3_000)]
    found = Graph.build(files, lambda path: None)
    begun = time.process_time()
    assert len(found.importers("f7.cs", 2)) == len(found.imports("f7.cs", 2)) == 2_999
    assert time.process_time() - begun < 2
