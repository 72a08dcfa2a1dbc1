"""What to look for: a fixed string, or a regular expression in RE2's syntax, which never takes more than linear time."""

from __future__ import annotations

from lurcher.errors import QueryError
from lurcher.light import TYPE_CHECKING, cached_property, dataclass
from lurcher.literal.syntax import Syntax, read
from lurcher.types import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


SMART, IGNORE, EXACT = CASES
_NO_WORD = r"[^\pL\pM\p{Nd}\p{Nl}\p{Pc}\n]"
_MEMORY = 64 << 20
_MANY = 500
Span = tuple[int, int]


@dataclass(frozen=True)
class Pattern:
    """Finds the lines of a text that match, and where in them."""

    text: str
    fixed: bool
    """Whether it stands for itself and not for a regular expression."""
    case: str
    word: bool
    """Whether a match may only begin and end where a word does."""
    multiline: bool
    """Whether a match may reach over several lines."""

    @property
    def ignores_case(self) -> bool:
        return self.case == IGNORE or (self.case == SMART and self.syntax.literal and not self.syntax.upper)

    @cached_property
    def syntax(self) -> Syntax:
        return read(self.text, self.fixed)

    @cached_property
    def plain(self) -> bytes | None:
        """The very bytes to look for, where that is all there is to it."""
        itself = self.fixed or (self.syntax.runs == (self.text,))
        caseless = not self.ignores_case or not any(c.lower() != c.upper() for c in self.text)
        return self.text.encode("utf-8", "replace") if itself and caseless and not self.word else None

    @cached_property
    def _expression(self) -> Any:
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_nl = not self.multiline
        options.case_sensitive = not self.ignores_case
        options.max_mem = _MEMORY
        inner = re2.escape(self.text) if self.fixed else self.text
        if not self.multiline and "\n" in self.text:
            raise QueryError("a line never holds a line break", "use --multiline for patterns over several lines")
        try:
            re2.compile(inner, options)
            source = f"(?m:(?:^|{_NO_WORD})({inner})(?:$|{_NO_WORD}))" if self.word else f"(?m)(?:{inner})"
            return re2.compile(source, options)
        except re2.error as error:
            hint = "use --fixed to look for it as it stands"
            raise QueryError(f"not a regular expression: {_reason(error)}", hint) from error

    def check(self) -> None:
        """Raise unless the pattern can be used."""
        if not self.text:
            raise QueryError("the pattern is empty", "for example: lurcher search --literal 'def \\w+_error'")
        if self.plain is None:
            _ = self._expression

    def first(self, data: bytes, start: int) -> Span | None:
        """The first match at or after `start`, which is the beginning of a line."""
        if self.plain is not None:
            at = data.find(self.plain, start)
            return None if at < 0 else (at, at + len(self.plain))
        match = self._expression.search(data, start)
        return None if match is None else match.span(1 if self.word else 0)

    def starts(self, data: bytes) -> list[int]:
        """Where every match in a text begins, as far as they do not overlap; quick where there are many."""
        found: list[int] = []
        if self.plain is None:
            group = 1 if self.word else 0
            return [match.start(group) for match in self._expression.finditer(data)]
        # Few are found sooner one by one, many by a loop that is not Python's.
        at = data.find(self.plain)
        while at >= 0:
            found.append(at)
            if len(found) == _MANY:
                import re

                rest = re.compile(re.escape(self.plain)).finditer(data, at + len(self.plain))
                return found + [match.start() for match in rest]
            at = data.find(self.plain, at + len(self.plain))
        return found

    def lines(self, data: bytes) -> Iterator[Span]:
        """The first match of each matching line; one that reaches over lines ends the search in all of them."""
        start, size = 0, len(data)
        while start < size:
            found = self.first(data, start)
            if found is None or (found[0] == size and data.endswith(b"\n")):  # behind the last line there is none
                return
            yield found
            following = data.find(b"\n", max(found[1] - 1, found[0]) if found[1] > found[0] else found[0])
            if following < 0:
                return
            start = following + 1

    def spans(self, data: bytes, start: int, end: int) -> list[Span]:
        """Every match that begins in [start, end), a run of whole lines, none overlapping the one before."""
        found: list[Span] = []
        while start < end:
            match = self.first(data, start)
            if match is None or match[0] >= end:
                break
            found.append(match)
            start = match[1] if match[1] > match[0] else match[0] + 1
        return found


def compiled(text: str, *, fixed: bool = False, case: str = SMART, word: bool = False, multiline: bool = False) -> Pattern:
    """A pattern that can be used, or an error that says why not."""
    pattern = Pattern(text, fixed, case, word, multiline)
    pattern.check()
    return pattern


def _reason(error: Exception) -> str:
    reason: Any = error.args[0] if error.args else str(error)
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
