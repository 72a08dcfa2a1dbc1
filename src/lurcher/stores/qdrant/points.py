"""The operations on Qdrant that the store needs, wherever Qdrant runs: put, change, remove, fetch and search points.

Queries, filters and shapes of collections are the JSON of Qdrant's REST interface, which `edge` translates for the embedded
engine. So there is one way to write a query, and what a test sends to the embedded engine is what a server gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from lurcher.errors import LurcherError, StoreError

DOCTOR = "`lurcher doctor` shows what is there and what is not"
Json = dict[str, Any]


class NoCollection(StoreError):
    """The collection does not exist: nothing was ever written to it."""


class Points(Protocol):
    """Methods may be called from several threads. A missing collection raises `NoCollection`."""

    url: str
    """How messages name the store."""
    exclusive: bool
    """Whether no other process can have it open."""
    concurrency: int
    """How many batches are sent at a time."""

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        """Create a collection with its payload indexes; what exists already stays."""
        ...

    def dims(self, collection: str) -> int:
        """Dimensions of its vectors `dense`; 0 without."""
        ...

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None: ...

    def change(self, collection: str, payload: Json, where: Json) -> None:
        """Set payload fields of all points that pass a filter, as one atomic operation."""
        ...

    def delete(self, collection: str, where: Json) -> None: ...

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        """Payloads by id; `majority`: as most replicas have them."""
        ...

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        """Payloads of all points that pass a filter."""
        ...

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        """Ids with scores, best first, for each query; one request for all."""
        ...

    def count(self, collection: str, where: Json) -> int: ...

    def flush(self, collections: Sequence[str]) -> None:
        """Return once everything written survives a power cut, as far as the client can ensure that."""
        ...

    def optimise(self, collections: Sequence[str]) -> None:
        """Build the search graphs over what was written, where the engine does not do so by itself."""
        ...

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        """Engine, version, latency and sizes, for `lurcher doctor`."""
        ...

    def close(self) -> None: ...


@contextmanager
def check_reply(url: str, what: str) -> Iterator[None]:
    """Around the code that reads a reply: a reply of the wrong form becomes a `StoreError` that names `what` was read."""
    try:
        yield
    except LurcherError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        message = f"the store at {url} sent a reply that cannot be understood ({what})"
        raise StoreError(message, f"check that it is a Qdrant server; {DOCTOR}") from error
