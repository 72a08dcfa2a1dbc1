"""What kind of question this is: a name, a question in words, or a report of many lines; a pattern is told by the mode.

Regular expressions say what is meant. Most questions are a few plain words, for which the same is told without them, since
loading what compiles them takes longer than finding the answer.
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
_PROPER = pattern(r"(?<!^)(?<![.!?]\s)(?<!\w)[A-Z][a-z]\w+")


def intent_of(text: str) -> str:
    """Which of the three intents a query has."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return REPORT
    return SYMBOL if lines and _qualified(lines[0].strip()) else LANGUAGE


def _qualified(line: str) -> bool:
    if " " in line:
        return False
    if not line.isascii():
        return QUALIFIED.match(line) is not None
    parts = _joined_by_slashes(line.lstrip("@$#.:").removesuffix("()").replace("::", "/")).split("/")
    return all((part[:-1] if part.endswith(("?", "!")) else part).isidentifier() for part in parts)


def reads_as_word(text: str) -> bool:
    """Whether a name is spelled like any word, `cache` or `Args`, and may be the subject of a question as well."""
    word = text.strip()
    return word.isalpha() and word[1:].islower()


def _joined_by_slashes(name: str) -> str:
    for sign in ("->", ":", ".", "#", "\\"):
        name = name.replace(sign, "/")
    return name


_EXPRESSION = pattern(
    r"\\[wWdDsSbB](?!\w)|\\[.()\[\]{}+*?|^$/]"  # classes and escapes
    r"|[\w\])]?\.[*+]\??(?=\S|$)"  # .* and .+
    r"|\[\^?(?:\w-\w|\\\w)+\][*+?{]?"  # [a-z], [^0-9]+
    r"|\(\?[:iP<]"  # groups of regular expressions
    r"|^\^\w|\w\$$"  # anchors
)


_SIGNS = ("\\", ".*", ".+", "[", "(?", "^", "$")
"""One of them is in whatever the expression finds."""


def reads_as_pattern(text: str) -> bool:
    """Whether a line is written in the syntax of regular expressions, and is one."""
    line = text.strip()
    if "\n" in line or not any(sign in line for sign in _SIGNS) or not _EXPRESSION.search(line):
        return False
    from lurcher.errors import QueryError
    from lurcher.query.text_pattern import compiled

    try:
        compiled(line)
    except QueryError:
        return False
    return True


_ASKING = ("how", "what", "where", "which", "who", "when", "why")
_QUESTION = pattern(rf"(?i)^\s*(?:{'|'.join(_ASKING)})\b")
_COMPLAINING = (
    "not", "cannot", "never", "unable", "should", "please", "fail", "fails", "failed", "failing", "raise", "raises", "throw",
    "throws", "break", "breaks", "broke", "broken", "wrong", "wrongly", "incorrect", "incorrectly", "missing", "regression",
    "bug", "bugs", "hang", "hangs", "ignored", "ignores", "loses", "misleading", "spurious",
)  # fmt: skip
_BEGINNING = ("crash", "unexpected", "inconsistent")
_PAIRS = ("no longer", "instead of")
_ENDING = ("error", "exception", "warning")
_WISHING = (
    "add", "support", "allow", "make", "remove", "rename", "improve", "change", "enable", "disable", "provide", "fix",
    "feature", "drop", "avoid", "prevent", "extend", "implement", "simplify", "deprecate",
)  # fmt: skip
_COMPLAINT = pattern(
    r"(?i)\b(?:do|does|did|is|are|was|were|has|have|could|would|should|ca|wo)n['’]t\b"
    rf"|\b(?:{'|'.join(_COMPLAINING + _PAIRS)})\b"
    rf"|\b(?:{'|'.join(_BEGINNING)})\w*\b"
    rf"|\b[A-Z]\w*(?:{'|'.join(_ENDING)})\b"
    rf"|^(?:[\w ]{{1,20}}: *)?(?:{'|'.join(_WISHING)})\b"
)


def wants_change(text: str) -> bool:
    """Whether a sentence reads as a bug report or a request rather than as a question about the code."""
    low = text.lower()
    if not text.isascii() or "'" in low or ":" in low or any(pair in low for pair in _PAIRS):
        return not _QUESTION.match(text) and _COMPLAINT.search(text) is not None
    found = words(low)
    if not found or (low.lstrip().startswith(found[0]) and found[0] in _ASKING):
        return False
    return (low.startswith(found[0]) and found[0] in _WISHING) or any(
        word in _COMPLAINING
        or word.startswith(_BEGINNING)
        or (word.endswith(_ENDING) and word not in _ENDING and word[0].isalpha())
        for word in found
    )


def names_in(text: str) -> list[str]:
    """Names that stand out in a sentence by how they are written: CamelCase, snake_case, `a.b`."""
    if not text.isascii() or any(sign in text.rstrip(" .?!") for sign in (".", "#", "::")):
        return list(dict.fromkeys(match[0] for match in _CODE_NAME.finditer(text)))
    return list(dict.fromkeys(filter(_stands_out, words(text))))


def _stands_out(word: str) -> bool:
    """Whether a word in ASCII is one of those that the expression for names in code finds."""
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


def capitalised_in(text: str) -> list[str]:
    """Words written with a capital inside a sentence: types more often than not."""
    if text.isascii() and not any(word[:1].isupper() for word in words(text)[1:]):
        first = words(text)[:1]
        if not first or text.startswith(first[0]) or not first[0][0].isupper():
            return []
    return list(dict.fromkeys(match[0] for match in _PROPER.finditer(text)))


def parts_of(name: str) -> list[str]:
    """A qualified name's components, outermost first."""
    return [part for part in _joined_by_slashes(name.strip("@$#.:").removesuffix("()")).split("/") if part]
