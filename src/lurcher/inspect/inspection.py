"""Questions about files and folders of a workspace, answered from the current generation of its index; and its status."""

from __future__ import annotations

import os
import posixpath

from lurcher.corpora import SearchRequest
from lurcher.errors import LurcherError, PathError, QueryError, UsageError
from lurcher.indexing.workspace import state_of
from lurcher.inspect import Basis, NotIndexed, file_at, file_or_symbol, files_at, unit_at
from lurcher.query.validate import as_tuple, choice_error, filter_files, make_filter
from lurcher.runtime.stdlib import TypeVar, pattern
from lurcher.storage import SCIP_NAME
from lurcher.types import Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from lurcher.corpora import Services
    from lurcher.corpora.code import CodeCorpus
    from lurcher.corpora.history.corpus import HistoryCorpus
    from lurcher.indexing import View
    from lurcher.indexing.freshness import BackgroundCheck, TreeState
    from lurcher.indexing.root_index import RootIndex
    from lurcher.indexing.workspace import Workspace
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer
    from lurcher.inspect.examples import Examples
    from lurcher.inspect.exists import ExistsAnswer
    from lurcher.inspect.explain import ExplainAnswer, LineAgesAnswer, OutcomeLookup, RelatedLookup
    from lurcher.inspect.export import Export
    from lurcher.inspect.impact import GraphAnswer, ImpactAnswer
    from lurcher.inspect.outline import FileAnswer, OutlineAnswer
    from lurcher.inspect.references.answer import Finder, ReferencesAnswer
    from lurcher.inspect.references.calls import AnyReferences, CallsAnswer, ImplementationsAnswer
    from lurcher.inspect.why import WhyAnswer
    from lurcher.query import Plan, UsageQuestion
    from lurcher.storage.snapshot import Snapshot
    from lurcher.types import Answer, Degraded, Progress

    Result = TypeVar("Result")


HOPS = 2
"""How many imports `impact` follows by default; as many as the classic ranking's import proximity."""
FAN_IN = 100
"""Dependents that `impact` lists for each hop; all are counted. Hand-set."""
CONTEXT_BUDGET = 4000
"""Tokens that `context` takes unless a budget is given; hand-set."""
BRIEF_BUDGET = 1500
"""Tokens that `brief` takes unless a budget is given: about a page."""


_PLACE = pattern(r"(?s)([^:].*?):(-?[0-9]+)(?::(-?[0-9]+))?")
_MOST_DIGITS = 9


def split_place(target: str) -> tuple[str, int, int | None] | None:
    """File, line and column of FILE:LINE[:COLUMN]; None where the target is a name."""
    match = _PLACE.fullmatch(target) if ":" in target else None
    if match is None:
        return None
    path, line, column = match.groups()
    for number in (line, column or "1"):
        if number.startswith("-") or len(number) > _MOST_DIGITS:
            raise QueryError(f"{number[:20]} is no line or column", "for example: src/client.py:42, or src/client.py:42:7")
    return path, int(line), None if column is None else int(column)


class Inspection:
    """One question: how fresh the index must be for it, and the notes that its answer begins with."""

    def __init__(
        self, services: Services, code: Callable[[], CodeCorpus], history: Callable[[], HistoryCorpus],
        notes: tuple[Degraded, ...], progress: Progress, *, refresh: bool = True, check: bool = True,
        views: Sequence[View] | None = None,
    ) -> None:  # fmt: skip
        """`views` are asked instead of the index, before there is one."""
        self._settings, self._workspace = services.settings, services.workspace
        self._services, self._code, self._history, self._notes = services, code, history, notes
        self._refresh, self._check, self._progress, self._views = refresh, check, progress, views

    def _answer(self, work: Callable[[Snapshot, Basis], Result]) -> Result:
        """Run `work` on the current generation; if the index turns out to be damaged, rebuild it and run once more."""

        def attempt(damage: tuple[Degraded, ...]) -> Result:
            views: Sequence[View] | None = self._views
            if views is None and self._check and not damage:
                ahead = self._answer_ahead(work)
                if ahead is not None:
                    return ahead[0]
            if views is None:
                views = self._workspace.views(self._progress, refresh=self._refresh, check=self._check, needs_vectors=False)
            return self._answer_from(views, work, damage)

        return self._workspace.with_repair(attempt, self._progress)

    def _answer_from(
        self, views: Sequence[View], work: Callable[[Snapshot, Basis], Result], damage: tuple[Degraded, ...] = ()
    ) -> Result:
        snapshot = self._workspace.snapshot(views)
        notes = self._notes + damage + tuple(note for view in views for note in view.degraded)
        try:
            return work(snapshot, Basis(state_of(snapshot, views), notes, tuple(views)))
        except NotIndexed as unknown:
            self._add_reason(unknown, snapshot, views)
            raise

    def _answer_ahead(self, work: Callable[[Snapshot, Basis], Result]) -> tuple[Result] | None:
        """The answer of the index as it is, found while the kernel compares it with the tree.

        None where that comparison cannot run beside the work, or finds a change.
        """
        started: list[tuple[View, BackgroundCheck]] = []
        for project in self._workspace.projects:
            begun = project.optimistic_view(False)
            if begun is None:
                return None
            started.append(begun)
        found: tuple[Result] | None = None
        error: UsageError | None = None
        try:
            found = (self._answer_from([view for view, _ in started], work),)
        except UsageError as raised:  # such as that nothing has this name, which a changed file may have
            error = raised
        changes = [comparison.finish() for _, comparison in started]
        if any(change is None or change for change in changes):
            return None
        if error is not None:
            raise error
        return found

    def _add_reason(self, unknown: NotIndexed, snapshot: Snapshot, views: Sequence[View]) -> None:
        """Note in the error why an existing file was left out. Its message does not tell: not everybody may know of it."""
        from lurcher.inspect.why import left_out

        try:
            unknown.left_out = left_out(
                snapshot, [unknown.path], views, self._workspace.projects, self._workspace.labels()
            )  # fmt: skip
        except (LurcherError, OSError):
            return

    def _file(self, snapshot: Snapshot, names: Sequence[str]) -> int:
        """The file at one of these paths, inside of the folders that the engine was opened for."""
        file = file_at(snapshot, names)
        if not filter_files(snapshot, self._workspace.narrow(Filter()))[file]:
            raise PathError(f"{snapshot.path(file)} is outside of the given folders", "name a file below one of them")
        return file

    # -- structure --------------------------------------------------------------------------------------------------------

    def impact(self, path: str | Path, symbol: str | None, hops: int | None) -> ImpactAnswer:
        from lurcher.inspect.impact import impact

        hops = HOPS if hops is None else hops
        _check_hops(hops)

        def work(snapshot: Snapshot, basis: Basis) -> ImpactAnswer:
            file = file_at(snapshot, self._workspace.candidate_paths(path))
            return impact(snapshot, file, symbol, hops, FAN_IN, basis)

        return self._answer(work)

    def references(self, target: str | Path, kinds: Sequence[str], limit: int | None) -> ReferencesAnswer:
        from lurcher.inspect.references.answer import check_kinds, check_limit, find_references

        check_limit(limit)
        wanted = check_kinds(as_tuple(kinds))

        def work(snapshot: Snapshot, basis: Basis) -> ReferencesAnswer:
            finder, basis = self._finder(snapshot, basis)
            return find_references(finder, str(target), self._place(snapshot, target), wanted, limit, basis)

        return self._answer(work)

    def _finder(self, snapshot: Snapshot, basis: Basis, *, scip: bool = True) -> tuple[Finder, Basis]:
        """Finds uses in the folders that the engine was opened for, with what SCIP indexes say, if some were loaded.

        The basis then has notes about what cannot be read of them.
        """
        from lurcher.inspect.references.answer import Finder

        folders = self._workspace.narrow(Filter()).prefixes
        loaded = (os.path.lexists(os.path.join(project.store.place, SCIP_NAME)) for project in self._workspace.projects)
        if not scip or not any(loaded):
            return Finder(snapshot, folders=folders), basis
        from lurcher.inspect.references.exact import open_exact

        exact, notes = open_exact(self._workspace, snapshot)
        return Finder(snapshot, exact, folders), basis.replace(degraded=basis.degraded + notes) if notes else basis

    def calls(self, target: str | Path, direction: str, depth: int | None, limit: int | None) -> CallsAnswer:
        from lurcher.inspect.references.answer import check_limit
        from lurcher.inspect.references.calls import DIRECTIONS, find_calls

        check_limit(limit)
        if direction not in DIRECTIONS:
            raise choice_error("direction", direction, DIRECTIONS)

        def work(snapshot: Snapshot, basis: Basis) -> CallsAnswer:
            finder, basis = self._finder(snapshot, basis)
            return find_calls(finder, str(target), self._place(snapshot, target), direction, depth, limit, basis)

        return self._answer(work)

    def implementations(self, target: str | Path, limit: int | None) -> ImplementationsAnswer:
        from lurcher.inspect.references.answer import check_limit
        from lurcher.inspect.references.calls import find_implementations

        check_limit(limit)

        def work(snapshot: Snapshot, basis: Basis) -> ImplementationsAnswer:
            finder, basis = self._finder(snapshot, basis, scip=False)
            return find_implementations(finder, str(target), self._place(snapshot, target), limit, basis)

        return self._answer(work)

    def usage(self, question: UsageQuestion, request: SearchRequest, limit: int) -> AnyReferences | None:
        """What a question about the uses of a name asks for, in the files that may answer; None if nothing has that name."""
        from lurcher.inspect.references.question import find_usage

        def work(snapshot: Snapshot, basis: Basis) -> AnyReferences | None:
            finder, basis = self._finder(snapshot, basis, scip=question.show != "implementations")
            filter = make_filter(request.languages, request.paths, request.excludes)
            kept = None if filter == Filter() else filter_files(snapshot, self._workspace.narrow(filter))
            return find_usage(finder, question, kept, limit, basis)

        return self._answer(work)

    def _place(self, snapshot: Snapshot, target: str | Path) -> tuple[int, int, int | None] | None:
        place = split_place(str(target))
        return None if place is None else (self._file(snapshot, self._workspace.candidate_paths(place[0])), *place[1:])

    def outline(self, path: str | Path, kinds: Sequence[str]) -> OutlineAnswer:
        from lurcher.inspect.outline import check_kinds, outline

        wanted = check_kinds(as_tuple(kinds))
        return self._answer(
            lambda snapshot, basis: outline(snapshot, *files_at(snapshot, self._workspace.candidate_paths(path)), wanted, basis)
        )

    def context(self, path: str | Path, budget: int | None) -> ContextAnswer:
        from lurcher.inspect.context import context

        most = CONTEXT_BUDGET if budget is None else budget
        return self._answer(
            lambda snapshot, basis: context(snapshot, *files_at(snapshot, self._workspace.candidate_paths(path)), most, basis)
        )

    def graph(self, path: str | Path, hops: int, most: int | None) -> GraphAnswer:
        from lurcher.inspect.impact import MOST_NODES, neighbourhood

        _check_hops(hops)
        names = self._workspace.candidate_paths(path)
        return self._answer(
            lambda snapshot, basis: neighbourhood(snapshot, self._file(snapshot, names), hops, most or MOST_NODES, basis)
        )

    # -- content ----------------------------------------------------------------------------------------------------------

    def exists(self, pattern: str, exact: bool) -> ExistsAnswer:
        from lurcher.inspect.exists import exists

        def work(snapshot: Snapshot, basis: Basis) -> ExistsAnswer:
            narrowed = self._workspace.narrow(Filter())
            inside = None if narrowed.prefixes is None else filter_files(snapshot, narrowed)
            return exists(snapshot, pattern, exact, basis, self._workspace.labels(), inside)

        return self._answer(work)

    def file(self, path: str | Path, first: int | None, last: int | None, names: bool = False) -> FileAnswer:
        from lurcher.inspect.outline import read_lines

        paths = self._workspace.candidate_paths(path)

        def work(snapshot: Snapshot, basis: Basis) -> FileAnswer:
            return read_lines(snapshot, self._file(snapshot, paths), first, last, basis, names=names)

        return self._answer(work)

    def export(self, format: str, folder: str | Path | None) -> Export:
        from lurcher.inspect.export import FORMATS, export

        if format not in FORMATS:
            raise UsageError(f"unknown format '{format}'", f"use {' or '.join(FORMATS)}")
        if len(self._workspace.projects) > 1:
            raise UsageError("an export is about one root", "name one of them")
        root = self._workspace.projects[0].root.path

        def work(snapshot: Snapshot, basis: Basis) -> Export:
            kept = filter_files(snapshot, self._workspace.narrow(Filter()))
            files = [file for _, file in sorted(snapshot.live_paths.items()) if kept[file]]
            finder, basis = self._finder(snapshot, basis, scip=False)
            return export(finder, files, format, root, os.path.abspath(folder or root), basis)

        return self._answer(work)

    def listed(self, path: str) -> str:
        """The file with exactly this path in hits. The file system is not read, so an error says nothing about it."""
        names = (posixpath.normpath(path),)
        return self._answer(lambda snapshot, _: snapshot.path(self._file(snapshot, names)))

    def examples(self) -> Examples:
        from lurcher.inspect.examples import examples

        tops = [project.root.place for project in self._workspace.projects if project.root.git]
        return self._answer(lambda snapshot, basis: examples(snapshot, tops, basis))

    # -- hits -------------------------------------------------------------------------------------------------------------

    def related(self, path: str | Path, line: int, request: SearchRequest) -> Answer:
        """Units like the one around a line; `request` has the filters and the size of the page."""
        from lurcher.answer import add_notes
        from lurcher.corpora.code import code_query
        from lurcher.ranking.related import RELATED, plan_related

        names = self._workspace.candidate_paths(path)
        request = request.replace(text=f"{names[-1]}:{line}", mode="auto", ranking="default", rerank=())
        query = code_query(request, self._services).replace(mode=RELATED)

        def plan(snapshot: Snapshot) -> Plan:
            return plan_related(snapshot, unit_at(snapshot, file_at(snapshot, names), line), query.text)

        answer = self._workspace.with_repair(lambda damage: self._code().answer(query, request, damage, plan), self._progress)
        return add_notes(answer, self._notes)

    def why(self, path: str | Path, line: int | None, request: SearchRequest) -> WhyAnswer:
        """Why a file, or the unit around one of its lines, is or is not among the hits for a request."""
        from lurcher.corpora.code import code_query
        from lurcher.inspect.why import left_out, unknown, why
        from lurcher.runtime.process import Stopwatch

        query = code_query(request.replace(rerank=()), self._services)
        names = self._workspace.candidate_paths(path)

        def attempt(damage: tuple[Degraded, ...]) -> WhyAnswer:
            ranked = self._code().rank(query, request, Stopwatch())
            notes = self._notes + damage + ranked.notes + tuple(note for view in ranked.views for note in view.degraded)
            basis = Basis(state_of(ranked.snapshot, ranked.views), notes)
            missing = left_out(
                ranked.snapshot, names, ranked.views, self._workspace.projects, self._workspace.labels()
            )
            if missing is not None:
                return unknown(query, missing[0], line, missing[1], ranked.context, basis)
            return why(ranked.context, ranked.ranking, ranked.name, query, names, line, basis)

        return self._workspace.with_repair(attempt, self._progress)

    # -- the past of a file -----------------------------------------------------------------------------------------------

    def brief(self, target: str | Path, budget: int | None) -> BriefAnswer:
        from lurcher.corpora.history.corpus import coverage
        from lurcher.inspect.brief import write_brief

        most = BRIEF_BUDGET if budget is None else budget

        def work(snapshot: Snapshot, basis: Basis) -> BriefAnswer:
            file, definition, notes = file_or_symbol(snapshot, str(target), self._workspace.candidate_paths(target))
            number = self._workspace.labels().index(snapshot.prefix(file))
            index = self._history().index_of(self._workspace.projects[number])
            view = index.view(self._progress, refresh=self._refresh)
            covered = basis.index.replace(coverage=coverage([view]))
            finder, basis = self._finder(snapshot, basis)
            of_both = Basis(covered, basis.degraded + notes + view.degraded)
            return write_brief(
                str(target), snapshot, file, definition, view.history, view.verdicts, most, of_both, index.path_in_head, finder
            )

        return self._answer(work)

    def line_ages(self, path: str | Path) -> LineAgesAnswer:
        from dataclasses import replace

        from lurcher.inspect.explain import line_ages

        names = self._workspace.candidate_paths(path)

        def work(snapshot: Snapshot, basis: Basis) -> LineAgesAnswer:
            name = snapshot.path(self._file(snapshot, names))
            return replace(line_ages(self._workspace.locate(name), name, self._settings.blame), degraded=basis.degraded)

        return self._answer(work)

    def explain(
        self, path: str | Path, first: int | None, last: int | None, limit: int | None,
        outcome: OutcomeLookup | None, related: RelatedLookup | None,
    ) -> ExplainAnswer:  # fmt: skip
        """The commits that wrote some lines. Needs no index; one of history adds outcomes and related commits."""
        from dataclasses import replace

        from lurcher.corpora.history.related_commits import find_related_commits
        from lurcher.indexing.root_index import is_allowed
        from lurcher.inspect.explain import add_path_prefix, explain_file

        names = self._workspace.candidate_paths(path)
        name = next((name for name in names if os.path.lexists(self._workspace.locate(name))), names[0])
        for project, label in zip(self._workspace.projects, self._workspace.labels(), strict=True):
            if name.startswith(label):
                known = find_related_commits(self._history().index_of(project))
                if known is not None:
                    outcome, related = outcome or known.outcome, related or known.related
                answer = explain_file(
                    project.root.path / name[len(label) :], first, last, below=project.root.path,
                    settings=project.settings.blame, limit=limit, outcome=outcome, related=related,
                    secrets=is_allowed(project.settings, "secrets"),
                )  # fmt: skip
                notes = known.notes if known is not None else ()
                return add_path_prefix(replace(answer, degraded=(*self._notes, *answer.degraded, *notes)), label)
        roots = ", ".join(map(str, self._workspace.roots))
        raise UsageError(f"{path} is in none of the roots", f"name a path below {roots}")


def _check_hops(hops: int) -> None:
    if hops < 1:
        raise QueryError(f"hops are {hops}", "use 1 or more")


_BEFORE_HISTORY = ("root", "index", "exists", "lock", "kernel")
"""Fields that come before the history."""


def status_of(project: RootIndex, *, skipped: bool = False) -> dict[str, Any]:
    """What the indexes of a root hold. Fields are added over time, never renamed; `skipped` adds the paths left out."""
    from lurcher.corpora.history.index import history_status
    from lurcher.indexing.status import index_status

    history = history_status(project)
    code = index_status(project, skipped=skipped)
    return {**{name: code[name] for name in _BEFORE_HISTORY}, **({} if history is None else {"history": history}), **code}


def status_of_roots(projects: Sequence[RootIndex], libraries: list[dict[str, Any]], *, skipped: bool) -> dict[str, Any]:
    """The status of one root, or under `roots` that of each; with that of indexed libraries, if there are some."""
    entries = [status_of(project, skipped=skipped) for project in projects]
    return {**(entries[0] if len(entries) == 1 else {"roots": entries}), **({"libraries": libraries} if libraries else {})}


def tree_state(workspace: Workspace, history: HistoryCorpus, progress: Progress) -> TreeState:
    """How the indexes of all roots stand to their trees and to HEAD, after indexing what changed."""
    from lurcher.indexing.freshness import TreeState
    from lurcher.sources.git.refs import read_head

    views = workspace.views(progress)
    return TreeState(
        state_of(workspace.snapshot(views), views),
        tuple(view.degraded for view in views),
        tuple(view.manifest.segments for view in views),
        tuple((read_head(index.top), index.identity()) for index in history.indexes),
        sum(view.snapshot.file_count for view in views),
    )
