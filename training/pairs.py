"""Packages → training pairs: something one could ask, and the code that answers it.

Every pair is counted as terms at once, by the very code that counts them in an index, so nothing is tokenised twice and the
table sees what it will see in use. A document has the fields of a unit; what became the question is cut out of it.

kinds: comment (documentation → its definition), inline (a comment → the lines under it), name (a name → its body), header (a
file's opening comment → the file's card, and → its first unit), path (where a file lies → a unit), section (a Markdown
heading → its text), patch (a change's message → the change).
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from lurcher.chunking.code import parse
from lurcher.languages.detect import detect
from lurcher.languages.parsed_file import ParsedFile
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.terms import folders_of, name_of, name_parts
from lurcher.terms.count import Postings, make_counter
from lurcher.types import Definition
from training.prose import say

KINDS = ("comment", "inline", "name", "header", "card", "path", "section", "patch")
FIELDS = ("query", "body", "comments", "symbols", "name", "folder")

MOST_PER_FILE = 24
MOST_PER_PACKAGE = 6_000
MOST_FILE_BYTES = 400_000
LONGEST_DOCUMENT = 1_500
LONGEST_INLINE = 500
SHORTEST_BODY = 120
CARD_NAMES = 40
MOST_CARDS = 2
"""Documented types (or functions, where a file has no types) whose documentation also asks for the whole file."""
_PROSE = frozenset(("markdown", "rst", "restructuredtext", "asciidoc", "text"))
_GAP = re.compile(rb"[^;{}]*")
_BLANK = re.compile(rb"\n[ \t\r]*\n")
_PLAIN_NAME = frozenset(
    "main init new get set run test setup call to_s str repr hash eq ne len iter next close open end default from into clone "
    "drop fmt string equals hashcode tostring dispose name value index".split()
)


@dataclass(frozen=True, slots=True)
class Pair:
    kind: str
    query: str
    body: str
    comments: str
    symbols: str


@dataclass(slots=True)
class PackagePairs:
    """The pairs of one package, counted: per field, (term, pair, count) rows over the package's own sorted terms."""

    terms: list[str]
    postings: dict[str, Postings]
    kinds: NDArray[np.uint8]
    files: NDArray[np.uint32]
    languages: list[str] = field(default_factory=list)
    """One per file."""


def cut(texts: Iterable[tuple[str, bytes]], seed: str) -> PackagePairs:
    """All pairs of a package's files. `seed` fixes which are taken where there are too many."""
    counter = make_counter()
    kinds: list[int] = []
    owners: list[int] = []
    languages: list[str] = []
    seen: set[bytes] = set()
    for path, text in texts:
        if len(text) > MOST_FILE_BYTES or b"\0" in text:
            continue
        language, found = _of_file(path, text)
        found = _thinned([pair for pair in found if _fresh(pair, seen)], f"{seed}/{path}", MOST_PER_FILE)
        if not found:
            continue
        name, folders = " ".join(name_parts(name_of(path))), " ".join(folders_of(path))
        for pair in found:
            number = len(kinds)
            counter.add("query", number, pair.query)
            for part in ("body", "comments", "symbols"):
                if content := getattr(pair, part):
                    counter.add(part, number, content)
            if pair.kind not in ("path", "patch"):
                counter.add("name", number, name)
                counter.add("folder", number, folders)
            kinds.append(KINDS.index(pair.kind))
            owners.append(len(languages))
        languages.append(language)
        if len(kinds) >= MOST_PER_PACKAGE:
            break
    terms, postings = counter.finish(FIELDS)
    return PackagePairs(terms, postings, np.array(kinds, np.uint8), np.array(owners, np.uint32), languages)


def _fresh(pair: Pair, seen: set[bytes]) -> bool:
    """Whether this package has not asked the same of the same before."""
    key = hashlib.blake2b(f"{pair.kind}\0{pair.query}\0{pair.body[:200]}".encode("utf-8", "replace"), digest_size=8).digest()
    if key in seen:
        return False
    seen.add(key)
    return True


def _thinned(pairs: list[Pair], seed: str, most: int) -> list[Pair]:
    """At most `most` pairs, chosen by a hash and kept in order."""
    if len(pairs) <= most:
        return pairs

    def rank(i: int) -> bytes:
        first = pairs[i].kind in ("header", "card")
        return b"" if first else hashlib.blake2b(f"{seed}/{i}".encode("utf-8", "replace"), digest_size=8).digest()

    chosen = sorted(sorted(range(len(pairs)), key=rank)[:most])
    return [pairs[i] for i in chosen]


def _of_file(path: str, text: bytes) -> tuple[str, list[Pair]]:
    if path.endswith((".patch", ".diff")):
        return "diff", list(_patch(text.decode("utf-8", "replace")))
    language = detect(path, text[:512])
    if language in _PROSE:
        return language, list(_sections(text.decode("utf-8", "replace")))
    parsed = parse(text, language)
    if not parsed.definitions and not parsed.comments:
        return language, []
    return language, list(_code(path, text, parsed))


# -- code -------------------------------------------------------------------------------------------------------------


def _code(path: str, text: bytes, parsed: ParsedFile) -> Iterator[Pair]:
    merged = _merge(text, parsed.comments)
    starts = [start for start, _ in merged]
    used: set[int] = set()
    header = _header(text, merged, parsed.definitions)
    names = [d.name for d in parsed.definitions if d.kind in TYPE_KINDS or d.kind in FUNCTION_KINDS][:CARD_NAMES]
    has_types = any(d.kind in TYPE_KINDS for d in parsed.definitions)
    cards = MOST_CARDS
    if header is not None:
        used.add(header)
        asked = say(_text(text, *merged[header]))
        if asked:
            yield Pair("card", asked, "", "", " ".join(names))
            body, comments = _fields(text, merged[header][1], merged[header][1] + LONGEST_DOCUMENT, parsed.comments)
            yield Pair("header", asked, body, comments, " ".join(names[:6]))
    for definition in parsed.definitions:
        place = _documentation(text, definition, merged, starts)
        end = min(definition.end_byte, definition.start_byte + LONGEST_DOCUMENT)
        inside = (definition.start_byte, end)
        told = ""
        if place is not None and place not in used:
            used.add(place)
            told = say(_text(text, *merged[place]))
        without = [merged[place]] if place is not None else []
        if told:
            body, comments = _fields(text, *inside, parsed.comments, without)
            yield Pair("comment", told, body, comments, definition.name)
            if cards and (definition.kind in TYPE_KINDS or (definition.kind in FUNCTION_KINDS and not has_types)):
                cards -= 1
                yield Pair("card", told, "", "", " ".join(names))
        if definition.kind in FUNCTION_KINDS or definition.kind in TYPE_KINDS:
            words = name_parts(definition.name)
            telling = len(words) > 1 or (words and words[0] not in _PLAIN_NAME)
            if telling and definition.end_byte - definition.start_byte > SHORTEST_BODY:
                body, comments = _fields(text, *inside, parsed.comments, without)
                container = " ".join(name_parts(definition.container)) if definition.container else ""
                yield Pair("name", " ".join(words + container.split()[-2:]), _without(body, definition.name), comments, "")
    for i, (start, stop) in enumerate(merged):
        if i in used or stop - start < 24:
            continue
        asked = say(_text(text, start, stop))
        if asked:
            following = merged[i + 1][0] if i + 1 < len(merged) else len(text)
            end = min(stop + LONGEST_INLINE, max(following, stop + 160), len(text))
            body, comments = _fields(text, stop, end, parsed.comments)
            if len(body) > 40:
                yield Pair("inline", asked, body, comments, "")
    folders = PurePosixPath(path).parent.parts[-2:]
    where = name_parts(name_of(path)) + [word for folder in folders for word in name_parts(folder)]
    if len(where) > 1:
        for chunk in parsed.chunks[:3]:
            body, comments = _fields(text, chunk.start_byte, chunk.end_byte, parsed.comments)
            owned = [d.name for d in parsed.definitions if chunk.start_byte <= d.start_byte < chunk.end_byte]
            yield Pair("path", " ".join(where), body, comments, " ".join(owned))


def _merge(text: bytes, comments: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Comments with nothing but one line's end between them are one comment."""
    merged: list[tuple[int, int]] = []
    for start, end in comments:
        if merged:
            between = text[merged[-1][1] : start]
            if not between.strip() and between.count(b"\n") <= 1:
                merged[-1] = (merged[-1][0], end)
                continue
        merged.append((start, end))
    return merged


def _header(text: bytes, merged: list[tuple[int, int]], definitions: tuple[Definition, ...]) -> int | None:
    """The comment that opens the file and says what it is for: before the first definition, not a licence."""
    first = min((d.start_byte for d in definitions), default=len(text))
    for i, (start, end) in enumerate(merged[:4]):
        if start > first or start > 6_000:
            return None
        if not say(_text(text, start, end)):
            continue
        attached = text[end:first]
        if i and end <= first and not _BLANK.search(attached) and len(attached) < 200:
            return None
        return i
    return None


def _documentation(text: bytes, definition: Definition, merged: list[tuple[int, int]], starts: list[int]) -> int | None:
    """The comment that documents a definition: just above it, or the string that opens its body."""
    i = bisect_right(starts, definition.start_byte) - 1
    if i >= 0:
        gap = text[merged[i][1] : definition.start_byte]
        if merged[i][1] <= definition.start_byte and len(gap) < 240 and not _BLANK.search(gap) and _GAP.fullmatch(gap):
            return i
    i = bisect_left(starts, definition.start_byte)
    if i < len(merged) and merged[i][1] <= definition.end_byte:
        opening = text[merged[i][0] : merged[i][0] + 4].lstrip(b"rRuUbB")
        if opening.startswith((b'"""', b"'''", b'"')) and merged[i][0] - definition.start_byte < 600:
            return i
    return None


def _fields(
    text: bytes, start: int, end: int, comments: tuple[tuple[int, int], ...], without: list[tuple[int, int]] | None = None
) -> tuple[str, str]:
    """The code and the comments of a stretch of text, less the comments in `without`."""
    code, said = [], []
    position = start
    i = max(bisect_right(comments, (start, start)) - 1, 0)
    while i < len(comments) and comments[i][0] < end:
        a, b = max(comments[i][0], position), min(comments[i][1], end)
        if a < b:
            code.append(text[position:a])
            if not any(low <= a and b <= high for low, high in without or ()):
                said.append(text[a:b])
            position = b
        i += 1
    code.append(text[position:end])
    return b" ".join(code).decode("utf-8", "replace"), b" ".join(said).decode("utf-8", "replace")


def _without(body: str, name: str) -> str:
    return body.replace(name, " ") if len(name) > 3 else body


def _text(text: bytes, start: int, end: int) -> str:
    return text[start:end].decode("utf-8", "replace")


# -- prose and changes -------------------------------------------------------------------------------------------------

_HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*#*$", re.M)


def _sections(text: str) -> Iterator[Pair]:
    found = list(_HEADING.finditer(text))
    path: list[str] = []
    for i, heading in enumerate(found):
        depth = len(heading.group(1))
        path = [*path[: depth - 1], heading.group(2)]
        end = found[i + 1].start() if i + 1 < len(found) else len(text)
        body = text[heading.end() : end].strip()
        asked = " ".join(path[-2:])
        if len(body) > 200 and len(asked.split()) > 1:
            yield Pair("section", asked, "", body[:LONGEST_DOCUMENT], "")


_SUBJECT = re.compile(r"^(?:Subject|Description):[ \t]*(?:\[PATCH[^\]]*\][ \t]*)?(.+(?:\n[ \t]+\S.*)*)", re.M)
_CHANGED = re.compile(r"^[+-](?![+-]{2})(.*)$", re.M)
_TOUCHED = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.M)
_HUNK = re.compile(r"^@@[^@\n]*@@[ \t]*(.*)$", re.M)


def _patch(text: str) -> Iterator[Pair]:
    subject = _SUBJECT.search(text[:6_000])
    start = text.find("\n--- ")
    if subject is None or start < 0:
        return
    message = " ".join(subject.group(1).split()[:48])
    diff = text[start : start + 40_000]
    body = "\n".join(_CHANGED.findall(diff))[: 2 * LONGEST_DOCUMENT]
    paths = " ".join(name_of(path) for path in _TOUCHED.findall(diff)[:10])
    if len(message.split()) >= 3 and len(body) > 60:
        yield Pair("patch", message, body, "", f"{paths} {' '.join(_HUNK.findall(diff)[:10])}")
