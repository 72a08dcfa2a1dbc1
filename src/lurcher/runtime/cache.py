"""Caches: for what takes long to make, such as a loaded model, and for what was used last."""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    Value = TypeVar("Value")


class Cache:
    """Makes each value once. Thread-safe: other threads wait while a value is made."""

    def __init__(self) -> None:
        self._lock = RLock()  # a value may need another one to be made
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: Value = self._values[key]
            return value

    def peek(self, key: Hashable) -> Any:
        """The value if it was made, else None."""
        return self._values.get(key)


class LruCache:
    """Keeps the values that were used last, as many as fit into `capacity`. Thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = RLock()
        self._values: dict[Hashable, tuple[Any, int]] = {}  # the one used last at the end
        self._used = 0

    def get(self, key: Hashable) -> Any:
        """The value, or None."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int = 1) -> None:
        with self._lock:
            self._used += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self._used > self._capacity:
                self._used -= self._values.pop(next(iter(self._values)))[1]
