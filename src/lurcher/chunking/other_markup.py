"""Outlines of reStructuredText, AsciiDoc, Org and plain text: headings, and the links and fields that are easily recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lurcher.chunking import frontmatter, markdown
from lurcher.chunking.markdown import Heading, Outline, Reference

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_FIELD = re.compile(r":(tags|keywords|date|title):\s*(.+)", re.IGNORECASE)
_DOC = re.compile(r":doc:`(?:[^`<]*<)?([^`<>]+)>?`")
_XREF = re.compile(r"(?:xref:|<<)([^\[\]<>,#\s]*)(?:#([^\[\]<>,\s]*))?(?:\[|,|>>)")
_ORG_LINK = re.compile(r"\[\[(?:file:)?([^\[\]]+?)(?:::([^\[\]]*))?\](?:\[[^\[\]]*\])?\]")
_ORG_TAGS = re.compile(r"[ \t]+:([\w@#%:]+):[ \t]*$")
_BLOCK = {"asciidoc": re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|/{4,}|\+{4,})\s*$"), "org": re.compile(r"#\+(begin|end)_", re.I)}


def _parse_restructuredtext(lines: Sequence[str]) -> Outline:
    out = Outline()
    levels: dict[tuple[str, bool], int] = {}
    literal: int | None = None
    i = 0
    while i < len(lines):
        line = lines[i]
        if literal is not None and line.strip():
            if _count_indent(line) > literal:
                out.solid.add(i)
                i += 1
                continue
            literal = None
        text = line.strip()
        mark = _ADORNMENT.match(lines[i + 1]) if text and i + 1 < len(lines) and not _ADORNMENT.match(line) else None
        if mark and len(lines[i + 1].strip()) >= min(len(text), 200):
            over = i > 0 and _ADORNMENT.match(lines[i - 1]) is not None and lines[i - 1][0] == mark[1]
            level = levels.setdefault((mark[1], over), len(levels) + 1)
            out.headings.append(Heading(level, markdown.strip_markup(text), i - over, text))
            i += 2
            continue
        if text.endswith("::"):
            literal = _count_indent(line)
        _read_field(line, out)
        out.references += (Reference("link", match[1].strip(), "", i) for match in _DOC.finditer(line[:5_000]))
        i += 1
    return out


def _parse_asciidoc(lines: Sequence[str]) -> Outline:
    out = Outline()

    def heading(line: str) -> tuple[int, str] | None:
        found = re.match(r"(={1,6}|#{1,6})[ \t]+(\S.*)$", line)
        return None if found is None else (len(found[1]), found[2])

    _find_headings(lines, out, heading, "asciidoc")
    for i, line in enumerate(lines):
        if "xref:" in line or "<<" in line:
            out.references += (Reference("link", match[1], match[2] or "", i) for match in _XREF.finditer(line[:5_000]))
        _read_field(line, out)
    return out


def _parse_org(lines: Sequence[str]) -> Outline:
    out = Outline()
    tags: list[str] = []

    def heading(line: str) -> tuple[int, str] | None:
        found = re.match(r"(\*{1,8})[ \t]+(\S.*)$", line)
        if found is None:
            return None
        text = found[2][:500]
        own = _ORG_TAGS.search(text)
        tags.extend(tag for tag in own[1].split(":") if tag) if own else None
        return len(found[1]), text[: own.start()] if own else text

    _find_headings(lines, out, heading, "org")
    for i, line in enumerate(lines):
        if "[[" in line:
            out.references += (
                Reference("link", match[1], match[2] or "", i)
                for match in _ORG_LINK.finditer(line[:5_000])
                if "://" not in match[1]
            )
        named = re.match(r"#\+(title|date|filetags):\s*(.*)", line[:1_000], re.IGNORECASE)
        if named:
            _set_field(named[1].lower(), named[2].strip().replace(":", " "), out)
    out.tags = tuple(dict.fromkeys((*out.tags, *tags)))
    return out


def _find_headings(
    lines: Sequence[str], out: Outline, heading: Callable[[str], tuple[int, str] | None], language: str
) -> None:
    """Add the headings that begin with a mark, outside of blocks."""
    block, opened = _BLOCK[language], ""
    for i, line in enumerate(lines):
        mark = block.match(line)
        if opened:
            out.solid.add(i)
            if mark and (mark[1].lower() == "end" or mark[1] == opened):
                opened = ""
        elif mark and mark[1].lower() != "end":
            opened = mark[1]
        elif found := heading(line):
            out.headings.append(Heading(found[0], markdown.strip_markup(found[1]), i, line.strip()))


def _read_field(line: str, out: Outline) -> None:
    found = _FIELD.match(line[:1_000]) if line[:1] == ":" else None
    if found:
        _set_field(found[1].lower(), found[2].strip(), out)


def _set_field(name: str, value: str, out: Outline) -> None:
    if name in ("tags", "keywords", "filetags"):
        out.tags = tuple(dict.fromkeys((*out.tags, *(tag for tag in re.split(r"[,\s]+", value) if tag))))
    elif name == "title":
        out.title = out.title or value
    elif re.match(r"[<\[]?\d{4}-\d{1,2}-\d{1,2}", value):
        out.date = out.date or value.strip("<>[]")


def _parse_text(lines: Sequence[str]) -> Outline:
    return Outline()


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_PARSERS: dict[str, Callable[[Sequence[str]], Outline]] = {
    "markdown": markdown.parse_markdown,
    "restructuredtext": _parse_restructuredtext,
    "asciidoc": _parse_asciidoc,
    "org": _parse_org,
    "text": _parse_text,
}


def parse_outline(lines: Sequence[str], language: str) -> Outline:
    """The outline of a note in any markup."""
    out = _PARSERS[language](lines)
    if language != "markdown":
        front = frontmatter.parse_front_matter(lines)
        out.body = front.lines
        out.title = out.title or front.first("title") or next((item.text for item in out.headings if item.level == 1), "")
        out.headings = [item for item in out.headings if item.line >= front.lines]
    return out
