"""Builds a history segment from commits: rows, strings, terms, symbol names and vectors.

Symbol names come from regular expressions over single lines: from the text that git prints after the @@ of a hunk, and from
changed lines that define something. A grammar would need whole files, and there are too many versions of them.

A term table makes the vectors of commits and hunks from their terms. An embedding service gets the text of commits: message
and paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.classify import TRAITS, commit_traits, reads_as_fix
from lurcher.corpora.history.schema import (
    BINARY,
    CHANGE_ROW,
    COMMIT_FIELDS,
    COMMIT_ROW,
    COMMITS,
    EMPTY_PATCH,
    FIX,
    HUNK_FIELDS,
    HUNK_ROW,
    MERGE,
    NO_STRING,
    SHA_BYTES,
    TRAITS_SHIFT,
    TRUNCATED,
    TRUNCATED_FILE,
    HistoryManifest,
    HistorySegment,
    decode_header,
)
from lurcher.errors import Template
from lurcher.indexing.embed import TextGroup
from lurcher.indexing.reembed import VectorKind, copy_container, read_postings, read_terms
from lurcher.languages.detect import detect
from lurcher.sources.git.commit import CODE, TESTS, Change, Commit, Hunk, kind_of
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.segment import decode_string
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.vectors import encode_vectors
from lurcher.terms.count import Postings, make_counter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.table import Table


COMMIT_WEIGHTS = {"subject": 2.0, "body": 1.0, "paths": 0.7}
HUNK_WEIGHTS = {"hunk": 1.0, "symbols": 1.0}
"""Weights of the fields in a vector; a term counts by the square root of its number."""
_NAMED_KINDS = (CODE, TESTS)
"""Kinds of files in which symbol names are searched."""
_MAX_COUNT = 0xFFFFFFFE
"""Larger numbers are stored as this one."""


class StringTable:
    """The strings of one commit, found by their order or by their offset."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self.size = 0

    def append(self, text: str) -> None:
        """Add a string that is found by its order."""
        data = text.replace("\0", " ").encode("utf-8", "replace") + b"\0"
        self._parts.append(data)
        self.size += len(data)

    def put(self, text: str) -> int:
        """Add a string, unless it was put before; returns its offset."""
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = self.size
            self.append(text)
        return offset

    def data(self) -> bytes:
        return b"".join(self._parts)


class HistorySegmentBuilder:
    """Collects commits one by one; `size` is the number of bytes of their lines."""

    def __init__(self) -> None:
        self._counter = make_counter()
        self._commits: list[tuple[Any, ...]] = []
        self._changes: list[tuple[int, ...]] = []
        self._hunks: list[tuple[int, ...]] = []
        self._strings: list[bytes] = []
        self._texts: list[bytes] = []
        self._string_total = self.size = 0
        self._languages: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._commits)

    def add(self, commit: Commit, flags: int = 0) -> None:
        """Add a commit; `flags` are those that cannot be derived from the commit itself."""
        number = len(self._commits)
        strings = StringTable()
        trailers = "\n".join(f"{name}: {value}" for name, value in commit.trailers)
        for text in (commit.subject, commit.author, commit.email, commit.body, " ".join(commit.parents), trailers):
            strings.append(text)
        first_change, first_hunk, text_start = len(self._changes), len(self._hunks), self.size
        headings: dict[str, None] = {}
        kinds = 0
        for change in commit.changes:
            kind = kind_of(change.path)
            kinds |= 1 << kind
            self._add_change(number, change, kind, strings, len(self._changes) - first_change, text_start, headings)
        counter = self._counter
        counter.add("subject", number, commit.subject)
        counter.add("body", number, "\n".join((commit.body, trailers)))
        paths = {path for change in commit.changes for path in (change.path, change.old_path) if path}
        counter.add("paths", number, "\n".join(sorted(paths)))
        counter.add("headings", number, "\n".join(headings))
        data = strings.data()
        self._strings.append(data)
        sha = bytes.fromhex(commit.sha)
        flags |= MERGE if len(commit.parents) > 1 else 0
        for trait in commit_traits(commit):
            flags |= 1 << TRAITS_SHIFT + TRAITS.index(trait)
        flags |= FIX if reads_as_fix(commit.subject) else 0
        flags |= TRUNCATED if any(change.truncated for change in commit.changes) else 0
        self._commits.append((
            sha.ljust(SHA_BYTES, b"\0"), bytes.fromhex(commit.patch_id).ljust(16, b"\0"), commit.authored, commit.committed,
            self._string_total, text_start, len(data), self.size - text_start, first_change,
            len(self._changes) - first_change, first_hunk, len(self._hunks) - first_hunk, 0, 0, 0, 0, 0, 0,
            min(sum(change.added for change in commit.changes), _MAX_COUNT),
            min(sum(change.removed for change in commit.changes), _MAX_COUNT),
            kinds, flags | (0 if commit.patch_id else EMPTY_PATCH), len(sha),
        ))  # fmt: skip
        self._string_total += len(data)

    def _add_change(
        self,
        number: int,
        change: Change,
        kind: int,
        strings: StringTable,
        place: int,
        text_start: int,
        headings: dict[str, None],
    ) -> None:
        """Add the change at position `place` of commit `number`; its headings are added to `headings`."""
        language = detect(change.path, b"")
        old = NO_STRING if change.old_path is None else strings.put(change.old_path)
        self._changes.append((
            number, strings.put(change.path), old, min(change.added, _MAX_COUNT), min(change.removed, _MAX_COUNT),
            self._languages.setdefault(language, len(self._languages)), ord(change.status[:1] or "M") & 0xFF, kind,
            (BINARY if change.binary else 0) | (TRUNCATED_FILE if change.truncated else 0),
        ))  # fmt: skip
        for hunk in change.hunks:
            name = heading_name(hunk.heading) if kind in _NAMED_KINDS else ""
            if kind in _NAMED_KINDS and hunk.heading:
                headings[name or hunk.heading] = None
            self._add_hunk(number, hunk, kind, language, name, strings, place, text_start)

    def _add_hunk(
        self, number: int, hunk: Hunk, kind: int, language: str, name: str, strings: StringTable, place: int, text_start: int
    ) -> None:
        owner = len(self._hunks)
        removed, added = "\n".join(hunk.removed), "\n".join(hunk.added)
        self._counter.add("removed", owner, removed)
        self._counter.add("added", owner, added)
        names = [name] if name else []
        if kind in _NAMED_KINDS:
            names += [other for text in (added, removed) if text for other in defined_names(text, language)]
        unique = list(dict.fromkeys(names))
        self._counter.add("symbols", owner, "\n".join(unique))
        text = "".join([*(f"-{line}\n" for line in hunk.removed), *(f"+{line}\n" for line in hunk.added)])
        data = text.encode("utf-8", "replace")
        self._texts.append(data)
        # A hunk outside of any definition is shown with the first name that it defines.
        shown = name or (unique[0] if unique else "")
        self._hunks.append((
            number, place, min(hunk.old_start, _MAX_COUNT), min(hunk.new_start, _MAX_COUNT), len(hunk.removed), len(hunk.added),
            strings.put(hunk.heading), strings.put(shown), self.size - text_start, len(data), 0, 0,
        ))  # fmt: skip
        self.size += len(data)

    def finish(self, table: Table | None = None) -> SegmentData:
        """The content of the segment, with vectors if there is a table."""
        import numpy as np

        terms, postings = self._counter.finish(("subject", "body", "paths", "headings", "added", "removed", "symbols"))
        added, removed = postings.pop("added"), postings.pop("removed")
        postings["hunk"] = sum_postings((added, removed))
        commits, hunks = np.array(self._commits, COMMIT_ROW), np.array(self._hunks, HUNK_ROW)
        changes = np.array(self._changes, CHANGE_ROW)
        kinds = changes["kind"][commits["change"][hunks["commit"]].astype(np.int64) + hunks["change"]]
        owners = hunks["commit"].astype(np.int64)
        postings["tests"] = sum_postings((_postings_of_commits(added, kinds == TESTS, owners),))
        postings["code"] = sum_postings((_postings_of_commits(added, kinds == CODE, owners),))
        for rows, fields in ((commits, COMMIT_FIELDS), (hunks, HUNK_FIELDS)):
            for field in fields:
                found = postings[field]
                rows[field] = np.bincount(found.owners, found.counts, len(rows)) if len(rows) else 0
        data = SegmentData(
            {"commits": commits, "changes": changes, "hunks": hunks}, terms, postings, {"strings": b"".join(self._strings)},
            [b"".join(self._texts)], list(self._languages), schema=COMMITS,
        )  # fmt: skip
        if table is None:
            return data
        return replace(data, vectors=embed_segment(terms, postings, (len(commits), len(hunks)), table), model=table.digest)


def _postings_of_commits(postings: Postings, selected: NDArray[np.bool_], owners: NDArray[np.int64]) -> Postings:
    """The postings of the selected hunks, with their commits as owners; an owner may occur several times."""
    import numpy as np

    kept = selected[postings.owners]
    return Postings(postings.terms[kept], owners[postings.owners[kept]].astype(np.uint32), postings.counts[kept])


def sum_postings(parts: Iterable[Postings]) -> Postings:
    """Add postings up: sorted by term and owner, each owner once per term."""
    import numpy as np

    parts = list(parts)
    keys = np.concatenate([(part.terms.astype(np.int64) << 32) | part.owners for part in parts])
    counts = np.concatenate([part.counts for part in parts]).astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    totals = np.add.reduceat(counts, first) if len(first) else counts
    keys = keys[first]
    return Postings(
        (keys >> 32).astype(np.uint32), (keys & 0xFFFFFFFF).astype(np.uint32), np.minimum(totals, 255).astype(np.uint8)
    )


def embed_segment(
    terms: list[str], postings: Mapping[str, Postings], sizes: tuple[int, int], table: Table
) -> tuple[NDArray[Any], ...]:
    """Make the vectors of commits and of hunks from their terms; `sizes` is the number of each. Numbers and scales of each."""
    from lurcher.vectors.static import embed_groups

    groups = [
        ([(postings[field], weight) for field, weight in weights.items()], total)
        for weights, total in zip((COMMIT_WEIGHTS, HUNK_WEIGHTS), sizes, strict=True)
    ]
    commits, hunks = embed_groups(terms, groups, table)
    return (*commits, *hunks)


_KEYWORDS = (
    "def|defp|defmodule|defmacro|class|module|func|function|fn|fun|struct|enum|trait|interface|impl|type|record|object|"
    "protocol|extension|namespace|package|sub|proc|union|macro_rules!|actor|mixin|concept"
)
_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*[!?]?"
_DEFINITION = re.compile(
    r"(?:^|[\s(;{])(?:" + _KEYWORDS + r")\b\*?(?:<[^<>\n]*>)?\s+(?:\([^()\n]*\)\s*)?(?:<[^<>\n]*>\s*)?(?:self\.)?"
    r"(" + _NAME + r")"
)
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|override|open|sealed|data|case|inline|"
    r"virtual|extern|unsafe|const|readonly|partial|suspend|local|pub(?:\([\w: ]+\))?|declare)[ \t]+)*"
)
_KEYWORD_LINE = re.compile(
    r"^[ \t]*(?:@[\w.]+(?:\([^()\n]*\))?[ \t]+)*" + _MODIFIERS + r"(?:" + _KEYWORDS + r")\b\*?(?:<[^<>\n]*>)?[ \t]+"
    r"(?:\([^()\n]*\)[ \t]*)?(?:<[^<>\n]*>[ \t]*)?(?:self\.)?(" + _NAME + r")",
    re.MULTILINE,
)
_CALL = re.compile(r"([^\W\d][\w$]*(?:::~?[^\W\d][\w$]*)*[!?]?)\s*\(")
_C_FUNCTION = re.compile(
    r"^[^\W\d][\w:<>,*&\[\] \t]{0,120}[ \t*&]([^\W\d]\w{0,80}(?:::~?[^\W\d]\w{0,80}){0,4})[ \t]*\("
    r"[^;{}\n]*\)?[^;\n]*$",
    re.MULTILINE,
)
_MODIFIED_METHOD = re.compile(
    r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized|native)[ \t]+)"
    r"{1,6}[\w<>,.?\[\] \t]{0,80}?\b([^\W\d]\w{0,80})[ \t]*\(",
    re.MULTILINE,
)
_ASSIGNED_FUNCTION = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+([^\W\d][\w$]*)[ \t]*(?::[^=\n]+)?=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\(|[\w$]+[ \t]*=>)",
    re.MULTILINE,
)
_CONTROL_KEYWORDS = frozenset(
    """
    if for while switch catch return else elif with match do until unless when foreach sizeof throw raise assert using lock
    """.split()
)
_TYPE_KEYWORDS = frozenset({"struct", "enum", "union"})
_C_LANGUAGES = frozenset({"c", "cpp", "objective-c"})
_METHOD_LANGUAGES = frozenset({"java", "csharp", "php", "scala", "kotlin", "groovy", "dart", "typescript", "tsx"})
_SCRIPT_LANGUAGES = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_MAX_NAMES = 32
_MAX_CHARACTERS = 20_000


@lru_cache(maxsize=10_000)
def heading_name(heading: str) -> str:
    """The name that the text after the @@ defines; empty if none is recognised."""
    match = _DEFINITION.search(heading)
    called = next((found for found in _CALL.finditer(heading) if found[1] not in _CONTROL_KEYWORDS), None)
    # In C a keyword may be part of a return or parameter type: `struct node *next(struct list *all)`.
    if match and not (called and (match.start() > called.start() or match[0].split()[0] in _TYPE_KEYWORDS)):
        return match[1]
    return called[1] if called else ""


def defined_names(text: str, language: str) -> list[str]:
    """The names that lines of code define, in order, without duplicates."""
    text = text[:_MAX_CHARACTERS]
    patterns = [_KEYWORD_LINE]
    if language in _C_LANGUAGES:
        patterns.append(_C_FUNCTION)
    if language in _METHOD_LANGUAGES:
        patterns.append(_MODIFIED_METHOD)
    if language in _SCRIPT_LANGUAGES:
        patterns.append(_ASSIGNED_FUNCTION)
    found: dict[str, None] = {}
    for pattern in patterns:
        for match in pattern.finditer(text):
            if match[1] not in _CONTROL_KEYWORDS:
                found[match[1]] = None
    return list(found)[:_MAX_NAMES]


_MAX_EMBEDDED_PATHS = 20


def _reembed_segment(container: Container, table: Table, out: ContainerWriter) -> str:
    """Write the same segment with vectors by another table; returns its digest."""
    postings = read_postings(container, (*COMMIT_WEIGHTS, *HUNK_WEIGHTS), COMMITS.count_owners)
    sizes = int(container.meta["commits"]), int(container.meta["hunks"])
    sections, dims = encode_vectors(embed_segment(read_terms(container), postings, sizes, table), COMMITS.vectors)
    return copy_container(container, sections, {"dims": dims, "model": table.digest}, out)


def _texts_to_embed(manifest: HistoryManifest) -> Callable[[str, Container], list[TextGroup]]:
    """A function that gives the texts of a segment to embed, from its name and container."""
    live = dict(zip(manifest.segments, manifest.live, strict=True))

    def texts(name: str, container: Container) -> list[TextGroup]:
        segment = HistorySegment(container, live[name])
        return [TextGroup(COMMITS.provided[0], len(segment.commits), live[name], partial(_embedded_text, segment))]

    return texts


def _embedded_text(segment: HistorySegment, commit: int) -> str:
    """The text of a commit that is embedded: its message and the paths of its files."""
    row, strings = segment.commits[commit], segment.strings(commit)
    header = decode_header(b"", 0, 0, strings)
    first, count = int(row["change"]), int(row["changes"])
    offsets = segment.changes["path"][first : first + min(count, _MAX_EMBEDDED_PATHS)].tolist()
    paths = [decode_string(strings, offset) for offset in offsets]
    return "\n".join(part for part in (header.subject, header.body, "\n".join(paths)) if part)


COMMIT_VECTORS: VectorKind[HistoryManifest] = VectorKind(
    "history", "the history index", "embedding history", Template("{run index: history}"), COMMITS.provided, _reembed_segment,
    _texts_to_embed,
)  # fmt: skip
"""How the vectors of a history index are made, for `indexing.reembed`."""
