"""Text that others wrote, on its way to a person: what could drive a terminal, or show other text than there is, is replaced.

Names of files, code, messages, authors, settings, answers of servers: none of it is ours. Replaced by U+FFFD is what acts on
the screen or on the order of what is read: the control characters (C0 but for the tab, DEL, C1), the separators of lines and
paragraphs, overrides, embeddings and isolates of direction, which can make code look like other code, tags, which carry text
that nobody sees, and halves of surrogate pairs, which cannot be written. All else stays as it is, whether Python calls it
printable or not: spaces of every width, joiners, which emoji and many scripts need, soft hyphens, marks of direction.
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
"""What `Painter` writes between the escape character's bracket and the letter m."""
CLEAR_LINE = "\r\x1b[K"
"""Begins a line of progress anew."""

_LINE_TABLE: dict[int, str] = {}
_LINES_TABLE: dict[int, str] = {}


def _fill_tables() -> None:
    for first, last in _REPLACED:
        _LINE_TABLE.update(dict.fromkeys(range(first, last + 1), _REPLACEMENT))
    _LINES_TABLE.update(_LINE_TABLE)
    del _LINES_TABLE[0x0A]


def printable(text: str) -> str:
    """One line that others wrote, as it may be shown."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINE_TABLE)


def printable_lines(text: str) -> str:
    """The same for text of several lines."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(_LINES_TABLE)


def without_controls(text: str) -> str:
    """Text of several lines with spaces in place of what may not be shown, for what is read and not shown: a question."""
    if text.isprintable():
        return text
    if not _LINE_TABLE:
        _fill_tables()
    return text.translate(dict.fromkeys(_LINES_TABLE.keys() - {0x0D}, " "))


class SafeStream:
    """A stream of text for people. Whatever a command writes, nothing but our own colours and progress acts on the screen."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        """For programs, who want every character as it is."""

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
    """The stream below, for what programs read."""
    return stream.stream if isinstance(stream, SafeStream) else stream
