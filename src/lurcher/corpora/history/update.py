"""Updates a history index: drops commits that are no longer reachable from HEAD and reads new ones, the newest first.

Every batch becomes a segment and is on disk before the next one begins, so an interrupted update continues where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history import schema
from lurcher.corpora.history.build import HistorySegmentBuilder
from lurcher.corpora.history.outcomes import rules_text, with_outcomes
from lurcher.corpora.history.schema import COMMITS, HistoryManifest, HistorySegment
from lurcher.corpora.history.snapshot import HistorySnapshot, open_snapshot
from lurcher.errors import PathError
from lurcher.sources import git
from lurcher.sources.git import log
from lurcher.sources.git.log import LogSettings, Losses
from lurcher.sources.git.refs import Head, shallow_boundary
from lurcher.storage import IndexFolder
from lurcher.storage.merge import merge_segments
from lurcher.storage.segment_writer import write_segment
from lurcher.types import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.table import Table

FIRST_BATCH = 500
"""Commits of the very first batch, small enough to be searchable within seconds."""
_LEAST = 100
"""Commits of the first batch that are read however long that takes."""
_LISTED_FIRST = 2_000
"""Commits that are listed at first where there is little time: git takes seconds to put a long history in order."""
_MIN_COUNT_SECONDS = 0.1
"""How long the number of commits is waited for when time is up."""
_BATCH_BYTES = 24 << 20
"""Bytes of changed lines after which a batch ends, however few commits it has."""
_MAX_SEGMENTS, _MERGED_AT_ONCE = 8, 4
"""If there are more segments than the first number, the smallest ones, as many as the second number, are merged."""
_OUTCOME_GROWTH = 4
"""While commits are being read, outcomes are found again when their number has grown by this factor."""


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    log: LogSettings
    batch: int
    """Commits of a batch."""
    max_commits: int
    """0: all."""
    seconds: float | None
    """No further batch is started after this time; None: no limit."""
    outcomes: OutcomeSettings = field(default_factory=OutcomeSettings)


@dataclass(frozen=True, slots=True)
class _Plan:
    to_read: list[str]
    """Hashes of the commits to read, the newest first."""
    live: tuple[NDArray[np.bool_] | None, ...]
    """The live commits of the segments that exist."""
    total: int
    """Commits reachable from HEAD; 0 if they were not counted."""
    whole: bool = True
    """Whether all commits were listed, not only the newest."""


class HistoryUpdate:
    """One update of a history index. The caller holds the lock of the store."""

    def __init__(
        self,
        store: IndexFolder,
        top: Path,
        head: Head,
        settings: UpdateSettings,
        fingerprint: Mapping[str, Any],
        table: Table | None,
        progress: Progress,
    ) -> None:
        self._store, self._top, self._head, self._settings = store, top, head, settings
        self._fingerprint, self._table, self._progress = fingerprint, table, progress
        self._losses = Losses()
        self._previous = HistoryManifest(0, {})
        self._boundary = shallow_boundary(top)
        self._deadline = None if settings.seconds is None else time.monotonic() + settings.seconds

    def run(self, manifest: HistoryManifest) -> HistoryManifest:
        """Read as many commits as there is time for; returns the new manifest."""
        self._previous, before = manifest, manifest.losses
        plan, late = self._plan_newest(manifest), False
        if plan is not None:
            with self._counting() as count:
                manifest, late = self._read(manifest, plan, before)
                if late:
                    manifest = manifest.replace(total=count())
        if not late:
            plan = self._plan(manifest)
            manifest, late = self._read(manifest, plan, before)
        return self._merge_and_commit(manifest.replace(complete=not late), final=True)

    def _read(self, manifest: HistoryManifest, plan: _Plan, before: tuple[int, int, int]) -> tuple[HistoryManifest, bool]:
        """Read the commits of a plan batch by batch; the manifest then, and whether time ran out."""
        manifest = manifest.replace(
            fingerprint=self._fingerprint, live=plan.live, head=self._head, total=plan.total, order=None,
            complete=False, max_commits=self._settings.max_commits,
        )  # fmt: skip
        builder, done = HistorySegmentBuilder(), 0
        size = FIRST_BATCH if not manifest.commits else self._settings.batch
        late = False
        for commit in log.read_commits(self._top, plan.to_read, self._settings.log, self._losses, self._boundary):
            builder.add(commit, schema.BOUNDARY if commit.sha in self._boundary else 0)
            done += 1
            self._progress("reading history", done, len(plan.to_read))
            late = self._is_late() and (manifest.commits > 0 or len(builder) >= min(size, _LEAST))
            if len(builder) >= size or builder.size >= _BATCH_BYTES or late:
                manifest = self._with_losses(self._with_segment(manifest, builder), before)
                builder, size = HistorySegmentBuilder(), self._settings.batch
                if late or done == len(plan.to_read):
                    break
                # Those of the newest commits follow within a moment.
                manifest = self._commit(self._with_early_outcomes(manifest) if plan.whole else manifest)
                manifest = self._merge_and_commit(manifest)
        if len(builder):
            manifest = self._with_segment(manifest, builder)
        return self._with_losses(manifest, before), late and (done < len(plan.to_read) or not plan.whole)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _with_losses(self, manifest: HistoryManifest, before: tuple[int, int, int]) -> HistoryManifest:
        losses = self._losses
        return manifest.replace(losses=(before[0] + losses.commits, before[1] + losses.paths, before[2] + losses.trees))

    # Planning.

    def _plan_newest(self, manifest: HistoryManifest) -> _Plan | None:
        """The newest commits of a long history, where nothing is indexed and time is limited; else None."""
        settings = self._settings
        if self._deadline is None or manifest.segments or not self._head.sha or settings.max_commits:
            return None
        names = log.list_newest_commits(self._top, self._head.sha, settings.log, _LISTED_FIRST)
        return _Plan(names, (), 0, whole=False) if len(names) == _LISTED_FIRST else None

    @contextmanager
    def _counting(self) -> Iterator[Callable[[], int]]:
        """Count the commits meanwhile; the function gives their number, or 0 if it is not known when time is up."""
        process = log.start_count(self._top, self._head.sha, self._settings.log)

        def count() -> int:
            left = max(_MIN_COUNT_SECONDS, (self._deadline or 0.0) - time.monotonic())
            return log.finish_count(process, left)

        try:
            yield count
        finally:
            git.stop(process)

    def _plan(self, manifest: HistoryManifest) -> _Plan:
        if not self._head.sha:
            return _Plan([], self._masks(manifest, {}, set()), 0)
        step = self._difference(manifest)
        if step is not None:
            new, gone = step
            if not gone and not any(mask is not None for mask in manifest.live):
                return _Plan(new, manifest.live, manifest.total + len(new))
            stored = self._stored(manifest)
            alive = {name for name, (part, row) in stored.items() if (mask := manifest.live[part]) is None or mask[row]}
            alive = (alive - set(gone)) | (stored.keys() & set(new))
            to_read = [name for name in new if name not in stored]
            return _Plan(to_read, self._masks(manifest, stored, alive), manifest.total + len(new) - len(gone))
        names = log.list_commits(self._top, self._head.sha, self._settings.log)
        if names is None:
            raise PathError(
                f"git cannot read the history of {self._top}", "check that git is installed and that the repository is yours"
            )
        total, most = len(names), self._settings.max_commits
        names = names[:most] if most else names
        stored = self._stored(manifest)
        return _Plan([name for name in names if name not in stored], self._masks(manifest, stored, set(names)), total)

    def _difference(self, manifest: HistoryManifest) -> tuple[list[str], list[str]] | None:
        """The commits that were added and removed since the index was complete; None if a full listing is needed."""
        known = manifest.head
        if not manifest.complete or not known.sha or known.shallow != self._head.shallow:
            return None
        if self._settings.log.first_parent or self._settings.max_commits or manifest.max_commits:
            return None
        return log.diff_commits(self._top, self._head.sha, known.sha, self._settings.log)

    def _stored(self, manifest: HistoryManifest) -> dict[str, tuple[int, int]]:
        """The segment and row of each indexed commit, except those to read again because a shallow clone was deepened."""
        found: dict[str, tuple[int, int]] = {}
        for part, name in enumerate(manifest.segments):
            opened, live = HistorySegment(self._store.container(name)), manifest.live[part]
            flags = opened.commits["flags"].tolist()
            for row, sha in enumerate(opened.shas()):
                text = sha.hex()
                if flags[row] & schema.BOUNDARY and text not in self._boundary:
                    continue
                if text not in found or live is None or live[row]:
                    found[text] = part, row
        return found

    def _masks(
        self, manifest: HistoryManifest, stored: Mapping[str, tuple[int, int]], alive: set[str]
    ) -> tuple[NDArray[np.bool_] | None, ...]:
        import numpy as np

        masks = [np.zeros(size, bool) for size in manifest.sizes]
        for name in alive:
            place = stored.get(name)
            if place is not None:
                masks[place[0]][place[1]] = True
        return tuple(None if bool(mask.all()) else mask for mask in masks)

    # Writing.

    def _with_segment(self, manifest: HistoryManifest, builder: HistorySegmentBuilder) -> HistoryManifest:
        data = builder.finish(self._table)
        name = self._store.put(lambda out: write_segment(data, out))
        if name in manifest.segments:
            return manifest
        return manifest.replace(
            segments=(*manifest.segments, name), sizes=(*manifest.sizes, len(builder)), live=(*manifest.live, None)
        )

    def _merge_and_commit(self, manifest: HistoryManifest, *, final: bool = False) -> HistoryManifest:
        """Merge segments if there are too many; after the last batch also add the order and the outcomes. Commits changes."""
        changed = final
        while (chosen := _choose_segments_to_merge(manifest)) is not None:
            manifest = self._merge(manifest, chosen)
            changed = True
        if not changed:
            return manifest
        if final:
            manifest = self._with_order(manifest)
            manifest = self._with_outcomes(manifest)
        return self._commit(manifest)

    def _merge(self, manifest: HistoryManifest, chosen: Sequence[int]) -> HistoryManifest:
        kept = [i for i in range(len(manifest.segments)) if i not in chosen]
        parts = [self._store.container(manifest.segments[i]) for i in chosen]
        masks = [manifest.live[i] for i in chosen]
        count = sum(manifest.sizes[i] if mask is None else int(mask.sum()) for i, mask in zip(chosen, masks, strict=True))
        segments, sizes = [manifest.segments[i] for i in kept], [manifest.sizes[i] for i in kept]
        live = [manifest.live[i] for i in kept]
        if count:
            segments.append(self._store.put(lambda out: merge_segments(parts, masks, out, COMMITS)))
            sizes.append(count)
            live.append(None)
        return manifest.replace(segments=tuple(segments), sizes=tuple(sizes), live=tuple(live))

    def _with_order(self, manifest: HistoryManifest) -> HistoryManifest:
        import numpy as np

        order = self._extended_order(manifest)
        if order is None:
            order = open_snapshot(self._store, manifest).newest_first
        return manifest.replace(order=order.astype(np.uint32))

    def _extended_order(self, manifest: HistoryManifest) -> NDArray[np.int64] | None:
        """The order of commits if every new one is younger than all others, computed without reading the others; else None."""
        import numpy as np

        known = self._previous
        count = len(known.segments)
        if known.order is None or not known.complete or not count or manifest.segments[:count] != known.segments:
            return None
        if any(a is not b for a, b in zip(known.live, manifest.live, strict=False)):
            return None
        parts = [HistorySegment(self._store.container(name)) for name in manifest.segments]
        old, new = HistorySnapshot(parts[:count]), HistorySnapshot(parts[count:])
        if new.commit_total and int(new.committed.min()) <= int(old.committed.max()):
            return None
        return np.concatenate((new.newest_first + old.commit_total, known.order.astype(np.int64)))

    def _with_early_outcomes(self, manifest: HistoryManifest) -> HistoryManifest:
        """Add outcomes for queries that come before the update is finished, but rarely, so that it costs little."""
        found = manifest.outcomes
        few = manifest.commits < _OUTCOME_GROWTH * found.commits or 2 * manifest.commits > manifest.total
        if found.commits and found.rules == rules_text(self._settings.outcomes) and few:
            return manifest
        return self._with_outcomes(manifest)

    def _with_outcomes(self, manifest: HistoryManifest) -> HistoryManifest:
        self._progress("judging commits", manifest.commits, manifest.commits)
        return with_outcomes(self._store, self._top, manifest, open_snapshot(self._store, manifest), self._settings.outcomes)

    def _commit(self, manifest: HistoryManifest) -> HistoryManifest:
        manifest = manifest.replace(generation=manifest.generation + 1)
        self._store.commit(manifest)
        return manifest


def _choose_segments_to_merge(manifest: HistoryManifest) -> list[int] | None:
    """The segments to merge next: one with mostly dead commits, or the smallest of too many; None if there are none."""
    for i, (size, mask) in enumerate(zip(manifest.sizes, manifest.live, strict=True)):
        if mask is not None and 2 * int(mask.sum()) < size:
            return [i]
    if len(manifest.segments) <= _MAX_SEGMENTS:
        return None
    smallest = sorted(range(len(manifest.sizes)), key=lambda i: (manifest.sizes[i], i))[:_MERGED_AT_ONCE]
    return sorted(smallest)
