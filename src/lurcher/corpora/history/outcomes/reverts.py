"""Which commits were taken back, by which, and whether that was taken back in turn.

Commits are given newest first, as git lists them. Whether a revert still holds depends on newer commits only, so one pass from
the newest decides every one of them, however deep reverts of reverts go.
"""

from __future__ import annotations

import bisect
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from lurcher.corpora.history.outcomes.revert_claims import NUMBER, SHA, Claim, claims, may_revert, reason

MERGE = "merge"


class Told(Protocol):
    """What of a commit is needed: its place in the history and what it says, not what it changed."""

    @property
    def sha(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def author(self) -> str: ...
    @property
    def authored(self) -> int: ...
    @property
    def subject(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def trailers(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(frozen=True, slots=True)
class Reversal:
    """One commit taken back by another."""

    sha: str
    by: str
    when: int
    """Seconds since 1970."""
    who: str
    why: str
    """The reverting message without its boilerplate; empty if it says nothing more."""
    how: str
    """How it is named: sha, subject, number; or merge, if what was taken back is the merge that brought it."""
    confidence: float
    stands: bool = True
    """False if the reverting commit was itself taken back."""
    partial: bool = False


def reversals(commits: Sequence[Told]) -> dict[str, tuple[Reversal, ...]]:
    """The reversals of every commit that has some, nearest to the newest first; commits are given newest first.

    Merges may be among them and should be: a merge that is taken back takes back what it brought.
    """
    names = _Names(commits)
    found: dict[str, list[Reversal]] = {}
    for place, commit in enumerate(commits):
        merge = len(commit.parents) > 1
        if not may_revert(commit.subject, "" if merge else commit.body) and not _has_trailer(commit):
            continue
        stands = not any(entry.stands and not entry.partial for entry in found.get(commit.sha, ()))
        why: str | None = None
        for target, claim, how, confidence in _resolved(commit, place, names, merge):
            why = reason(commit.subject, commit.body) if why is None else why
            shared = (commit.sha, commit.authored, commit.author, why)
            sha = commits[target].sha
            if any(entry.by == commit.sha for entry in found.get(sha, ())):
                continue
            found.setdefault(sha, []).append(Reversal(sha, *shared, how, confidence, stands, claim.partial))
            came = names.brought(target)
            sure = confidence if len(came) == 1 else round(confidence * 0.9, 4)
            for brought in came:
                if brought != commit.sha and not any(entry.by == commit.sha for entry in found.get(brought, ())):
                    entry = Reversal(brought, *shared, MERGE, sure, stands, claim.partial)
                    found.setdefault(brought, []).append(entry)
    return {sha: tuple(entries) for sha, entries in found.items()}


def _has_trailer(commit: Told) -> bool:
    return any("revert" in key.lower() for key, _ in commit.trailers)


def _resolved(commit: Told, place: int, names: _Names, merge: bool) -> Iterator[tuple[int, Claim, str, float]]:
    """The commits that a message names, by their place. A hash that is found makes the other names superfluous."""
    said = claims(commit.subject, commit.body, commit.trailers, merge=merge)
    hashed = False
    for claim in said:
        target = names.by_sha(claim.value) if claim.how == SHA else None
        if target is not None and target != place:
            hashed = True
            yield target, claim, SHA, 1.0 if len(claim.value) >= 40 else 0.97
    if hashed:
        return
    partial = any(claim.partial for claim in said)
    by_subject = False
    for claim in said:
        if claim.how == SHA or claim.how == NUMBER:
            continue
        met = names.by_subject(claim, place)
        if met is not None:
            by_subject = True
            yield met[0], Claim(claim.how, claim.value, partial), claim.how, met[1]
    for claim in () if by_subject else said:
        target = names.by_number(claim.value, place) if claim.how == NUMBER else None
        if target is not None:
            yield target, claim, NUMBER, 0.9


_NUMBER_BEHIND = re.compile(r"(?:\s*\((?:#|!|GH-)\d+\))+\s*$")
_PULL = re.compile(r"^Merge (?:pull request|PR) #(\d+)\b|\((?:#|!|GH-)(\d+)\)\s*$")
_SHORTEST_CUT = 20


def _plain(subject: str) -> str:
    """A subject without the number that a forge appends, its spaces and marks alike, in small letters."""
    text = _NUMBER_BEHIND.sub("", subject)
    return " ".join(text.replace("“", '"').replace("”", '"').split()).rstrip(".").casefold()


class _Names:
    """Finds commits by hash, subject and number; a place is a commit's position, larger for earlier ones."""

    def __init__(self, commits: Sequence[Told]) -> None:
        self._commits = commits
        self._places = {commit.sha: place for place, commit in enumerate(commits)}
        self._shas: list[str] | None = None
        self._subjects: dict[str, list[int]] = {}
        self._numbers: dict[str, list[int]] = {}
        self._sorted: list[str] | None = None
        for place, commit in enumerate(commits):
            subjects = [commit.subject]
            if len(commit.parents) > 1:
                # A forge's merge has the title of what it merges in its first line of text.
                subjects += [line for line in commit.body.split("\n", 1)[:1] if line]
            for subject in dict.fromkeys(map(_plain, subjects)):
                if subject:
                    self._subjects.setdefault(subject, []).append(place)
            number = _PULL.search(commit.subject)
            if number is not None:
                self._numbers.setdefault(number[1] or number[2], []).append(place)

    def by_sha(self, prefix: str) -> int | None:
        """The one commit whose hash begins so."""
        if prefix in self._places:
            return self._places[prefix]
        if self._shas is None:
            self._shas = sorted(self._places)
        at = bisect.bisect_left(self._shas, prefix)
        found = [sha for sha in self._shas[at : at + 2] if sha.startswith(prefix)]
        return self._places[found[0]] if len(found) == 1 else None

    def by_subject(self, claim: Claim, place: int) -> tuple[int, float] | None:
        """The nearest earlier commit of that subject, and how sure that is."""
        asked = _plain(claim.value)
        if not claim.cut:
            earlier = [item for item in self._subjects.get(asked, ()) if item > place]
            if earlier:
                exact = self._commits[earlier[0]].subject.strip() == claim.value.strip()
                sure = (0.95 if exact else 0.9) if claim.quoted else 0.75
                # A merge and the commit it brought share a title; only two of a kind leave a doubt.
                merge = len(self._commits[earlier[0]].parents) > 1
                alike = sum((len(self._commits[item].parents) > 1) == merge for item in earlier)
                return earlier[0], sure if alike == 1 else round(sure - 0.1, 4)
        if len(asked) < _SHORTEST_CUT or not claim.quoted:
            return None
        if self._sorted is None:
            self._sorted = sorted(self._subjects)
        at = bisect.bisect_left(self._sorted, asked)
        best: int | None = None
        while at < len(self._sorted) and self._sorted[at].startswith(asked):
            for item in self._subjects[self._sorted[at]]:
                if item > place and (best is None or item < best):
                    best = item
            at += 1
        return None if best is None else (best, 0.8)

    def by_number(self, number: str, place: int) -> int | None:
        return next((item for item in self._numbers.get(number, ()) if item > place), None)

    def brought(self, place: int) -> list[str]:
        """What a merge added to the branch it was merged into; nothing for other commits."""
        parents = self._commits[place].parents
        if len(parents) < 2 or parents[0] not in self._places:  # a shallow clone does not tell the two sides apart
            return []
        # Both sides are followed at once, newest first, until only what they share is left: a merge's own commits are near it.
        theirs = {self._places[parent] for parent in parents[1:] if parent in self._places}
        ours = {self._places[parents[0]]}
        heap = sorted(theirs | ours)
        found = []
        waiting = len(theirs - ours)
        while waiting:
            at = heapq.heappop(heap)
            mine = at in ours
            if not mine:
                waiting -= 1
                found.append(self._commits[at].sha)
            for parent in self._commits[at].parents:
                before = self._places.get(parent)
                if before is None or before <= at or before in ours:
                    continue
                if mine:
                    waiting -= before in theirs
                    if before not in theirs:
                        heapq.heappush(heap, before)
                    ours.add(before)
                elif before not in theirs:
                    theirs.add(before)
                    waiting += 1
                    heapq.heappush(heap, before)
        return found
