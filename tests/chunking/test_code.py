"""Chunks tile their file, end where lines end, and keep definitions whole and together with their comments."""

from __future__ import annotations

import time
from bisect import bisect_right

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher.chunking.code import parse
from lurcher.languages.detect import LANGUAGES
from lurcher.languages.grammar import grammar_of
from lurcher.languages.parsed_file import ParsedFile
from tests.languages.samples import samples

PARSED = [name for name, language in LANGUAGES.items() if language.grammar]
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def chunks(source: str, language: str, target: int) -> list[str]:
    text = source.encode()
    return [text[span.start_byte : span.end_byte].decode() for span in parse(text, language, target).chunks]


def check_tiling(text: bytes, parsed: ParsedFile, target: int) -> None:
    spans = parsed.chunks
    assert b"".join(text[span.start_byte : span.end_byte] for span in spans) == text
    for span in spans:
        assert span.start_byte < span.end_byte
        text[span.start_byte : span.end_byte].decode()
        assert span.start_line == text[: span.start_byte].count(b"\n") + 1
        assert span.end_line == text[: span.end_byte - 1].count(b"\n") + 1
        if span.start_byte and text[span.start_byte - 1] != ord("\n"):
            start, end = text.rfind(b"\n", 0, span.start_byte) + 1, text.find(b"\n", span.start_byte)
            assert len(text[start : end + 1 if end >= 0 else len(text)].decode()) > target


def check_definitions_whole(text: bytes, parsed: ParsedFile, target: int) -> None:
    starts = [span.start_byte for span in parsed.chunks]
    for entry in parsed.definitions:
        if len(text[entry.start_byte : entry.end_byte].decode()) <= target:
            following = bisect_right(starts, entry.start_byte)
            assert following == len(starts) or starts[following] >= entry.end_byte, entry


def check_comments(parsed: ParsedFile, size: int) -> None:
    flat = [byte for comment in parsed.comments for byte in comment]
    assert flat == sorted(flat)
    assert all(0 <= byte <= size for byte in flat)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_file_has_nothing(language: str) -> None:
    assert parse(b"", language) == ParsedFile(language, (), (), ())


@pytest.mark.parametrize("language", PARSED)
def test_the_grammar_loads_and_finds_a_definition(language: str) -> None:
    assert grammar_of(language) is not None
    assert parse(samples()[language].source.encode(), language).definitions


@pytest.mark.parametrize("target", [80, 150, 400, 1500])
@pytest.mark.parametrize("language", PARSED)
def test_definitions_that_fit_are_never_split(language: str, target: int) -> None:
    text = (samples()[language].source * 3).encode()
    parsed = parse(text, language, target)
    check_tiling(text, parsed, target)
    check_definitions_whole(text, parsed, target)


@pytest.mark.parametrize("language", PARSED)
@SLOW
@given(data=st.data())
def test_mutated_code_is_tiled_all_the_same(language: str, data: st.DataObject) -> None:
    source = samples()[language].source
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 60)))
        source = source[:start] + data.draw(st.text(alphabet="(){}[]\"'`#/*;:\n é漢😀x=@", max_size=12)) + source[end:]
    target = data.draw(st.integers(20, 300))
    text = source.encode()
    parsed = parse(text, language, target)
    check_tiling(text, parsed, target)
    check_comments(parsed, len(text))


@pytest.mark.parametrize("language", [*PARSED, "text", "markdown"])
@SLOW
@given(source=st.text(max_size=200), target=st.integers(1, 60))
def test_any_text_is_tiled(language: str, source: str, target: int) -> None:
    text = source.encode()
    parsed = parse(text, language, target)
    check_tiling(text, parsed, target)
    check_comments(parsed, len(text))


def test_no_chunk_begins_at_the_end_though_a_token_is_missing_there() -> None:
    text = b"A0000000:"
    parsed = parse(text, "tsx", 8)
    check_tiling(text, parsed, 8)
    assert all(chunk.end_byte > chunk.start_byte for chunk in parsed.chunks)


def test_small_siblings_are_merged_up_to_the_target() -> None:
    source = "a = 1\nb = 2\nc = 3\nd = 4\n"
    assert chunks(source, "python", 12) == ["a = 1\nb = 2\n", "c = 3\nd = 4\n"]


def test_comments_and_decorators_stay_with_their_definition() -> None:
    source = "import os\nimport sys\n\n# words\n# more\n@cached\ndef f():\n    return 1\n"
    assert chunks(source, "python", 50)[-1] == "# words\n# more\n@cached\ndef f():\n    return 1\n"


def test_attributes_and_doc_comments_stay_with_their_item() -> None:
    source = "use std::fmt;\nuse std::io;\n\n/// words\n#[test]\nfn f() {\n    work();\n}\n"
    assert chunks(source, "rust", 45)[-1] == "/// words\n#[test]\nfn f() {\n    work();\n}\n"


def test_a_header_stays_with_its_first_member() -> None:
    body = "    def method{0}(self):\n        return {0} + {0} + {0}\n"
    source = "x = 1\ny = 2\n" + "class Shape:\n" + "".join(body.format(index) for index in range(4))
    pieces = chunks(source, "python", 80)
    assert pieces[0] == "x = 1\ny = 2\n"
    assert pieces[1].startswith("class Shape:\n    def method0")


def test_a_header_stays_with_the_long_text_that_follows_it() -> None:
    source = 'class Shape:\n    """\n' + "    many words about shapes\n" * 9 + '    """\n    size = 1\n'
    assert chunks(source, "python", 80)[0].startswith('class Shape:\n    """\n    many words')


def test_a_closing_brace_does_not_begin_a_chunk() -> None:
    method = "  int method{0}() {{ return {0}; }}\n"
    source = "class Shape {\n" + "".join(method.format(index) for index in range(9)) + "}\n"
    assert all(not piece.startswith("}") for piece in chunks(source, "java", 64))


def test_the_comment_before_a_scala_method_stays_with_it() -> None:
    source = "object A {\n" + "".join(f"  def f{i}(a: Int) =\n    a + {i}\n\n  /** about f{i + 1} */\n" for i in range(8))
    for piece in chunks(source + "  def f8 = 1\n}\n", "scala", 80):
        assert not piece.rstrip().endswith("*/")


def test_a_haddock_after_the_imports_stays_with_its_definition() -> None:
    source = "module A where\n\nimport Data.List\nimport Data.Char\n\n-- | words about f\nf :: Int -> Int\nf x = x\n"
    assert chunks(source, "haskell", 60)[-1] == "-- | words about f\nf :: Int -> Int\nf x = x\n"


def test_the_target_counts_characters() -> None:
    source = "a = 'ééééé'\nb = 'üüüüü'\n"
    assert chunks(source, "python", 24) == [source]


def test_a_missing_grammar_means_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar_of.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_lua", None)
    try:
        parsed = parse(b"function f() end\n", "lua")
        assert parsed.definitions == ()
        assert len(parsed.chunks) == 1
    finally:
        grammar_of.cache_clear()


def test_an_unknown_language_means_lines() -> None:
    assert len(parse(b"words\n", "no such language").chunks) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"(" * 100_000,
        b"x = " + b"(" * 50_000 + b")" * 50_000,
        b"a b; " * 200_000,
        b"a b;\n" * 40_000,
        b"1,\n" * 100_000,
        b"function a(b){return b+1};" * 40_000,
        b"\n" * 300_000,
    ],
    ids=["open", "nested", "one line", "garbage", "numbers", "minified", "blank"],
)
@pytest.mark.parametrize("language", ["python", "javascript", "go", "cpp", "lua"])
def test_hostile_input_takes_neither_long_nor_the_stack(language: str, text: bytes) -> None:
    begun = time.process_time()
    check_sum = sum(span.end_byte - span.start_byte for span in parse(text, language).chunks)
    assert check_sum == len(text)
    assert time.process_time() - begun < 10


def test_wide_characters_in_shell_scripts_keep_their_place() -> None:
    text = "# größe 😀\ngröße() {\n  echo '→ 日本語'\n}\n\nlater() {\n  echo 1\n}\n".encode()
    parsed = parse(text, "bash")
    assert [(item.name, item.start_line) for item in parsed.definitions] == [("größe", 2), ("later", 6)]
    assert b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in parsed.chunks) == text
