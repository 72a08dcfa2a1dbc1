"""A library's name leads to its folder and its files, in four ecosystems, whatever its metadata says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lurcher.errors import UsageError
from lurcher.sources import FilesSettings
from lurcher.sources import packages as source
from lurcher.sources.packages import Library, find, list_library, parse_library_name
from tests.corpora.libraries.installed import PARSER, node, python, write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an environment of its own, and nothing else that could be found."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("VIRTUAL_ENV", "GOMODCACHE", "GOPATH", "CARGO_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("sys.path", [])
    return write(tmp_path / "project", {"main.py": "import parser\n"})


@pytest.fixture
def site(project: Path) -> Path:
    folder = project / ".venv" / "lib" / "python3.12" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def found(name: str, project: Path) -> Library:
    return find(parse_library_name(name), project)


def paths(library: Library) -> list[str]:
    return [entry.path for entry in list_library(library, FilesSettings()).entries]


def skipped(library: Library) -> dict[str, int]:
    return list_library(library, FilesSettings()).skipped


class TestPython:
    def test_a_package_is_found_by_its_import_name(self, project: Path, site: Path) -> None:
        python(site, "Tree_Parser", "1.4.2", {"parser/__init__.py": "", "parser/tree.py": PARSER})
        (site / "parser" / "__pycache__").mkdir()
        (site / "parser" / "__pycache__" / "tree.pyc").write_bytes(b"\0")
        library = found("parser", project)
        assert (library.ecosystem, library.version, library.root) == ("python", "1.4.2", site / "parser")
        assert paths(library) == ["__init__.py", "tree.py"]

    def test_the_name_of_a_distribution_leads_to_what_it_installs(self, project: Path, site: Path) -> None:
        python(site, "Tree_Parser", "1.4.2", {"parser/__init__.py": ""})
        with pytest.raises(UsageError, match="not what code imports") as raised:
            found("tree-parser", project)
        assert raised.value.hint == "it installs: parser"

    def test_a_single_module_is_a_library(self, project: Path, site: Path) -> None:
        python(site, "six", "1.16", {"six.py": PARSER, "other.py": "secret = 1\n"})
        library = found("six", project)
        assert (library.version, paths(library)) == ("1.16", ["six.py"])

    def test_compiled_parts_are_left_out(self, project: Path, site: Path) -> None:
        python(site, "fast", "1.0", {"fast/__init__.py": "", "fast/_core.cpython-312-x86_64-linux-gnu.so": "ELF"})
        library = found("fast", project)
        assert paths(library) == ["__init__.py"]
        assert skipped(library) == {"binary-extension": 1}

    def test_a_namespace_that_is_shared_must_be_named_further(self, project: Path, site: Path) -> None:
        python(site, "big_storage", "2.0", {"big/storage/__init__.py": ""})
        python(site, "big_queue", "3.0", {"big/queue/__init__.py": ""})
        with pytest.raises(UsageError, match="big is a name that big_queue, big_storage share") as raised:
            found("big", project)
        assert raised.value.hint.endswith("big.queue, big.storage")
        assert found("big.queue", project).version == "3.0"

    def test_a_folder_without_metadata_is_walked(self, project: Path, site: Path) -> None:
        python(site, "bare", "1", {"bare/__init__.py": "", "bare/build/make.py": "x = 1\n"}, info=False)
        library = found("bare", project)
        assert (library.version, paths(library)) == ("", ["__init__.py", "build/make.py"])

    def test_an_editable_package_is_found_where_it_is_developed(self, project: Path, site: Path, tmp_path: Path) -> None:
        developed = write(tmp_path / "developed", {"src/mine/__init__.py": "", "src/mine/core.py": PARSER})
        python(site, "mine", "0.1", {"__editable__.mine.pth": ""})
        told = {"url": developed.as_uri(), "dir_info": {"editable": True}}
        (site / "mine-0.1.dist-info" / "direct_url.json").write_text(json.dumps(told))
        library = found("mine", project)
        assert (library.version, library.root) == ("0.1", developed / "src" / "mine")
        assert paths(library) == ["__init__.py", "core.py"]

    def test_the_environment_of_the_project_comes_before_the_active_one(
        self, project: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        active = tmp_path / "active"
        python(active / "lib" / "python3.11" / "site-packages", "a", "2", {"a/__init__.py": "", "b.py": ""})
        monkeypatch.setenv("VIRTUAL_ENV", str(active))
        assert (found("a", project).version, found("b", project).version) == ("2", "2")
        python(site, "a", "1", {"a/__init__.py": ""})
        assert found("a", project).version == "1"
        assert found("a@2", project).version == "2"
        with pytest.raises(UsageError, match="no library a@3 is installed"):
            found("a@3", project)

    @pytest.mark.parametrize("bad", ["../../outside.py", "/etc/passwd", "evil/../../x.py", "evil//x.py", "evil/./x.py"])
    def test_a_record_leads_nowhere_outside(self, project: Path, site: Path, bad: str) -> None:
        write(site.parent, {"outside.py": "secret = 1\n"})
        record = f"evil/__init__.py,,\nevil/{bad},,\n{bad},,\nevil/gone.py,,\n"
        python(site, "evil", "1", {"evil/__init__.py": "x = 1\n"}, record=record)
        assert paths(found("evil", project)) == ["__init__.py"]

    def test_links_are_not_followed(self, project: Path, site: Path, tmp_path: Path) -> None:
        secret = write(tmp_path / "secret", {"key.py": "secret = 1\n"})
        record = "linked/__init__.py,,\nlinked/key.py,,\nlinked/in/key.py,,\n"
        python(site, "linked", "1", {"linked/__init__.py": ""}, record=record)
        (site / "linked" / "key.py").symlink_to(secret / "key.py")
        (site / "linked" / "in").symlink_to(secret)
        assert paths(found("linked", project)) == ["__init__.py"]
        (site / "whole").symlink_to(secret)
        with pytest.raises(UsageError, match="leads out of"):
            found("whole", project)

    def test_a_broken_record_counts_as_far_as_it_goes(self, project: Path, site: Path) -> None:
        python(site, "odd", "1", {"odd/__init__.py": "", "odd/b.py": ""}, record='odd/__init__.py,,\n"odd/b.py\0')
        assert paths(found("odd", project))[0] == "__init__.py"

    def test_a_huge_library_is_cut_and_says_so(self, project: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(source, "MAX_FILES", 3)
        python(site, "huge", "1", {"huge/__init__.py": ""} | {f"huge/m{i}.py": "" for i in range(5)})
        library = found("huge", project)
        assert (len(paths(library)), skipped(library)) == (3, {"too-many": 3})


class TestNode:
    def test_the_nearest_folder_upward_is_the_one(self, project: Path) -> None:
        node(project.parent / "node_modules", "left-pad", "1.0.0", {"index.js": ""})
        node(project.parent / "node_modules", "@scope/parser", "2.1.0", {"dist/index.js": "export const a = 1\n"})
        node(project / "node_modules", "left-pad", "1.3.0", {"index.js": "", "node_modules/inner/index.js": ""})
        assert found("left-pad", project).version == "1.3.0"
        assert paths(found("left-pad", project)) == ["index.js", "package.json"]
        scoped = found("@scope/parser", project)
        assert (scoped.version, paths(scoped)) == ("2.1.0", ["dist/index.js", "package.json"])
        assert found("@scope/parser@2.1.0", project).version == "2.1.0"

    def test_a_store_beside_is_followed_and_a_way_out_is_not(self, project: Path, tmp_path: Path) -> None:
        modules = project / "node_modules"
        node(modules / ".pnpm" / "a@1.0.0" / "node_modules", "a", "1.0.0", {"a.js": ""})
        (modules / "a").symlink_to(".pnpm/a@1.0.0/node_modules/a")
        assert paths(found("a", project)) == ["a.js", "package.json"]
        node(tmp_path / "elsewhere", "b", "1.0.0", {"b.js": ""})
        (modules / "b").symlink_to(tmp_path / "elsewhere" / "b")
        with pytest.raises(UsageError, match="leads out of"):
            found("b", project)

    def test_a_version_that_is_none_is_not_shown(self, project: Path) -> None:
        folder = node(project / "node_modules", "c", "1", {})
        (folder / "package.json").write_text('{"version": "1\\u001b[31m"}')
        assert found("c", project).version == ""
        (folder / "package.json").write_text("[" * 100_000)
        assert found("c", project).version == ""


class TestGoAndCargo:
    def test_a_go_module_has_the_version_that_is_required(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = project.parent / "modules"
        monkeypatch.setenv("GOMODCACHE", str(cache))
        for version in ("v1.2.0", "v1.10.0", "v1.11.0-rc.1"):
            write(cache / f"github.com/!big!corp/tree@{version}", {"tree.go": "package tree\n"})
        name = "github.com/BigCorp/tree"
        assert found(name, project).version == "v1.11.0-rc.1"
        write(project, {"go.mod": "module m\n\nrequire (\n\tgithub.com/BigCorp/tree v1.2.0 // indirect\n)\n"})
        assert found(name, project).version == "v1.2.0"
        assert found(f"{name}@v1.10.0", project).root.name == "tree@v1.10.0"
        assert paths(found(name, project)) == ["tree.go"]
        with pytest.raises(UsageError, match="no library"):
            found("github.com/bigcorp/tree", project)

    def test_a_crate_has_the_version_of_the_lock_file(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CARGO_HOME", str(project.parent / "cargo"))
        source = project.parent / "cargo" / "registry" / "src" / "index.example-1"
        for version in ("1.0.9", "1.0.10"):
            write(source / f"tree-parser-{version}", {"Cargo.toml": "", "src/lib.rs": "pub fn a() {}\n"})
        write(source / "tree-parser-macros-9.0.0", {"Cargo.toml": ""})
        assert found("tree_parser", project).version == "1.0.10"
        write(project, {"Cargo.lock": '[[package]]\nname = "tree-parser"\nversion = "1.0.9"\n'})
        assert found("tree-parser", project).version == "1.0.9"
        assert paths(found("tree_parser", project)) == ["Cargo.toml", "src/lib.rs"]


def test_a_name_of_two_ecosystems_must_say_which(project: Path, site: Path) -> None:
    python(site, "a", "1", {"a/__init__.py": ""})
    node(project / "node_modules", "a", "2.0.0", {"a.js": ""})
    with pytest.raises(UsageError, match="a is a library of python and of node") as raised:
        found("a", project)
    assert raised.value.hint == "say python:a or node:a"
    assert (found("python:a", project).version, found("node:a", project).version) == ("1", "2.0.0")


@pytest.mark.parametrize("bad", ["", "../x", "a/../b", "/etc", "a\0b", "a\\b", "x" * 400, "ruby:rails", "a@../..", "a\nb", "@"])
def test_what_is_no_name_is_refused(project: Path, site: Path, bad: str) -> None:
    with pytest.raises(UsageError):
        found(bad, project)
