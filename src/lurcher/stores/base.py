"""The interface of a shared store: it holds files with their units, and finds candidates that the engine then ranks.

A store knows nothing of ranking. It finds files that may answer, by vectors and by terms, and returns what was stored for
them; the engine assembles that into a snapshot and ranks it with the same code as a local index.

    read:   head → pages (terms and how common they are) → candidates → records → texts of what is shown
    write:  writing (one at a time) → listing → put, put_pages → retire → publish → sweep

**Generations.** Everything stored has the generation in which it is `born`, and may have one in which it `died`. A reader takes
the generation g of the head, and sees what was born at or before g and has not died at or before g. A writer puts generation
g + 1 beside it, and everything changes in the moment that the new head is published. What a killed writer left was born after
the head: the next writer finds it in the listing and adopts it, or sweeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from lurcher.errors import ConfigError, StoreError
from lurcher.net.http import redact_url
from lurcher.runtime import find
from lurcher.vectors.service import Sparse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.config import Settings

__all__ = ["Candidate", "Head", "Listed", "Question", "Sparse", "Store", "StoreChanged", "StoredFile", "StoredUnit", "store_at"]

ADDRESSES = ("qdrant://", "postgres://")


class StoreChanged(StoreError):
    """A new generation replaced the one that was being read."""


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit (a chunk of a file) as it is stored; its position in `StoredFile.units` identifies it within its file."""

    start_line: int
    end_line: int
    symbol: str
    kind: str
    text: str
    digest: str
    """Of its text and whatever else its vectors are made from: equal digests mean equal vectors."""
    dense: NDArray[np.float32] | None
    """Of length 1; None where no model was in use, or the model knows none of its terms."""
    sparse: Sparse


@dataclass(frozen=True, slots=True)
class StoredFile:
    key: str
    """A UUID made from project, path, content and everything its units depend on: the same file has the same key everywhere."""
    path: str
    language: str
    digest: str
    """Of its content."""
    names: tuple[str, ...]
    """The names it defines, in lower case; and, after a slash, the file's own name."""
    card: NDArray[np.float32] | None
    """The vector of the file as a whole."""
    units: tuple[StoredUnit, ...]
    record: bytes
    """What the engine needs to rank it, without its text; opaque to the store."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a listing, whether readers see it or not."""

    key: str
    path: str
    digest: str
    born: int
    died: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """The published state of a project."""

    generation: int
    fingerprint: str
    """Of format, model and settings: a project with another fingerprint has to be rebuilt."""
    written: str
    """When it was written, in UTC, as ISO 8601."""
    commit: str
    """The commit of the tree; empty outside of git."""
    files: int
    units: int
    dims: int
    """Dimensions of dense vectors; 0 without."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further entries of the engine; opaque to the store."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to find candidates by. A leg without anything to search for is left out."""

    dense: NDArray[np.float32] | None
    """Compared with units, and with the cards of files; of length 1."""
    sparse: Sparse | None
    """The weights already include how rare each term is: a store only multiplies and adds."""
    names: tuple[str, ...] = ()
    """Files that have one of these among their `names` are candidates whatever else they contain."""
    languages: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Only files in one of these folders or below them (no wildcards, no slash at the end)."""
    depth: int = 200
    """How many units each leg fetches."""
    limit: int = 100
    """How many files are returned."""
    rrf: float | None = None
    """The constant of reciprocal rank fusion; None: the default of the store's engine."""


@dataclass(frozen=True, slots=True)
class Candidate:
    key: str
    path: str
    score: float
    """The score of its best unit after fusion."""
    legs: Mapping[str, int]
    """The best rank of one of its units in each leg, from 1: dense, card, sparse, names."""


class Store(Protocol):
    """A store with all its projects. Every call names a project, and no call sees another one.

    A store that cannot be reached raises `lurcher.errors.StoreError`, which names what was tried. Methods may be called from
    several threads.
    """

    def projects(self) -> list[str]:
        """The names of all projects with a head, sorted."""
        ...

    def head(self, project: str) -> Head | None: ...

    def writing(self, project: str, seconds: float) -> AbstractContextManager[None]:
        """Hold the lock of a project: one writer at a time, on any machine. Raises `IndexLocked` after waiting `seconds`.

        The lock of a writer that died, or lost its connection, is released after a while.
        """
        ...

    def listing(self, project: str) -> Iterator[Listed]:
        """All stored files, of every generation."""
        ...

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        """Store files, in batches; `done` is called with the number of files stored since the last call.

        A file that exists already may be put again.

        A file is in the listing only once it is stored completely, even if the writer is killed.
        """
        ...

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        """Store pages that are valid from generation `born` on; a page put in the same generation before is replaced.

        An empty page is as good as none: `sweep` may remove it once no reader sees what it replaces.
        """
        ...

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        """Set `born` and remove `died` of stored files: those a killed writer left, had removed or was about to remove."""
        ...

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        """Hide files from generation `died` on; a file that is hidden from an earlier one stays so."""
        ...

    def publish(self, project: str, head: Head) -> None:
        """Make it the head if the current one is of the generation before; otherwise raise `IndexLocked`."""
        ...

    def sweep(self, project: str, generation: int) -> int:
        """Remove files and pages that no reader of this or a later generation sees, or born after it; returns how many."""
        ...

    def drop(self, project: str) -> bool:
        """Remove a project; False where there was none."""
        ...

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        """Each page as of that generation; a page that was never put is missing."""
        ...

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        """Files that may answer, best first: each leg finds units, and a file has the fused score of its best unit."""
        ...

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]: ...

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The texts of units, by the key of the file and the position of the unit in it."""
        ...

    def state(self) -> dict[str, str]:
        """Version, size and the like, for `lurcher doctor`."""
        ...

    def close(self) -> None: ...


def store_at(url: str, settings: Settings) -> Store:
    """Opens the store at an address, by `open_store` of the module or entry point that its scheme names."""
    scheme = url.partition("://")[0].partition("+")[0].lower()
    name = {"postgresql": "postgres", "qdrants": "qdrant"}.get(scheme, scheme)
    open_store = find("stores", name, "open_store") if "://" in url else None
    if open_store is None:
        raise ConfigError(f"no store is known for the address {redact_url(url)!r}", f"known are: {', '.join(ADDRESSES)}")
    store: Store = open_store(url, settings)
    return store
