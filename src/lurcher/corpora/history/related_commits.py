"""Commits that belong together: those that changed one file under any of its names, and those related to a given commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lurcher.corpora.history.schema import ChangeView
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import LurcherError
from lurcher.sources.git.commit import utc_date
from lurcher.terms import split, words
from lurcher.types import Degraded, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora.history.index import HistoryIndex, HistoryView

_ISSUE_NUMBER = re.compile(r"(?<![\w&/])#(\d{1,7})\b|\bGH-(\d{1,7})\b|/(?:issues|pull|merge_requests)/(\d{1,7})\b")
"""How a message refers to an issue."""
_MAX_RELATED = 3
_SAME_CHANGE_CONFIDENCE, _SAME_NUMBER_CONFIDENCE, _NEARBY_CONFIDENCE = 0.95, 0.7, 0.4
_NEIGHBOUR_COMMITS, _NEARBY_DAYS = 30, 14
"""A nearby commit is at most so many commits and days before or after."""
_MIN_SHARED = 0.5
"""Least share of the smaller set of files that nearby commits have in common."""
_MAX_FILES, _MAX_NAMED = 50, 12
"""A commit with more files is near everything; an issue that more commits refer to says little."""


class FileChange(NamedTuple):
    """A commit that changed a file, and its change of it."""

    commit: int
    change: ChangeView


def commits_of_file(history: HistorySnapshot, path: str, most: int | None = None) -> list[FileChange]:
    """The commits that changed a file, newest first, each patch once; renames are followed to the older path.

    A path may have belonged to another file before: that file's commits are not included. A file may have had the same path
    twice, with another one in between. For each path at most `most` candidates are examined.
    """
    found: list[FileChange] = []
    name, last = path, -1
    while True:
        older_name = None
        for commit in _commits_with_path_terms(history, name, last)[:most].tolist():
            change = next((item for item in history.changes_of(commit) if item.path == name), None)
            if change is None:
                continue
            found.append(FileChange(commit, change))
            last = int(history.rank[commit])
            if change.old_path is not None and change.status == "R":
                older_name = change.old_path
                break
        if older_name is None:
            break
        name = older_name
    oldest = {int(history.same_change[touch.commit]): touch for touch in found}
    return [touch for touch in found if oldest[int(history.same_change[touch.commit])] is touch]


def _commits_with_path_terms(history: HistorySnapshot, path: str, after: int = -1) -> NDArray[np.int64]:
    """Live commits with a changed path that has all the words of `path`, newest first, of those after the position `after`."""
    import numpy as np

    common: NDArray[np.int64] | None = None
    for term in sorted({term for word in words(path) for term in split(word)}, key=len, reverse=True):
        owners, _ = history.postings("paths", term)
        common = owners if common is None else np.intersect1d(common, owners, assume_unique=True)
        if not len(common):
            break
    commits = history.newest_first if common is None else common
    commits = commits[history.rank[commits] > after]
    return commits[np.argsort(history.rank[commits], kind="stable")]


class WithSha(Protocol):
    """Something that a commit wrote; `sha` is None if it is not committed."""

    @property
    def sha(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Related:
    """A commit that seems related to another; this is inferred, no message says so."""

    sha: str
    subject: str
    date: str
    reason: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__match_args__}, "inferred": True}


def find_related_commits(index: HistoryIndex) -> RelatedCommits | None:
    """The commits that are indexed already; None if there are none, or if the index cannot be read."""
    try:
        view = index.existing_view() if index.has_index() else None
    except LurcherError:
        return None
    return None if view is None else RelatedCommits(view)


class RelatedCommits:
    """Finds the outcome of a commit and related commits in one generation of the index.

    An error while reading the index does not raise; it is reported by `notes`.
    """

    def __init__(self, view: HistoryView) -> None:
        self._view, self._history = view, view.history
        self._problem: LurcherError | None = None

    @property
    def notes(self) -> tuple[Degraded, ...]:
        """What is missing from the index or wrong with it. That HEAD has moved does not matter here, as blame reads git."""
        if self._problem is not None:
            return (Degraded("history", self._problem.message, self._problem.hint),)
        covered = self._history.coverage >= 1.0
        return () if covered else self._view.degraded

    def outcome(self, sha: str) -> Outcome | None:
        """The outcome of a commit; None if it is not indexed."""
        try:
            return None if self._history.number_of(sha) is None else self._view.verdicts.outcome_of(sha)
        except LurcherError as problem:
            self._problem = problem
            return None

    def related(self, writer: WithSha) -> list[Related]:
        """Up to three commits with the same patch, with the same issue, or with the same files shortly before or after."""
        try:
            return self._find_related(writer)
        except LurcherError as problem:
            self._problem = problem
            return []

    def _find_related(self, writer: WithSha) -> list[Related]:
        number = None if writer.sha is None else self._history.number_of(writer.sha)
        if number is None:
            return []
        found: dict[int, tuple[float, str]] = {}
        for other, confidence, reason in (*self._same_change(number), *self._same_number(number), *self._nearby(number)):
            if other != number and found.get(other, (0.0, ""))[0] < confidence:
                found[other] = confidence, reason
        rank = self._history.rank
        order = sorted(found, key=lambda other: (-found[other][0], abs(int(rank[other] - rank[number])), int(rank[other])))
        return [self._make_related(other, *found[other]) for other in order[:_MAX_RELATED]]

    def _make_related(self, number: int, confidence: float, reason: str) -> Related:
        header = self._history.header(number)
        return Related(header.sha, header.subject, utc_date(header.authored) or "", reason, confidence)

    def _same_change(self, number: int) -> list[tuple[int, float, str]]:
        import numpy as np

        same = self._history.same_change
        alike = np.flatnonzero((same == same[number]) & self._history.live).tolist()
        return [(other, _SAME_CHANGE_CONFIDENCE, "the same change") for other in alike]

    def _same_number(self, number: int) -> list[tuple[int, float, str]]:
        found = []
        for name in sorted(self._numbers(number)):
            owners = {int(owner) for family in ("subject", "body") for owner in self._history.postings(family, name)[0]}
            if len(owners) > 10 * _MAX_NAMED:
                continue
            named = sorted(owner for owner in owners if owner != number and name in self._numbers(owner))
            if len(named) <= _MAX_NAMED:
                found += [(owner, _SAME_NUMBER_CONFIDENCE, f"both name #{name}") for owner in named]
        return found

    def _numbers(self, number: int) -> set[str]:
        header = self._history.header(number)
        text = "\n".join((header.subject, header.body, *(value for _, value in header.trailers)))
        return {next(filter(None, groups)) for groups in _ISSUE_NUMBER.findall(text)}

    def _nearby(self, number: int) -> list[tuple[int, float, str]]:
        history = self._history
        own = self._files(number)
        if not own:
            return []
        found = []
        place, when = int(history.rank[number]), int(history.committed[number])
        for other in history.newest_first[max(0, place - _NEIGHBOUR_COMMITS) : place + _NEIGHBOUR_COMMITS + 1].tolist():
            apart = int(history.committed[other]) - when
            if other == number or abs(apart) > _NEARBY_DAYS * 86_400 or history.commit_traits[other]:
                continue
            files = self._files(other)
            shared = own & files
            share = len(shared) / min(len(own), len(files)) if files else 0.0
            if share >= _MIN_SHARED:
                weight = len(shared) / len(own | files)
                near = 1 - abs(int(history.rank[other]) - place) / (2 * _NEIGHBOUR_COMMITS)
                reason = f"the same files, {_describe_distance(apart)}"
                found.append((other, round(_NEARBY_CONFIDENCE * weight * near, 3), reason))
        return found

    def _files(self, number: int) -> set[str]:
        """The files of a commit; empty for a commit with too many of them."""
        count = int(self._history.commit_changes[number])
        return set(self._history.paths_of(number)) if count <= _MAX_FILES else set()


def _describe_distance(seconds: int) -> str:
    days = abs(seconds) // 86_400
    if not days:
        return "the same day"
    return f"{days} day{'s' if days != 1 else ''} {'later' if seconds > 0 else 'before'}"
