"""The engine: opens a workspace, and delegates each question to a corpus, to an inspection of the index, or to a shared store.

    refresh → plan → lanes → ranking → rerank → pack → Answer

`Engine.search` chooses the corpora; each of them runs these steps (see `corpora.base`). What few questions need is imported by
the method that needs it.
"""

from __future__ import annotations

import os
from functools import partial

from lurcher.answer import add_notes
from lurcher.corpora import SearchRequest, Services
from lurcher.errors import Template, UsageError
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.workspace import Workspace, open_roots
from lurcher.query import Query, read_usage_question
from lurcher.query.validate import LIBRARIES, as_tuple, check_query, choose_sources, installed_source, make_filter
from lurcher.runtime.process import Cache
from lurcher.sources import find_root
from lurcher.types import Answer, Degraded, IndexState, Progress, silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from threading import Event
    from types import TracebackType
    from typing import Any

    from lurcher.config import Settings
    from lurcher.corpora.code import CodeCorpus
    from lurcher.corpora.documents import DocumentsCorpus
    from lurcher.corpora.federation import Federation
    from lurcher.corpora.history.corpus import HistoryCorpus
    from lurcher.corpora.libraries import LibrariesCorpus
    from lurcher.corpora.notes.corpus import NotesCorpus
    from lurcher.indexing import View
    from lurcher.indexing.freshness import TreeState
    from lurcher.indexing.watcher import Notice, Update, WatchIntervals
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer
    from lurcher.inspect.doctor.checks import Finding
    from lurcher.inspect.examples import Examples
    from lurcher.inspect.exists import ExistsAnswer
    from lurcher.inspect.explain import ExplainAnswer, LineAgesAnswer, OutcomeLookup, RelatedLookup
    from lurcher.inspect.export import Export
    from lurcher.inspect.impact import GraphAnswer, ImpactAnswer
    from lurcher.inspect.inspection import Inspection
    from lurcher.inspect.outline import FileAnswer, OutlineAnswer
    from lurcher.inspect.references.answer import ReferencesAnswer
    from lurcher.inspect.references.calls import CallsAnswer, ImplementationsAnswer
    from lurcher.inspect.why import WhyAnswer
    from lurcher.lanes.symbol import SymbolAnswer
    from lurcher.stores.corpus import StoreCorpus


class Engine:
    """Answers questions about one or more folders. Usable as a context manager and from several threads."""

    def __init__(
        self, projects: Sequence[RootIndex], prefixes: Mapping[int, tuple[str, ...] | None], settings: Settings,
        overrides: Mapping[str, Any] | None = None, names: Sequence[str] | None = None
    ) -> None:  # fmt: skip
        self.settings = settings
        self._overrides = overrides
        self._workspace = Workspace(projects, prefixes, names)
        self._services = Services(settings, self._workspace, Cache())
        self._store = _open_store(self._services)
        self._corpora = Cache()
        """Each made when it is first searched: a question about references needs none."""

    @classmethod
    def open(
        cls, path: str | Path | Iterable[str | Path] = ".", *, root: str | Path | None = None,
        index_dir: str | Path | None = None, overrides: Mapping[str, Any] | None = None, store: str | None = None,
        project: str | Sequence[str] | None = None, fallback: str | None = None
    ) -> Engine:  # fmt: skip
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

    def __repr__(self) -> str:
        return f"<Engine of {', '.join(map(str, self.roots))}>"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._workspace.close()
        if self._store is not None:
            self._store.shared.close()

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._workspace.roots

    @property
    def projects(self) -> tuple[RootIndex, ...]:
        """The index of each root."""
        return tuple(self._workspace.projects)

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Settings that were given when it was opened, which go before any file's."""
        return self._overrides or {}

    @property
    def labels(self) -> list[str]:
        """What the paths of each root begin with in hits."""
        return self._workspace.labels()

    def name_of(self, path: Path) -> str:
        """What hits call a file or folder, which is given as it is once every link is followed; the other way round."""
        return self._workspace.name_of(path)

    def locate(self, path: str) -> Path:
        """The file that a hit's path stands for; with several roots, paths begin with the name of theirs."""
        name, colon, rest = path.partition(":")
        if colon:  # only a corpus that has been searched can have such a hit
            libraries: LibrariesCorpus | None = self._corpora.peek("libraries")
            found = None if libraries is None else libraries.locate(path)
            if found is not None:
                return found
            documents: DocumentsCorpus | None = self._corpora.peek(("documents", name))
            if documents is not None:
                return documents.locate(rest)
        return self._workspace.locate(path)

    # -- corpora ----------------------------------------------------------------------------------------------------------

    @property
    def history_corpus(self) -> HistoryCorpus:
        """The commits of each root, which servers and commands fill in the background."""
        from lurcher.corpora.history.corpus import HistoryCorpus

        return self._corpora.get("history", lambda: HistoryCorpus(self._services))

    @property
    def _code(self) -> CodeCorpus:
        from lurcher.corpora.code import CodeCorpus

        return self._corpora.get("code", lambda: CodeCorpus(self._services, lambda: self._notes))

    @property
    def _notes(self) -> NotesCorpus:
        from lurcher.corpora.notes.corpus import NotesCorpus

        return self._corpora.get("notes", lambda: NotesCorpus(self._services))

    @property
    def _libraries(self) -> LibrariesCorpus:
        from lurcher.corpora.libraries import LibrariesCorpus

        return self._corpora.get("libraries", lambda: LibrariesCorpus(self._services))

    def _documents(self, source: str) -> DocumentsCorpus:
        from lurcher.corpora.documents import DocumentsCorpus

        return self._corpora.get(("documents", source), lambda: DocumentsCorpus(self._services, source))

    @property
    def _federation(self) -> Federation:
        from lurcher.corpora.federation import Federation

        return Federation(self._services, self._code, self.history_corpus, self._notes)

    def _local(self, question: str) -> tuple[Degraded, ...]:
        """The note of an answer that a shared store is set for and cannot give; an error where nothing is checked out."""
        return () if self._store is None else self._store.shared.note_unsupported(question)

    # -- search -----------------------------------------------------------------------------------------------------------

    def search(
        self, text: str, *, limit: int | None = None, sources: Sequence[str] | None = None, mode: str | None = None,
        ranking: str | None = None, languages: Sequence[str] = (), paths: Sequence[str] = (), excludes: Sequence[str] = (),
        budget: int | None = None, cursor: str | None = None, context: str | None = None, snippet_lines: int | None = None,
        fixed: bool = False, case: str = "smart", word: bool = False, multiline: bool = False,
        rerank: Sequence[str] | None = None, fusion: str | None = None, alpha: float | None = None,
        mmr: float | None = None, since: str | None = None, until: str | None = None, author: str | None = None,
        outcomes: Sequence[str] = (), tags: Sequence[str] = (), libraries: Sequence[str] = (), refresh: bool = True,
        check: bool = True, progress: Progress = silent, views: Sequence[View] | None = None, reasons: bool = True,
        links: bool = True, flat: bool = False
    ) -> Answer:  # fmt: skip
        """The best answer to a question: hits in order, each with its reason.

        `sources` are any of code, history and notes, or `all`; without them the code is asked, or the notes where there is
        no code; or `libraries` alone: installed ones that have an index, all of them or those named by `libraries`.
        Only history and notes have dates, only history has authors and outcomes, only notes have tags.
        `fusion` adds lanes up (linear) or fuses their ranks (rrf), whatever the ranking; `alpha` and `mmr` are for linear.
        `rerank` names second looks at the first hits; none given: as the setting `search.rerank` has it.
        `refresh=False` answers from the index as it is and tells how stale that is; `check=False` does not even look.
        `views` are for who has compared the tree with the index already; without `reasons` hits do not tell why they are
        there (they are computed when read; until then an answer holds all scores), and without `links` not what they have to do
        with hits of other sources.
        A hit is a file with one to five places; with `flat` each place is a hit of its own.
        """
        request = SearchRequest(
            text, sources, limit, mode, ranking, languages, paths, excludes, budget, cursor, context, snippet_lines, fixed,
            case, word, multiline, rerank, fusion, alpha, mmr, since, until, author, outcomes, tags, libraries, refresh, check,
            progress, views, reasons, links, flat,
        )  # fmt: skip
        installed = installed_source(sources)
        if installed is not None:
            local = self._local(Template("{in=*}", installed))
            return add_notes(self._documents(installed).search(request), local)
        if libraries and sources is None:
            request = request.replace(sources=[LIBRARIES])
        chosen = choose_sources(
            request.sources, libraries=as_tuple(libraries), since=since, until=until, author=author, outcomes=outcomes,
            tags=tags,
        )
        search = partial(self._search_sources, sources=chosen.sources, notes=chosen.notes)
        question = read_usage_question(text) if "code" in chosen.sources and isinstance(text, str) else None
        if question is None:
            return search(request)
        from lurcher.inspect.references.question import answer_question

        inspection = self._inspection(progress, refresh=refresh, check=check)
        return answer_question(question, request, self.settings.search.mode, inspection.usage, search)

    def _search_sources(self, request: SearchRequest, sources: Sequence[str], notes: tuple[Degraded, ...]) -> Answer:
        if len(sources) > 1:
            store, local = self._choose()
            federation = self._federation if store is None else store.federation
            return add_notes(federation.search(request, sources), local + notes)
        search = {
            "code": self._search_code, "history": self._search_history, "notes": self._search_notes,
            LIBRARIES: self._search_libraries,
        }[sources[0]]  # fmt: skip
        return add_notes(search(request), notes)

    def _search_code(self, request: SearchRequest) -> Answer:
        """From the shared store where one is set; from the local index where there is none, or it cannot answer."""
        notes: tuple[Degraded, ...] = ()
        if self._store is not None:
            answer, notes = self._store.try_search(request)
            if answer is not None:
                return answer
        return add_notes(self._code.search(request), notes)

    def _search_history(self, request: SearchRequest) -> Answer:
        store, notes = self._choose()
        return add_notes((self.history_corpus if store is None else store.history).search(request), notes)

    def _search_notes(self, request: SearchRequest) -> Answer:
        store, notes = self._choose()
        return add_notes((self._notes if store is None else store.notes).search(request), notes)

    def _search_libraries(self, request: SearchRequest) -> Answer:
        local = self._local(Template("{in=libraries}"))
        return add_notes(self._libraries.search(request), local)

    def history(
        self, text: str, *, limit: int | None = None, mode: str | None = None, ranking: str | None = None,
        fusion: str | None = None, alpha: float | None = None, mmr: float | None = None, since: str | None = None,
        until: str | None = None, author: str | None = None, outcomes: Sequence[str] = (), languages: Sequence[str] = (),
        paths: Sequence[str] = (), excludes: Sequence[str] = (), rerank: Sequence[str] | None = None,
        budget: int | None = None, cursor: str | None = None, context: str | None = None, snippet_lines: int | None = None,
        refresh: bool = True, progress: Progress = silent
    ) -> Answer:  # fmt: skip
        """The commits that answer a question best, each with what became of it.

        `since` and `until` take a date, an age such as 30d, or a tag. What is not indexed yet is read for at most
        `history.refresh_seconds`; the answer says how much of the history it covers.
        """
        return self._search_history(
            SearchRequest(
                text, limit=limit, mode=mode, ranking=ranking, fusion=fusion, alpha=alpha, mmr=mmr, since=since, until=until,
                author=author, outcomes=outcomes, languages=languages, paths=paths, excludes=excludes, rerank=rerank,
                budget=budget, cursor=cursor, context=context, snippet_lines=snippet_lines, refresh=refresh, progress=progress,
            )
        )  # fmt: skip

    def notes(
        self, text: str, *, limit: int | None = None, mode: str | None = None, tags: Sequence[str] = (),
        since: str | None = None, until: str | None = None, languages: Sequence[str] = (), paths: Sequence[str] = (),
        excludes: Sequence[str] = (), rerank: Sequence[str] | None = None, fusion: str | None = None,
        alpha: float | None = None, mmr: float | None = None, budget: int | None = None, cursor: str | None = None,
        context: str | None = None, snippet_lines: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent, views: Sequence[View] | None = None
    ) -> Answer:  # fmt: skip
        """The sections of notes that answer a question best, the best one of each note first.

        What stands in quotes must be found as it is. A note has to have all of `tags`, where `area` takes in `area/home`;
        `since` and `until` go by the date in its front matter, else by when its file was written. `views` are for who has
        compared the tree with the index already.
        """
        return self._search_notes(
            SearchRequest(
                text, limit=limit, mode=mode, tags=tags, since=since, until=until, languages=languages, paths=paths,
                excludes=excludes, rerank=rerank, fusion=fusion, alpha=alpha, mmr=mmr, budget=budget, cursor=cursor,
                context=context, snippet_lines=snippet_lines, refresh=refresh, check=check, progress=progress, views=views,
            )
        )  # fmt: skip

    def symbol(self, name: str, *, limit: int = 20, languages: Sequence[str] = (), progress: Progress = silent) -> SymbolAnswer:
        """The definitions of a name, best first."""
        query = check_query(Query(name, limit, filter=make_filter(languages)))
        notes: tuple[Degraded, ...] = ()
        if self._store is not None:
            answer, notes = self._store.try_symbol(query, progress)
            if answer is not None:
                return answer
        answer = self._code.symbol(query, progress)
        return answer.replace(degraded=notes + answer.degraded) if notes else answer

    # -- inspection -------------------------------------------------------------------------------------------------------

    def _choose(self) -> tuple[StoreCorpus | None, tuple[Degraded, ...]]:
        """The shared store, if one is set; None and a note where the local index answers because it is down."""
        return (None, ()) if self._store is None else self._store.choose()

    def _inspection(
        self, progress: Progress = silent, *, refresh: bool = True, check: bool = True, views: Sequence[View] | None = None
    ) -> Inspection:
        from lurcher.inspect.inspection import Inspection

        store, notes = self._choose()
        parts = (self._services, lambda: self._code, lambda: self.history_corpus) if store is None else store.parts
        return Inspection(*parts, notes, progress, refresh=refresh, check=check, views=views)

    def _local_inspection(self, question: str, progress: Progress = silent, *, refresh: bool = True) -> Inspection:
        """For a question that only a checkout can answer; `question` names it in what the answer says about that."""
        from lurcher.inspect.inspection import Inspection

        parts = self._services, lambda: self._code, lambda: self.history_corpus
        return Inspection(*parts, self._local(question), progress, refresh=refresh)

    def related(
        self, path: str | Path, line: int, *, limit: int | None = None, languages: Sequence[str] = (),
        paths: Sequence[str] = (), excludes: Sequence[str] = (), budget: int | None = None, cursor: str | None = None,
        context: str | None = None, snippet_lines: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent, flat: bool = False
    ) -> Answer:  # fmt: skip
        """Units like the one around a line of a file: by the words they share and by nearness in meaning."""
        request = SearchRequest(
            "", limit=limit, languages=languages, paths=paths, excludes=excludes, budget=budget, cursor=cursor, context=context,
            snippet_lines=snippet_lines, refresh=refresh, check=check, progress=progress, flat=flat,
        )  # fmt: skip
        return self._inspection(progress).related(path, line, request)

    def why(
        self, path: str | Path, text: str, *, line: int | None = None, limit: int | None = None, mode: str | None = None,
        ranking: str | None = None, languages: Sequence[str] = (), paths: Sequence[str] = (), excludes: Sequence[str] = (),
        refresh: bool = True, check: bool = True, progress: Progress = silent
    ) -> WhyAnswer:  # fmt: skip
        """Why a file, or the unit around one of its lines, is or is not among the hits for a question."""
        request = SearchRequest(
            text, limit=limit, mode=mode, ranking=ranking, languages=languages, paths=paths, excludes=excludes,
            refresh=refresh, check=check, progress=progress,
        )  # fmt: skip
        return self._inspection(progress).why(path, line, request)

    def impact(
        self, path: str | Path, *, symbol: str | None = None, hops: int | None = None, refresh: bool = True,
        check: bool = True, progress: Progress = silent
    ) -> ImpactAnswer:  # fmt: skip
        """What depends on a file, by hop; with `symbol` only what uses that name of it."""
        inspection = self._inspection(progress, refresh=refresh, check=check)
        return inspection.impact(path, symbol, hops)

    def references(
        self, target: str | Path, *, kinds: Sequence[str] = (), limit: int | None = None, refresh: bool = True,
        check: bool = True, progress: Progress = silent
    ) -> ReferencesAnswer:  # fmt: skip
        """Who uses a definition: `target` is a name, or a place as `FILE:LINE[:COLUMN]`; all uses, or the first `limit`."""
        return self._inspection(progress, refresh=refresh, check=check).references(target, kinds, limit)

    def calls(
        self, target: str | Path, *, direction: str = "callers", depth: int | None = None, limit: int | None = None,
        refresh: bool = True, check: bool = True, progress: Progress = silent
    ) -> CallsAnswer:  # fmt: skip
        """Who calls a definition (`callers`), what it calls (`callees`), or which `tests` reach it, over `depth` steps."""
        return self._inspection(progress, refresh=refresh, check=check).calls(target, direction, depth, limit)

    def implementations(
        self, target: str | Path, *, limit: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent
    ) -> ImplementationsAnswer:  # fmt: skip
        """The types below a type, or what overrides a member."""
        return self._inspection(progress, refresh=refresh, check=check).implementations(target, limit)

    def outline(
        self, path: str | Path = ".", *, kinds: Sequence[str] = (), refresh: bool = True, check: bool = True,
        progress: Progress = silent, views: Sequence[View] | None = None
    ) -> OutlineAnswer:  # fmt: skip
        """The symbols of a file, nested, or of a folder, file by file."""
        return self._inspection(progress, refresh=refresh, check=check, views=views).outline(path, kinds)

    def context(
        self, path: str | Path = ".", *, budget: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent
    ) -> ContextAnswer:  # fmt: skip
        """One package about a file or folder, within a budget of tokens."""
        return self._inspection(progress, refresh=refresh, check=check).context(path, budget)

    def exists(
        self, pattern: str, *, exact: bool = False, refresh: bool = True, check: bool = True, progress: Progress = silent
    ) -> ExistsAnswer:
        """Whether a text occurs, by itself, in any file: yes is probable, unless it is to be `exact`; no is certain."""
        return self._inspection(progress, refresh=refresh, check=check).exists(pattern, exact)

    def file(
        self, path: str | Path, first: int | None = None, last: int | None = None, *, names: bool = False,
        refresh: bool = True, check: bool = True, progress: Progress = silent, views: Sequence[View] | None = None
    ) -> FileAnswer:  # fmt: skip
        """The text or lines of a file of the index, below the folders that were opened, and where its `names` stand."""
        inspection = self._inspection(progress, refresh=refresh, check=check, views=views)
        return inspection.file(path, first, last, names)

    def export(
        self, format: str, *, folder: str | Path | None = None, refresh: bool = True, progress: Progress = silent
    ) -> Export:
        """What the index defines as a file of another format, `scip` or `ctags`. Tags have paths relative to `folder`."""
        return self._local_inspection("what is defined", progress, refresh=refresh).export(format, folder)

    def graph(
        self, path: str | Path, *, hops: int = 1, most: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent
    ) -> GraphAnswer:  # fmt: skip
        """A file among the files it imports and those that depend on it."""
        return self._inspection(progress, refresh=refresh, check=check).graph(path, hops, most)

    def listed(self, path: str, *, refresh: bool = True, check: bool = True, progress: Progress = silent) -> str:
        """The file that hits call by this very path; any other path is the same error, whether or not there is such a file."""
        return self._inspection(progress, refresh=refresh, check=check).listed(path)

    def examples(self, *, refresh: bool = True, check: bool = True, progress: Progress = silent) -> Examples:
        """Questions to begin with, made of this repository's own names, commits and documents."""
        return self._inspection(progress, refresh=refresh, check=check).examples()

    def brief(
        self, target: str | Path, *, budget: int | None = None, refresh: bool = True, check: bool = True,
        progress: Progress = silent
    ) -> BriefAnswer:  # fmt: skip
        """What to know before editing a file, or a symbol: its past, what depends on it, what documents say; one page."""
        inspection = self._inspection(progress, refresh=refresh, check=check)
        return inspection.brief(target, budget)

    def heat(self, path: str | Path) -> LineAgesAnswer:
        """How old each line of a file of the index is, and which commit wrote it."""
        return self._local_inspection("which commits wrote a file").line_ages(path)

    def explain(
        self, path: str | Path, first: int | None = None, last: int | None = None, *, limit: int | None = None,
        outcome: OutcomeLookup | None = None, related: RelatedLookup | None = None
    ) -> ExplainAnswer:  # fmt: skip
        """The commits that wrote lines `first` to `last` of a file (default: all), the newest first; needs no index.

        Where the history is indexed, each is told with what became of it and with commits that seem to have to do with it.
        """
        inspection = self._local_inspection("which commits wrote a line")
        return inspection.explain(path, first, last, limit, outcome, related)

    # -- the index --------------------------------------------------------------------------------------------------------

    def index(
        self, *, rebuild: bool = False, history: bool = False, scip: Sequence[str | Path] = (), share: bool = True,
        seed: str | Path | None = None, progress: Progress = silent,
    ) -> dict[str, Any]:  # fmt: skip
        """Bring the index up to date, or make it anew; its status then, with `degraded` if it could not be done as asked.

        With `history` also that of the commits, however many there are. `scip` are index files of compiler-grade indexers; what
        they say about references is kept. A first index begins with what the index of the checkout at `seed` has in common with
        it; those of other work trees are used unasked. A shared store, if one is set, is updated too, unless not to `share` it.
        """
        notes: tuple[Degraded, ...] = ()
        store = self._store if share else None
        notes += self._code.refresh(progress, rebuild=rebuild, seed=seed)
        if history:
            notes += self.history_corpus.refresh(progress, rebuild=rebuild)
        if scip:
            from lurcher.indexing.scip_edges import load_scip

            notes += load_scip(self._workspace.projects, scip, progress)
        sent = [] if store is None else store.write(progress, rebuild=rebuild)
        degraded = [note.to_dict() for note in notes]
        return {**self.status(), **({"sent": sent} if sent else {}), **({"degraded": degraded} if degraded else {})}

    def refresh(self, *, progress: Progress = silent) -> IndexState:
        """Index what changed, whatever its number."""
        views = [project.view(progress, limited=False) for project in self._workspace.open_projects()]
        stale = sum(view.stale_paths for view in views)
        return IndexState(sum(view.manifest.generation for view in views), stale == 0, stale)

    @property
    def shares(self) -> bool:
        """Whether a shared store answers."""
        return self._store is not None

    @property
    def elsewhere(self) -> bool:
        """Whether a shared store answers for a project that is not checked out here."""
        return self._store is not None and self._store.shared.remote

    @property
    def indexed(self) -> bool:
        """Whether every root has an index to answer from."""
        return all(project.has_index() for project in self._workspace.projects)

    def look(self, *, progress: Progress = silent) -> TreeState:
        """Compares the index with the tree as a query does, and with HEAD; indexes what changed.

        Questions that are asked without `check` right after it have the answers that they would have with it.
        """
        from lurcher.inspect.inspection import tree_state

        return tree_state(self._workspace, self.history_corpus, progress)

    def clear(self) -> bool:
        """Remove the index of every root, from the store where one is set. True if there was one."""
        if self._store is not None:
            return self._store.shared.clear()
        history = self.history_corpus.clear()
        return any([project.clear() for project in self._workspace.projects]) or history

    def past_indexed(self) -> bool:
        """Whether some of the history of every root is indexed, as far as the roots have one."""
        return self.history_corpus.indexed()

    def begin_history(self, progress: Progress = silent) -> None:
        """Index the newest commits of each root that has a history of which nothing is indexed."""
        self.history_corpus.begin(progress)

    def index_library(self, name: str, *, rebuild: bool = False, progress: Progress = silent) -> dict[str, Any]:
        """Make or update the index of an installed library: what it holds then, as in `libraries`.

        `name` is how code names it; `python:`, `node:`, `go:` or `cargo:` before it and `@VERSION` after it say which is meant.
        """
        return self._libraries.index(name, rebuild=rebuild, progress=progress)

    def clear_library(self, name: str) -> bool:
        """Remove the index of a library. True if there was one."""
        return self._libraries.clear(name)

    def libraries(self) -> list[dict[str, Any]]:
        """The libraries that have an index: name, ecosystem, version, where they are, and what the index holds."""
        return self._libraries.status()

    def watch(
        self, tell: Callable[[Update | Notice], None], *, stop: Event | None = None, rebuild: bool = False,
        progress: Progress = silent, pace: WatchIntervals | None = None
    ) -> None:  # fmt: skip
        """Keep the index up to date until `stop` is set: after each burst of changes it is updated, and `tell` is told.

        Questions may be asked meanwhile, from other threads too. What goes wrong on the way is told and tried again; it
        ends by itself only with an error, such as a root that is gone.
        """
        from threading import Event

        from lurcher.indexing.watcher import WatchIntervals, watch_roots

        if self._store is not None:
            raise UsageError(
                Template("{watch} keeps the local index up to date, not a store"),
                Template("add {store=local}, or leave {watch} out"),
            )
        for project in self._workspace.projects if rebuild else ():
            project.rebuild(progress)
        reopen = partial(self._workspace.reopen, overrides=self._overrides)
        watch_roots(self._workspace.projects, reopen, tell, stop or Event(), progress, pace or WatchIntervals())

    def status(self, *, skipped: bool = False) -> dict[str, Any]:
        """What the index holds, without changing it; with `skipped` also paths of files that were left out."""
        from lurcher.inspect.inspection import status_of_roots

        shared = {} if self._store is None else {"shared": self._store.shared.status()}
        return status_of_roots(self._workspace.open_projects(), self.libraries(), skipped=skipped) | shared


def _open_store(services: Services) -> StoreCorpus | None:
    store = services.settings.store
    if not store.url and not store.project:  # most have none, and need not load what reads it
        return None
    from lurcher.stores.corpus import store_corpus

    return store_corpus(services)


def diagnose(
    path: str | Path | Iterable[str | Path] = ".", *, quick: bool = False, overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent
) -> Iterator[Finding]:  # fmt: skip
    """Every check of installation, settings, index and tree, one finding after the other; nothing is changed.

    No engine is needed for it, since one cannot always be opened: that is a finding too. Only a path that is not there raises.
    """
    from lurcher.inspect.doctor.checks import examine_all
    from lurcher.stores.shared import store_health

    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    for item in paths:
        find_root(item)
    opened = partial(Engine.open, paths, overrides=overrides)
    yield from examine_all(lambda: opened().projects, progress, quick=quick, services=(store_health,))
