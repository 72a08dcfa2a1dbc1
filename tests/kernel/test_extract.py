"""The kernel finds the definitions, comments and chunks that the reference finds, in every language and in broken text."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.chunking import code
from lurcher.chunking.code import chunk_tree, read_with_kernel
from lurcher.chunking.lines import LineIndex, cut_lines
from lurcher.languages.base import ATTRIBUTE, COMMENT, SCOPE, DefinitionRules
from lurcher.languages.definitions import KernelRules, extract, kernel_rules
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.grammar import grammar_of
from lurcher.languages.parsed_file import Span
from lurcher.types import Definition
from tests.kernel import kernel
from tests.languages.samples import samples

pytestmark = kernel.needed
PARSED = [name for name, language in LANGUAGES.items() if language.grammar]
TARGETS = (1, 30, 200, 1500)
NOISE = [
    "", "\n", "\n\n\n", " ", "{", "}", "(", ")", "/*", "*/", "// größe\n", "# ß\n", '"""', ";", "::", ".", "@x(1)\n", "\0",
]  # fmt: skip


@cache
def rules(language: str) -> KernelRules:
    grammar = grammar_of(language)
    assert grammar is not None
    return kernel_rules(grammar.rules)


def both(text: bytes, language: str, target: int) -> tuple[Any, Any]:
    grammar = grammar_of(language)
    assert grammar is not None
    tree = code.parse_tree(grammar.prepared(text), grammar)
    if not text or tree is None:
        return None, None
    root, reader = tree
    ruler = LineIndex(text)
    end = len(grammar.rules.patterns)
    definitions, comments = extract([match for match in reader.matches(root) if match[0] < end], grammar.rules, ruler)
    chunks = chunk_tree(root, ruler, target, grammar.rules, comments, definitions)
    matches = [match for match in reader.matches(root) if match[0] < end]
    found = read_with_kernel(root, matches, text, target, grammar.rules, rules(language))
    return found, (chunks, definitions, tuple(comments.ranges))


@pytest.mark.parametrize("language", PARSED)
def test_real_files_are_read_alike(language: str) -> None:
    source = samples()[language].source
    for text in (source, source * 7, source.replace("\n", "\r\n"), source.replace(" ", "  ").replace("e", "é")):
        for target in TARGETS:
            ours, reference = both(text.encode(), language, target)
            assert ours == reference


def test_a_token_that_is_missing_at_the_very_end_begins_no_chunk() -> None:
    ours, reference = both(b"A0000000:", "tsx", 8)
    assert ours == reference


@st.composite
def broken(draw: st.DrawFn) -> tuple[bytes, str]:
    """A file of one language, cut into pieces that are dropped, repeated, put elsewhere, and mixed with noise."""
    language = draw(st.sampled_from(PARSED))
    source = samples()[language].source
    cuts = sorted(draw(st.lists(st.integers(0, len(source)), min_size=1, max_size=6)))
    pieces = [source[a:b] for a, b in zip([0, *cuts], [*cuts, len(source)], strict=True)]
    order = draw(st.lists(st.sampled_from(range(len(pieces))), min_size=1, max_size=10))
    return "".join(pieces[i] + draw(st.sampled_from(NOISE)) for i in order).encode(), language


@given(broken(), st.sampled_from(TARGETS))
@settings(max_examples=120, deadline=None)
def test_broken_files_are_read_alike(file: tuple[bytes, str], target: int) -> None:
    ours, reference = both(*file, target)
    assert ours == reference


@given(st.text(st.sampled_from("ab é\n漢😀")), st.data())
def test_a_text_is_measured_alike(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    ours, reference = kernel.module().Ruler(raw), LineIndex(raw)
    assert (ours.text, ours.line_starts) == (raw, reference.line_starts)
    end = data.draw(st.integers(0, len(raw)))
    start = data.draw(st.integers(0, end))
    assert ours.size(start, end) == reference.size(start, end)
    if raw:
        cuts = sorted({0, *data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=5))})
        assert ours.spans(cuts, Span) == reference.spans(cuts)


def test_places_outside_of_the_text_are_refused() -> None:
    ruler = kernel.module().Ruler(b"one\ntwo")
    for method, arguments in (("size", (0, 8)), ("size", (-1, 2)), ("size", (3, 2))):
        with pytest.raises(ValueError, match="no such"):
            getattr(ruler, method)(*arguments)
    for cuts in ([0, 8], [-1], [3, 3], [4, 2], [7]):
        with pytest.raises(ValueError, match=r"no such|out of order"):
            ruler.spans(cuts, Span)
    for wrong in ((None, Span), (["0"], Span), ([0], "Span")):
        with pytest.raises(TypeError):
            ruler.spans(*wrong)
    with pytest.raises(AttributeError):
        ruler.spans([0], int)
    with pytest.raises(TypeError):
        kernel.module().Ruler("text")


class Node(SimpleNamespace):
    """What stands for a node of a tree."""

    def child_by_field_name(self, name: str) -> Any:
        return getattr(self, f"field_{name}", None)


def node(start: int, end: int, **fields: Any) -> Node:
    return Node(start_byte=start, end_byte=end, type="x", children=[], child_count=0, is_named=True, **fields)


def extracted(matches: Any, patterns: Any, **changes: Any) -> Any:
    spec = DefinitionRules(patterns=patterns, leads=frozenset(), **changes)
    heads, rules_ = kernel_rules(spec)
    return kernel.module().extract(matches, heads, kernel.module().Ruler(b"def name ends"), rules_)


def test_matches_that_are_none_are_refused() -> None:
    name, whole = node(4, 8), node(0, 13)
    good = [(0, {"def": [whole], "name": [name]})]
    definitions, comments = extracted(good, (("function", ""),))
    assert [(type(entry), entry.name, entry.signature) for entry in definitions] == [(Definition, "name", "def name ends")]
    assert comments == ()
    wrong: list[tuple[Any, Any]] = [
        ([(1, {})], IndexError), ([(-1, {})], IndexError), ([(0, {})], KeyError), ([(0, {"def": []})], KeyError),
        ([(0, {"def": (whole,)})], TypeError), ([0], TypeError), ([(0, [])], TypeError), ((), TypeError),
        ([(0, {"def": [node(0, 14)], "name": [name]})], ValueError), ([(0, {"def": [node(9, 3)], "name": [name]})], ValueError),
        ([(0, {"def": [whole], "name": [node(-1, 3)]})], ValueError),
        ([(0, {"def": [object()], "name": [name]})], AttributeError),
        ([(0, {"def": [whole], "name": [name], "body": [node(0, 99)]})], ValueError),
    ]  # fmt: skip
    for matches, error in wrong:
        with pytest.raises(error):
            extracted(matches, (("function", ""),))
    made: Any
    for made in (1, [1], [(1, {})], [(SCOPE, [])]):
        with pytest.raises(TypeError):
            extracted(good, ((lambda captures, made=made: made, ""),))


def test_rules_that_break_a_definition_are_refused() -> None:
    good = [(0, {"def": [node(0, 13)], "name": [node(4, 8)]})]

    def moved(found: Any, text: bytes) -> Any:
        found.end = 99
        return found

    def nameless(found: Any, text: bytes) -> Any:
        found.name = 7
        return found

    def unnamed(found: Any, text: bytes) -> Any:
        del found.name
        return found

    for refine, error in ((moved, ValueError), (nameless, TypeError), (unnamed, TypeError), (lambda found, text: 3, TypeError)):
        with pytest.raises(error):
            extracted(good, (("function", ""),), refine=refine)
    assert extracted(good, (("function", ""),), refine=lambda found, text: None) == ((), ())
    assert extracted([(0, {"def": [node(0, 3)]})], ((COMMENT, ""),)) == ((), ((0, 3),))
    assert extracted([(0, {"def": [node(0, 3)]})], ((ATTRIBUTE, ""),)) == ((), ())


def test_trees_that_are_none_are_refused() -> None:
    cuts, ruler = kernel.module().cuts, kernel.module().Ruler(b"a\n" * 50)
    arguments = (ruler, 10, frozenset(), frozenset())
    assert cuts(node(0, 100), *arguments, (), cut_lines)[0] == 0
    for root in (node(0, 101), node(5, 3), Node(start_byte=0, end_byte=100, children=(), type="x"), object()):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            cuts(root, *arguments, (), cut_lines)
    for found in ([200], [-1], ["a"], None):
        with pytest.raises((TypeError, ValueError)):
            cuts(node(0, 100), *arguments, (), lambda *_, found=found: found)
    wrong: Any
    for wrong in ((object(), 10, frozenset(), frozenset()), (ruler, 0, frozenset(), frozenset()), (ruler, 10, [], frozenset())):
        with pytest.raises((TypeError, ValueError)):
            cuts(node(0, 100), *wrong, (), cut_lines)
