"""The questions about notes that an engine answers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from lurcher.config import Settings
from lurcher.indexing.root_index import View
from lurcher.indexing.workspace import Together
from lurcher.parts import Warm
from lurcher.query.validate import filter_of, several
from lurcher.runtime.light import TYPE_CHECKING, replace
from lurcher.runtime.timings import Clock
from lurcher.types import Answer, Degraded, Filter, Progress, silent
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from lurcher.answer.cursor import Fingerprint
    from lurcher.answer.page import Findings, Lap
    from lurcher.corpora.notes.query import NoteQuery

    Kind = TypeVar("Kind")


class Notes(ABC):
    """The part of an engine that answers from notes."""

    settings: Settings
    _together: Together
    _warm: Warm

    @abstractmethod
    def _rerankers(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """The second looks that were asked for, else those that are set."""

    @property
    @abstractmethod
    def _model(self) -> Model:
        """The model of all roots."""

    @property
    @abstractmethod
    def _options(self) -> str:
        """What an order of hits depends on besides the query."""

    @abstractmethod
    def _local(self, question: str) -> tuple[Degraded, ...]:
        """What to say of a store that cannot answer a question."""

    @abstractmethod
    def _sound(self, work: Callable[[tuple[Degraded, ...]], Kind], progress: Progress) -> Kind:
        """Do some work, and once more if the index turned out to be damaged."""

    def notes(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        tags: Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        excludes: Sequence[str] = (),
        rerank: Sequence[str] | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        mmr: float | None = None,
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
        views: Sequence[View] | None = None,
    ) -> Answer:
        """The sections of notes that answer a question best, the best one of each note first.

        What stands in quotes must be found as it is. A note has to have all of `tags`, where `area` takes in `area/home`;
        `since` and `until` go by the date in its front matter, else by when its file was written. `views` are for who has
        looked at the tree already.
        """
        from lurcher.answer.page import answer_of, with_notes

        here = self._local("what notes say")
        clock = Clock()
        query, dated = self._note_query(
            text, limit=limit, mode=mode, tags=tags, since=since, until=until, files=filter_of(languages, paths, excludes),
            rerank=rerank, fusion=fusion, alpha=alpha, mmr=mmr, budget=budget, cursor=cursor, context=context,
            snippet_lines=snippet_lines,
        )  # fmt: skip

        def work(damage: tuple[Degraded, ...]) -> Answer:
            seen = None if damage else views  # what turned out to be damaged has been made anew
            if seen is None:
                seen = [project.view(progress, refresh=refresh, check=check) for project in self._together.projects]
            clock.lap("refresh")
            found = self._sections(query, dated, seen, clock.lap)
            answer = answer_of(found, query, self.settings, self._together.places[0], self._warm, clock.lap)
            return with_notes(answer, here + damage)

        return replace(self._sound(work, progress), timings_ms=clock.total())

    def _note_query(
        self,
        text: str,
        *,
        files: Filter,
        limit: int | None = None,
        mode: str | None = None,
        tags: Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        rerank: Sequence[str] | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        mmr: float | None = None,
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
    ) -> tuple[NoteQuery, str]:
        """A question as it is understood, and its dates as they were written: `30d` is another second with each page."""
        from lurcher.corpora.history import dates
        from lurcher.corpora.notes.query import NoteQuery, checked

        now = int(time.time())
        first = None if since is None else dates.parse(since, now=now)
        last = None if until is None else dates.parse(until, now=now, until=True)
        dates.check(first, last)
        query = checked(
            NoteQuery(
                text, self.settings.search.limit if limit is None else limit, mode or "auto", files, several(tags), first,
                last, self._rerankers(rerank), fusion, alpha, mmr, budget, cursor, context or self.settings.search.context,
                snippet_lines,
            )
        )  # fmt: skip
        return query, repr((since, until))

    def _sections(self, query: NoteQuery, dated: str, views: Sequence[View], lap: Lap) -> Findings:
        """Every section that answers a question, in order."""
        from lurcher.corpora.notes.search import found

        snapshot = self._together.snapshot(views)
        return found(
            snapshot, views, query, self._together.narrowed(query.filter), self.settings, self._model,
            lambda: self._written(views), self._print(query, dated, views, snapshot.generation), lap,
        )  # fmt: skip

    def _written(self, views: Sequence[View]) -> dict[str, int]:
        return {
            label + path: row.mtime_ns // 1_000_000_000
            for view, label in zip(views, self._together.labels(), strict=True)
            for path, row in view.manifest.rows.items()
        }

    def _print(
        self, query: NoteQuery, dated: str, views: Sequence[View], generation: int
    ) -> Fingerprint:
        from lurcher.answer import cursor as cursors

        return cursors.fingerprint(
            replace(query, since=None, until=None),
            root="\0".join(str(root) for root in self._together.roots),
            generation=generation,
            checksum=",".join(name for view in views for name in view.manifest.segments),
            options=self._options + dated,
        )
