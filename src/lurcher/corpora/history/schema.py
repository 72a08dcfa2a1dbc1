"""The schema of a history index: segments of commits with their changed files, hunks, terms and lines, and the manifest.

Everything that belongs to a commit is stored contiguously, with offsets relative to the commit's own part, so that a merge can
copy a commit as it is. A commit's strings begin with its subject, author, e-mail address, body, parents and trailers, in this
order; each ends with a zero byte. The manifest says which commits are live, which part of the history is covered, and where the
outcomes are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.errors import Template
from lurcher.runtime import VERSION
from lurcher.sources.git.commit import KINDS
from lurcher.sources.git.refs import NO_HEAD, Head
from lurcher.storage.container import Container, Layout
from lurcher.storage.manifest import Common, ManifestFormat, Sections
from lurcher.storage.segment import FORMAT, Blob, Schema, Segment, Table
from lurcher.storage.tables import VectorGroup
from lurcher.storage.vectors import VectorSidecar
from lurcher.types import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.container import Stamp


COMMIT_FIELDS = ("subject", "body", "paths", "headings", "tests", "code")
"""Fields whose terms belong to a commit; `tests` and `code` are the added lines of its test files and of its code."""
HUNK_FIELDS = ("hunk", "symbols")
"""Fields whose terms belong to a hunk: all its lines, and the names that it defines or lies in."""

NO_STRING = 0xFFFFFFFF
"""Offset of a string that is absent."""
SHA_BYTES = 32
MERGE, TRUNCATED, EMPTY_PATCH, BOUNDARY = 1, 2, 4, 8
"""Flags of a commit: it has several parents; not all of its lines are stored; it has no patch id; its parents were missing
from a shallow clone, so its changes are unknown."""
TRAITS_SHIFT, TRAITS_MASK, FIX = 4, 0x7F, 1 << 11
"""More flags of a commit: its traits, one bit each, in seven bits from bit 4 on, and whether its subject reads as a fix."""
BINARY, TRUNCATED_FILE = 1, 2
"""Flags of a change."""

COMMIT_ROW = [
    ("sha", "V32"), ("patch", "V16"), ("authored", "<i8"), ("committed", "<i8"), ("strings", "<u8"), ("text", "<u8"),
    ("string_size", "<u4"), ("text_size", "<u4"), ("change", "<u4"), ("changes", "<u4"), ("hunk", "<u4"), ("hunks", "<u4"),
    ("subject", "<u4"), ("body", "<u4"), ("paths", "<u4"), ("headings", "<u4"), ("tests", "<u4"), ("code", "<u4"),
    ("added", "<u4"), ("removed", "<u4"), ("kinds", "<u2"), ("flags", "<u2"), ("sha_size", "<u4"),
]  # fmt: skip
CHANGE_ROW = [
    ("commit", "<u4"), ("path", "<u4"), ("old_path", "<u4"), ("added", "<u4"), ("removed", "<u4"), ("language", "<u2"),
    ("status", "u1"), ("kind", "u1"), ("flags", "<u4"),
]  # fmt: skip
HUNK_ROW = [
    ("commit", "<u4"), ("change", "<u4"), ("old_start", "<u4"), ("new_start", "<u4"), ("removed", "<u4"), ("added", "<u4"),
    ("heading", "<u4"), ("name", "<u4"), ("text", "<u4"), ("size", "<u4"), ("hunk", "<u4"), ("symbols", "<u4"),
]  # fmt: skip


def _check_commits(container: Container, rows: Any, main: object) -> bool:
    """Whether the parts of the commits tile the other sections."""
    meta = container.meta
    parts = (
        ("strings", "string_size", container.length("strings")), ("text", "text_size", container.length("text")),
        ("change", "changes", meta["changes"]), ("hunk", "hunks", meta["hunks"]),
    )  # fmt: skip
    tiled = all(_is_contiguous(rows[first], rows[size], end) for first, size, end in parts)
    return tiled and set(rows["sha_size"].tolist()) <= {20, SHA_BYTES}


def _is_contiguous(starts: NDArray[Any], sizes: NDArray[Any], end: int) -> bool:
    """Whether parts tile the range from 0 to `end` in order, without gap or overlap."""
    import numpy as np

    total = np.cumsum(sizes.astype(np.int64))
    if not len(total):
        return end == 0
    return int(total[-1]) == end and bool((starts.astype(np.int64) == total - sizes).all())


def _check_changes(container: Container, rows: Any, main: Callable[[], Any]) -> bool:
    import numpy as np

    commits = main()
    owners = np.repeat(np.arange(len(commits)), commits["changes"])
    sizes = commits["string_size"][owners]
    return not len(rows) or bool(
        (rows["commit"] == owners).all()
        and (rows["path"] < sizes).all()
        and ((rows["old_path"] < sizes) | (rows["old_path"] == NO_STRING)).all()
        and int(rows["kind"].max()) < len(KINDS)
        and int(rows["language"].max()) < len(container.meta["languages"])
    )


def _check_hunks(container: Container, rows: Any, main: Callable[[], Any]) -> bool:
    import numpy as np

    commits = main()
    owners = np.repeat(np.arange(len(commits)), commits["hunks"])
    sizes, texts = commits["string_size"][owners], commits["text_size"][owners]
    return not len(rows) or bool(
        (rows["commit"] == owners).all()
        and (rows["change"] < commits["changes"][owners]).all()
        and (rows["heading"] < sizes).all()
        and (rows["name"] < sizes).all()
        and (rows["text"].astype(np.int64) + rows["size"] <= texts).all()
    )


_OF_COMMITS = VectorGroup("commit_vectors", "commit_scales", "commits")
COMMITS = Schema(
    "commits",
    (
        Table("commits", COMMIT_ROW, _check_commits),
        Table("changes", CHANGE_ROW, _check_changes, "commit", "change", "changes"),
        Table("hunks", HUNK_ROW, _check_hunks, "commit", "hunk", "hunks"),
    ),
    {**dict.fromkeys(COMMIT_FIELDS, "commits"), **dict.fromkeys(HUNK_FIELDS, "hunks")},
    (Blob("strings", "commits", "strings", "string_size"), Blob("text", "commits", "text", "text_size")),
    (_OF_COMMITS, VectorGroup("hunk_vectors", "hunk_scales", "hunks")),
    provided=(_OF_COMMITS,),  # there are too many hunks to embed them one by one
    languages="changes",
)  # fmt: skip
"""Commits with their changes, hunks, terms and lines."""


class CommitHeader(NamedTuple):
    """A stored commit without its changes."""

    sha: str
    subject: str
    author: str
    email: str
    authored: int
    committed: int
    body: str
    parents: tuple[str, ...]
    trailers: tuple[tuple[str, str], ...]


def decode_header(name: bytes, authored: int, committed: int, strings: bytes) -> CommitHeader:
    """Decode the header at the beginning of a commit's strings; `name` is the hash."""
    fields = [part.decode("utf-8", "replace") for part in strings.split(b"\0", 6)[:6]]
    subject, author, email, body, parents, trailers = fields + [""] * (6 - len(fields))
    pairs = (line.partition(": ") for line in trailers.split("\n") if line)
    return CommitHeader(
        name.hex(), subject, author, email, authored, committed, body, tuple(parents.split()),
        tuple((key, value) for key, _, value in pairs),
    )  # fmt: skip


class ChangeView(NamedTuple):
    """A stored change of one file; `hunks` are the numbers of its hunks."""

    path: str
    old_path: str | None
    status: str
    kind: str
    language: str
    added: int
    removed: int
    binary: bool
    truncated: bool
    hunks: range


class HunkView(NamedTuple):
    """A stored hunk without its lines."""

    commit: int
    path: str
    old_path: str | None
    kind: str
    language: str
    old_start: int
    new_start: int
    removed: int
    """Number of removed lines that are stored."""
    added: int
    heading: str
    name: str
    """The definition around the hunk, or the first in it; empty if unknown."""


class HistorySegment(Segment):
    """A memory-mapped segment; `live` says which of its commits are still reachable from HEAD (None: all)."""

    schema = COMMITS

    def _read_rows(self, name: str, layout: Layout) -> NDArray[Any]:
        return self.container.table(name, layout)

    @cached_property
    def commits(self) -> NDArray[Any]:
        return self.table("commits")

    @cached_property
    def changes(self) -> NDArray[Any]:
        return self.table("changes")

    @cached_property
    def hunks(self) -> NDArray[Any]:
        return self.table("hunks")

    def strings(self, commit: int) -> bytes:
        """The strings of a commit, each with its zero byte."""
        start = int(self.commits["strings"][commit])
        return bytes(self.container.section("strings", start, start + int(self.commits["string_size"][commit])))

    def shas(self) -> Iterator[bytes]:
        """The hashes of all commits, in order."""
        for name, size in zip(self.commits["sha"].tolist(), self.commits["sha_size"].tolist(), strict=True):
            yield name[:size]

    def headers(self, base: int) -> Iterator[tuple[int, CommitHeader]]:
        """The headers of all commits, numbered from `base` on."""
        blob = bytes(self.container.section("strings"))
        columns = (self.commits[name].tolist() for name in ("authored", "committed", "strings", "string_size"))
        for i, (name, authored, committed, start, size) in enumerate(zip(self.shas(), *columns, strict=True)):
            yield base + i, decode_header(name, authored, committed, blob[start : start + size])


_OUTCOMES = re.compile(r"(?:[0-9a-f]{24}\.outcomes)?")
_SHA = re.compile(r"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?")


class OutcomesFile(NamedTuple):
    """The file that holds the outcomes of commits."""

    name: str = ""
    """Empty if there are no outcomes yet."""
    commits: int = 0
    """Number of commits that it covers."""
    rules: str = ""
    """The rules by which the outcomes were found, as `rules_text` gives them."""


class HistoryManifest(Record):
    """What one generation of a history index consists of."""

    __slots__ = (
        "generation", "fingerprint", "segments", "sizes", "live", "head", "complete", "total", "max_commits", "losses",
        "order", "vectors", "outcomes", "stamps",
    )  # fmt: skip

    def __init__(
        self, generation: int, fingerprint: Mapping[str, Any], segments: tuple[str, ...] = (), sizes: tuple[int, ...] = (),
        live: tuple[NDArray[np.bool_] | None, ...] = (), head: Head = NO_HEAD, complete: bool = False, total: int = 0,
        max_commits: int = 0, losses: tuple[int, int, int] = (0, 0, 0), order: NDArray[np.uint32] | None = None,
        vectors: Mapping[str, VectorSidecar] | None = None, outcomes: OutcomesFile | None = None,
        stamps: Mapping[str, Stamp] | None = None,
    ) -> None:  # fmt: skip
        self.generation, self.fingerprint, self.segments = generation, fingerprint, segments
        self.sizes = sizes
        """Commits in each segment, live and dead."""
        self.live = live
        """For each segment which commits are live; None: all."""
        self.head = head
        """HEAD when this was written."""
        self.complete = complete
        """Whether every commit that can be read, up to `max_commits`, is indexed."""
        self.total = total
        """Number of commits reachable from HEAD; 0 also while they are not counted."""
        self.max_commits = max_commits
        """The limit that was set; 0: none."""
        self.losses = losses
        """(commits with missing files, missing files, commits whose list of changed files is missing)."""
        self.order = order
        """The numbers of the live commits, newest first."""
        self.vectors: Mapping[str, VectorSidecar] = {} if vectors is None else vectors
        """Vectors in files of their own, by the digest of the model that made them."""
        self.outcomes: OutcomesFile = OutcomesFile() if outcomes is None else outcomes
        """The outcomes of all commits, or of some of them while more are being read."""
        self.stamps: Mapping[str, Stamp] = {} if stamps is None else stamps
        """Stamps of the files of the generation when they were written."""

    @property
    def further_files(self) -> tuple[str, ...]:
        return (self.outcomes.name,) if self.outcomes.name else ()

    @property
    def commits(self) -> int:
        """Number of live commits."""
        return sum(size if mask is None else int(mask.sum()) for size, mask in zip(self.sizes, self.live, strict=True))


def make_fingerprint(model: str, first_parent: bool, merges: bool, diff_bytes: int, secrets: bool = False) -> dict[str, Any]:
    """The settings and versions that an index must match to be used; only `model` may differ."""
    return {
        "format": FORMAT, "version": VERSION, "model": model, "first_parent": first_parent, "merges": merges,
        "diff_bytes": diff_bytes, "secrets": secrets,
    }  # fmt: skip


def empty_manifest(print_: Mapping[str, Any]) -> HistoryManifest:
    return HistoryManifest(0, print_)


def _encode(manifest: HistoryManifest, sections: Sections, meta: dict[str, Any]) -> None:
    import numpy as np

    masks = [
        np.ones(size, np.uint8) if mask is None else mask.astype(np.uint8)
        for size, mask in zip(manifest.sizes, manifest.live, strict=True)
    ]
    everything = all(mask is None for mask in manifest.live)
    sections["live"] = ("u1", b"" if everything else np.packbits(np.concatenate(masks)).tobytes())
    sections["order"] = ("<u4", b"" if manifest.order is None else manifest.order.astype("<u4").tobytes())
    meta.update({
        "sizes": list(manifest.sizes),
        "whole": everything,
        "head": [manifest.head.sha, manifest.head.shallow],
        "complete": manifest.complete,
        "total": manifest.total,
        "most": manifest.max_commits,
        "losses": list(manifest.losses),
        "ordered": manifest.order is not None,
        "judged": list(manifest.outcomes),
    })  # fmt: skip


def _decode(container: Container, common: Common) -> HistoryManifest:
    import numpy as np

    meta = container.meta
    sizes, (sha, shallow), losses = meta["sizes"], meta["head"], meta["losses"]
    if type(meta["total"]) is not int or type(meta["most"]) is not int:
        raise ValueError("the number of commits is invalid")
    if len(sizes) != len(common.segments) or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError("the sizes of the segments are invalid")
    if not _SHA.fullmatch(sha) or type(shallow) is not str or type(meta["complete"]) is not bool:
        raise ValueError("HEAD is invalid")
    if len(losses) != 3 or any(type(count) is not int for count in losses):
        raise ValueError("the counts of missing files are invalid")
    outcomes, count, rules = meta["judged"]
    if not _OUTCOMES.fullmatch(outcomes) or type(count) is not int or type(rules) is not str:
        raise ValueError("the file of outcomes is invalid")
    total = sum(sizes)
    live: list[NDArray[np.bool_] | None] = [None] * len(sizes)
    if not meta["whole"]:
        bits = np.unpackbits(container.array("live", "u1"))
        if not total <= len(bits) < total + 8:
            raise ValueError("the list of live commits is invalid")
        parts = np.split(bits[:total].astype(bool), np.cumsum(sizes)[:-1]) if sizes else []
        live = [None if bool(part.all()) else part for part in parts]
    order = container.array("order", "<u4") if meta["ordered"] else None
    manifest = HistoryManifest(
        common.generation, common.fingerprint, common.segments, tuple(sizes), tuple(live), Head(sha, shallow),
        meta["complete"], meta["total"], meta["most"], (losses[0], losses[1], losses[2]), order, common.vectors,
        OutcomesFile(outcomes, count, rules), common.stamps,
    )  # fmt: skip
    if order is not None and (len(order) != manifest.commits or (len(order) and int(order.max()) >= total)):
        raise ValueError("the order of commits is invalid")
    return manifest


HISTORY_FORMAT = ManifestFormat(
    "history", "history index", Template("{run index: history rebuild}"), empty_manifest, _encode, _decode
)
