"""A snapshot of a history index: its segments read as one. Commits, changes and hunks are numbered across segments.

The numbers are not an order by age; `newest_first` is. Commits that are no longer reachable from HEAD are dead: they keep their
numbers until their segment is merged, but no method finds them.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from lurcher.corpora.history.schema import (
    BINARY,
    COMMITS,
    EMPTY_PATCH,
    FIX,
    NO_STRING,
    TRAITS_MASK,
    TRAITS_SHIFT,
    TRUNCATED_FILE,
    ChangeView,
    CommitHeader,
    HistorySegment,
    HunkView,
    decode_header,
)
from lurcher.sources.git.commit import KINDS, Change, Commit, Hunk
from lurcher.storage import find_vectors
from lurcher.storage.container import BoundedCache
from lurcher.storage.segment import decode_string
from lurcher.storage.table_snapshot import TableSnapshot
from lurcher.storage.tables import CosineIndex, Direction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora.history.schema import HistoryManifest
    from lurcher.storage import IndexFolder


_MAX_CACHED = 50_000
"""Headers that are cached."""


class HistorySnapshot(TableSnapshot[HistorySegment]):
    """One generation of a history index, immutable. Tables and columns are loaded on first use."""

    schema = COMMITS

    def __init__(
        self, segments: Sequence[HistorySegment], generation: int = 0, total: int = 0, order: NDArray[np.uint32] | None = None
    ) -> None:
        """`total` counts the commits reachable from HEAD, indexed or not; `order` is the stored value of `newest_first`."""
        super().__init__(segments, generation)
        self.total = total
        self._order = order
        self._headers: BoundedCache[int, CommitHeader] = BoundedCache(_MAX_CACHED)
        self._lengths: dict[str, tuple[NDArray[np.float64], float]] = {}

    @cached_property
    def _np(self) -> Any:
        import numpy as np

        return np

    @property
    def commit_total(self) -> int:
        """Number of commits, live and dead."""
        return self._bases["commits"][-1]

    @property
    def hunk_total(self) -> int:
        return self._bases["hunks"][-1]

    @property
    def live(self) -> NDArray[np.bool_]:
        """Which commits are still reachable from HEAD."""
        return self.live_rows

    @cached_property
    def live_hunks(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.live[self.hunk_commit]
        return found

    @cached_property
    def commit_count(self) -> int:
        """Number of live commits."""
        return sum(
            int(segment.meta["commits"]) if segment.live is None else int(segment.live.sum()) for segment in self.segments
        )

    @cached_property
    def hunk_count(self) -> int:
        return int(self.live_hunks.sum())

    @property
    def coverage(self) -> float:
        """The share of the commits reachable from HEAD that is indexed; 1 for a history without commits.

        0 while the commits are not counted.
        """
        return min(1.0, self.commit_count / self.total) if self.total else float(not self.segments)

    # Columns: one entry per commit, change or hunk, dead ones too.

    @cached_property
    def committed(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.column("commits", "committed")
        return found

    @cached_property
    def newest_date(self) -> int:
        return int(self.committed[self.live].max(initial=0))

    @cached_property
    def commit_flags(self) -> NDArray[Any]:
        return self.column("commits", "flags")

    @cached_property
    def commit_traits(self) -> NDArray[Any]:
        """For each commit its traits: bit i stands for TRAITS[i]."""
        found: NDArray[Any] = (self.commit_flags >> TRAITS_SHIFT) & TRAITS_MASK
        return found

    @cached_property
    def reads_as_fix(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.commit_flags & FIX) != 0
        return found

    @cached_property
    def first_change(self) -> NDArray[np.int64]:
        return self._number_rows("commits", "change", "changes")

    @cached_property
    def commit_changes(self) -> NDArray[Any]:
        """Number of changed files of each commit."""
        return self.column("commits", "changes")

    @cached_property
    def first_hunk(self) -> NDArray[np.int64]:
        return self._number_rows("commits", "hunk", "hunks")

    @cached_property
    def commit_hunks(self) -> NDArray[Any]:
        """Number of stored hunks of each commit."""
        return self.column("commits", "hunks")

    @cached_property
    def hunk_commit(self) -> NDArray[np.int64]:
        return self._number_rows("hunks", "commit", "commits")

    @cached_property
    def change_commit(self) -> NDArray[np.int64]:
        return self._number_rows("changes", "commit", "commits")

    @cached_property
    def hunk_change(self) -> NDArray[np.int64]:
        """The change that each hunk belongs to."""
        found: NDArray[np.int64] = self.first_change[self.hunk_commit] + self.column("hunks", "change")
        return found

    @cached_property
    def change_kind(self) -> NDArray[Any]:
        """The kind of each changed file, as a position in KINDS."""
        return self.column("changes", "kind")

    @cached_property
    def hunk_kind(self) -> NDArray[Any]:
        found: NDArray[Any] = self.change_kind[self.hunk_change]
        return found

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages of changed files, sorted."""
        return tuple(sorted({str(name) for segment in self.segments for name in segment.meta["languages"]}))

    @cached_property
    def change_language(self) -> NDArray[Any]:
        """The language of each changed file, as a position in `languages`."""
        import numpy as np

        place = {name: i for i, name in enumerate(self.languages)}
        parts = []
        for segment in self.segments:
            own = np.array([place[name] for name in segment.meta["languages"]] or [0], np.int64)
            parts.append(own[segment.changes["language"]])
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    # Order, hashes and duplicates.

    @cached_property
    def newest_first(self) -> NDArray[np.int64]:
        """The numbers of all live commits: children before their parents, otherwise the latest first."""
        import numpy as np

        if self._order is not None:
            return self._order.astype(np.int64)
        return date_order(self)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Each commit's position in `newest_first`; -1 for dead ones."""
        import numpy as np

        ranks = np.full(self.commit_total, -1, np.int64)
        ranks[self.newest_first] = np.arange(len(self.newest_first))
        return ranks

    @cached_property
    def _sorted_shas(self) -> tuple[list[bytes], list[int]]:
        """The hashes of live commits, sorted, and their numbers."""
        names = (name for segment in self.segments for name in segment.shas())
        pairs = sorted((name, number) for number, name in enumerate(names) if self.live[number])
        return [name for name, _ in pairs], [number for _, number in pairs]

    def commits_with_prefix(self, prefix: str) -> list[int]:
        """The live commits whose hash begins with `prefix`, sorted by hash."""
        try:
            low = bytes.fromhex(prefix if len(prefix) % 2 == 0 else prefix + "0")
        except ValueError:
            return []
        names, numbers = self._sorted_shas
        found = []
        for place in range(bisect_left(names, low), len(names)):
            if not names[place].hex().startswith(prefix.lower()):
                break
            found.append(numbers[place])
        return found

    def number_of(self, prefix: str) -> int | None:
        """The live commit with this full or abbreviated hash (at least 4 digits); None if there is none or more than one."""
        found = self.commits_with_prefix(prefix) if len(prefix) >= 4 else []
        return found[0] if len(found) == 1 else None

    def sha(self, commit: int) -> str:
        segment, local = self._locate("commits", commit)
        row = segment.commits[local]
        return bytes(row["sha"])[: int(row["sha_size"])].hex()

    @cached_property
    def same_change(self) -> NDArray[np.int64]:
        """For each commit the oldest live one with the same patch: itself, unless it was cherry-picked or rebased."""
        import numpy as np

        found = np.arange(self.commit_total)
        patches = self.column("commits", "patch").tolist()
        flags = self.commit_flags.tolist() if self.commit_total else []
        first: dict[bytes, int] = {}
        for number in self.newest_first[::-1].tolist():
            if not flags[number] & EMPTY_PATCH:
                found[number] = first.setdefault(patches[number], number)
        return found

    # Terms.

    def occurs(self, term: str) -> bool:
        """Whether a term that a segment has is in a live commit."""
        return self._all_live or any(len(self.postings(family, term)[0]) for family in self.schema.families)

    def lengths(self, family: str) -> tuple[NDArray[np.float64], float]:
        """The length of a field for every owner, and the mean over live owners."""
        import numpy as np

        known = self._lengths.get(family)
        if known is None:
            kind = self.schema.fields[family]
            live = self.live_hunks if kind == "hunks" else self.live
            values = self.column(kind, family).astype(np.float64)
            known = self._lengths[family] = values, float(values[live].sum()) / max(int(live.sum()), 1)
        return known

    # Content.

    def _locate(self, kind: str, number: int) -> tuple[HistorySegment, int]:
        """The segment that holds a commit, change or hunk, and the row in its table."""
        if not 0 <= number < self._bases[kind][-1]:
            raise IndexError(f"no {kind[:-1]} has the number {number}")
        return self._place(kind, number)

    def header(self, commit: int) -> CommitHeader:
        known = self._headers.get(commit)
        if known is None:
            segment, local = self._locate("commits", commit)
            row = segment.commits[local]
            name = bytes(row["sha"])[: int(row["sha_size"])]
            known = decode_header(name, int(row["authored"]), int(row["committed"]), segment.strings(local))
            self._headers.put(commit, known, 1)
        return known

    def subject(self, commit: int) -> str:
        return self.header(commit).subject

    def changes_of(self, commit: int) -> list[ChangeView]:
        """The files that a commit changed, in git's order."""
        segment, local = self._locate("commits", commit)
        row = segment.commits[local]
        strings = segment.strings(local)
        first, count = int(row["change"]), int(row["changes"])
        own_hunks = segment.hunks["change"][int(row["hunk"]) : int(row["hunk"]) + int(row["hunks"])].tolist()
        base = int(self.first_hunk[commit])
        views = []
        position = 0
        for i, item in enumerate(segment.changes[first : first + count]):
            start = position
            while position < len(own_hunks) and own_hunks[position] == i:
                position += 1
            views.append(self._change(segment, strings, item, range(base + start, base + position)))
        return views

    def _change(self, segment: HistorySegment, strings: bytes, row: Any, hunks: range) -> ChangeView:
        old, flags = int(row["old_path"]), int(row["flags"])
        return ChangeView(
            decode_string(strings, int(row["path"])), None if old == NO_STRING else decode_string(strings, old),
            chr(int(row["status"])), KINDS[int(row["kind"])], str(segment.meta["languages"][int(row["language"])]),
            int(row["added"]), int(row["removed"]), bool(flags & BINARY), bool(flags & TRUNCATED_FILE), hunks,
        )  # fmt: skip

    def paths_of(self, commit: int) -> list[str]:
        """The paths of the files that a commit changed."""
        segment, local = self._locate("commits", commit)
        row = segment.commits[local]
        strings = segment.strings(local)
        first = int(row["change"])
        return [
            decode_string(strings, offset) for offset in segment.changes["path"][first : first + int(row["changes"])].tolist()
        ]

    def hunk(self, number: int) -> HunkView:
        segment, local = self._locate("hunks", number)
        row = segment.hunks[local]
        commit = int(row["commit"])
        strings = segment.strings(commit)
        change = segment.changes[int(segment.commits["change"][commit]) + int(row["change"])]
        view = self._change(segment, strings, change, range(0))
        return HunkView(
            int(self.hunk_commit[number]), view.path, view.old_path, view.kind, view.language, int(row["old_start"]),
            int(row["new_start"]), int(row["removed"]), int(row["added"]), decode_string(strings, int(row["heading"])),
            decode_string(strings, int(row["name"])),
        )  # fmt: skip

    def hunk_text(self, number: int) -> str:
        """The stored lines, removed ones first, each with its sign and a line feed."""
        segment, local = self._locate("hunks", number)
        row = segment.hunks[local]
        start = int(segment.commits["text"][int(row["commit"])]) + int(row["text"])
        return bytes(segment.container.section("text", start, start + int(row["size"]))).decode("utf-8", "replace")

    def hunk_lines(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(removed, added) lines as far as they are stored, without signs."""
        segment, local = self._locate("hunks", number)
        lines = tuple(line[1:] for line in self.hunk_text(number).split("\n")[:-1])
        removed = int(segment.hunks["removed"][local])
        return lines[:removed], lines[removed:]

    def commit(self, number: int) -> Commit:
        """A commit with its changes, as it was read from git, with the lines that are stored."""
        header = self.header(number)
        changes = []
        for view in self.changes_of(number):
            hunks = []
            for place in view.hunks:
                about = self.hunk(place)
                hunks.append(Hunk(about.old_start, about.new_start, about.heading, *self.hunk_lines(place)))
            changes.append(Change(
                view.path, view.status, tuple(hunks), view.old_path, view.added, view.removed, view.binary, view.truncated
            ))  # fmt: skip
        segment, local = self._locate("commits", number)
        row = segment.commits[local]
        patch = "" if int(row["flags"]) & EMPTY_PATCH else bytes(row["patch"]).hex()
        return Commit(
            header.sha, header.parents, header.author, header.email, header.authored, header.committed, header.subject,
            header.body, header.trailers, tuple(changes), patch,
        )  # fmt: skip

    def all_headers(self) -> Iterator[tuple[int, CommitHeader]]:
        """Every live commit, newest first. Reads each segment as a whole, which is much faster than one commit at a time."""
        found: dict[int, CommitHeader] = {}
        for segment, base in zip(self.segments, self._bases["commits"], strict=False):
            found.update(segment.headers(base))
        for number in self.newest_first.tolist():
            yield number, found[number]

    # Vectors.

    @cached_property
    def _cosines(self) -> CosineIndex:
        return CosineIndex([segment.vectors for segment in self.segments], COMMITS.vectors)

    @property
    def dims(self) -> int:
        """The size of vectors; 0 unless all segments have vectors of one size."""
        return self._cosines.dims

    @property
    def has_hunk_vectors(self) -> bool:
        """Whether hunks have vectors: an embedding service gets only the commits, which are fewer."""
        return self._cosines.has("hunk_vectors")

    def commit_vectors(self, commits: NDArray[np.int64]) -> NDArray[np.float64]:
        """The vectors of some commits, normalised; zero vectors stay zero."""
        import numpy as np

        found = np.zeros((len(commits), self.dims))
        for segment, base in zip(self.segments, self._bases["commits"], strict=False):
            here = np.flatnonzero((commits >= base) & (commits < base + int(segment.meta["commits"])))
            assert segment.vectors is not None, "called without vectors"
            rows = segment.vectors.array("commit_vectors", "i1").reshape(-1, self.dims)
            found[here] = rows[commits[here] - base]
        lengths = np.sqrt((found * found).sum(axis=1))
        return found / np.where(lengths > 0, lengths, 1.0)[:, None]

    def commit_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per commit, live or dead."""
        return self._cosines_of("commit_vectors", self.commit_total, direction)

    def hunk_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per hunk, live or dead."""
        return self._cosines_of("hunk_vectors", self.hunk_total, direction)

    def cosines_of_hunks(self, hunks: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some hunks."""
        return self._cosines_of("hunk_vectors", len(hunks), direction, hunks)

    def _cosines_of(
        self, group: str, count: int, direction: Direction, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        import numpy as np

        if not self._cosines.has(group):
            return np.zeros(count)
        found = self._cosines.of_all(group, direction) if rows is None else self._cosines.of_some(group, rows, direction)
        return np.asarray(found)


def open_snapshot(store: IndexFolder, manifest: HistoryManifest, model: str = "") -> HistorySnapshot:
    """Map the segments of a manifest, each with its live commits and with the vectors of the model with that digest, if any."""
    segments = []
    for name, size, live in zip(manifest.segments, manifest.sizes, manifest.live, strict=True):
        container = store.container(name)
        if container.meta["commits"] != size:
            raise container.corrupt("the manifest says that it has another number of commits")
        segments.append(HistorySegment(container, live))
        segments[-1].vectors = find_vectors(store, name, container, manifest.vectors, model)
    return HistorySnapshot(segments, manifest.generation, manifest.total, manifest.order)


def date_order(history: HistorySnapshot) -> NDArray[np.int64]:
    """The numbers of all live commits, in the order of `git rev-list --date-order`: children first, otherwise the latest first.

    Ties are decided by hash, so the order does not depend on how the index grew. Across a merge that is not indexed only the
    dates decide.
    """
    import numpy as np

    live = np.flatnonzero(history.live).tolist()
    names = [name for segment in history.segments for name in segment.shas()]
    number = {names[i]: i for i in live}
    times = history.committed.tolist()
    parents: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for commit, texts in _parents(history):
        known = [number[name] for name in texts if name in number]
        if known:
            parents[commit] = known
            for parent in known:
                waiting[parent] = waiting.get(parent, 0) + 1
    ready = [(-times[i], names[i], i) for i in live if i not in waiting]
    heapify(ready)
    found = []
    while ready:
        _, _, commit = heappop(ready)
        found.append(commit)
        for parent in parents.get(commit, ()):
            waiting[parent] -= 1
            if not waiting[parent]:
                heappush(ready, (-times[parent], names[parent], parent))
    if len(found) < len(live):
        # There are no cycles in git, but there may be in a damaged index.
        found += sorted(set(live).difference(found), key=lambda i: (-times[i], names[i]))
    return np.array(found, np.int64)


def _parents(history: HistorySnapshot) -> list[tuple[int, list[bytes]]]:
    """For each live commit its number and the hashes of its parents."""
    found = []
    base = 0
    for segment in history.segments:
        blob = bytes(segment.container.section("strings"))
        live = segment.live
        starts, sizes = segment.commits["strings"].tolist(), segment.commits["string_size"].tolist()
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            if live is None or live[i]:
                fields = blob[start : start + size].split(b"\0", 5)
                found.append((base + i, [_decode_sha(text) for text in fields[4].split()] if len(fields) > 4 else []))
        base += len(starts)
    return found


def _decode_sha(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return b""
