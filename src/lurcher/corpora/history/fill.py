"""Brings a history index up to date: what HEAD no longer leads to is dropped, what is new is read, the newest first.

Every batch is a segment of its own and durable when the next one begins, so that whoever is interrupted goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history import segment
from lurcher.corpora.history.build import PastBuilder
from lurcher.corpora.history.manifest import PastManifest, PastStore
from lurcher.corpora.history.merge import merge
from lurcher.corpora.history.outcomes.build import judged
from lurcher.corpora.history.outcomes.verdicts import rules_text
from lurcher.corpora.history.reader import Past, open_past
from lurcher.corpora.history.segment import PastSegment
from lurcher.errors import PathError
from lurcher.sources.git import log
from lurcher.sources.git.log import LogSettings, Losses
from lurcher.sources.git.refs import Head, boundary
from lurcher.types import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.table import Table

FIRST = 500
"""Commits of the first batch of all, which is there within seconds."""
_MOST_TEXT = 24 << 20
"""Bytes of lines after which a batch is closed, however few commits it has."""
_MOST_SEGMENTS, _TOGETHER = 8, 4
"""With more segments than the first, as many of the smallest as the second become one."""
_MORE = 4


@dataclass(frozen=True, slots=True)
class FillSettings:
    log: LogSettings
    batch: int
    max_commits: int
    """0: all."""
    seconds: float | None
    """After which no further batch is begun; None: never."""
    outcomes: OutcomeSettings = field(default_factory=OutcomeSettings)


@dataclass(frozen=True, slots=True)
class _Plan:
    wanted: list[str]
    """Commits to be read, the newest first."""
    live: tuple[NDArray[np.bool_] | None, ...]
    total: int


def fill(
    store: PastStore,
    top: Path,
    manifest: PastManifest,
    head: Head,
    settings: FillSettings,
    fingerprint: Mapping[str, Any],
    table: Table | None,
    progress: Progress,
) -> PastManifest:
    """The manifest after all was read that there was time for. The caller holds the lock."""
    return _Filler(store, top, head, settings, fingerprint, table, progress).fill(manifest)


class _Filler:
    def __init__(
        self,
        store: PastStore,
        top: Path,
        head: Head,
        settings: FillSettings,
        fingerprint: Mapping[str, Any],
        table: Table | None,
        progress: Progress,
    ) -> None:
        self._store, self._top, self._head, self._settings = store, top, head, settings
        self._fingerprint, self._table, self._progress = fingerprint, table, progress
        self._losses = Losses()
        self._known = PastManifest(0, {})
        self._boundary = boundary(top)
        self._deadline = None if settings.seconds is None else time.monotonic() + settings.seconds

    def fill(self, manifest: PastManifest) -> PastManifest:
        plan = self._plan(manifest)
        self._known, before = manifest, manifest.losses
        manifest = replace(
            manifest, fingerprint=self._fingerprint, live=plan.live, head=self._head, total=plan.total, order=None,
            complete=False, most=self._settings.max_commits,
        )  # fmt: skip
        builder, done = PastBuilder(), 0
        size = FIRST if not manifest.commits else self._settings.batch
        late = False
        for commit in log.read(self._top, plan.wanted, self._settings.log, self._losses, self._boundary):
            builder.add(commit, segment.BOUNDARY if commit.sha in self._boundary else 0)
            done += 1
            self._progress("reading history", done, len(plan.wanted))
            late = self._is_late() and (manifest.commits > 0 or len(builder) >= size)
            if len(builder) >= size or builder.size >= _MOST_TEXT or late:
                manifest = self._counted(self._with_segment(manifest, builder), before)
                if late or done == len(plan.wanted):
                    builder = PastBuilder()
                    break
                manifest = self._commit(self._judged_sometimes(manifest))
                manifest = self._merged(manifest)
                builder, size = PastBuilder(), self._settings.batch
        if len(builder):
            manifest = self._with_segment(manifest, builder)
        manifest = self._counted(manifest, before)
        return self._merged(replace(manifest, complete=done >= len(plan.wanted) or not late), final=True)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _counted(self, manifest: PastManifest, before: tuple[int, int, int]) -> PastManifest:
        losses = self._losses
        return replace(manifest, losses=(before[0] + losses.commits, before[1] + losses.paths, before[2] + losses.trees))

    # What there is to do.

    def _plan(self, manifest: PastManifest) -> _Plan:
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
            wanted = [name for name in new if name not in stored]
            return _Plan(wanted, self._masks(manifest, stored, alive), manifest.total + len(new) - len(gone))
        names = log.list_commits(self._top, self._head.sha, self._settings.log)
        if names is None:
            raise PathError(
                f"git cannot read the history of {self._top}", "check that git is installed and that the repository is yours"
            )
        total, most = len(names), self._settings.max_commits
        names = names[:most] if most else names
        stored = self._stored(manifest)
        return _Plan([name for name in names if name not in stored], self._masks(manifest, stored, set(names)), total)

    def _difference(self, manifest: PastManifest) -> tuple[list[str], list[str]] | None:
        """What came and what went since a complete index was made, if that alone decides."""
        known = manifest.head
        if not manifest.complete or not known.sha or known.shallow != self._head.shallow:
            return None
        if self._settings.log.first_parent or self._settings.max_commits or manifest.most:
            return None
        return log.difference(self._top, self._head.sha, known.sha, self._settings.log)

    def _stored(self, manifest: PastManifest) -> dict[str, tuple[int, int]]:
        """Where each indexed commit is: segment and row. One that could not be told whole and now can is not there."""
        found: dict[str, tuple[int, int]] = {}
        for part, name in enumerate(manifest.segments):
            opened, live = PastSegment(self._store.container(name)), manifest.live[part]
            flags = opened.commits["flags"].tolist()
            for row, sha in enumerate(opened.names()):
                text = sha.hex()
                if flags[row] & segment.BOUNDARY and text not in self._boundary:
                    continue
                if text not in found or live is None or live[row]:
                    found[text] = part, row
        return found

    def _masks(
        self, manifest: PastManifest, stored: Mapping[str, tuple[int, int]], alive: set[str]
    ) -> tuple[NDArray[np.bool_] | None, ...]:
        import numpy as np

        masks = [np.zeros(size, bool) for size in manifest.sizes]
        for name in alive:
            place = stored.get(name)
            if place is not None:
                masks[place[0]][place[1]] = True
        return tuple(None if bool(mask.all()) else mask for mask in masks)

    # What is written.

    def _with_segment(self, manifest: PastManifest, builder: PastBuilder) -> PastManifest:
        data = builder.finish(self._table)
        name = self._store.put(lambda out: segment.write(data, out))
        if name in manifest.segments:
            return manifest
        return replace(
            manifest, segments=(*manifest.segments, name), sizes=(*manifest.sizes, len(builder)), live=(*manifest.live, None)
        )

    def _merged(self, manifest: PastManifest, *, final: bool = False) -> PastManifest:
        """The same commits in fewer segments, if there are many."""
        changed = final
        while (chosen := _to_merge(manifest)) is not None:
            manifest = self._merge(manifest, chosen)
            changed = True
        if not changed:
            return manifest
        if final:
            manifest = self._ordered(manifest)
            manifest = self._judged(manifest)
        return self._commit(manifest)

    def _merge(self, manifest: PastManifest, chosen: Sequence[int]) -> PastManifest:
        kept = [i for i in range(len(manifest.segments)) if i not in chosen]
        parts = [self._store.container(manifest.segments[i]) for i in chosen]
        masks = [manifest.live[i] for i in chosen]
        count = sum(manifest.sizes[i] if mask is None else int(mask.sum()) for i, mask in zip(chosen, masks, strict=True))
        segments, sizes = [manifest.segments[i] for i in kept], [manifest.sizes[i] for i in kept]
        live = [manifest.live[i] for i in kept]
        if count:
            segments.append(self._store.put(lambda out: merge(parts, masks, out)))
            sizes.append(count)
            live.append(None)
        return replace(manifest, segments=tuple(segments), sizes=tuple(sizes), live=tuple(live))

    def _ordered(self, manifest: PastManifest) -> PastManifest:
        import numpy as np

        order = self._grown_order(manifest)
        if order is None:
            order = open_past(self._store, manifest).newest_first
        return replace(manifest, order=order.astype(np.uint32))

    def _grown_order(self, manifest: PastManifest) -> NDArray[np.int64] | None:
        """The order when all that is new is younger than all that was there, which saves going through everything."""
        import numpy as np

        known = self._known
        count = len(known.segments)
        if known.order is None or not known.complete or not count or manifest.segments[:count] != known.segments:
            return None
        if any(a is not b for a, b in zip(known.live, manifest.live, strict=False)):
            return None
        parts = [PastSegment(self._store.container(name)) for name in manifest.segments]
        old, new = Past(parts[:count]), Past(parts[count:])
        if new.commit_total and int(new.committed.min()) <= int(old.committed.max()):
            return None
        return np.concatenate((new.newest_first + old.commit_total, known.order.astype(np.int64)))

    def _judged_sometimes(self, manifest: PastManifest) -> PastManifest:
        """With outcomes for those who ask meanwhile: when the commits have become four times as many, so it costs little."""
        found = manifest.judged
        few = manifest.commits < _MORE * found.commits or 2 * manifest.commits > manifest.total
        if found.commits and found.rules == rules_text(self._settings.outcomes) and few:
            return manifest
        return self._judged(manifest)

    def _judged(self, manifest: PastManifest) -> PastManifest:
        self._progress("judging commits", manifest.commits, manifest.commits)
        return judged(self._store, self._top, manifest, open_past(self._store, manifest), self._settings.outcomes)

    def _commit(self, manifest: PastManifest) -> PastManifest:
        manifest = replace(manifest, generation=manifest.generation + 1)
        self._store.commit_past(manifest)
        return manifest


def _to_merge(manifest: PastManifest) -> list[int] | None:
    """The segments that should become one: those that hold little but dead commits, or the smallest of too many."""
    for i, (size, mask) in enumerate(zip(manifest.sizes, manifest.live, strict=True)):
        if mask is not None and 2 * int(mask.sum()) < size:
            return [i]
    if len(manifest.segments) <= _MOST_SEGMENTS:
        return None
    smallest = sorted(range(len(manifest.sizes)), key=lambda i: (manifest.sizes[i], i))[:_TOGETHER]
    return sorted(smallest)
