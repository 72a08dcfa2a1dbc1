"""Cuts a note into sections, and reads its headings, links and metadata.

A note of less than 1,000 characters stays whole; else it is cut at headings of the first and second level, a section of more
than 6,000 characters at the third, and what is still longer between paragraphs.

The outline of Markdown is read in `markdown.py`; those of reStructuredText, AsciiDoc, Org and plain text here: headings, and
the links and fields that are easily recognised.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from lurcher.chunking import markdown
from lurcher.chunking.lines import LineIndex, cut_lines
from lurcher.chunking.markdown import Heading, Outline, Reference
from lurcher.languages.parsed_file import Import, ParsedFile
from lurcher.types import HEADING, HEADING_PATH, Definition

MIN_CUT = 1_000
"""A note with fewer characters is not cut."""
MAX_SECTION = 6_000
"""A section with more characters is cut."""
PARAGRAPH_TARGET = 1_500
"""Paragraphs of too long a section are joined up to this many characters."""
_MAX_FACTS = 5_000
_MAX_FACT_CHARS = 1_000
_MAX_SIGNATURE = 200
_WORD_CHARACTER = re.compile(r"[^\W_]")


def parse_note(text: bytes, language: str) -> ParsedFile:
    """Cut a note (UTF-8); its headings become definitions; its links, tags, aliases, title and date become imports."""
    if not text:
        return ParsedFile(language, (), (), ())
    ruler = LineIndex(text)
    starts = [*ruler.line_starts, len(text)]
    lines = split_lines(text)
    outline = parse_outline(lines, language)
    definitions = _make_definitions(outline, starts)
    cuts = _find_cuts(ruler, outline, starts, lines)
    chunks = ruler.spans(cuts)
    above = _collect_words_above(cuts, len(text), definitions, outline)
    comments = tuple((_find_byte(lines, starts, start), _find_byte(lines, starts, end)) for start, end in outline.comments)
    return ParsedFile(language, chunks, definitions, comments, _collect_facts(outline), above)


def split_lines(text: bytes) -> list[str]:
    """The lines of a text without their ends, the same as those of `LineIndex`."""
    whole = text.decode("utf-8", "replace")
    lines = whole.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines] if "\r" in whole else lines


def _find_byte(lines: list[str], starts: list[int], place: tuple[int, int]) -> int:
    line, column = place
    return starts[line] + len(lines[line][:column].encode("utf-8"))


def _make_definitions(outline: Outline, starts: list[int]) -> tuple[Definition, ...]:
    """Headings, each reaching to the next one that is not below it."""
    found = []
    open_: list[tuple[int, str]] = []
    headings = outline.headings
    ends = _find_ends(outline, len(starts) - 1)
    for heading, last in zip(headings, ends, strict=True):
        while open_ and open_[-1][0] >= heading.level:
            open_.pop()
        container = HEADING_PATH.join(text for _, text in open_)
        signature = " ".join(heading.raw.split())[:_MAX_SIGNATURE]
        found.append(
            Definition(
                heading.text[:_MAX_SIGNATURE], HEADING, container[:_MAX_FACT_CHARS], signature, starts[heading.line],
                starts[last], heading.line + 1, last, True,
            )  # fmt: skip
        )
        open_.append((heading.level, heading.text))
    return tuple(found)


def _find_ends(outline: Outline, total: int) -> list[int]:
    """For each heading the first line after its section."""
    ends: list[int] = []
    following: list[tuple[int, int]] = []
    for heading in reversed(outline.headings):
        while following and following[-1][0] > heading.level:
            following.pop()
        ends.append(following[-1][1] if following else total)
        following.append((heading.level, heading.line))
    return ends[::-1]


def _find_cuts(ruler: LineIndex, outline: Outline, starts: list[int], lines: list[str]) -> list[int]:
    """Bytes at which sections begin."""
    total = len(ruler.text)
    if ruler.size(0, total) < MIN_CUT:
        return [0]
    tops = [heading.line for heading in outline.headings if heading.level <= 2]
    marks = {heading.line for heading in outline.headings}
    # Front matter and a title alone are no section: they stay with the first that has text.
    seen, first_top = outline.body, 0
    while first_top < len(tops) and _is_empty(lines, seen, tops[first_top], marks):
        seen, first_top = tops[first_top], first_top + 1
    tops = tops[first_top:]
    cuts: list[int] = []
    for first, last in _split_ranges(tops, len(lines)):
        if ruler.size(starts[first], starts[last]) <= MAX_SECTION:
            cuts.append(starts[first])
            continue
        below = [item.line for item in outline.headings if item.level == 3 and first < item.line < last]
        for a, b in _split_ranges(below, last, first):
            if ruler.size(starts[a], starts[b]) <= MAX_SECTION:
                cuts.append(starts[a])
            else:
                cuts += _cut_paragraphs(ruler, outline, starts, lines, a, b)
    return cuts


def _split_ranges(tops: list[int], last: int, first: int = 0) -> list[tuple[int, int]]:
    """Ranges of lines from one of `tops` to the next, and the range before the first."""
    borders = sorted({first, *tops, last})
    return list(pairwise(borders))


def _is_empty(lines: list[str], first: int, last: int, marks: set[int]) -> bool:
    """Whether lines have nothing but headings, rules and white space."""
    return not any(i not in marks and _WORD_CHARACTER.search(lines[i]) for i in range(first, last))


def _cut_paragraphs(
    ruler: LineIndex, outline: Outline, starts: list[int], lines: list[str], first: int, last: int
) -> list[int]:
    """Cuts before paragraphs, so that pieces have about `PARAGRAPH_TARGET` characters; fenced code is one paragraph."""
    begins = [first] + [
        i for i in range(first + 1, last) if lines[i].strip() and not lines[i - 1].strip() and i not in outline.solid
    ]
    cuts: list[int] = []
    for place, line in enumerate(begins):
        start = starts[line]
        end = starts[begins[place + 1] if place + 1 < len(begins) else last]
        if cuts and ruler.size(cuts[-1], end) <= PARAGRAPH_TARGET:
            continue
        if ruler.size(start, end) > MAX_SECTION:
            cuts += cut_lines(ruler, start, end, PARAGRAPH_TARGET)
        else:
            cuts.append(start)
    return cuts


def _collect_words_above(cuts: list[int], total: int, definitions: tuple[Definition, ...], outline: Outline) -> tuple[str, ...]:
    """For each chunk the text above it: title, aliases and tags of the note, and its headings."""
    note = " ".join((outline.title, *outline.aliases, *(tag.replace("/", " ") for tag in outline.tags)))
    found = []
    begins = [definition.start_byte for definition in definitions]
    open_: list[Definition] = []
    following = 0
    for start, end in zip(cuts, [*cuts[1:], total], strict=True):
        while following < len(definitions) and begins[following] < start:
            open_.append(definitions[following])
            following += 1
        open_ = [item for item in open_ if item.end_byte > start]
        inside = definitions[following : bisect_right(begins, end - 1)]
        names = [item.name for item in (*open_, *inside) if item.name != outline.title]
        found.append("\n".join((note, *names)))
    return tuple(found)


def _collect_facts(outline: Outline) -> tuple[Import, ...]:
    """The note's metadata, then its links."""
    own = ("title", outline.title), ("date", outline.date), ("broken", outline.problem)
    facts = (
        *(Import(text, (), 1, kind) for kind, text in own if text),
        *(Import(text, (), 1, "alias") for text in outline.aliases),
        *(Import(text, (), 1, "tag") for text in outline.tags),
        *(Import(to.target, (to.heading,) if to.heading else (), to.line + 1, to.kind) for to in outline.references),
        *(Import(name, (), line + 1, "block") for name, line in outline.blocks),
    )
    return tuple(fact for fact in facts[:_MAX_FACTS] if len(fact.spec) <= _MAX_FACT_CHARS)


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
        front = markdown.parse_front_matter(lines)
        out.body = front.lines
        out.title = out.title or front.first("title") or next((item.text for item in out.headings if item.level == 1), "")
        out.headings = [item for item in out.headings if item.line >= front.lines]
    return out
