"""What a regular expression is made of, as far as finding candidates needs to know: which letters every match must have."""

from __future__ import annotations

from lurcher.light import dataclass, pattern

_CLASSES = frozenset("dDsSwWpPbBAzZQECG")
_REPEATS = pattern(r"(?:[*+?]|\{\d+(?:,\d*)?\})+")
"""What says how often something comes; a brace that does not say so stands for itself."""


@dataclass(frozen=True, slots=True)
class Syntax:
    runs: tuple[str, ...]
    """Strings that every match contains, each as it stands."""
    literal: bool
    """Whether any character stands for itself."""
    upper: bool
    """Whether one of those is a capital."""


def read(text: str, fixed: bool) -> Syntax:
    """Careful rather than clever: what is not certain to be in every match is left out."""
    if fixed:
        return Syntax((text,) if text else (), bool(text), any(c.isupper() for c in text))
    return _Reader(text).syntax()


class _Reader:
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
                self._cut()
                position = self._class_end(position)
                position = self._repeat_end(position)
            elif character == "(":
                self._cut()
                depth += 1
                position = self._flags_end(position)
            elif character == ")":
                self._cut()
                depth = max(depth - 1, 0)
                position = self._repeat_end(position + 1)
            elif character == "|":
                self._cut()
                self._certain = self._certain and depth > 0
                position += 1
            elif character in ".^$":
                self._cut()
                position = self._repeat_end(position + 1)
            else:
                position = self._literal(character, position + 1, depth)
        self._cut()
        runs = tuple(self._runs) if self._certain else ()
        return Syntax(runs, bool(self._literals), any(c.isupper() for c in self._literals))

    def _literal(self, character: str, following: int, depth: int) -> int:
        self._literals.append(character)
        end = self._repeat_end(following)
        if end > following:
            if self._text[following] == "+" and depth == 0:
                self._run += character
            self._cut()
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
            self._cut()
            return end + 2 if end >= 0 else len(self._text)
        if name.isalnum():
            # A class, an assertion, a code point or a control character: none is looked for by its letters.
            self._cut()
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
        """After the opening of a group; one that changes how letters are read makes nothing certain any more."""
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

    def _cut(self) -> None:
        if self._run:
            self._runs.append(self._run)
            self._run = ""
