"""Text for people: counts with plurals, and foreign text made safe to show.

File names, code, messages, authors, settings and answers of servers come from others and may try to control a terminal.
Replaced by U+FFFD are: control characters (C0 except tab, DEL, C1), line and paragraph separators, directional overrides,
embeddings and isolates, which can make code look like other code, tag characters, which carry invisible text, and lone
surrogates, which cannot be encoded. Everything else stays, whether Python calls it printable or not: spaces of every width,
joiners, which emoji and many scripts need, soft hyphens, directional marks.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TextIO

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_REPLACED = (
    (0x00, 0x08), (0x0A, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), (0x202A, 0x202E), (0x2066, 0x2069), (0xD800, 0xDFFF),
    (0xE0000, 0xE007F),
)  # fmt: skip
_ESCAPE = "\x1b"
COLOURS = frozenset(
    ("0", "0;1;33", "0;2;3", "0;32", "1", "1;31", "1;33", "1;34", "2", "2;3", "32", "33", "35", "36"),
)  # fmt: skip
"""The colour codes that `Painter` writes between `ESC [` and `m`; no others get through."""
CLEAR_LINE = "\r\x1b[K"
"""Clears the line before progress is shown in it again."""

_LINE_TABLE: dict[int, str] = {}
_LINES_TABLE: dict[int, str] = {}


def _fill_tables() -> None:
    for first, last in _REPLACED:
        _LINE_TABLE.update(dict.fromkeys(range(first, last + 1), _REPLACEMENT))
    _LINES_TABLE.update(_LINE_TABLE)
    del _LINES_TABLE[0x0A]


def format_count(number: int, one: str, many: str = "") -> str:
    """A number of things: `1 file`, `0 files`, `12,000 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """One line of foreign text, safe to show."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINE_TABLE)


def printable_lines(text: str) -> str:
    """Foreign text of several lines, safe to show."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINES_TABLE)


def without_controls(text: str) -> str:
    """A query without control characters: they become spaces, since it is read and not shown."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(dict.fromkeys(_LINES_TABLE.keys() - {0x0D}, " "))


class SafeStream:
    """A text stream to a terminal that lets no escape sequences through but our own colours and progress."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        """The stream below, for output that programs read."""

    def write(self, text: str) -> int:
        if not text.isprintable() and text != "\n":
            text = _make_safe(text)
        return self.stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _make_safe(text: str) -> str:
    if _ESCAPE not in text:
        return printable_lines(text)
    begin = CLEAR_LINE if text.startswith(CLEAR_LINE) else ""
    first, *others = text[len(begin) :].split(_ESCAPE)
    out = [begin, printable_lines(first)]
    for part in others:
        end = part.find("m", 0, 9)
        ours = part[:1] == "[" and part[1:end] in COLOURS
        out += [_ESCAPE if ours else _REPLACEMENT, printable_lines(part)]
    return "".join(out)


def raw_stream(stream: Any) -> Any:
    """The stream below a SafeStream, for output that programs read."""
    return stream.stream if isinstance(stream, SafeStream) else stream
