"""A section of somebody's file, between two marks: put in, renewed or taken out, with nothing else touched."""

from __future__ import annotations

from lurcher.surfaces.agents.jsonc import NotEditable


def added(text: str, section: str, begin: str, end: str) -> str:
    """The text with the section in place of the one that is there, else at its end."""
    place = _place(text, begin, end)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([begin, *section.strip("\n").split("\n"), end])
    if place is not None:
        return text[: place[0]] + block + text[place[1] :]
    if not text.strip():
        return block + newline
    gap = newline if text.endswith(("\n", "\r")) else newline * 2
    return text + gap + block + newline


def removed(text: str, begin: str, end: str) -> str:
    """The text without the section and the blank line that came with it."""
    place = _place(text, begin, end)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    newline = "\r\n" if "\r\n" in text else "\n"
    after = after.removeprefix(newline)
    if before.endswith(newline * 2) and (not after or after.startswith(newline)):
        before = before.removesuffix(newline)
    return before + after


def _place(text: str, begin: str, end: str) -> tuple[int, int] | None:
    starts, ends = text.count(begin), text.count(end)
    if not starts and not ends:
        return None
    first, last = text.find(begin), text.find(end)
    if starts != 1 or ends != 1 or last < first:
        raise NotEditable(f"the marks {begin} and {end} in it do not fit together")
    return first, last + len(end)
