"""The words' leg of a store by a sparse model, where a service for one is set: units get its vectors as they are sent.

A project in a store has either our terms or the vectors of one model, and says which in its head (`sparse`). A question that
cannot be put the same way is asked without that leg, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lurcher.errors import ServerError
from lurcher.stores.base import Head, Sparse, StoredFile
from lurcher.types import Degraded

if TYPE_CHECKING:
    from lurcher.vectors.sparse import SparseEmbedder

HEAD = "sparse"
"""Where a head names the model; nothing there where our terms are kept."""


def learned(files: Iterable[StoredFile], embedder: SparseEmbedder) -> Iterator[StoredFile]:
    """The same files with vectors of a sparse model, so many units at a time as the service is asked for at once."""
    from lurcher.vectors.sparse import BATCH

    most = BATCH * embedder.breaker.pace.concurrency
    group: list[StoredFile] = []
    for file in files:
        group.append(file)
        if sum(len(item.units) for item in group) >= most:
            yield from _embedded(group, embedder)
            group = []
    yield from _embedded(group, embedder)


def _embedded(files: list[StoredFile], embedder: SparseEmbedder) -> Iterator[StoredFile]:
    found = iter(embedder.documents([f"{file.path} {unit.symbol}\n{unit.text}" for file in files for unit in file.units]))
    for file in files:
        yield replace(file, units=tuple(replace(unit, sparse=next(found)) for unit in file.units))


class Leg:
    """The words of one question as each project wants them."""

    def __init__(self, embedder: SparseEmbedder | None, text: str, words: Callable[[], Sparse | None]) -> None:
        self._embedder, self._text, self._words = embedder, text, words
        self._learned: Sparse | None = None
        self._asked = False
        self.notes: dict[Degraded, None] = {}

    def of(self, name: str, head: Head) -> Sparse | None:
        kept = head.more.get(HEAD, "")
        if not kept:
            return self._words()
        if self._embedder is None or self._embedder.fingerprint != kept:
            reason = f"the words of {name} in the store are those of another sparse model, and were not compared"
            self.notes[Degraded(HEAD, reason, "set [sparse] as those have it who wrote it")] = None
            return None
        if not self._asked:
            self._asked = True
            try:
                self._learned = self._embedder.query(self._text)
            except ServerError as problem:
                self.notes[Degraded(HEAD, f"{problem.message}; words were not compared", problem.hint)] = None
        return self._learned if self._learned is not None and len(self._learned.numbers) else None


def told_of(embedder: SparseEmbedder | None) -> Mapping[str, str]:
    """What a head says of the words' leg."""
    return {} if embedder is None else {HEAD: embedder.fingerprint}
