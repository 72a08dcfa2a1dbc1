"""A grammar that is installed, or brought up to date, after an index was made is noticed; one that is missing is told of."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from lurcher import languages
from lurcher.languages import Used, checked, grammar, outdated
from lurcher.languages.grammar import describe_grammars, grammar_of, merged, used
from lurcher.runtime.kernel import native
from lurcher.surfaces.cli.print_inspect import _print_implementation
from tests.conftest import run_lurcher
from tests.indexing.conftest import opened, write

TREE = {
    "src/a.zig": "pub fn hello() void {}\n",
    "src/b.zig": "pub fn there() void {}\n",
    **{f"{name}.py": f"def elsewhere_{name}(): pass\n" for name in "cdefg"},
}
SAID = "2 zig files are cut by lines, without definitions or imports: the grammar of zig could not be loaded"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    write(folder, TREE)
    return folder


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """An environment in which the grammar of Zig cannot be loaded."""
    write(tmp_path / "shadow", {"tree_sitter_zig/__init__.py": "raise ImportError('hidden')\n"})
    return {"PYTHONPATH": str(tmp_path / "shadow")}


def ask(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    ran = run_lurcher(*arguments, "--json", env=env or {})
    assert ran.status in (0, 1), ran.err
    return dict(json.loads(ran.out))


@pytest.mark.parametrize("kernel", ["auto", "python"])
def test_files_are_read_again_when_their_grammar_is_there(tree: Path, without: dict[str, str], kernel: str) -> None:
    chosen = {"LURCHER_KERNEL": kernel}
    for _ in range(2):
        found = ask("symbol", "hello", str(tree), env={**without, **chosen})
        assert found["definitions"] == [] and SAID in json.dumps(found["degraded"])
        assert "pip install tree-sitter-zig" in json.dumps(found["degraded"])
    status = ask("status", str(tree), env={**without, **chosen})
    assert status["by_lines"]["no_grammar"] == {"zig": 2} and status["fresh"] and status["generation"] == 1
    assert status["grammars"]["zig"] == {"package": "tree-sitter-zig", "version": "", "reader": "lines"}
    status = ask("status", str(tree), env=chosen)
    assert not status["fresh"] and status["stale_paths"] == 2
    found = ask("symbol", "hello", str(tree), env=chosen)
    assert [item["path"] for item in found["definitions"]] == ["src/a.zig"] and found["degraded"] == []
    status = ask("status", str(tree), env=chosen)
    assert status["by_lines"]["no_grammar"] == {} and status["fresh"]
    reader = "tree-sitter" if kernel == "python" or native() is None else "kernel"
    assert status["grammars"] == {
        name: {"package": f"tree-sitter-{name}", "version": version(f"tree-sitter-{name}"), "reader": reader}
        for name in ("python", "zig")
    }
    # Only these were read: those in Python are where they were.
    assert sorted(segment["live"] for segment in status["segments"]) == [2, 5]
    # Who has no grammar leaves alone what others found.
    assert ask("symbol", "hello", str(tree), env={**without, **chosen})["definitions"]
    assert ask("status", str(tree), env=chosen)["generation"] == status["generation"]


def test_status_shows_versions_and_what_falls_back(tree: Path, without: dict[str, str]) -> None:
    run_lurcher("index", tree)
    python = f"python {version('tree-sitter-python')}"
    shown = run_lurcher("status", tree).out
    assert f"grammars    {python}, zig {version('tree-sitter-zig')}\n" in shown
    shown = run_lurcher("status", tree, env={**without, "LURCHER_KERNEL": "python"}).out
    assert "kernel      python (LURCHER_KERNEL=python)\n" in shown
    assert "everything falls back to Python and takes longer; unset LURCHER_KERNEL to use it\n" in shown
    assert f"grammars    {python}\n" in shown


@pytest.mark.skipif(native() is None, reason="the kernel was not built")
def test_a_grammar_that_the_kernel_refuses_is_read_by_tree_sitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "_kernel_reader", lambda language, capsule: (None, "its ABI is unknown"))
    grammar.grammar_of.cache_clear()
    try:
        assert describe_grammars(["zig", "markdown"])["zig"]["reader"] == "tree-sitter"
        entry = {"kernel": {"name": "native"}, "grammars": describe_grammars(["zig"])}
    finally:
        grammar.grammar_of.cache_clear()
    rows: list[tuple[str, str]] = []
    _print_implementation(entry, lambda name, text: rows.append((name, text)))
    assert rows[-1][1] == "zig is read by tree-sitter, which takes longer: its ABI is unknown"


def test_an_upgraded_package_makes_its_files_stale(tree: Path, tmp_path: Path) -> None:
    """The older package is the installed one under another version and time."""
    real = importlib.util.find_spec("tree_sitter_zig")
    assert real is not None and real.origin is not None
    load = f"import sys, importlib.util as u\nspec = u.spec_from_file_location(__name__, {real.origin!r})\n"
    write(tmp_path / "older", {
        "tree_sitter_zig/__init__.py": f"{load}sys.modules[__name__] = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(sys.modules[__name__])\n",
        "tree_sitter_zig-0.0.1.dist-info/METADATA": "",
    })  # fmt: skip
    older = {"PYTHONPATH": str(tmp_path / "older")}
    assert [item["path"] for item in ask("symbol", "hello", str(tree), env=older)["definitions"]] == ["src/a.zig"]
    status = ask("status", str(tree), env=older)
    assert status["fresh"] and status["stale_paths"] == 0
    status = ask("status", str(tree))
    assert not status["fresh"] and status["stale_paths"] == 2, "both files in Zig, none in Python"
    assert ask("symbol", "hello", str(tree))["definitions"]
    after = ask("status", str(tree))
    assert after["fresh"] and after["generation"] == status["generation"] + 1
    # Whoever still has the older package does not read them again.
    assert ask("symbol", "hello", str(tree), env=older)["definitions"]
    assert ask("status", str(tree))["generation"] == after["generation"]


def test_inspection_commands_and_doctor_report_it(tree: Path, without: dict[str, str]) -> None:
    for arguments in (("outline", str(tree)), ("impact", str(tree / "src/a.zig"))):
        assert SAID in json.dumps(ask(*arguments, env=without)["degraded"]), arguments
    assert "zig files are" not in json.dumps(ask("outline", str(tree / "c.py"), env=without)["degraded"])
    assert SAID in run_lurcher("doctor", str(tree), env=without).out
    said = run_lurcher("doctor", str(tree)).out
    assert "zig files were read without the grammar that is installed now" in said


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package of some version in a folder of its own, and forgets what was known."""
    folder = tmp_path / "site"
    monkeypatch.setattr(sys, "path", [str(folder)])

    def install(version: str) -> None:
        for old in folder.glob("*.dist-info"):
            old.rmdir()
        (folder / "tree_sitter_toy").mkdir(parents=True, exist_ok=True)
        (folder / "tree_sitter_toy/__init__.py").write_text(f"# {version}\n")
        (folder / f"tree_sitter_toy-{version}.dist-info").mkdir()
        forget()

    def forget() -> None:
        languages.installed.cache_clear()
        languages.version_of.cache_clear()

    forget()
    yield install
    forget()


@pytest.mark.parametrize(
    ("then", "now", "read_again"),
    [
        ("", "1.0", True), ("1.0", "1.1", True), ("1.9", "1.10", True), ("1.1", "1.0", False), ("1.0", "1.0", False),
        ("1.0", "", False), ("", "", False),
    ],
)
def test_only_a_newer_grammar_counts(package: Callable[[str], None], then: str, now: str, read_again: bool) -> None:
    if now:
        package(now)
    known = {"toy": Used("tree_sitter_toy", then, 1, 1)}
    assert outdated(known) == (("toy",) if read_again else ())


def test_a_grammar_that_cannot_be_loaded_is_tried_once(package: Callable[[str], None]) -> None:
    package("1.0")
    place = languages.installed("tree_sitter_toy")
    assert place is not None
    assert outdated({"toy": Used("tree_sitter_toy", "", *place[1:])}) == ()


def test_of_two_grammar_versions_the_older_is_recorded() -> None:
    now = used("python")
    assert now is not None and now.version not in ("", languages.UNKNOWN)
    older, newer = now.replace(version="0.1"), now.replace(version="99.1")
    assert merged({}, ["python", "text"]) == {"python": now}
    assert merged({"python": older}, ["python"]) == {"python": older}
    assert merged({"python": newer}, ["python"]) == {"python": now}
    assert grammar_of("python") is not None


@pytest.mark.parametrize("entry", [["../x", "1", 1, 1], ["x", 1, 1, 1], ["x", "1", "1", 1], ["x"], 3])
def test_a_manifest_is_not_believed(entry: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        checked({"zig": entry})


def test_an_index_without_that_is_left_as_it_is(tree: Path) -> None:
    assert opened(tree).symbol("hello").definitions
    assert outdated({}) == ()
