"""The composition root: sources, index, lanes, ranking and budget put together.

    refresh → plan → lanes → ranking → rerank → pack → Answer
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lurcher import config
from lurcher.budget import cursor as cursors
from lurcher.budget.hits import Focus, Shown, oversized_note, places_of
from lurcher.budget.pack import START, pack
from lurcher.config import Settings
from lurcher.embedding.model import Model
from lurcher.errors import ConfigError, LurcherError, ModelError, UsageError
from lurcher.history.asked import Histories
from lurcher.index.outermost import outermost
from lurcher.index.project import Project, View, root_digest
from lurcher.index.reader import Snapshot
from lurcher.index.together import Together, state_of
from lurcher.lanes import symbol
from lurcher.lanes.lane import Found, Request, run_lanes
from lurcher.notes.asked import Notes
from lurcher.planning.checks import checked, filter_of, several
from lurcher.planning.filters import allowed_files
from lurcher.planning.intent import SYMBOL, parts_of
from lurcher.planning.plan import Plan, literal_pattern, make_plan
from lurcher.ranking.context import Context, Ranking, own_words
from lurcher.registry import ranking_lanes, ranking_named
from lurcher.rerank.reranker import Warm
from lurcher.rerank.second import Head, checked_names, look_again
from lurcher.sources.roots import Root, find_root
from lurcher.survey.asked import Surveys
from lurcher.terms.split import compound
from lurcher.types import Answer, Degraded, IndexState, Progress, Query, SymbolAnswer, silent

if TYPE_CHECKING:
    from lurcher.index.burst import Pace
    from lurcher.index.doctor import Finding
    from lurcher.index.look import Look
    from lurcher.index.watch import Notice, Update
    from lurcher.survey.answers import Standing
    from lurcher.survey.why import WhyAnswer

SOURCES = ("code", "history", "notes")
_OWN_RANKING = {"dense": "cosine", "literal": "literal", "structural": "structural", "related": "related"}
"""Modes that have a ranking of their own, whatever ranking is set for others."""
_NOT_RERANKED = ("literal", "structural", "related")
"""Modes whose hits match exactly, or have no question that a model could read."""


class Engine(Surveys, Histories, Notes):
    """Answers questions about one or more folders. Usable as a context manager and from several threads."""

    def __init__(
        self,
        projects: Sequence[Project],
        prefixes: Mapping[int, tuple[str, ...] | None],
        settings: Settings,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._together = Together(projects, prefixes)
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
    ) -> Engine:
        """An engine for `path`, or several.

        The index lives at the top of the repository that holds a path, or in the folder itself outside of git. `root` makes
        a folder its own root whatever is around it. `overrides` are settings by dotted name, as flags set them.
        """
        paths = [Path(path)] if isinstance(path, (str, Path)) else [Path(item) for item in path]
        if not paths:
            raise UsageError("no path was given", "name a folder, or leave the path out for the current one")
        if root is not None:
            top = Path(root).resolve()
            roots = [Root(top, (top / ".git").exists(), _inside(item, top)) for item in paths]
        else:
            roots = outermost([find_root(item) for item in paths], overrides)
        projects: list[Project] = []
        prefixes: dict[int, tuple[str, ...] | None] = {}
        settings: Settings | None = None
        for found in roots:
            number = next((i for i, project in enumerate(projects) if project.root.path == found.path), len(projects))
            if number == len(projects):
                mine = config.load(found.path, overrides)
                settings = settings or mine
                several = len({item.path for item in roots}) > 1
                folder = None if index_dir is None else Path(index_dir) / root_digest(found) if several else Path(index_dir)
                projects.append(Project(found, mine, folder))
                prefixes[number] = (found.prefix,) if found.prefix else None
            else:
                known = prefixes[number]
                prefixes[number] = None if known is None or not found.prefix else (*known, found.prefix)
        assert settings is not None
        return cls(projects, prefixes, settings, overrides)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._together.forget()

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._together.roots

    @property
    def _projects(self) -> list[Project]:
        return self._together.projects

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for; with several roots, paths begin with the name of theirs."""
        return self._together.locate(path)

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
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> Answer:
        """The best answer to a question: hits in order, each with its reason.

        Without `sources` the code is asked, or the notes where there is no code.
        `fusion` adds lanes up (linear) or fuses their ranks (rrf), whatever the ranking; `alpha` and `mmr` are for linear.
        `rerank` names second looks at the first hits; none given: as the setting `search.rerank` has it.
        `refresh=False` answers from the index as it is and tells how stale that is; `check=False` does not even look.
        """
        started = time.perf_counter()
        wanted = ("code",) if sources is None else several(sources)
        undecided = sources is None and self._reads_as_prose(text, mode, fixed or word or multiline)
        for source in wanted:
            if source not in SOURCES:
                raise UsageError(f"unknown source '{source}'", f"known are: {', '.join(SOURCES)}")
        if wanted == ("history",):
            return self.history(
                text, limit=limit, mode=mode, ranking=ranking, languages=languages, paths=paths, excludes=excludes,
                budget=budget, cursor=cursor, context=context, snippet_lines=snippet_lines, rerank=rerank,
                fusion=fusion, alpha=alpha, mmr=mmr, refresh=refresh, progress=progress,
            )  # fmt: skip
        if wanted == ("notes",):
            return self.notes(
                text, limit=limit, mode=mode, languages=languages, paths=paths, excludes=excludes, budget=budget,
                cursor=cursor, context=context, snippet_lines=snippet_lines, refresh=refresh, check=check, progress=progress,
            )  # fmt: skip
        if wanted != ("code",):
            asked = ", ".join(wanted) or "nothing"
            raise UsageError(f"code, history and notes are asked one by one, not {asked}", "name one of them")
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
                self._rerankers(rerank),
                fusion,
                alpha,
                mmr,
            )
        )

        def work(notes: tuple[Degraded, ...]) -> Answer:
            views = None
            if undecided:
                views = [project.view(progress, refresh=refresh, check=check) for project in self._projects]
                if self._only_notes(views):
                    found = self.notes(
                        text, limit=limit, mode=mode, languages=languages, paths=paths, excludes=excludes, budget=budget,
                        cursor=cursor, context=context, snippet_lines=snippet_lines, refresh=refresh, check=check,
                        progress=progress, views=views,
                    )  # fmt: skip
                    return replace(found, degraded=notes + found.degraded)
            return self._answer(query, started, (refresh, check), progress, notes, views=views)

        return self._sound(work, progress)

    def related(
        self,
        path: str | Path,
        line: int,
        *,
        limit: int | None = None,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        excludes: Sequence[str] = (),
        budget: int | None = None,
        cursor: str | None = None,
        context: str | None = None,
        snippet_lines: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> Answer:
        """Units like the one around a line of a file: by the words they share and by nearness in meaning."""
        from lurcher.planning.likeness import RELATED, plan_like
        from lurcher.survey.places import file_at, unit_at

        started = time.perf_counter()
        meant = self._together.meant(path)
        query = checked(
            Query(
                f"{meant[-1]}:{line}", self.settings.search.limit if limit is None else limit,
                filter=filter_of(languages, paths, excludes),
                budget=budget, cursor=cursor, context=context or self.settings.search.context, snippet_lines=snippet_lines,
            )
        )  # fmt: skip
        query = replace(query, mode=RELATED)

        def plan(snapshot: Snapshot) -> Plan:
            return plan_like(snapshot, unit_at(snapshot, file_at(snapshot, meant), line), query.text)

        return self._sound(
            lambda notes: self._answer(query, started, (refresh, check), progress, notes, plan), progress
        )

    def why(
        self,
        path: str | Path,
        text: str,
        *,
        line: int | None = None,
        limit: int | None = None,
        mode: str | None = None,
        ranking: str | None = None,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        excludes: Sequence[str] = (),
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> WhyAnswer:
        """Why a file, or the unit around one of its lines, is or is not among the hits for a question."""
        from lurcher.survey.why import left_out, unknown, why

        defaults = self.settings.search
        query = checked(
            Query(
                text, defaults.limit if limit is None else limit, mode or defaults.mode, ranking or defaults.ranking,
                filter_of(languages, paths, excludes),
            )
        )  # fmt: skip
        meant = self._together.meant(path)

        def work(notes: tuple[Degraded, ...]) -> WhyAnswer:
            ranked = self._ranked(query, _Clock(time.perf_counter()), (refresh, check), progress)
            standing = ranked.standing(notes)
            missing = left_out(ranked.snapshot, meant, ranked.views, self._projects, self._together.labels())
            if missing is not None:
                return unknown(query, missing[0], line, missing[1], ranked.context, standing)
            return why(ranked.context, ranked.ranking, ranked.name, query, meant, line, standing)

        return self._sound(work, progress)

    def _reads_as_prose(self, text: str, mode: str | None, exact: bool) -> bool:
        """Whether a question could be asked of notes: not one for exact text, a pattern or a name."""
        mode = mode or self.settings.search.mode
        if exact or mode not in ("auto", "hybrid", "lexical", "dense") or not isinstance(text, str):
            return False
        return mode != "auto" or literal_pattern(Query(text)) is None

    def _heal(self, progress: Progress) -> None:
        """Build anew what turned out to be damaged only now, since checksums are verified on first touch."""
        if not any([project.heal(progress) for project in self._projects]):
            for project in self._projects:
                project.rebuild(progress)
        self._together.forget()

    def _answer(
        self,
        query: Query,
        started: float,
        freshness: tuple[bool, bool],
        progress: Progress,
        notes: tuple[Degraded, ...],
        plan: Callable[[Snapshot], Plan] | None = None,
        views: Sequence[View] | None = None,
    ) -> Answer:
        clock = _Clock(started)
        ranked = self._ranked(query, clock, freshness, progress, plan, views)
        snapshot, context = ranked.snapshot, ranked.context
        focus = Focus(context)
        exact = context.plan.mode in _NOT_RERANKED
        places = places_of(snapshot, ranked.ranking, query.context, focus)
        clock.lap("ranking")
        print_ = cursors.fingerprint(
            query,
            root="\0".join(str(root) for root in self.roots),
            generation=snapshot.generation,
            checksum=",".join(name for view in ranked.views for name in view.manifest.segments),
            options=self._options,
        )
        came = cursors.decode(query.cursor, expect=print_) if query.cursor is not None else None
        shown = Shown(snapshot, places, ranked.ranking, query, focus)
        second = look_again(
            () if exact else query.rerank, query.text, Head(len(places), shown.score, shown.candidate), self.settings,
            self.roots[0], self._warm, said=came.said if came else None,
        )  # fmt: skip
        if query.rerank:
            clock.lap("rerank")
        page = pack(
            lambda i: shown.cost(second.before(i)), len(places), budget=query.budget, limit=query.limit,
            start=came.place if came else START,
        )  # fmt: skip
        hits = tuple(second.told(i, shown.hit(second.before(i))) for i in page.indices)
        page = replace(page, oversized=tuple(second.before(i) for i in page.oversized))
        clock.lap("pack")
        searched, said = _searched(query, context, len(places))
        notes += ranked.notes + said + _unknown_name(context) + second.notes
        if exact and query.rerank:
            notes += (Degraded(query.rerank[0], f"{context.plan.mode} hits are not reranked", "use --mode hybrid"),)
        kept = second.said if query.rerank and not exact else None
        following = cursors.encode(cursors.CursorState(page.next, print_, kept)) if page.next else None
        degraded = notes + tuple(note for view in ranked.views for note in view.degraded) + oversized_note(page, shown)
        return Answer(
            query.text, context.plan.mode, context.plan.intent, ranked.name, ("code",), hits, len(places), page.tokens,
            following, state_of(snapshot, ranked.views), degraded, clock.total(), searched,
        )  # fmt: skip

    def _ranked(
        self,
        query: Query,
        clock: _Clock,
        freshness: tuple[bool, bool],
        progress: Progress,
        plan: Callable[[Snapshot], Plan] | None = None,
        views: Sequence[View] | None = None,
    ) -> _Ranked:
        """A question as far as the order of all units; `plan` says how to answer it, where its text does not.

        `views` are what was seen of the tree, where somebody has looked already.
        """
        refresh, check = freshness
        pattern = literal_pattern(query)
        if pattern is not None:
            from lurcher.index.passing import passing_view
        views = views or [
            (passing_view(project, pattern) if pattern is not None else None)
            or project.view(progress, refresh=refresh, check=check)
            for project in self._projects
        ]
        snapshot = self._together.snapshot(views)
        clock.lap("refresh")
        if plan is not None:
            planned = plan(snapshot)
        else:
            languages = (query.filter.languages or snapshot.languages) if "$" in query.text else ()
            planned = make_plan(query.text, query.mode, snapshot, pattern, languages)
        clock.lap("plan")
        ranking, context, name, notes = self._rank(snapshot, planned, query, clock)
        return _Ranked(views, snapshot, context, ranking, name, notes)

    def _rank(
        self, snapshot: Snapshot, plan: Plan, query: Query, clock: _Clock
    ) -> tuple[Ranking, Context, str, tuple[Degraded, ...]]:
        """The ranking with what it worked on, its name, and what was left out on the way."""
        model = self._model
        allowed = allowed_files(snapshot, self._together.narrowed(query.filter))
        clock.lap("filter")
        notes: tuple[Degraded, ...] = ()
        name = _OWN_RANKING.get(plan.mode, query.order)
        try:
            request = Request(snapshot, plan, self.settings, allowed, model, query.filter.languages)
            found, failed = self._lanes(name, request, clock)
        except ModelError as problem:
            # Nearness alone was asked for and cannot be had: words are better than nothing, and the answer says so.
            notes = (Degraded("dense", f"{problem.message}; these hits are by words", problem.hint),)
            plan, name = replace(plan, mode="lexical"), query.order
            found, failed = self._lanes(name, Request(snapshot, plan, self.settings, allowed, model), clock)
        own = own_words(snapshot, plan, [root.name for root in self.roots])
        context = Context(snapshot, plan, self.settings, found, allowed, query.limit, own, alpha=query.alpha, mmr=query.mmr)
        return ranking_named(name)(context), context, name, notes + failed

    def _lanes(self, ranking: str, request: Request, clock: _Clock) -> tuple[dict[str, Found], tuple[Degraded, ...]]:
        names = ranking_lanes(ranking, request.plan, self.settings)
        if request.model.path is None and request.plan.mode != "dense":
            # Who wants no model need not be told on each query that there is none.
            names = tuple(name for name in names if name != "dense")
        return run_lanes(names, request, clock.lap)

    def _rerankers(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """The second looks that were asked for, else those that are set and are for code."""
        if asked is not None:
            return checked_names(several(asked))
        return checked_names([name for name in self.settings.search.rerank.split() if name != "outcome"])

    @property
    def _model(self) -> Model:
        """The model of all roots, if they have the same."""
        models = [project.model for project in self._projects]
        if len({model.digest for model in models}) == 1:
            return models[0]
        return models[0].broken(ModelError("the folders have different models", "set dense.model alike for all of them"))

    @cached_property
    def _options(self) -> str:
        """What an order of hits depends on besides the query; what concerns the index is in the index's own digest."""
        decisive = sorted((key, value) for key, value in self.settings.to_dict().items() if not key.startswith("index."))
        return repr(decisive) + repr(sorted(self._together.prefixes.items()))

    def symbol(
        self, name: str, *, limit: int = 20, languages: Sequence[str] = (), progress: Progress = silent
    ) -> SymbolAnswer:
        """The definitions of a name, best first."""
        query = checked(Query(name, limit, filter=filter_of(languages)))
        return self._sound(lambda notes: self._definitions(query, progress, notes), progress)

    def _definitions(self, query: Query, progress: Progress, notes: tuple[Degraded, ...]) -> SymbolAnswer:
        views = [project.view(progress) for project in self._projects]
        snapshot = self._together.snapshot(views)
        allowed = allowed_files(snapshot, self._together.narrowed(query.filter))
        matches = [match for match in symbol.find(snapshot, [query.text.strip()]) if allowed[match.file]]
        degraded = notes + tuple(note for view in views for note in view.degraded)
        if matches and not any(match.fits for match in matches):
            degraded += (Degraded("symbol", f"nothing is named {query.text.strip()}; these have its last part", ""),)
        best = symbol.best(snapshot, symbol.fitting(matches), query.limit)
        return SymbolAnswer(query.text, best, state_of(snapshot, views), degraded)

    def _stand(
        self, freshness: tuple[bool, bool], progress: Progress, notes: tuple[Degraded, ...]
    ) -> tuple[Snapshot, Standing]:
        from lurcher.survey.answers import Standing

        refresh, check = freshness
        views = [project.view(progress, refresh=refresh, check=check) for project in self._projects]
        snapshot = self._together.snapshot(views)
        return snapshot, Standing(state_of(snapshot, views), notes + tuple(note for view in views for note in view.degraded))

    # -- the index --------------------------------------------------------------------------------------------------------

    def index(self, *, rebuild: bool = False, history: bool = False, progress: Progress = silent) -> dict[str, Any]:
        """Bring the index up to date, or make it anew; its status then, with `degraded` if it could not be done as asked.

        With `history` also that of the commits, however many there are.
        """
        notes: list[Degraded] = []
        for project in self._projects:
            view = project.rebuild(progress) if rebuild else project.view(progress, limited=False)
            notes += view.degraded
            if history:
                past = self._past_of(project)
                notes += (past.rebuild(progress) if rebuild else past.view(progress, seconds=None)).degraded
        degraded = [note.to_dict() for note in notes]
        return {**self.status(), **({"degraded": degraded} if degraded else {})}

    def refresh(self, *, progress: Progress = silent) -> IndexState:
        """Index what changed, whatever its number."""
        views = [project.view(progress, limited=False) for project in self._projects]
        stale = sum(view.stale_paths for view in views)
        return IndexState(sum(view.manifest.generation for view in views), stale == 0, stale)

    @property
    def indexed(self) -> bool:
        """Whether every root has an index to answer from."""
        return all(project.has_index() for project in self._projects)

    def look(self, *, progress: Progress = silent) -> Look:
        """Looks at the tree as a query does, and at HEAD; indexes what changed. Questions that are asked without `check` right
        after it have the answers that they would have with it."""
        from lurcher.history.head import head_of
        from lurcher.index.look import Look

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
        """Remove the index of every root. True if there was one."""
        histories = [self._past_of(project).clear() for project in self._projects]
        return any([project.clear() for project in self._projects]) or any(histories)

    def watch(
        self,
        tell: Callable[[Update | Notice], None],
        *,
        stop: threading.Event | None = None,
        rebuild: bool = False,
        progress: Progress = silent,
        pace: Pace | None = None,
    ) -> None:
        """Keep the index up to date until `stop` is set: after each burst of changes it is updated, and `tell` is told.

        Questions may be asked meanwhile, from other threads too. What goes wrong on the way is told and tried again; it
        ends by itself only with an error, such as a root that is gone.
        """
        from lurcher.index.burst import Pace
        from lurcher.index.watch import watch

        for project in self._projects if rebuild else ():
            project.rebuild(progress)
        watch(self._projects, self._reopened, tell, stop or threading.Event(), progress, pace or Pace())

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
        from lurcher.index.status import status_of

        entries = [status_of(project, skipped=skipped) for project in self._projects]
        return entries[0] if len(entries) == 1 else {"roots": entries}


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
    from lurcher.index.doctor import PROBLEM, Finding, examine, examine_installation

    paths = [path] if isinstance(path, (str, Path)) else list(path)
    for item in paths:
        find_root(Path(item))
    yield from examine_installation()
    try:
        engine = Engine.open(paths, overrides=overrides)
    except LurcherError as error:
        check = "settings" if isinstance(error, ConfigError) else "folder"
        yield Finding(check, PROBLEM, error.message, error.hint)
        return
    for project in engine._projects:
        yield from examine(project, progress, quick=quick)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A question with every unit that matched in order, and all that led to it."""

    views: Sequence[View]
    snapshot: Snapshot
    context: Context
    ranking: Ranking
    name: str
    """Of the ranking."""
    notes: tuple[Degraded, ...]

    def standing(self, notes: tuple[Degraded, ...]) -> Standing:
        from lurcher.survey.answers import Standing

        degraded = notes + self.notes + tuple(note for view in self.views for note in view.degraded)
        return Standing(state_of(self.snapshot, self.views), degraded)


class _Clock:
    def __init__(self, started: float) -> None:
        self._started = self._last = started
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps[name] = (now - self._last) * 1000
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self._laps, "total": (time.perf_counter() - self._started) * 1000}


def _unknown_name(context: Context) -> tuple[Degraded, ...]:
    """Says so when a queried name occurs nowhere as a whole and the hits are for its parts."""
    plan = context.plan
    if plan.intent != SYMBOL or context.symbols or not context.lexical.idf:
        return ()
    whole = {compound(part) for part in parts_of(plan.text)}
    if whole & set(context.lexical.idf):
        return ()
    return (Degraded("symbol", f"nothing is named {plan.text.strip()}; these hits have parts of the name", ""),)


def _searched(query: Query, context: Context, hits: int) -> tuple[tuple[str, ...], tuple[Degraded, ...]]:
    """The languages in which a pattern was searched for, and what to say about patterns."""
    lane = context.lanes.get("structural")
    if lane is not None:
        notes: tuple[Degraded, ...] = getattr(lane, "notes", ())
        if query.mode == "auto" and not hits:
            notes += (Degraded("structural", "the query was read as a pattern", "use --mode hybrid to read it as words"),)
        return getattr(lane, "languages", ()), notes
    if query.mode == "auto" and "$" in query.text:
        from lurcher.planning.metavariables import looks_like_pattern
        from lurcher.structural.languages import installed

        if looks_like_pattern(query.text) and not installed():
            hint = "for structural search run: pip install 'lurcher[structural]'"
            return (), (Degraded("structural", "the query looks like a pattern; these hits are by words", hint),)
    return (), ()


def _inside(path: Path, root: Path) -> str:
    try:
        relative = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{path} is not inside of {root}", "name a path below the root") from None
    return "" if relative == "." else relative
