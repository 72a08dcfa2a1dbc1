"""Simple syntax colouring for a terminal: comments, strings, numbers, keywords, and the terms that matched.

A few regular expressions serve every language; a real lexer would cost more time than the search.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, pattern
from lurcher.runtime.terminal import printable
from lurcher.terms.split import split

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence, Set


_TOKEN = pattern(
    r"(?P<comment>(?://|#(?!\[|include|define|if|endif|else)|--(?=\s)).*$|/\*.*?(?:\*/|$))"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\b\d[\w.]*)"
)
_KEYWORDS = frozenset(
    """
    abstract and as async await begin bool break case catch class const continue def default defer defmodule defp do
    elif else end enum except export extends extern false final finally fn for from func function go if impl
    implements import in instance int interface internal is let local match mod module mut namespace new nil none
    not null object of or override package private protected protocol pub public raise record return self sealed
    static string struct super switch template then this throw throws trait true try type typedef union unless
    unsafe use using val var virtual void when where while with yield None True False
    """.split()
)
_STYLES = {"comment": "2;3", "string": "32", "number": "36", "keyword": "35"}


class Painter:
    """Wraps text in terminal codes, or leaves it alone when `on` is false."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def _wrap(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def path(self, text: str) -> str:
        return self._wrap(printable(text), "1;34")

    def symbol(self, text: str) -> str:
        return self._wrap(printable(text), "1")

    def dim(self, text: str) -> str:
        return self._wrap(text, "2")

    def state(self, text: str, kind: str) -> str:
        """Coloured by kind: ok, note or problem."""
        return self._wrap(text, {"ok": "32", "note": "33", "problem": "1;31"}[kind])

    def code(self, line: str, terms: Set[str], spans: Sequence[tuple[int, int]] = ()) -> str:
        """One line of source with matched terms marked, and `spans` (of characters, in order) marked as a whole."""
        line = printable(line)
        if not self.on:
            return line
        out, last = [], 0
        for start, end in spans:
            if start >= last:  # a span inside another is marked already
                out += [self._plain(line[last:start], terms), self._wrap(line[start:end], "1;33")]
                last = end
        return "".join((*out, self._plain(line[last:], terms)))

    def _plain(self, line: str, terms: Set[str]) -> str:
        out, position = [], 0
        for match in _TOKEN.finditer(line):
            out.append(line[position : match.start()])
            out.append(self._token(match, terms))
            position = match.end()
        return "".join((*out, line[position:]))

    def _token(self, match: re.Match[str], terms: Set[str]) -> str:
        kind, text = match.lastgroup or "", match[0]
        if kind == "word":
            if terms & set(split(text)):
                return self._wrap(text, "1;33")
            return self._wrap(text, _STYLES["keyword"]) if text in _KEYWORDS else text
        if kind in ("comment", "string"):
            import re

            style = _STYLES[kind]
            # A match inside a comment keeps the comment's colour around it.
            return self._wrap(
                re.sub(
                    r"\w+",
                    lambda word: f"\x1b[0;1;33m{word[0]}\x1b[0;{style}m" if terms & set(split(word[0])) else word[0],
                    text,
                ),
                style,
            )
        return self._wrap(text, _STYLES["number"])
