"""Searches code: refresh → plan → lanes → ranking → Findings."""

from __future__ import annotations

from functools import cached_property

from lurcher import answer as cursors
from lurcher.answer import Findings, add_notes
from lurcher.answer.hits import Focus, HitList, locate_hits
from lurcher.errors import ModelError, Template
from lurcher.indexing import View
from lurcher.indexing.workspace import state_of
from lurcher.lanes import LaneResult, Request, run_lanes, symbol
from lurcher.lanes.symbol import SymbolAnswer, SymbolHit
from lurcher.query import SYMBOL, Plan, Query, compile_literal_query, make_plan, split_qualified_name
from lurcher.query.validate import check_query, filter_files, make_filter
from lurcher.ranking import Context, Ranking, find_own_words, ranking_lanes, ranking_named
from lurcher.ranking.confidence import judge_confidence
from lurcher.runtime.kernel import np
from lurcher.runtime.process import Stopwatch
from lurcher.storage.segment import GRAMMAR_GAVE_UP, NO_GRAMMAR, UNIT_FIELDS
from lurcher.terms import compound
from lurcher.types import Answer, Confidence, Degraded, Record, StageWhy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.config import Settings
    from lurcher.corpora import Corpus, SearchRequest, Services
    from lurcher.indexing import View
    from lurcher.indexing.freshness import BackgroundCheck
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Filter, IndexState, Progress
    from lurcher.vectors import Model

_WITHOUT_VECTORS = ("lexical", "symbol", "literal", "structural")
"""Modes that need no vectors."""
_OWN_RANKING = {"dense": "cosine", "literal": "literal", "structural": "structural", "related": "related"}
"""Modes that have a ranking of their own, whatever ranking is set for others."""
_NOT_RERANKED = ("literal", "structural", "related")
"""Modes whose hits match exactly, or have no question that a model could read."""
_UNGROUPED = ("literal", "structural")
"""Modes in which each unit with matches is a hit of its own."""
_PROSE_MODES = ("auto", "hybrid", "lexical", "dense")
"""Modes in which notes can be searched."""


class CodeCorpus:
    """The files of a workspace, by its local index."""

    def __init__(self, services: Services, notes: Callable[[], Corpus] | None = None) -> None:
        """`notes` gives the corpus that answers where a workspace has notes and no code, if the request names no source."""
        self._services, self._settings, self._workspace = services, services.settings, services.workspace
        self._notes = notes

    @cached_property
    def _options(self) -> str:
        return self._services.options

    def refresh(
        self, progress: Progress, *, rebuild: bool = False, seed: str | Path | None = None
    ) -> tuple[Degraded, ...]:
        if seed is not None:
            from lurcher.indexing.seed import set_seed

            set_seed(self._workspace.projects, seed)
        views = [
            project.rebuild(progress) if rebuild else project.view(progress, limited=False)
            for project in self._workspace.projects
        ]
        return tuple(note for view in views for note in view.degraded)

    # -- search -----------------------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> Answer:
        query = code_query(request, self._services)
        open_to_notes = request.sources is None and self._notes is not None and self._reads_as_prose(request)

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            current = request
            if damage:
                current = request.replace(views=None)  # what turned out to be damaged has been rebuilt
            elif request.check and not request.views:
                answer = self._search_ahead(query, request, open_to_notes)
                if answer is not None:
                    return answer
            if open_to_notes:
                views = current.views or self._views(current)
                current = current.replace(views=views)
                if self._has_only_notes(views):
                    assert self._notes is not None
                    return add_notes(self._notes().search(current), damage)
            return self.answer(query, current, damage)

        return self._workspace.with_repair(attempt, request.progress)

    def _search_ahead(self, query: Query, request: SearchRequest, open_to_notes: bool) -> Answer | None:
        """The answer of the index as it is, found while the kernel compares it with the tree.

        None where that comparison cannot run beside the search, or finds a change, or where notes are to answer.
        """
        started: list[tuple[View, BackgroundCheck]] = []
        for project in self._workspace.projects:
            begun = project.optimistic_view(open_to_notes or needs_vectors(query))
            if begun is None:
                return None
            started.append(begun)
        views = [view for view, _ in started]
        answer = None
        if not (open_to_notes and self._has_only_notes(views)):
            answer = self.answer(query, request.replace(views=views))
        clock = Stopwatch(answer.timings_ms if answer is not None else None)
        changes = [comparison.finish() for _, comparison in started]
        if answer is None or any(found is None or found for found in changes):
            return None
        clock.lap("refresh")
        return answer.replace(timings_ms=clock.total())

    def answer(
        self,
        query: Query,
        request: SearchRequest,
        damage: tuple[Degraded, ...] = (),
        plan: Callable[[Snapshot], Plan] | None = None,
    ) -> Answer:
        """One page for a query; `damage` is what to say of an index that was rebuilt for it, `plan` as for `rank`."""
        clock = Stopwatch()
        answer = self._services.page(self.findings(query, request, clock, plan), query, clock)
        answer.timings_ms.update(clock.total())
        return add_notes(answer, damage)

    def findings(
        self, query: Query, request: SearchRequest, clock: Stopwatch, plan: Callable[[Snapshot], Plan] | None = None
    ) -> Findings:
        """Every unit that answers a query, best first."""
        ranked = self.rank(query, request, clock, plan)
        notes = tuple(note for view in ranked.views for note in view.degraded)
        if ranked.snapshot.flagged(GRAMMAR_GAVE_UP):
            from lurcher.indexing.coverage import grammar_failure_notes

            notes += grammar_failure_notes(ranked.snapshot)
        return findings_of(
            ranked, query, clock, state_of(ranked.snapshot, ranked.views), notes,
            root="\0".join(self._workspace.places),
            checksum=",".join(name for view in ranked.views for name in view.manifest.segments),
            options=self._options,
        )  # fmt: skip

    def rank(
        self, query: Query, request: SearchRequest, clock: Stopwatch, plan: Callable[[Snapshot], Plan] | None = None
    ) -> Ranked:
        """All units in order; `plan` says how to answer a query whose text does not."""
        pattern = compile_literal_query(query)
        views = request.views or self._views(request, pattern, needs_vectors(query))
        snapshot = self._workspace.snapshot(views)
        clock.lap("refresh")
        if plan is not None:
            planned = plan(snapshot)
        else:
            languages = (query.filter.languages or snapshot.languages) if "$" in query.text else ()
            planned = make_plan(query.text, query.mode, snapshot, pattern, languages)
        clock.lap("plan")
        names = [project.root.name for project in self._workspace.projects]
        filter = self._workspace.narrow(query.filter)
        return rank_units(self._services, snapshot, planned, query, clock, filter, names).replace(views=views)

    def _views(self, request: SearchRequest, pattern: Any = None, meaning: bool = True) -> list[View]:
        """Each root's index; where only a `pattern` is looked for, files that are not indexed are searched as they are."""
        if pattern is None:
            return self._workspace.views(request.progress, refresh=request.refresh, check=request.check, needs_vectors=meaning)
        from lurcher.indexing.scan import scan_without_index

        return [
            scan_without_index(project, pattern)
            or project.view(request.progress, refresh=request.refresh, check=request.check, needs_vectors=meaning)
            for project in self._workspace.projects
        ]

    # -- code or notes ----------------------------------------------------------------------------------------------------

    def _reads_as_prose(self, request: SearchRequest) -> bool:
        """Whether notes could answer: not for exact text, a pattern or a name."""
        mode = request.mode or self._settings.search.mode
        exact = request.fixed or request.word or request.multiline
        if exact or mode not in _PROSE_MODES or not isinstance(request.text, str):
            return False
        return mode != "auto" or compile_literal_query(Query(request.text)) is None

    def _has_only_notes(self, views: Sequence[View]) -> bool:
        """Whether there are notes and no code at all."""
        from lurcher.corpora import has_code

        snapshot = self._workspace.snapshot(views)
        if has_code(snapshot):
            return False
        from lurcher.corpora.notes.links import open_vault

        return bool(open_vault(snapshot).notes.any())

    # -- definitions ------------------------------------------------------------------------------------------------------

    def symbol(self, query: Query, progress: Progress) -> SymbolAnswer:
        """The definitions of a name, best first."""

        def attempt(damage: tuple[Degraded, ...]) -> SymbolAnswer:
            views = self._workspace.views(progress, needs_vectors=False)
            snapshot = self._workspace.snapshot(views)
            allowed = filter_files(snapshot, self._workspace.narrow(query.filter))
            best, unknown = definitions_of(snapshot, query, allowed)
            notes = damage + tuple(note for view in views for note in view.degraded)
            if snapshot.flagged(GRAMMAR_GAVE_UP) or snapshot.flagged(NO_GRAMMAR):
                from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes

                files = set(np.flatnonzero(allowed).tolist())
                notes += grammar_failure_notes(snapshot, files) + missing_grammar_notes(snapshot, files)
            return SymbolAnswer(query.text, best, state_of(snapshot, views), notes + unknown)

        return self._workspace.with_repair(attempt, progress)


def code_query(request: SearchRequest, services: Services, *, commits: bool = False) -> Query:
    """A request as a query to code, checked; `commits` says that history is searched with it."""
    defaults = services.settings.search
    query = check_query(
        Query(
            request.text,
            defaults.limit if request.limit is None else request.limit,
            request.mode or defaults.mode,
            request.ranking or defaults.ranking,
            make_filter(request.languages, request.paths, request.excludes),
            request.budget,
            request.cursor,
            request.context or defaults.context,
            request.snippet_lines,
            request.fixed,
            request.case,
            request.word,
            request.multiline,
            services.rerankers(request.rerank, commits=commits),
            request.fusion,
            request.alpha,
            request.mmr,
            request.reasons,
            flat=request.flat,
        )
    )
    ranking_named(query.ranking)
    return query


def needs_vectors(query: Query) -> bool:
    """Whether vectors may be compared for a query."""
    return query.mode not in _WITHOUT_VECTORS


# -- ranking of any snapshot, a local one or that of a shared store -------------------------------------------------------


class Ranked(Record):
    """Every unit that matched a query, in order, and all that led to the order."""

    __slots__ = ("snapshot", "context", "ranking", "name", "notes", "views", "confidence")

    def __init__(
        self, snapshot: Snapshot, context: Context, ranking: Ranking, name: str, notes: tuple[Degraded, ...],
        views: Sequence[View] = (), confidence: Confidence | None = None,
    ) -> None:  # fmt: skip
        self.snapshot, self.context, self.ranking = snapshot, context, ranking
        self.name = name
        """Of the ranking."""
        self.notes = notes
        self.views = views
        """The local indexes behind the snapshot; none for a shared store."""
        self.confidence = confidence


def rank_units(
    services: Services, snapshot: Snapshot, plan: Plan, query: Query, clock: Stopwatch, filter: Filter,
    root_names: Sequence[str],
) -> Ranked:
    """Runs the lanes of a plan and ranks what they find in the files that pass `filter`."""
    settings, model = services.settings, services.workspace.model
    allowed = filter_files(snapshot, filter)
    if not query.prose:
        from lurcher.corpora.notes.links import open_vault

        allowed &= ~open_vault(snapshot).notes
    clock.lap("filter")
    notes: tuple[Degraded, ...] = ()
    name = _OWN_RANKING.get(plan.mode, query.order)
    try:
        request = Request(snapshot, plan, settings, allowed, model, query.filter.languages)
        found, failed = _run_all_lanes(name, request, clock)
    except ModelError as problem:
        # Vectors alone were asked for and there are none: words are better than nothing, and the answer says so.
        notes = (Degraded("dense", f"{problem.message}; these hits are by words", problem.hint),)
        plan, name = plan.replace(mode="lexical"), query.order
        found, failed = _run_all_lanes(name, Request(snapshot, plan, settings, allowed, model), clock)
    own = find_own_words(snapshot, plan, root_names)
    context = Context(snapshot, plan, settings, found, allowed, query.limit, own, alpha=query.alpha, mmr=query.mmr)
    ranking = ranking_named(name)(context)
    if plan.intent == SYMBOL:
        from lurcher.ranking.definitions_first import put_definitions_first

        ranking = put_definitions_first(context, ranking, query.mode)
    sure = judge_confidence(context, name, len(ranking))
    if sure is not None and sure.likelihood:
        ranking.weigh(StageWhy("confidence", factor=sure.weight, note="how likely it is that the answer is here"))
    return Ranked(snapshot, context, ranking, name, notes + failed, confidence=sure)


def lanes_for(query: Query, plan: Plan, settings: Settings, model: Model) -> tuple[str, ...]:
    """The lanes that the ranking of a query runs for a plan."""
    return _lane_names(_OWN_RANKING.get(plan.mode, query.order), plan, settings, model)


def _lane_names(ranking: str, plan: Plan, settings: Settings, model: Model) -> tuple[str, ...]:
    names = ranking_lanes(ranking, plan, settings)
    if model.place is None and plan.mode != "dense":
        # Who wants no model need not read in each answer that there is none.
        names = tuple(name for name in names if name != "dense")
    return names


def _run_all_lanes(ranking: str, request: Request, clock: Stopwatch) -> tuple[dict[str, LaneResult], tuple[Degraded, ...]]:
    """What each lane found, by name, those of `search.lanes` included; and notes about those that failed."""
    settings = request.settings
    found, failed = run_lanes(_lane_names(ranking, request.plan, settings, request.model), request, clock.lap)
    if not settings.search.lanes or request.plan.mode not in ("hybrid", "symbol"):
        return found, failed
    from lurcher.lanes.installed import run_installed_lanes

    more, also_failed = run_installed_lanes(request, clock.lap)
    return {**found, **more}, failed + also_failed


def findings_of(
    ranked: Ranked, query: Query, clock: Stopwatch, index: IndexState, notes: tuple[Degraded, ...], *, root: str, checksum: str,
    options: str,
) -> Findings:  # fmt: skip
    """A ranking as findings. `root`, `checksum` and `options` go into cursors; `notes` come after the ranking's own."""
    snapshot, context = ranked.snapshot, ranked.context
    focus = Focus(context)
    places = locate_hits(snapshot, ranked.ranking, query.context, focus)
    at_least = getattr(context.lanes.get("literal"), "partial", False) or getattr(places, "partial", False)
    at_least = at_least or snapshot.is_partial
    clock.lap("ranking")
    fingerprint = cursors.make_fingerprint(query, root=root, generation=snapshot.generation, checksum=checksum, options=options)
    languages, of_patterns = _pattern_notes(query, context, len(places))
    grouped = not query.flat and context.plan.mode not in _UNGROUPED
    return Findings(
        ("code",), HitList(snapshot, places, ranked.ranking, query, focus, grouped=grouped), context.plan.mode,
        context.plan.intent, ranked.name, index, fingerprint,
        ranked.notes + of_patterns + _unknown_name(context) + notes, languages,
        reranked=context.plan.mode not in _NOT_RERANKED, at_least=at_least,
        named=_places_named(context) if len(places) > query.limit else None,
        confidence=ranked.confidence,
    )  # fmt: skip


def definitions_of(
    snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_]
) -> tuple[tuple[SymbolHit, ...], tuple[Degraded, ...]]:
    """The definitions of a name in the allowed files, and notes about them."""
    matches = [match for match in symbol.find_definitions(snapshot, [query.text.strip()]) if allowed[match.file]]
    notes: tuple[Degraded, ...] = ()
    if matches and not any(match.fits for match in matches):
        notes = (Degraded("symbol", f"nothing is named {query.text.strip()}; these have its last part", ""),)
    return symbol.rank_definitions(snapshot, symbol.select_fitting(matches), query.limit), notes


def _unknown_name(context: Context) -> tuple[Degraded, ...]:
    """Says so when a queried name occurs nowhere as a whole and the hits are for its parts."""
    plan = context.plan
    if plan.intent != SYMBOL or context.symbols or not context.lexical.idf:
        return ()
    whole = {compound(part) for part in split_qualified_name(plan.text)}
    if whole & set(context.lexical.idf):
        return ()
    return (Degraded("symbol", f"nothing is named {plan.text.strip()}; these hits have parts of the name", ""),)


def _places_named(context: Context) -> int | None:
    """In how many units the queried name stands as a whole; None for a query that is no name."""
    plan, snapshot = context.plan, context.snapshot
    parts = split_qualified_name(plan.text) if plan.intent == SYMBOL else []
    if not parts or not context.lexical.idf:
        return None
    term = compound(parts[-1])
    found = np.zeros(snapshot.unit_total, bool)
    for field in UNIT_FIELDS:
        found[snapshot.postings(field, term)[0]] = True
    return int(context.allowed[snapshot.unit_file[np.flatnonzero(found)]].sum())


def _pattern_notes(query: Query, context: Context, hits: int) -> tuple[tuple[str, ...], tuple[Degraded, ...]]:
    """The languages in which a pattern was searched for, and notes about patterns."""
    lane = context.lanes.get("structural")
    if lane is not None:
        notes: tuple[Degraded, ...] = getattr(lane, "notes", ())
        if query.mode == "auto" and not hits:
            advice = Template("use {mode=hybrid} to read it as words")
            notes += (Degraded("structural", "the query was read as a pattern", advice),)
        return getattr(lane, "languages", ()), notes
    if getattr(context.lanes.get("literal"), "partial", False):
        reason = "the pattern matches in too many places; these are from the first files by path"
        return (), (Degraded("literal", reason, "use a longer pattern, or narrow it to a folder or a language"),)
    if query.mode == "auto" and "$" in query.text:
        from lurcher.query.syntax_pattern import has_ast_grep, looks_like_pattern

        if looks_like_pattern(query.text) and not has_ast_grep():
            hint = "for structural search run: pip install ast-grep-py"
            return (), (Degraded("structural", "the query looks like a pattern; these hits are by words", hint),)
    return (), ()
