"""Searches the commits of one or more repositories: refresh, filter, plan, rank, and make hits of what is shown."""

from __future__ import annotations

import hashlib
import time
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lurcher import answer
from lurcher.answer import Findings, Lap, Listing, add_notes
from lurcher.config import Settings
from lurcher.corpora.history.index import HistoryIndex, HistoryView
from lurcher.corpora.history.outcomes import Verdicts
from lurcher.corpora.history.query import (
    HistoryPlan,
    HistoryQuery,
    allowed_commits,
    plan_query,
    validate_query,
    validate_rerankers,
)
from lurcher.corpora.history.ranking import HistoryContext, HistoryRanking, find_ranking
from lurcher.corpora.history.schema import HunkView
from lurcher.errors import ModelError, PathError, Template
from lurcher.query.validate import as_tuple, make_filter
from lurcher.rerank.stage import Candidate, outcome_factor
from lurcher.runtime.process import Stopwatch
from lurcher.sources.git.commit import iso_date
from lurcher.sources.git.refs import read_head
from lurcher.storage.tables import Direction
from lurcher.types import (
    FAIR,
    WEAK,
    Answer,
    CommitHunk,
    CommitInfo,
    Confidence,
    Degraded,
    Filter,
    Hit,
    IndexState,
    Progress,
    StageWhy,
    Why,
)
from lurcher.vectors import Model, find_mismatch, query_direction

if TYPE_CHECKING:
    from pathlib import Path

    from lurcher.corpora import SearchRequest, Services
    from lurcher.corpora.history.snapshot import HistorySnapshot
    from lurcher.indexing.root_index import RootIndex


SOURCE = "history"
_HUNK_LINES = 16
"""Lines of a hunk that are shown by default."""
_BODY_LINES = 12
"""Lines of a message body that are shown."""
_MAX_FILES = 20
_KIND_WEIGHTS = (1.0, 0.9, 0.7, 0.5, 0.5)
"""Weights for choosing the hunk to show, by the kind of its file: code, test, docs, changelog, data."""
_MAX_SAME_CHANGE = 5
_FAIR_COVERAGE = 0.5
"""The share of the history from which a partial one gives fair answers; below they are weak."""


@dataclass(frozen=True, slots=True)
class HistoryRoot:
    """One repository to search: its history, the prefix of its paths in answers, and the folders to search (None: all)."""

    name: str
    label: str
    view: HistoryView
    model: Model
    prefixes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _RankedRoot:
    root: HistoryRoot
    ranking: HistoryRanking
    shown: CommitHits


def search_history(
    roots: Sequence[HistoryRoot], query: HistoryQuery, settings: Settings, lap: Lap, options: str,
    problems: Sequence[PathError] = (),
) -> Findings:  # fmt: skip
    """Rank the commits of all roots; `options` identifies the settings that their order depends on besides the query.

    `problems` are the errors of roots that have no history.
    """
    parts: list[_RankedRoot] = []
    notes = [Degraded(SOURCE, problem.message, "") for problem in problems]
    plan: HistoryPlan | None = None
    name = ""
    for root in roots:
        context = _make_context(root, query, settings, notes)
        lap("plan")
        order = query.order
        if context.plan.mode == "dense" and context.direction is None:
            # Without vectors `--mode dense` is not possible: rank by words instead; the notes say so.
            context.plan = replace(context.plan, mode="lexical")
            order = replace(query, mode="lexical").order
        plan, name = plan or context.plan, name or order
        ranking = find_ranking(order)(context)
        notes += context.notes
        parts.append(_RankedRoot(root, ranking, CommitHits(context, ranking, query, root.view.verdicts)))
        lap("ranking")
    assert plan is not None, "called without a repository"
    listing, index = _RankedCommits(parts), _index_state(roots)
    print_ = answer.make_fingerprint(
        query,
        root="\0".join(root.name for root in roots),
        generation=sum(root.view.manifest.generation for root in roots),
        checksum=",".join(name for root in roots for name in root.view.manifest.segments),
        options=options,
    )
    return Findings(
        (SOURCE,), listing, plan.mode,
        "question" if plan.is_question else "report" if "\n" in plan.text.strip() else "natural-language",
        name, index, print_, (*notes, *(note for root in roots for note in root.view.degraded)),
        factors={"outcome": (settings.history.candidates, listing.outcome_factor)},
        confidence=_judge_coverage(roots, index) if len(listing) else None,
    )  # fmt: skip


def _judge_coverage(roots: Sequence[HistoryRoot], index: IndexState) -> Confidence | None:
    """At most fair while commits are still to be read; None for a whole history, where it is not known."""
    if not any(root.view.partial for root in roots):
        return None
    covered = index.coverage.get(SOURCE, 0.0)
    return Confidence(FAIR if covered >= _FAIR_COVERAGE else WEAK, {"here": covered})


class _RankedCommits(Listing):
    """The commits of all roots in one list, best first; ties go to the earlier root."""

    def __init__(self, parts: Sequence[_RankedRoot]) -> None:
        self._parts = parts
        self._places: Sequence[tuple[int, int]] = ()
        if len(parts) > 1:
            scored = [
                (-score * part.root.view.weight, number, position)
                for number, part in enumerate(parts)
                for position, score in enumerate(part.ranking.scores.tolist())
            ]
            self._places = [(number, position) for _, number, position in sorted(scored)]

    def _at(self, i: int) -> tuple[_RankedRoot, int]:
        number, position = self._places[i] if self._places else (0, i)
        return self._parts[number], position

    def __len__(self) -> int:
        return sum(len(part.ranking.commits) for part in self._parts)

    def score(self, i: int) -> float:
        part, position = self._at(i)
        return float(part.ranking.scores[position]) * part.root.view.weight

    def cost(self, i: int) -> int:
        part, position = self._at(i)
        return part.shown.cost(position)

    def candidate(self, i: int) -> Candidate:
        part, position = self._at(i)
        return replace(part.shown.candidate(position), score=self.score(i))

    def location(self, i: int) -> str:
        part, position = self._at(i)
        return part.shown.location(position)

    def why(self, i: int) -> Why:
        part, position = self._at(i)
        found = part.ranking.why(int(part.ranking.commits[position]), float(part.ranking.scores[position]))
        return _with_coverage(found, part.root.view)

    def hit(self, i: int, joined: Sequence[int] = ()) -> Hit:
        part, position = self._at(i)
        hit = part.shown.hit(position)
        if part.root.view.partial:
            hit = hit.replace(score=self.score(i), why=_with_coverage(hit.why, part.root.view))
        return hit.replace(path=part.root.label + hit.path) if part.root.label else hit

    def outcome_factor(self, i: int) -> tuple[float, str]:
        """What a commit's score is multiplied by because of its outcome, and the verdict."""
        part, position = self._at(i)
        view = part.root.view
        outcome = view.verdicts.outcome_of(view.history.sha(int(part.ranking.commits[position])))
        return outcome_factor(outcome.verdict, outcome.confidence), outcome.verdict


def _with_coverage(why: Why, view: HistoryView) -> Why:
    """The reason with what a partial history takes from the score."""
    if not view.partial:
        return why
    share = f"{int(100 * view.history.coverage)} %" if view.history.total else "part"
    note = f"{share} of the history is searched so far"
    return why.replace(stages=(*why.stages, StageWhy("coverage", factor=view.weight, note=note)))


def _make_context(root: HistoryRoot, query: HistoryQuery, settings: Settings, notes: list[Degraded]) -> HistoryContext:
    history = root.view.history
    plan = plan_query(query.text, query.mode, history)
    verdicts = root.view.verdicts
    allowed = allowed_commits(history, query, root.prefixes, verdicts)
    alpha = settings.linear.alpha if query.alpha is None else query.alpha
    direction = _query_direction(history, plan, root.model, notes)
    return HistoryContext(history, plan, settings, allowed, direction, query.limit, alpha, query.mmr)


def _query_direction(history: HistorySnapshot, plan: HistoryPlan, model: Model, notes: list[Degraded]) -> Direction | None:
    """The vector of a query; None without a model or without known words.

    Of several lines only the first is embedded: the others distract.
    """
    from lurcher.query import extract_terms

    if not history.segments or (model.textual and plan.mode == "lexical"):
        return None
    if model.path is None and plan.mode != "dense":  # no note on each query for a user who wants no model
        return None
    try:
        problem = find_mismatch(model, history.dims)
        if problem is not None:
            raise problem
        title = plan.text.strip().partition("\n")[0]
        found, _ = query_direction(model, extract_terms(title), title, history.dims)
    except ModelError as problem:
        hint = problem.hint
        if isinstance(hint, Template):
            hint = Template(hint.template.replace("index:", "index: history"), *hint.values)
        notes.append(Degraded("dense", f"{problem.message}; these hits are by words", hint))
        return None
    return found if found.length > 0 or plan.mode == "dense" else None


def coverage(views: Sequence[HistoryView]) -> dict[str, float]:
    """The share of all commits that is indexed, by source; empty if the number of commits is unknown."""
    total = sum(view.history.total for view in views)
    covered = min(1.0, sum(view.history.commit_count for view in views) / total if total else 1.0)
    if any(view.history.coverage == 0.0 for view in views):  # nobody has counted the commits yet
        covered = 0.0
    unknown = covered == 1.0 and any(view.coverage is None for view in views)
    return {} if unknown else {SOURCE: round(covered, 4)}


def _index_state(roots: Sequence[HistoryRoot]) -> IndexState:
    views = [root.view for root in roots]
    fresh = all(view.fresh for view in views)
    shared = {name: about for view in views for name, about in view.shared.items()}
    return IndexState(sum(view.manifest.generation for view in views), fresh, 0, coverage(views), shared)


class CommitHits:
    """Makes hits of the commits of a ranking, by their position: the message, and the hunk that matches best."""

    def __init__(self, context: HistoryContext, ranking: HistoryRanking, query: HistoryQuery, verdicts: Verdicts) -> None:
        self._context, self._ranking, self._query, self._verdicts = context, ranking, query, verdicts
        self._words = tuple(form for group in context.plan.groups for form in (group.word, *group.forms))
        self._shown: dict[int, tuple[int | None, str, int]] = {}

    def _show(self, i: int) -> tuple[int | None, str, int]:
        """(hunk, text, tokens) of a hit; cached."""
        known = self._shown.get(i)
        if known is None:
            commit = int(self._ranking.commits[i])
            hunk = self._best_hunk(commit)
            text = "" if self._query.context == "none" else self._text(commit, hunk)
            measure = answer.estimate_tokens if self._query.budget is None else answer.count_tokens
            known = self._shown[i] = hunk, text, measure(text)
        return known

    def cost(self, i: int) -> int:
        """The tokens of the hit's text."""
        return self._show(i)[2]

    def candidate(self, i: int) -> Candidate:
        """The commit as a reranker reads it, whatever part of it is shown."""
        commit = int(self._ranking.commits[i])
        hunk, text, _ = self._show(i)
        header = self._context.history.header(commit)
        paths = self._context.history.paths_of(commit)
        about = f"{header.subject} ({', '.join(paths[:3])})" if paths else header.subject
        return Candidate(about, text or self._text(commit, hunk), float(self._ranking.scores[i]))

    def location(self, i: int) -> str:
        return self._context.history.sha(int(self._ranking.commits[i]))[:10]

    def _best_hunk(self, commit: int) -> int | None:
        """The hunk with the most distinct words of the query, weighted by the kind of its file; ties go to the first."""
        history = self._context.history
        first, count = int(history.first_hunk[commit]), int(history.commit_hunks[commit])
        best, found = -1.0, None
        for number in range(first, first + count):
            text = history.hunk_text(number).lower()
            value = (1 + sum(term in text for term in self._words)) * _KIND_WEIGHTS[int(history.hunk_kind[number])]
            if value > best:
                best, found = value, number
        return found

    def _text(self, commit: int, hunk: int | None) -> str:
        header = self._context.history.header(commit)
        body = header.body.strip().split("\n") if header.body.strip() else []
        if len(body) > _BODY_LINES:
            body = [*body[:_BODY_LINES], "…"]
        parts = ["\n".join([header.subject, *([""] if body else []), *body])]
        if hunk is not None:
            about = self._context.history.hunk(hunk)
            heading = f" {about.heading}" if about.heading else ""
            parts.append("\n".join([f"{about.path} @@ -{about.old_start} +{about.new_start} @@{heading}", *self._lines(hunk)]))
        return "\n\n".join(parts) + "\n"

    def _lines(self, hunk: int) -> list[str]:
        """The changed lines with their signs; of a long hunk, the window with the most words of the query."""
        lines = self._context.history.hunk_text(hunk).split("\n")[:-1]
        most = self._query.snippet_lines or _HUNK_LINES
        if len(lines) <= most:
            return lines
        found = [sum(term in line for term in self._words) for line in map(str.lower, lines)]
        start = max(range(len(lines) - most + 1), key=lambda place: (sum(found[place : place + most]), -place))
        before, after = start, len(lines) - start - most
        return [
            *([f"… {before} lines"] if before else []), *lines[start : start + most], *([f"… {after} lines"] if after else [])
        ]  # fmt: skip

    def hit(self, i: int) -> Hit:
        history = self._context.history
        commit, score = int(self._ranking.commits[i]), float(self._ranking.scores[i])
        hunk, text, cost = self._show(i)
        about = None if hunk is None else history.hunk(hunk)
        header = history.header(commit)
        paths = history.paths_of(commit)
        first, last = (0, 0) if about is None else _line_range(about)
        # The place in the commit: the number of a hunk depends on how the index grew.
        place = None if hunk is None else hunk - int(history.first_hunk[commit])
        identity = hashlib.blake2b(f"history\0{header.sha}\0{place}".encode(), digest_size=8).hexdigest()
        return Hit(
            identity, "history", about.path if about is not None else (paths[0] if paths else ""), first, last,
            about.language if about is not None else "", (about.name or None) if about is not None else None,
            "hunk" if about is not None else "commit", score, cost, text, self._ranking.why(commit, score),
            commit=self._commit(commit, paths, about),
        )  # fmt: skip

    def _commit(self, commit: int, paths: Sequence[str], about: HunkView | None) -> CommitInfo:
        history = self._context.history
        header = history.header(commit)
        alike = (history.same_change == history.same_change[commit]) & history.live
        others = sorted(alike.nonzero()[0].tolist(), key=history.rank.__getitem__)
        same = [history.sha(other) for other in others if other != commit]
        hunk = None if about is None else CommitHunk(
            about.path, about.old_path, about.old_start, about.new_start, about.removed, about.added, about.heading, about.kind
        )  # fmt: skip
        return CommitInfo(
            header.sha, header.subject, header.author, iso_date(header.authored), self._verdicts.outcome_of(header.sha),
            tuple(paths[:_MAX_FILES]), len(paths), hunk, tuple(same[:_MAX_SAME_CHANGE]),
        )  # fmt: skip


def _line_range(about: HunkView) -> tuple[int, int]:
    """First and last line in the file after the change; of a hunk that only removes, the line where it was."""
    return about.new_start, about.new_start + max(about.added - 1, 0)


_OPTIONS = ("history", "lexical", "classic", "linear", "recency", "outcomes", "reranker", "judge")
"""Sections of the settings that the order of commits depends on."""


class HistoryCorpus:
    """The commits of each root that has a repository, by an index beside that of its code."""

    def __init__(self, services: Services, open_index: Callable[[RootIndex], HistoryIndex] = HistoryIndex.for_root) -> None:
        self._services, self._settings, self._workspace = services, services.settings, services.workspace
        self._open_index = open_index
        # One index for all threads: two would take each other for writers of another process.
        self._indexes: dict[Path, HistoryIndex] = {}
        self._lock = allocate_lock()
        self.deferred = False
        """Whether the rest of a partial history is read in the background."""
        self._workspace.further.append(self._indexes.values)

    def index_of(self, project: RootIndex) -> HistoryIndex:
        """The history index of a root; another one once the root has other settings."""
        with self._lock:
            known = self._indexes.get(project.root.path)
            if known is None or known.settings is not project.settings:
                known = self._indexes[project.root.path] = self._open_index(project)
            known.deferred = self.deferred
            return known

    @property
    def indexes(self) -> list[HistoryIndex]:
        return [self.index_of(project) for project in self._workspace.projects]

    def refresh(self, progress: Progress, *, rebuild: bool = False) -> tuple[Degraded, ...]:
        views = [index.rebuild(progress) if rebuild else index.view(progress, seconds=None) for index in self.indexes]
        return tuple(note for view in views for note in view.degraded)

    def clear(self) -> bool:
        """Remove every history index. True if there was one."""
        return any([index.clear() for index in self.indexes])

    def indexed(self) -> bool:
        """Whether some of the history of every root is indexed, as far as the roots have one."""
        return all(index.has_index() or read_head(index.top) is None for index in self.indexes)

    def partial(self) -> list[tuple[Path, Path]]:
        """Root and index folder of each history on disk of which commits are still to be read, and nobody does so."""
        left = [index for index in self.indexes if index.is_partial() and not index.is_locked()]
        return [(index.top, index.store.folder.parent) for index in left]

    def fill(self, seconds: float, progress: Progress) -> None:
        """Read commits for about so long; where another process does so, leave it to that one."""
        for index in self.indexes:
            index.view(progress, seconds=seconds)

    def begin(self, progress: Progress) -> None:
        """Index the newest commits of each root that has a history of which nothing is indexed."""
        for index in self.indexes:
            if not index.has_index() and read_head(index.top) is not None:
                index.view(progress, seconds=min(1.0, index.settings.history.refresh_seconds))

    def search(self, request: SearchRequest) -> Answer:
        """The commits that answer best, each with what became of it."""
        clock = Stopwatch()

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            findings, query = self._findings(request, clock)
            return add_notes(self._services.page(findings, query, clock), damage)

        return self._workspace.with_repair(attempt, request.progress).replace(timings_ms=clock.total())

    def find(self, request: SearchRequest, clock: Stopwatch) -> Findings:
        return self._findings(request, clock)[0]

    def roots(self, *, refresh: bool, progress: Progress) -> list[HistoryRoot]:
        """Every root that has a history; an error where none has."""
        return [root for root, _ in self._open(refresh, progress)[0]]

    def _open(self, refresh: bool, progress: Progress) -> tuple[list[tuple[HistoryRoot, HistoryIndex]], list[PathError]]:
        """Every root that has a history, with its index; and why the others have none."""
        roots: list[tuple[HistoryRoot, HistoryIndex]] = []
        problems: list[PathError] = []
        for number, (project, label) in enumerate(zip(self._workspace.projects, self._workspace.labels(), strict=True)):
            index = self.index_of(project)
            try:
                view = index.view(progress, refresh=refresh)
            except PathError as problem:
                problems.append(problem)
                continue
            prefixes = self._workspace.prefixes[number]
            roots.append((HistoryRoot(str(project.root.path), label, view, index.model, prefixes), index))
        if not roots:
            raise problems[0]
        return roots, problems

    def _findings(self, request: SearchRequest, clock: Stopwatch) -> tuple[Findings, HistoryQuery]:
        """Every commit that answers, in order, and the request as a query."""
        files = make_filter(request.languages, request.paths, request.excludes)
        roots, problems = self._open(request.refresh, request.progress)
        clock.lap("refresh")
        query = self._query(request, files, roots[0][1].top)
        searched = [root for root, _ in roots]
        return search_history(searched, query, self._settings, clock.lap, self._options, problems), query

    def _query(self, request: SearchRequest, files: Filter, top: Path) -> HistoryQuery:
        """The request as a query; dates may name tags of the repository at `top`."""
        settings = self._settings
        first, last = _dates(request.since, request.until, top)
        names = settings.search.rerank.split() if request.rerank is None else as_tuple(request.rerank)
        return validate_query(
            HistoryQuery(
                request.text, settings.search.limit if request.limit is None else request.limit, request.mode or "auto",
                request.ranking or settings.history.ranking, request.fusion, request.alpha, request.mmr, files, first, last,
                request.author or None, as_tuple(request.outcomes), validate_rerankers(names), request.budget, request.cursor,
                request.context or settings.search.context, request.snippet_lines,
            )
        )  # fmt: skip

    @property
    def _options(self) -> str:
        """The settings that the order of commits depends on, as far as they are not defaults: a cursor holds their digest."""
        return repr([(key, value) for key, value in self._settings.changed() if key.split(".")[0] in _OPTIONS])


def _dates(since: str | None, until: str | None, top: Path) -> tuple[int | None, int | None]:
    """Both ends in seconds since 1970."""
    from lurcher.query import dates

    if since is None and until is None:
        return None, None
    resolve = dates.commit_date_resolver(top) if top.is_dir() else None
    now = int(time.time())
    first = None if since is None else dates.parse_date(since, now=now, resolve=resolve)
    last = None if until is None else dates.parse_date(until, now=now, resolve=resolve, until=True)
    dates.check_range(first, last)
    return first, last
