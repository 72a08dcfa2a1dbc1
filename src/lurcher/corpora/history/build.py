"""Commits → a segment of history: number, name, count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.file_kind import CODE, TESTS, kind_of
from lurcher.corpora.history.noise import TRAITS, reads_as_fix, traits
from lurcher.corpora.history.segment import (
    BINARY,
    CHANGE,
    COMMIT,
    COMMIT_FIELDS,
    CUT,
    CUT_FILE,
    EMPTY_PATCH,
    FIX,
    HUNK,
    HUNK_FIELDS,
    MERGE,
    NOTHING,
    SHA_BYTES,
    TRAITS_FROM,
    PastData,
    Rows,
)
from lurcher.corpora.history.symbols import defined_names, heading_name
from lurcher.languages.detect import detect
from lurcher.sources.git.parse import Change, Commit, Hunk
from lurcher.terms.count import Postings, make_counter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.table import Table

COMMIT_WEIGHTS = {"subject": 2.0, "body": 1.0, "paths": 0.7}
HUNK_WEIGHTS = {"hunk": 1.0, "symbols": 1.0}
"""How much the terms of each field add to a vector, each by the root of its count."""
_NAMED = (CODE, TESTS)
"""Kinds of files whose headings name code."""
_MOST = 0xFFFFFFFE


class Strings:
    """The strings of one commit, each kept once; positions count from the first."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._parts: list[bytes] = []
        self.size = 0

    def append(self, text: str) -> None:
        """A string that is found by its order."""
        data = text.replace("\0", " ").encode("utf-8", "replace") + b"\0"
        self._parts.append(data)
        self.size += len(data)

    def put(self, text: str) -> int:
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = self.size
            self.append(text)
        return offset

    def data(self) -> bytes:
        return b"".join(self._parts)


class PastBuilder:
    """Gathers commits one by one; `size` tells how much there is."""

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
        """`flags` are those that a commit does not show by itself."""
        number = len(self._commits)
        strings = Strings()
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
        for trait in traits(commit):
            flags |= 1 << TRAITS_FROM + TRAITS.index(trait)
        flags |= FIX if reads_as_fix(commit.subject) else 0
        flags |= CUT if any(change.cut for change in commit.changes) else 0
        self._commits.append((
            sha.ljust(SHA_BYTES, b"\0"), bytes.fromhex(commit.patch_id).ljust(16, b"\0"), commit.authored, commit.committed,
            self._string_total, text_start, len(data), self.size - text_start, first_change,
            len(self._changes) - first_change, first_hunk, len(self._hunks) - first_hunk, 0, 0, 0, 0, 0, 0,
            min(sum(change.added for change in commit.changes), _MOST),
            min(sum(change.removed for change in commit.changes), _MOST),
            kinds, flags | (0 if commit.patch_id else EMPTY_PATCH), len(sha),
        ))  # fmt: skip
        self._string_total += len(data)

    def _add_change(
        self, number: int, change: Change, kind: int, strings: Strings, place: int, text_start: int, headings: dict[str, None]
    ) -> None:
        language = detect(change.path, b"")
        old = NOTHING if change.old_path is None else strings.put(change.old_path)
        self._changes.append((
            number, strings.put(change.path), old, min(change.added, _MOST), min(change.removed, _MOST),
            self._languages.setdefault(language, len(self._languages)), ord(change.status[:1] or "M") & 0xFF, kind,
            (BINARY if change.binary else 0) | (CUT_FILE if change.cut else 0),
        ))  # fmt: skip
        for hunk in change.hunks:
            name = heading_name(hunk.heading) if kind in _NAMED else ""
            if kind in _NAMED and hunk.heading:
                headings[name or hunk.heading] = None
            self._add_hunk(number, hunk, kind, language, name, strings, place, text_start)

    def _add_hunk(
        self, number: int, hunk: Hunk, kind: int, language: str, name: str, strings: Strings, place: int, text_start: int
    ) -> None:
        owner = len(self._hunks)
        removed, added = "\n".join(hunk.removed), "\n".join(hunk.added)
        self._counter.add("removed", owner, removed)
        self._counter.add("added", owner, added)
        names = [name] if name else []
        if kind in _NAMED:
            names += [other for text in (added, removed) if text for other in defined_names(text, language)]
        unique = list(dict.fromkeys(names))
        self._counter.add("symbols", owner, "\n".join(unique))
        text = "".join([*(f"-{line}\n" for line in hunk.removed), *(f"+{line}\n" for line in hunk.added)])
        data = text.encode("utf-8", "replace")
        self._texts.append(data)
        # A hunk that begins outside of everything is shown under what it defines itself.
        shown = name or (unique[0] if unique else "")
        self._hunks.append((
            number, place, min(hunk.old_start, _MOST), min(hunk.new_start, _MOST), len(hunk.removed), len(hunk.added),
            strings.put(hunk.heading), strings.put(shown), self.size - text_start, len(data), 0, 0,
        ))  # fmt: skip
        self.size += len(data)

    def finish(self, table: Table | None = None) -> PastData:
        """The segment; with vectors where there is a table."""
        import numpy as np

        terms, postings = self._counter.finish(("subject", "body", "paths", "headings", "added", "removed", "symbols"))
        added, removed = postings.pop("added"), postings.pop("removed")
        postings["hunk"] = joined((added, removed))
        commits, hunks = np.array(self._commits, COMMIT), np.array(self._hunks, HUNK)
        changes = np.array(self._changes, CHANGE)
        kinds = changes["kind"][commits["change"][hunks["commit"]].astype(np.int64) + hunks["change"]]
        owners = hunks["commit"].astype(np.int64)
        postings["tests"] = joined((_of_owners(added, kinds == TESTS, owners),))
        postings["code"] = joined((_of_owners(added, kinds == CODE, owners),))
        for rows, fields in ((commits, COMMIT_FIELDS), (hunks, HUNK_FIELDS)):
            for field in fields:
                found = postings[field]
                rows[field] = np.bincount(found.owners, found.counts, len(rows)) if len(rows) else 0
        data = PastData(
            commits, changes, hunks, terms, postings, b"".join(self._strings), b"".join(self._texts), list(self._languages)
        )
        if table is None:
            return data
        return replace(data, vectors=vectors_of(terms, postings, (len(commits), len(hunks)), table), model=table.digest)


def _of_owners(postings: Postings, wanted: NDArray[np.bool_], owners: NDArray[np.int64]) -> Postings:
    """The postings of some hunks, as those of their commits; an owner may come several times."""
    import numpy as np

    kept = wanted[postings.owners]
    return Postings(postings.terms[kept], owners[postings.owners[kept]].astype(np.uint32), postings.counts[kept])


def joined(parts: Iterable[Postings]) -> Postings:
    """Postings added up: rows in order, each owner once per term."""
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


def vectors_of(
    terms: list[str], postings: Mapping[str, Postings], sizes: tuple[int, int], table: Table
) -> tuple[Rows, Rows]:
    """Vectors of commits and of hunks; `sizes` says how many there are."""
    from lurcher.vectors.static import embed_groups

    groups = [
        ([(postings[field], weight) for field, weight in weights.items()], total)
        for weights, total in zip((COMMIT_WEIGHTS, HUNK_WEIGHTS), sizes, strict=True)
    ]
    commits, hunks = embed_groups(terms, groups, table)
    return Rows(*commits), Rows(*hunks)


def build(commits: Iterable[Commit], table: Table | None = None) -> PastData:
    """A segment of these commits, in their order."""
    builder = PastBuilder()
    for commit in commits:
        builder.add(commit)
    return builder.finish(table)



