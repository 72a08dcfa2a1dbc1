"""What part a file, or some of its lines, play, read off the text: what a path does not say.

    text → roles of the file: generated, vendored, a translation, a test
         → the bytes that are inline tests, such as Rust's `mod tests` at the end of a file

A test is found by what marks it in its language, at the start of a line. It reaches to the end of the definition that the mark
is on; where the parser knows none (`describe(…)`, `if __name__ == "__main__"`), to the line that closes it or is indented less.
A file that holds hardly anything else is a test itself. Every build reads all files: each is first searched for a few fixed
strings, and most have none of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lurcher.languages.parsed_file import ParsedFile, Span
from lurcher.sources.decode import looks_generated
from lurcher.sources.roles import EXAMPLE, GENERATED, INLINE_TESTS, TEST, TRANSLATION, VENDORED
from lurcher.types import Definition

Range = tuple[int, int]

_HEAD = 2048
_MAX_MARKS = 5000
"""Marks of one file that are followed: a table of a hundred thousand is no test."""
_MAX_BLOCK_LINES = 4000
_TEST_SHARE = 0.8
"""The share of tests in a text above which all of it is one: a class around its tests, not a source with many of them."""


class _Marks(NamedTuple):
    """How tests look in a language."""

    words: tuple[bytes, ...]
    """Every mark has at least one of these strings on its line."""
    line: re.Pattern[bytes]
    """Matches a line with a mark, from its start."""
    within: re.Pattern[bytes] | None = None
    """What must also be in the block, where a mark alone says too little."""


def _marks(words: Sequence[bytes], line: bytes, within: bytes | None = None) -> _Marks:
    return _Marks(tuple(words), re.compile(rb"[ \t]*(?:" + line + rb")"), re.compile(within) if within else None)


_JVM = _marks([b"@Test", b"@ParameterizedTest"], rb"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b")
_SCRIPT = _marks(
    [b"describe", b"test(", b"import.meta.vitest"],
    rb"(?:describe|it|test)(?:\.\w+)*\(\s*['\"`]|if \(import\.meta\.vitest\)|const \{[^}\n]*\} = import\.meta\.vitest",
)
_C = _marks(
    [b"TEST"], rb"(?:\w+_)?TEST(?:_[A-Z]+)*\s*\(", rb"(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*\s*\(|\bassert\w*\s*\(",
)
_SPEC = _marks(
    [b"describe", b"def test_"], rb"(?:RSpec\.)?describe\b[ (].*\bdo\b|def test_",
    rb"\bassert|\bexpect\b|\bshould\b|\b(?:must|wont)_"
)
_MARKS = {
    "rust": _marks(
        [b"(test", b"test]", b"test(", b"#[rstest", b"#[bench"],
        rb"#\[\s*(?:cfg\(\s*(?:all\(\s*)?test\b|(?:\w+::)*(?:test|rstest|test_case|bench|quickcheck)\s*[\](])",
    ),
    "python": _marks(
        [b"TestCase", b"def test_", b"__main__"],
        rb"class \w+\([^)\n]*TestCase\)|(?:async )?def test_\w*\(|if __name__ *== *['\"]__main__['\"]",
        rb"\bassert|\b(?:doctest|unittest|pytest)\.|\b_?(?:self_?)?tests?\(",
    ),
    "go": _marks([b"*testing.", b"testing.TB"], rb"func (?:\([^)]*\) )?\w+\(\w+ (?:\*testing\.[TBFM]|testing\.TB)\b"),
    "java": _JVM,
    "kotlin": _JVM,
    "scala": _marks([b"test(", b"@Test"], rb"test\(\s*\"|@Test\b"),
    "csharp": _marks(
        [b"[Fact", b"[Theory", b"[Test"], rb"\[(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod|TestClass|TestFixture)\b"
    ),
    "swift": _marks([b"func test", b"@Test", b"XCTestCase"], rb"(?:final )?class \w+ *: *XCTestCase|@Test\b|func test\w*\(\)"),
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "c": _C,
    "cpp": _C,
    "ruby": _SPEC,
    "php": _marks([b"function test", b"#[Test]"], rb"(?:public )?function test[A-Z_]\w*\(|#\[Test\]", rb"\bassert|expect\w*\("),
    "elixir": _marks([b'test "', b'describe "'], rb"(?:test|describe) \".*\bdo\b"),
    "zig": _marks([b"test "], rb"test (?:\"[^\"\n]*\" |\w+ )?\{"),
    "julia": _marks([b"@testset"], rb"@testset\b"),
    "ocaml": _marks([b"let%"], rb"let%(?:expect_)?test"),
    "lua": _marks([b"describe("], rb"(?:describe|it)\(\s*['\"]"),
    "dart": _marks([b"test(", b"group("], rb"(?:test|group|testWidgets)\(\s*['\"]"),
    "objective-c": _marks([b"(void)test", b"XCTestCase"], rb"-\s*\(void\)\s*test\w*|@interface \w+ *: *XCTestCase"),
}  # fmt: skip

_DOCTEST = re.compile(rb"(?m)^[ \t]*>>> .*(?:\n[ \t]*(?!['\"]{3})\S.*)*")
"""An example of a documentation string with its output, which ends at a blank line."""
_ATTRIBUTE = (b"#[", b"@", b"[")
_COMMENT = (b"//", b"/*", b"*", b"#")
_MAX_ATTRIBUTES = 2000
"""Bytes of attributes and comments between the start of a definition and a mark."""
_OPENING = (b"{", b"(", b"[", b"do", b":", b"|", b"=>", b",", b"=", b"begin", b"function()")
_CLOSING = (b"}", b")", b"]", b"end", b"{")

_BANNER = re.compile(rb"/\*!?[\s*]*[\w.]+(?: JavaScript Library)?,? (?:[Vv]ersion )?v?\d+\.\d+")
"""The first line of a library as it is published: `/*! Name v1.2.3`."""
_COPIED = re.compile(
    rb"(?im)^[\W_]{0,8}(?:this (?:file|module|code|library) (?:is|was|has been) )?(?:vendored\b|"
    rb"(?:a )?(?:bundled|vendored|verbatim) (?:copy|version) of\b|(?:copied|taken|imported) (?:verbatim )?from https?://)"
)


def find_roles(text: bytes, parsed: ParsedFile, known: int) -> tuple[int, list[int]]:
    """The roles of a file, of which its path says `known`, and the positions of those of its chunks that are inline tests."""
    found = known | _read_head(text)
    if found & (TEST | EXAMPLE | GENERATED | TRANSLATION):
        return found, []
    marks = _MARKS.get(parsed.language)
    tests = []
    if marks is not None and any([word in text for word in marks.words]):
        tests = _find_tests(text, marks, parsed.definitions)
        if sum(end - start for start, end in tests) > _TEST_SHARE * len(text):
            return found | TEST, []
    if parsed.language == "python" and b">>> " in text:
        tests = _merge([*tests, *(match.span() for match in _DOCTEST.finditer(text))])
    units = _find_test_chunks(parsed.chunks, tests) if tests else []
    return (found | INLINE_TESTS if units else found), units


def _read_head(text: bytes) -> int:
    """What the first lines say."""
    head = text[:_HEAD]
    found = GENERATED if looks_generated(head) else 0
    copied = b"endored" in head or b"erbatim copy" in head or b"undled " in head or b" from http" in head
    if (copied and _COPIED.search(head)) or (head.startswith(b"/*") and _BANNER.match(head)):
        found |= VENDORED
    return found | TRANSLATION if _is_catalogue(head) else found


def _is_catalogue(head: bytes) -> bool:
    """Whether a file holds messages for translators: of gettext, Qt, XLIFF or Android."""
    start = head.lstrip()[:1]
    if start == b"<":
        return b"<xliff" in head or b"<!DOCTYPE TS" in head or (b"<resources" in head and b"<string " in head)
    return start in (b"#", b"m") and b"\nmsgid \"" in b"\n" + head and b"\nmsgstr \"" in head


def _find_test_chunks(chunks: Sequence[Span], tests: Sequence[Range]) -> list[int]:
    """The positions of the chunks of which more than half is tests; `tests` are in order and disjoint."""
    found = []
    ends = [end for _, end in tests]
    for i, chunk in enumerate(chunks):
        covered = 0
        for start, end in tests[bisect_right(ends, chunk.start_byte) :]:
            if start >= chunk.end_byte:
                break
            covered += min(end, chunk.end_byte) - max(start, chunk.start_byte)
        if 2 * covered > chunk.end_byte - chunk.start_byte:
            found.append(i)
    return found


def _find_tests(text: bytes, marks: _Marks, definitions: Sequence[Definition]) -> list[Range]:
    starts = [definition.start_byte for definition in definitions]
    found: list[Range] = []
    reached = 0
    for mark in _find_marks(text, marks):
        if mark < reached:
            continue  # a test within one; what is too little for the outer one is so for the inner
        block = _find_block(text, mark, definitions, starts)
        reached = block[1]
        if marks.within is None or marks.within.search(text, *block):
            found.append(block)
    return _merge(found)


def _find_marks(text: bytes, marks: _Marks) -> list[int]:
    """Where lines with a mark begin, white space left out."""
    lines: set[int] = set()
    for word in marks.words:
        place = text.find(word)
        while place >= 0 and len(lines) < _MAX_MARKS:
            start = text.rfind(b"\n", 0, place) + 1
            if marks.line.match(text, start):
                lines.add(start + len(text[start:place]) - len(text[start:place].lstrip(b" \t")))
            end = text.find(b"\n", place)
            place = text.find(word, end) if end >= 0 else -1
    return sorted(lines)


def _find_block(text: bytes, mark: int, definitions: Sequence[Definition], starts: list[int]) -> Range:
    """What a mark marks: the definition that begins with it, or with an attribute before it, else the lines to its end."""
    index = bisect_right(starts, mark) - 1
    if index >= 0:
        start = starts[index]
        if mark - start <= _MAX_ATTRIBUTES and _has_only_attributes(text[start:mark]):
            return start, definitions[bisect_left(starts, start)].end_byte
    return mark, _find_end(text, mark)


def _has_only_attributes(text: bytes) -> bool:
    return all(not (bare := line.strip()) or bare.startswith((*_ATTRIBUTE, *_COMMENT)) for line in text.split(b"\n"))


def _find_end(text: bytes, start: int) -> int:
    """The end of the lines that belong to the one at `start`, by their indentation."""
    column = start - (text.rfind(b"\n", 0, start) + 1)
    position, reached, opened = start, start, False
    for _ in range(_MAX_BLOCK_LINES):
        end = text.find(b"\n", position)
        end = len(text) if end < 0 else end
        bare = text[position:end].strip()
        if bare:
            indented = len(text[position:end]) - len(text[position:end].lstrip())
            if position != start and indented <= column and opened and not bare.startswith(_CLOSING):
                return reached  # the next statement of a language without closing signs
            reached = end
            if position == start or indented <= column:
                if bare.endswith(_OPENING):
                    opened = True
                elif opened or bare.endswith((b";", b"}")) or (position != start and not _goes_on(bare)):
                    return end
        if end >= len(text):
            break
        position = end + 1
    return reached


def _goes_on(line: bytes) -> bool:
    """Whether more must follow: after an attribute, or after a head whose brace is on the next line."""
    return line.startswith(_ATTRIBUTE) or line.endswith(b")")


def _merge(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in order and disjoint."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
