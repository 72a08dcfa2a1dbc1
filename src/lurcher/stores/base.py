"""What a shared store is to the engine: it keeps files with their units, and finds candidates that the engine then ranks.

A store knows nothing of ranking. It finds files that may answer, by nearness and by words, and hands back what was kept for
them; the engine puts that together to a snapshot and ranks it with the very code that ranks a local index.

    read:   head → pages (words and how common they are) → candidates → records → texts of what is shown
    write:  writing (one at a time) → listing → put, put_pages → retire → publish → sweep

**Generations.** All that is kept has the generation in which it is `born`, and may have one in which it `died`. A reader takes
the generation g of the head and sees what was born at or before g and has not died at or before g. So a writer puts g + 1
beside it, and everything changes in the moment that the new head is published. What a killed writer left was born after the
head: the next one finds it in the listing and takes it over, or sweeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from lurcher.errors import ConfigError
from lurcher.net.address import shown
from lurcher.registry import find

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.config import Settings

ADDRESSES = ("qdrant://", "postgres://")


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: numbers of terms, ascending, and the weight of each."""

    numbers: NDArray[np.uint32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit as it is kept; its place in `StoredFile.units` tells it from its file's others."""

    start_line: int
    end_line: int
    symbol: str
    kind: str
    text: str
    digest: str
    """Of its text and of what else its vectors are made from: what has the same digest need not be embedded again."""
    dense: NDArray[np.float32] | None
    """One long; None where no model was in use, or none of its words is known to it."""
    sparse: Sparse


@dataclass(frozen=True, slots=True)
class StoredFile:
    key: str
    """A UUID made from project, path, content and all that its units depend on: the same file has the same key anywhere."""
    path: str
    language: str
    digest: str
    """Of its content."""
    names: tuple[str, ...]
    """What it defines, in lower case, and after a slash what the file itself is called."""
    card: NDArray[np.float32] | None
    """The vector of the file as a whole."""
    units: tuple[StoredUnit, ...]
    record: bytes
    """What the engine needs to rank it, without its text; a store does not look inside."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as a listing has it, whether a reader sees it or not."""

    key: str
    path: str
    digest: str
    born: int
    died: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """What readers of a project go by."""

    generation: int
    fingerprint: str
    """Of format, model and settings: an index with another one is made anew."""
    written: str
    """When, in UTC, as ISO 8601 has it."""
    commit: str
    """Which commit the tree was at; empty outside of git."""
    files: int
    units: int
    dims: int
    """Numbers in a dense vector; 0 without."""
    more: Mapping[str, str] = field(default_factory=dict)
    """What else the engine wants to know of the project; a store does not look inside."""


@dataclass(frozen=True, slots=True)
class Question:
    """What candidates are asked for by. A leg that has nothing to go by is left out."""

    dense: NDArray[np.float32] | None
    """Compared with units, and with the cards of files; one long."""
    sparse: Sparse | None
    """How rare each term is in the project is in its weight already: a store multiplies and adds up, no more."""
    names: tuple[str, ...] = ()
    """Files that have one of these among their `names` are candidates whatever else they hold."""
    languages: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Only files in one of these folders, or in a folder below it (no pattern letters, no slash at the end)."""
    depth: int = 200
    """Units that each leg fetches."""
    limit: int = 100
    """Files that are given back."""
    rrf: float | None = None
    """The constant of reciprocal rank fusion; None: as the store's own engine has it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    key: str
    path: str
    score: float
    """Of its best unit, after the legs were fused."""
    legs: Mapping[str, int]
    """Leg → best rank of a unit of it there, from 1: dense, card, sparse, names."""


class Store(Protocol):
    """One store, with all its projects. Every call names the project, and no call sees another one.

    A store that cannot be reached raises `lurcher.errors.StoreError`, which names what was tried. Methods may be called from
    several threads.
    """

    def projects(self) -> list[str]:
        """Names of all projects with a head, sorted."""
        ...

    def head(self, project: str) -> Head | None: ...

    def writing(self, project: str, seconds: float) -> AbstractContextManager[None]:
        """One writer per project, on whatever machine; waits so long for another one, then raises `IndexLocked`.

        A writer that dies, or is cut off, is out of the way after a while.
        """
        ...

    def listing(self, project: str) -> Iterator[Listed]:
        """All files that are kept, of every generation."""
        ...

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        """Keep files, in batches; `done` is told how many more files are safe. What is kept already may be put again.

        A file is in the listing only once all of it is kept, whenever the writer was killed.
        """
        ...

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        """Keep pages as they are from `born` on; one that was put in the same generation before is replaced."""
        ...

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        """What is kept is born in `born` and alive: what a killed writer left, what had died, what was about to die."""
        ...

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        """Hide files from the generation `died` on; one that is hidden from an earlier one on stays so."""
        ...

    def publish(self, project: str, head: Head) -> None:
        """Make it the head, if the one before it is of the generation before; else raise `IndexLocked`."""
        ...

    def sweep(self, project: str, generation: int) -> int:
        """Remove files and pages that nobody at this generation or a later one sees, and what is born after it; how many."""
        ...

    def drop(self, project: str) -> bool:
        """Remove a project; False where there was none."""
        ...

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        """Each page as it was in that generation; one that was never put is not there."""
        ...

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        """Files that may answer, best first: units by each leg, fused, the best unit of each file standing for it."""
        ...

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]: ...

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The texts of units, by key of the file and place of the unit in it."""
        ...

    def state(self) -> dict[str, str]:
        """What there is to tell of the store, for the doctor: version, size and the like."""
        ...

    def close(self) -> None: ...


def store_at(url: str, settings: Settings) -> Store:
    """Opens the store at an address, by `open_store` of the module or entry point that its scheme names."""
    scheme = url.partition("://")[0].partition("+")[0].lower()
    name = {"postgresql": "postgres", "qdrants": "qdrant"}.get(scheme, scheme)
    open_store = find("stores", name, "open_store") if "://" in url else None
    if open_store is None:
        raise ConfigError(f"no store is known for the address {shown(url)!r}", f"known are: {', '.join(ADDRESSES)}")
    store: Store = open_store(url, settings)
    return store
