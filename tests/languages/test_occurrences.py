# ruff: noqa: E501 - sources on one line, with their columns below

"""Where names occur and what they are there, in every language; the kernel and the reference agree."""

from __future__ import annotations

import pytest

from lurcher.chunking.code import parse
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.grammar import grammar_of
from lurcher.languages.occurrences import (
    DEFINITION,
    LABEL,
    MEMBER,
    decode_occurrences,
    encode_occurrences,
    find_occurrences,
    kind_name,
    parse_rules,
)
from lurcher.runtime.kernel import native
from tests.languages.samples import samples

SOURCES = {
    "python": (
        "import json\nclass A(Base):\n    @wraps\n    def f(self, a: T) -> None:\n        self.x = g(a).h\n        # g in a comment\n"
        "        return 'g in a string'\n",
        "json:1:8:import A:2:7:definition Base:2:9:inheritance wraps:3:6:decorator f:4:9:definition self:4:11:definition "
        "a:4:17:definition T:4:20:type self:5:9:read x:5:14:write g:5:18:call a:5:20:read h:5:23:attribute",
    ),
    "javascript": (
        "import { a as b } from './x';\nclass C extends D { m(p) { return this.n(new E(`${p}`)); } }\nv = w.u;\n",
        "a:1:10:import b:1:15:import C:2:7:definition D:2:17:inheritance m:2:21:definition p:2:23:definition n:2:40:call "
        "E:2:46:call p:2:51:read v:3:1:write w:3:5:read u:3:7:attribute",
    ),
    "typescript": (
        "interface I extends J<K> { f(a: B): void }\nconst x: Map<T> = new Map();\n@Dec() class Q implements I {}\n",
        "I:1:11:definition J:1:21:inheritance K:1:23:type f:1:28:definition a:1:30:definition B:1:33:type x:2:7:definition "
        "Map:2:10:type T:2:14:type Map:2:23:call Dec:3:2:decorator Q:3:14:definition I:3:27:inheritance",
    ),
    "tsx": ("const a = <Foo b={c}/>;\n", "a:1:7:definition Foo:1:12:call c:1:19:read"),
    "go": (
        "package p\nimport f \"fmt\"\ntype S struct { x T }\nfunc (s *S) M(a A) R { s.x.Foo(a); v := g(1); v = 2 }\n",
        "f:2:8:import S:3:6:definition x:3:17:definition T:3:19:type s:4:7:definition S:4:10:type M:4:13:definition "
        "a:4:15:definition A:4:17:type R:4:20:type s:4:24:read x:4:26:attribute Foo:4:28:call a:4:32:read v:4:36:definition "
        "g:4:41:call v:4:47:write",
    ),
    "java": (
        "import a.B;\n@Ann class C extends D<E> implements I {\n  F f = new G(h);\n  R m(P p) { return f.n(p); }\n}\n",
        "a:1:8:import B:1:10:import Ann:2:2:decorator C:2:12:definition D:2:22:inheritance E:2:24:type I:2:38:inheritance "
        "F:3:3:type f:3:5:definition G:3:13:call h:3:15:read R:4:3:type m:4:5:definition P:4:7:type p:4:9:definition "
        "f:4:21:read n:4:23:call p:4:25:read",
    ),
    "rust": (
        "use a::B;\nimpl Tr for S { fn f(&self, p: P) -> R { self.x.g(p); m::h(1); mac!(q) } }\n",
        "a:1:5:read B:1:8:import Tr:2:6:inheritance S:2:13:type f:2:20:definition p:2:29:definition P:2:32:type R:2:38:type "
        "x:2:47:attribute g:2:49:call p:2:51:read m:2:55:read h:2:58:call mac:2:64:call q:2:69:read",
    ),
    "c": ("int f(struct s *p, T t) { p->x = g(t); return K; }\n",
          "f:1:5:definition s:1:14:type p:1:17:definition T:1:20:type t:1:22:definition p:1:27:read x:1:30:write g:1:34:call "
          "t:1:36:read K:1:47:read"),
    "cpp": ("class A : public B<V> { T f; };\nvoid A::m(P p) { n::g(new X(p)); }\n",
            "A:1:7:definition B:1:18:inheritance V:1:20:type T:1:25:type f:1:27:definition A:2:6:read m:2:9:definition "
            "P:2:11:type p:2:13:definition n:2:18:read g:2:21:call X:2:27:call p:2:29:read"),
    "csharp": ("using A;\n[At] class C : B { F f = new G(h); R M(P p) { return f.N(p); } }\n",
               "A:1:7:import At:2:2:decorator C:2:12:definition B:2:16:inheritance F:2:20:type f:2:22:definition G:2:30:call "
               "h:2:32:read R:2:36:type M:2:38:definition P:2:40:type p:2:42:definition f:2:54:read N:2:56:call p:2:58:read"),
    "ruby": ("class A < B\n  def m(p)\n    x = p.go(A.new)\n  end\nend\n",
             "A:1:7:definition B:1:11:inheritance m:2:7:definition p:2:9:definition x:3:5:write p:3:9:read go:3:11:call "
             "A:3:14:read new:3:16:call"),
    "php": ("<?php\nclass A extends B { function m(P $p): R { return f($p->x, new X()); } }\n",
            "A:2:7:definition B:2:17:inheritance m:2:30:definition P:2:32:type p:2:35:definition R:2:39:type f:2:50:call "
            "p:2:53:read x:2:56:attribute X:2:63:call"),
    "kotlin": ("import a.B\nclass C(val s: S) : D(s) {\n  fun m(p: P): R { val x = X(p); return s.n(x) }\n}\n",
               "a:1:8:import B:1:10:import C:2:7:definition s:2:13:definition S:2:16:type D:2:21:inheritance s:2:23:read "
               "m:3:7:definition p:3:9:definition P:3:12:type R:3:16:type x:3:24:definition X:3:28:call p:3:30:read s:3:41:call "
               "n:3:43:call x:3:45:read"),
    "scala": ("class A(s: S) extends B[V] { def m(p: P): R = s.n(new X(p)) }\n",
              "A:1:7:definition s:1:9:definition S:1:12:type B:1:23:inheritance V:1:25:type m:1:34:definition p:1:36:definition "
              "P:1:39:type R:1:43:type s:1:47:read n:1:49:call X:1:55:call p:1:57:read"),
    "swift": ("class A: B { func m(p: P) -> R { let x = X(p); return x.n(p) } }\n",
              "A:1:7:definition B:1:10:inheritance m:1:19:definition p:1:21:definition P:1:24:type R:1:30:type x:1:38:definition "
              "X:1:42:call p:1:44:read x:1:55:read n:1:57:call p:1:59:read"),
    "lua": ("local function f(a) local x = m.g(a) end\n",
            "f:1:16:definition a:1:18:definition x:1:27:write m:1:31:read g:1:33:call a:1:35:read"),
    "bash": ("f() { x=1; g \"$x\"; }\n", "f:1:1:definition x:1:7:write g:1:12:call x:1:16:read"),
    "elixir": ("defmodule A do\n  def g(p), do: B.h(p)\nend\n",
               "defmodule:1:1:call A:1:11:read def:2:3:call g:2:7:call p:2:9:read B:2:17:read h:2:19:call p:2:21:read"),
    "haskell": ("f :: P -> R\nf p = g p\n",
                "f:1:1:definition P:1:6:type R:1:11:type f:2:1:definition p:2:3:definition g:2:7:call p:2:9:read"),
    "zig": ("fn f(p: P) R { return g(p); }\n", "f:1:4:definition p:1:6:definition P:1:9:type R:1:12:type g:1:23:call p:1:25:read"),
    "dart": ("class A extends B { R m(P p) { return new X(p); } }\n",
             "A:1:7:definition B:1:17:inheritance R:1:21:type m:1:23:definition P:1:25:type p:1:27:definition X:1:43:call "
             "p:1:45:read"),
    "julia": ("x = f(y)\n", "x:1:1:read f:1:5:call y:1:7:read"),
    "objective-c": ("@interface A : B\n- (R *)m:(P *)p;\n@end\n",
                    "A:1:12:definition B:1:16:inheritance R:2:4:type m:2:8:definition P:2:11:type p:2:15:definition"),
    "ocaml": ("let g p = h p\n", "g:1:5:definition p:1:7:definition h:1:11:call p:1:13:read"),
    "ocaml-interface": ("val f : u\n", "f:1:5:definition u:1:9:type"),
    "perl": ("sub g { h(1); }\n", "g:1:5:definition h:1:9:call"),
    "powershell": ("function G { H $p }\n", "G:1:10:definition H:1:14:call $p:1:16:read"),
    "sql": ("SELECT g(b) FROM t;\n", "g:1:8:call b:1:10:read t:1:18:read"),
    "terraform": ("a = foo(local.z)\n", "foo:1:5:call local:1:9:read z:1:15:attribute"),
}  # fmt: skip
"""A source in each language, and its names with line, column and kind; labels are left out."""


def described(text: str, language: str) -> str:
    data = text.encode()
    found = []
    for start, end, kind in decode_occurrences(parse(data, language).occurrences, data):
        if kind != LABEL:
            column = start - data.rfind(b"\n", 0, start)
            found.append(f"{data[start:end].decode()}:{data.count(bytes([10]), 0, start) + 1}:{column}:{kind_name(kind)}")
    return " ".join(found)


def test_every_language_with_a_grammar_has_rules_and_a_source() -> None:
    grammars = {name for name, entry in LANGUAGES.items() if entry.grammar is not None}
    assert set(SOURCES) == grammars
    assert all(load_language(name).occurrences is not None for name in grammars)


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_names_have_their_line_column_and_kind(language: str) -> None:
    source, wanted = SOURCES[language]
    assert described(source, language) == wanted


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_the_rules_of_a_language_name_nodes_and_fields_that_exist(language: str) -> None:
    grammar = grammar_of(language)
    assert grammar is not None
    if grammar.kernel is None:
        pytest.skip("only the kernel tells which nodes there are")
    rules = load_language(language).occurrences
    assert rules is not None
    names, places = parse_rules(rules)
    shared = language in ("c", "cpp", "javascript", "typescript", "tsx")  # have their rules in common
    missing = []
    for node, field in [(name, "") for name in names] + list(places):
        try:
            grammar.kernel.language.symbol(node, True)
            assert not field or grammar.kernel.language.field(field)
        except ValueError:
            missing.append(node)
    assert not missing or shared


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_the_kernel_finds_what_the_reference_finds(language: str) -> None:
    from tree_sitter import Language, Parser

    grammar, rules = grammar_of(language), load_language(language).occurrences
    assert grammar is not None and rules is not None
    for text in (SOURCES[language][0], samples()[language].source):
        seen = grammar.prepared(text.encode())
        root = Parser(Language(grammar.capsule)).parse(seen).root_node
        assert find_occurrences(root, text.encode(), rules) == parse(text.encode(), language).occurrences


def test_scripts_in_markup_and_cells_of_notebooks_have_theirs() -> None:
    text = "<template><p/></template>\n<script>\nimport a from './a'\nexport default { m() { a.go() } }\n</script>\n"
    assert described(text, "vue") == "a:3:8:import m:4:18:definition a:4:24:read go:4:26:call"


def test_bytes_around_names_do_not_matter() -> None:
    assert described("é = fü('x')\n" + " " * 300 + "\ny = (g\n)()\n", "python") == "é:1:1:write fü:1:6:call y:3:1:write g:3:6:call"


def test_encoding_and_decoding_agree_over_any_distance() -> None:
    text = b" ".join(b"n" * size + b" " * gap for size, gap in ((1, 0), (3, 14), (2, 15), (9, 142), (1, 143), (1, 70_000), (4, 1)))
    starts = [at for at in range(len(text)) if text[at : at + 1] == b"n" and text[at - 1 : at] != b"n"]
    wanted = [(start, number % 16) for number, start in enumerate(starts)]
    encoded = encode_occurrences(wanted, text)
    assert [(start, kind) for start, _, kind in decode_occurrences(encoded, text)] == wanted
    assert [entry[0] for entry in decode_occurrences(encoded, text, b"nnn")] == [starts[1]]
    assert [entry[0] for entry in decode_occurrences(encoded, text, None, starts[2], starts[4])] == starts[2:4]
    assert encode_occurrences([(starts[1] + 1, 0), (starts[1] + 2, 1)], text) == encode_occurrences([(starts[1] + 1, 0)], text)


@pytest.mark.parametrize("encoded", [b"\x0f", b"\x0f\x80\x80", b"\x0e", b"\x0f" + b"\xff" * 12, b"\x00\x00", b"\x02"])
@pytest.mark.parametrize("python", [False, True])
def test_data_that_does_not_fit_the_text_is_refused(encoded: bytes, python: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if python:
        monkeypatch.setattr("lurcher.languages.occurrences.native", lambda: None)
    elif native() is None:
        pytest.skip("there is no kernel")
    with pytest.raises(ValueError, match="do not fit"):
        decode_occurrences(encoded, b"ab c")


def test_kinds_have_the_names_that_users_know() -> None:
    assert kind_name(MEMBER) == "attribute" and kind_name(DEFINITION) == "definition" and kind_name(2 | MEMBER) == "call"
