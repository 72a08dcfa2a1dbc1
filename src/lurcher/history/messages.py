"""A commit's message taken apart: subject, body, trailers."""

from __future__ import annotations

import re

from lurcher.sources.decode import to_utf8

_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)\s*:\s*(.*)")
_PICKED = re.compile(r"\(cherry[ -]picked from commit ([0-9a-f]{7,64})\)?", re.IGNORECASE)
PICKED = "Cherry-picked-from"
"""The name under which the line is filed that `git cherry-pick -x` adds."""
_CERTAIN = ("signed-off-by", PICKED.lower())
"""What git itself writes: a paragraph with one of these is made of trailers, though other lines stand between."""


def text_of(raw: bytes) -> str:
    """Text of any encoding: what is not UTF-8 is read as Windows-1252, or loses what cannot be read."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # A zero byte would make it binary, and a mark another encoding: neither decides here.
        return (to_utf8(b" " + raw.replace(b"\0", b" ")) or b" ")[1:].decode()


def split_message(text: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """(subject, body, trailers); the subject is the first paragraph on one line, as git has it."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    end = lines.index("") if "" in lines else len(lines)
    subject = " ".join(line.strip() for line in lines[:end])
    rest = lines[end:]
    start = len(rest)
    while start and rest[start - 1]:
        start -= 1
    trailers, kept = _trailers(rest[start:])
    body = "\n".join([*rest[:start], *kept]).strip("\n")
    return subject, body, trailers


def _trailers(paragraph: list[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The trailers of a last paragraph, and its lines that are none; it holds none where most of its lines are none."""
    found: list[tuple[str, str]] = []
    kept: list[str] = []
    previous = False
    for line in paragraph:
        picked, match = _PICKED.fullmatch(line.strip()), _TRAILER.fullmatch(line)
        if picked:
            found.append((PICKED, picked[1].lower()))
        elif match and not match[2].startswith("//"):
            found.append((match[1], match[2].strip()))
        elif previous and line[:1] in (" ", "\t"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
            continue
        else:
            kept.append(line)
            previous = False
            continue
        previous = True
    certain = any(name.lower() in _CERTAIN for name, _ in found)
    if kept and not (certain and 3 * len(found) >= len(kept)):
        return (), paragraph
    return tuple(found), kept
