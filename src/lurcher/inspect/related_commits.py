"""What an index of history adds to the explanation of lines: what became of a commit, and which others seem to belong to it."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from lurcher.corpora.history.outcomes.verdicts import Outcome
from lurcher.errors import LurcherError
from lurcher.inspect.explain import Related, Writer
from lurcher.types import Degraded

if TYPE_CHECKING:
    from lurcher.corpora.history.index import PastProject, PastView

_NUMBER = re.compile(r"(?<![\w&/])#(\d{1,7})\b|\bGH-(\d{1,7})\b|/(?:issues|pull|merge_requests)/(\d{1,7})\b")
"""How a message names an issue."""
_MOST = 3
_SAME_CHANGE, _SAME_NUMBER, _NEARBY = 0.95, 0.7, 0.4
_NEIGHBOURS, _DAYS = 30, 14
_LEAST_SHARED = 0.5
_MOST_FILES, _MOST_NAMED = 50, 12
"""A commit of more files is near everything; a number that more commits name says little."""


def known_commits(index: PastProject) -> Known | None:
    """What an index has of the commits; None where nothing is indexed, or it cannot be read. Nothing is indexed for it."""
    try:
        view = index.glance() if index.has_index() else None
    except LurcherError:
        return None
    return None if view is None else Known(view)


class Known:
    """Answers from one generation of the index."""

    def __init__(self, view: PastView) -> None:
        self._view, self._past = view, view.past
        self._problem: LurcherError | None = None

    @property
    def notes(self) -> tuple[Degraded, ...]:
        """What is missing from the index, or wrong with it; that HEAD has moved is no matter: lines are told as they are."""
        if self._problem is not None:
            return (Degraded("history", self._problem.message, self._problem.hint),)
        covered = self._past.commit_count >= self._past.total
        return () if covered else self._view.degraded

    def outcome(self, sha: str) -> Outcome | None:
        """What became of a commit; None for one that is not indexed."""
        try:
            return None if self._past.number_of(sha) is None else self._view.verdicts.of(sha)
        except LurcherError as problem:
            self._problem = problem
            return None

    def related(self, writer: Writer) -> list[Related]:
        """Up to three commits that made the same change, name the same issue, or touch the same files soon before or after."""
        try:
            return self._related(writer)
        except LurcherError as problem:
            self._problem = problem
            return []

    def _related(self, writer: Writer) -> list[Related]:
        number = None if writer.sha is None else self._past.number_of(writer.sha)
        if number is None:
            return []
        found: dict[int, tuple[float, str]] = {}
        for other, sure, reason in (*self._same_change(number), *self._same_number(number), *self._nearby(number)):
            if other != number and found.get(other, (0.0, ""))[0] < sure:
                found[other] = sure, reason
        rank = self._past.rank
        order = sorted(found, key=lambda other: (-found[other][0], abs(int(rank[other] - rank[number])), int(rank[other])))
        return [self._told(other, *found[other]) for other in order[:_MOST]]

    def _told(self, number: int, sure: float, reason: str) -> Related:
        header = self._past.header(number)
        try:
            date = datetime.fromtimestamp(header.authored, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (OverflowError, OSError, ValueError):
            date = ""
        return Related(header.sha, header.subject, date, reason, sure)

    def _same_change(self, number: int) -> list[tuple[int, float, str]]:
        import numpy as np

        same = self._past.same_change
        alike = np.flatnonzero((same == same[number]) & self._past.live).tolist()
        return [(other, _SAME_CHANGE, "the same change") for other in alike]

    def _same_number(self, number: int) -> list[tuple[int, float, str]]:
        found = []
        for name in sorted(self._numbers(number)):
            owners = {int(owner) for family in ("subject", "body") for owner in self._past.postings(family, name)[0]}
            if len(owners) > 10 * _MOST_NAMED:
                continue
            named = sorted(owner for owner in owners if owner != number and name in self._numbers(owner))
            if len(named) <= _MOST_NAMED:
                found += [(owner, _SAME_NUMBER, f"both name #{name}") for owner in named]
        return found

    def _numbers(self, number: int) -> set[str]:
        header = self._past.header(number)
        text = "\n".join((header.subject, header.body, *(value for _, value in header.trailers)))
        return {next(filter(None, groups)) for groups in _NUMBER.findall(text)}

    def _nearby(self, number: int) -> list[tuple[int, float, str]]:
        past = self._past
        own = self._files(number)
        if not own:
            return []
        found = []
        place, when = int(past.rank[number]), int(past.committed[number])
        for other in past.newest_first[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1].tolist():
            apart = int(past.committed[other]) - when
            if other == number or abs(apart) > _DAYS * 86_400 or past.commit_traits[other]:
                continue
            files = self._files(other)
            shared = own & files
            share = len(shared) / min(len(own), len(files)) if files else 0.0
            if share >= _LEAST_SHARED:
                weight = len(shared) / len(own | files)
                near = 1 - abs(int(past.rank[other]) - place) / (2 * _NEIGHBOURS)
                found.append((other, round(_NEARBY * weight * near, 3), f"the same files, {_apart(apart)}"))
        return found

    def _files(self, number: int) -> set[str]:
        """The files of a commit that is not about everything."""
        count = int(self._past.commit_changes[number])
        return set(self._past.paths_of(number)) if count <= _MOST_FILES else set()


def _apart(seconds: int) -> str:
    days = abs(seconds) // 86_400
    if not days:
        return "the same day"
    return f"{days} day{'s' if days != 1 else ''} {'later' if seconds > 0 else 'before'}"
