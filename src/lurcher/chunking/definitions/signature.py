"""One line that says what a definition looks like."""

from __future__ import annotations

LONGEST = 200
_READ = 4 * LONGEST
"""Bytes looked at: enough for a line of four-byte characters."""
_OPENING = {ord("("): ord(")"), ord("["): ord("]")}


def signature(text: bytes, start: int, end: int, comments: list[tuple[int, int]], ends_at_brace: bool) -> str:
    """The text of [start, end) on one line, without the comments in it, at most to its first brace if so asked."""
    if comments:
        pieces = []
        position = start
        for comment_start, comment_end in comments:
            pieces.append(text[position:comment_start])
            position = comment_end
            if position - start > _READ:
                break
        else:
            pieces.append(text[position : min(end, start + _READ)])
        raw = b" ".join(pieces)
    else:
        raw = text[start : min(end, start + _READ)]
    if ends_at_brace:
        raw = raw.split(b"{", 1)[0]
    line = " ".join(raw.decode("utf-8", "ignore").split())
    return line.rstrip(" {:=;,")[:LONGEST].rstrip()


def after_annotations(text: bytes, start: int, end: int) -> int:
    """Where a definition goes on after its leading annotations, such as `@Test(timeout = 1)`, `[Fact]` or `#[A]`."""
    position = start
    while position < end:
        byte = text[position]
        if byte in b" \t\r\n":
            position += 1
        elif text.startswith(b"//", position):
            position = _after(text, b"\n", position, end)
        elif text.startswith(b"/*", position):
            position = _after(text, b"*/", position, end)
        elif byte in b"@#[" and not text.startswith(b"@interface", position):
            position = _annotation_end(text, position, end)
        else:
            return position
    return start


def _after(text: bytes, mark: bytes, position: int, end: int) -> int:
    found = text.find(mark, position, end)
    return found + len(mark) if found >= 0 else end


def _annotation_end(text: bytes, position: int, end: int) -> int:
    """The byte after the annotation that begins here: its mark, a dotted name, and balanced arguments."""
    if text[position] in b"@#":
        position += 1
        while position < end and (text[position : position + 1].isalnum() or text[position] in b"_.:"):
            position += 1
        if position < end and text[position] not in _OPENING:
            return position
    depth = 0
    quote = 0
    while position < end:
        byte = text[position]
        if quote:
            if byte == ord("\\"):
                position += 1
            elif byte == quote:
                quote = 0
        elif byte in b"\"'":
            quote = byte
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth <= 0:
                return position + 1
        position += 1
    return end
