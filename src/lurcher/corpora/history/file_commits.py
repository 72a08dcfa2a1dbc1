"""The commits that changed a file, under whatever name it had."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lurcher.corpora.history.reader import Past
from lurcher.corpora.history.views import ChangeView
from lurcher.terms.split import split, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Touch(NamedTuple):
    commit: int
    change: ChangeView


def touching(past: Past, path: str, most: int | None = None) -> list[Touch]:
    """Newest first, each change once; where a commit renamed the file, what came before is looked for under the older name.

    A name may have been another file's before this one took it: that one's commits are not the file's. But a file may have
    had a name twice, with another one between. Of commits that may have changed it, `most` are looked at for each name.
    """
    found: list[Touch] = []
    name, last = path, -1
    while True:
        following = None
        for commit in candidates(past, name, last)[:most].tolist():
            change = next((item for item in past.changes_of(commit) if item.path == name), None)
            if change is None:
                continue
            found.append(Touch(commit, change))
            last = int(past.rank[commit])
            if change.old_path is not None and change.status == "R":
                following = change.old_path
                break
        if following is None:
            break
        name = following
    oldest = {int(past.same_change[touch.commit]): touch for touch in found}
    return [touch for touch in found if oldest[int(past.same_change[touch.commit])] is touch]


def candidates(past: Past, path: str, after: int = -1) -> NDArray[np.int64]:
    """Live commits that changed a file whose path has all the words of this one, newest first; those behind a place."""
    import numpy as np

    common: NDArray[np.int64] | None = None
    for term in sorted({term for word in words(path) for term in split(word)}, key=len, reverse=True):
        owners, _ = past.postings("paths", term)
        common = owners if common is None else np.intersect1d(common, owners, assume_unique=True)
        if not len(common):
            break
    commits = past.newest_first if common is None else common
    commits = commits[past.rank[commits] > after]
    return commits[np.argsort(past.rank[commits], kind="stable")]
