"""Which commits may answer: by date, author, path, language and outcome."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lurcher.corpora.history.outcomes.verdicts import SUCCESS, Verdicts
from lurcher.corpora.history.query import PastQuery
from lurcher.corpora.history.reader import Past
from lurcher.query.filters import matches_glob
from lurcher.terms.split import split, words

_WILD = re.compile(r"[*?\[\]\\!{}]")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def allowed_commits(
    past: Past, query: PastQuery, prefixes: tuple[str, ...] | None, verdicts: Verdicts
) -> NDArray[np.bool_]:
    """Live commits that pass; `prefixes` are the folders that were asked for, None for all."""

    allowed: NDArray[np.bool_] = past.live.copy()
    if query.since is not None:
        allowed &= past.committed >= query.since
    if query.until is not None:
        allowed &= past.committed <= query.until
    if query.filter.languages:
        allowed &= _in_languages(past, query.filter.languages)
    if query.outcomes:
        allowed &= _ended(past, query.outcomes, verdicts)
    if query.author is not None:
        _keep(allowed, partial(_written_by, past, query.author.casefold()))
    globs, excludes = query.filter.globs, query.filter.excludes
    for wanted in (globs, () if prefixes is None or "" in prefixes else prefixes):
        if wanted:
            allowed &= _may_touch(past, wanted)
    if globs or excludes or prefixes is not None:
        _keep(allowed, lambda commit: any(_passes(path, globs, excludes, prefixes) for path in past.paths_of(commit)))
    return allowed


def _keep(allowed: NDArray[np.bool_], test: Callable[[int], bool]) -> None:
    for commit in allowed.nonzero()[0].tolist():
        allowed[commit] = test(commit)


def _written_by(past: Past, author: str, commit: int) -> bool:
    header = past.header(commit)
    return author in f"{header.author} <{header.email}>".casefold()


def _ended(past: Past, outcomes: tuple[str, ...], verdicts: Verdicts) -> NDArray[np.bool_]:
    """Commits whose verdict is among some; whoever is at no fault has stood."""
    import numpy as np

    found = np.full(past.commit_total, SUCCESS in outcomes)
    for sha, verdict in verdicts.faulted().items():
        number = past.number_of(sha)
        if number is not None:
            found[number] = verdict in outcomes
    return found


def _may_touch(past: Past, places: tuple[str, ...]) -> NDArray[np.bool_]:
    """Commits with the words of one of some paths or patterns among their paths: few are left to be looked at."""
    import numpy as np

    found = np.zeros(past.commit_total, bool)
    for place in places:
        here = np.ones(past.commit_total, bool)
        for piece in place.split("/"):
            if piece and not _WILD.search(piece):
                for term in {term for word in words(piece) for term in split(word)}:
                    having = np.zeros(past.commit_total, bool)
                    having[past.postings("paths", term)[0]] = True
                    here &= having
        found |= here
    return found


def _in_languages(past: Past, languages: tuple[str, ...]) -> NDArray[np.bool_]:
    import numpy as np

    wanted = [place for place, name in enumerate(past.languages) if name in languages]
    found = np.zeros(past.commit_total, bool)
    found[past.change_commit[np.isin(past.change_language, wanted)]] = True
    return found


def _passes(path: str, globs: tuple[str, ...], excludes: tuple[str, ...], prefixes: tuple[str, ...] | None) -> bool:
    if prefixes is not None and not any(not prefix or path == prefix or path.startswith(prefix + "/") for prefix in prefixes):
        return False
    if globs and not any(matches_glob(glob, path) for glob in globs):
        return False
    return not any(matches_glob(glob, path) for glob in excludes)
