"""Adding up postings, and keeping what was worked out before within bounds."""

from __future__ import annotations

from _thread import _local

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """What was worked out before, as long as it stays small: it is emptied when the rows kept exceed a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows = 0
        self._known: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        return self._known.get(key)

    def put(self, key: Key, value: Value, rows: int) -> None:
        self._rows += rows + 1
        if self._rows > self._most:
            self._known.clear()
            self._rows = rows + 1
        self._known[key] = value


def expand_runs(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers of runs, one after the other, each given by its first and how many there are."""
    kernel = native()
    if kernel is not None:
        found: NDArray[np.int64] = kernel.runs(first, counts)
        return found
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


class _SumBuffer(_local):
    """Where the kernel adds up in each thread: zeros before and after, so that nobody pays for clearing it."""

    def __init__(self) -> None:
        self._room: NDArray[np.float64] | None = None

    def zeros(self, total: int) -> NDArray[np.float64]:
        if self._room is None or len(self._room) < total:
            self._room = np.zeros(total)
        return self._room


SUM_BUFFER = _SumBuffer()


class PostingSum:
    """Adds up postings of many terms in one pass at the end, which is several times faster than term by term."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._broken: dict[int, Callable[[], Exception]] = {}

    def add_list(
        self, list: memoryview, rows: int, limit: int, first: int, weight: float, broken: Callable[[], Exception]
    ) -> None:
        """A list as it is stored, for the kernel: its owners are below `limit`, and numbered from `first` on.

        To take it apart only to add it up would cost as much again. `broken` makes the error for one that leads nowhere.
        """
        self._broken[len(self._parts)] = broken
        self._parts.append((list, rows, limit, first, float(weight)))

    def add(self, owners: NDArray[np.int64], counts: NDArray[Any], weight: float) -> None:
        if len(owners):
            self._parts.append((owners, counts, float(weight)))

    def dense(self, total: int) -> NDArray[np.float64] | None:
        """One sum per owner 0 … total - 1; None where nothing was added."""
        if not self._parts:
            return None
        if native() is not None:
            there, sums = self.sparse(total)
            every = np.zeros(total)
            every[there] = sums
            return every
        owners = np.concatenate([owners for owners, _, _ in self._parts])
        values = np.concatenate([counts * weight for _, counts, weight in self._parts])
        return np.bincount(owners, values, total).astype(np.float64, copy=False)

    def sparse(self, total: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The owners whose sum is not zero, in order, and their sums."""
        kernel = native()
        if kernel is not None and self._parts:
            found = kernel.tally(self._parts, total)
            if type(found) is int:
                raise self._broken[found]()
            owners, sums = found
            return np.frombuffer(owners, np.int64), np.frombuffer(sums)
        every = self.dense(total)
        if every is None:
            return np.zeros(0, np.int64), np.zeros(0)
        there = np.flatnonzero(every)
        return there, every[there]
