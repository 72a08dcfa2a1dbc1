"""Runs every query of a dataset and scores the hits, one repository after another."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from lurcher.errors import DatasetError, LurcherError
from lurcher.evaluation.confidence import Negative, choose_other_repositories
from lurcher.evaluation.datasets import Dataset, Place, Target, Task, load_dataset, span_targets
from lurcher.evaluation.metrics import first_of_each, hit_at, ndcg, reciprocal_rank, target_ranks, token_recall
from lurcher.evaluation.runs import QueryResult, Run, new_run
from lurcher.evaluation.spans import BUDGETS, line_scores
from lurcher.evaluation.trees import export_tree, list_files, message_of, patch_id, verbatim_queries
from lurcher.types import Answer, Hit, Progress

K = 10
FETCHED = 20
"""Hits per query: twice K, so that ten files are left when only the first hit of each file counts."""
LINES_FETCHED = 50
"""Hits per query and budget where lines are labelled: windows of a few lines must reach the largest budget too. For ranks
K hits are fetched, as users do: the more there are, the more places of the first files are among them."""
TOKEN_BUDGETS = (500, 1000, 2000, 4000, 8000)
WARM_UP = "open the index and read its tables"
SHOWN_QUERY = 200
MAX_PATTERN_TEXT = 20_000
_SHA = re.compile(r"[0-9a-f]{7,64}")


class Searcher(Protocol):
    """What is evaluated: anything with `search(text, limit=…, **options) -> Answer`, as an engine has."""

    @property
    def search(self) -> Callable[..., Answer]: ...


OpenEngine = Callable[[Path], AbstractContextManager[Searcher]]
Judge = Callable[[Hit], bool]


def evaluate(
    dataset: Path,
    open_engine: OpenEngine,
    *,
    repos: Path | None = None,
    root: Path | None = None,
    work: Path | None = None,
    limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    only: Collection[str] = (),
    check_leaks: bool = True,
    packed: bool = True,
    negatives: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Scores an engine on a dataset.

    `repos` holds exported trees (code) or bare git directories (issues, history, spans), `root` is the folder that your own
    questions are about, `work` keeps the trees that are exported from git. `options` go to every search; `settings`
    are only recorded. `only` restricts the run to some repositories. If the engine takes no `budget` (not `packed`), the lines
    read within one are those of its first hits. With `negatives`, each repository is also asked questions about another one, as
    many as it has itself. Questions that cannot be run here are left out and counted; one that fails scores 0, and when all
    fail, the error is raised.
    """
    chosen = _restrict(load_dataset(dataset, repos=repos, root=root), only)
    search_options = dict(options or {})
    if chosen.kind == "history":
        search_options.setdefault("sources", ["history"])
    budgets = BUDGETS if packed and chosen.kind == "spans" else ()
    limit = limit or (K if budgets else LINES_FETCHED if chosen.kind == "spans" else FETCHED)
    total = sum(len(place.tasks) for place in chosen.places)
    tally = _Tally(warnings=list(chosen.warnings), left_out=Counter(chosen.left_out))
    foreign = _ForeignTasks(chosen) if negatives else None
    for place in chosen.places:
        folder = _prepare(place, chosen.kind, work)
        files = list_files(folder) if chosen.kind != "history" else []
        if chosen.kind == "spans":
            place = _with_lines_there(place, folder, files, tally)
            if not place.tasks:
                continue
        judges = _judges(place, files, tally.warnings)
        # Reading every file of hundreds of trees would take longer than asking one question of each.
        if check_leaks and not (chosen.kind == "spans" and place.commit):
            _warn_of_leaks(place, folder, files, tally.warnings)
        others = foreign.take(place) if foreign is not None else ()
        answers = _answers(place, open_engine, folder, limit, search_options, tally, budgets, others)
        for task, answer, ms, failure, pages in answers:
            if progress is not None:
                progress(place.name, len(tally.results), total)
            tally.results.append(_score(place, task, answer, judges[task.id], ms, failure, pages))
    if progress is not None:
        progress("", total, total)
    if not tally.results:
        raise DatasetError("the trees have none of the labelled lines", hint="check the paths and lines of the labels")
    if tally.failures and len(tally.failures) == len(tally.results):
        raise tally.failures[0]
    tally.warnings += _describe_counts("question failed", Counter(error.message for error in tally.failures))
    tally.warnings += _describe_counts("answer degraded", tally.degraded)
    described = {"name": chosen.name, "kind": chosen.kind, "digest": chosen.digest}
    recorded = {"limit": limit, **search_options, **(settings or {})}
    return new_run(
        tuple(tally.results), described, recorded, tally.opening_s, tuple(tally.warnings),
        dict(sorted(tally.left_out.items())), tuple(tally.negatives),
    )  # fmt: skip


@dataclass(slots=True)
class _Tally:
    """What is collected while a run goes on."""

    warnings: list[str]
    left_out: Counter[str]
    results: list[QueryResult] = field(default_factory=list)
    failures: list[LurcherError] = field(default_factory=list)
    degraded: Counter[str] = field(default_factory=Counter)
    opening_s: float = 0.0
    negatives: list[Negative] = field(default_factory=list)


class _ForeignTasks:
    """Gives each repository the questions of another one, each question once."""

    def __init__(self, dataset: Dataset) -> None:
        self._other = choose_other_repositories(place.repository for place in dataset.places)
        self._left: dict[str, list[Task]] = defaultdict(list)
        for place in dataset.places:
            self._left[place.repository] += place.tasks

    def take(self, place: Place) -> Sequence[Task]:
        """As many as the place has itself, where there are so many."""
        left, count = self._left[self._other[place.repository]], len(place.tasks)
        taken, left[:count] = left[:count], []
        return taken


def _answers(
    place: Place, open_engine: OpenEngine, folder: Path, limit: int, options: Mapping[str, Any], tally: _Tally,
    budgets: Sequence[int], foreign: Sequence[Task],
) -> Iterator[tuple[Task, Answer | None, float, LurcherError | None, dict[int, tuple[Hit, ...]]]]:  # fmt: skip
    """Each question with its answer or its error, the milliseconds, and its hits within each budget; a folder that does not
    open fails them all. `foreign` questions are asked last, and go to the tally."""
    with ExitStack() as stack:
        started = time.perf_counter()
        try:
            searcher = stack.enter_context(open_engine(folder))
        except LurcherError as error:
            tally.failures += [error] * len(place.tasks)
            yield from ((task, None, 0.0, error, {}) for task in place.tasks)
            return
        with suppress(LurcherError):  # if it fails for good, the first question says so
            searcher.search(WARM_UP, limit=limit, **options)
        tally.opening_s += time.perf_counter() - started
        for task in place.tasks:
            started = time.perf_counter()
            answer: Answer | None = None
            failure: LurcherError | None = None
            try:
                answer = searcher.search(task.text, limit=limit, **options)
            except LurcherError as error:
                failure = error
                tally.failures.append(error)
            ms = (time.perf_counter() - started) * 1000
            tally.degraded.update(f"{entry.stage}: {entry.reason}" for entry in (answer.degraded if answer else ()))
            pages = {
                budget: _split(searcher.search(task.text, **{**options, "limit": LINES_FETCHED, "budget": budget}).hits)
                for budget in (budgets if answer is not None else ())
            }
            yield task, answer, ms, failure, pages
        for task in foreign:
            with suppress(LurcherError):  # it fails for its own repository as well, which is counted
                answer = searcher.search(task.text, limit=limit, **options)
                if answer.confidence is not None:
                    tally.negatives.append(
                        Negative(task.id, place.repository, task.variant, answer.confidence, _round_values(answer.likelihood))
                    )


def _split(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """A hit for each place, in the order shown."""
    return tuple(part for hit in hits for part in hit.split())


def _restrict(dataset: Dataset, only: Collection[str]) -> Dataset:
    if not only:
        return dataset
    known = {place.repository for place in dataset.places}
    unknown = sorted(set(only) - known)
    if unknown:
        raise DatasetError(
            f"the dataset has no repository {', '.join(unknown)}", hint=f"choose from {', '.join(sorted(known))}"
        )
    places = tuple(place for place in dataset.places if place.repository in only)
    return replace(dataset, places=places, left_out={})


def _prepare(place: Place, kind: str, work: Path | None) -> Path:
    """The folder to open: the given one, the bare repository itself, or a tree written out from it."""
    if place.folder is not None:
        return place.folder
    if place.git_directory is None:
        raise DatasetError(f"{place.name} has neither a folder nor a git directory", hint="check the dataset")
    if kind == "history" or place.commit is None:
        return place.git_directory
    if work is None:
        raise DatasetError("a folder is needed to write the trees of issues to", hint="add --work FOLDER")
    return export_tree(place.git_directory, place.commit, work / place.name)


def _with_lines_there(place: Place, folder: Path, files: Sequence[str], tally: _Tally) -> Place:
    """The place with only the labelled lines that its tree has; a question without any is left out and counted."""
    there = frozenset(files)
    lengths: dict[str, int] = {}
    tasks = []
    for task in place.tasks:
        gold = {}
        for path, ranges in task.gold.items():
            if path not in there:
                tally.warnings.append(f"{place.name}: no file {path}, which a label names")
                continue
            if path not in lengths:
                content = (folder / path).read_bytes()
                lengths[path] = content.count(b"\n") + (not content.endswith(b"\n"))
            kept = tuple((first, min(last, lengths[path])) for first, last in ranges if first <= lengths[path])
            if len(kept) < len(ranges) or kept[-1] != ranges[-1]:
                tally.warnings.append(f"{place.name}: {path} ends at line {lengths[path]}, before a label does")
            if kept:
                gold[path] = kept
        if gold:
            tasks.append(replace(task, gold=gold, targets=span_targets(gold)))
        else:
            tally.left_out["no labelled line in the tree"] += 1
    return replace(place, tasks=tuple(tasks))


def _judges(place: Place, files: Sequence[str], warnings: list[str]) -> dict[str, list[Judge]]:
    """For each query, the tests that its hits must pass; a label without a file becomes a warning."""
    names = FileNames(files, place.prefix)
    lost: dict[str, None] = {}
    judges: dict[str, list[Judge]] = {}
    for task in place.tasks:
        if task.commits:
            judges[task.id] = [_judge_commit(place, commit) for commit in task.commits]
        elif task.pattern is not None:
            judges[task.id] = [judge_pattern(task.pattern)]
        else:
            found = [(target, names.find(target.path)) for target in task.targets]
            judges[task.id] = [judge_target(target, paths) for target, paths in found]
            lost.update(dict.fromkeys(target.path for target, paths in found if not paths))
    warnings += [f"{place.name}: no file {path}, which a label names" for path in lost]
    return judges


def _judge_commit(place: Place, commit: str) -> Judge:
    directory = place.git_directory
    if directory is None:
        return judge_commit(commit, "", lambda sha: False)
    message = message_of(directory, commit)
    known: dict[str, str | None] = {}

    def patch(sha: str) -> str | None:
        if sha not in known:
            known[sha] = patch_id(directory, sha)
        return known[sha]

    subject = (message or "").split("\n", 1)[0].strip()
    return judge_commit(commit, subject, lambda sha: patch(commit) is not None and patch(sha) == patch(commit))


def _warn_of_leaks(place: Place, folder: Path, files: Sequence[str], warnings: list[str]) -> None:
    found = verbatim_queries(folder, files, [task.text for task in place.tasks])
    warnings += [f"{place.name}: {path} holds the query {_short(query, 60)!r}" for query, path in found.items()]


def _score(
    place: Place,
    task: Task,
    answer: Answer | None,
    judges: list[Judge],
    ms: float,
    failure: LurcherError | None,
    pages: Mapping[int, tuple[Hit, ...]],
) -> QueryResult:
    hits = answer.hits if answer is not None else ()
    places = _split(hits)
    chunk_ranks = target_ranks(places if task.gold else hits, judges)
    file_judges = [judge_target(Target(path), frozenset((path,))) for path in task.gold] if task.gold else judges
    file_ranks = target_ranks(first_of_each(hits, document_key), file_judges)
    scores = {f"ndcg@{K}": ndcg(chunk_ranks, K), f"file_ndcg@{K}": ndcg(file_ranks, K)}
    for prefix, ranks in (("", chunk_ranks), ("file_", file_ranks)):
        scores[f"{prefix}mrr@{K}"] = reciprocal_rank(ranks, K)
        scores[f"{prefix}mrr@3"] = reciprocal_rank(ranks, 3)
        for depth in (1, 3, 5, K):
            scores[f"{prefix}hit@{depth}"] = hit_at(ranks, depth)
    if task.gold:
        scores |= line_scores(places, task.gold, pages)
    else:
        for budget in TOKEN_BUDGETS:
            scores[f"recall@{budget}t"] = token_recall(places, judges, lambda hit: hit.tokens, budget)
    return QueryResult(
        id=task.id,
        repository=place.repository,
        variant=task.variant,
        query=_short(task.text, SHOWN_QUERY),
        category=task.category,
        language=task.language,
        chunk_ranks=chunk_ranks,
        file_ranks=file_ranks,
        # Rounded here and not when saved, so that a run read back gives the same figures to the last digit.
        scores=_round_values(scores),
        hits=len(hits),
        top=tuple(document_key(hit) for hit in hits[:K]),
        ms=round(ms, 3),
        error=f"{failure.code}: {failure.message}" if failure is not None else "",
        confidence=(answer.confidence or "") if answer is not None else "",
        likelihood=_round_values(answer.likelihood) if answer is not None else {},
    )


def _round_values(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in values.items()}


def _describe_counts(what: str, counts: Counter[str]) -> Iterator[str]:
    for reason, count in sorted(counts.items()):
        yield f"{count} × {what}: {reason}"


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


# -- what makes a hit right --------------------------------------------------------------------------------------------


class FileNames:
    """The files of an indexed folder, found by a label that is relative to the repository."""

    def __init__(self, files: Iterable[str], prefix: str = "") -> None:
        self._by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in sorted(files):
            full = f"{prefix}/{path}" if prefix else path
            self._by_name[path.rpartition("/")[2]].append((full, path))

    def find(self, label: str) -> frozenset[str]:
        """The file of exactly that path if there is one, else every file whose path ends in it."""
        namesakes = self._by_name.get(label.rpartition("/")[2], [])
        exact = [path for full, path in namesakes if full == label] or [path for _, path in namesakes if path == label]
        return frozenset(exact or [path for full, path in namesakes if full.endswith(f"/{label}")])


def judge_target(target: Target, files: frozenset[str]) -> Judge:
    """Accepts a hit in one of the target's files with a place that overlaps its lines; a commit that changed the file is not
    the file."""
    first = target.start_line
    last = target.end_line

    def judge(hit: Hit) -> bool:
        if hit.path not in files or hit.source == "history":
            return False
        return any(
            (last is None or place.start_line <= last) and (first is None or place.end_line >= first) for place in hit.places
        )

    return judge


def judge_pattern(pattern: re.Pattern[str]) -> Judge:
    """Accepts a hit whose path, symbol, commit subject or text matches."""

    def judge(hit: Hit) -> bool:
        subject = hit.commit.subject if hit.commit else ""
        shown = [part for place in hit.places for part in (place.symbol or "", place.text)]
        return any(pattern.search(part[:MAX_PATTERN_TEXT]) for part in (hit.path, subject, *shown))

    return judge


def judge_commit(commit: str, subject: str, same_patch: Callable[[str], bool]) -> Judge:
    """Accepts that commit, or one of the same subject that is the same patch."""

    def judge(hit: Hit) -> bool:
        sha = hit.commit.sha if hit.commit else ""
        if not _SHA.fullmatch(sha):
            return False
        if commit.startswith(sha) or sha.startswith(commit):
            return True
        # Comparing patches costs two git processes; a cherry-pick keeps its subject, so compare only then.
        return hit.commit is not None and hit.commit.subject == subject != "" and same_patch(sha)

    return judge


def document_key(hit: Hit) -> str:
    """What counts as one document: the commit of a history hit, else the file."""
    return hit.commit.sha if hit.source == "history" and hit.commit is not None else hit.path
