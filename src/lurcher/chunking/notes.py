"""A note → sections with exact spans, and what it says of itself.

A note of less than 1,000 characters stays whole; else it is cut at headings of the first and second level, a section of more
than 6,000 characters at the third, and what is still longer between paragraphs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from lurcher.chunking import other_markup
from lurcher.chunking.line_index import Ruler
from lurcher.chunking.lines import cut_lines
from lurcher.chunking.markdown import Outline
from lurcher.types import HEADING, HEADING_PATH, Definition, Import, ParsedFile

WHOLE = 1_000
"""Characters below which a note is not cut."""
LONGEST = 6_000
"""Characters above which a section is."""
PARAGRAPHS = 1_500
"""Characters up to which paragraphs of a section that is too long are put together."""
_MOST_FACTS = 5_000
_LONGEST_FACT = 1_000
_SIGNATURE = 200
_SAID = re.compile(r"[^\W_]")


def parse_note(text: bytes, language: str) -> ParsedFile:
    """Cut a note (UTF-8); its headings are definitions, its links, tags, aliases, title and date stand among imports."""
    if not text:
        return ParsedFile(language, (), (), ())
    ruler = Ruler(text)
    starts = [*ruler.line_starts, len(text)]
    lines = lines_of(text)
    outline = other_markup.read(lines, language)
    definitions = _definitions(outline, starts)
    cuts = _cuts(ruler, outline, starts, lines)
    chunks = ruler.spans(cuts)
    above = _above(cuts, len(text), definitions, outline)
    comments = tuple((_byte(lines, starts, start), _byte(lines, starts, end)) for start, end in outline.comments)
    return ParsedFile(language, chunks, definitions, comments, _facts(outline), above)


def lines_of(text: bytes) -> list[str]:
    """The lines of a text without their ends, as many as a ruler counts."""
    whole = text.decode("utf-8", "replace")
    lines = whole.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines] if "\r" in whole else lines


def _byte(lines: list[str], starts: list[int], place: tuple[int, int]) -> int:
    line, column = place
    return starts[line] + len(lines[line][:column].encode("utf-8"))


def _definitions(outline: Outline, starts: list[int]) -> tuple[Definition, ...]:
    """Headings, each reaching to the next one that is not below it."""
    found = []
    open_: list[tuple[int, str]] = []
    headings = outline.headings
    ends = _ends(outline, len(starts) - 1)
    for heading, last in zip(headings, ends, strict=True):
        while open_ and open_[-1][0] >= heading.level:
            open_.pop()
        container = HEADING_PATH.join(text for _, text in open_)
        signature = " ".join(heading.raw.split())[:_SIGNATURE]
        found.append(
            Definition(
                heading.text[:_SIGNATURE], HEADING, container[:_LONGEST_FACT], signature, starts[heading.line], starts[last],
                heading.line + 1, last, True,
            )  # fmt: skip
        )
        open_.append((heading.level, heading.text))
    return tuple(found)


def _ends(outline: Outline, total: int) -> list[int]:
    """For each heading the first line that is no longer below it."""
    ends: list[int] = []
    following: list[tuple[int, int]] = []
    for heading in reversed(outline.headings):
        while following and following[-1][0] > heading.level:
            following.pop()
        ends.append(following[-1][1] if following else total)
        following.append((heading.level, heading.line))
    return ends[::-1]


def _cuts(ruler: Ruler, outline: Outline, starts: list[int], lines: list[str]) -> list[int]:
    """Bytes at which sections begin."""
    total = len(ruler.text)
    if ruler.size(0, total) < WHOLE:
        return [0]
    tops = [heading.line for heading in outline.headings if heading.level <= 2]
    marks = {heading.line for heading in outline.headings}
    # Front matter and a title alone are no section: they stay with the first that says something.
    seen, first_top = outline.body, 0
    while first_top < len(tops) and _silent(lines, seen, tops[first_top], marks):
        seen, first_top = tops[first_top], first_top + 1
    tops = tops[first_top:]
    cuts: list[int] = []
    for first, last in _between(tops, len(lines)):
        if ruler.size(starts[first], starts[last]) <= LONGEST:
            cuts.append(starts[first])
            continue
        below = [item.line for item in outline.headings if item.level == 3 and first < item.line < last]
        for a, b in _between(below, last, first):
            if ruler.size(starts[a], starts[b]) <= LONGEST:
                cuts.append(starts[a])
            else:
                cuts += _paragraphs(ruler, outline, starts, lines, a, b)
    return cuts


def _between(tops: list[int], last: int, first: int = 0) -> list[tuple[int, int]]:
    """Ranges of lines from one of `tops` to the next, with what stands before the first."""
    borders = sorted({first, *tops, last})
    return list(pairwise(borders))


def _silent(lines: list[str], first: int, last: int, marks: set[int]) -> bool:
    """Whether lines hold nothing but headings, rules and white space."""
    return not any(i not in marks and _SAID.search(lines[i]) for i in range(first, last))


def _paragraphs(ruler: Ruler, outline: Outline, starts: list[int], lines: list[str], first: int, last: int) -> list[int]:
    """Cuts before paragraphs, so that pieces are of the wanted size where paragraphs allow it; a fence is one paragraph."""
    begins = [first] + [
        i for i in range(first + 1, last) if lines[i].strip() and not lines[i - 1].strip() and i not in outline.solid
    ]
    cuts: list[int] = []
    for place, line in enumerate(begins):
        start = starts[line]
        end = starts[begins[place + 1] if place + 1 < len(begins) else last]
        if cuts and ruler.size(cuts[-1], end) <= PARAGRAPHS:
            continue
        if ruler.size(start, end) > LONGEST:
            cuts += cut_lines(ruler, start, end, PARAGRAPHS)
        else:
            cuts.append(start)
    return cuts


def _above(cuts: list[int], total: int, definitions: tuple[Definition, ...], outline: Outline) -> tuple[str, ...]:
    """For each chunk the words that stand above it: title, other names and tags of the note, and its headings."""
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


def _facts(outline: Outline) -> tuple[Import, ...]:
    """What the note says of itself, then where it leads."""
    own = ("title", outline.title), ("date", outline.date), ("broken", outline.problem)
    facts = (
        *(Import(text, (), 1, kind) for kind, text in own if text),
        *(Import(text, (), 1, "alias") for text in outline.aliases),
        *(Import(text, (), 1, "tag") for text in outline.tags),
        *(Import(to.target, (to.heading,) if to.heading else (), to.line + 1, to.kind) for to in outline.references),
        *(Import(name, (), line + 1, "block") for name, line in outline.blocks),
    )
    return tuple(fact for fact in facts[:_MOST_FACTS] if len(fact.spec) <= _LONGEST_FACT)
