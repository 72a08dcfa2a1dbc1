"""Markdown, as vaults and documentation write it → its outline: headings, links, tags, comments, metadata.

Nothing in code or comments is a heading, a tag or a link. Other markup has the same outline (`notes.py`).

Of front matter the part of YAML is read that notes use: scalars, quoted strings, lists in both styles and block texts. Nested
maps are skipped, and so is a bad line, which is reported. TOML between `+++` is read by the same rules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from urllib.parse import unquote

_MAX_LINES = 2_000
_MAX_KEY_LINE_CHARS = 5_000
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
        begun = len(lines) > 1 and _KEY.match(lines[1][:_MAX_KEY_LINE_CHARS]) is not None
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
            found = _KEY.match(line) if len(line) <= _MAX_KEY_LINE_CHARS else None
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
            if self._at >= len(self._lines) or _KEY.match(self._lines[self._at][:_MAX_KEY_LINE_CHARS]):
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
    front = parse_front_matter(lines)
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


def _read_declared_tags(front: FrontMatter) -> Iterable[str]:
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
