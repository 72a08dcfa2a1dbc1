# ruff: noqa: E501 - files on one line each

"""What each language says about which definition a name means: namespaces, sigils, labels, parameters of classes."""

from __future__ import annotations

from lurcher.inspect import Basis
from lurcher.inspect.references.answer import Finder, find_references
from lurcher.inspect.references.calls import find_implementations
from lurcher.types import IndexState
from tests.small import snapshot_of


def uses(name: str, **files: str) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """Resolved uses and candidates of a name; in a file's name `__` stands for the dot."""
    snapshot = snapshot_of({path.replace("__", "."): text for path, text in files.items()})
    answer = find_references(Finder(snapshot), name, None, frozenset(), None, Basis(IndexState(1, True, 0)))
    found: dict[str, list[tuple[str, int, str]]] = {"resolved": [], "candidate": []}
    for use in answer.references:
        found[use.resolution].append((use.path, use.line, use.how))
    return found["resolved"], found["candidate"]


FILES = "<?php\nnamespace App\\Files;\nclass Disk {\n public $name;\n function name() { return $this->name; }\n function read() { return $this->name() . name($name); }\n}\n"


def test_a_class_of_a_php_namespace_is_found_by_use_by_alias_and_by_its_full_name() -> None:
    resolved, candidates = uses(
        "Disk", Disk__php=FILES,
        use__php="<?php\nnamespace App\\Web;\nuse App\\Files\\Disk;\nfunction f(Disk $d) { return new Disk; }\n",
        alias__php="<?php\nuse App\\Files\\Disk as Drive;\nclass Disk extends Drive {}\n",
        full__php="<?php\nreturn [\\App\\Files\\Disk::class, \\Other\\Disk::class];\n",
        other__php="<?php\nnamespace App\\Other;\nuse function App\\Files\\Disk\\open;\n$x = Disk::class;\n",
    )  # fmt: skip
    assert ("use.php", 4, "import") in resolved and ("alias.php", 3, "import") in resolved
    assert [use for use in resolved if use[0] in ("full.php", "other.php")] == [("full.php", 2, "import")]
    assert candidates == []


def test_a_php_variable_function_field_and_method_of_one_name_are_told_apart() -> None:
    snapshot = snapshot_of({"Disk.php": FILES})
    finder = Finder(snapshot)
    source = finder.program.file(snapshot.live_paths["Disk.php"])
    meant = []
    for occurrence in source.occurrences("name"):
        found = None if occurrence[0] in source.own_places("name") else finder.resolver.resolve(source, "name", occurrence)
        meant.append(found and [symbol.kind for symbol in found.symbols])
    assert meant == [None, None, ["field"], ["method"], None, None]


def test_a_static_property_of_php_is_a_member() -> None:
    text = "<?php\nclass A {\n static $made = 1;\n function made() { return self::$made; }\n}\nclass B extends A {\n function f() { return parent::made(); }\n}\n"
    resolved, _ = uses("A.made", A__php=text)
    assert resolved == [("A.php", 4, "self"), ("A.php", 7, "super")]


def test_a_name_of_a_csharp_namespace_is_visible_where_it_is_opened_and_partial_classes_are_one() -> None:
    resolved, candidates = uses(
        "Mapper", a__cs="namespace Data { public partial class Mapper { } }\n", b__cs="namespace Data { public partial class Mapper { } }\n",
        same__cs="namespace Data.Inner { class X { Mapper m; } }\n", opened__cs="using Data;\nclass Y { Mapper m; }\n",
        unknown__cs="class Z { Mapper m; }\n",
    )  # fmt: skip
    assert resolved == [("opened.cs", 2, "package"), ("same.cs", 1, "package")]
    assert candidates == [("unknown.cs", 1, "name")]


def test_a_name_of_a_cpp_namespace_is_found_with_and_without_it() -> None:
    resolved, candidates = uses(
        "print", fmt__h="namespace fmt { void print(int x); }\n", fmt__cpp='#include "fmt.h"\nnamespace fmt { void go() { print(1); } }\n',
        a__cpp='#include "fmt.h"\nvoid f() { fmt::print(1); }\n', b__cpp='#include "fmt.h"\nusing namespace fmt;\nvoid f() { print(1); }\n',
        c__cpp='#include "fmt.h"\nvoid f() { print(1); }\n',
    )  # fmt: skip
    assert resolved == [("a.cpp", 2, "class"), ("b.cpp", 3, "import"), ("fmt.cpp", 2, "import")]
    assert candidates == [("c.cpp", 2, "name")]


def test_functions_in_a_module_in_a_file_are_in_scope_there() -> None:
    assert uses("helper", a__rs="mod tests {\n    fn helper() {}\n    fn t() { helper(); }\n}\nfn helper_too() {}\n")[0] == [("a.rs", 3, "scope")]
    assert uses("esc", a__rb="module R\n  module U\n    def esc(x)\n    end\n    def go\n      esc(1)\n    end\n  end\nend\nR::U.esc(2)\n")[0] == [
        ("a.rb", 6, "scope"), ("a.rb", 10, "class"),
    ]  # fmt: skip
    elixir = "defmodule A.B do\n  def path(x) do\n    path = path(x)\n    path\n  end\n  def path(x, y), do: path(x)\nend\n"
    assert uses("path", a__ex=elixir)[0] == [("a.ex", 3, "scope"), ("a.ex", 6, "scope")]


def test_members_of_two_types_of_one_name_are_told_apart() -> None:
    files = {"a__rb": "class Request\n  class Headers\n    def each\n    end\n  end\nend\n"}
    assert uses("each", **files, b__rb="class Headers\n  def go\n    each\n  end\nend\n")[0] == []
    go = {"a/a__go": "package a\ntype T struct{}\n", "b/b__go": "package b\ntype T struct{}\nfunc (t T) Run() {}\n"}
    assert uses("Run", **go, **{"a/c__go": "package a\nfunc f() { t := T{}; t.Run() }\n"})[0] == []


def test_an_import_by_name_comes_before_the_package() -> None:
    files = {"a/Foo__java": "package a;\nclass Foo {}\n", "b/Foo__java": "package b;\npublic class Foo {}\n"}
    user = {"a/Use__java": "package a;\nimport b.Foo;\nclass Use { Foo foo; }\n"}
    assert {use[0] for use in uses("b.Foo", **files, **user)[0]} <= {"a/Use.java"}
    snapshot = snapshot_of({path.replace("__", "."): text for path, text in {**files, **user}.items()})
    finder = Finder(snapshot)
    source = finder.program.file(snapshot.live_paths["a/Use.java"])
    found = [finder.resolver.resolve(source, "Foo", occurrence) for occurrence in source.occurrences("Foo")]
    assert [use.symbols[0].file.path for use in found if use] == ["b/Foo.java", "b/Foo.java"]


def test_parameters_of_a_class_and_named_arguments_are_no_fields() -> None:
    kotlin = "open class Base(val table: Int)\nclass Sub(table: Int) : Base(table) {\n    val twice = make(table = table)\n    fun f() = table\n}\n"
    assert uses("table", a__kt=kotlin)[0] == [("a.kt", 4, "scope")] or uses("table", a__kt=kotlin)[0] == []
    swift = "class A {\n  var url: Int\n  var list: [Int]\n  func f(x: Int) { let h: (_ url: Int) -> Void\n    print([url: 1], url) }\n}\nenum E { case bad(url: Int) }\n"
    assert uses("url", a__swift=swift)[0] == [("a.swift", 5, "scope"), ("a.swift", 5, "scope")]


def test_an_associated_type_and_a_condition_of_rust_are_no_uses() -> None:
    rust = "pub struct Response;\nfn f<S>(s: S) -> Response where S: Service<u8, Response = u8> { Response }\n#[cfg(test)]\nmod x {}\n"
    assert uses("Response", a__rs=rust)[0] == [("a.rs", 2, "scope"), ("a.rs", 2, "scope")]
    assert uses("test", a__rs="fn test() {}\n#[cfg(test)]\nfn g() { test(); }\n")[0] == [("a.rs", 3, "scope")]


def test_a_method_that_a_variable_may_hide_is_a_candidate_in_ruby() -> None:
    ruby = "def body\nend\ntest 1 do\n  body = 2\n  use(body)\nend\n"
    assert uses("body", a__rb=ruby)[0] == []
    assert uses("env", a__rb="Class.new do\n  attr_reader :env\nend\nenv = 1\nenv\n")[0] == []


def test_what_the_parser_of_cpp_takes_for_a_type_is_no_function() -> None:
    assert uses("format", a__cpp="int format(int x);\nTEST(group, format) { format(1); }\n")[0] == [("a.cpp", 2, "scope")]


def test_an_interface_that_another_build_declares_again_implements_nothing() -> None:
    text = "package a\ntype Closer interface {\n\tClose() error\n}\n"
    snapshot = snapshot_of({"a.go": text, "b.go": text, "c.go": "package a\ntype F struct{}\nfunc (f F) Close() error { return nil }\n"})
    found = find_implementations(Finder(snapshot), "Closer", None, None, Basis(IndexState(1, True, 0)))
    assert [entry.name for entry in found.implementations] == ["F"]
