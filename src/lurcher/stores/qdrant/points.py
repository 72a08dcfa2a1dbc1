"""What is asked of Qdrant, wherever it runs: points put, changed, removed, fetched and searched.

Queries, conditions and shapes are the JSON of Qdrant's REST interface; who runs elsewhere translates. So there is one way to
ask, and what a test asks of the embedded engine is what a server is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from lurcher.errors import LurcherError, StoreError

DOCTOR = "`lurcher doctor` shows what is there and what is not"
Json = dict[str, Any]


class NoCollection(StoreError):
    """Nothing was ever kept there."""


class Points(Protocol):
    """Calls may come from several threads. A collection that is not there raises `NoCollection`."""

    url: str
    """What messages call it."""
    alone: bool
    """Whether no other process can have it open."""
    width: int
    """Batches at once that are of use."""
    parallel: bool
    """Whether two questions at once take less time than one after the other."""

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        """Make a collection with its indexes; what is there already stays."""
        ...

    def dims(self, collection: str) -> int:
        """Numbers in its vectors `dense`; 0 without."""
        ...

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None: ...

    def change(self, collection: str, payload: Json, where: Json) -> None:
        """Set fields of all points that fulfil a condition, which nobody else changes in between."""
        ...

    def delete(self, collection: str, where: Json) -> None: ...

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, sure: bool = False) -> dict[str, Json]:
        """Payloads by id; `sure`: as most of the copies have them."""
        ...

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        """Payloads of all points that fulfil a condition."""
        ...

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        """Ids with scores, best first, for each query; all in one go."""
        ...

    def count(self, collection: str, where: Json) -> int: ...

    def safe(self, collections: Sequence[str]) -> None:
        """Return once all that was written outlives a power cut, as far as that is in our hands."""
        ...

    def tidy(self, collections: Sequence[str]) -> None:
        """Build graphs over what was written, where nobody does that by himself."""
        ...

    def about(self, collections: Sequence[str]) -> dict[str, str]: ...

    def close(self) -> None: ...


@contextmanager
def understood(url: str, what: str) -> Iterator[None]:
    """An answer that is not what it should be is the store's fault, not ours."""
    try:
        yield
    except LurcherError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        said = f"the store at {url} answers {what} with something that makes no sense"
        raise StoreError(said, f"check that it is a Qdrant server; {DOCTOR}") from error
