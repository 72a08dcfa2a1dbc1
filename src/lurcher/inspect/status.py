"""What the indexes of a root hold, those of its code and of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.index import history_status
from lurcher.indexing.status import index_status

if TYPE_CHECKING:
    from lurcher.indexing.root_index import RootIndex

_FIRST = ("root", "index", "exists", "lock", "kernel")
"""Fields that come before the history."""


def status_of(project: RootIndex, *, skipped: bool = False) -> dict[str, Any]:
    """Fields are added over time, never renamed. With `skipped` also the paths of files that were read and left out."""
    history = history_status(project)
    code = index_status(project, skipped=skipped)
    return {**{name: code[name] for name in _FIRST}, **({} if history is None else {"history": history}), **code}
