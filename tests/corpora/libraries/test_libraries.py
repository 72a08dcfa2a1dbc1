"""Installed libraries are indexed by name, searched beside the project, and say of which version they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.engine import diagnose
from lurcher.errors import UsageError
from lurcher.storage.manifest import FOLDER_TAG
from tests.conftest import Run, git
from tests.corpora.libraries.installed import PARSER, node, python, write
from tests.surfaces.http.conftest import client_for

OTHER = '''
    class Mailbox:
        """Delivers letters and keeps them until somebody reads the mail."""

        def deliver(self, letter):
            return self.letters.append(letter)
    '''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("VIRTUAL_ENV", "GOMODCACHE", "GOPATH", "CARGO_HOME", "LURCHER_INDEX_DIR"):
        monkeypatch.delenv(variable, raising=False)
    files = {"main.py": "def build_tree():\n    return 1\n", ".gitignore": ".venv\nnode_modules\n"}
    folder = write(tmp_path / "project", files)
    git(folder, "init", "-q")
    return folder


@pytest.fixture
def site(project: Path) -> Path:
    folder = project / ".venv" / "lib" / "python3.12" / "site-packages"
    python(folder, "treelib", "1.4.2", {"treelib/__init__.py": "", "treelib/parser.py": PARSER})
    python(folder, "maillib", "0.9", {"maillib/__init__.py": "", "maillib/box.py": OTHER})
    return folder


@pytest.fixture
def engine(project: Path, site: Path) -> Iterator[Engine]:
    with Engine.open(project) as opened:
        yield opened


def upgrade(site: Path, version: str) -> None:
    for old in site.glob("treelib*"):
        shutil.rmtree(old)
    python(site, "treelib", version, {"treelib/__init__.py": "", "treelib/forest.py": PARSER})


def test_hits_have_library_and_version(engine: Engine, site: Path) -> None:
    made = engine.index_library("treelib")
    assert (made["library"], made["ecosystem"], made["version"], made["files"]) == ("treelib", "python", "1.4.2", 2)
    answer = engine.search("build a syntax tree from tokens", sources=["libraries"])
    first = answer.hits[0]
    assert (first.path, first.source) == ("lib:treelib/parser.py", "libraries")
    assert (first.library, first.version) == ("treelib", "1.4.2")
    assert (answer.sources, answer.index.fresh, answer.degraded) == (("libraries",), True, ())
    assert first.to_dict()["library"] == "treelib" and first.to_dict()["version"] == "1.4.2"
    assert engine.locate(first.path) == site / "treelib" / "parser.py"


def test_libraries_are_searched_only_on_request(engine: Engine) -> None:
    engine.index_library("treelib")
    for sources in (None, ["code"], ["all"]):
        answer = engine.search("build_tree", sources=sources)
        assert [hit.path for hit in answer.hits] == ["main.py"], sources
        assert "library" not in answer.hits[0].to_dict()
    with pytest.raises(UsageError, match="with other sources"):
        engine.search("build_tree", sources=["code", "libraries"])
    with pytest.raises(UsageError, match="--library is for"):
        engine.search("build_tree", sources=["all"], libraries=["treelib"])


def test_one_of_several_libraries_can_be_searched(engine: Engine) -> None:
    engine.index_library("treelib")
    engine.index_library("maillib")
    both = engine.search("deliver a tree of letters", sources=["libraries"])
    assert {hit.library for hit in both.hits} == {"treelib", "maillib"}
    one = engine.search("deliver a tree of letters", libraries=["maillib"])
    assert {hit.library for hit in one.hits} == {"maillib"}
    exact = engine.search("TreeBuilder", libraries="lib:treelib", mode="literal")
    assert [hit.path for hit in exact.hits] == ["lib:treelib/parser.py"]
    page = engine.search("deliver a tree of letters", sources=["libraries"], limit=1)
    rest = engine.search("deliver a tree of letters", sources=["libraries"], limit=1, cursor=page.next)
    assert page.hits[0].path != rest.hits[0].path


def test_what_has_no_index_is_an_error_that_says_how_to_make_it(engine: Engine) -> None:
    with pytest.raises(UsageError, match="no library is indexed"):
        engine.search("tree", sources=["libraries"])
    with pytest.raises(UsageError, match="treelib is not indexed") as raised:
        engine.search("tree", libraries=["treelib"])
    assert raised.value.hint == "run: lurcher index --library treelib"


def test_another_version_is_reported_and_indexed_again(engine: Engine, project: Path, site: Path) -> None:
    engine.index_library("treelib")
    upgrade(site, "2.0.0")
    answer = engine.search("build a syntax tree", sources=["libraries"])
    assert answer.hits[0].version == "1.4.2"
    assert not answer.index.fresh
    assert [(note.reason, note.hint) for note in answer.degraded] == [
        ("the index of lib:treelib is of version 1.4.2, and 2.0.0 is installed", "run: lurcher index --library python:treelib")
    ]
    assert engine.status()["libraries"][0]["fresh"] is False
    assert engine.index_library("treelib")["version"] == "2.0.0"
    answer = engine.search("build a syntax tree", sources=["libraries"])
    assert (answer.hits[0].path, answer.hits[0].version, answer.degraded) == ("lib:treelib/forest.py", "2.0.0", ())
    upgrade(site, "2.0.0")
    assert "installed anew" in engine.search("tree", sources=["libraries"]).degraded[0].reason
    shutil.rmtree(site)
    with Engine.open(project) as later:
        gone = later.search("build a syntax tree", sources=["libraries"])
    assert gone.hits and "no longer installed" in gone.degraded[0].reason


def test_the_doctor_says_which_are_current(engine: Engine, project: Path, site: Path) -> None:
    assert not [finding for finding in diagnose(project, quick=True) if finding.check == "libraries"]
    engine.index_library("treelib")
    engine.index_library("maillib")
    upgrade(site, "2.0.0")
    found = [(finding.state, finding.message) for finding in diagnose(project, quick=True) if finding.check == "libraries"]
    assert found == [
        ("note", "the index of lib:treelib is of version 1.4.2, and 2.0.0 is installed"),
        ("ok", "lib:maillib 0.9 as installed"),
    ]


def test_two_versions_lie_side_by_side(engine: Engine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = project.parent / "modules"
    monkeypatch.setenv("GOMODCACHE", str(cache))
    for version in ("v1.0.0", "v2.0.0"):
        text = f'package tree\n\n// Version is {version}\nfunc BuildTree() string {{ return "{version}" }}\n'
        write(cache / f"example.com/tree@{version}", {"tree.go": text})
    engine.index_library("example.com/tree@v1.0.0")
    engine.index_library("example.com/tree")
    answer = engine.search("BuildTree", sources=["libraries"])
    assert {(hit.path, hit.version) for hit in answer.hits} == {
        ("lib:example.com/tree@v1.0.0/tree.go", "v1.0.0"), ("lib:example.com/tree/tree.go", "v2.0.0")
    }  # fmt: skip
    write(project, {"go.mod": "module m\nrequire example.com/tree v1.0.0\n"})
    notes = engine.search("BuildTree", sources=["libraries"]).degraded
    said = "the index of lib:example.com/tree is of version v2.0.0, and v1.0.0 is installed"
    assert [note.reason for note in notes] == [said]


def test_packages_of_one_name_in_two_ecosystems_are_distinguished(engine: Engine, project: Path) -> None:
    node(project / "node_modules", "treelib", "7.0.0", {"index.js": "export function buildTree() { return tokens }\n"})
    with pytest.raises(UsageError, match="python and of node"):
        engine.index_library("treelib")
    engine.index_library("python:treelib")
    engine.index_library("node:treelib")
    answer = engine.search("build tree tokens", libraries=["treelib"])
    assert {hit.path.split("/")[0] for hit in answer.hits} == {"lib:python:treelib", "lib:node:treelib"}
    assert {hit.version for hit in engine.search("build tree", libraries=["node:treelib"]).hits} == {"7.0.0"}


def test_a_question_does_not_walk_a_library(engine: Engine, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.index_library("treelib")

    def walked(*_: object) -> None:
        raise AssertionError("the library was listed")

    monkeypatch.setattr("lurcher.corpora.libraries.list_library", walked)
    (site / "treelib" / "parser.py").unlink()
    assert engine.search("syntax tree", sources=["libraries"]).hits


def test_an_index_that_came_with_the_repository_is_not_believed(engine: Engine, project: Path, tmp_path: Path) -> None:
    engine.index_library("treelib")
    copied = tmp_path / "copied"
    shutil.copytree(project, copied)
    with Engine.open(copied) as other, pytest.raises(UsageError, match="left out") as raised:
        other.search("syntax tree", sources=["libraries"])
    assert raised.value.hint == "run: lurcher index --library NAME"


@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_a_damaged_index_is_reported_and_rebuilt(engine: Engine, project: Path, damage: str) -> None:
    engine.index_library("treelib")
    engine.index_library("maillib")
    manifest = next(project.glob(".lurcher/libraries/python_treelib-*/manifest"))
    manifest.write_bytes(manifest.read_bytes()[:-9] if damage == "cut" else b"LURCHER1" + b"\xff" * 300)
    answer = engine.search("deliver letters in a tree", sources=["libraries"])
    assert {hit.library for hit in answer.hits} == {"maillib"}
    assert "a library is left out" in answer.degraded[0].reason
    engine.index_library("treelib")
    assert not engine.search("tree", sources=["libraries"]).degraded


def test_damage_inside_is_repaired_on_the_way(engine: Engine, project: Path) -> None:
    engine.index_library("treelib")
    segment = next(project.glob(".lurcher/libraries/python_treelib-*/*.segment"))
    data = bytearray(segment.read_bytes())
    data[64:200] = b"\xff" * 136
    segment.write_bytes(bytes(data))
    with Engine.open(project) as fresh:
        answer = fresh.search("build a syntax tree from tokens", sources=["libraries"])
    assert answer.hits[0].path == "lib:treelib/parser.py"


def test_a_library_is_removed_by_name(engine: Engine, project: Path) -> None:
    engine.index_library("treelib")
    assert engine.clear_library("treelib") is True
    assert engine.clear_library("treelib") is False
    assert engine.libraries() == []
    assert (project / ".lurcher" / FOLDER_TAG).exists()


def test_a_library_without_source_says_so(engine: Engine, site: Path, project: Path) -> None:
    python(site, "binary", "1", {"binary/__init__.so": "ELF"})
    with pytest.raises(UsageError, match="has no source"):
        engine.index_library("binary")
    assert not list(project.glob(".lurcher/libraries/*binary*"))


def test_the_command_line_shows_where_and_which(ask: Run, project: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    made = ask("index", "--library", "treelib", "--library", "maillib", "--json")
    assert [entry["library"] for entry in made.json["libraries"]] == ["treelib", "maillib"]
    text = ask("search", "build a syntax tree from tokens", "--in", "libraries", "-k", "1").out
    assert text.startswith("lib:treelib/parser.py:") and "treelib 1.4.2" in text.split("\n")[0]
    hits = ask("search", "letters", "--library", "maillib", "--json").json["hits"]
    assert {(hit["library"], hit["version"]) for hit in hits} == {("maillib", "0.9")}
    lines = ask("search", "TreeBuilder", "--in", "libraries", "--format", "vimgrep").out
    assert lines.startswith(".venv/lib/python3.12/site-packages/treelib/parser.py:")
    assert "python:treelib 1.4.2, 2 files" in ask("status").out
    assert ask("index", "--library", "treelib", "--clear").out == "the index of treelib was removed\n"
    assert ask("index", "--library", "treelib", "--watch").status == 2
    assert ask("search", "x", "--in", "libraries", "--tag", "a").status == 2
    assert ask("index", "--library", "nowhere").status == 2


def test_the_index_of_libraries_follows_the_index_of_the_project(
    project: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LURCHER_INDEX_DIR", str(tmp_path / "indexes"))
    with Engine.open(project) as engine:
        made = engine.index_library("treelib")
        assert Path(made["index"]).is_relative_to(tmp_path / "indexes")
        assert engine.search("syntax tree", sources=["libraries"]).hits
    assert not (project / ".lurcher").exists()


def test_servers_ask_libraries_too(project: Path, site: Path) -> None:
    with client_for(project) as client, Engine.open(project) as engine:
        assert client.get("/api/search", params={"q": "tree", "in": "libraries"}).status_code == 400
        engine.index_library("treelib")
        found = client.get("/api/search", params={"q": "syntax tree", "library": "treelib"}).json()
        assert {(hit["library"], hit["version"]) for hit in found["hits"]} == {("treelib", "1.4.2")}
        upgrade(site, "2.0.0")  # no answer of before is given again
        found = client.get("/api/search", params={"q": "syntax tree", "library": "treelib"}).json()
        assert "2.0.0 is installed" in found["degraded"][0]["reason"]
        assert client.get("/api/search", params={"q": "tree", "in": "code", "library": "treelib"}).status_code == 400
        assert client.get("/api/facets", params={"q": "tree", "in": "libraries"}).status_code == 400


def test_agents_ask_libraries_too(project: Path, site: Path) -> None:
    pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
    from tests.surfaces.mcp.talk import Near

    with Engine.open(project) as engine:
        engine.index_library("treelib")
    with Near(project, cwd=project) as talk:
        data = talk.data("search", query="build a syntax tree", source="libraries")
        first = data["hits"][0]
        assert (first["path"], first["library"], first["version"]) == ("lib:treelib/parser.py", "treelib", "1.4.2")
        assert "(treelib 1.4.2)" in talk.text("search", query="build a syntax tree", library=["treelib"])
        assert "not indexed" in talk.error("search", query="tree", library=["maillib"])["message"]
        assert talk.error("search", query="tree", library=["treelib"], path="main.py")["code"] == "usage"
