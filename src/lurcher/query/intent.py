"""The intent of a query: a name, a question in words, or a report of many lines. Patterns are recognised by the mode.

Each check is defined by a regular expression. Most queries are a few ASCII words, for which plain string methods give the same
result: importing and compiling `re` would take longer than the search.
"""

from __future__ import annotations

from itertools import pairwise

from lurcher.runtime.light import pattern
from lurcher.terms.split import words

SYMBOL, LANGUAGE, REPORT, LITERAL, PATTERN = "symbol", "natural-language", "report", "literal", "pattern"

_NAME = r"[^\W\d]\w*[?!]?"
QUALIFIED = pattern(rf"^[@$#.:]*{_NAME}(?:(?:::?|\.|#|->|/|\\){_NAME})*(?:\(\))?$")
"""`name`, `a.b.c`, `Foo::bar`, `Foo#bar`, `call()`."""

_CODE_NAME = pattern(
    r"(?<![\w.])[^\W\d]\w*(?:(?:::|\.|#)[^\W\d]\w*)+"  # qualified
    r"|(?<!\w)[^\W\d_]*[a-z0-9][A-Z]\w*"  # camelCase, PascalCase of two words
    r"|(?<!\w)[A-Z]{2,}[a-z]\w*"  # HTTPServer
    r"|(?<!\w)\w*[^\W_]_[^\W_]\w*"  # snake_case
    r"|(?<!\w)_+[^\W\d_]\w+"  # _private
)
_CAPITALISED = pattern(r"(?<!^)(?<![.!?]\s)(?<!\w)[A-Z][a-z]\w+")


def detect_intent(text: str) -> str:
    """Which of the three intents a query has."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return REPORT
    return SYMBOL if lines and _is_qualified_name(lines[0].strip()) else LANGUAGE


def _is_qualified_name(line: str) -> bool:
    if " " in line:
        return False
    if not line.isascii():
        return QUALIFIED.match(line) is not None
    parts = _unify_separators(line.lstrip("@$#.:").removesuffix("()").replace("::", "/")).split("/")
    return all((part[:-1] if part.endswith(("?", "!")) else part).isidentifier() for part in parts)


def is_plain_word(text: str) -> bool:
    """Whether a name is spelled like an ordinary word, `cache` or `Args`, and may as well be the subject of a question."""
    word = text.strip()
    return word.isalpha() and word[1:].islower()


def _unify_separators(name: str) -> str:
    for sign in ("->", ":", ".", "#", "\\"):
        name = name.replace(sign, "/")
    return name


_REGEX_SYNTAX = pattern(
    r"\\[wWdDsSbB](?!\w)|\\[.()\[\]{}+*?|^$/]"  # classes and escapes
    r"|[\w\])]?\.[*+]\??(?=\S|$)"  # .* and .+
    r"|\[\^?(?:\w-\w|\\\w)+\][*+?{]?"  # [a-z], [^0-9]+
    r"|\(\?[:iP<]"  # groups of regular expressions
    r"|^\^\w|\w\$$"  # anchors
)


_REGEX_MARKS = ("\\", ".*", ".+", "[", "(?", "^", "$")
"""At least one of them is in every match of `_REGEX_SYNTAX`."""


def looks_like_regex(text: str) -> bool:
    """Whether a line uses the syntax of regular expressions, and compiles as one."""
    line = text.strip()
    if "\n" in line or not any(sign in line for sign in _REGEX_MARKS) or not _REGEX_SYNTAX.search(line):
        return False
    from lurcher.errors import QueryError
    from lurcher.query.text_pattern import compile_pattern

    try:
        compile_pattern(line)
    except QueryError:
        return False
    return True


_QUESTION_WORDS = ("how", "what", "where", "which", "who", "when", "why")
_QUESTION = pattern(rf"(?i)^\s*(?:{'|'.join(_QUESTION_WORDS)})\b")
_COMPLAINT_WORDS = (
    "not", "cannot", "never", "unable", "should", "please", "fail", "fails", "failed", "failing", "raise", "raises", "throw",
    "throws", "break", "breaks", "broke", "broken", "wrong", "wrongly", "incorrect", "incorrectly", "missing", "regression",
    "bug", "bugs", "hang", "hangs", "ignored", "ignores", "loses", "misleading", "spurious",
)  # fmt: skip
_COMPLAINT_PREFIXES = ("crash", "unexpected", "inconsistent")
_COMPLAINT_PHRASES = ("no longer", "instead of")
_ERROR_SUFFIXES = ("error", "exception", "warning")
_REQUEST_WORDS = (
    "add", "support", "allow", "make", "remove", "rename", "improve", "change", "enable", "disable", "provide", "fix",
    "feature", "drop", "avoid", "prevent", "extend", "implement", "simplify", "deprecate",
)  # fmt: skip
_COMPLAINT = pattern(
    r"(?i)\b(?:do|does|did|is|are|was|were|has|have|could|would|should|ca|wo)n['’]t\b"
    rf"|\b(?:{'|'.join(_COMPLAINT_WORDS + _COMPLAINT_PHRASES)})\b"
    rf"|\b(?:{'|'.join(_COMPLAINT_PREFIXES)})\w*\b"
    rf"|\b[A-Z]\w*(?:{'|'.join(_ERROR_SUFFIXES)})\b"
    rf"|^(?:[\w ]{{1,20}}: *)?(?:{'|'.join(_REQUEST_WORDS)})\b"
)


def requests_change(text: str) -> bool:
    """Whether a sentence reads as a bug report or a request rather than as a question about the code."""
    low = text.lower()
    if not text.isascii() or "'" in low or ":" in low or any(pair in low for pair in _COMPLAINT_PHRASES):
        return not _QUESTION.match(text) and _COMPLAINT.search(text) is not None
    found = words(low)
    if not found or (low.lstrip().startswith(found[0]) and found[0] in _QUESTION_WORDS):
        return False
    return (low.startswith(found[0]) and found[0] in _REQUEST_WORDS) or any(
        word in _COMPLAINT_WORDS
        or word.startswith(_COMPLAINT_PREFIXES)
        or (word.endswith(_ERROR_SUFFIXES) and word not in _ERROR_SUFFIXES and word[0].isalpha())
        for word in found
    )


def find_code_names(text: str) -> list[str]:
    """Words of a sentence that are written like code: CamelCase, snake_case, `a.b`."""
    if not text.isascii() or any(sign in text.rstrip(" .?!") for sign in (".", "#", "::")):
        return list(dict.fromkeys(match[0] for match in _CODE_NAME.finditer(text)))
    return list(dict.fromkeys(filter(_is_code_name, words(text))))


def _is_code_name(word: str) -> bool:
    """Whether `_CODE_NAME` matches an ASCII word."""
    if word.islower() and word.isalnum():
        return False
    letters = word.lstrip("_")
    if letters != word and len(letters) > 1 and letters[0].isalpha():
        return True  # _private
    if "_" in letters and any(before and after for before, after in pairwise(word.split("_"))):
        return True  # snake_case
    for here, after in pairwise(word):
        if after.isupper() and (here.islower() or here.isdigit()):
            return True  # camelCase
        if not here.isalpha():
            break
    capitals = len(word) - len(word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    return capitals > 1 and word[capitals : capitals + 1].islower()  # HTTPServer


def find_capitalised_words(text: str) -> list[str]:
    """Capitalised words inside a sentence, which often are types."""
    if text.isascii() and not any(word[:1].isupper() for word in words(text)[1:]):
        first = words(text)[:1]
        if not first or text.startswith(first[0]) or not first[0][0].isupper():
            return []
    return list(dict.fromkeys(match[0] for match in _CAPITALISED.finditer(text)))


def split_qualified_name(name: str) -> list[str]:
    """A qualified name's components, outermost first."""
    return [part for part in _unify_separators(name.strip("@$#.:").removesuffix("()")).split("/") if part]
