"""Searches history: refresh → filter → plan → ranking → Findings."""

from __future__ import annotations

import time
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any

from lurcher.answer.page import add_notes
from lurcher.corpora.history.index import HistoryIndex
from lurcher.corpora.history.query import HistoryQuery, validate_query, validate_rerankers
from lurcher.corpora.history.search import HistoryRoot, search_history
from lurcher.errors import PathError
from lurcher.query.validate import as_tuple, make_filter
from lurcher.runtime.light import replace
from lurcher.runtime.process import Stopwatch
from lurcher.sources.git.refs import read_head
from lurcher.types import Answer, Degraded, Filter, Progress

if TYPE_CHECKING:
    from pathlib import Path

    from lurcher.answer.page import Findings
    from lurcher.corpora import SearchRequest, Services
    from lurcher.indexing.root_index import RootIndex

_OPTIONS = ("history", "lexical", "classic", "linear", "recency", "outcomes", "reranker", "judge")
"""Sections of the settings that the order of commits depends on."""


class HistoryCorpus:
    """The commits of each root that has a repository, by an index beside that of its code."""

    def __init__(self, services: Services) -> None:
        self._services, self._settings, self._workspace = services, services.settings, services.workspace
        # One index for all threads: two would take each other for writers of another process.
        self._indexes: dict[Path, HistoryIndex] = {}
        self._lock = allocate_lock()
        self._workspace.further.append(self._indexes.values)

    def index_of(self, project: RootIndex) -> HistoryIndex:
        """The history index of a root; another one once the root has other settings."""
        with self._lock:
            known = self._indexes.get(project.root.path)
            if known is None or known.settings is not project.settings:
                known = self._indexes[project.root.path] = HistoryIndex.for_root(project)
            return known

    @property
    def indexes(self) -> list[HistoryIndex]:
        return [self.index_of(project) for project in self._workspace.projects]

    def refresh(self, progress: Progress, *, rebuild: bool = False) -> tuple[Degraded, ...]:
        views = [index.rebuild(progress) if rebuild else index.view(progress, seconds=None) for index in self.indexes]
        return tuple(note for view in views for note in view.degraded)

    def status(self) -> list[dict[str, Any]]:
        from lurcher.corpora.history.index import history_status

        return [entry for project in self._workspace.projects if (entry := history_status(project)) is not None]

    def clear(self) -> bool:
        """Remove every history index. True if there was one."""
        return any([index.clear() for index in self.indexes])

    def indexed(self) -> bool:
        """Whether some of the history of every root is indexed, as far as the roots have one."""
        return all(index.has_index() or read_head(index.top) is None for index in self.indexes)

    def begin(self, progress: Progress) -> None:
        """Index the newest commits of each root that has a history of which nothing is indexed."""
        for index in self.indexes:
            if not index.has_index() and read_head(index.top) is not None:
                index.view(progress, seconds=0.0)

    def search(self, request: SearchRequest) -> Answer:
        """The commits that answer best, each with what became of it."""
        clock = Stopwatch()

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            findings, query = self._findings(request, clock)
            return add_notes(self._services.page(findings, query, clock), damage)

        return replace(self._workspace.with_repair(attempt, request.progress), timings_ms=clock.total())

    def find(self, request: SearchRequest, clock: Stopwatch) -> Findings:
        return self._findings(request, clock)[0]

    def roots(self, *, refresh: bool, progress: Progress) -> list[HistoryRoot]:
        """Every root that has a history; an error where none has."""
        return [root for root, _ in self._open(refresh, progress)[0]]

    def _open(self, refresh: bool, progress: Progress) -> tuple[list[tuple[HistoryRoot, HistoryIndex]], list[PathError]]:
        """Every root that has a history, with its index; and why the others have none."""
        roots: list[tuple[HistoryRoot, HistoryIndex]] = []
        problems: list[PathError] = []
        for number, (project, label) in enumerate(zip(self._workspace.projects, self._workspace.labels(), strict=True)):
            index = self.index_of(project)
            try:
                view = index.view(progress, refresh=refresh)
            except PathError as problem:
                problems.append(problem)
                continue
            prefixes = self._workspace.prefixes[number]
            roots.append((HistoryRoot(str(project.root.path), label, view, index.model, prefixes), index))
        if not roots:
            raise problems[0]
        return roots, problems

    def _findings(self, request: SearchRequest, clock: Stopwatch) -> tuple[Findings, HistoryQuery]:
        """Every commit that answers, in order, and the request as a query."""
        files = make_filter(request.languages, request.paths, request.excludes)
        roots, problems = self._open(request.refresh, request.progress)
        clock.lap("refresh")
        query = self._query(request, files, roots[0][1].top)
        searched = [root for root, _ in roots]
        return search_history(searched, query, self._settings, clock.lap, self._options, problems), query

    def _query(self, request: SearchRequest, files: Filter, top: Path) -> HistoryQuery:
        """The request as a query; dates may name tags of the repository at `top`."""
        settings = self._settings
        first, last = _dates(request.since, request.until, top)
        names = settings.search.rerank.split() if request.rerank is None else as_tuple(request.rerank)
        return validate_query(
            HistoryQuery(
                request.text, settings.search.limit if request.limit is None else request.limit, request.mode or "auto",
                request.ranking or settings.history.ranking, request.fusion, request.alpha, request.mmr, files, first, last,
                request.author or None, as_tuple(request.outcomes), validate_rerankers(names), request.budget, request.cursor,
                request.context or settings.search.context, request.snippet_lines,
            )
        )  # fmt: skip

    @property
    def _options(self) -> str:
        """The settings that the order of commits depends on, as far as they are not defaults: a cursor holds their digest."""
        return repr([(key, value) for key, value in self._settings.changed() if key.split(".")[0] in _OPTIONS])


def _dates(since: str | None, until: str | None, top: Path) -> tuple[int | None, int | None]:
    """Both ends in seconds since 1970."""
    from lurcher.query import dates

    if since is None and until is None:
        return None, None
    resolve = dates.commit_date_resolver(top)
    now = int(time.time())
    first = None if since is None else dates.parse_date(since, now=now, resolve=resolve)
    last = None if until is None else dates.parse_date(until, now=now, resolve=resolve, until=True)
    dates.check_range(first, last)
    return first, last
