"""The questions about the past that an engine answers."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from abc import ABC, abstractmethod

from lurcher.config import Settings
from lurcher.errors import LurcherError, PathError, UsageError
from lurcher.indexing.root_index import Project
from lurcher.indexing.workspace import Together
from lurcher.parts import Warm
from lurcher.query.validate import filter_of, several
from lurcher.runtime.light import TYPE_CHECKING, replace
from lurcher.runtime.timings import Clock
from lurcher.types import Answer, Degraded, Filter, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeVar

    from lurcher.answer.page import Findings, Lap
    from lurcher.corpora.history.index import PastProject
    from lurcher.corpora.history.query import PastQuery
    from lurcher.corpora.history.related_commits import Known
    from lurcher.corpora.history.search import PastRoot
    from lurcher.inspect.answers import Standing
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.explain import ExplainAnswer, Judged, Near
    from lurcher.inspect.line_ages import HeatAnswer
    from lurcher.storage.snapshot import Snapshot

    Kind = TypeVar("Kind")

BRIEF_BUDGET = 1500
"""Tokens that `brief` takes unless a budget is given: about a page."""
_MAKING = allocate_lock()


class Histories(ABC):
    """The part of an engine that answers from history."""

    settings: Settings
    _together: Together
    _pasts: dict[Path, PastProject]
    _warm: Warm

    def history(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        ranking: str | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        mmr: float | None = None,
        since: str | None = None,
        until: str | None = None,
        author: str | None = None,
        outcomes: Sequence[str] = (),
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        excludes: Sequence[str] = (),
        rerank: Sequence[str] | None = None,
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
        refresh: bool = True,
        progress: Progress = silent,
    ) -> Answer:
        """The commits that answer a question best, each with what became of it.

        `since` and `until` take a date, an age such as 30d, or a tag. What is not indexed yet is read for at most
        `history.refresh_seconds`; the answer says how much of the history it covers.
        """
        from lurcher.answer.page import answer_of, with_notes

        here = self._local("what commits say")
        clock = Clock()
        found, query = self._commits(
            text, limit=limit, mode=mode, ranking=ranking, fusion=fusion, alpha=alpha, mmr=mmr, since=since, until=until,
            author=author, outcomes=outcomes, files=filter_of(languages, paths, excludes), rerank=rerank, budget=budget,
            cursor=cursor, context=context, snippet_lines=snippet_lines, refresh=refresh, progress=progress, lap=clock.lap,
        )  # fmt: skip
        answer = answer_of(found, query, self.settings, self._together.places[0], self._warm, clock.lap)
        return with_notes(replace(answer, timings_ms=clock.total()), here)

    def _commits(
        self,
        text: str,
        *,
        files: Filter,
        lap: Lap,
        refresh: bool,
        progress: Progress,
        limit: int | None = None,
        mode: str | None = None,
        ranking: str | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        mmr: float | None = None,
        since: str | None = None,
        until: str | None = None,
        author: str | None = None,
        outcomes: Sequence[str] = (),
        rerank: Sequence[str] | None = None,
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
    ) -> tuple[Findings, PastQuery]:
        """Every commit that answers a question, in order, and the question as it was understood."""
        from lurcher.corpora.history.query import PastQuery, checked, looks_of
        from lurcher.corpora.history.search import found

        roots, problems = self._past_roots(refresh, progress)
        lap("refresh")
        first, last = self._dates(since, until, [project.top for _, project in roots])
        looks = self.settings.search.rerank.split() if rerank is None else several(rerank)
        query = checked(
            PastQuery(
                text, self.settings.search.limit if limit is None else limit, mode or "auto",
                ranking or self.settings.history.ranking, fusion, alpha, mmr, files, first, last, author or None,
                several(outcomes), looks_of(looks), budget, cursor, context or self.settings.search.context, snippet_lines,
            )
        )  # fmt: skip
        return found([root for root, _ in roots], query, self.settings, lap, self._past_options, problems), query

    def brief(
        self,
        target: str | Path,
        *,
        budget: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> BriefAnswer:
        """What to know before editing a file, or a symbol: its past, what depends on it, what documents say; one page."""
        from lurcher.corpora.history.search import coverage_of
        from lurcher.inspect.answers import Standing
        from lurcher.inspect.brief import brief
        from lurcher.inspect.resolve_path import file_or_symbol

        most = BRIEF_BUDGET if budget is None else budget

        def work(snapshot: Snapshot, standing: Standing) -> BriefAnswer:
            file, definition, notes = file_or_symbol(snapshot, str(target), self._together.meant(target))
            prefix = snapshot.prefix(file)
            place = self._together.labels().index(prefix)
            past = self._past_of(self._together.projects[place])
            view = past.view(progress, refresh=refresh)
            known = Standing(
                replace(standing.index, coverage=coverage_of([view])),
                standing.degraded + notes + view.degraded,
            )
            return brief(str(target), snapshot, file, definition, view.past, view.verdicts, most, known, past.formerly)

        return self._survey(work, (refresh, check), progress, "what to know before an edit")

    @abstractmethod
    def _local(self, question: str) -> tuple[Degraded, ...]:
        """What to say of a store that cannot answer a question."""

    @abstractmethod
    def _survey(
        self, work: Callable[[Snapshot, Standing], Kind], freshness: tuple[bool, bool], progress: Progress, question: str
    ) -> Kind:
        """Do some work on the current generation of the code index."""

    @property
    def _past_options(self) -> str:
        """The settings that the order of commits depends on, as far as they are not defaults: a cursor holds their digest."""
        sections = ("history", "lexical", "classic", "linear", "recency", "outcomes", "reranker", "judge")
        return repr([(key, value) for key, value in self.settings.changed() if key.split(".")[0] in sections])

    def _past_roots(
        self, refresh: bool, progress: Progress
    ) -> tuple[list[tuple[PastRoot, PastProject]], list[PathError]]:
        """Every root that has a history, and why the others have none; an error where none has."""
        from lurcher.corpora.history.search import PastRoot

        found: list[tuple[PastRoot, PastProject]] = []
        problems: list[PathError] = []
        for number, (project, label) in enumerate(zip(self._together.projects, self._together.labels(), strict=True)):
            past = self._past_of(project)
            try:
                view = past.view(progress, refresh=refresh)
            except PathError as problem:
                problems.append(problem)
                continue
            name = str(project.root.path)
            found.append((PastRoot(name, label, view, past.model, self._together.prefixes[number]), past))
        if not found:
            raise problems[0]
        return found, problems

    def past_indexed(self) -> bool:
        """Whether some of the history of every root is indexed, as far as the roots have one."""
        from lurcher.sources.git.refs import head_of

        pasts = [self._past_of(project) for project in self._together.projects]
        return all(past.has_index() or head_of(past.top) is None for past in pasts)

    def begin_history(self, progress: Progress = silent) -> None:
        """Index the newest commits of each root that has a history of which nothing is indexed."""
        from lurcher.sources.git.refs import head_of

        for project in self._together.projects:
            past = self._past_of(project)
            if not past.has_index() and head_of(past.top) is not None:
                past.view(progress, seconds=0.0)

    def _past_of(self, project: Project) -> PastProject:
        from lurcher.corpora.history.index import PastProject

        # One for all threads: two would take each other for writers of another process.
        with _MAKING:
            known = self._pasts.get(project.root.path)
            if known is None or known.settings is not project.settings:
                known = self._pasts[project.root.path] = PastProject.beside(project)
            return known

    def _known_of(self, project: Project) -> Known | None:
        """What is known of the commits of a project already; nothing is indexed for it."""
        from lurcher.corpora.history.related_commits import Known

        past = self._past_of(project)
        try:
            view = past.glance() if past.has_index() else None
        except LurcherError:
            return None
        return None if view is None else Known(view)

    def _dates(self, since: str | None, until: str | None, tops: Sequence[Path]) -> tuple[int | None, int | None]:
        from lurcher.corpora.history import dates

        if since is None and until is None:
            return None, None
        resolve = dates.resolver(tops[0])
        now = int(time.time())
        first = None if since is None else dates.parse(since, now=now, resolve=resolve)
        last = None if until is None else dates.parse(until, now=now, resolve=resolve, until=True)
        dates.check(first, last)
        return first, last

    def heat(self, path: str | Path) -> HeatAnswer:
        """How old each line of a file of the index is, and which commit wrote it."""
        from lurcher.inspect.line_ages import heat

        def work(snapshot: Snapshot, standing: Standing) -> HeatAnswer:
            named = snapshot.path(self._allowed(snapshot, path))
            return replace(heat(self._together.locate(named), named, self.settings.blame), degraded=standing.degraded)

        return self._survey(work, (True, True), silent, "which commits wrote a file")

    @abstractmethod
    def _allowed(self, snapshot: Snapshot, path: str | Path) -> int:
        """The file of the index that a path means."""

    def explain(
        self,
        path: str | Path,
        first: int | None = None,
        last: int | None = None,
        *,
        limit: int | None = None,
        outcome: Judged | None = None,
        related: Near | None = None,
    ) -> ExplainAnswer:
        """The commits that wrote lines `first` to `last` of a file (default: all), the newest first; needs no index.

        Where the history is indexed, each is told with what became of it and with commits that seem to have to do with it.
        """
        from lurcher.indexing.root_index import allowed
        from lurcher.inspect.explain import explain_file, labelled

        here = self._local("which commits wrote a line")
        meant = self._together.meant(path)
        named = next((name for name in meant if os.path.lexists(self._together.locate(name))), meant[0])
        for project, label in zip(self._together.projects, self._together.labels(), strict=True):
            if named.startswith(label):
                known = self._known_of(project)
                if known is not None:
                    outcome, related = outcome or known.outcome, related or known.related
                options = {
                    "settings": project.settings.blame, "limit": limit, "outcome": outcome, "related": related,
                    "secrets": allowed(project.settings, "secrets"),
                }  # fmt: skip
                file = project.root.path / named[len(label) :]
                found = explain_file(file, first, last, below=project.root.path, **options)
                notes = known.notes if known is not None else ()
                return labelled(replace(found, degraded=(*here, *found.degraded, *notes)), label)
        raise UsageError(f"{path} is in none of the roots", "name a path below " + ", ".join(map(str, self._together.roots)))


