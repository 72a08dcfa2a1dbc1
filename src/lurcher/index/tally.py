"""Adding up postings, and keeping what was worked out before within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
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


class Sum:
    """Adds up postings of many terms in one pass at the end, which is several times faster than term by term."""

    def __init__(self) -> None:
        self._owners: list[NDArray[np.int64]] = []
        self._values: list[NDArray[np.float64]] = []

    def add(self, owners: NDArray[np.int64], counts: NDArray[Any], weight: float) -> None:
        if len(owners):
            self._owners.append(owners)
            self._values.append(counts * float(weight))

    def over(self, total: int) -> NDArray[np.float64] | None:
        """One sum per owner 0 … total - 1; None where nothing was added."""
        import numpy as np

        if not self._owners:
            return None
        return np.bincount(np.concatenate(self._owners), np.concatenate(self._values), total).astype(np.float64, copy=False)
