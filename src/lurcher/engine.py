"""The composition root: sources, index, lanes, ranking and budget put together.

    refresh → plan → lanes → ranking → pack → Answer
"""

from __future__ import annotations

import os
import posixpath
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from lurcher import config
from lurcher.budget import cursor as cursors
from lurcher.budget.hits import Focus, Shown, oversized_note, places_of
from lurcher.budget.pack import START, pack
from lurcher.config import Settings
from lurcher.embedding.model import Model
from lurcher.errors import ConfigError, CorruptIndex, LurcherError, ModelError, PathError, QueryError, UsageError
from lurcher.index.project import Project, View, files_settings, root_digest
from lurcher.index.reader import Segment, Snapshot
from lurcher.lanes import symbol
from lurcher.lanes.lane import Found, Request, run_lanes
from lurcher.literal.pattern import CASES
from lurcher.planning.filters import allowed_files, check_globs, resolve_languages
from lurcher.planning.intent import SYMBOL, parts_of
from lurcher.planning.plan import Plan, literal_pattern, make_plan
from lurcher.ranking.context import Context, Ranking, own_words
from lurcher.registry import ranking_lanes, ranking_named
from lurcher.sources.files import list_files
from lurcher.sources.roots import Root, find_root
from lurcher.terms.split import compound
from lurcher.types import CONTEXTS, MODES, Answer, Degraded, Filter, IndexState, Progress, Query, SymbolAnswer

if TYPE_CHECKING:
    from lurcher.history.explain import Judged, Near
    from lurcher.history.explained import ExplainAnswer
    from lurcher.index.burst import Pace
    from lurcher.index.doctor import Finding
    from lurcher.index.watch import Notice, Update
    from lurcher.survey.answers import ContextAnswer, ExistsAnswer, ImpactAnswer, OutlineAnswer, Standing

Kind = TypeVar("Kind")

MAX_QUERY_CHARS = 100_000
_TERMINAL_CODE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and the like, which come along when a terminal's output is pasted."""
SOURCES = ("code",)
_OWN_RANKING = {"dense": "cosine", "literal": "literal", "structural": "structural"}
"""Modes that have a ranking of their own, whatever ranking is set for others."""


def _silent(what: str, done: int, total: int) -> None:
    pass


class Engine:
    """Answers questions about one or more folders. Usable as a context manager and from several threads."""

    def __init__(
        self,
        projects: Sequence[Project],
        prefixes: Mapping[int, tuple[str, ...] | None],
        settings: Settings,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._projects = list(projects)
        self._prefixes = dict(prefixes)
        self.settings = settings
        self._overrides = overrides
        self._combined: tuple[tuple[Snapshot, ...], Snapshot] | None = None

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
            roots = _outermost([find_root(item) for item in paths], overrides)
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
        self._combined = None

    @property
    def roots(self) -> tuple[Path, ...]:
        return tuple(project.root.path for project in self._projects)

    # -- questions --------------------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        sources: Sequence[str] = SOURCES,
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
        refresh: bool = True,
        check: bool = True,
        progress: Progress = _silent,
    ) -> Answer:
        """The best answer to a question: hits in order, each with its reason.

        `refresh=False` answers from the index as it is and tells how stale that is; `check=False` does not even look.
        """
        started = time.perf_counter()
        defaults = self.settings.search
        query = _checked(
            Query(
                text,
                defaults.limit if limit is None else limit,
                mode or defaults.mode,
                ranking or defaults.ranking,
                Filter(resolve_languages(_several(languages)), check_globs(_several(paths)), check_globs(_several(excludes))),
                budget,
                cursor,
                context or defaults.context,
                snippet_lines,
                fixed,
                case,
                word,
                multiline,
            )
        )
        for source in _several(sources):
            if source not in SOURCES:
                raise UsageError(f"unknown source '{source}'", f"known are: {', '.join(SOURCES)}")
        try:
            return self._answer(query, started, (refresh, check), progress, ())
        except CorruptIndex as damage:
            self._heal(progress)
            return self._answer(
                query, started, (refresh, check), progress, (Degraded("index", f"{damage.message}; it was rebuilt", ""),)
            )

    def _heal(self, progress: Progress) -> None:
        """Build anew what turned out to be damaged only now, since checksums are verified on first touch."""
        if not any([project.heal(progress) for project in self._projects]):
            for project in self._projects:
                project.rebuild(progress)
        self._combined = None

    def _answer(
        self, query: Query, started: float, freshness: tuple[bool, bool], progress: Progress, notes: tuple[Degraded, ...]
    ) -> Answer:
        clock = _Clock(started)
        refresh, check = freshness
        pattern = literal_pattern(query)
        if pattern is not None:
            from lurcher.index.passing import passing_view
        views = [
            (passing_view(project, pattern) if pattern is not None else None)
            or project.view(progress, refresh=refresh, check=check)
            for project in self._projects
        ]
        snapshot = self._snapshot(views)
        clock.lap("refresh")
        plan = make_plan(query.text, query.mode, snapshot, pattern, query.filter.languages or snapshot.languages)
        clock.lap("plan")
        ranked, context, used, failed = self._rank(snapshot, plan, query, clock)
        plan = context.plan
        focus = Focus(context)
        places = places_of(snapshot, ranked, query.context, focus)
        clock.lap("ranking")
        print_ = cursors.fingerprint(
            query,
            root="\0".join(str(root) for root in self.roots),
            generation=snapshot.generation,
            checksum=",".join(name for view in views for name in view.manifest.segments),
            options=self._options,
        )
        place = cursors.decode(query.cursor, expect=print_).place if query.cursor is not None else START
        shown = Shown(snapshot, places, ranked, query, focus)
        page = pack(shown.cost, len(places), budget=query.budget, limit=query.limit, start=place)
        hits = tuple(shown.hit(i) for i in page.indices)
        clock.lap("pack")
        searched, said = _searched(query, context, len(places))
        notes += failed + said + _unknown_name(context)
        following = cursors.encode(cursors.CursorState(page.next, print_)) if page.next else None
        degraded = notes + tuple(note for view in views for note in view.degraded) + oversized_note(page, shown)
        return Answer(
            query.text, plan.mode, plan.intent, used, SOURCES, hits, len(places), page.tokens, following,
            _state(snapshot, views), degraded, clock.total(), searched,
        )  # fmt: skip

    def _rank(
        self, snapshot: Snapshot, plan: Plan, query: Query, clock: _Clock
    ) -> tuple[Ranking, Context, str, tuple[Degraded, ...]]:
        """The ranking with what it worked on, its name, and what was left out on the way."""
        model = self._model
        allowed = allowed_files(snapshot, self._filter(query.filter))
        clock.lap("filter")
        notes: tuple[Degraded, ...] = ()
        name = _OWN_RANKING.get(plan.mode, query.ranking)
        try:
            request = Request(snapshot, plan, self.settings, allowed, model, query.filter.languages)
            found, failed = self._lanes(name, request, clock)
        except ModelError as problem:
            # Nearness alone was asked for and cannot be had: words are better than nothing, and the answer says so.
            notes = (Degraded("dense", f"{problem.message}; these hits are by words", problem.hint),)
            plan, name = replace(plan, mode="lexical"), query.ranking
            found, failed = self._lanes(name, Request(snapshot, plan, self.settings, allowed, model), clock)
        own = own_words(snapshot, plan, [root.name for root in self.roots])
        context = Context(snapshot, plan, self.settings, found, allowed, query.limit, own)
        return ranking_named(name)(context), context, name, notes + failed

    def _lanes(self, ranking: str, request: Request, clock: _Clock) -> tuple[dict[str, Found], tuple[Degraded, ...]]:
        names = ranking_lanes(ranking, request.plan, self.settings)
        if request.model.path is None and request.plan.mode != "dense":
            # Who wants no model need not be told on each query that there is none.
            names = tuple(name for name in names if name != "dense")
        return run_lanes(names, request, clock.lap)

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
        return repr(decisive) + repr(sorted(self._prefixes.items()))

    def _filter(self, filter: Filter) -> Filter:
        """The query's filter within the folders that were asked for."""
        if all(prefixes is None for prefixes in self._prefixes.values()):
            return filter
        labels = self._labels()
        inside: list[str] = []
        for number, prefixes in self._prefixes.items():
            label = labels[number]
            inside += [label.rstrip("/")] if prefixes is None else [label + prefix for prefix in prefixes]
        return Filter(filter.languages, filter.globs, filter.excludes, tuple(inside))

    def _labels(self) -> list[str]:
        """What stands before a path to tell roots apart: nothing for one root, else the folder's name, numbered if need be."""
        if len(self._projects) == 1:
            return [""]
        names = [project.root.path.name or "root" for project in self._projects]
        labels: list[str] = []
        for name in names:
            label, number = name, 1
            while label in labels or (number > 1 and label in names):
                number += 1
                label = f"{name}-{number}"
            labels.append(label)
        return [f"{label}/" for label in labels]

    def _snapshot(self, views: list[View]) -> Snapshot:
        if len(views) == 1:
            return views[0].snapshot
        parts = tuple(view.snapshot for view in views)
        if self._combined is None or self._combined[0] != parts:
            segments: list[Segment] = []
            order: list[tuple[int, int]] = []
            for view, label in zip(views, self._labels(), strict=True):
                base = len(segments)
                # What is mapped stays: the files may be gone by now, if another process has written since.
                segments += [Segment(part.container, part.live, label) for part in view.snapshot.segments]
                if view.manifest.rows:
                    order += [(row.segment + base, row.place) for row in view.manifest.rows.values() if row.segment >= 0]
                else:  # searched as it is, in path order
                    order += [(base, place) for place in range(view.snapshot.file_total)]
            generation = sum(view.manifest.generation for view in views)
            self._combined = (parts, Snapshot(segments, generation, order))
        return self._combined[1]

    def symbol(
        self, name: str, *, limit: int = 20, languages: Sequence[str] = (), progress: Progress = _silent
    ) -> SymbolAnswer:
        """The definitions of a name, best first."""
        query = _checked(Query(name, limit, filter=Filter(resolve_languages(_several(languages)))))
        try:
            return self._definitions(query, progress, ())
        except CorruptIndex as damage:
            self._heal(progress)
            return self._definitions(query, progress, (Degraded("index", f"{damage.message}; it was rebuilt", ""),))

    def _definitions(self, query: Query, progress: Progress, notes: tuple[Degraded, ...]) -> SymbolAnswer:
        views = [project.view(progress) for project in self._projects]
        snapshot = self._snapshot(views)
        allowed = allowed_files(snapshot, self._filter(query.filter))
        matches = [match for match in symbol.find(snapshot, [query.text.strip()]) if allowed[match.file]]
        degraded = notes + tuple(note for view in views for note in view.degraded)
        if matches and not any(match.fits for match in matches):
            degraded += (Degraded("symbol", f"nothing is named {query.text.strip()}; these have its last part", ""),)
        best = symbol.best(snapshot, symbol.fitting(matches), query.limit)
        return SymbolAnswer(query.text, best, _state(snapshot, views), degraded)

    # -- surveys ----------------------------------------------------------------------------------------------------------

    def impact(
        self,
        path: str | Path,
        *,
        symbol: str | None = None,
        hops: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = _silent,
    ) -> ImpactAnswer:
        """What depends on a file, by hop; with `symbol` only what uses that name of it."""
        from lurcher.survey.impact import impact
        from lurcher.survey.places import file_at

        hops = self.settings.graph.hops if hops is None else hops
        if hops < 1:
            raise QueryError(f"hops are {hops}", "use 1 or more")

        def work(snapshot: Snapshot, standing: Standing) -> ImpactAnswer:
            file = file_at(snapshot, self._meant(path))
            return impact(snapshot, file, symbol, hops, self.settings.graph.fan_in, standing)

        return self._survey(work, (refresh, check), progress)

    def outline(
        self,
        path: str | Path = ".",
        *,
        kinds: Sequence[str] = (),
        refresh: bool = True,
        check: bool = True,
        progress: Progress = _silent,
    ) -> OutlineAnswer:
        """The symbols of a file, nested, or of a folder, file by file."""
        from lurcher.survey.outline import check_kinds, outline
        from lurcher.survey.places import files_at

        wanted = check_kinds(_several(kinds))

        def work(snapshot: Snapshot, standing: Standing) -> OutlineAnswer:
            return outline(snapshot, *files_at(snapshot, self._meant(path)), wanted, standing)

        return self._survey(work, (refresh, check), progress)

    def context(
        self,
        path: str | Path = ".",
        *,
        budget: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = _silent,
    ) -> ContextAnswer:
        """One package about a file or folder, within a budget of tokens."""
        from lurcher.survey.context import context
        from lurcher.survey.places import files_at

        most = self.settings.graph.context_budget if budget is None else budget

        def work(snapshot: Snapshot, standing: Standing) -> ContextAnswer:
            return context(snapshot, *files_at(snapshot, self._meant(path)), most, standing)

        return self._survey(work, (refresh, check), progress)

    def exists(
        self, pattern: str, *, exact: bool = False, refresh: bool = True, check: bool = True, progress: Progress = _silent
    ) -> ExistsAnswer:
        """Whether a text occurs, by itself, in any file: no is certain, yes is probable, unless it is to be `exact`."""
        from lurcher.survey.exists import exists

        return self._survey(
            lambda snapshot, standing: exists(snapshot, pattern, exact, standing), (refresh, check), progress
        )

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
        """The commits that wrote lines `first` to `last` of a file (default: all), the newest first; needs no index."""
        from lurcher.history.explain import explain_file
        from lurcher.history.explained import labelled

        meant = self._meant(path)
        named = next((name for name in meant if os.path.lexists(self.locate(name))), meant[0])
        for project, label in zip(self._projects, self._labels(), strict=True):
            if named.startswith(label):
                options = {"settings": project.settings.blame, "limit": limit, "outcome": outcome, "related": related}
                file = project.root.path / named[len(label) :]
                return labelled(explain_file(file, first, last, below=project.root.path, **options), label)
        raise UsageError(f"{path} is in none of the roots", "name a path below " + ", ".join(map(str, self.roots)))

    def _survey(
        self, work: Callable[[Snapshot, Standing], Kind], freshness: tuple[bool, bool], progress: Progress
    ) -> Kind:
        """Do some work on the current generation, and once more if that turned out to be damaged."""
        try:
            return work(*self._stand(freshness, progress, ()))
        except CorruptIndex as damage:
            self._heal(progress)
            return work(*self._stand(freshness, progress, (Degraded("index", f"{damage.message}; it was rebuilt", ""),)))

    def _stand(
        self, freshness: tuple[bool, bool], progress: Progress, notes: tuple[Degraded, ...]
    ) -> tuple[Snapshot, Standing]:
        from lurcher.survey.answers import Standing

        refresh, check = freshness
        views = [project.view(progress, refresh=refresh, check=check) for project in self._projects]
        snapshot = self._snapshot(views)
        return snapshot, Standing(_state(snapshot, views), notes + tuple(note for view in views for note in view.degraded))

    def _meant(self, path: str | Path) -> tuple[str, ...]:
        """What a path may be called in the index: as a hit has it, or as seen from the current folder."""
        if "\0" in str(path):
            raise PathError(f"{path!r} is no path", "check the spelling")
        found = []
        if not Path(path).is_absolute():
            asked = posixpath.normpath(str(path))
            found.append("" if asked == "." else asked)
        for place in (Path(os.path.normpath(Path.cwd() / path)), Path(path).resolve()):
            for project, label in zip(self._projects, self._labels(), strict=True):
                if place.is_relative_to(project.root.path):
                    inside = place.relative_to(project.root.path).as_posix()
                    found.append(label.rstrip("/") if inside == "." else label + inside)
        if not found:
            raise PathError(f"{path} is in none of the roots", "name a path below " + ", ".join(map(str, self.roots)))
        return tuple(dict.fromkeys(found))

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for; with several roots, paths begin with the name of theirs."""
        for project, label in zip(self._projects, self._labels(), strict=True):
            if path.startswith(label):
                return project.root.path / path[len(label) :]
        raise UsageError(f"{path} is in none of the roots", "pass a path as a hit has it")

    # -- the index --------------------------------------------------------------------------------------------------------

    def index(self, *, rebuild: bool = False, history: bool = False, progress: Progress = _silent) -> dict[str, Any]:
        """Bring the index up to date, or make it anew; its status then, with `degraded` if it could not be done as asked.

        With `history` also that of the commits, however many there are.
        """
        notes: list[Degraded] = []
        for project in self._projects:
            view = project.rebuild(progress) if rebuild else project.view(progress, limited=False)
            notes += view.degraded
            if history:
                from lurcher.history.project import PastProject

                past = PastProject.beside(project)
                notes += (past.rebuild(progress) if rebuild else past.view(progress, seconds=None)).degraded
        degraded = [note.to_dict() for note in notes]
        return {**self.status(), **({"degraded": degraded} if degraded else {})}

    def refresh(self, *, progress: Progress = _silent) -> IndexState:
        """Index what changed, whatever its number."""
        views = [project.view(progress, limited=False) for project in self._projects]
        stale = sum(view.stale_paths for view in views)
        return IndexState(sum(view.manifest.generation for view in views), stale == 0, stale)

    def clear(self) -> bool:
        """Remove the index of every root. True if there was one."""
        from lurcher.history.project import PastProject

        histories = [PastProject.beside(project).clear() for project in self._projects]
        return any([project.clear() for project in self._projects]) or any(histories)

    def watch(
        self,
        tell: Callable[[Update | Notice], None],
        *,
        stop: threading.Event | None = None,
        rebuild: bool = False,
        progress: Progress = _silent,
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
        self._projects[self._projects.index(project)] = other
        self._combined = None
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
    progress: Progress = _silent,
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


def _state(snapshot: Snapshot, views: Sequence[View]) -> IndexState:
    stale = sum(view.stale_paths for view in views)
    return IndexState(snapshot.generation, stale == 0 and all(view.checked for view in views), stale)


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


def _several(values: Sequence[str]) -> tuple[str, ...]:
    """One string is one value, not its letters."""
    return (values,) if isinstance(values, str) else tuple(values)


def _checked(query: Query) -> Query:
    text = query.text
    if not isinstance(text, str):
        raise QueryError(f"a query is text, not {type(text).__name__}", "pass a string")
    for name in ("limit", "budget", "snippet_lines"):
        value = getattr(query, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise QueryError(f"{name} is {value!r}", "pass a whole number")
    if len(text) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(text):,} characters", f"a query has at most {MAX_QUERY_CHARS:,}; send the part that matters"
        )
    clean = "".join(c if c in "\n\t\r" or c.isprintable() else " " for c in _TERMINAL_CODE.sub("", text))
    if not clean.strip():
        raise QueryError("the query is empty", 'for example: lurcher search "how are redirects followed"')
    if not 1 <= query.limit <= 1000:
        raise QueryError(f"the limit is {query.limit}", "use 1 to 1000")
    if query.budget is not None and query.budget < 1:
        raise QueryError(f"the budget is {query.budget} tokens", "use 1 or more, or leave it out")
    if query.snippet_lines is not None and query.snippet_lines < 1:
        raise QueryError(f"snippet lines are {query.snippet_lines}", "use 1 or more, or --context none for no text")
    if query.mode not in MODES:
        raise QueryError(f"unknown mode '{query.mode}'", f"known are: {', '.join(MODES)}")
    if query.context not in CONTEXTS:
        raise QueryError(f"unknown context '{query.context}'", f"known are: {', '.join(CONTEXTS)}")
    ranking_named(query.ranking)
    if query.case not in CASES:
        raise QueryError(f"unknown case '{query.case}'", f"known are: {', '.join(CASES)}")
    return query if clean == text else replace(query, text=clean)


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


def _outermost(roots: list[Root], overrides: Mapping[str, Any] | None) -> list[Root]:
    """Roots with those whose files another one lists anyway made a part of that one, so that no file is there twice."""
    kept: list[Root] = []
    nested: dict[Path, tuple[str, ...]] = {}
    place: dict[Path, Root] = {}
    for root in sorted(roots, key=lambda item: len(item.path.parts)):
        if root.path in place:
            continue
        tops = (top for top in kept if root.path.is_relative_to(top.path))
        top = next((top for top in tops if _covers(top, root, nested, overrides)), root)
        if top is root:
            kept.append(root)
        place[root.path] = top
    found = []
    for root in roots:
        top = place[root.path]
        inside = "" if top.path == root.path else root.path.relative_to(top.path).as_posix()
        found.append(Root(top.path, top.git, "/".join(part for part in (inside, root.prefix) if part)))
    return found


def _covers(top: Root, root: Root, nested: dict[Path, tuple[str, ...]], overrides: Mapping[str, Any] | None) -> bool:
    """Whether the files of `root` are listed with those of `top`, which is around it.

    A repository is where git does not ignore it and it is no other work tree of one that is listed. A folder outside of git is
    part of any other one around it; one that is in a work tree is its own root only because that one leaves it out.
    """
    if not root.git:
        return not top.git
    if top.path not in nested:
        nested[top.path] = list_files(top, files_settings(config.load(top.path, overrides))).nested
    return root.path.relative_to(top.path).as_posix() in nested[top.path]


def _inside(path: Path, root: Path) -> str:
    try:
        relative = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{path} is not inside of {root}", "name a path below the root") from None
    return "" if relative == "." else relative
