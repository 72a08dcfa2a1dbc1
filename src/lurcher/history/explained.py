"""What `explain` answers with: frozen, slotted; `to_dict` gives the JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from lurcher.history.excerpts import Excerpt
from lurcher.history.outcomes.verdicts import Outcome
from lurcher.types import Degraded

WORK_TREE = "work tree"


@dataclass(frozen=True, slots=True)
class Related:
    """A commit that seems to have to do with another; nobody wrote down that it has."""

    sha: str
    subject: str
    date: str
    reason: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__match_args__}, "inferred": True}


@dataclass(frozen=True, slots=True)
class Writer:
    """A commit that wrote some of the lines, or the changes that are in no commit yet."""

    sha: str | None
    """None for what is not committed."""
    author: str
    email: str
    authored: int
    """Seconds since 1970; 0 for what is not committed."""
    subject: str
    body: str
    path: str
    """What the file was called in that commit."""
    lines: tuple[tuple[int, int], ...]
    """The runs of lines that it wrote, as they are numbered now."""
    excerpt: Excerpt | None = None
    outcome: Outcome | None = None
    boundary: bool = False
    """The history that is here begins with it: an earlier commit may have written the lines."""
    related: tuple[Related, ...] = ()

    @property
    def line_count(self) -> int:
        return sum(last - first + 1 for first, last in self.lines)

    @property
    def date(self) -> str | None:
        """In ISO 8601, UTC."""
        if self.sha is None:
            return None
        try:
            return datetime.fromtimestamp(self.authored, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (OverflowError, OSError, ValueError):
            return None

    def to_dict(self) -> dict[str, Any]:
        return {
            "sha": self.sha,
            "committed": self.sha is not None,
            "author": self.author,
            "email": self.email,
            "date": self.date,
            "subject": self.subject,
            "body": self.body,
            "path": self.path,
            "lines": [list(run) for run in self.lines],
            "line_count": self.line_count,
            "hunk": None if (shown := self.excerpt) is None else {name: getattr(shown, name) for name in shown.__match_args__},
            "outcome": None if self.outcome is None else self.outcome.to_dict(),
            "boundary": self.boundary,
            "related": [entry.to_dict() for entry in self.related],
        }


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """The commits behind a run of lines: those not committed first, then the newest first."""

    path: str
    start_line: int
    """0 if the file has no lines."""
    end_line: int
    revision: str
    """`work tree`, or the commit that was read where there is no work tree."""
    writers: tuple[Writer, ...]
    total: int
    """All of them, those that are not listed included."""
    degraded: tuple[Degraded, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "revision": self.revision,
            "commits": [entry.to_dict() for entry in self.writers],
            "total": self.total,
            "degraded": [entry.to_dict() for entry in self.degraded],
        }


def labelled(answer: ExplainAnswer, label: str) -> ExplainAnswer:
    """An answer whose paths have something before them."""
    if not label:
        return answer
    writers = tuple(replace(entry, path=label + entry.path) for entry in answer.writers)
    return replace(answer, path=label + answer.path, writers=writers)
