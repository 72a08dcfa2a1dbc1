"""Reads Markdown as vaults and documentation write it: nothing in code or comments is a heading, a tag or a link."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from urllib.parse import unquote

from lurcher.notes import frontmatter
from lurcher.notes.outline import Heading, Outline, Reference

_ATX = re.compile(r" {0,3}(#{1,6})([ \t].*)?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*(?:[>|#]|[-+*][ \t]|\d+[.)][ \t]|```|~~~|$)| {4}|\t")
_FENCE = re.compile(r"[\s>]*(?:[-+*][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_QUOTE = re.compile(r"[\s>]*")
_COMMENT = re.compile(r"<!--|%%[^\n%]*%%|^%%[ \t]*$", re.MULTILINE)
"""Where a comment begins, or one of Obsidian's that is on one line; a `%%` on a line of its own begins a longer one."""
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|[^\[\]\n]*)?\]\]")
_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}\]\(\s*<?([^\s()<>]{1,1000})>?(?:\s+[^()\n]{0,300})?\)")
_DEFINED = re.compile(r" {0,3}\[[^\[\]\n]{1,300}\]:\s*<?([^\s<>]{1,1000})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_TAG = re.compile(r"(?:^|(?<=\s))#([\w][\w/-]*)")
_BLOCK_ID = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*$")
_TAG_KEYS, _ALIAS_KEYS = ("tags", "tag", "keywords"), ("aliases", "alias")
_DATE_KEYS = ("modified", "updated", "lastmod", "last_modified", "date", "created")
_LONGEST_LINE = 20_000
"""Characters of a line beyond which it is data, and is not looked into."""
_LONGEST_HEADING = 500
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")


def read(lines: Sequence[str]) -> Outline:
    """The outline of a note's lines, which come without their ends."""
    front = frontmatter.read(lines)
    out = Outline(body=front.lines, problem=front.problem)
    prose = _prose(lines, front.lines, out)
    tags = list(_declared_tags(front))
    before = ""
    for i in range(front.lines, len(lines)):
        line = prose[i]
        heading = _heading(line, before, i, lines)
        if heading is not None:
            out.headings.append(heading)
        if line and len(line) <= _LONGEST_LINE:
            _look_into(line, i, out, tags)
        before = line
    out.title = front.first("title") or next((item.text for item in out.headings if item.level == 1), "")
    out.aliases = tuple(dict.fromkeys(value for key in _ALIAS_KEYS for value in front.values.get(key, ()) if value))
    out.tags = tuple(dict.fromkeys(tags))
    out.date = next((found for key in _DATE_KEYS if _DATE.match(found := front.first(key))), "")
    return out


def _prose(lines: Sequence[str], first: int, out: Outline) -> list[str]:
    """The lines with fenced code and comments blanked out."""
    prose = list(lines)
    fence = ""
    for i in range(first, len(lines)):
        found = _FENCE.match(lines[i])
        if fence:
            out.solid.add(i)
            prose[i] = ""
            ended = found is not None and found[1].startswith(fence) and not lines[i][found.end() :].strip()
            fence = "" if ended else fence
        elif found is not None:
            fence = found[1]
            prose[i] = ""
    _blank_comments(prose, first, out)
    return prose


def _blank_comments(prose: list[str], first: int, out: Outline) -> None:
    if not any("<!--" in line or "%%" in line for line in prose[first:]):
        return
    text = "\n".join(prose)
    starts = list(accumulate((len(line) + 1 for line in prose), initial=0))
    pieces, position = [], 0
    for start, end in _comments(text, starts[first]):
        pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start:end])]
        position = end
        (a, b) = bisect_right(starts, start) - 1, bisect_right(starts, end) - 1
        out.comments.append(((a, start - starts[a]), (b, end - starts[b])))
    prose[:] = ("".join(pieces) + text[position:]).split("\n")


def _comments(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Ranges of comments. One that never ends is none: the rest of the note would be lost with it."""
    endless: set[str] = set()
    while (begin := _COMMENT.search(text, position)) is not None:
        position = begin.end()
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


def _heading(line: str, before: str, i: int, lines: Sequence[str]) -> Heading | None:
    atx = _ATX.match(line) if "#" in line[:10] else None
    if atx is not None:
        return Heading(len(atx[1]), plain(_opened(atx[2] or "")), i, lines[i].strip())
    if before.strip() and line[:4].strip()[:1] in ("=", "-") and _UNDERLINE.match(line) and not _NO_PARAGRAPH.match(before):
        return Heading(1 if "=" in line else 2, plain(before), i - 1, lines[i - 1].strip())
    return None


def _opened(text: str) -> str:
    """What a heading says without the marks that may close it."""
    text = text[:_LONGEST_HEADING].strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _look_into(line: str, i: int, out: Outline, tags: list[str]) -> None:
    if "`" in line:
        line = _CODE.sub(" ", line)
    if "[[" in line:
        for match in _WIKI.finditer(line):
            kind = "embed" if match[1] else "wikilink"
            out.references.append(Reference(kind, match[2].strip(), (match[3] or "").strip(), i))
    if "](" in line:
        out.references += _relative((match[1] for match in _LINK.finditer(line)), i)
    if "]:" in line and (defined := _DEFINED.match(line)):
        out.references += _relative((defined[1],), i)
    if "#" in line and not _ATX.match(line):
        tags += (tag for match in _TAG.finditer(line) if (tag := match[1].rstrip("/-")) and not tag.isdigit())
    if "^" in line and (block := _BLOCK_ID.search(line)):
        out.blocks.append((block[1], i))


def _relative(targets: Iterable[str], line: int) -> Iterable[Reference]:
    for target in targets:
        if not _SCHEME.match(target):
            path, _, heading = target.partition("#")
            yield Reference("link", unquote(path.partition("?")[0]), unquote(heading), line)


def _declared_tags(front: frontmatter.FrontMatter) -> Iterable[str]:
    for key in _TAG_KEYS:
        values = front.values.get(key, ())
        # `tags: a, b` and `tags: a b` are lists as people write them.
        parts = re.split(r"[,\s]+", values[0]) if len(values) == 1 else values
        yield from (tag for part in parts if (tag := part.strip().lstrip("#").strip("/")))


def plain(text: str) -> str:
    """A heading as a reader sees it."""
    text = re.sub(r"\s*\{\s*[#.:][^{}]*\}\s*$", "", text[:_LONGEST_HEADING].strip())
    text = re.sub(r"\s\^[A-Za-z0-9-]+$", "", text)
    text = re.sub(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"<[^<>]{1,200}>", "", text)
    text = re.sub(r"(`+|\*{1,3}|~~|(?<!\w)_{1,3}|_{1,3}(?!\w))", "", text)
    return " ".join(text.split())
