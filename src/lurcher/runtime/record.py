"""What the values of a query share, for the classes that every search loads.

`dataclasses` takes 19 ms to import and half a millisecond more for each class, which is as long as the search itself. So these
few classes are written out: `__slots__` in the order of the arguments of `__init__`. They are not to be changed once made;
`replace` gives a changed copy. Classes that a plain search does not load are dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeVar

    R = TypeVar("R", bound="Record")


class Record:
    """Compared, hashed, shown, copied and pickled by what its slots hold."""

    __slots__: tuple[str, ...] = ()

    def __values(self) -> Iterator[Any]:
        return map(self.__getattribute__, self.__slots__)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(self.__values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__qualname__}({shown})"

    def __reduce__(self) -> tuple[type[Record], tuple[Any, ...]]:
        return type(self), tuple(self.__values())

    def replace(self: R, **changes: Any) -> R:
        """A copy with some fields changed."""
        return type(self)(**{**dict(zip(self.__slots__, self.__values(), strict=True)), **changes})

    __replace__ = replace
