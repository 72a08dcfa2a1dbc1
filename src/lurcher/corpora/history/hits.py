"""Commits as hits: the message, and of the change the hunk that answers best."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from lurcher.answer import budget
from lurcher.corpora.history.outcomes.verdicts import Verdicts
from lurcher.corpora.history.query import PastQuery
from lurcher.corpora.history.ranking.base import PastContext, PastRanking
from lurcher.corpora.history.views import HunkView
from lurcher.rerank.base import Candidate
from lurcher.types import Hit

_LINES = 16
"""Lines of a hunk that are shown unless others are asked for."""
_BODY = 12
_MOST_FILES = 20
_WORTH = (1.0, 0.9, 0.7, 0.5, 0.5)
"""What a word in each kind of file counts when a hunk is chosen: code, test, docs, changelog, data."""
_MOST_SAME = 5


class PastShown:
    """Turns positions of a ranking into hits, each made and counted once."""

    def __init__(self, context: PastContext, ranking: PastRanking, query: PastQuery, verdicts: Verdicts) -> None:
        self._context, self._ranking, self._query, self._verdicts = context, ranking, query, verdicts
        self._wanted = tuple(form for group in context.plan.groups for form in (group.word, *group.forms))
        self._made: dict[int, tuple[int | None, str, int]] = {}

    def _of(self, i: int) -> tuple[int | None, str, int]:
        """(hunk, text, tokens) of a hit."""
        known = self._made.get(i)
        if known is None:
            commit = int(self._ranking.commits[i])
            hunk = self._best_hunk(commit)
            text = "" if self._query.context == "none" else self._text(commit, hunk)
            measure = budget.estimate_tokens if self._query.budget is None else budget.count_tokens
            known = self._made[i] = hunk, text, measure(text)
        return known

    def cost(self, i: int) -> int:
        return self._of(i)[2]

    def candidate(self, i: int) -> Candidate:
        """A commit as a reranker reads it, however much of it is shown."""
        commit = int(self._ranking.commits[i])
        hunk, text, _ = self._of(i)
        header = self._context.past.header(commit)
        paths = self._context.past.paths_of(commit)
        about = f"{header.subject} ({', '.join(paths[:3])})" if paths else header.subject
        return Candidate(about, text or self._text(commit, hunk), float(self._ranking.scores[i]))

    def location(self, i: int) -> str:
        return self._context.past.sha(int(self._ranking.commits[i]))[:10]

    def _best_hunk(self, commit: int) -> int | None:
        """The hunk with the most different words of the question, where those of code count most; of equals the first."""
        past = self._context.past
        first, count = int(past.first_hunk[commit]), int(past.commit_hunks[commit])
        best, found = -1.0, None
        for number in range(first, first + count):
            text = past.hunk_text(number).lower()
            value = (1 + sum(term in text for term in self._wanted)) * _WORTH[int(past.hunk_kind[number])]
            if value > best:
                best, found = value, number
        return found

    def _text(self, commit: int, hunk: int | None) -> str:
        header = self._context.past.header(commit)
        body = header.body.strip().split("\n") if header.body.strip() else []
        if len(body) > _BODY:
            body = [*body[:_BODY], "…"]
        parts = ["\n".join([header.subject, *([""] if body else []), *body])]
        if hunk is not None:
            about = self._context.past.hunk(hunk)
            heading = f" {about.heading}" if about.heading else ""
            parts.append("\n".join([f"{about.path} @@ -{about.old_start} +{about.new_start} @@{heading}", *self._lines(hunk)]))
        return "\n\n".join(parts) + "\n"

    def _lines(self, hunk: int) -> list[str]:
        """The changed lines with their signs; of many, those around the most words of the question."""
        lines = self._context.past.hunk_text(hunk).split("\n")[:-1]
        most = self._query.snippet_lines or _LINES
        if len(lines) <= most:
            return lines
        found = [sum(term in line for term in self._wanted) for line in map(str.lower, lines)]
        start = max(range(len(lines) - most + 1), key=lambda place: (sum(found[place : place + most]), -place))
        before, after = start, len(lines) - start - most
        return [
            *([f"… {before} lines"] if before else []), *lines[start : start + most], *([f"… {after} lines"] if after else [])
        ]  # fmt: skip

    def hit(self, i: int) -> Hit:
        past = self._context.past
        commit, score = int(self._ranking.commits[i]), float(self._ranking.scores[i])
        hunk, text, cost = self._of(i)
        about = None if hunk is None else past.hunk(hunk)
        header = past.header(commit)
        paths = past.paths_of(commit)
        first, last = (0, 0) if about is None else _lines_of(about)
        identity = hashlib.blake2b(f"history\0{header.sha}\0{hunk}".encode(), digest_size=8).hexdigest()
        return Hit(
            identity, "history", about.path if about is not None else (paths[0] if paths else ""), first, last,
            about.language if about is not None else "", (about.name or None) if about is not None else None,
            "hunk" if about is not None else "commit", score, cost, text, self._ranking.why(commit, score),
            commit=self._commit(commit, paths, about),
        )  # fmt: skip

    def _commit(self, commit: int, paths: Sequence[str], about: HunkView | None) -> dict[str, Any]:
        past = self._context.past
        header = past.header(commit)
        alike = (past.same_change == past.same_change[commit]) & past.live
        same = [past.sha(other) for other in alike.nonzero()[0].tolist() if other != commit]
        out: dict[str, Any] = {
            "sha": header.sha, "subject": header.subject, "author": header.author,
            "date": told(header.authored), "outcome": self._verdicts.of(header.sha).to_dict(),
            "files": list(paths[:_MOST_FILES]), "file_count": len(paths),
            "hunk": None if about is None else {
                "path": about.path, "old_path": about.old_path, "old_start": about.old_start, "new_start": about.new_start,
                "removed": about.removed, "added": about.added, "heading": about.heading, "kind": about.kind,
            },
        }  # fmt: skip
        if same:
            out["same_change"] = same[:_MOST_SAME]
        return out


def _lines_of(about: HunkView) -> tuple[int, int]:
    """Where the change is in the file after it; a change that only removes is where its lines were."""
    return about.new_start, about.new_start + max(about.added - 1, 0)


@lru_cache(maxsize=1000)
def told(seconds: int) -> str:
    """A date as ISO has it, in UTC; what no calendar has is told as a number."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):
        return str(seconds)
