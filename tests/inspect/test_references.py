# ruff: noqa: E501 - files on one line each

"""Who uses a definition: what is resolved, and how; what is only a candidate; and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.chunking.code import parse
from lurcher.engine import Engine
from lurcher.errors import LurcherError, QueryError
from lurcher.inspect import Basis
from lurcher.inspect.references.answer import Finder, ReferencesAnswer, check_kinds, check_limit, find_references
from lurcher.inspect.references.calls import find_calls, find_implementations
from lurcher.types import IndexState
from tests.small import snapshot_of

STANDING = Basis(IndexState(1, True, 0))
FILES = {
    "shop/__init__.py": "from .client import Client as Customer, connect\n",
    "shop/base.py": "class Base:\n    def send(self):\n        return None\n\n    def close(self):\n        self.send()\n",
    "shop/client.py": (
        "from .base import Base\n\n\nclass Client(Base):\n    limit = 3\n\n    def send(self):\n        return self.retry()\n\n"
        "    def retry(self) -> 'Client':\n        return self\n\n\ndef connect(host) -> Client:\n    return Client()\n"
    ),
    "shop/cart.py": (
        "import shop\nfrom shop import connect, Customer\n\n\nclass Cart:\n    def __init__(self, client: Customer):\n"
        "        self.client = client\n\n    def buy(self, other, connect_to=connect):\n        self.client.retry()\n"
        "        other.retry()\n        client = connect('x')\n        client.retry().send()\n        shop.connect('retry')  # retry\n"
    ),
    "shop/unlike.py": "def connect():\n    retry = 1\n    return retry\n\n\nconnect()\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_buy():\n    Cart(None).buy(None)\n",
}


def asked(
    name: str, kinds: tuple[str, ...] = (), limit: int | None = None, files: dict[str, str] | None = None, **more: str
) -> ReferencesAnswer:
    return find_references(Finder(snapshot_of({**(files or FILES), **more})), name, None, check_kinds(kinds), limit, STANDING)


def places(answer: ReferencesAnswer, resolution: str = "resolved") -> list[tuple[str, int, str, str]]:
    return [(use.path, use.line, use.kind, use.how) for use in answer.references if use.resolution == resolution]


def test_members_are_resolved_by_what_is_written_down() -> None:
    answer = asked("Client.retry")
    assert places(answer) == [
        ("shop/cart.py", 10, "call", "annotation"),
        ("shop/cart.py", 13, "call", "result"),
        ("shop/client.py", 8, "call", "self"),
    ]
    assert places(answer, "candidate") == [("shop/cart.py", 11, "call", "name")]
    assert (answer.total, answer.resolved) == (4, 3)


def test_names_are_resolved_through_imports_and_told_from_others_of_the_same_name() -> None:
    answer = asked("shop.client.connect")
    assert [(use.path, use.line, use.column, use.kind) for use in answer.references] == [
        ("shop/__init__.py", 1, 41, "import"),
        ("shop/cart.py", 2, 18, "import"),
        ("shop/cart.py", 9, 37, "read"),
        ("shop/cart.py", 12, 18, "call"),
        ("shop/cart.py", 14, 14, "call"),
    ]
    assert {use.definition for use in answer.references} == {("shop/client.py", 14)}
    assert places(asked("shop.unlike.connect")) == [("shop/unlike.py", 6, "call", "scope")]


def test_an_alias_is_followed() -> None:
    found = [(use.path, use.line, use.kind) for use in asked("Client").references]
    assert ("shop/cart.py", 6, "type") not in found  # `Customer` is a name of shop's, not of this file's import of Client
    alias = {"a.py": "class Long:\n    pass\n", "b.py": "from a import Long as L\n\n\ndef f(x: L):\n    return L()\n"}
    answer = asked("Long", files=alias)
    assert [(use.line, use.kind) for use in answer.references] == [(1, "import"), (4, "type"), (5, "call")]


def test_a_local_name_is_no_use_and_neither_are_strings_and_comments() -> None:
    assert not [use for use in asked("Client.retry").references if use.path == "shop/unlike.py"]
    assert not [use for use in asked("Client.retry").references if use.line == 14]


def test_a_call_through_a_base_is_a_candidate_of_the_override() -> None:
    answer = asked("Client.send")
    assert places(answer) == [("shop/cart.py", 13, "call", "result")]
    assert places(answer, "candidate") == [("shop/base.py", 6, "call", "override")]


def test_what_is_inherited_is_found_in_the_base() -> None:
    answer = asked("Base.close", **{
        "shop/more.py": "from .client import Client\n\n\ndef f():\n    c = Client()\n    c.close()\n    Client.close(c)\n",
    })  # fmt: skip
    assert ("shop/more.py", 6, "call", "constructor") in places(answer)
    assert ("shop/more.py", 7, "call", "class") in places(answer)


def test_each_use_says_what_is_around_it() -> None:
    use = asked("Client.retry").references[0]
    assert (use.enclosing, use.text, use.test) == ("Cart.buy", "self.client.retry()", False)
    value = use.to_dict()
    assert value["definition"] == {"path": "shop/client.py", "line": 10} and value["column"] == 21
    assert set(value) >= {"path", "line", "column", "kind", "enclosing", "text", "resolution", "how", "definition"}


def test_kinds_and_limits() -> None:
    assert {use.kind for use in asked("connect", ("call",)).references} == {"call"}
    answer = asked("connect", limit=2)
    assert len(answer.references) == 2 and answer.total > 2
    with pytest.raises(QueryError, match="is not a kind of reference"):
        asked("connect", ("calls",))
    with pytest.raises(QueryError, match="the limit is -1"):
        check_limit(-1)


def test_a_name_that_the_tree_does_not_define_has_candidates_only() -> None:
    answer = asked("loads", **{"x.py": "import json\njson.loads('1')\n"})
    assert answer.definitions == () and [use.resolution for use in answer.references] == ["candidate"]
    assert "no definition of loads" in answer.basis.degraded[0].reason
    assert asked("nowhere_at_all").references == ()


def test_typescript_imports_classes_and_receivers() -> None:
    files = {
        "src/api.ts": (
            "export class Api {\n  #n = 1;\n  get(): Api { return this.make(); }\n  make(): Api { this.#hid(); return new Api(); }\n"
            "  #hid() {}\n}\nexport default function start(a: Api) { a.get(); }\n"
        ),
        "src/index.ts": "export { Api as Service } from './api';\nexport * from './api';\n",
        "src/use.ts": (
            "import begin, { Api } from './api';\nimport * as all from './index';\nclass U {\n  constructor(private api: Api) {}\n"
            "  go(y) { this.api.get(); all.Api; const x = new Api(); x.get().make(); y.get(); begin(x); }\n}\n"
        ),
    }
    get = asked("Api.get", files=files)
    assert [(use.path, use.line, use.how) for use in get.references if use.resolution == "resolved"] == [
        ("src/api.ts", 7, "annotation"), ("src/use.ts", 5, "annotation"), ("src/use.ts", 5, "constructor"),
    ]  # fmt: skip
    assert [use.line for use in get.references if use.resolution == "candidate"] == [5]
    assert [(use.path, use.line) for use in asked("Api.make", files=files).references] == [("src/api.ts", 3), ("src/use.ts", 5)]
    assert [(use.path, use.line) for use in asked("#hid", files=files).references] == [("src/api.ts", 4)]
    uses = [(use.path, use.line, use.kind) for use in asked("Api", files=files).references]
    assert ("src/use.ts", 4, "type") in uses and ("src/use.ts", 5, "call") in uses and ("src/index.ts", 1, "import") in uses


def test_packages_of_go_and_methods_by_receivers() -> None:
    files = {
        "go.mod": "module m\n",
        "a/a.go": (
            "package a\n\ntype S struct{}\n\nfunc (s *S) Run() { s.stop() }\nfunc (s *S) stop() {}\nfunc New() *S { return &S{} }\n"
        ),
        "a/b.go": "package a\n\nfunc use(s *S) { s.Run(); New().Run() }\n",
        "c/c.go": 'package c\n\nimport "m/a"\n\nfunc f() { x := a.New(); x.Run() }\n',
    }
    assert [(use.path, use.line) for use in asked("New", files=files).references if use.resolution == "resolved"] == [
        ("a/b.go", 3), ("c/c.go", 5),
    ]  # fmt: skip
    run = [(use.path, use.how) for use in asked("S.Run", files=files).references if use.resolution == "resolved"]
    assert run == [("a/b.go", "annotation"), ("a/b.go", "result"), ("c/c.go", "result")]


def test_java_and_rust_at_least_see_their_own_package_and_type() -> None:
    java = {
        "p/A.java": "package p;\nclass A { void m() { n(); this.n(); } void n() {} }\n",
        "p/B.java": "package p;\nclass B extends A { void k(A a) { a.m(); new A().n(); } }\n",
    }
    assert [(use.path, use.line) for use in asked("A.n", files=java).references if use.resolution == "resolved"] == [
        ("p/A.java", 2), ("p/A.java", 2), ("p/B.java", 2),
    ]  # fmt: skip
    methods = "fn new() -> S { S } fn go(&self) { self.stop() } fn stop(&self) {}"
    rust = {"src/lib.rs": f"struct S;\nimpl S {{ {methods} }}\nfn f() {{ S::new(); }}\n"}
    assert [use.how for use in asked("S.new", files=rust).references] == ["class"]
    assert [use.how for use in asked("S.stop", files=rust).references] == ["self"]


# -- places -------------------------------------------------------------------------------------------------------------------


def at(path: str, line: int, column: int | None = None) -> ReferencesAnswer:
    snapshot = snapshot_of(FILES)
    return find_references(Finder(snapshot), "", (snapshot.live_paths[path], line, column), frozenset(), None, STANDING)


def test_a_place_is_that_of_a_definition_or_of_a_use() -> None:
    assert at("shop/client.py", 10).name == at("shop/cart.py", 10, 21).name == at("shop/cart.py", 10, 25).name == "Client.retry"
    assert at("shop/client.py", 10).references == asked("Client.retry").references


@pytest.mark.parametrize(("line", "column"), [(0, None), (99, None), (3, None), (3, 1), (4, 999)])
def test_places_without_a_name_are_an_error(line: int, column: int | None) -> None:
    with pytest.raises(QueryError):
        at("shop/client.py", line, column)


@pytest.mark.parametrize("name", ["", "   ", "::", "...", "x" * 5000, "\0", "()"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(QueryError):
        asked(name)


# -- calls and implementations ------------------------------------------------------------------------------------------------


def called(name: str, direction: str, depth: int | None = None) -> list[tuple[str, str, int]]:
    answer = find_calls(Finder(snapshot_of(FILES)), name, None, direction, depth, None, STANDING)
    return [(call.path, call.name, call.depth) for call in answer.calls]


def test_callers_over_several_steps() -> None:
    assert called("Client.retry", "callers") == [("shop/cart.py", "Cart.buy", 1), ("shop/client.py", "Client.send", 1)]
    assert ("tests/test_cart.py", "test_buy", 2) in called("Client.retry", "callers", 2)


def test_callees_and_tests() -> None:
    assert called("Client.send", "callees") == [("shop/client.py", "Client.retry", 1)]
    assert called("Client.retry", "tests") == [("tests/test_cart.py", "test_buy", 2)]
    with pytest.raises(QueryError):
        called("Client.retry", "tests", 0)


def test_implementations_are_subtypes_and_overrides() -> None:
    more = {**FILES, "shop/deep.py": "from .client import Client\n\n\nclass Deep(Client):\n    def send(self):\n        pass\n"}
    snapshot = snapshot_of(more)
    types = find_implementations(Finder(snapshot), "Base", None, None, STANDING).implementations
    assert [(entry.name, entry.depth, entry.of) for entry in types] == [("Client", 1, "Base"), ("Deep", 2, "Client")]
    methods = find_implementations(Finder(snapshot), "Base.send", None, 1, STANDING)
    assert [entry.name for entry in methods.implementations] == ["Client.send"] and methods.total == 2


def test_interfaces_of_go_and_traits_of_rust() -> None:
    full = "type S struct{}\n\nfunc (s S) Run() {}\nfunc (s S) Stop() {}\n"
    half = "type T struct{}\n\nfunc (t T) Run() {}\n"
    go = snapshot_of({"a.go": f"package a\n\ntype I interface {{ Run(); Stop() }}\n\n{full}\n{half}"})
    (found,) = find_implementations(Finder(go), "I", None, None, STANDING).implementations
    assert (found.name, found.resolution, found.how) == ("S", "candidate", "methods")
    rust = snapshot_of({"src/lib.rs": "pub trait Tr { fn go(&self); }\npub struct S;\nimpl Tr for S { fn go(&self) {} }\n"})
    assert [entry.name for entry in find_implementations(Finder(rust), "Tr", None, None, STANDING).implementations] == ["S"]


# -- the engine ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_edits_are_seen_by_the_next_question(tree: Path) -> None:
    with Engine.open(tree) as engine:
        before = engine.references("Client.retry")
        assert before.resolved == 3
        (tree / "shop/more.py").write_text("from shop.client import Client\n\nClient().retry()\n", "utf-8")
        assert engine.references("Client.retry").resolved == 4
        (tree / "shop/cart.py").unlink()
        after = engine.references("shop/client.py:10:9")
        assert [use.path for use in after.references if use.resolution == "resolved"] == ["shop/client.py", "shop/more.py"]
        assert engine.references("Client.retry").to_dict()["references"] == after.to_dict()["references"]
    with Engine.open(tree) as engine:
        assert engine.references("Client.retry").resolved == 2
        engine.index(rebuild=True)
        assert engine.references("Client.retry").references == after.references


def test_damaged_occurrences_are_repaired(tree: Path) -> None:
    with Engine.open(tree) as engine:
        assert engine.references("Client.retry").resolved == 3
    encoded = parse((tree / "shop/cart.py").read_bytes(), "python").occurrences
    (segment,) = (tree / ".lurcher").glob("*.segment")
    data = segment.read_bytes()
    assert data.count(encoded[:12]) == 1  # short enough to be stored as it is
    segment.write_bytes(data.replace(encoded[:12], b"\xff" * 12))
    with Engine.open(tree) as engine:
        answer = engine.references("Client.retry")
        assert answer.resolved == 3 and answer.basis.degraded


def test_the_commands_print_and_say_what_is_wrong(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import os

    from lurcher.surfaces.cli import main

    here = Path.cwd()
    os.chdir(tree)
    try:
        run: Callable[..., Any] = lambda *arguments: (main([*arguments, "-q"]), capsys.readouterr())  # noqa: E731
        status, output = run("references", "Client.retry")
        assert status == 0 and "shop/cart.py\n  10:21  call  Cart.buy  self.client.retry()" in output.out
        assert "4 uses" in output.err and "candidates:" in output.out
        status, output = run("references", "shop/client.py:10", "--callers", "--depth", "2")
        assert status == 0 and "test_buy" in output.out
        assert run("implementations", "Base")[0] == 0
        status, output = run("references", "Client.retry", "--format", "vimgrep", "-k", "1")
        assert output.out == "shop/cart.py:10:21:self.client.retry()\n"
        for command in (("references",), ("references", "--callers"), ("implementations",)):
            said = [run(*command, "no_such_name", *more) for more in ((), ("--format", "vimgrep"))]
            assert [(status, output.out) for status, output in said] == [(1, "")] * 2
            assert all("no definition of no_such_name" in output.err for _, output in said)
        both = ("--callers", "--tests"), ("--kind", "call", "--callers"), ("--depth", "2")
        for wrong in (*both, ("--kind", "x"), ("--tests", "--depth", "0")):
            status, output = run("references", "Client.retry", *wrong)
            assert status == 2 and output.err.startswith("lurcher: ") and output.err.count("\n") == 1
        assert run("references", "shop/client.py:999")[0] == 2
        assert run("references", "shop/nothing.py:1")[0] == 2
    finally:
        os.chdir(here)


def test_only_the_folders_of_the_engine_are_looked_at(tree: Path) -> None:
    with Engine.open([tree / "shop"], root=tree) as engine:
        assert {use.path for use in engine.references("Cart").references} == set()
        assert not engine.calls("Cart.buy", direction="tests").calls
        assert engine.references("Cart").definitions
        with pytest.raises(LurcherError, match="outside of the given folders"):
            engine.references("tests/test_cart.py:5")
    with Engine.open([tree / "tests"], root=tree) as engine:
        answer = engine.references("Cart.buy")
        assert answer.definitions == () and {use.resolution for use in answer.references} == {"candidate"}


def test_directions_of_calls_are_checked(tree: Path) -> None:
    with Engine.open(tree) as engine, pytest.raises(LurcherError, match="unknown direction"):
        engine.calls("Client.retry", direction="up")


def test_a_bare_name_in_go_never_means_a_method_of_the_same_file() -> None:
    go = "package a\n\ntype Level int\n\nfunc (l Level) string() string {\n\treturn \"x\"\n}\n\nfunc f(name string) {\n\tLevel(1).string()\n}\n"
    answer = asked("Level.string", files={"a/a.go": go})
    assert [(use.line, use.kind) for use in answer.references if use.resolution == "resolved"] == [(10, "call")]
    assert not [use for use in answer.references if use.kind == "type"]


def test_the_total_of_a_popular_name_is_a_lower_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some occurrences, files are left out once as many resolved uses were found as are to be listed."""
    monkeypatch.setattr("lurcher.inspect.references.answer._ENOUGH_OCCURRENCES", 6)
    uses = {f"shop/use{number}.py": "from shop.client import connect\n\nconnect('a')\nconnect('b')\n" for number in range(6)}
    every = asked("shop.client.connect", **uses)
    assert every.basis.degraded == ()
    few = asked("shop.client.connect", limit=2, **uses)
    assert len(few.references) == 2
    assert 2 <= few.total < every.total
    assert [note.stage for note in few.basis.degraded] == ["references"]
    assert f"more uses than these {few.total}" in few.basis.degraded[0].reason
    assert few.references == every.references[:2]
    # One kind may be in the files that would be left out: all are looked at.
    assert asked("shop.client.connect", ("call",), limit=2, **uses).total == sum(use.kind == "call" for use in every.references)

def test_of_a_popular_member_the_files_with_the_name_of_its_type_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """`connect` is called on things of unknown type in many files; those that do not name the type are left out, with a note."""
    monkeypatch.setattr("lurcher.inspect.references.answer._ENOUGH_OCCURRENCES", 6)
    shop = {"shop/pool.py": "class Pool:\n    def connect(self): ...\n"}
    others = {f"a/other{number}.py": "def run(thing):\n    thing.connect()\n    thing.connect()\n" for number in range(6)}
    last = {"z/main.py": "from shop.pool import Pool\n\nPool().connect()\n"}
    found = asked("Pool.connect", **shop, **others, **last)
    assert next((use.path, use.resolution) for use in found.references) == ("z/main.py", "resolved")
    assert found.total < 13
    assert "not all files were looked at" in found.basis.degraded[0].reason
