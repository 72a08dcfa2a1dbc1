"""Code in a shared store, searched as a local index is; and what happens where the store cannot answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lurcher.corpora.code import code_query, definitions_of, findings_of, lanes_for, rank_units
from lurcher.errors import StoreError
from lurcher.lanes.symbol import SymbolAnswer
from lurcher.query import Plan, Query, compile_literal_query
from lurcher.query.validate import filter_files
from lurcher.runtime.process import Stopwatch
from lurcher.stores.search import NeedsText, UnknownProject, needs_text_error
from lurcher.stores.shared import SharedStore
from lurcher.stores.snapshot import StoreChanged
from lurcher.types import Answer, Degraded

if TYPE_CHECKING:
    from lurcher.answer import Findings
    from lurcher.corpora import SearchRequest, Services
    from lurcher.types import Filter, Progress

    Result = TypeVar("Result")

_ATTEMPTS = 3
"""How often a store is queried whose project is replaced meanwhile."""


class StoreCorpus:
    """Answers for code in the place of `CodeCorpus`. Thread-safe; the store is opened by the first query."""

    def __init__(self, services: Services, shared: SharedStore) -> None:
        self._services, self.shared = services, shared

    def refresh(self, progress: Progress, *, rebuild: bool = False) -> tuple[Degraded, ...]:
        self.write(progress, rebuild=rebuild)
        return ()

    def write(self, progress: Progress, *, rebuild: bool = False) -> list[dict[str, Any]]:
        """Bring the store up to date with the local indexes; what was sent for each root."""
        return [self.shared.sync(project, progress, rebuild=rebuild) for project in self._services.workspace.projects]

    def status(self) -> list[dict[str, Any]]:
        return [self.shared.status()]

    def search(self, request: SearchRequest) -> Answer:
        return self._search(code_query(request, self._services))

    def find(self, request: SearchRequest, clock: Stopwatch) -> Findings:
        return self._find(code_query(request, self._services), clock)

    def try_search(self, request: SearchRequest) -> tuple[Answer | None, tuple[Degraded, ...]]:
        """The answer; or None, and the notes of the answer that the local index gives instead.

        An error is raised where the local index may not answer: `store.fallback` does not allow it, or there is no checkout.
        """
        query = code_query(request, self._services)
        return self._attempt(lambda: self._search(query))

    def try_symbol(self, query: Query) -> tuple[SymbolAnswer | None, tuple[Degraded, ...]]:
        """The definitions of a name, as for `try_search`."""
        return self._attempt(lambda: self._symbol(query))

    def _attempt(self, ask: Callable[[], Result]) -> tuple[Result | None, tuple[Degraded, ...]]:
        shared = self.shared
        for attempt in range(_ATTEMPTS):
            try:
                return ask(), ()
            except NeedsText as problem:
                if shared.remote:
                    raise
                return None, (Degraded("store", f"{problem.message}; the local index answered", ""),)
            except UnknownProject as problem:
                if shared.remote or not shared.fallback:
                    raise
                return None, (Degraded("store", f"{problem.message}; the local index answered", problem.hint),)
            except StoreError as problem:
                if isinstance(problem, StoreChanged) and attempt < _ATTEMPTS - 1:
                    continue
                if shared.remote or not shared.fallback:
                    raise shared.add_context(problem) from problem.__cause__
                return None, (shared.fallback_note(problem),)
        raise AssertionError("unreachable")

    def _search(self, query: Query) -> Answer:
        clock = Stopwatch()
        answer = self._services.page(self._find(query, clock), query, clock)
        answer.timings_ms.update(clock.total())
        return answer

    def _find(self, query: Query, clock: Stopwatch) -> Findings:
        if query.mode in ("literal", "structural") or compile_literal_query(query) is not None:
            raise needs_text_error("structural" if query.mode == "structural" else "literal")
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

    def _symbol(self, query: Query) -> SymbolAnswer:
        shared, filter = self.shared, self._filter(query)
        found = shared.searcher.find_definitions(query.text, filter, query.limit)
        best, notes = definitions_of(found.snapshot, query, filter_files(found.snapshot, filter), counted=False)
        if not found.whole:
            fetched = sum(len(project.keys) for project in found.snapshot.projects)
            reason = f"more files than {fetched:,} in the store define it, and no more were looked at"
            notes += (Degraded("store", reason, "ask for Class.name, or for one language"),)
        return SymbolAnswer(query.text, best, shared.index_state(found.heads), notes + shared.commit_notes(found.heads))

    def _filter(self, query: Query) -> Filter:
        """The query's filter; the folders that the engine was opened for are those of the checkout around here."""
        return query.filter if self.shared.remote else self._services.workspace.narrow(query.filter)


def store_corpus(services: Services) -> StoreCorpus | None:
    """The store that the settings name; None where the local index is all there is."""
    from lurcher.stores.shared import find_shared_store

    shared = find_shared_store(services.settings, services.workspace.roots)
    return None if shared is None else StoreCorpus(services, shared)
