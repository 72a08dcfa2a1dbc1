"""A snapshot of history: its segments seen as one. Commits, changes and hunks are numbered across segments.

Numbers say nothing about age: `newest_first` does. Commits that HEAD no longer leads to keep their numbers until segments are
merged, and are found nowhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from lurcher.corpora.history.file_kind import KINDS
from lurcher.corpora.history.order import date_order
from lurcher.corpora.history.segment import (
    BINARY,
    CUT_FILE,
    EMPTY_PATCH,
    FIX,
    HUNK_FIELDS,
    NOTHING,
    TRAITS_FROM,
    TRAITS_MASK,
    PastSegment,
)
from lurcher.corpora.history.views import ChangeView, Header, HunkView, header_of
from lurcher.runtime.light import TYPE_CHECKING, cached_property
from lurcher.sources.git.parse import Change, Commit, Hunk
from lurcher.storage.container import BoundedCache
from lurcher.storage.folder import find_vectors
from lurcher.storage.segment import decode_string
from lurcher.storage.sidecar import HISTORY_GROUPS
from lurcher.storage.vectors import Direction, ProductBuffer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora.history.manifest import PastManifest, PastStore

_MOST_KEPT = 50_000
_MOST_OWNERS = 1_000_000
"""Owners of terms that are remembered, as the next question may have the same words."""


class Past:
    def __init__(
        self, segments: Sequence[PastSegment], generation: int = 0, total: int = 0, order: NDArray[np.uint32] | None = None
    ) -> None:
        """`total` counts the commits that HEAD leads to, indexed or not; `order` is what `newest_first` was found to be."""
        self.segments = list(segments)
        self.generation = generation
        self.total = total
        self._order = order
        self._bases: dict[str, list[int]] = {}
        for kind in ("commits", "changes", "hunks"):
            bases = [0]
            for segment in self.segments:
                bases.append(bases[-1] + int(segment.meta[kind]))
            self._bases[kind] = bases
        self._headers: BoundedCache[int, Header] = BoundedCache(_MOST_KEPT)
        self._prefixed: BoundedCache[tuple[str, str | None, int], list[str]] = BoundedCache(_MOST_KEPT)
        self._columns: dict[tuple[str, str], NDArray[Any]] = {}
        self._lengths: dict[str, tuple[NDArray[np.float64], float]] = {}
        self._found: BoundedCache[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.uint8]]] = BoundedCache(_MOST_OWNERS)
        self._desk = ProductBuffer()

    @property
    def commit_total(self) -> int:
        """Commits numbered, live and dead."""
        return self._bases["commits"][-1]

    @property
    def change_total(self) -> int:
        return self._bases["changes"][-1]

    @property
    def hunk_total(self) -> int:
        return self._bases["hunks"][-1]

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Which commits HEAD still leads to."""
        import numpy as np

        return np.concatenate([
            np.ones(int(segment.meta["commits"]), bool) if segment.live is None else segment.live for segment in self.segments
        ] or [np.zeros(0, bool)])  # fmt: skip

    @cached_property
    def live_hunks(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.live[self.hunk_commit]
        return found

    @cached_property
    def commit_count(self) -> int:
        """Live commits."""
        return sum(
            int(segment.meta["commits"]) if segment.live is None else int(segment.live.sum()) for segment in self.segments
        )

    @cached_property
    def hunk_count(self) -> int:
        return int(self.live_hunks.sum())

    @property
    def coverage(self) -> float:
        """The share of HEAD's commits that is indexed; a history without commits is covered."""
        return min(1.0, self.commit_count / self.total) if self.total else 1.0

    # Columns: one entry per commit, change or hunk, dead ones too.

    def column(self, kind: str, name: str) -> NDArray[Any]:
        """A column of the table `kind` (commits, changes or hunks), as it is stored, over all segments."""
        import numpy as np

        known = self._columns.get((kind, name))
        if known is None:
            parts = [getattr(segment, kind)[name] for segment in self.segments]
            known = self._columns[kind, name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return known

    def _numbered(self, kind: str, name: str, base: str) -> NDArray[np.int64]:
        """A column of numbers that count within a segment, made to count over all."""
        import numpy as np

        return np.concatenate([
            getattr(segment, kind)[name].astype(np.int64) + offset
            for segment, offset in zip(self.segments, self._bases[base], strict=False)
        ] or [np.zeros(0, np.int64)])  # fmt: skip

    @cached_property
    def committed(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.column("commits", "committed")
        return found

    @cached_property
    def newest_date(self) -> int:
        return int(self.committed[self.live].max(initial=0))

    @cached_property
    def authored(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.column("commits", "authored")
        return found

    @cached_property
    def commit_kinds(self) -> NDArray[Any]:
        """For each commit the kinds of its files: bit i stands for KINDS[i]."""
        return self.column("commits", "kinds")

    @cached_property
    def commit_flags(self) -> NDArray[Any]:
        return self.column("commits", "flags")

    @cached_property
    def commit_traits(self) -> NDArray[Any]:
        """For each commit the kinds of noise it is: bit i stands for TRAITS[i]."""
        found: NDArray[Any] = (self.commit_flags >> TRAITS_FROM) & TRAITS_MASK
        return found

    @cached_property
    def reads_as_fix(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.commit_flags & FIX) != 0
        return found

    @cached_property
    def first_change(self) -> NDArray[np.int64]:
        return self._numbered("commits", "change", "changes")

    @cached_property
    def commit_changes(self) -> NDArray[Any]:
        """How many files each commit changed."""
        return self.column("commits", "changes")

    @cached_property
    def first_hunk(self) -> NDArray[np.int64]:
        return self._numbered("commits", "hunk", "hunks")

    @cached_property
    def commit_hunks(self) -> NDArray[Any]:
        """How many hunks are kept of each commit."""
        return self.column("commits", "hunks")

    @cached_property
    def hunk_commit(self) -> NDArray[np.int64]:
        return self._numbered("hunks", "commit", "commits")

    @cached_property
    def change_commit(self) -> NDArray[np.int64]:
        return self._numbered("changes", "commit", "commits")

    @cached_property
    def hunk_change(self) -> NDArray[np.int64]:
        """The number of the change that each hunk is part of."""
        found: NDArray[np.int64] = self.first_change[self.hunk_commit] + self.column("hunks", "change")
        return found

    @cached_property
    def change_kind(self) -> NDArray[Any]:
        """Positions in KINDS."""
        return self.column("changes", "kind")

    @cached_property
    def hunk_kind(self) -> NDArray[Any]:
        found: NDArray[Any] = self.change_kind[self.hunk_change]
        return found

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages of changed files, sorted; `change_language` counts in them."""
        return tuple(sorted({str(name) for segment in self.segments for name in segment.meta["languages"]}))

    @cached_property
    def change_language(self) -> NDArray[Any]:
        """Positions in `languages`."""
        import numpy as np

        place = {name: i for i, name in enumerate(self.languages)}
        parts = []
        for segment in self.segments:
            own = np.array([place[name] for name in segment.meta["languages"]] or [0], np.int64)
            parts.append(own[segment.changes["language"]])
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @cached_property
    def hunk_language(self) -> NDArray[Any]:
        found: NDArray[Any] = self.change_language[self.hunk_change]
        return found

    # Order, names and duplicates.

    @cached_property
    def newest_first(self) -> NDArray[np.int64]:
        """The numbers of all live commits: children before their parents, otherwise the latest first."""
        import numpy as np

        if self._order is not None:
            return self._order.astype(np.int64)
        return date_order(self)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Each commit's place in `newest_first`; -1 for dead ones."""
        import numpy as np

        ranks = np.full(self.commit_total, -1, np.int64)
        ranks[self.newest_first] = np.arange(len(self.newest_first))
        return ranks

    @cached_property
    def _named(self) -> tuple[list[bytes], list[int]]:
        """The hashes of live commits in order, and their numbers."""
        names = (name for segment in self.segments for name in segment.names())
        pairs = sorted((name, number) for number, name in enumerate(names) if self.live[number])
        return [name for name, _ in pairs], [number for _, number in pairs]

    def numbers_of(self, prefix: str) -> list[int]:
        """The live commits whose hash begins with `prefix`, in order of their hashes."""
        try:
            low = bytes.fromhex(prefix if len(prefix) % 2 == 0 else prefix + "0")
        except ValueError:
            return []
        names, numbers = self._named
        found = []
        for place in range(bisect_left(names, low), len(names)):
            if not names[place].hex().startswith(prefix.lower()):
                break
            found.append(numbers[place])
        return found

    def number_of(self, prefix: str) -> int | None:
        """The live commit that a hash, whole or abbreviated, stands for; None where it is none or not the only one."""
        found = self.numbers_of(prefix) if len(prefix) >= 4 else []
        return found[0] if len(found) == 1 else None

    def sha(self, commit: int) -> str:
        segment, local = self._place("commits", commit)
        row = segment.commits[local]
        return bytes(row["sha"])[: int(row["sha_size"])].hex()

    @cached_property
    def same_change(self) -> NDArray[np.int64]:
        """For each commit the oldest live one that made the same change: itself, unless it was picked or rebased."""
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

    def knows(self, term: str) -> bool:
        """Whether any segment has the term at all."""
        return any(segment.find(term) >= 0 for segment in self.segments)

    def postings(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Live owners of `term` (commits, or hunks for the families in HUNK_FIELDS) with counts, in order of number."""
        known = self._found.get((family, term))
        if known is None:
            known = self._gathered(family, term)
            self._found.put((family, term), known, 1 + len(known[0]))
        return known

    def _gathered(self, family: str, term: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        import numpy as np

        parts = []
        for segment, offset in zip(self.segments, self._bases["hunks" if family in HUNK_FIELDS else "commits"], strict=False):
            number = segment.find(term)
            found = segment.postings(family, number) if number >= 0 else None
            if found is not None and len(found[0]):
                parts.append((found[0] + offset, found[1]) if offset else found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate([owners for owners, _ in parts]), np.concatenate([counts for _, counts in parts])

    def document_frequency(self, family: str, term: str) -> int:
        """How many live owners have the term."""
        return len(self.postings(family, term)[0])

    def lengths(self, family: str) -> tuple[NDArray[np.float64], float]:
        """The length of a field for every owner, and the mean over live ones."""
        import numpy as np

        known = self._lengths.get(family)
        if known is None:
            kind, live = ("hunks", self.live_hunks) if family in HUNK_FIELDS else ("commits", self.live)
            values = self.column(kind, family).astype(np.float64)
            known = self._lengths[family] = values, float(values[live].sum()) / max(int(live.sum()), 1)
        return known

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        """Known terms that begin with `prefix`, sorted: all of `family` where one is given, else the first `most`."""
        asked = prefix, family, most
        known = self._prefixed.get(asked)
        if known is None:
            key = prefix.encode("utf-8", "surrogatepass")
            found: set[str] = set()
            for segment in self.segments:
                first, last = segment.lower_bound(key), segment.lower_bound(key + b"\xff")
                numbers: Iterable[int] = range(first, min(last, first + most))
                if family is not None:
                    numbers = segment.terms_in_family(family, first, last)
                found.update(map(segment.term_text, numbers))
            known = sorted(found)[: None if family is not None else most]
            self._prefixed.put(asked, known, len(known))
        return known

    # Content.

    def _place(self, kind: str, number: int) -> tuple[PastSegment, int]:
        bases = self._bases[kind]
        if not 0 <= number < bases[-1]:
            raise IndexError(f"no {kind[:-1]} has the number {number}")
        position = bisect_right(bases, number) - 1
        return self.segments[position], number - bases[position]

    def header(self, commit: int) -> Header:
        known = self._headers.get(commit)
        if known is None:
            segment, local = self._place("commits", commit)
            row = segment.commits[local]
            name = bytes(row["sha"])[: int(row["sha_size"])]
            known = header_of(name, int(row["authored"]), int(row["committed"]), segment.strings(local))
            self._headers.put(commit, known, 1)
        return known

    def subject(self, commit: int) -> str:
        return self.header(commit).subject

    def changes_of(self, commit: int) -> list[ChangeView]:
        """The files that a commit changed, in git's order."""
        segment, local = self._place("commits", commit)
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

    def _change(self, segment: PastSegment, strings: bytes, row: Any, hunks: range) -> ChangeView:
        old, flags = int(row["old_path"]), int(row["flags"])
        return ChangeView(
            decode_string(strings, int(row["path"])), None if old == NOTHING else decode_string(strings, old),
            chr(int(row["status"])), KINDS[int(row["kind"])], str(segment.meta["languages"][int(row["language"])]),
            int(row["added"]),
            int(row["removed"]), bool(flags & BINARY), bool(flags & CUT_FILE), hunks,
        )  # fmt: skip

    def paths_of(self, commit: int) -> list[str]:
        """The paths of the files that a commit changed."""
        segment, local = self._place("commits", commit)
        row = segment.commits[local]
        strings = segment.strings(local)
        first = int(row["change"])
        return [
            decode_string(strings, offset) for offset in segment.changes["path"][first : first + int(row["changes"])].tolist()
        ]

    def hunk(self, number: int) -> HunkView:
        segment, local = self._place("hunks", number)
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
        """The kept lines, removed ones first, each with its sign and a line feed."""
        segment, local = self._place("hunks", number)
        row = segment.hunks[local]
        start = int(segment.commits["text"][int(row["commit"])]) + int(row["text"])
        return bytes(segment.container.section("text", start, start + int(row["size"]))).decode("utf-8", "replace")

    def hunk_lines(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(removed, added) lines as far as they are kept, without signs."""
        segment, local = self._place("hunks", number)
        lines = tuple(line[1:] for line in self.hunk_text(number).split("\n")[:-1])
        removed = int(segment.hunks["removed"][local])
        return lines[:removed], lines[removed:]

    def commit(self, number: int) -> Commit:
        """A commit as it was read, with the lines that are kept."""
        header = self.header(number)
        changes = []
        for view in self.changes_of(number):
            hunks = []
            for place in view.hunks:
                about = self.hunk(place)
                hunks.append(Hunk(about.old_start, about.new_start, about.heading, *self.hunk_lines(place)))
            changes.append(Change(
                view.path, view.status, tuple(hunks), view.old_path, view.added, view.removed, view.binary, view.cut
            ))  # fmt: skip
        segment, local = self._place("commits", number)
        row = segment.commits[local]
        patch = "" if int(row["flags"]) & EMPTY_PATCH else bytes(row["patch"]).hex()
        return Commit(
            header.sha, header.parents, header.author, header.email, header.authored, header.committed, header.subject,
            header.body, header.trailers, tuple(changes), patch,
        )  # fmt: skip

    def all_headers(self) -> Iterator[tuple[int, Header]]:
        """Every live commit, the newest first. Each segment is read once and whole, which is much faster than one by one."""
        found: dict[int, Header] = {}
        for segment, base in zip(self.segments, self._bases["commits"], strict=False):
            found.update(segment.headers(base))
        for number in self.newest_first.tolist():
            yield number, found[number]

    # Vectors.

    @cached_property
    def dims(self) -> int:
        """Numbers of each vector; 0 where not all segments have vectors of one size."""
        sizes = {int(segment.vectors.meta["dims"]) if segment.vectors is not None else 0 for segment in self.segments}
        return sizes.pop() if len(sizes) == 1 else 0

    @cached_property
    def knows_hunks(self) -> bool:
        """Whether hunks have vectors of their own: a provider embeds commits only, which are few enough."""
        return all(segment.vectors is not None and segment.vectors.has_section("hunk_vectors") for segment in self.segments)

    def commit_vectors(self, commits: NDArray[np.int64]) -> NDArray[np.float64]:
        """The vectors of some commits, of length 1 or of no length."""
        import numpy as np

        found = np.zeros((len(commits), self.dims))
        for segment, base in zip(self.segments, self._bases["commits"], strict=False):
            here = np.flatnonzero((commits >= base) & (commits < base + int(segment.meta["commits"])))
            assert segment.vectors is not None, "asked without vectors"
            rows = segment.vectors.array("commit_vectors", "i1").reshape(-1, self.dims)
            found[here] = rows[commits[here] - base]
        lengths = np.sqrt((found * found).sum(axis=1))
        return found / np.where(lengths > 0, lengths, 1.0)[:, None]

    def commit_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per commit, live or not."""
        return self._cosines("commit", direction)

    def hunk_cosines(self, direction: Direction) -> NDArray[np.float64]:
        """One cosine per hunk, live or not."""
        return self._cosines("hunk", direction)

    def cosines_of_hunks(self, hunks: NDArray[np.int64], direction: Direction) -> NDArray[np.float64]:
        """The cosines of some hunks."""
        import numpy as np

        found = np.zeros(len(hunks))
        for segment, base in zip(self.segments, self._bases["hunks"], strict=False):
            here = np.flatnonzero((hunks >= base) & (hunks < base + int(segment.meta["hunks"])))
            if len(here):
                found[here] = self._segment_cosines(segment, "hunk", direction, hunks[here] - base)
        return found

    def _cosines(self, kind: str, direction: Direction) -> NDArray[np.float64]:
        import numpy as np

        parts = [self._segment_cosines(segment, kind, direction, None) for segment in self.segments]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _segment_cosines(
        self, segment: PastSegment, kind: str, direction: Direction, places: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        import numpy as np

        kept = segment.vectors
        if kept is None or not kept.has_section(f"{kind}_vectors"):
            return np.zeros(int(segment.meta[f"{kind}s"]) if places is None else len(places))
        rows, scales = kept.typed_section(f"{kind}_vectors", "i1"), kept.array(f"{kind}_scales", "<f4")
        if len(scales) and not 0 <= float(scales.min()) <= float(scales.max()) <= 1:
            raise kept.corrupt("its vectors are of no length")
        products = self._desk.products(rows, self.dims, places, direction)
        products *= scales if places is None else scales[places]
        products /= direction.length or 1.0
        return products


def open_past(store: PastStore, manifest: PastManifest, model: str = "") -> Past:
    """The manifest's segments, mapped, each with its live commits, and with vectors by the model of that digest if any."""
    segments = []
    for name, size, live in zip(manifest.segments, manifest.sizes, manifest.live, strict=True):
        container = store.container(name)
        if container.meta["commits"] != size:
            raise container.corrupt("it is not the segment that the manifest means")
        segments.append(PastSegment(container, live))
        segments[-1].vectors = find_vectors(store, name, container, manifest.vectors, model, HISTORY_GROUPS)
    return Past(segments, manifest.generation, manifest.total, manifest.order)
