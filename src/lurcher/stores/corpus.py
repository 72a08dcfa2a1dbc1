"""Code in a shared store, searched as a local index is; and what happens where the store cannot answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from lurcher.corpora.code import CodeCorpus, code_query, findings_of, lanes_for, rank_units
from lurcher.errors import StoreError
from lurcher.lanes.symbol import SymbolAnswer
from lurcher.query import Plan, Query, compile_literal_query
from lurcher.runtime.process import Stopwatch
from lurcher.sources.roles import PARSED
from lurcher.stores.base import StoreChanged
from lurcher.stores.files import ReadLimit
from lurcher.stores.search import UnknownProject
from lurcher.stores.shared import SharedStore, find_shared_store
from lurcher.stores.workspace import SharedWorkspace
from lurcher.types import Answer, Degraded

if TYPE_CHECKING:
    from lurcher.answer import Findings
    from lurcher.corpora import SearchRequest, Services
    from lurcher.corpora.federation import Federation
    from lurcher.corpora.history.corpus import HistoryCorpus
    from lurcher.corpora.notes.corpus import NotesCorpus
    from lurcher.types import Filter, Progress

    Result = TypeVar("Result")

_ATTEMPTS = 3
"""How often a store is queried whose project is replaced meanwhile."""


class StoreCorpus:
    """Answers for code in the place of `CodeCorpus`, and has the other corpora of the same projects.

    Thread-safe; the store is opened by the first query.
    """

    def __init__(self, services: Services, shared: SharedStore) -> None:
        self._services, self.shared = services, shared

    # -- the projects in the place of folders -----------------------------------------------------------------------------

    @cached_property
    def _workspace(self) -> SharedWorkspace:
        return SharedWorkspace(self.shared, self._services.workspace)

    @cached_property
    def services(self) -> Services:
        return self._services.over(self._workspace)

    @cached_property
    def code(self) -> CodeCorpus:
        """Code by the whole index, for questions that a few candidates cannot answer."""
        return CodeCorpus(self.services, lambda: self.notes)

    @cached_property
    def history(self) -> HistoryCorpus:
        from lurcher.corpora.history.corpus import HistoryCorpus

        return HistoryCorpus(self.services, self._workspace.open_history)

    @cached_property
    def notes(self) -> NotesCorpus:
        from lurcher.corpora.notes.corpus import NotesCorpus

        return NotesCorpus(self.services)

    @property
    def federation(self) -> Federation:
        from lurcher.corpora.federation import Federation

        return Federation(self.services, self, self.history, self.notes)

    @property
    def parts(self) -> tuple[Services, Callable[[], CodeCorpus], Callable[[], HistoryCorpus]]:
        """What an inspection needs."""
        return self.services, lambda: self.code, lambda: self.history

    def choose(self) -> tuple[StoreCorpus | None, tuple[Degraded, ...]]:
        """Itself; or None, and the notes of the answer that the local index gives while the store is down."""
        if self.shared.remote or not self.shared.fallback:
            return self, ()
        found, notes = self._attempt(self.shared.searcher.heads)
        return (self if found is not None else None), notes

    # -- questions --------------------------------------------------------------------------------------------------------

    def write(self, progress: Progress, *, rebuild: bool = False) -> list[dict[str, Any]]:
        """Bring the store up to date with the local indexes; what was sent for each root."""
        return [self.shared.sync(project, progress, rebuild=rebuild) for project in self._services.workspace.projects]

    def search(self, request: SearchRequest) -> Answer:
        query = code_query(request, self._services)
        if _is_exact(query) or (request.sources is None and not self._has_code()):
            return self.code.search(request)
        return self._search(query)

    def findings(self, query: Query, request: SearchRequest, clock: Stopwatch) -> Findings:
        """Every unit that answers a query, as far as the store has it among its candidates, best first."""
        return self.code.findings(query, request, clock) if _is_exact(query) else self._find(query, clock)

    def try_search(self, request: SearchRequest) -> tuple[Answer | None, tuple[Degraded, ...]]:
        """The answer; or None, and the notes of the answer that the local index gives instead.

        An error is raised where the local index may not answer: `store.fallback` does not allow it, or there is no checkout.
        """
        return self._attempt(lambda: self.search(request))

    def try_symbol(self, query: Query, progress: Progress) -> tuple[SymbolAnswer | None, tuple[Degraded, ...]]:
        """The definitions of a name, as for `try_search`."""
        return self._attempt(lambda: self.code.symbol(query, progress))

    def _has_code(self) -> bool:
        """Whether any of the projects has code: where there are notes only, they answer."""
        heads = self.shared.searcher.heads()
        return any(language in PARSED for head in heads.values() for language in head.more.get("languages", "").split())

    def _attempt(self, ask: Callable[[], Result]) -> tuple[Result | None, tuple[Degraded, ...]]:
        shared = self.shared
        for attempt in range(_ATTEMPTS):
            try:
                return ask(), ()
            except UnknownProject as problem:
                if shared.remote or not shared.fallback:
                    raise
                return None, (Degraded("store", f"{problem.message}; the local index answered", problem.hint),)
            except StoreError as problem:
                if isinstance(problem, StoreChanged) and attempt < _ATTEMPTS - 1:
                    continue
                if shared.remote or not shared.fallback or isinstance(problem, ReadLimit):
                    raise shared.add_context(problem) from problem.__cause__
                return None, (shared.fallback_note(problem),)
        raise AssertionError("unreachable")

    def _search(self, query: Query) -> Answer:
        clock = Stopwatch()
        answer = self._services.page(self._find(query, clock), query, clock)
        answer.timings_ms.update(clock.total())
        return answer

    def _find(self, query: Query, clock: Stopwatch) -> Findings:
        services, shared = self._services, self.shared
        filter, model = self._filter(query), services.workspace.model

        def lanes(plan: Plan) -> Sequence[str]:
            return lanes_for(query, plan, services.settings, model)

        found = shared.searcher.search(query, filter, model, lanes, clock.lap)
        names = [head.more.get("root", "") for head in found.heads.values()]
        ranked = rank_units(services, found.snapshot, found.plan, query, clock, filter, names)
        found.snapshot.prefetch(lambda: map(ranked.ranking.unit, range(len(ranked.ranking))))
        state = shared.index_state(found.heads)
        ranked = ranked.replace(notes=ranked.notes + found.notes + shared.commit_notes(found.heads))
        return findings_of(
            ranked, query, clock, state, (), root=shared.identity, checksum=repr(sorted(state.shared.items())),
            options=services.options,
        )  # fmt: skip

    def _filter(self, query: Query) -> Filter:
        """The query's filter; the folders that the engine was opened for are those of the checkout around here."""
        return query.filter if self.shared.remote else self._services.workspace.narrow(query.filter)


def _is_exact(query: Query) -> bool:
    """Whether a query is for exact text or syntax, which files are read for."""
    return query.mode in ("literal", "structural") or compile_literal_query(query) is not None or "$" in query.text


def store_corpus(services: Services) -> StoreCorpus | None:
    """The store that the settings name; None where the local index is all there is."""
    shared = find_shared_store(services.settings, services.workspace.roots)
    return None if shared is None else StoreCorpus(services, shared)
