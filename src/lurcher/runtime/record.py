"""What the values of a query share, for the classes that every search loads.

`dataclasses` takes 19 ms to import and half a millisecond more for each class, which is as long as the search itself. So these
few classes are written out: `__slots__` in the order of the arguments of `__init__`. They are not to be changed once made;
`replace` gives a changed copy. Classes that a plain search does not load are dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    R = TypeVar("R", bound="Record")


class Record:
    """Compared, hashed, shown, copied and pickled by what its slots hold."""

    __slots__: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()
    """Those of the slots that are neither compared nor hashed."""

    def __values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = (name for name in self.__slots__ if name not in self.uncompared)
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    def __hash__(self) -> int:
        return hash(tuple([getattr(self, name) for name in self.__slots__ if name not in self.uncompared]))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__values().items())
        return f"{type(self).__qualname__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), self.__values())

    def replace(self: R, **changes: Any) -> R:
        """A copy with some fields changed."""
        return type(self)(**{**self.__values(), **changes})

    __replace__ = replace


def _make(kind: type[R], values: dict[str, Any]) -> R:
    return kind(**values)
