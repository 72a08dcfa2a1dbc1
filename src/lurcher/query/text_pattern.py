"""Text patterns: a fixed string, or a regular expression in RE2's syntax, which never takes more than linear time.

`TextPattern` finds matches. `Syntax` says which strings every match contains, so that the term index can rule out files.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from lurcher.errors import MissingExtra, QueryError, Template
from lurcher.runtime.stdlib import pattern
from lurcher.types import CASES, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


SMART, IGNORE, EXACT = CASES
_NON_WORD = r"[^\pL\pM\p{Nd}\p{Nl}\p{Pc}\n]"
_MAX_MEMORY = 64 << 20
MAX_CHARS = 10_000
_MAX_GROUPS = 50
_MAX_STEPS = 20_000
"""Instructions of a compiled pattern. In the worst case each is executed for each byte of a text."""
_CASE_FOLDS = ((b"s", "\u017f".encode()), (b"k", "\u212a".encode()))
"""Letters that equal ASCII letters regardless of case: the long s and the kelvin sign."""
_CLASSES = frozenset("dDsSwWpPbBAzZQECG")
_REPEATS = pattern(r"(?:[*+?]|\{\d+(?:,\d*)?\})+")
"""Repetition operators; any other brace is a literal."""
Span = tuple[int, int]


class TextPattern:
    """A fixed string or regular expression, with its options; the expression is compiled on first use."""

    def __init__(self, text: str, fixed: bool, case: str, word: bool, multiline: bool) -> None:
        self.text = text
        self.fixed = fixed
        """Whether the text is a fixed string and not a regular expression."""
        self.case = case
        self.word = word
        """Whether a match must begin and end at word boundaries."""
        self.multiline = multiline
        """Whether a match may span several lines."""

    @property
    def ignores_case(self) -> bool:
        return self.case == IGNORE or (self.case == SMART and self.syntax.literal and not self.syntax.upper)

    @cached_property
    def syntax(self) -> Syntax:
        return parse_syntax(self.text, self.fixed)

    @cached_property
    def plain(self) -> bytes | None:
        """The bytes to search for, where a plain search is enough."""
        itself = self.fixed or (self.syntax.runs == (self.text,))
        caseless = not self.ignores_case or not any(c.lower() != c.upper() for c in self.text)
        return self.text.encode("utf-8", "replace") if itself and caseless and not self.word else None

    @cached_property
    def _lowercase_bytes(self) -> bytes | None:
        """The lower-case bytes to search for, where a plain search in lower case is enough."""
        plain = self.fixed and self.ignores_case and self.text.isascii() and not self.word and "\n" not in self.text
        return self.text.lower().encode() if plain else None

    def _lowercase(self, data: bytes) -> bytes | None:
        """A text in lower case, cached; None where a non-ASCII character in it equals a searched letter regardless of case."""
        known: tuple[bytes, bytes | None] | None = self.__dict__.get("_lowered")
        if known is None or known[0] is not data:
            wanted = self._lowercase_bytes or b""
            other = any(letter in wanted and sign in data for letter, sign in _CASE_FOLDS)
            known = (data, None if other else data.lower())
            self.__dict__["_lowered"] = known
        return known[1]

    @cached_property
    def _expression(self) -> Any:
        try:
            import re2
        except ImportError as error:  # no fallback to `re`, which may take exponential time
            raise MissingExtra("exact text by a pattern needs the google-re2 package", "pip install google-re2") from error
        if not self.fixed and len(self.text) > MAX_CHARS:
            raise QueryError(
                f"the pattern has {len(self.text):,} characters", f"a regular expression has at most {MAX_CHARS:,}"
            )
        options = re2.Options()
        options.log_errors = False
        options.never_capture = not self.word  # groups are not needed, and each makes every step slower
        options.never_nl = not self.multiline
        options.case_sensitive = not self.ignores_case
        options.max_mem = _MAX_MEMORY
        inner = re2.escape(self.text) if self.fixed else self.text
        if not self.multiline and "\n" in self.text:
            raise QueryError("a line never holds a line break", Template("use {multiline} for patterns over several lines"))
        try:
            groups = re2.compile(inner, options).groups
            source = f"(?m:(?:^|{_NON_WORD})({inner})(?:$|{_NON_WORD}))" if self.word else f"(?m)(?:{inner})"
            compiled = re2.compile(source, options)
        except re2.error as error:
            hint = Template("use {fixed} to look for it as it stands")
            raise QueryError(f"not a regular expression: {_get_reason(error)}", hint) from error
        if groups > _MAX_GROUPS:
            raise QueryError(f"the pattern has {groups:,} groups", "groups that need no number are written (?:…)")
        if compiled.programsize > _MAX_STEPS:
            raise QueryError("the pattern is too large", "use smaller repetitions, or fewer classes of letters")
        return compiled

    @property
    def steps(self) -> int:
        """How many instructions a byte of text may take."""
        if self.plain is not None or self._lowercase_bytes is not None:
            return 1
        size: int = self._expression.programsize
        return size

    def check(self) -> None:
        """Raise unless the pattern can be used."""
        if not self.text:
            raise QueryError("the pattern is empty", Template("for example: {search: literal *}", "'def \\w+_error'"))
        if self.plain is None and self._lowercase_bytes is None:
            _ = self._expression

    def first(self, data: bytes, start: int) -> Span | None:
        """The first match at or after `start`, which is the beginning of a line."""
        if self.plain is not None:
            at = data.find(self.plain, start)
            return None if at < 0 else (at, at + len(self.plain))
        if self._lowercase_bytes is not None and (small := self._lowercase(data)) is not None:
            at = small.find(self._lowercase_bytes, start)
            return None if at < 0 else (at, at + len(self._lowercase_bytes))
        match = self._expression.search(data, start)
        return None if match is None else match.span(1 if self.word else 0)

    def starts(self, data: bytes, borders: Sequence[int] = (), most: int | None = None) -> list[int]:
        """Where matches begin in a text, without overlaps; at most `most` of them between two `borders`."""
        found: list[int] = []
        after = self._after(data)
        at, size = after(0), len(data)
        while at >= 0:
            following = bisect_right(borders, at)
            end = borders[following] if following < len(borders) else size + 1
            left = size + 1 if most is None else most
            while 0 <= at < end and left:
                found.append(at)
                left -= 1
                at = after(-1)
            if 0 <= at < end:
                if end > size:
                    break
                at = after(end)
        return found

    def _after(self, data: bytes) -> Callable[[int], int]:
        """A function: byte → first match at or after it, -1 → the match after its last result; its result is -1 for none."""
        wanted: bytes | None = self.plain
        if wanted is None and self._lowercase_bytes is not None and (small := self._lowercase(data)) is not None:
            wanted, data = self._lowercase_bytes, small
        if wanted is not None:
            find, step, size, last = data.find, len(wanted), len(data), 0

            def next_plain(start: int) -> int:
                nonlocal last
                at = find(wanted, last if start < 0 else start)
                last = size if at < 0 else at + step
                return at

            return next_plain
        group, expression = 1 if self.word else 0, self._expression
        matches = iter(())

        def next_match(start: int) -> int:
            nonlocal matches
            if start >= 0:
                matches = expression.finditer(data, start)
            match = next(matches, None)
            return -1 if match is None else match.start(group)

        return next_match

    def lines(self, data: bytes) -> Iterator[Span]:
        """The first match of each matching line; the search goes on after the last line of a match."""
        start, size = 0, len(data)
        while start < size:
            found = self.first(data, start)
            if found is None or (found[0] == size and data.endswith(b"\n")):  # there is no line after the last
                return
            yield found
            following = data.find(b"\n", max(found[1] - 1, found[0]) if found[1] > found[0] else found[0])
            if following < 0:
                return
            start = following + 1

    def spans(self, data: bytes, start: int, end: int) -> Iterator[Span]:
        """Every match that begins in [start, end), a run of whole lines, none overlapping the one before."""
        while start < end:
            match = self.first(data, start)
            if match is None or match[0] >= end:
                break
            yield match
            start = match[1] if match[1] > match[0] else match[0] + 1


def compile_pattern(
    text: str, *, fixed: bool = False, case: str = SMART, word: bool = False, multiline: bool = False
) -> TextPattern:
    """A pattern that was checked; QueryError says what is wrong with it."""
    pattern = TextPattern(text, fixed, case, word, multiline)
    pattern.check()
    return pattern


def _get_reason(error: Exception) -> str:
    reason: Any = error.args[0] if error.args else str(error)
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


class Syntax(Record):
    __slots__ = ("runs", "literal", "upper")

    def __init__(self, runs: tuple[str, ...], literal: bool, upper: bool) -> None:
        self.runs = runs
        """Strings that every match contains."""
        self.literal = literal
        """Whether any character is a literal."""
        self.upper = upper
        """Whether one of those is a capital."""


def parse_syntax(text: str, fixed: bool) -> Syntax:
    """The syntax of a pattern. Conservative: a run that may be absent from some match is left out."""
    if fixed:
        return Syntax((text,) if text else (), bool(text), any(c.isupper() for c in text))
    return _SyntaxParser(text).syntax()


class _SyntaxParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: list[str] = []
        self._run = ""
        self._literals: list[str] = []
        self._certain = True

    def syntax(self) -> Syntax:
        position, depth = 0, 0
        while position < len(self._text):
            character = self._text[position]
            if character == "\\":
                position = self._escape(position, depth)
            elif character == "[":
                self._end_piece()
                position = self._class_end(position)
                position = self._repeat_end(position)
            elif character == "(":
                self._end_piece()
                depth += 1
                position = self._flags_end(position)
            elif character == ")":
                self._end_piece()
                depth = max(depth - 1, 0)
                position = self._repeat_end(position + 1)
            elif character == "|":
                self._end_piece()
                self._certain = self._certain and depth > 0
                position += 1
            elif character in ".^$":
                self._end_piece()
                position = self._repeat_end(position + 1)
            else:
                position = self._literal(character, position + 1, depth)
        self._end_piece()
        runs = tuple(self._runs) if self._certain else ()
        return Syntax(runs, bool(self._literals), any(c.isupper() for c in self._literals))

    def _literal(self, character: str, following: int, depth: int) -> int:
        self._literals.append(character)
        end = self._repeat_end(following)
        if end > following:
            if self._text[following] == "+" and depth == 0:
                self._run += character
            self._end_piece()
            return end
        if depth == 0:
            self._run += character
        return following

    def _escape(self, position: int, depth: int) -> int:
        name = self._text[position + 1 : position + 2]
        if name == "Q":
            end = self._text.find("\\E", position)
            quoted = self._text[position + 2 : end if end >= 0 else None]
            self._literals += quoted
            self._end_piece()
            return end + 2 if end >= 0 else len(self._text)
        if name.isalnum():
            # A class, an assertion, a code point or a control character: not a literal run.
            self._end_piece()
            end = position + 2
            if name in "pPx" and self._text[end : end + 1] == "{":
                end = self._text.find("}", end) + 1 or len(self._text)
            elif name in "pP":
                end += 1
            elif name == "x":
                end += 2
            if name not in _CLASSES:
                self._literals.append("")
            return self._repeat_end(end)
        return self._literal(name, position + 2, depth)

    def _class_end(self, position: int) -> int:
        end = position + 1
        if self._text[end : end + 1] == "^":
            end += 1
        if self._text[end : end + 1] == "]":
            end += 1
        while end < len(self._text) and self._text[end] != "]":
            if self._text[end] == "\\":
                end += 1
            elif self._text.startswith("[:", end):
                end = max(self._text.find(":]", end), end) + 1
            else:
                self._literals.append(self._text[end])
            end += 1
        return end + 1

    def _flags_end(self, position: int) -> int:
        """The position after the opening of a group; with flags in it, no run is certain any more."""
        if not self._text.startswith("(?", position):
            return position + 1
        end = position + 2
        while end < len(self._text) and self._text[end] not in ":)>":
            end += 1
        if self._text[position + 2 : position + 3] not in ("P", "<", ":"):
            self._certain = False
        return end + (1 if self._text[end : end + 1] != ")" else 0)

    def _repeat_end(self, position: int) -> int:
        found = _REPEATS.match(self._text, position)
        return found.end() if found else position

    def _end_piece(self) -> None:
        if self._run:
            self._runs.append(self._run)
            self._run = ""
