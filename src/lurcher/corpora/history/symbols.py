"""Names of what a change is about: from the line that git shows behind the @@, and from lines that define something.

Cheap on purpose: regular expressions over single lines. History is long, and a grammar would need whole files.
"""

from __future__ import annotations

import re
from functools import lru_cache

_KEYWORDS = (
    "def|defp|defmodule|defmacro|class|module|func|function|fn|fun|struct|enum|trait|interface|impl|type|record|object|"
    "protocol|extension|namespace|package|sub|proc|union|macro_rules!|actor|mixin|concept"
)
_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*[!?]?"
_DEFINITION = re.compile(
    r"(?:^|[\s(;{])(?:" + _KEYWORDS + r")\b\*?(?:<[^<>\n]*>)?\s+(?:\([^()\n]*\)\s*)?(?:<[^<>\n]*>\s*)?(?:self\.)?"
    r"(" + _NAME + r")"
)
_BEFORE = (
    r"(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|override|open|sealed|data|case|inline|"
    r"virtual|extern|unsafe|const|readonly|partial|suspend|local|pub(?:\([\w: ]+\))?|declare)[ \t]+)*"
)
_LINE = re.compile(
    r"^[ \t]*(?:@[\w.]+(?:\([^()\n]*\))?[ \t]+)*" + _BEFORE + r"(?:" + _KEYWORDS + r")\b\*?(?:<[^<>\n]*>)?[ \t]+"
    r"(?:\([^()\n]*\)[ \t]*)?(?:<[^<>\n]*>[ \t]*)?(?:self\.)?(" + _NAME + r")",
    re.MULTILINE,
)
_CALLED = re.compile(r"([^\W\d][\w$]*(?:::~?[^\W\d][\w$]*)*[!?]?)\s*\(")
_BRACED = re.compile(
    r"^[^\W\d][\w:<>,*&\[\] \t]{0,120}[ \t*&]([^\W\d]\w{0,80}(?:::~?[^\W\d]\w{0,80}){0,4})[ \t]*\("
    r"[^;{}\n]*\)?[^;\n]*$",
    re.MULTILINE,
)
_INDENTED = re.compile(
    r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized|native)[ \t]+)"
    r"{1,6}[\w<>,.?\[\] \t]{0,80}?\b([^\W\d]\w{0,80})[ \t]*\(",
    re.MULTILINE,
)
_BOUND = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+([^\W\d][\w$]*)[ \t]*(?::[^=\n]+)?=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\(|[\w$]+[ \t]*=>)",
    re.MULTILINE,
)
_CONTROL = frozenset(
    """
    if for while switch catch return else elif with match do until unless when foreach sizeof throw raise assert using lock
    """.split()
)
_TYPES = frozenset({"struct", "enum", "union"})
_BRACES = frozenset({"c", "cpp", "objective-c"})
_MANAGED = frozenset({"java", "csharp", "php", "scala", "kotlin", "groovy", "dart", "typescript", "tsx"})
_SCRIPTS = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_MOST_NAMES = 32
_MOST_CHARACTERS = 20_000


@lru_cache(maxsize=10_000)
def heading_name(heading: str) -> str:
    """What the line behind the @@ defines; empty where it defines nothing that can be told."""
    match = _DEFINITION.search(heading)
    called = next((found for found in _CALLED.finditer(heading) if found[1] not in _CONTROL), None)
    # In C a keyword may belong to what a function returns or takes: `struct node *next(struct list *all)`.
    if match and not (called and (match.start() > called.start() or match[0].split()[0] in _TYPES)):
        return match[1]
    return called[1] if called else ""


def defined_names(text: str, language: str) -> list[str]:
    """The names that lines of code define, in order, each once."""
    text = text[:_MOST_CHARACTERS]
    patterns = [_LINE]
    if language in _BRACES:
        patterns.append(_BRACED)
    if language in _MANAGED:
        patterns.append(_INDENTED)
    if language in _SCRIPTS:
        patterns.append(_BOUND)
    found: dict[str, None] = {}
    for pattern in patterns:
        for match in pattern.finditer(text):
            if match[1] not in _CONTROL:
                found[match[1]] = None
    return list(found)[:_MOST_NAMES]
