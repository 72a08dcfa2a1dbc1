"""Rows of a table as they lie in a file: a column at a time as an array, a row at a time as plain numbers."""

from __future__ import annotations

from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, Struct, cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType
    from typing import Any

_STRUCT_CODES = {"u1": "B", "<u2": "H", "<u4": "I", "<i4": "i", "<u8": "Q", "<i8": "q"}


_SIZES = {"u1": 1, "<u2": 2, "<u4": 4, "<i4": -4, "<u8": 8}
_MAX_LIMIT = (1 << 62) - 1


def _addend(place: tuple[int, int, str] | None) -> tuple[int, int]:
    return (-1, 0) if place is None else (place[1], _SIZES[place[2]])


class RowLayout:
    """Where the columns of a layout stand in a row."""

    def __init__(self, layout: tuple[tuple[str, str], ...]) -> None:
        self.row = Struct("<" + "".join(_STRUCT_CODES[kind] for _, kind in layout))
        self.names = tuple(name for name, _ in layout)
        self.places: dict[str, tuple[int, int, str]] = {}
        offset = 0
        for number, (name, kind) in enumerate(layout):
            self.places[name] = number, offset, kind
            offset += int(kind[-1])


@cache
def row_layout(layout: tuple[tuple[str, str], ...]) -> RowLayout:
    return RowLayout(layout)


def _kernel() -> ModuleType:
    kernel = native()
    assert kernel is not None, "without the kernel tables are numpy's"
    return kernel


class TableRow:
    """One row; its numbers by name, or all of them."""

    __slots__ = ("_numbers", "_shape")

    def __init__(self, shape: RowLayout, numbers: tuple[int, ...]) -> None:
        self._shape = shape
        self._numbers = numbers

    def __getitem__(self, name: str) -> int:
        return self._numbers[self._shape.places[name][0]]

    def item(self) -> tuple[int, ...]:
        return self._numbers


class TableRows:
    """What a structured array of numpy is to a reader: `rows["size"]`, `rows[3]`, `rows[2:5]`, `rows[[4, 1]]`."""

    def __init__(self, data: memoryview | bytes, shape: RowLayout) -> None:
        self._data = data
        self._shape = shape
        self._columns: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._data) // self._shape.row.size

    def numbers(self, place: int) -> tuple[int, ...]:
        """Those of one row, whose place is not negative."""
        row = self._shape.row
        if (place + 1) * row.size > len(self._data):
            raise IndexError(place)
        return row.unpack_from(self._data, place * row.size)

    def packed(self, *columns: str) -> tuple[Any, ...]:
        """All rows as they lie, how wide they are, and where in them some columns are."""
        return self._data, self._shape.row.size, *(self._shape.places[column][1] for column in columns)

    def innermost(self, first: int, count: int, byte: int, marks: bytes) -> int:
        """Which of some rows is the shortest from `start` to `end` around a byte, of a marked `kind`; -1 where none is."""
        places = self._shape.places
        columns = places["start"][1], places["end"][1], places["kind"][1]
        found: int = _kernel().innermost(self._data, self._shape.row.size, *columns, first, count, byte, marks)
        return found

    def __getitem__(self, key: Any) -> Any:
        shape = self._shape
        if type(key) is str:
            known = self._columns.get(key)
            if known is None:
                _, offset, kind = shape.places[key]
                known = self._columns[key] = _kernel().column(self._data, offset, shape.row.size, kind)
            return known
        size = shape.row.size
        if type(key) is int:
            if not -len(self) <= key < len(self):
                raise IndexError(key)
            return TableRow(shape, shape.row.unpack_from(self._data, (key % len(self)) * size))
        if type(key) is slice:
            start, stop, step = key.indices(len(self))
            if step == 1:
                return TableRows(self._data[start * size : max(start, stop) * size], shape)
            return self[range(start, stop, step)]
        return TableRows(b"".join(self._data[place * size : (place + 1) * size] for place in self._places(key)), shape)

    def _places(self, key: Any) -> list[int]:
        """The rows that a mask or a list names; IndexError where one is not there."""
        numbers, total = np.asarray(key), len(self)
        if str(numbers.dtype) == "bool":
            if len(numbers) != total:
                raise IndexError(f"a mask over {len(numbers)} of {total} rows")
            numbers = np.flatnonzero(numbers)
        places: list[int] = numbers.tolist()
        if places and not -total <= min(places) <= max(places) < total:
            raise IndexError(f"rows {min(places)} to {max(places)} of {total}")
        return [place + total if place < 0 else place for place in places]

    def as_numbers(self, column: str, more: int) -> Any:
        """A column with a number added to each, in eight bytes."""
        _, offset, kind = self._shape.places[column]
        return _kernel().numbers(self._data, offset, self._shape.row.size, kind, more)

    def lengths(self, files: TableRows, live: Any, fields: Mapping[str, float], room: Any, first: int) -> tuple[int, ...]:
        """Of units: puts the length of each into `room`, of fields of their own or their file's with weights.

        Returns the sum of each field over those of live files, and how many those are.
        """
        found: tuple[int, ...] = _kernel().lengths(*self._with(files), live, self._fields(files, fields), room, first)
        return found

    def _with(self, files: TableRows) -> tuple[Any, ...]:
        return self._data, self._shape.row.size, files._data, files._shape.row.size, self._shape.places["file"][1]

    def _fields(self, files: TableRows, fields: Mapping[str, float]) -> tuple[tuple[bool, int, int, float], ...]:
        own, theirs = self._shape.places, files._shape.places
        found = []
        for name, weight in fields.items():
            _, place, kind = own.get(name) or theirs[name]
            found.append((name not in own, place, _SIZES[kind], weight))
        return tuple(found)

    def within(self, limits: Iterable[tuple[str, str, int, int]]) -> bool:
        """Whether each number keeps to its limits: column, one that is added to it or none, least, most."""
        where = self._shape.places
        asked = []
        for column, added, low, high in limits:
            asked.append((where[column][1], _SIZES[where[column][2]], *_addend(where.get(added)), low, min(high, _MAX_LIMIT)))
        found: bool = _kernel().within(self._data, self._shape.row.size, tuple(asked))
        return found

    def tolist(self) -> list[tuple[int, ...]]:
        return list(self._shape.row.iter_unpack(self._data))


def normalise_lengths(lengths: Any, mean: float, k1: float, b: float) -> Any:
    """Lengths become k1 · (1 − b + b · length / mean), where they are."""
    _kernel().normed(lengths, mean, k1, b)
    return lengths
