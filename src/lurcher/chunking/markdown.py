"""Markdown, as vaults and documentation write it → its outline: headings, links, tags, comments, metadata.

Nothing in code or comments is a heading, a tag or a link. The outline is the same for every markup; see `other_markup`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from urllib.parse import unquote

from lurcher.chunking import frontmatter
from lurcher.runtime.light import dataclass, field

_ATX = re.compile(r" {0,3}(#{1,6})([ \t].*)?$")
_NO_PARAGRAPH = re.compile(r"\s*(?:[>|#]|[-+*][ \t]|\d+[.)][ \t]|```|~~~|$)| {4}|\t")
_MARKED = re.compile(r"^ {0,3}(?:#{1,6}(?=[ \t]|$)[^\n]*|(?:=+|-{2,})[ \t]*)$", re.MULTILINE)
"""Lines that are headings, or may underline one."""
_SPECIAL = re.compile(r"^[^\n\[#^]*[\[#^][^\n]*$", re.MULTILINE)
"""Lines with a character that every tag, link and block id has."""
_FENCE = re.compile(r"[\s>]*(?:[-+*][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_COMMENT = re.compile(r"<!--|%%[^\n%]*%%|^%%[ \t]*$", re.MULTILINE)
"""The start of a comment, or a whole one of Obsidian's on one line; `%%` on a line of its own begins a longer one."""
_VERBATIM = re.compile(r"^ {0,3}<(pre|script|style|textarea)(?=[\s>]|$)", re.MULTILINE | re.IGNORECASE)
"""The start of HTML in which nothing is Markdown."""
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|[^\[\]\n]*)?\]\]")
_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}\]\(\s*<?([^\s()<>]{1,1000})>?(?:\s+[^()\n]{0,300})?\)")
_DEFINED = re.compile(r" {0,3}\[[^\[\]\n]{1,300}\]:\s*<?([^\s<>]{1,1000})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_TAG = re.compile(r"(?:^|(?<=\s))#([\w][\w/-]*)")
_BLOCK_ID = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*$")
_ATTRIBUTES = re.compile(r"\{\s*[#.:][^{}]*\}\s*$")
_WIKI_LINKED = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_LINKED = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_ELEMENT = re.compile(r"<[^<>]{1,200}>")
_EMPHASIS = re.compile(r"(`+|\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w))")
_TAG_KEYS, _ALIAS_KEYS = ("tags", "tag", "keywords"), ("aliases", "alias")
_DATE_KEYS = ("modified", "updated", "lastmod", "last_modified", "date", "created")
_MAX_LINE_CHARS = 20_000
"""A line with more characters is data and is skipped."""
_MAX_HEADING_CHARS = 500
_MAX_RAW_CHARS = 1_000
_LETTERS = re.compile(r"[^\n]")
_CLOSING = {name: re.compile(f"</{name}>", re.IGNORECASE) for name in ("pre", "script", "style", "textarea")}
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    """1 is the highest."""
    text: str
    """As a reader sees it: without markup."""
    line: int
    """0-based; for a heading with an overline, that line."""
    raw: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A link to another note, or to a place in one."""

    kind: str
    """wikilink, embed or link"""
    target: str
    """As written; empty for a place in the same note."""
    heading: str
    """What follows `#`: a heading, a slug, or a block id with its `^`."""
    line: int


@dataclass(slots=True)
class Outline:
    headings: list[Heading] = field(default_factory=list)
    body: int = 0
    """The first line after the front matter, 0-based."""
    solid: set[int] = field(default_factory=set)
    """Lines inside fenced code, at which no paragraph begins."""
    comments: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)
    """Start and end of comments, as (line, character), both from 0; in order, disjoint."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date: str = ""
    references: list[Reference] = field(default_factory=list)
    blocks: list[tuple[str, int]] = field(default_factory=list)
    """Block ids with their lines."""
    problem: str = ""
    """What is wrong with the front matter."""


def parse_markdown(lines: Sequence[str]) -> Outline:
    """The outline of a note; `lines` are without line ends."""
    front = frontmatter.parse_front_matter(lines)
    out = Outline(body=front.lines, problem=front.problem)
    text, starts = _blank_non_prose(lines, front.lines, out)
    tags = list(_read_declared_tags(front))
    for found in _MARKED.finditer(text, starts[front.lines]):
        heading = _read_heading(found[0], bisect_right(starts, found.start()) - 1, text, starts, lines, front.lines)
        if heading is not None:
            out.headings.append(heading)
    for found in _SPECIAL.finditer(text, starts[front.lines]):
        if found.end() - found.start() <= _MAX_LINE_CHARS:
            _read_references(found[0], bisect_right(starts, found.start()) - 1, out, tags)
    out.title = front.first("title") or next((item.text for item in out.headings if item.level == 1), "")
    out.aliases = tuple(dict.fromkeys(value for key in _ALIAS_KEYS for value in front.values.get(key, ()) if value))
    out.tags = tuple(dict.fromkeys(tags))
    out.date = next((date for key in _DATE_KEYS if _DATE.match(date := front.first(key))), "")
    return out


def _blank_non_prose(lines: Sequence[str], first: int, out: Outline) -> tuple[str, list[int]]:
    """The text with fenced code, comments and verbatim HTML blanked out, and where its lines begin."""
    prose = list(lines)
    fence, opened = "", 0
    for i in [i for i in range(first, len(lines)) if "```" in lines[i] or "~~~" in lines[i]]:
        found = _FENCE.match(lines[i])
        if found is None:
            continue
        if not fence:
            fence, opened = found[1], i
        elif found[1].startswith(fence) and not lines[i][found.end() :].strip():
            _blank_fence(prose, opened, i, out)
            fence = ""
    if fence:
        _blank_fence(prose, opened, len(lines) - 1, out)
    text = "\n".join(prose)
    starts = list(accumulate((len(line) + 1 for line in prose), initial=0))
    if "<!--" in text or "%%" in text:
        text = _blank_ranges(text, _find_comments(text, starts, first), starts, out)
    if "<" in text:
        text = _blank_ranges(text, _find_verbatim(text, starts[first]), starts, None)
    return text, starts


def _blank_fence(prose: list[str], first: int, last: int, out: Outline) -> None:
    """Blank fenced code, from its first line to its last."""
    prose[first : last + 1] = [""] * (last + 1 - first)
    out.solid.update(range(first + 1, last + 1))


def _blank_ranges(text: str, ranges: Iterable[tuple[int, int]], starts: list[int], out: Outline | None) -> str:
    """The text with ranges blanked out, every line in its place; with `out`, the ranges are recorded as comments."""
    pieces, position = [], 0
    for start, end in ranges:
        pieces += [text[position:start], _LETTERS.sub(" ", text[start:end])]
        position = end
        if out is not None:
            (a, b) = bisect_right(starts, start) - 1, bisect_right(starts, end) - 1
            out.comments.append(((a, start - starts[a]), (b, end - starts[b])))
    return "".join((*pieces, text[position:])) if pieces else text


def _find_verbatim(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Ranges of HTML elements with verbatim text. One that is never closed is ignored."""
    endless: set[str] = set()
    while (begin := _VERBATIM.search(text, position)) is not None:
        position, name = begin.end(), begin[1].lower()
        if name in endless:
            continue
        end = _CLOSING[name].search(text, position)
        if end is None:
            endless.add(name)
            continue
        yield begin.start(), end.end()
        position = end.end()


def _find_comments(text: str, starts: list[int], first: int) -> Iterator[tuple[int, int]]:
    """Ranges of comments. One that never ends is ignored, or the rest of the note would be lost."""
    endless: set[str] = set()
    position, seen, spans = starts[first], -1, [(0, 0)]
    while (begin := _COMMENT.search(text, position)) is not None:
        position = begin.end()
        if begin[0] == "<!--":
            line = bisect_right(starts, begin.start()) - 1
            if line != seen:
                seen, spans = line, _find_code_spans(text, starts[line], starts[line + 1])
            if spans and spans[bisect_right(spans, (begin.start(), 0)) - 1][1] > begin.start() >= spans[0][0]:
                continue
        closing = "-->" if begin[0] == "<!--" else "\n%%" if not begin[0].strip("% \t") and begin[0].count("%") == 2 else ""
        if closing and closing not in endless:
            end = text.find(closing, position)
            if end < 0:
                endless.add(closing)
                continue
            position = end + len(closing)
        elif closing:
            continue
        yield begin.start(), position


def _find_code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Ranges of inline code in a line; too long a line is skipped."""
    if end - start > _MAX_LINE_CHARS or text.find("`", start, end) < 0:
        return []
    return [found.span() for found in _CODE.finditer(text, start, end)]


def _read_heading(line: str, i: int, text: str, starts: list[int], lines: Sequence[str], first: int) -> Heading | None:
    """The heading that a marked line is or underlines, if any; `first` is the line after the front matter."""
    atx = _ATX.match(line)
    if atx is not None:
        return Heading(len(atx[1]), strip_markup(_strip_closing_marks(atx[2] or "")), i, lines[i].strip()[:_MAX_RAW_CHARS])
    if i <= first:
        return None
    before = text[starts[i - 1] : starts[i] - 1]
    if not before.strip() or _NO_PARAGRAPH.match(before):
        return None
    return Heading(1 if "=" in line else 2, strip_markup(before), i - 1, lines[i - 1].strip()[:_MAX_RAW_CHARS])


def _strip_closing_marks(text: str) -> str:
    """A heading's text without its closing marks."""
    text = text[:_MAX_HEADING_CHARS].strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _read_references(line: str, i: int, out: Outline, tags: list[str]) -> None:
    if "`" in line:
        line = _CODE.sub(" ", line)
    if "[[" in line:
        for match in _WIKI.finditer(line):
            kind = "embed" if match[1] else "wikilink"
            out.references.append(Reference(kind, match[2].strip(), (match[3] or "").strip(), i))
    if "](" in line:
        out.references += _read_links((match[1] for match in _LINK.finditer(line)), i)
    if "]:" in line and (defined := _DEFINED.match(line)):
        out.references += _read_links((defined[1],), i)
    if "#" in line and not _ATX.match(line):
        tags += (tag for match in _TAG.finditer(line) if (tag := match[1].rstrip("/-")) and not tag.isdigit())
    if "^" in line and (block := _BLOCK_ID.search(line)):
        out.blocks.append((block[1], i))


def _read_links(targets: Iterable[str], line: int) -> Iterable[Reference]:
    for target in targets:
        if not _SCHEME.match(target):
            path, _, heading = target.partition("#")
            yield Reference("link", unquote(path.partition("?")[0]), unquote(heading), line)


def _read_declared_tags(front: frontmatter.FrontMatter) -> Iterable[str]:
    for key in _TAG_KEYS:
        values = front.values.get(key, ())
        # People write lists as `tags: a, b` and `tags: a b`.
        parts = re.split(r"[,\s]+", values[0]) if len(values) == 1 else values
        yield from (tag for part in parts if (tag := part.strip().lstrip("#").strip("/")))


def strip_markup(text: str) -> str:
    """The text of a heading without its markup."""
    text = text[:_MAX_HEADING_CHARS].strip()
    if "{" in text:
        text = _ATTRIBUTES.sub("", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if "[" in text:
        text = _LINKED.sub(r"\1", _WIKI_LINKED.sub(r"\1", text))
    if "<" in text:
        text = _ELEMENT.sub("", text)
    return " ".join(_EMPHASIS.sub("", text).split())
