"""Syntax patterns: code with metavariables (`$X`, `$$$ARGS`), matched by ast-grep.

`looks_like_pattern` distinguishes a pattern from a question that contains a `$`, such as a report about a shell variable.
`parse_pattern` parses a pattern in one language and returns what the lane needs to match it, or the first flaw.

A `$` is not part of a name in most languages, so ast-grep replaces it by another character (the language's sigil) before it
parses a pattern. To report where a pattern is wrong we parse it the same way; a test compares our sigils with the installed
ast-grep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from lurcher.errors import MissingExtra, QueryError
from lurcher.languages.detect import LANGUAGES
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child

MAX_CHARS = 4_000
MAX_DEPTH = 200
"""How deep the syntax of a pattern may nest: ast-grep recurses over it, and the stack is finite."""

SIGILS = {name: language.sigil for name, language in LANGUAGES.items() if language.sigil}
"""Language → the character that replaces `$` in its patterns; the languages that ast-grep has a grammar for."""

METAVARIABLE = re.compile(r"\$\$\$(?:[A-Z_][A-Z0-9_]*)?|\$\$?[A-Z_][A-Z0-9_]*")
_SEVERAL = re.compile(r"\$\$\$([A-Z][A-Z0-9_]*)")
_SINGLE = re.compile(r"(?<!\$)\$\$?([A-Z][A-Z0-9_]*)")
_SIGIL = re.compile(r"\$+(?=[A-Z_])|(?<!\$)\$\$\$(?!\$)")

_NARROW = frozenset({"bash"})
"""Grammars that pass any character to C functions for bytes: wider characters are replaced before parsing."""
_WIDE = re.compile(r"[^\x00-\xff]")
_LETTERS = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"


_STATEMENT = ("", ";")
_WRAPPERS = {
    "c": (_STATEMENT,),
    "cpp": (_STATEMENT, ("class C { ", " };")),
    "csharp": (_STATEMENT, ("class C { ", " }"), ("class C { async void f() { ", "; } }")),
    "css": (("a { ", "; }"), ("a { ", " }")),
    "dart": (("void f() { ", "; }"), ("void f() { ", " }"), ("class C { ", " }")),
    "go": (("func f() { ", " }"), _STATEMENT),
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
"""Code to put before and after a pattern that is not a whole file: an expression, a statement, a member of a class."""
_INSIDE_FIRST = frozenset({"go"})
"""Outside of a function, the grammar takes `fmt.Println($X)` for a conversion to a type `fmt.Println`."""

# How a pattern differs from prose: it is code around metavariables, with brackets, an assignment, a semicolon or a
# block, and its words stand alone except for keywords. Several words in a row, or a bracket after a space, are prose. And at
# least one variable must not be a well-known one of the shell.

_SHELL_VARIABLES = frozenset(
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
_INFIX_KEYWORDS = frozenset({"as", "extends", "implements", "in", "instanceof", "of"})
"""Keywords that occur between names."""
_BLOCK = re.compile(r"^\s*(?:async|else|for|if|try|while|with)\b.*:\s*\$\$\$", re.S)
_STRUCTURE = re.compile(r"[(\[{;]|(?<![=!<>])=")
_VARIABLE = re.compile(r"(?<![\w$\\])(?:" + METAVARIABLE.pattern + r")(?![a-z])")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_WORD = r"[^\W\d]\w*"
_ADJACENT_WORDS = re.compile(rf"(?<!\w)({_WORD})[ \t]+(?=({_WORD}))")
_BEFORE_BRACKET = re.compile(rf"(?<!\w)({_WORD})[ \t]+\((?=[^)]*[^\W\d])")
_PLACEHOLDER = "X"
"""Replaces metavariables when the words of a query are checked."""

Rule: TypeAlias = "str | dict[str, str]"


@dataclass(frozen=True, slots=True)
class SyntaxPattern:
    """A pattern that parses in a language."""

    text: str
    language: str
    rule: Rule
    """The pattern in the form that ast-grep takes."""
    literals: tuple[bytes, ...]
    """Byte strings that every matching file contains, longest first."""
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


def check_pattern(text: str) -> str:
    """The pattern without surrounding space; QueryError for what is no pattern in any language."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        raise QueryError(f"the pattern has {len(text):,} characters", f"a pattern has at most {MAX_CHARS:,}")
    if not METAVARIABLE.sub("", text).strip():
        raise QueryError(
            f"the pattern {text[:40]} matches everything", "put code around it, for example: 'return $X' or 'open($$$)'"
        )
    return text


def parse_pattern(text: str, language: str) -> SyntaxPattern | Flaw:
    """Parse a pattern in `language`, as a whole file or inside a statement or class; returns the first flaw where it fails."""
    if not has_ast_grep() or not can_start_child():
        return parse_in_process(text, language)
    try:
        found: SyntaxPattern | Flaw = call(f"{__name__}:parse_in_process", text, language)
        return found
    except SandboxFailure:
        return Flaw(language, 0, len(text), "it takes the grammar too much time or memory")


def parse_in_process(text: str, language: str) -> SyntaxPattern | Flaw:
    """Does the work of `parse_pattern`, in a child process that may be stopped."""
    flaw = None
    wrappers, whole = _WRAPPERS.get(language, ()), ("", "")
    for before, after in (*wrappers, whole) if language in _INSIDE_FIRST else (whole, *wrappers):
        found = _ParseAttempt(text, language, before, after).result()
        if isinstance(found, SyntaxPattern):
            return found
        if not before and text.endswith(";") and found.start == len(text) - 1:
            # A declaration ends before its semicolon, as in C.
            return parse_in_process(text[:-1].rstrip(), language)
        if flaw is None or not before + after:
            flaw = found
    assert flaw is not None
    return flaw


def prepare_for_grammar(text: str, language: str) -> str:
    """The text as the grammar gets it: of the same length, for a few grammars with wide characters replaced."""
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")  # replaces lone surrogates
    if language not in _NARROW:
        return text
    return _WIDE.sub(lambda found: _LETTERS[ord(found[0]) % len(_LETTERS)], text)


class _ParseAttempt:
    """One attempt to parse a pattern, with code before and after it that makes it a whole file."""

    def __init__(self, text: str, language: str, before: str, after: str) -> None:
        self._text = text
        self._language = language
        self._before, self._after = before, after
        sigil = SIGILS[language]
        source = _SIGIL.sub(lambda found: sigil * len(found[0]), text)
        self._source = prepare_for_grammar(before + source + after, language)
        self._root = load_parser()(self._source, grammar_name(language)).root()
        each = re.escape(sigil)
        self._variable = re.compile(rf"{each}{{3}}[A-Z0-9_]*|{each}{{1,2}}[A-Z_][A-Z0-9_]*")

    def result(self) -> SyntaxPattern | Flaw:
        top = self._root
        if self._before or self._after:
            found = self._find_spanning_node()
            if found is None:
                return Flaw(self._language, 0, len(self._text), "unexpected")
            top = found
        literals, errors = self._walk(top)
        if errors:
            return min(errors, key=lambda flaw: (flaw.start, flaw.end))
        shown = prepare_for_grammar(self._before + self._text + self._after, self._language)
        rule: Rule = shown if top is self._root else {"context": shown, "selector": top.kind()}
        return self._find_rejection(rule) or SyntaxPattern(
            self._text, self._language, rule, tuple(sorted(literals, key=lambda item: (-len(item), item))),
            tuple(dict.fromkeys(_SINGLE.findall(self._text))), tuple(dict.fromkeys(_SEVERAL.findall(self._text))),
        )  # fmt: skip

    def _find_spanning_node(self) -> Any | None:
        """The innermost node that is exactly the pattern, if it is the first of its kind: ast-grep selects it by kind."""
        wanted = len(self._before), len(self._source) - len(self._after)
        node, found = self._root, None
        for _ in range(MAX_DEPTH):
            if _get_span(node) == wanted and node.is_named():
                found = node
            spans = [(child, *_get_span(child)) for child in node.children()]
            inner = [child for child, start, end in spans if start <= wanted[0] and end >= wanted[1]]
            if not inner:
                break
            node = inner[0]
        if found is None or found.kind() == "ERROR":
            return None
        first = self._root.find(kind=found.kind())
        return found if first is not None and _get_span(first) == wanted else None

    def _walk(self, top: Any) -> tuple[set[bytes], list[Flaw]]:
        """The literals that every match contains, and the flaws."""
        literals: set[bytes] = set()
        errors: list[Flaw] = []
        shift = len(self._before)
        stack = [(top, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise QueryError(f"the pattern is nested more than {MAX_DEPTH} deep", "search for a part of it")
            start, end = _get_span(node)
            text = self._text[start - shift : end - shift]
            if self._variable.fullmatch(self._source, start, end) and (node.kind() != "ERROR" or text.startswith("$$$")):
                # `$$$` may occur where no name can, as in the body of a class; ast-grep accepts that.
                continue
            if node.kind() == "ERROR":
                reason = f"unexpected {_quote(text)}" if end > start else "it is not whole"
                errors.append(Flaw(self._language, start - shift, end - shift, reason))
            elif start == end:
                # A token that the parser inserted. It does so for the end of a statement, which a pattern need not have.
                if node.is_leaf() and node.kind() not in ("", ";"):
                    errors.append(Flaw(self._language, start - shift, end - shift, f"missing {_quote(node.kind())}"))
            elif not node.is_leaf():
                stack += [(child, depth + 1) for child in node.children()]
            elif node.is_named():
                # Its text is compared with that of nodes, so every matching file contains it literally.
                literals.add(text.encode("utf-8", "surrogatepass"))
        return literals, errors

    def _find_rejection(self, rule: Rule) -> Flaw | None:
        """The flaw for which ast-grep itself rejects the pattern."""
        try:
            self._root.find(pattern=rule)
        except RuntimeError as error:
            pieces = self._root.children()
            if "Multiple AST nodes" in str(error) and len(pieces) > 1:
                start, end = _get_span(pieces[1])
                reason = f"a pattern is one piece of syntax, and a second one begins with {_quote(self._text[start:end])}"
                return Flaw(self._language, start, end, reason)
            return Flaw(self._language, 0, len(self._text), "ast-grep does not take it")
        return None


def _get_span(node: Any) -> tuple[int, int]:
    """Start and end of a node, in characters."""
    span = node.range()
    return span.start.index, span.end.index


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line if len(line) <= 30 else line[:29] + '…'}'"


def describe_flaw(text: str, flaw: Flaw) -> str:
    """Position and reason of a flaw, on one line."""
    line, column = text.count("\n", 0, flaw.start) + 1, flaw.start - text.rfind("\n", 0, flaw.start)
    return f"column {column}: {flaw.reason}" if "\n" not in text else f"line {line}, column {column}: {flaw.reason}"


def make_pattern_error(text: str, flaws: list[Flaw]) -> QueryError:
    """The error for a pattern that parses in none of the languages that were tried; it shows the first flaw."""
    worst = flaws[0]
    begin = text.rfind("\n", 0, worst.start) + 1
    column = worst.start - begin + 1
    row = text[begin:].split("\n", 1)[0]
    width = max(1, min(worst.end, begin + len(row)) - worst.start)
    others = sorted({flaw.language for flaw in flaws} - {worst.language})
    also = f", nor as {', '.join(others[:6])}{', …' if len(others) > 6 else ''}" if others else ""
    marks = "".join("\t" if c == "\t" else " " for c in row[: column - 1]) + "^" * width
    return QueryError(f"the pattern does not parse as {worst.language}{also}: {describe_flaw(text, worst)}", f"{row}\n{marks}")


def grammar_name(language: str) -> str:
    """ast-grep's name for a language."""
    return LANGUAGES[language].ast_grep or language


def infer_languages(languages: Iterable[str]) -> tuple[str, ...]:
    """Those of `languages` in which a pattern is tried when the query names none, sorted."""
    return tuple(sorted(language for language in set(languages) if language in SIGILS and not LANGUAGES[language].markup))


def load_parser() -> Any:
    """ast-grep's parser class; MissingExtra where ast-grep is not installed."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise MissingExtra(
            "structural search needs ast-grep, which is not installed", "run: pip install ast-grep-py"
        ) from None
    return SgRoot


def has_ast_grep() -> bool:
    """Whether ast-grep is installed."""
    from importlib.util import find_spec

    return find_spec("ast_grep_py") is not None


def looks_like_pattern(text: str) -> bool:
    """Whether a query reads as code with metavariables; it may still parse in no language."""
    if "$" not in text or len(text) > MAX_CHARS:
        return False
    names = {found.lstrip("$") for found in _VARIABLE.findall(text) if found.startswith("$$$") or not found.startswith("$_")}
    if not names - _SHELL_VARIABLES:
        return False
    if not METAVARIABLE.sub("", text).strip():
        return False
    bare = _VARIABLE.sub(_PLACEHOLDER, _STRING.sub("''", text))
    if not _STRUCTURE.search(bare) and not _BLOCK.search(text):
        return False
    pairs = _ADJACENT_WORDS.findall(bare)
    return all(
        word in _KEYWORDS or (word == _PLACEHOLDER and following in _INFIX_KEYWORDS) for word, following in pairs
    ) and all(word in _KEYWORDS for word in _BEFORE_BRACKET.findall(bare))


def is_pattern(text: str, languages: Iterable[str]) -> bool:
    """Whether a query is a pattern in one of `languages`; bash is not tried, since everything with a `$` parses as bash."""
    if not looks_like_pattern(text) or not has_ast_grep():
        return False
    tried = [language for language in infer_languages(languages) if language != "bash"]
    return any(isinstance(parse_pattern(text.strip(), language), SyntaxPattern) for language in tried)
