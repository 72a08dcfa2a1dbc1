"""A segment of a history index: commits with their changed files, hunks, terms and lines, as flat tables.

Everything that belongs to a commit is stored contiguously, with offsets relative to the commit's own part, so that a merge can
copy a commit as it is. A commit's strings begin with its subject, author, e-mail address, body, parents and trailers, in this
order; each ends with a zero byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.runtime.light import cached_property
from lurcher.sources.git.commit import KINDS
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.merge import expand_ranges
from lurcher.storage.merge_postings import merge_families
from lurcher.storage.postings import pack_postings
from lurcher.storage.segment_reader import Segment
from lurcher.storage.segment_writer import as_bytes
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FORMAT = 4

COMMIT_FIELDS = ("subject", "body", "paths", "headings", "tests", "code")
"""Fields whose terms belong to a commit; `tests` and `code` are the added lines of its test files and of its code."""
HUNK_FIELDS = ("hunk", "symbols")
"""Fields whose terms belong to a hunk: all its lines, and the names that it defines or lies in."""
FAMILIES = (*COMMIT_FIELDS, *HUNK_FIELDS)

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
TABLES = (("commits", COMMIT_ROW), ("changes", CHANGE_ROW), ("hunks", HUNK_ROW))
_RELEASE_BYTES = 16 << 20
"""After copying this much, the pages of the parts are released."""
VECTORS = (("commit_vectors", "commit_scales", "commits"), ("hunk_vectors", "hunk_scales", "hunks"))


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors quantised to bytes, and the scale of each."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HistorySegmentData:
    """The content of a segment, in memory."""

    commits: NDArray[Any]
    changes: NDArray[Any]
    hunks: NDArray[Any]
    terms: list[str]
    postings: dict[str, Postings]
    strings: bytes
    text: bytes
    languages: list[str]
    vectors: tuple[VectorRows, VectorRows] | None = None
    """Of commits and of hunks; None without a model."""
    model: str = ""
    """The digest of the model that made the vectors."""


def write_segment(data: HistorySegmentData, out: ContainerWriter) -> str:
    """Write a segment; returns its digest."""
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
    return out.finish(segment_meta(counts, data.languages, dims, data.model))


def encode_vectors(vectors: tuple[VectorRows, VectorRows] | None) -> dict[str, tuple[str, bytes | memoryview]]:
    """The sections that hold the vectors of a segment: name → (element type, bytes)."""
    sections: dict[str, tuple[str, bytes | memoryview]] = {}
    for i, (numbers, scales, _) in enumerate(VECTORS):
        found = vectors[i] if vectors is not None else None
        sections[numbers] = ("i1", b"" if found is None else as_bytes(found.numbers))
        sections[scales] = ("<f4", b"" if found is None else as_bytes(found.scales.astype("<f4")))
    return sections


def segment_meta(counts: dict[str, int], languages: list[str], dims: int, model: str) -> dict[str, Any]:
    """The metadata of a segment; `model` is the digest of the model that made its vectors."""
    return {"history": FORMAT, **counts, "languages": languages, "dims": dims, "model": model if dims else ""}


def row_width(layout: list[tuple[str, str]]) -> int:
    return sum(int(kind.lstrip("<uifV")) for _, kind in layout)


def check_shape(container: Container) -> Container:
    """Return the container if it is a history segment whose tables have the sizes in its metadata; raise otherwise."""
    meta = container.meta
    for name, layout in TABLES:
        if type(meta.get(name)) is not int or container.length(name) != meta[name] * row_width(layout):
            raise container.corrupt(f"the number of its {name} is wrong")
    if type(meta.get("terms")) is not int or container.length("term_ends") != meta["terms"] * 4:
        raise container.corrupt("the number of its terms is wrong")
    languages, dims = meta.get("languages"), meta.get("dims")
    if meta.get("history") != FORMAT or type(languages) is not list or any(type(name) is not str for name in languages):
        raise container.corrupt("it is not a history segment of this format")
    if type(dims) is not int or not 0 <= dims <= 1 << 16:
        raise container.corrupt("the size of its vectors is invalid")
    for numbers, scales, kind in VECTORS:
        count = meta[kind] if dims else 0
        if container.length(numbers) != count * dims or container.length(scales) != 4 * count:
            raise container.corrupt(f"the number of its {numbers} is not that of its {kind}")
    return container


def read_commits(container: Container) -> NDArray[Any]:
    """The table of commits; raises unless the parts of the commits tile the other sections."""
    rows, meta = container.table("commits", COMMIT_ROW), container.meta
    for first, size, end in (
        ("strings", "string_size", container.length("strings")),
        ("text", "text_size", container.length("text")),
        ("change", "changes", meta["changes"]),
        ("hunk", "hunks", meta["hunks"]),
    ):
        if not _is_contiguous(rows[first], rows[size], end):
            raise container.corrupt("a commit refers to something that does not exist")
    if len(rows) and (not set(rows["sha_size"].tolist()) <= {20, SHA_BYTES}):
        raise container.corrupt("a commit has no hash")
    return rows


def _is_contiguous(starts: NDArray[Any], sizes: NDArray[Any], end: int) -> bool:
    """Whether parts tile the range from 0 to `end` in order, without gap or overlap."""
    import numpy as np

    total = np.cumsum(sizes.astype(np.int64))
    if not len(total):
        return end == 0
    return int(total[-1]) == end and bool((starts.astype(np.int64) == total - sizes).all())


def read_changes(container: Container, commits: NDArray[Any]) -> NDArray[Any]:
    """The table of changes; raises if a row refers to something that does not exist."""
    import numpy as np

    rows = container.table("changes", CHANGE_ROW)
    owners = np.repeat(np.arange(len(commits)), commits["changes"])
    sizes = commits["string_size"][owners]
    if len(rows) and (
        not (rows["commit"] == owners).all()
        or not (rows["path"] < sizes).all()
        or not ((rows["old_path"] < sizes) | (rows["old_path"] == NO_STRING)).all()
        or int(rows["kind"].max()) >= len(KINDS)
        or int(rows["language"].max()) >= len(container.meta["languages"])
    ):
        raise container.corrupt("a change refers to something that does not exist")
    return rows


def read_hunks(container: Container, commits: NDArray[Any]) -> NDArray[Any]:
    """The table of hunks; raises if a row refers to something that does not exist."""
    import numpy as np

    rows = container.table("hunks", HUNK_ROW)
    owners = np.repeat(np.arange(len(commits)), commits["hunks"])
    sizes, texts = commits["string_size"][owners], commits["text_size"][owners]
    if len(rows) and (
        not (rows["commit"] == owners).all()
        or not (rows["change"] < commits["changes"][owners]).all()
        or not (rows["heading"] < sizes).all()
        or not (rows["name"] < sizes).all()
        or not (rows["text"].astype(np.int64) + rows["size"] <= texts).all()
    ):
        raise container.corrupt("a hunk refers to something that does not exist")
    return rows


def owner_count(container: Container, family: str) -> int:
    """The number of commits or hunks, whichever own the terms of `family`."""
    return int(container.meta["commits" if family in COMMIT_FIELDS else "hunks"])


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

    @cached_property
    def commits(self) -> NDArray[Any]:
        return read_commits(self.container)

    @cached_property
    def changes(self) -> NDArray[Any]:
        return read_changes(self.container, self.commits)

    @cached_property
    def hunks(self) -> NDArray[Any]:
        return read_hunks(self.container, self.commits)

    def check_tables(self) -> None:
        """Raise if a row refers to something that does not exist."""
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
        return owner_count(self.container, family)

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


def merge_segments(parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], out: ContainerWriter) -> str:
    """Write one segment with the live commits of all parts (None: all of them), in order; returns its digest.

    Memory holds the tables, the terms, and one slice of the rest at a time.
    """
    return _Merger(parts, live).write(out)


class _Merger:
    def __init__(self, parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None]) -> None:
        import numpy as np

        self._parts = parts
        self._tables = [read_commits(part) for part in parts]
        self._kept = [
            np.arange(len(table)) if mask is None else np.flatnonzero(mask)
            for table, mask in zip(self._tables, live, strict=True)
        ]
        self._languages: dict[str, int] = {}
        self._copied = 0

    def write(self, out: ContainerWriter) -> str:
        import numpy as np

        commits = np.concatenate([table[kept] for table, kept in zip(self._tables, self._kept, strict=True)]).astype(COMMIT_ROW)
        changes, hunks = self._rows("changes"), self._rows("hunks")
        for first, size in (("strings", "string_size"), ("text", "text_size"), ("change", "changes"), ("hunk", "hunks")):
            sizes = commits[size].astype(np.int64)
            commits[first] = np.cumsum(sizes) - sizes
        owners = np.arange(len(commits))
        changes["commit"] = np.repeat(owners, commits["changes"])
        hunks["commit"] = np.repeat(owners, commits["hunks"])
        for name, rows in (("commits", commits), ("changes", changes), ("hunks", hunks)):
            out.add(name, "V", as_bytes(rows))
        self._copy(out, "strings", "strings", "string_size")
        terms = merge_families(out, self._parts, FAMILIES, self._owners, owner_count)
        dims, model = self._vectors(out)
        self._copy(out, "text", "text", "text_size")
        counts = {"commits": len(commits), "changes": len(changes), "hunks": len(hunks), "terms": terms}
        return out.finish(segment_meta(counts, list(self._languages), dims, model))

    def _places(self, number: int, kind: str) -> NDArray[np.int64]:
        """The rows of a part's changes or hunks that belong to live commits."""
        table, kept = self._tables[number], self._kept[number]
        first, count = ("change", "changes") if kind == "changes" else ("hunk", "hunks")
        return expand_ranges(table[first][kept], table[count][kept])

    def _rows(self, kind: str) -> NDArray[Any]:
        import numpy as np

        found = []
        for number, (part, table) in enumerate(zip(self._parts, self._tables, strict=True)):
            places = self._places(number, kind)
            rows = (read_changes if kind == "changes" else read_hunks)(part, table)[places].copy()
            if kind == "changes":
                names = part.meta["languages"]
                used = np.unique(rows["language"]).tolist()
                own = np.zeros(max(len(names), 1), np.uint16)
                for code in used:
                    own[code] = self._languages.setdefault(names[code], len(self._languages))
                rows["language"] = own[rows["language"]]
            found.append(rows)
        return np.concatenate(found).astype(CHANGE_ROW if kind == "changes" else HUNK_ROW)

    def _copy(self, out: ContainerWriter, section: str, first: str, size: str) -> None:
        """Copy the parts of a section that belong to live commits."""
        out.begin(section, PACKED)
        for part, table, kept in zip(self._parts, self._tables, self._kept, strict=True):
            starts, sizes = table[first][kept].tolist(), table[size][kept].tolist()
            for start, length in zip(starts, sizes, strict=True):
                out.write(part.section(section, start, start + length))
                self._release_after(length)
        out.end()

    def _release_after(self, size: int) -> None:
        self._copied += size
        if self._copied >= _RELEASE_BYTES:
            self._copied = 0
            for part in self._parts:
                part.release_pages()

    def _vectors(self, out: ContainerWriter) -> tuple[int, str]:
        """Copy the vectors; returns their size and model. Parts with vectors of different models lose them."""
        made = {(int(part.meta["dims"]), str(part.meta.get("model", ""))) for part in self._parts}
        dims, model = made.pop() if len(made) == 1 else (0, "")
        for numbers, scales, kind in VECTORS:
            for section, element, width in ((numbers, "i1", dims), (scales, "<f4", 1)):
                out.begin(section, element)
                for number, part in enumerate(self._parts if dims else ()):
                    places = self._kept[number] if kind == "commits" else self._places(number, kind)
                    rows = part.array(section, element).reshape(-1, width)
                    for start in range(0, len(places), 4096):
                        out.write(as_bytes(rows[places[start : start + 4096]]))
                    part.release_pages()
                out.end()
        return dims, model

    def _owners(self, family: str) -> list[NDArray[np.int64]]:
        """For each part, the new numbers of its owners; -1 for those that are dropped."""
        import numpy as np

        maps, base = [], 0
        for number, part in enumerate(self._parts):
            places = self._kept[number] if family in COMMIT_FIELDS else self._places(number, "hunks")
            target = np.full(owner_count(part, family), -1, np.int64)
            target[places] = np.arange(base, base + len(places))
            base += len(places)
            maps.append(target)
        return maps
