"""A segment of history: some commits with their changed files, hunks, terms and lines, as flat tables.

Everything that belongs to a commit lies together and is counted from where the commit's own part begins, so that a commit can
be taken into another segment as it is. A commit's strings begin with its subject, author, e-mail address, body, parents and
trailers, in this order; each ends with a zero byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.file_kind import KINDS
from lurcher.corpora.history.views import Header, header_of
from lurcher.runtime.light import cached_property
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.postings import pack_postings
from lurcher.storage.segment_reader import Segment
from lurcher.storage.segment_writer import as_bytes
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FORMAT = 4

COMMIT_FIELDS = ("subject", "body", "paths", "headings", "tests", "code")
"""Fields whose terms belong to a commit; the last two are the added lines of its test files and of its code."""
HUNK_FIELDS = ("hunk", "symbols")
"""Fields whose terms belong to a hunk: all its lines, and the names that it is about."""
FAMILIES = (*COMMIT_FIELDS, *HUNK_FIELDS)

NOTHING = 0xFFFFFFFF
SHA_BYTES = 32
MERGE, CUT, EMPTY_PATCH, BOUNDARY = 1, 2, 4, 8
"""Flags of a commit: it has several parents; not all of its lines are kept; there is no patch to know it by; its parents
were missing from a shallow clone, and so was what it changed."""
TRAITS_FROM, TRAITS_MASK, FIX = 4, 0x7F, 1 << 11
"""More flags of a commit: the kinds of noise it is, one bit each, and whether its subject reads as a fix."""
BINARY, CUT_FILE = 1, 2
"""Flags of a change."""

COMMIT = [
    ("sha", "V32"), ("patch", "V16"), ("authored", "<i8"), ("committed", "<i8"), ("strings", "<u8"), ("text", "<u8"),
    ("string_size", "<u4"), ("text_size", "<u4"), ("change", "<u4"), ("changes", "<u4"), ("hunk", "<u4"), ("hunks", "<u4"),
    ("subject", "<u4"), ("body", "<u4"), ("paths", "<u4"), ("headings", "<u4"), ("tests", "<u4"), ("code", "<u4"),
    ("added", "<u4"), ("removed", "<u4"), ("kinds", "<u2"), ("flags", "<u2"), ("sha_size", "<u4"),
]  # fmt: skip
CHANGE = [
    ("commit", "<u4"), ("path", "<u4"), ("old_path", "<u4"), ("added", "<u4"), ("removed", "<u4"), ("language", "<u2"),
    ("status", "u1"), ("kind", "u1"), ("flags", "<u4"),
]  # fmt: skip
HUNK = [
    ("commit", "<u4"), ("change", "<u4"), ("old_start", "<u4"), ("new_start", "<u4"), ("removed", "<u4"), ("added", "<u4"),
    ("heading", "<u4"), ("name", "<u4"), ("text", "<u4"), ("size", "<u4"), ("hunk", "<u4"), ("symbols", "<u4"),
]  # fmt: skip
TABLES = (("commits", COMMIT), ("changes", CHANGE), ("hunks", HUNK))
VECTORS = (("commit_vectors", "commit_scales", "commits"), ("hunk_vectors", "hunk_scales", "hunks"))


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors as bytes, and the scale of each."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PastData:
    """A segment in memory."""

    commits: NDArray[Any]
    changes: NDArray[Any]
    hunks: NDArray[Any]
    terms: list[str]
    postings: dict[str, Postings]
    strings: bytes
    text: bytes
    languages: list[str]
    vectors: tuple[Rows, Rows] | None = None
    """Of commits and of hunks; None where no model was in use."""
    model: str = ""
    """The digest of the model that made them."""


def write(data: PastData, out: ContainerWriter) -> str:
    """Write a segment; its digest."""
    import numpy as np

    for name, rows in (("commits", data.commits), ("changes", data.changes), ("hunks", data.hunks)):
        out.add(name, "V", as_bytes(rows))
    out.add("strings", PACKED, data.strings)
    packed_all = [(family, pack_postings(data.postings[family])) for family in FAMILIES]
    for family, packed in packed_all:
        out.add(f"{family}.data", "u1", as_bytes(packed.data))
    for family, packed in packed_all:
        out.add(f"{family}.terms", "<u4", as_bytes(packed.terms.astype("<u4")))
        out.add(f"{family}.rows", "<u4", as_bytes(np.cumsum(packed.rows).astype("<u4")))
        out.add(f"{family}.ends", "<u4", as_bytes(np.cumsum(packed.sizes).astype("<u4")))
    encoded = [term.encode("utf-8", "surrogatepass") for term in data.terms]
    out.add("terms", "u1", b"".join(encoded))
    out.add("term_ends", "<u4", np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded))).astype("<u4").tobytes())
    for name, (kind, content) in encode_vectors(data.vectors).items():
        out.add(name, kind, content)
    dims = 0 if data.vectors is None else int(data.vectors[0].numbers.shape[1])
    out.add("text", PACKED, data.text)
    counts = {"commits": len(data.commits), "changes": len(data.changes), "hunks": len(data.hunks), "terms": len(data.terms)}
    return out.finish(meta_of(counts, data.languages, dims, data.model))


def encode_vectors(vectors: tuple[Rows, Rows] | None) -> dict[str, tuple[str, bytes | memoryview]]:
    """The sections of a segment that hold its vectors."""
    sections: dict[str, tuple[str, bytes | memoryview]] = {}
    for i, (numbers, scales, _) in enumerate(VECTORS):
        found = vectors[i] if vectors is not None else None
        sections[numbers] = ("i1", b"" if found is None else as_bytes(found.numbers))
        sections[scales] = ("<f4", b"" if found is None else as_bytes(found.scales.astype("<f4")))
    return sections


def meta_of(counts: dict[str, int], languages: list[str], dims: int, model: str) -> dict[str, Any]:
    """What a segment says of itself; `model` is the digest of the one that made its vectors."""
    return {"history": FORMAT, **counts, "languages": languages, "dims": dims, "model": model if dims else ""}


def width_of(layout: list[tuple[str, str]]) -> int:
    return sum(int(kind.lstrip("<uifV")) for _, kind in layout)


def check_shape(container: Container) -> Container:
    """The container, if it is a segment of history whose tables have the sizes that it names."""
    meta = container.meta
    for name, layout in TABLES:
        if type(meta.get(name)) is not int or container.length(name) != meta[name] * width_of(layout):
            raise container.corrupt(f"its {name} are not as many as it says")
    if type(meta.get("terms")) is not int or container.length("term_ends") != meta["terms"] * 4:
        raise container.corrupt("its terms are not as many as it says")
    languages, dims = meta.get("languages"), meta.get("dims")
    if meta.get("history") != FORMAT or type(languages) is not list or any(type(name) is not str for name in languages):
        raise container.corrupt("it is not a segment of this format")
    if type(dims) is not int or not 0 <= dims <= 1 << 16:
        raise container.corrupt("its vectors have no size")
    for numbers, scales, kind in VECTORS:
        count = meta[kind] if dims else 0
        if container.length(numbers) != count * dims or container.length(scales) != 4 * count:
            raise container.corrupt(f"its {numbers} are not as many as its {kind}")
    return container


def commits_of(container: Container) -> NDArray[Any]:
    """The table of commits, each row leading to what exists, one after the other."""
    rows, meta = container.table("commits", COMMIT), container.meta
    for first, size, end in (
        ("strings", "string_size", container.length("strings")),
        ("text", "text_size", container.length("text")),
        ("change", "changes", meta["changes"]),
        ("hunk", "hunks", meta["hunks"]),
    ):
        if not _tiles(rows[first], rows[size], end):
            raise container.corrupt("a commit leads nowhere")
    if len(rows) and (not set(rows["sha_size"].tolist()) <= {20, SHA_BYTES}):
        raise container.corrupt("a commit has no name")
    return rows


def _tiles(starts: NDArray[Any], sizes: NDArray[Any], end: int) -> bool:
    """Whether parts lie one after the other, without a gap, from the beginning to the end."""
    import numpy as np

    total = np.cumsum(sizes.astype(np.int64))
    if not len(total):
        return end == 0
    return int(total[-1]) == end and bool((starts.astype(np.int64) == total - sizes).all())


def changes_of(container: Container, commits: NDArray[Any]) -> NDArray[Any]:
    """The table of changes, each row leading to what exists."""
    import numpy as np

    rows = container.table("changes", CHANGE)
    owners = np.repeat(np.arange(len(commits)), commits["changes"])
    sizes = commits["string_size"][owners]
    if len(rows) and (
        not (rows["commit"] == owners).all()
        or not (rows["path"] < sizes).all()
        or not ((rows["old_path"] < sizes) | (rows["old_path"] == NOTHING)).all()
        or int(rows["kind"].max()) >= len(KINDS)
        or int(rows["language"].max()) >= len(container.meta["languages"])
    ):
        raise container.corrupt("a change leads nowhere")
    return rows


def hunks_of(container: Container, commits: NDArray[Any]) -> NDArray[Any]:
    """The table of hunks, each row leading to what exists."""
    import numpy as np

    rows = container.table("hunks", HUNK)
    owners = np.repeat(np.arange(len(commits)), commits["hunks"])
    sizes, texts = commits["string_size"][owners], commits["text_size"][owners]
    if len(rows) and (
        not (rows["commit"] == owners).all()
        or not (rows["change"] < commits["changes"][owners]).all()
        or not (rows["heading"] < sizes).all()
        or not (rows["name"] < sizes).all()
        or not (rows["text"].astype(np.int64) + rows["size"] <= texts).all()
    ):
        raise container.corrupt("a hunk leads nowhere")
    return rows


def owners_in(container: Container, family: str) -> int:
    """How many owners the terms of `family` can have."""
    return int(container.meta["commits" if family in COMMIT_FIELDS else "hunks"])

# ----------------------------------------------------------------------------------------------------------------------
# One segment of history, mapped.


class PastSegment(Segment):
    """One segment, mapped; `live` says which of its commits still count (None: all)."""

    @cached_property
    def commits(self) -> NDArray[Any]:
        return commits_of(self.container)

    @cached_property
    def changes(self) -> NDArray[Any]:
        return changes_of(self.container, self.commits)

    @cached_property
    def hunks(self) -> NDArray[Any]:
        return hunks_of(self.container, self.commits)

    def check_tables(self) -> None:
        """Raise unless every row leads somewhere."""
        _ = self.commits, self.changes, self.hunks

    def is_live(self, term: int) -> bool:
        return any((found := self.postings(family, term)) is not None and len(found[0]) for family in FAMILIES)

    def _live_postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        found = self._postings(family, term)
        if found is None or self.live is None:
            return found
        owners, counts = found
        kept = self.live[owners if family in COMMIT_FIELDS else self.hunks["commit"][owners]]
        return owners[kept], counts[kept]

    def _owner_total(self, family: str) -> int:
        return owners_in(self.container, family)

    def strings(self, commit: int) -> bytes:
        """All strings of a commit."""
        start = int(self.commits["strings"][commit])
        return bytes(self.container.section("strings", start, start + int(self.commits["string_size"][commit])))

    def names(self) -> Iterator[bytes]:
        """The hashes of all commits, in order."""
        for name, size in zip(self.commits["sha"].tolist(), self.commits["sha_size"].tolist(), strict=True):
            yield name[:size]

    def headers(self, base: int) -> Iterator[tuple[int, Header]]:
        """All commits, numbered from `base` on."""
        blob = bytes(self.container.section("strings"))
        columns = (self.commits[name].tolist() for name in ("authored", "committed", "strings", "string_size"))
        for i, (name, authored, committed, start, size) in enumerate(zip(self.names(), *columns, strict=True)):
            yield base + i, header_of(name, authored, committed, blob[start : start + size])
