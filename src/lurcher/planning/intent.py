"""What kind of question this is: a name, a question in words, or a report of many lines; a pattern is told by the mode."""

from __future__ import annotations

import re

SYMBOL, LANGUAGE, REPORT, LITERAL, PATTERN = "symbol", "natural-language", "report", "literal", "pattern"

_NAME = r"[^\W\d]\w*[?!]?"
QUALIFIED = re.compile(rf"^[@$#.:]*{_NAME}(?:(?:::?|\.|#|->|/|\\){_NAME})*(?:\(\))?$")
"""`name`, `a.b.c`, `Foo::bar`, `Foo#bar`, `call()`."""

_CODE_NAME = re.compile(
    r"(?<![\w.])[^\W\d]\w*(?:(?:::|\.|#)[^\W\d]\w*)+"  # qualified
    r"|(?<!\w)[^\W\d_]*[a-z0-9][A-Z]\w*"  # camelCase, PascalCase of two words
    r"|(?<!\w)[A-Z]{2,}[a-z]\w*"  # HTTPServer
    r"|(?<!\w)\w*[^\W_]_[^\W_]\w*"  # snake_case
    r"|(?<!\w)_+[^\W\d_]\w+"  # _private
)
_PROPER = re.compile(r"(?<!^)(?<![.!?]\s)(?<!\w)[A-Z][a-z]\w+")


def intent_of(text: str) -> str:
    """Which of the three intents a query has."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return REPORT
    return SYMBOL if lines and QUALIFIED.match(lines[0].strip()) else LANGUAGE


_EXPRESSION = re.compile(
    r"\\[wWdDsSbB](?!\w)|\\[.()\[\]{}+*?|^$/]"  # classes and escapes
    r"|[\w\])]?\.[*+]\??(?=\S|$)"  # .* and .+
    r"|\[\^?(?:\w-\w|\\\w)+\][*+?{]?"  # [a-z], [^0-9]+
    r"|\(\?[:iP<]"  # groups of regular expressions
    r"|^\^\w|\w\$$"  # anchors
)


def reads_as_pattern(text: str) -> bool:
    """Whether a line is written in the syntax of regular expressions, and is one."""
    line = text.strip()
    if "\n" in line or not _EXPRESSION.search(line):
        return False
    from lurcher.errors import QueryError
    from lurcher.literal.pattern import compiled

    try:
        compiled(line)
    except QueryError:
        return False
    return True


_QUESTION = re.compile(r"^\s*(?:how|what|where|which|who|when|why)\b", re.I)
_COMPLAINT = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|could|would|should|ca|wo)n['’]t\b"
    r"|\b(?:not|cannot|never|no longer|instead of|unable|should|please)\b"
    r"|\b(?:fails?|failed|failing|crash\w*|raises?|throws?|breaks?|broke|broken|wrong|wrongly|incorrect|incorrectly|missing)\b"
    r"|\b(?:regression|unexpected\w*|bugs?|hangs?|ignored|ignores|loses|inconsistent\w*|misleading|spurious)\b"
    r"|\b[A-Z]\w*(?:Error|Exception|Warning)\b"
    r"|^(?:[\w ]{1,20}: *)?(?:add|support|allow|make|remove|rename|improve|change|enable|disable|provide|fix|feature|drop|avoid"
    r"|prevent|extend|implement|simplify|deprecate)\b",
    re.I,
)


def wants_change(text: str) -> bool:
    """Whether a sentence reads as a bug report or a request rather than as a question about the code."""
    return not _QUESTION.match(text) and _COMPLAINT.search(text) is not None


def names_in(text: str) -> list[str]:
    """Names that stand out in a sentence by how they are written: CamelCase, snake_case, `a.b`."""
    return list(dict.fromkeys(match[0] for match in _CODE_NAME.finditer(text)))


def capitalised_in(text: str) -> list[str]:
    """Words written with a capital inside a sentence: types more often than not."""
    return list(dict.fromkeys(match[0] for match in _PROPER.finditer(text)))


def parts_of(name: str) -> list[str]:
    """A qualified name's components, outermost first."""
    return [part for part in re.split(r"::?|\.|#|->|/|\\", name.strip("@$#.:").removesuffix("()")) if part]
