"""The composition root: sources, index, lanes, ranking and budget put together.

    refresh → plan → lanes → ranking → rerank → pack → Answer
"""

from __future__ import annotations

import os

from lurcher import config
from lurcher.answer.page import with_notes
from lurcher.config import Settings
from lurcher.corpora.code import Codes, means
from lurcher.errors import ConfigError, LurcherError, UsageError
from lurcher.indexing.root_index import Project
from lurcher.indexing.workspace import Together, open_roots, state_of
from lurcher.parts import Completed, Warm
from lurcher.query.plan import literal_pattern
from lurcher.query.sources import installed_source, wanted_sources
from lurcher.query.validate import checked, filter_of, several
from lurcher.runtime.light import TYPE_CHECKING, replace
from lurcher.runtime.timings import Clock
from lurcher.sources.roots import find_root
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Answer, Degraded, IndexState, Progress, Query, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from threading import Event
    from types import TracebackType
    from typing import Any

    from lurcher.corpora.documents import Gathered
    from lurcher.corpora.federation import Across
    from lurcher.corpora.libraries import Libraries
    from lurcher.indexing.root_index import View
    from lurcher.indexing.tree_check import Look
    from lurcher.indexing.watcher import Notice, Pace, Update
    from lurcher.inspect.answers import Standing
    from lurcher.inspect.doctor.checks import Finding
    from lurcher.inspect.files import Surveys
    from lurcher.stores.shared import Shared


if TYPE_CHECKING:

    class _Parts(Codes, Surveys, Across, Libraries, Gathered): ...

else:

    class _Parts(Codes, Completed):
        """What answers from code; other questions load what answers them."""

        LATER = (
            ("lurcher.inspect.files", "Surveys"), ("lurcher.corpora.federation", "Across"),
            ("lurcher.corpora.libraries", "Libraries"), ("lurcher.corpora.documents", "Gathered"),
        )  # fmt: skip


class Engine(_Parts):
    """Answers questions about one or more folders. Usable as a context manager and from several threads."""

    def __init__(
        self,
        projects: Sequence[Project],
        prefixes: Mapping[int, tuple[str, ...] | None],
        settings: Settings,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._together = Together(projects, prefixes)
        self._shared = _shared(settings, self._together)
        self._pasts = {}
        self._warm = Warm()
        self.settings = settings
        self._overrides = overrides

    @classmethod
    def open(
        cls,
        path: str | Path | Iterable[str | Path] = ".",
        *,
        root: str | Path | None = None,
        index_dir: str | Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        store: str | None = None,
        project: str | Sequence[str] | None = None,
        fallback: str | None = None,
    ) -> Engine:
        """An engine for `path`, or several.

        The index lives at the top of the repository that holds a path, or in the folder itself outside of git. `root` makes
        a folder its own root whatever is around it. `overrides` are settings by dotted name, as flags set them.
        `store` is the address of a shared store whose `project`, or several, answer; `fallback="local"` has the local
        index answer when it does not.
        """
        named = project if project is None or isinstance(project, str) else ",".join(project)
        own = {"store.url": store, "store.project": named, "store.fallback": fallback}
        overrides = {**(overrides or {}), **{key: value for key, value in own.items() if value is not None}}
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        if not paths:
            raise UsageError("no path was given", "name a folder, or leave the path out for the current one")
        opened = open_roots(paths, root=root, index_dir=index_dir, overrides=overrides)
        return cls(opened.projects, opened.prefixes, opened.settings, overrides)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for project in self._together.projects:
            project.close()
        self._together.forget()
        if self._shared is not None:
            self._shared.close()

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._together.roots

    @property
    def projects(self) -> tuple[Project, ...]:
        """The index of each root."""
        return tuple(self._together.projects)

    @property
    def _projects(self) -> list[Project]:
        return self._together.projects

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for; with several roots, paths begin with the name of theirs."""
        return self._in_library(path) or self._in_source(path) or self._together.locate(path)

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Settings that were given when it was opened, which go before any file's."""
        return self._overrides or {}

    @property
    def labels(self) -> list[str]:
        """What the paths of each root begin with in hits."""
        return self._together.labels()

    def name_of(self, path: Path) -> str:
        """What hits call a file or folder, which is given as it is once every link is followed; the other way round."""
        return self._together.name_of(path)

    # -- questions --------------------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        sources: Sequence[str] | None = None,
        mode: str | None = None,
        ranking: str | None = None,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        excludes: Sequence[str] = (),
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
        fixed: bool = False,
        case: str = "smart",
        word: bool = False,
        multiline: bool = False,
        rerank: Sequence[str] | None = None,
        fusion: str | None = None,
        alpha: float | None = None,
        mmr: float | None = None,
        since: str | None = None,
        until: str | None = None,
        author: str | None = None,
        outcomes: Sequence[str] = (),
        tags: Sequence[str] = (),
        libraries: Sequence[str] = (),
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
        views: Sequence[View] | None = None,
        reasons: bool = True,
        links: bool = True,
    ) -> Answer:
        """The best answer to a question: hits in order, each with its reason.

        `sources` are any of code, history and notes, or `all`; without them the code is asked, or the notes where there is
        no code; or `libraries` alone: installed ones that have an index, all of them or those named by `libraries`.
        Only history and notes have dates, only history has authors and outcomes, only notes have tags.
        `fusion` adds lanes up (linear) or fuses their ranks (rrf), whatever the ranking; `alpha` and `mmr` are for linear.
        `rerank` names second looks at the first hits; none given: as the setting `search.rerank` has it.
        `refresh=False` answers from the index as it is and tells how stale that is; `check=False` does not even look.
        `views` are for who has looked at the tree already; without `reasons` hits do not tell why they are there,
        and without `links` not what they have to do with hits of other sources.
        """
        page: dict[str, Any] = {
            "limit": limit, "budget": budget, "cursor": cursor, "context": context, "snippet_lines": snippet_lines
        }  # fmt: skip
        files: dict[str, Any] = {"languages": languages, "paths": paths, "excludes": excludes}
        order: dict[str, Any] = {"rerank": rerank, "fusion": fusion, "alpha": alpha, "mmr": mmr}
        exact: dict[str, Any] = {"fixed": fixed, "case": case, "word": word, "multiline": multiline}
        narrowed: dict[str, Any] = {"tags": tags, "since": since, "until": until, "author": author, "outcomes": outcomes}
        elsewhere = installed_source(sources)
        if elsewhere is not None:
            here = self._local(f"--in {elsewhere}")
            options = {"mode": mode, "ranking": ranking, "refresh": refresh, "check": check, "reasons": reasons, **narrowed}
            return with_notes(self._of_source(elsewhere, text, {**options, **page, **files, **order, **exact}, progress), here)
        if libraries and sources is None:
            sources = ["libraries"]
        asked = wanted_sources(
            sources, libraries=several(libraries), since=since, until=until, author=author, outcomes=outcomes, tags=tags
        )
        shared = self._shared
        if asked.sources == ("history",):
            past = self.history(
                text, mode=mode, ranking=ranking, since=since, until=until, author=author, outcomes=outcomes, **page, **files,
                **order, refresh=refresh, progress=progress,
            )  # fmt: skip
            return with_notes(past, asked.notes)
        of_notes: dict[str, Any] = {"mode": mode, "tags": tags, "since": since, "until": until, **page, **files, **order}
        fresh: dict[str, Any] = {"refresh": refresh, "check": check, "progress": progress}
        if asked.sources == ("notes",):
            return with_notes(self.notes(text, **of_notes, **fresh, views=views), asked.notes)
        defaults = self.settings.search
        query = checked(
            Query(
                text,
                defaults.limit if limit is None else limit,
                mode or defaults.mode,
                ranking or defaults.ranking,
                filter_of(languages, paths, excludes),
                budget,
                cursor,
                context or defaults.context,
                snippet_lines,
                fixed,
                case,
                word,
                multiline,
                self._rerankers(rerank, "history" in asked.sources),
                fusion,
                alpha,
                mmr,
                reasons,
            )
        )
        if asked.sources != ("code",):
            here = self._local(f"--in {'libraries' if len(asked.sources) == 1 else 'all'}")
            if len(asked.sources) == 1:
                found = self._of_libraries(query, several(libraries), **fresh)
            else:
                found = self._across(asked.sources, query, narrowed, views, links=links, **fresh)
            return with_notes(found, here + asked.notes)
        instead: tuple[Degraded, ...] = ()
        if shared is not None:
            answer, instead = self._from_store(shared, lambda: self._asked_of_store(shared, query, progress))
            if answer is not None:
                return with_notes(answer, asked.notes)
        undecided = sources is None and self._reads_as_prose(text, mode, fixed or word or multiline)

        def work(notes: tuple[Degraded, ...]) -> Answer:
            seen = None if notes else views  # what turned out to be damaged has been made anew
            if undecided:
                seen = seen or [project.view(progress, refresh=refresh, check=check) for project in self._projects]
                if self._only_notes(seen):
                    return with_notes(self.notes(text, **of_notes, **fresh, views=seen), notes)
            return self._answer(query, (refresh, check), progress, notes, views=seen)

        def work_ahead(notes: tuple[Degraded, ...]) -> Answer:
            """The answer, found while it is looked whether the index is as the tree is."""
            ahead = self._ahead(undecided or means(query)) if check and not notes and not views else None
            if ahead is None:
                return work(notes)
            seen, looks = ahead
            answer = None
            if not (undecided and self._only_notes(seen)):
                answer = self._answer(query, (refresh, check), progress, notes, views=seen)
            clock = Clock(answer.timings_ms if answer is not None else None)
            if any(found is None or found for found in [look.end() for look in looks]) or answer is None:
                return work(notes)
            clock.lap("refresh")
            return replace(answer, timings_ms=clock.total())

        return with_notes(self._sound(work_ahead, progress), instead)

    def _asked_of_store(self, shared: Shared, query: Query, progress: Progress) -> Answer:
        """The answer of a shared store."""
        if query.mode in ("literal", "structural") or literal_pattern(query) is not None:
            from lurcher.stores.search import needs_texts

            raise needs_texts("structural" if query.mode == "structural" else "literal")
        return self._answer(query, (True, True), progress, (), shared=shared)

    def _beside(self, together: Together) -> Engine:
        other = Engine(together.projects, together.prefixes, self.settings, self._overrides)
        other._together, other._warm, other._shared = together, self._warm, None  # what is here is not in the store
        return other

    def _heal(self, progress: Progress) -> None:
        """Build anew what turned out to be damaged only now, since checksums are verified on first touch."""
        if not any([project.heal(progress) for project in self._projects]):
            for project in self._projects:
                project.rebuild(progress)
        self._together.forget()

    def _stand(
        self, freshness: tuple[bool, bool], progress: Progress, notes: tuple[Degraded, ...]
    ) -> tuple[Snapshot, Standing]:
        from lurcher.inspect.answers import Standing

        refresh, check = freshness
        views = [project.view(progress, refresh=refresh, check=check, meaning=False) for project in self._projects]
        snapshot = self._together.snapshot(views)
        told = notes + tuple(note for view in views for note in view.degraded)
        return snapshot, Standing(state_of(snapshot, views), told, tuple(views))

    # -- the index --------------------------------------------------------------------------------------------------------

    def index(
        self, *, rebuild: bool = False, history: bool = False, share: bool = True, progress: Progress = silent
    ) -> dict[str, Any]:
        """Bring the index up to date, or make it anew; its status then, with `degraded` if it could not be done as asked.

        With `history` also that of the commits, however many there are. What a shared store has is brought up to date too,
        where one is set, unless not to `share` it.
        """
        notes: list[Degraded] = []
        if history and share and self._shared is not None:
            notes.append(Degraded("store", "a shared store has no commits: their index stays here", ""))
        for project in self._projects:
            view = project.rebuild(progress) if rebuild else project.view(progress, limited=False)
            notes += view.degraded
            if history:
                past = self._past_of(project)
                notes += (past.rebuild(progress) if rebuild else past.view(progress, seconds=None)).degraded
        sent = [] if self._shared is None or not share else [
            self._shared.write(project, progress, rebuild=rebuild) for project in self._projects
        ]  # fmt: skip
        degraded = [note.to_dict() for note in notes]
        return {**self.status(), **({"sent": sent} if sent else {}), **({"degraded": degraded} if degraded else {})}

    def refresh(self, *, progress: Progress = silent) -> IndexState:
        """Index what changed, whatever its number."""
        views = [project.view(progress, limited=False) for project in self._projects]
        stale = sum(view.stale_paths for view in views)
        return IndexState(sum(view.manifest.generation for view in views), stale == 0, stale)

    @property
    def shares(self) -> bool:
        """Whether a shared store answers questions about code."""
        return self._shared is not None

    @property
    def elsewhere(self) -> bool:
        """Whether a shared store answers for a project that is not checked out here: it can answer only some questions."""
        return self._shared is not None and self._shared.foreign

    def check_here(self) -> None:
        """An error where the project is elsewhere."""
        self._local("this question")

    @property
    def indexed(self) -> bool:
        """Whether every root has an index to answer from."""
        return all(project.has_index() for project in self._projects)

    def look(self, *, progress: Progress = silent) -> Look:
        """Looks at the tree as a query does, and at HEAD; indexes what changed. Questions that are asked without `check` right
        after it have the answers that they would have with it."""
        from lurcher.indexing.tree_check import Look
        from lurcher.sources.git.refs import head_of

        views = [project.view(progress) for project in self._projects]
        pasts = [self._past_of(project) for project in self._projects]
        return Look(
            state_of(self._together.snapshot(views), views),
            tuple(view.degraded for view in views),
            tuple(view.manifest.segments for view in views),
            tuple((head_of(past.top), past.identity()) for past in pasts),
            sum(view.snapshot.file_count for view in views),
        )

    def clear(self) -> bool:
        """Remove the index of every root, from the store where one is set. True if there was one."""
        if self._shared is not None:
            return self._shared.clear()
        histories = [self._past_of(project).clear() for project in self._projects]
        return any([project.clear() for project in self._projects]) or any(histories)

    def watch(
        self,
        tell: Callable[[Update | Notice], None],
        *,
        stop: Event | None = None,
        rebuild: bool = False,
        progress: Progress = silent,
        pace: Pace | None = None,
    ) -> None:
        """Keep the index up to date until `stop` is set: after each burst of changes it is updated, and `tell` is told.

        Questions may be asked meanwhile, from other threads too. What goes wrong on the way is told and tried again; it
        ends by itself only with an error, such as a root that is gone.
        """
        from threading import Event

        from lurcher.indexing.watcher import Pace, watch

        if self._shared is not None:
            raise UsageError("--watch keeps the local index up to date, not a store", "add --store local, or leave --watch out")
        for project in self._projects if rebuild else ():
            project.rebuild(progress)
        watch(self._projects, self._reopened, tell, stop or Event(), progress, pace or Pace())

    def _reopened(self, project: Project, anew: bool) -> Project:
        """The project with its settings as they are now: the same one if they are as they were, unless it must be `anew`."""
        settings = config.load(project.root.path, self._overrides)
        if settings == project.settings and not anew:
            return project
        other = Project(project.root, settings, project.index_dir)
        self._together.replace(project, other)
        return other

    def status(self, *, skipped: bool = False) -> dict[str, Any]:
        """What the index holds, without changing it; with `skipped` also the paths that were read and left out."""
        from lurcher.inspect.status import status_of

        entries = [status_of(project, skipped=skipped) for project in self._projects]
        libraries = self.libraries()
        shared = {} if self._shared is None else {"shared": self._shared.status()}
        more = {**({"libraries": libraries} if libraries else {}), **shared}
        return {**(entries[0] if len(entries) == 1 else {"roots": entries}), **more}


def _shared(settings: Settings, together: Together) -> Shared | None:
    if not settings.store.url and not settings.store.project:  # most have none, and need not load what reads it
        return None
    from lurcher.stores.shared import shared_of

    return shared_of(settings, together.roots)


def diagnose(
    path: str | Path | Iterable[str | Path] = ".",
    *,
    quick: bool = False,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Iterator[Finding]:
    """Every check of installation, settings, index and tree, one finding after the other; nothing is changed.

    No engine is needed for it, since one cannot always be opened: that is a finding too. Only a path that is not there raises.
    """
    from lurcher.inspect.doctor.checks import PROBLEM, Finding, examine, examine_installation

    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    for item in paths:
        find_root(item)
    yield from examine_installation()
    try:
        engine = Engine.open(paths, overrides=overrides)
    except LurcherError as error:
        check = "settings" if isinstance(error, ConfigError) else "folder"
        yield Finding(check, PROBLEM, error.message, error.hint)
        return
    for project in engine._projects:
        yield from examine(project, progress, quick=quick)
