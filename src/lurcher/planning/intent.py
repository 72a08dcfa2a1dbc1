"""What kind of question this is: a name, a question in words, or a report of many lines."""

from __future__ import annotations

import re

SYMBOL, LANGUAGE, REPORT = "symbol", "natural-language", "report"

_NAME = r"[^\W\d]\w*[?!]?"
QUALIFIED = re.compile(rf"^[@$#.:]*{_NAME}(?:(?:::|\.|#|->|/|\\){_NAME})*(?:\(\))?$")
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


def names_in(text: str) -> list[str]:
    """Names that stand out in a sentence by how they are written: CamelCase, snake_case, `a.b`."""
    return list(dict.fromkeys(match[0] for match in _CODE_NAME.finditer(text)))


def capitalised_in(text: str) -> list[str]:
    """Words written with a capital inside a sentence: types more often than not."""
    return list(dict.fromkeys(match[0] for match in _PROPER.finditer(text)))


def parts_of(name: str) -> list[str]:
    """A qualified name's components, outermost first."""
    return [part for part in re.split(r"::|\.|#|->|/|\\", name.strip("@$#.:").removesuffix("()")) if part]
