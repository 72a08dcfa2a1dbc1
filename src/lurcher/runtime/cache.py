"""A cache for what takes long to make, such as a loaded model."""

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
