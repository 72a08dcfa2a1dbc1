"""Which commits may answer: by date, author, path, language and outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher.history.outcomes.verdicts import Verdicts
from lurcher.history.question import PastQuery
from lurcher.history.reader import Past
from lurcher.planning.filters import glob_matches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def allowed_commits(
    past: Past, query: PastQuery, prefixes: tuple[str, ...] | None, verdicts: Verdicts
) -> NDArray[np.bool_]:
    """Live commits that pass; `prefixes` are the folders that were asked for, None for all."""
    import numpy as np

    allowed: NDArray[np.bool_] = past.live.copy()
    if query.since is not None:
        allowed &= past.committed >= query.since
    if query.until is not None:
        allowed &= past.committed <= query.until
    if query.filter.languages:
        allowed &= _in_languages(past, query.filter.languages)
    globs, excludes = query.filter.globs, query.filter.excludes
    author = None if query.author is None else query.author.casefold()
    by_path = bool(globs or excludes or prefixes is not None)
    if author is None and not by_path and not query.outcomes:
        return allowed
    marked = verdicts.faulted() if query.outcomes else {}
    for commit in np.flatnonzero(allowed).tolist():
        header = past.header(commit)
        fits = author is None or author in f"{header.author} <{header.email}>".casefold()
        if fits and query.outcomes:
            fits = marked.get(header.sha, "success") in query.outcomes
        if fits and by_path:
            paths = past.paths_of(commit)
            fits = any(_passes(path, globs, excludes, prefixes) for path in paths)
        allowed[commit] = fits
    return allowed


def _in_languages(past: Past, languages: tuple[str, ...]) -> NDArray[np.bool_]:
    import numpy as np

    wanted = [place for place, name in enumerate(past.languages) if name in languages]
    found = np.zeros(past.commit_total, bool)
    found[past.change_commit[np.isin(past.change_language, wanted)]] = True
    return found


def _passes(path: str, globs: tuple[str, ...], excludes: tuple[str, ...], prefixes: tuple[str, ...] | None) -> bool:
    if prefixes is not None and not any(not prefix or path == prefix or path.startswith(prefix + "/") for prefix in prefixes):
        return False
    if globs and not any(glob_matches(glob, path) for glob in globs):
        return False
    return not any(glob_matches(glob, path) for glob in excludes)
