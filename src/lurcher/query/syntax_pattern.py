"""A pattern as one language reads it: whether it parses, where it does not, and what every match must contain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from lurcher.errors import QueryError
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.structural.languages import SIGILS, grammar_name, inferred, installed, parser

MAX_CHARS = 4_000
MAX_DEPTH = 200
"""How deep the syntax of a pattern may nest: ast-grep goes down it by recursion, and a stack ends."""

METAVARIABLE = re.compile(r"\$\$\$(?:[A-Z_][A-Z0-9_]*)?|\$\$?[A-Z_][A-Z0-9_]*")
_SEVERAL = re.compile(r"\$\$\$([A-Z][A-Z0-9_]*)")
_SINGLE = re.compile(r"(?<!\$)\$\$?([A-Z][A-Z0-9_]*)")
_SIGIL = re.compile(r"\$+(?=[A-Z_])|(?<!\$)\$\$\$(?!\$)")

_NARROW = frozenset({"bash"})
"""Grammars that ask the C library for the class of any character as if it were a byte: they are shown no wider ones."""
_WIDE = re.compile(r"[^\x00-\xff]")
_LETTERS = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"


_STATEMENT = ("", ";")
_PLACES = {
    "c": (_STATEMENT,),
    "cpp": (_STATEMENT, ("class C { ", " };")),
    "csharp": (_STATEMENT, ("class C { ", " }"), ("class C { async void f() { ", "; } }")),
    "css": (("a { ", "; }"), ("a { ", " }")),
    "dart": (("void f() { ", "; }"), ("void f() { ", " }"), ("class C { ", " }")),
    "java": (_STATEMENT, ("class C { ", " }"), ("class C { void f() { ", "; } }")),
    "javascript": (_STATEMENT, ("class C { ", " }")),
    "kotlin": (("class C { ", " }"),),
    "nix": (("{ ", " }"), ("{ ", "; }")),
    "php": (_STATEMENT, ("class C { ", " }")),
    "python": (("", "\ndef f(): pass"), ("try: pass\n", "")),
    "rust": (_STATEMENT, ("impl C { ", " }"), ("fn f() { ", " }")),
    "scala": (("class C { ", " }"),),
    "solidity": (("contract C { ", " }"), ("contract C { function f() public { ", "; } }")),
    "swift": (("class C { ", " }"),),
    "tsx": (_STATEMENT, ("class C { ", " }")),
    "typescript": (_STATEMENT, ("class C { ", " }")),
    "zig": (_STATEMENT, ("fn f() void { ", " }"), ("fn f() void { ", "; }")),
}
"""What may stand before and after a pattern that is no file by itself: an expression, a statement, a member of a class."""

Rule: TypeAlias = "str | dict[str, str]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that parses in a language."""

    text: str
    language: str
    rule: Rule
    """The pattern as ast-grep is given it."""
    literals: tuple[bytes, ...]
    """Texts that every file with a match contains, longest first."""
    single: tuple[str, ...]
    several: tuple[str, ...]
    """The names that capture one node (`$NAME`) and any number of them (`$$$NAME`)."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Where and why a pattern does not parse in a language."""

    language: str
    start: int
    end: int
    reason: str


def checked(text: str) -> str:
    """The pattern without space around it, or an error for what is no pattern in any language."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        raise QueryError(f"the pattern has {len(text):,} characters", f"a pattern has at most {MAX_CHARS:,}")
    if not METAVARIABLE.sub("", text).strip():
        raise QueryError(
            f"the pattern {text[:40]} matches everything", "put code around it, for example: 'return $X' or 'open($$$)'"
        )
    return text


def read(text: str, language: str) -> Pattern | Flaw:
    """The pattern as `language` reads it, by itself or where such code may stand, or else its first flaw."""
    if not installed() or not can_start_child():
        return read_alone(text, language)
    try:
        found: Pattern | Flaw = call(f"{__name__}:read_alone", text, language)
        return found
    except SandboxFailure:
        return Flaw(language, 0, len(text), "it takes the grammar too much time or memory")


def read_alone(text: str, language: str) -> Pattern | Flaw:
    """What `read` does, in a process that may be stopped."""
    flaw = None
    for before, after in (("", ""), *_PLACES.get(language, ())):
        found = _Reading(text, language, before, after).result()
        if isinstance(found, Pattern):
            return found
        if not before and text.endswith(";") and found.start == len(text) - 1:
            # A declaration ends before its semicolon, as in C.
            return read_alone(text[:-1].rstrip(), language)
        flaw = flaw or found
    assert flaw is not None
    return flaw


def shown_to_grammar(text: str, language: str) -> str:
    """The text as the grammar gets it: the same length, and the same characters but for a few grammars' sake."""
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
    if language not in _NARROW:
        return text
    return _WIDE.sub(lambda found: _LETTERS[ord(found[0]) % len(_LETTERS)], text)


class _Reading:
    """One attempt to read a pattern, with code before and after it that makes it a whole file."""

    def __init__(self, text: str, language: str, before: str, after: str) -> None:
        self._text = text
        self._language = language
        self._before, self._after = before, after
        sigil = SIGILS[language]
        source = _SIGIL.sub(lambda found: sigil * len(found[0]), text)
        self._source = shown_to_grammar(before + source + after, language)
        self._root = parser()(self._source, grammar_name(language)).root()
        each = re.escape(sigil)
        self._variable = re.compile(rf"{each}{{3}}[A-Z0-9_]*|{each}{{1,2}}[A-Z_][A-Z0-9_]*")

    def result(self) -> Pattern | Flaw:
        top = self._root
        if self._before or self._after:
            found = self._spanning()
            if found is None:
                return Flaw(self._language, 0, len(self._text), "unexpected")
            top = found
        literals, errors = self._walk(top)
        if errors:
            return min(errors, key=lambda flaw: (flaw.start, flaw.end))
        shown = shown_to_grammar(self._before + self._text + self._after, self._language)
        rule: Rule = shown if top is self._root else {"context": shown, "selector": top.kind()}
        return self._refused(rule) or Pattern(
            self._text, self._language, rule, tuple(sorted(literals, key=lambda item: (-len(item), item))),
            tuple(dict.fromkeys(_SINGLE.findall(self._text))), tuple(dict.fromkeys(_SEVERAL.findall(self._text))),
        )  # fmt: skip

    def _spanning(self) -> Any | None:
        """The innermost node that is exactly the pattern, if it is the first of its kind: so it is told to ast-grep."""
        wanted = len(self._before), len(self._source) - len(self._after)
        node, found = self._root, None
        for _ in range(MAX_DEPTH):
            if _span(node) == wanted and node.is_named():
                found = node
            inner = [child for child in node.children() if _span(child)[0] <= wanted[0] and _span(child)[1] >= wanted[1]]
            if not inner:
                break
            node = inner[0]
        if found is None or found.kind() == "ERROR":
            return None
        first = self._root.find(kind=found.kind())
        return found if first is not None and _span(first) == wanted else None

    def _walk(self, top: Any) -> tuple[set[bytes], list[Flaw]]:
        """What every match contains, and what is wrong."""
        literals: set[bytes] = set()
        errors: list[Flaw] = []
        shift = len(self._before)
        stack = [(top, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise QueryError(f"the pattern is nested more than {MAX_DEPTH} deep", "search for a part of it")
            start, end = _span(node)
            text = self._text[start - shift : end - shift]
            if self._variable.fullmatch(self._source, start, end) and (node.kind() != "ERROR" or text.startswith("$$$")):
                # `$$$` may stand where no name can, as in the body of a class: ast-grep takes it for what it is.
                continue
            if node.kind() == "ERROR":
                reason = f"unexpected {_piece(text)}" if end > start else "it is not whole"
                errors.append(Flaw(self._language, start - shift, end - shift, reason))
            elif start == end:
                # What the parser had to make up. It does so for the end of a statement, which a pattern need not have.
                if node.is_leaf() and node.kind() not in ("", ";"):
                    errors.append(Flaw(self._language, start - shift, end - shift, f"missing {_piece(node.kind())}"))
            elif not node.is_leaf():
                stack += [(child, depth + 1) for child in node.children()]
            elif node.is_named():
                # Its text is compared with that of nodes, so it stands in every file with a match, letter for letter.
                literals.add(text.encode("utf-8", "surrogatepass"))
        return literals, errors

    def _refused(self, rule: Rule) -> Flaw | None:
        """What ast-grep itself has against the pattern."""
        try:
            self._root.find(pattern=rule)
        except RuntimeError as error:
            pieces = self._root.children()
            if "Multiple AST nodes" in str(error) and len(pieces) > 1:
                start, end = _span(pieces[1])
                reason = f"a pattern is one piece of syntax, and a second one begins with {_piece(self._text[start:end])}"
                return Flaw(self._language, start, end, reason)
            return Flaw(self._language, 0, len(self._text), "ast-grep does not take it")
        return None


def _span(node: Any) -> tuple[int, int]:
    """Where a node begins and ends, in characters."""
    span = node.range()
    return span.start.index, span.end.index


def _piece(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line if len(line) <= 30 else line[:29] + '…'}'"


def told(text: str, flaw: Flaw) -> str:
    """Where a flaw is and what it is, on one line."""
    line, column = text.count("\n", 0, flaw.start) + 1, flaw.start - text.rfind("\n", 0, flaw.start)
    return f"column {column}: {flaw.reason}" if "\n" not in text else f"line {line}, column {column}: {flaw.reason}"


def flawed(text: str, flaws: list[Flaw]) -> QueryError:
    """The error for a pattern that parses in no language that was tried; the first flaw is the one that is shown."""
    worst = flaws[0]
    begin = text.rfind("\n", 0, worst.start) + 1
    column = worst.start - begin + 1
    row = text[begin:].split("\n", 1)[0]
    width = max(1, min(worst.end, begin + len(row)) - worst.start)
    others = sorted({flaw.language for flaw in flaws} - {worst.language})
    also = f", nor as {', '.join(others[:6])}{', …' if len(others) > 6 else ''}" if others else ""
    marks = "".join("\t" if c == "\t" else " " for c in row[: column - 1]) + "^" * width
    return QueryError(f"the pattern does not parse as {worst.language}{also}: {told(text, worst)}", f"{row}\n{marks}")

# ----------------------------------------------------------------------------------------------------------------------
# Tells a pattern of syntax from a question that has a `$` in it, such as a report about a shell variable.
#
# A pattern is code around metavariables. So it has brackets, an assignment, a semicolon or a block, and its words stand alone
# but for keywords; words in a row, or a bracket after a space, are prose. And some variable must not be one of a shell.


_EVERYDAY = frozenset(
    """
    ARGV CDPATH DISPLAY EDITOR ENV GLOBALS HOME HOST HOSTNAME IFS LANG LANGUAGE LC_ALL LD_LIBRARY_PATH LOGNAME MAIL
    NO_COLOR OLDPWD PAGER PATH PHP_SELF PORT PROMPT PS1 PS2 PWD PYTHONPATH RANDOM SHELL SHLVL TEMP TERM TMP TMPDIR TZ
    UID USER USERNAME VIRTUAL_ENV
    """.split()
)
_KEYWORDS = frozenset(
    """
    abstract and as assert async auto await begin bool break case catch char class const continue data def default defer
    defmodule defp del delete do double elif else end ensure enum except export extends extern final finally float fn
    for foreach from fun func function global go guard if impl implements import in inline instance instanceof int
    interface internal is lambda let local long loop match mod module mut namespace new nonlocal not object of open or
    override package private protected protocol pub public raise record ref rescue return sealed select short signed
    static string struct super switch synchronized template then throw throws trait try type typedef typeof union unless
    unsafe unsigned until use using val var virtual void volatile when where while with yield
    """.split()
)
_BETWEEN = frozenset({"as", "extends", "implements", "in", "instanceof", "of"})
"""Keywords that stand between names."""
_BLOCK = re.compile(r"^\s*(?:async|else|for|if|try|while|with)\b.*:\s*\$\$\$", re.S)
_STRUCTURE = re.compile(r"[(\[{;]|(?<![=!<>])=")
_VARIABLE = re.compile(r"(?<![\w$\\])(?:" + METAVARIABLE.pattern + r")(?![a-z])")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_WORD = r"[^\W\d]\w*"
_IN_A_ROW = re.compile(rf"(?<!\w)({_WORD})[ \t]+(?=({_WORD}))")
_BEFORE_BRACKET = re.compile(rf"(?<!\w)({_WORD})[ \t]+\((?=[^)]*[^\W\d])")
_ANY = "X"
"""Stands for a metavariable when words are looked at."""


def looks_like_pattern(text: str) -> bool:
    """Whether a query reads as code with metavariables; it may still parse in no language."""
    if "$" not in text or len(text) > MAX_CHARS:
        return False
    names = {found.lstrip("$") for found in _VARIABLE.findall(text) if found.startswith("$$$") or not found.startswith("$_")}
    if not names - _EVERYDAY:
        return False
    if not METAVARIABLE.sub("", text).strip():
        return False
    bare = _VARIABLE.sub(_ANY, _STRING.sub("''", text))
    if not _STRUCTURE.search(bare) and not _BLOCK.search(text):
        return False
    return all(word in _KEYWORDS or (word == _ANY and after in _BETWEEN) for word, after in _IN_A_ROW.findall(bare)) and all(
        word in _KEYWORDS for word in _BEFORE_BRACKET.findall(bare)
    )


def is_pattern(text: str, languages: Iterable[str]) -> bool:
    """Whether a query is a pattern in one of `languages`. To a shell everything with a `$` is: it has no say."""
    if not looks_like_pattern(text) or not installed():
        return False
    return any(isinstance(read(text.strip(), language), Pattern) for language in inferred(languages) if language != "bash")
