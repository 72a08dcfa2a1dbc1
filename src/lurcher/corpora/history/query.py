"""A query for commits: its parameters validated, its text turned into weighted terms, and the commits that pass its filters.

The fields of `HistoryQuery` are part of the fingerprint in a cursor: renaming one makes older cursors invalid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from lurcher.corpora.history.outcomes import Verdicts
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import FilterError, QueryError
from lurcher.query import Group, TermLookup, expand, extract_terms, requests_change
from lurcher.query.validate import check_fusion, check_page, clean_text, matches_glob
from lurcher.rerank.stage import check_reranker_names
from lurcher.terms import split, words
from lurcher.types import SUCCESS, VERDICTS, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MODES = ("auto", "hybrid", "lexical", "dense")
RANKINGS = ("default", "classic")
HISTORY_RERANKERS = ("outcome",)
"""Rerankers that only history has."""
_QUESTION = re.compile(
    r"(?:how|what|when|where|which|who|why|did|does|do|have|has|had|was|were|is|are|can|could|should)\b", re.IGNORECASE
)
TITLE = 2.5
"""Weight of a word in the first line, if there are more lines; chosen on the development tasks (issue → fixing commit)."""
_WILDCARD = re.compile(r"[*?\[\]\\!{}]")


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    text: str
    limit: int = 10
    mode: str = "auto"
    ranking: str = "default"
    fusion: str | None = None
    """`rrf` selects the ranking `classic`, `linear` the ranking `linear`; None: as `ranking` says."""
    alpha: float | None = None
    mmr: float | None = None
    filter: Filter = field(default_factory=Filter)
    since: int | None = None
    until: int | None = None
    """Seconds since 1970."""
    author: str | None = None
    outcomes: tuple[str, ...] = ()
    rerank: tuple[str, ...] = ()
    budget: int | None = None
    cursor: str | None = None
    context: str = "block"
    snippet_lines: int | None = None

    @property
    def order(self) -> str:
        """The name of the ranking of commits, for `history.ranking.find_ranking`."""
        if self.mode == "dense":
            return "cosine"
        return {"linear": "linear", "rrf": "classic", None: self.ranking}[self.fusion]


def validate_rerankers(names: Sequence[str]) -> tuple[str, ...]:
    """The names of rerankers; raises for one that is unknown."""
    return check_reranker_names(names, HISTORY_RERANKERS)


def validate_query(query: HistoryQuery) -> HistoryQuery:
    """The query with its text cleaned; raises for a value that is not allowed."""
    text = clean_text(query.text)
    check_page(query)
    for name, known in (("mode", MODES), ("ranking", RANKINGS)):
        value = getattr(query, name)
        if value not in known:
            raise QueryError(f"unknown {name} '{value}' for history", f"known are: {', '.join(known)}")
    check_fusion(query)
    for verdict in query.outcomes:
        if verdict not in VERDICTS:
            raise FilterError(f"unknown outcome '{verdict}'", f"known are: {', '.join(VERDICTS)}")
    return query if text == query.text else replace(query, text=text)


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """How the text of a query is read."""

    text: str
    mode: str
    groups: tuple[Group, ...]
    reports_fault: bool
    """It is one line that reports a fault, so commits that fix something are more likely the answer."""
    is_question: bool
    """It is a question in everyday words, which commits rarely use."""


def plan_query(text: str, mode: str, history: TermLookup) -> HistoryPlan:
    """Weigh the words of a text: TITLE for each in the first line of several; repeated words below count less and less."""
    first, _, rest = text.strip().partition("\n")
    weights = dict.fromkeys(extract_terms(first), TITLE if rest.strip() else 1.0)
    for term, count in extract_terms(rest).items() if rest.strip() else ():
        weights[term] = weights.get(term, 0.0) + 2 * count / (1 + count)
    groups = expand(history, weights.items())
    fault = not rest.strip() and requests_change(first)  # a longer report has enough words of its own
    return HistoryPlan(text, "hybrid" if mode == "auto" else mode, groups, fault, is_question(text))


def is_question(text: str) -> bool:
    """Whether a text is one line that ends with a question mark or begins with a question word."""
    line = text.strip()
    return "\n" not in line and (line.endswith("?") or _QUESTION.match(line) is not None)


def allowed_commits(
    history: HistorySnapshot, query: HistoryQuery, prefixes: tuple[str, ...] | None, verdicts: Verdicts
) -> NDArray[np.bool_]:
    """The live commits that pass the filters of a query; `prefixes` are the folders to search, None for all."""
    allowed: NDArray[np.bool_] = history.live.copy()
    if query.since is not None:
        allowed &= history.committed >= query.since
    if query.until is not None:
        allowed &= history.committed <= query.until
    if query.filter.languages:
        allowed &= _in_languages(history, query.filter.languages)
    if query.outcomes:
        allowed &= _with_verdicts(history, query.outcomes, verdicts)
    if query.author is not None:
        _apply(allowed, partial(_written_by, history, query.author.casefold()))
    globs, excludes = query.filter.globs, query.filter.excludes
    for patterns in (globs, () if prefixes is None or "" in prefixes else prefixes):
        if patterns:
            allowed &= _with_path_terms(history, patterns)
    if globs or excludes or prefixes is not None:
        _apply(allowed, lambda commit: any(_path_passes(path, globs, excludes, prefixes) for path in history.paths_of(commit)))
    return allowed


def _apply(allowed: NDArray[np.bool_], test: Callable[[int], bool]) -> None:
    for commit in allowed.nonzero()[0].tolist():
        allowed[commit] = test(commit)


def _written_by(history: HistorySnapshot, author: str, commit: int) -> bool:
    header = history.header(commit)
    return author in f"{header.author} <{header.email}>".casefold()


def _with_verdicts(history: HistorySnapshot, outcomes: tuple[str, ...], verdicts: Verdicts) -> NDArray[np.bool_]:
    """Commits with one of these verdicts; those without a recorded failure are a success."""
    import numpy as np

    found = np.full(history.commit_total, SUCCESS in outcomes)
    for sha, verdict in verdicts.failed().items():
        number = history.number_of(sha)
        if number is not None:
            found[number] = verdict in outcomes
    return found


def _with_path_terms(history: HistorySnapshot, places: tuple[str, ...]) -> NDArray[np.bool_]:
    """Commits whose paths have all the words of one of some paths or patterns: a fast first filter."""
    import numpy as np

    found = np.zeros(history.commit_total, bool)
    for place in places:
        here = np.ones(history.commit_total, bool)
        for piece in place.split("/"):
            if piece and not _WILDCARD.search(piece):
                for term in {term for word in words(piece) for term in split(word)}:
                    having = np.zeros(history.commit_total, bool)
                    having[history.postings("paths", term)[0]] = True
                    here &= having
        found |= here
    return found


def _in_languages(history: HistorySnapshot, languages: tuple[str, ...]) -> NDArray[np.bool_]:
    import numpy as np

    numbers = [number for number, name in enumerate(history.languages) if name in languages]
    found = np.zeros(history.commit_total, bool)
    found[history.change_commit[np.isin(history.change_language, numbers)]] = True
    return found


def _path_passes(path: str, globs: tuple[str, ...], excludes: tuple[str, ...], prefixes: tuple[str, ...] | None) -> bool:
    if prefixes is not None and not any(not prefix or path == prefix or path.startswith(prefix + "/") for prefix in prefixes):
        return False
    if globs and not any(matches_glob(glob, path) for glob in globs):
        return False
    return not any(matches_glob(glob, path) for glob in excludes)
