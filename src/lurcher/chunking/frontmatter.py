"""Front matter: the part of YAML that notes use. A bad line is reported and skipped; the others are read.

Scalars, quoted strings, lists in both styles and block texts are supported; nested maps are skipped. TOML between `+++` is
read by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lurcher.runtime.light import dataclass, field

_MAX_LINES = 2_000
_MAX_LINE_CHARS = 5_000
"""A longer line is not read as a key and its value."""
_KEY = re.compile(r"""(?:"([^"]*)"\s*|'([^']*)'\s*|([^\s:=#'"\-\[\]{},][^:=#]*))(?::(?:\s+(.*)|$)|=\s*(.*))""")
_ITEM = re.compile(r"\s*-(?:\s+(.*)|$)")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_BARE = re.compile(r"[^,\]]+")
_QUOTED = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    lines: int = 0
    """The number of its lines, fences included; 0 where there is none."""
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys in lower case; a scalar is a list of one."""
    problem: str = ""
    """What could not be read, with its line; the rest was."""

    def first(self, *keys: str) -> str:
        """The first value of the first of `keys` that has one."""
        return next((value for key in keys for value in self.values.get(key, ()) if value), "")


def parse_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter at the top of a note; `lines` are without line ends."""
    fence = lines[0].removeprefix("\ufeff").rstrip() if lines else ""
    if fence not in ("---", "+++"):
        return FrontMatter()
    closing = ("---", "...") if fence == "---" else ("+++",)
    most = min(len(lines), _MAX_LINES)
    end = next((i for i in range(1, most) if lines[i].rstrip() in closing), None)
    if end is None:
        # A horizontal rule at the top is no front matter, unless a key follows.
        begun = len(lines) > 1 and _KEY.match(lines[1][:_MAX_LINE_CHARS]) is not None
        return FrontMatter(problem="line 1: the front matter has no end") if begun else FrontMatter()
    reader = _FrontMatterParser(lines[1:end])
    reader.run()
    return FrontMatter(end + 1, {key: tuple(values) for key, values in reader.values.items()}, reader.problem)


class _FrontMatterParser:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self.values: dict[str, list[str]] = {}
        self.problem = ""

    def run(self) -> None:
        current: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            item = _ITEM.match(line)
            if item is not None:
                current += self._value(item[1] or "")
                continue
            if line[0] in " \t":
                continue  # of a nested map, or the rest of a long text
            found = _KEY.match(line) if len(line) <= _MAX_LINE_CHARS else None
            if found is None:
                self._note_problem("is neither a key nor an item")
                continue
            key = next(part for part in found.groups()[:3] if part is not None).strip().lower()
            current = self.values.setdefault(key, [])
            current += self._value(found[4] or found[5] or "")

    def _value(self, text: str) -> list[str]:
        """The values of a scalar, a list in brackets or a block; what a list spans is consumed."""
        text = text.strip()
        if _BLOCK.match(text):
            return [self._block()]
        if text.startswith("["):
            return self._brackets(text)
        if not text or text.startswith(("#", "{", "&", "*")):
            return []
        if text[0] in "\"'":
            quoted = _QUOTED.match(text)
            if quoted is None:
                self._note_problem("has a quote without its end")
                return [text.strip("\"' ")]
            return [_unquote(quoted)]
        return [_strip_comment(text)]

    def _block(self) -> str:
        found = []
        while self._at < len(self._lines) and (not self._lines[self._at].strip() or self._lines[self._at][0] in " \t"):
            found.append(self._lines[self._at].strip())
            self._at += 1
        return " ".join(found).strip()

    def _brackets(self, text: str) -> list[str]:
        begun = self._at
        pieces = [text]
        while "]" not in _QUOTED.sub("", pieces[-1]):
            if self._at >= len(self._lines) or _KEY.match(self._lines[self._at][:_MAX_LINE_CHARS]):
                self._at = begun
                self._note_problem("has a list without its end")
                pieces[1:] = []
                break
            pieces.append(self._lines[self._at].strip())
            self._at += 1
        text = " ".join(pieces)
        found: list[str] = []
        position = 1
        while position < len(text) and text[position] != "]":
            quoted = _QUOTED.match(text, position)
            if quoted is not None:
                found.append(_unquote(quoted))
                position = quoted.end()
                continue
            if text[position] in ", \t":
                position += 1
                continue
            bare = _BARE.match(text, position)
            assert bare is not None  # neither a comma nor the end: both were checked above
            found.append(bare[0].strip())
            position = bare.end()
        return [value for value in found if value]

    def _note_problem(self, what: str) -> None:
        self.problem = self.problem or f"line {self._at + 1}: it {what}"


def _unquote(found: re.Match[str]) -> str:
    if found[1] is not None:
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), found[1])
    return found[2].replace("''", "'")


def _strip_comment(text: str) -> str:
    comment = re.search(r"\s#", text)
    return (text[: comment.start()] if comment else text).strip()
