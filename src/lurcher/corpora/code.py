"""The questions about code that an engine answers: refresh → plan → lanes → ranking → Findings."""

from __future__ import annotations

from abc import ABC, abstractmethod

from lurcher.answer import cursor as cursors
from lurcher.answer.hits import Focus, Shown, places_of
from lurcher.answer.page import Findings, answer_of, with_notes
from lurcher.config import Settings
from lurcher.errors import CorruptIndex, ModelError, StoreError
from lurcher.indexing.root_index import View
from lurcher.indexing.workspace import Together, state_of
from lurcher.lanes import symbol
from lurcher.lanes.base import Found, Request, run_lanes
from lurcher.parts import Warm
from lurcher.query.filters import allowed_files
from lurcher.query.intent import SYMBOL, parts_of
from lurcher.query.plan import Plan, literal_pattern, make_plan
from lurcher.query.validate import checked, filter_of, several
from lurcher.ranking.context import Context, Ranking, own_words
from lurcher.registry import ranking_lanes, ranking_named
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING, cached_property, dataclass, replace
from lurcher.runtime.timings import Clock
from lurcher.storage.segment import GAVE_UP, NO_GRAMMAR, UNIT_FIELDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import compound
from lurcher.types import Answer, Degraded, Filter, Progress, Query, SymbolAnswer, SymbolHit, silent
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeVar

    from numpy.typing import NDArray

    from lurcher.indexing.freshness import Glance
    from lurcher.inspect.answers import Standing
    from lurcher.inspect.why import WhyAnswer
    from lurcher.runtime.arrays import np
    from lurcher.stores.shared import Shared, Stand

    Kind = TypeVar("Kind")

_WITHOUT_MEANING = ("lexical", "symbol", "literal", "structural")
"""Modes that look at no vectors."""
_OWN_RANKING = {"dense": "cosine", "literal": "literal", "structural": "structural", "related": "related"}
"""Modes that have a ranking of their own, whatever ranking is set for others."""
_STORE_ATTEMPTS = 3
"""How often a question is asked of a store whose project is replaced meanwhile."""
_NOT_RERANKED = ("literal", "structural", "related")
"""Modes whose hits match exactly, or have no question that a model could read."""


def means(query: Query) -> bool:
    """Whether a question may be answered by meaning, for which vectors are needed."""
    return query.mode not in _WITHOUT_MEANING


class Codes(ABC):
    """The part of an engine that answers from code."""

    settings: Settings
    _together: Together
    _warm: Warm
    _shared: Shared | None

    def _local(self, question: str) -> tuple[Degraded, ...]:
        """What an answer of the local index says of a store that is set and cannot give it; an error where only it could."""
        return () if self._shared is None else self._shared.without(question)

    def _from_store(self, shared: Shared, ask: Callable[[], Kind]) -> tuple[Kind | None, tuple[Degraded, ...]]:
        """The answer of a shared store; or none, and what the answer of the local index has to say then."""
        from lurcher.stores.search import NeedsTexts, UnknownProject
        from lurcher.stores.snapshot import Changed

        for attempt in range(_STORE_ATTEMPTS):
            try:
                return ask(), ()
            except NeedsTexts as problem:
                if shared.foreign:
                    raise
                return None, (Degraded("store", f"{problem.message}; the local index answered", ""),)
            except UnknownProject as problem:
                if shared.foreign or not shared.fallback:
                    raise
                return None, (Degraded("store", f"{problem.message}; the local index answered", problem.hint),)
            except StoreError as problem:
                if isinstance(problem, Changed) and attempt < _STORE_ATTEMPTS - 1:
                    continue
                if shared.foreign or not shared.fallback:
                    raise shared.described(problem) from problem.__cause__
                return None, (shared.off(problem),)
        raise AssertionError("unreachable")

    @abstractmethod
    def _heal(self, progress: Progress) -> None:
        """Make a damaged index anew."""

    def _sound(self, work: Callable[[tuple[Degraded, ...]], Kind], progress: Progress) -> Kind:
        """Do some work, and once more with a note about it if the index turned out to be damaged."""
        try:
            return work(())
        except CorruptIndex as damage:
            reason = damage.message
        except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError):
            # Checksums can be right and numbers wrong in a file that somebody else has written. In one of ours it is a bug.
            if all(project.is_ours() for project in self._together.projects):
                raise
            reason = "the index holds what cannot be"
        self._heal(progress)
        return work((Degraded("index", f"{reason}; it was rebuilt", ""),))

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
        from lurcher.inspect.resolve_path import file_at, unit_at
        from lurcher.ranking.related import RELATED, plan_like

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

        here = self._local("what is related to a line")
        return with_notes(
            self._sound(lambda notes: self._answer(query, (refresh, check), progress, notes, plan), progress), here
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
        from lurcher.inspect.why import left_out, unknown, why

        defaults = self.settings.search
        query = checked(
            Query(
                text, defaults.limit if limit is None else limit, mode or defaults.mode, ranking or defaults.ranking,
                filter_of(languages, paths, excludes),
            )
        )  # fmt: skip
        meant = self._together.meant(path)
        here = self._local("why a file is among the hits")

        def work(notes: tuple[Degraded, ...]) -> WhyAnswer:
            ranked = self._ranked(query, Clock(), (refresh, check), progress)
            standing = ranked.standing(here + notes)
            missing = left_out(ranked.snapshot, meant, ranked.views, self._together.projects, self._together.labels())
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

    def _only_notes(self, views: Sequence[View]) -> bool:
        """Whether there are notes and no code at all."""
        snapshot = self._together.snapshot(views)
        from lurcher.corpora.notes.files import has_code

        if has_code(snapshot):
            return False
        from lurcher.corpora.notes.link_graph import vault_of

        return bool(vault_of(snapshot).notes.any())

    def _ahead(self, meaning: bool) -> tuple[list[View], list[Glance]] | None:
        """Each root as it will turn out to be if nothing changed, and the looks that tell; None where that is open."""
        found = []
        for project in self._together.projects:
            seen = project.ahead(meaning)
            if seen is None:
                return None
            found.append(seen)
        return [view for view, _ in found], [look for _, look in found]

    def _answer(
        self,
        query: Query,
        freshness: tuple[bool, bool],
        progress: Progress,
        notes: tuple[Degraded, ...],
        plan: Callable[[Snapshot], Plan] | None = None,
        views: Sequence[View] | None = None,
        shared: Shared | None = None,
    ) -> Answer:
        clock = Clock()
        found = self._found(query, clock, freshness, progress, plan, views, shared)
        answer = answer_of(found, query, self.settings, self._together.places[0], self._warm, clock.lap)
        answer.timings_ms.update(clock.total())
        return with_notes(answer, notes)

    def _found(
        self,
        query: Query,
        clock: Clock,
        freshness: tuple[bool, bool],
        progress: Progress,
        plan: Callable[[Snapshot], Plan] | None = None,
        views: Sequence[View] | None = None,
        shared: Shared | None = None,
    ) -> Findings:
        """Every unit that answers a question, in order; out of a shared store where one is given."""
        if shared is None:
            ranked = self._ranked(query, clock, freshness, progress, plan, views)
        else:
            ranked = self._ranked_from(shared, query, clock)
        snapshot, context, stand = ranked.snapshot, ranked.context, ranked.stand
        focus = Focus(context)
        places = places_of(snapshot, ranked.ranking, query.context, focus)
        at_least = getattr(context.lanes.get("literal"), "partial", False) or getattr(places, "partial", False)
        clock.lap("ranking")
        print_ = cursors.fingerprint(
            query,
            root=stand.root if stand else "\0".join(self._together.places),
            generation=snapshot.generation,
            checksum=stand.checksum if stand else ",".join(name for view in ranked.views for name in view.manifest.segments),
            options=self._options,
        )
        searched, said = _searched(query, context, len(places))
        notes = ranked.notes + said + _unknown_name(context) + tuple(note for view in ranked.views for note in view.degraded)
        if shared is None and snapshot.flagged(GAVE_UP):
            from lurcher.indexing.coverage import given_up

            notes += given_up(snapshot)
        return Findings(
            ("code",), Shown(snapshot, places, ranked.ranking, query, focus), context.plan.mode, context.plan.intent,
            ranked.name, stand.index if stand else state_of(snapshot, ranked.views), print_, notes, searched,
            reranked=context.plan.mode not in _NOT_RERANKED, at_least=at_least,
            named=_places_named(context) if len(places) > query.limit else None,
        )  # fmt: skip

    def _ranked(
        self,
        query: Query,
        clock: Clock,
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
            from lurcher.indexing.scan import passing_view
        views = views or [
            (passing_view(project, pattern) if pattern is not None else None)
            or project.view(progress, refresh=refresh, check=check, meaning=means(query))
            for project in self._together.projects
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

    def _ranked_from(self, shared: Shared, query: Query, clock: Clock) -> _Ranked:
        """The same out of a shared store."""
        from lurcher.stores.shared import Stand

        # Folders that were asked for are those of the checkout around here.
        filter = query.filter if shared.foreign else self._together.narrowed(query.filter)
        model = self._model

        def lanes(plan: Plan) -> tuple[str, ...]:
            return self._lane_names(_OWN_RANKING.get(plan.mode, query.order), plan, model)

        asked = shared.asking.ask(query, filter, model, lanes, clock.lap)
        names = [head.more.get("root", "") for head in asked.heads.values()]
        ranking, context, name, notes = self._rank(asked.snapshot, asked.plan, query, clock, filter, names)
        asked.snapshot.expect(lambda: map(ranking.unit, range(len(ranking))))
        state = shared.told(asked.heads)
        stand = Stand(state, shared.identity, repr(sorted(state.shared.items())))
        said = notes + asked.notes + shared.behind(asked.heads)
        return _Ranked((), asked.snapshot, context, ranking, name, said, stand)

    def _rank(
        self,
        snapshot: Snapshot,
        plan: Plan,
        query: Query,
        clock: Clock,
        filter: Filter | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[Ranking, Context, str, tuple[Degraded, ...]]:
        """The ranking with what it worked on, its name, and what was left out on the way.

        `filter` and the roots' `names` are those of this engine's own roots, unless they are given.
        """
        model = self._model
        allowed = allowed_files(snapshot, self._together.narrowed(query.filter) if filter is None else filter)
        if not query.prose:
            from lurcher.corpora.notes.link_graph import vault_of

            allowed &= ~vault_of(snapshot).notes
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
        own = own_words(snapshot, plan, [project.root.name for project in self._together.projects] if names is None else names)
        context = Context(snapshot, plan, self.settings, found, allowed, query.limit, own, alpha=query.alpha, mmr=query.mmr)
        ranking = ranking_named(name)(context)
        if plan.intent == SYMBOL:
            from lurcher.ranking.definitions_first import definitions_first

            ranking = definitions_first(context, ranking, query.mode)
        return ranking, context, name, notes + failed

    def _lanes(self, ranking: str, request: Request, clock: Clock) -> tuple[dict[str, Found], tuple[Degraded, ...]]:
        found, failed = run_lanes(self._lane_names(ranking, request.plan, request.model), request, clock.lap)
        if not self.settings.search.lanes or request.plan.mode not in ("hybrid", "symbol"):
            return found, failed
        from lurcher.lanes.installed import run_further

        more, also_failed = run_further(request, clock.lap)
        return {**found, **more}, failed + also_failed

    def _lane_names(self, ranking: str, plan: Plan, model: Model) -> tuple[str, ...]:
        names = ranking_lanes(ranking, plan, self.settings)
        if model.place is None and plan.mode != "dense":
            # Who wants no model need not be told on each query that there is none.
            names = tuple(name for name in names if name != "dense")
        return names

    def _rerankers(self, asked: Sequence[str] | None, past: bool = False) -> tuple[str, ...]:
        """The second looks that were asked for, else those that are set; one of them only works where commits are asked."""
        own = ("outcome",) if past else ()
        set_ = self.settings.search.rerank.split()
        names = [name for name in set_ if past or name != "outcome"] if asked is None else several(asked)
        if all(name == "none" for name in names):
            return ()
        from lurcher.rerank.stage import checked_names

        return checked_names(names, own)

    @property
    def _model(self) -> Model:
        """The model of all roots, if they have the same."""
        models = [project.model for project in self._together.projects]
        if len({model.digest for model in models}) == 1:
            return models[0]
        return models[0].broken(ModelError("the folders have different models", "set dense.model alike for all of them"))

    @cached_property
    def _options(self) -> str:
        """What an order of hits depends on besides the query; what concerns the index is in the index's own digest."""
        decisive = [(key, value) for key, value in self.settings.changed() if not key.startswith("index.")]
        return repr(decisive) + repr(sorted(self._together.prefixes.items()))

    def symbol(
        self, name: str, *, limit: int = 20, languages: Sequence[str] = (), progress: Progress = silent
    ) -> SymbolAnswer:
        """The definitions of a name, best first."""
        query = checked(Query(name, limit, filter=filter_of(languages)))
        shared = self._shared
        instead: tuple[Degraded, ...] = ()
        if shared is not None:
            answer, instead = self._from_store(shared, lambda: self._defined_in(shared, query))
            if answer is not None:
                return answer
        found = self._sound(lambda notes: self._definitions(query, progress, notes), progress)
        return replace(found, degraded=instead + found.degraded) if instead else found

    def _defined_in(self, shared: Shared, query: Query) -> SymbolAnswer:
        """The definitions of a name out of a shared store."""
        filter = query.filter if shared.foreign else self._together.narrowed(query.filter)
        found = shared.asking.defining(query.text, filter, query.limit)
        best, notes = _best_of(found.snapshot, query, allowed_files(found.snapshot, filter), counted=False)
        if not found.whole:
            looked = sum(len(shelf.keys) for shelf in found.snapshot.shelves)
            said = f"more files than {looked:,} in the store define it, and no more were looked at"
            notes += (Degraded("store", said, "ask for Class.name, or for one language"),)
        return SymbolAnswer(query.text, best, shared.told(found.heads), notes + shared.behind(found.heads))

    def _definitions(self, query: Query, progress: Progress, notes: tuple[Degraded, ...]) -> SymbolAnswer:
        views = [project.view(progress, meaning=False) for project in self._together.projects]
        snapshot = self._together.snapshot(views)
        allowed = allowed_files(snapshot, self._together.narrowed(query.filter))
        best, said = _best_of(snapshot, query, allowed)
        degraded = notes + tuple(note for view in views for note in view.degraded)
        if snapshot.flagged(GAVE_UP) or snapshot.flagged(NO_GRAMMAR):
            from lurcher.indexing.coverage import given_up, without_grammar

            files = set(np.flatnonzero(allowed).tolist())
            degraded += given_up(snapshot, files) + without_grammar(snapshot, files)
        degraded += said
        return SymbolAnswer(query.text, best, state_of(snapshot, views), degraded)


def _best_of(
    snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_], *, counted: bool = True
) -> tuple[tuple[SymbolHit, ...], tuple[Degraded, ...]]:
    """The definitions of a name in the files that may answer, and what to say of them."""
    matches = [match for match in symbol.find(snapshot, [query.text.strip()]) if allowed[match.file]]
    notes: tuple[Degraded, ...] = ()
    if matches and not any(match.fits for match in matches):
        notes = (Degraded("symbol", f"nothing is named {query.text.strip()}; these have its last part", ""),)
    return symbol.best(snapshot, symbol.fitting(matches), query.limit, counted=counted), notes


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
    stand: Stand | None = None
    """Where it comes from, if that is a shared store."""

    def standing(self, notes: tuple[Degraded, ...]) -> Standing:
        from lurcher.inspect.answers import Standing

        degraded = notes + self.notes + tuple(note for view in self.views for note in view.degraded)
        return Standing(state_of(self.snapshot, self.views), degraded)


def _unknown_name(context: Context) -> tuple[Degraded, ...]:
    """Says so when a queried name occurs nowhere as a whole and the hits are for its parts."""
    plan = context.plan
    if plan.intent != SYMBOL or context.symbols or not context.lexical.idf:
        return ()
    whole = {compound(part) for part in parts_of(plan.text)}
    if whole & set(context.lexical.idf):
        return ()
    return (Degraded("symbol", f"nothing is named {plan.text.strip()}; these hits have parts of the name", ""),)


def _places_named(context: Context) -> int | None:
    """In how many units the queried name stands as a whole; None for a question that is no name."""
    plan, snapshot = context.plan, context.snapshot
    parts = parts_of(plan.text) if plan.intent == SYMBOL else []
    if not parts or not context.lexical.idf:
        return None
    term = compound(parts[-1])
    found = np.zeros(snapshot.unit_total, bool)
    for field in UNIT_FIELDS:
        found[snapshot.postings(field, term)[0]] = True
    return int(context.allowed[snapshot.unit_file[np.flatnonzero(found)]].sum())


def _searched(query: Query, context: Context, hits: int) -> tuple[tuple[str, ...], tuple[Degraded, ...]]:
    """The languages in which a pattern was searched for, and what to say about patterns."""
    lane = context.lanes.get("structural")
    if lane is not None:
        notes: tuple[Degraded, ...] = getattr(lane, "notes", ())
        if query.mode == "auto" and not hits:
            notes += (Degraded("structural", "the query was read as a pattern", "use --mode hybrid to read it as words"),)
        return getattr(lane, "languages", ()), notes
    if getattr(context.lanes.get("literal"), "partial", False):
        reason = "the pattern matches in too many places; these are from the first files by path"
        return (), (Degraded("literal", reason, "use a longer pattern, or narrow it to a folder or a language"),)
    if query.mode == "auto" and "$" in query.text:
        from lurcher.query.syntax_pattern import looks_like_pattern
        from lurcher.structural.languages import installed

        if looks_like_pattern(query.text) and not installed():
            hint = "for structural search run: pip install 'lurcher[structural]'"
            return (), (Degraded("structural", "the query looks like a pattern; these hits are by words", hint),)
    return (), ()
