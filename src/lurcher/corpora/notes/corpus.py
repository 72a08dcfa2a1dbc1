"""Searches notes: refresh → filter → plan → lanes → ranking → Findings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lurcher.answer import cursor as cursors
from lurcher.answer.page import Findings, Lap, add_notes
from lurcher.corpora.notes.query import NoteQuery, check_note_query
from lurcher.corpora.notes.search import search_notes
from lurcher.indexing.generation import View
from lurcher.query import dates
from lurcher.query.validate import as_tuple, make_filter
from lurcher.runtime.light import replace
from lurcher.runtime.timings import Stopwatch
from lurcher.types import Answer, Degraded, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lurcher.corpora.base import SearchRequest, Services
    from lurcher.indexing.generation import View


class NotesCorpus:
    """The notes among the files of a workspace; they are in the same index as its code."""

    def __init__(self, services: Services) -> None:
        self._services, self._settings, self._workspace = services, services.settings, services.workspace

    def refresh(self, progress: Progress, *, rebuild: bool = False) -> tuple[Degraded, ...]:
        views = [
            project.rebuild(progress) if rebuild else project.view(progress, limited=False)
            for project in self._workspace.projects
        ]
        return tuple(note for view in views for note in view.degraded)

    def status(self) -> list[dict[str, Any]]:
        from lurcher.indexing.status import index_status

        return [index_status(project) for project in self._workspace.projects]

    def search(self, request: SearchRequest) -> Answer:
        """The sections that answer best, the best one of each note first."""
        clock = Stopwatch()
        query = self._query(request)

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            current = replace(request, views=None) if damage else request  # what was damaged has been rebuilt
            views = self._views(current)
            clock.lap("refresh")
            answer = self._services.page(self._findings(query, current, views, clock.lap), query, clock)
            return add_notes(answer, damage)

        return replace(self._workspace.with_repair(attempt, request.progress), timings_ms=clock.total())

    def find(self, request: SearchRequest, clock: Stopwatch) -> Findings:
        return self._findings(self._query(request), request, self._views(request), clock.lap)

    def _views(self, request: SearchRequest) -> Sequence[View]:
        if request.views is not None:
            return request.views
        return self._workspace.views(request.progress, refresh=request.refresh, check=request.check)

    def _query(self, request: SearchRequest) -> NoteQuery:
        defaults, now = self._settings.search, int(time.time())
        first = None if request.since is None else dates.parse_date(request.since, now=now)
        last = None if request.until is None else dates.parse_date(request.until, now=now, until=True)
        dates.check_range(first, last)
        return check_note_query(
            NoteQuery(
                request.text, defaults.limit if request.limit is None else request.limit, request.mode or "auto",
                make_filter(request.languages, request.paths, request.excludes), as_tuple(request.tags), first, last,
                self._services.rerankers(request.rerank), request.fusion, request.alpha, request.mmr, request.budget,
                request.cursor, request.context or defaults.context, request.snippet_lines,
            )
        )  # fmt: skip

    def _findings(self, query: NoteQuery, request: SearchRequest, views: Sequence[View], lap: Lap) -> Findings:
        """Every section that answers, in order."""
        snapshot = self._workspace.snapshot(views)
        # Dates go into the cursor as they were written: `30d` is another second with each page.
        fingerprint = cursors.make_fingerprint(
            replace(query, since=None, until=None),
            root="\0".join(str(root) for root in self._workspace.roots),
            generation=snapshot.generation,
            checksum=",".join(name for view in views for name in view.manifest.segments),
            options=self._services.options + repr((request.since, request.until)),
        )
        return search_notes(
            snapshot, views, query, self._workspace.narrow(query.filter), self._settings, self._workspace.model,
            lambda: self._modified(views), fingerprint, lap,
        )  # fmt: skip

    def _modified(self, views: Sequence[View]) -> dict[str, int]:
        """When each file was last written, in seconds."""
        return {
            label + path: row.mtime_ns // 1_000_000_000
            for view, label in zip(views, self._workspace.labels(), strict=True)
            for path, row in view.manifest.rows.items()
        }
