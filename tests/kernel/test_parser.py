"""The kernel makes the trees that tree-sitter makes, of whole and of broken texts, and its patterns find what queries find."""

from __future__ import annotations

import resource
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import tree_sitter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lurcher.chunking import code
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.grammar import Grammar, KernelReader, TreeSitterReader, compile_patterns, grammar_of, tree_sitter_reader
from tests.kernel import kernel
from tests.kernel.test_extract import PARSED, broken
from tests.languages.samples import samples

pytestmark = kernel.needed
# Its scanner reads outside of a table for characters beyond ASCII, and what it finds there is left to chance.
WHOLE = [language for language in PARSED if load_language(language).prepare is None]


def capsule_of(language: str) -> Any:
    grammar = LANGUAGES[language].grammar
    assert grammar is not None
    return getattr(import_module(grammar[0]), grammar[1])()


@cache
def readers(language: str) -> tuple[KernelReader, TreeSitterReader]:
    grammar = grammar_of(language)
    assert grammar is not None and grammar.kernel is not None
    reference = tree_sitter_reader(language, grammar.capsule)
    assert reference is not None
    return grammar.kernel, reference


@cache
def fields(language: str) -> list[str]:
    loaded = readers(language)[1].language
    return [name for number in range(1, loaded.field_count + 1) if (name := loaded.field_name_for_id(number)) is not None]


def shown(text: bytes, language: str) -> bytes:
    grammar = grammar_of(language)
    assert grammar is not None
    return grammar.prepared(text)


def place(node: Any) -> tuple[str, int, int] | None:
    return None if node is None else (node.type, node.start_byte, node.end_byte)


def described(root: Any, names: list[str]) -> list[Any]:
    """Everything about every node of a tree."""
    rows = []
    pending = [root]
    while pending:
        node = pending.pop()
        children = node.children
        rows.append(
            (
                place(node), node.byte_range, node.is_named, node.is_error, node.has_error, node.is_missing, node.text,
                (node.start_point[0], node.start_point[1]), place(node.parent),
                # Before a node without text tree-sitter passes over one that ends with such a node.
                place(node.prev_named_sibling) if node.end_byte > node.start_byte else None,
                [place(child) for child in children], [place(child) for child in node.named_children], node.child_count,
                node.named_child_count, place(node.named_child(0)) if node.named_child_count else None,
                [place(node.child_by_field_name(name)) for name in names],
                [[place(child) for child in node.children_by_field_name(name)] for name in names],
            )
        )  # fmt: skip
        pending += reversed(children)
    return rows


def is_endless(text: bytes, language: str) -> bool:
    """Whether the kernel gives up on a text: tree-sitter takes minutes for it."""
    return readers(language)[0].parse(shown(text, language)) is None


def same_trees(text: bytes, language: str) -> None:
    ours, reference = readers(language)
    seen = shown(text, language)
    root = ours.parse(seen)
    expected = reference.parse(seen)
    assert root is not None and expected is not None
    assert described(root, fields(language)) == described(expected, fields(language))


@pytest.mark.parametrize("language", PARSED)
def test_every_node_is_as_tree_sitter_has_it(language: str) -> None:
    source = samples()[language].source
    half = source[: len(source) // 2]
    texts = [source, source * 2, source.replace("\n", "\r\n"), f"\n\n  {source}  \n", half, "\ufeff" + source]
    for text in [*texts, "", "\n", " ", "\0", "é", "(((", ")))", "漢字 😀\n" * 3]:
        same_trees(text.encode(), language)


@given(broken())
@settings(max_examples=60, deadline=None)
def test_broken_texts_are_recovered_from_alike(file: tuple[bytes, str]) -> None:
    assume(not is_endless(*file))
    same_trees(*file)


@given(st.sampled_from(WHOLE), st.text(st.sampled_from("ab_1 \n\t(){}[]<>;:,.=+-*/&|!?#@$\"'`\\é漢😀"), max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_characters_are_read_alike(language: str, text: str) -> None:
    assume(not is_endless(text.encode(), language))
    same_trees(text.encode(), language)


def found(matches: Any) -> list[Any]:
    return sorted(
        (number, sorted((name, [place(node) for node in nodes]) for name, nodes in captures.items()))
        for number, captures in matches
    )


def same_matches(text: bytes, language: str) -> None:
    ours, reference = readers(language)
    seen = shown(text, language)
    root, expected = ours.parse(seen), reference.parse(seen)
    assert root is not None and expected is not None
    end = len(code.grammar_of(language).rules.patterns)  # type: ignore[union-attr]
    wanted = [(min(number, end), captures) for number, captures in reference.matches(expected)]
    assert found(ours.matches(root)) == found(wanted)
    half = len(seen) // 2
    for windows in (None, [(0, half)], [(half, len(seen))], [(0, 3), (half, half + 9)]):
        assert {place(node) for node in ours.imports_in(root, windows)} == {
            place(node) for node in reference.imports_in(expected, windows)
        }


@pytest.mark.parametrize("language", PARSED)
def test_patterns_find_what_queries_find(language: str) -> None:
    source = samples()[language].source
    for text in (source, source * 3, source[len(source) // 3 :]):
        same_matches(text.encode(), language)


@given(broken())
@settings(max_examples=100, deadline=None)
def test_patterns_find_the_same_in_broken_texts(file: tuple[bytes, str]) -> None:
    assume(not is_endless(*file))
    same_matches(*file)


@kernel.limits_memory
@given(broken(), st.sampled_from((30, 1500)))
@settings(max_examples=100, deadline=None)
def test_files_are_cut_and_named_alike(file: tuple[bytes, str], target: int) -> None:
    text, language = file
    assume(not is_endless(text, language))
    grammar = grammar_of(language)
    assert grammar is not None
    ours = code.parse(text, language, target)
    with pytest.MonkeyPatch.context() as patch:
        bare = Grammar(grammar.name, grammar.capsule, grammar.rules, grammar.kernel_rules, None)
        patch.setattr(code, "grammar_of", lambda name: bare)
        assert code.parse(text, language, target) == ours


def test_what_the_kernel_gives_up_on_is_given_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    text = samples()["python"].source.encode()
    monkeypatch.setattr(KernelReader, "parse", lambda self, text: None)
    monkeypatch.setattr(TreeSitterReader, "parse", lambda self, text: pytest.fail("it has no limits"))
    parsed = code.parse(text, "python")
    assert parsed.gave_up and parsed.definitions == () and parsed.chunks


HANGING = ("val x\n@a", "val x\n@ab", "class A {\n val x\n@B")
"""Texts at whose end the scanner of Kotlin's grammar looks for ever."""
GREEDY = [
    ("python", b"/*\n" * 2000 + b"x" + b"*/\n" * 2000),
    ("python", b"/*\n" * 16000 + b"x" + b"*/\n" * 16000),
    ("csharp", b"/*\n" * 4000 + b"x" + b"*/\n" * 4000),
    ("java", b"{(" * 330_000 + b"\n" * 1000),
    ("cpp", b"a<b(\n" * 190_000),
    ("javascript", b"{(" * 330_000 + b"\n" * 1000),
]
"""Texts for which tree-sitter takes gigabytes."""


@pytest.mark.parametrize("text", HANGING)
def test_a_scanner_that_never_ends_is_left(text: str) -> None:
    assert readers("kotlin")[0].parse(text.encode()) is None
    parsed = code.parse(text.encode(), "kotlin")
    assert parsed.gave_up and parsed.chunks and parsed.definitions == ()
    # Nothing of that stays behind.
    same_trees(b"fun f() {}\n", "kotlin")


def test_threads_leave_their_own_scanners_only() -> None:
    def work(number: int) -> bool:
        text = (HANGING[number % len(HANGING)] if number % 2 else samples()["kotlin"].source).encode()
        return code.parse(text, "kotlin").gave_up == bool(number % 2)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(200)))


@pytest.mark.parametrize(("language", "text"), GREEDY)
def test_no_text_takes_long_or_much_memory(language: str, text: bytes) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert code.parse(text, language).chunks
    assert time.process_time() - began < 4  # two, on a machine with nothing else to do
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


def test_what_would_take_for_ever_is_cut_by_lines() -> None:
    # Kotlin's grammar has several readings of each of these lines, and for each of them several of the next.
    text = b'{d\n "t") {\n ?.l\n `.c()\n}\n' * 10
    assert is_endless(text, "kotlin")
    parsed = code.parse(text, "kotlin")
    assert parsed.definitions == () and parsed.chunks


@pytest.mark.parametrize(
    ("language", "text"),
    [
        # A comment that never ends is looked for to the end of the text, at each of its beginnings.
        ("c", b"int x=a" + b"/*a\n" * 100_000 + b";"),
        ("go", b"package x\nvar y = a" + b"/*a\n" * 100_000),
        # An error takes in one more token at a time, and is listed anew each time.
        ("c", b"int a;\n" * 700 + b"int )\n" * 100_000),
    ],
)
def test_what_grows_with_the_square_of_the_text_is_given_up(language: str, text: bytes) -> None:
    began = time.process_time()
    assert is_endless(text, language)
    assert time.process_time() - began < 30  # a second or less on a machine with nothing else to do
    assert code.parse(text, language).chunks


def test_nodes_know_their_place_and_their_neighbours_however_many_there_are() -> None:
    began = time.process_time()
    for language, text in (("python", b"import a;" * 60_000), ("rust", b"mod a;\n" * 60_000)):
        root = readers(language)[0].parse(text)
        assert root is not None
        nodes = root.named_children
        assert len(nodes) == 60_000
        points = [tuple(node.start_point) for node in nodes]
        assert points == [(0, 9 * i) if language == "python" else (i, 0) for i in range(60_000)]
        assert nodes[0].prev_named_sibling is None
        assert all(node.prev_named_sibling.end_byte < node.start_byte for node in nodes[1:])
    assert time.process_time() - began < 30  # which no machine has for a hundred billion steps


def test_a_range_that_clears_its_list_while_it_is_read_does_no_harm() -> None:
    ours, _ = readers("python")
    step = (ours.language.symbol("module", True), 0, -1, -1, 0, -1, ())
    patterns = kernel.module().Patterns(ours.language, (), ((0, (step,)),))
    ranges: list[Any] = []

    class Hostile:
        def __index__(self) -> int:
            ranges.clear()
            self.others = [(f"{i}", f"{i}") for i in range(100)]
            return 0

    ranges.append((Hostile(), 5))
    assert len(patterns.within(ours.parse(b"import a\n"), ranges)) == 1


def test_threads_do_not_share_a_parser() -> None:
    ours, _ = readers("python")
    texts = [samples()["python"].source.encode() * count for count in range(1, 9)]
    alone = [ours.parse(text).end_byte for text in texts]  # type: ignore[union-attr]
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda text: ours.parse(text).end_byte, texts * 20))  # type: ignore[union-attr]
    assert ends == alone * 20 == [len(text) for text in texts] * 20


def test_a_node_outlives_its_root() -> None:
    root = readers("python")[0].parse(b"def first(): pass\n")
    assert root is not None
    name = root.named_children[0].child_by_field_name("name")
    del root
    assert name is not None and name.text == b"first" and name.parent is not None
    assert name.parent.child_by_field_name("no such field") is None
    assert name.parent.children_by_field_name("no such field") == []
    assert name.named_child(0) is None and name.named_child(-1) is None


def test_what_is_no_language_and_no_text_is_refused() -> None:
    module = kernel.module()
    language = readers("python")[0].language
    for wrong in ("python", None, 1):
        with pytest.raises((TypeError, ValueError)):
            module.Language(wrong)
    for wrong in ("text", None, bytearray(b"x")):
        with pytest.raises(TypeError):
            language.parse(wrong)
    with pytest.raises(TypeError):
        module.Node()
    with pytest.raises(ValueError, match="no node"):
        language.symbol("no_such_node", True)
    with pytest.raises(ValueError, match="no field"):
        language.field("no_such_field")


def test_patterns_that_cannot_be_are_refused() -> None:
    module = kernel.module()
    language = readers("python")[0].language
    step = (language.symbol("module", True), 0, -1, -1, 0, -1, ())
    root = language.parse(b"x\n")
    assert module.Patterns(language, (), ((0, (step,)),)).matches(root) == [(0, {})]
    for steps in (
        (), (step,) * 13, (step, step), ((-1, *step[1:]),), ((1 << 20, *step[1:]),), ((*step[:5], 0, ()),),
        ((*step[:6], (1,) * 5),), (step, (1, 0, 1, -1, 0, -1, ())), (step, (1, 0, 0, 1, 0, -1, ())),
        (step, (1, -1, 0, -1, 0, -1, ())),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            module.Patterns(language, (), ((0, steps),))
    for wrong in (1, (1,), ((0, 1),), ((0, (1,)),)):
        with pytest.raises(TypeError):
            module.Patterns(language, (), wrong)
    with pytest.raises(TypeError):
        module.Patterns("python", (), ())
    patterns = module.Patterns(language, (), ((0, (step,)),))
    with pytest.raises(TypeError):
        patterns.matches(tree_sitter.Parser(tree_sitter.Language(capsule_of("python"))).parse(b"x").root_node)
    with pytest.raises(ValueError, match="another language"):
        patterns.matches(readers("go")[0].parse(b"package x"))
    with pytest.raises((TypeError, OverflowError)):
        patterns.within(root, [(0, -1), "x"])


@pytest.mark.parametrize(
    "query",
    [
        "(module", "(module))", "module", "(module) @a @b", "(no_such_node)", "(module no_such_field: (_))", "(module (_)?)",
        "(module .)", "(module (block)+)", "(#eq? @a @b)", '(module (#match? @a "x"))', "[(module) @a] @b", "(expression)",
    ],
)  # fmt: skip
def test_what_only_tree_sitter_knows_is_refused(query: str) -> None:
    with pytest.raises(ValueError):
        compile_patterns(readers("python")[0].language, [query])
