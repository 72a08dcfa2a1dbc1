"""What resolvers see of an index is what they see of the tree as a whole."""

from __future__ import annotations

from lurcher.indexing.import_graph import IndexedTree
from lurcher.languages.resolution import Tree
from tests.small import snapshot_of

FILES = {
    "a.py": "import b\n", "b/__init__.py": "from . import c\n", "b/c.py": "x = 1\n", "b-d/e.py": "x = 1\n", "b0.py": "x = 1\n",
    "go.mod": "module a\n", "sub/go.mod": "module b\n", "sub/cargo.mod": "", "sub/vendor/x/y.go": "package x\n",
    "sub/vendor/vendor/z.go": "package z\n", "notvendor/w.go": "package w\n", "vendor": "text\n", "été/naïve.py": "import b\n",
}  # fmt: skip


def test_files_folders_and_imports_are_those_of_the_whole_tree() -> None:
    snapshot = snapshot_of(FILES)
    numbers = snapshot.live_paths
    rows = [(path, snapshot.language(file), snapshot.imports({file}).get(file, ())) for path, file in sorted(numbers.items())]
    whole, indexed = Tree(rows, FILES.get), IndexedTree(snapshot, "")
    eager = IndexedTree(snapshot, "", frozenset({"python"}))
    assert sorted(indexed.folders) == sorted(whole.folders)
    for folder in (*whole.folders, "b/c.py", "su", "missing", "vendor/"):
        assert (folder in indexed.folders) == (folder in whole.folders), folder
        assert list(indexed.folders.get(folder, ())) == list(whole.folders.get(folder, ())), folder
    for name in ("vendor", "b", "x", "endor", "missing"):
        assert indexed.folders_called(name) == whole.folders_called(name), name
    for names in (("go.mod",), ("mod", "go.mod"), ("__init__.py", "a.py"), ("missing",)):
        assert indexed.configurations(*names) == whole.configurations(*names), names
    for languages in (("python",), ("go", "python"), ("rust",)):
        assert indexed.paths_of(*languages) == whole.paths_of(*languages), languages
    for path in numbers:
        assert indexed.imports[path] == eager.imports[path] == whole.imports[path]
        assert path in indexed
    assert any(whole.imports.values())
    assert indexed.by_name == whole.by_name
    assert "missing" not in indexed
    assert indexed.text("go.mod") == "module a\n"
    assert indexed.text("missing") is None
