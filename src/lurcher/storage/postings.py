"""Postings: for each term of a family its owners (units, files or definitions) and their counts.

On disk, owners are stored as differences within a term, in the narrowest width (1, 2 or 4 bytes) that holds the largest one,
followed by the counts, a byte each. One cumulative sum decodes a list; its width follows from its bytes and rows.
"""

from __future__ import annotations

from _thread import _local

from lurcher.runtime.kernel import native, np
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, bisect_left
from lurcher.storage.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.terms.count import Postings


class PackedPostings(NamedTuple):
    """Postings as they are stored."""

    terms: NDArray[np.uint32]
    """The distinct terms."""
    rows: NDArray[np.int64]
    """Of each term."""
    sizes: NDArray[np.int64]
    """In bytes."""
    data: NDArray[np.uint8]


def pack_postings(postings: Postings) -> PackedPostings:
    """Sorted rows, packed into lists."""
    import numpy as np

    kernel = native()
    if kernel is not None:
        given = zip((postings.terms, postings.owners, postings.counts), (np.uint32, np.uint32, np.uint8), strict=True)
        found = kernel.packed_postings(*(np.ascontiguousarray(column, kind) for column, kind in given))
        return PackedPostings(*map(np.frombuffer, found, (np.uint32, np.int64, np.int64, np.uint8)))
    return _pack_in_python(postings)


def _pack_in_python(postings: Postings) -> PackedPostings:
    """The reference for the kernel."""
    import numpy as np

    terms, owners = postings.terms, postings.owners
    starts = np.flatnonzero(np.diff(terms.astype(np.int64), prepend=-1))
    rows = np.diff(np.append(starts, len(terms)))
    steps: NDArray[np.int64] = np.diff(owners.astype(np.int64), prepend=np.int64(0)).astype(np.int64)
    if len(starts):
        steps[starts] = owners[starts]
        largest = np.maximum.reduceat(steps, starts)
    else:
        largest = steps
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4)).astype(np.int64)
    sizes = (widths + 1) * rows
    begin = np.repeat(np.cumsum(sizes) - sizes, rows)
    place = np.arange(len(terms)) - np.repeat(starts, rows)
    width = np.repeat(widths, rows)
    data = np.zeros(int(sizes.sum()), np.uint8)
    position = begin + place * width
    for byte in range(int(widths.max()) if len(widths) else 0):
        wide = width > byte
        data[position[wide] + byte] = (steps[wide] >> (8 * byte)) & 0xFF
    data[begin + np.repeat(widths * rows, rows) + place] = postings.counts
    return PackedPostings(terms[starts], rows, sizes, data)


class PostingLists(NamedTuple):
    """The lists of a family as numpy arrays: its terms, and the end of each list in rows and in bytes."""

    terms: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    ends: NDArray[np.uint32]

    def span(self, first: int, last: int) -> tuple[int, int, int, int]:
        """First and last row, first and last byte of the terms at positions [first, last)."""
        before = first - 1
        return (
            int(self.rows[before]) if first else 0, int(self.rows[last - 1]) if last else 0,
            int(self.ends[before]) if first else 0, int(self.ends[last - 1]) if last else 0,
        )  # fmt: skip

    def counts(self, first: int, last: int) -> NDArray[np.int64]:
        """How many rows each of the terms at positions [first, last) has."""
        import numpy as np

        before = np.int64(self.rows[first - 1] if first else 0)
        return np.diff(self.rows[first:last].astype(np.int64), prepend=before).astype(np.int64)


def open_lists(container: Container, family: str) -> PostingLists:
    """The lists of a family, mapped; the ends of single lists are checked on use."""
    found = PostingLists(*(container.array(f"{family}.{part}", "<u4") for part in ("terms", "rows", "ends")))
    _check_lists(container, family, found)
    return found


def _check_lists(container: Container, family: str, found: PostingLists | PostingViews) -> None:
    count = len(found.terms)
    if not count == len(found.rows) == len(found.ends) or (count and int(found.terms[-1]) >= container.meta["terms"]):
        raise broken_postings(container, family)


def broken_postings(container: Container, family: str) -> Exception:
    return container.corrupt(f"broken postings in '{family}'")


class PostingViews(NamedTuple):
    """The same as memoryviews, for looking up single terms without numpy."""

    terms: memoryview
    rows: memoryview
    ends: memoryview

    def place(self, term: int) -> int:
        """The position of a term, or -1."""
        position = bisect_left(self.terms, term)
        return position if position < len(self.terms) and self.terms[position] == term else -1


def open_views(container: Container, family: str) -> PostingViews:
    found = PostingViews(*(container.typed_section(f"{family}.{part}", "<u4").cast("I") for part in ("terms", "rows", "ends")))
    _check_lists(container, family, found)
    return found


def stored_list(container: Container, family: str, views: PostingViews, position: int) -> tuple[memoryview, int]:
    """The stored list of the term at `position`, and its number of rows."""
    first, start = (views.rows[position - 1], views.ends[position - 1]) if position else (0, 0)
    rows, size = views.rows[position] - first, views.ends[position] - start
    if rows <= 0 or size not in (2 * rows, 3 * rows, 5 * rows):
        raise broken_postings(container, family)
    return container.section(f"{family}.data", start, start + size), rows


def read_list(
    container: Container, family: str, views: PostingViews, position: int, total: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The owners of the term at `position`, each below `total`, and their counts."""
    data, rows = stored_list(container, family, views, position)
    kernel = native()
    if kernel is not None:
        found: tuple[NDArray[np.int64], NDArray[np.uint8]] | None = kernel.postings(data, rows, total)
        if found is None:
            raise broken_postings(container, family)
        return found
    import numpy as np

    width = len(data) // rows - 1
    owners = np.cumsum(np.frombuffer(data[: width * rows], f"<u{width}"), dtype=np.int64)
    if int(owners[-1]) >= total:
        raise broken_postings(container, family)
    return owners, np.frombuffer(data[width * rows :], np.uint8)


def read_lists(container: Container, family: str, lists: PostingLists, first: int, last: int, owners: int) -> Postings:
    """The rows of the terms at positions [first, last); each owner is below `owners`."""
    import numpy as np

    from lurcher.terms.count import Postings

    first_row, last_row, start, end = lists.span(first, last)
    terms = lists.terms[first:last]
    rows = lists.counts(first, last)
    sizes: NDArray[np.int64] = np.diff(lists.ends[first:last].astype(np.int64), prepend=np.int64(start)).astype(np.int64)
    if not len(terms):
        return Postings(terms, np.zeros(0, np.uint32), np.zeros(0, np.uint8))
    widths = sizes // np.maximum(rows, 1) - 1
    if not (
        (rows > 0).all()
        and ((widths + 1) * rows == sizes).all()
        and np.isin(widths, (1, 2, 4)).all()
        and (np.diff(terms.astype(np.int64)) > 0).all()
    ):
        raise broken_postings(container, family)
    raw = np.frombuffer(container.section(f"{family}.data", start, end), np.uint8)
    begin = np.repeat(np.cumsum(sizes) - sizes, rows)
    heads = np.cumsum(rows) - rows
    place = np.arange(last_row - first_row) - np.repeat(heads, rows)
    width = np.repeat(widths, rows)
    position = begin + place * width
    steps = np.zeros(len(position), np.int64)
    for byte in range(int(widths.max())):
        wide = width > byte
        steps[wide] |= raw[position[wide] + byte].astype(np.int64) << (8 * byte)
    running = np.cumsum(steps)
    running -= np.repeat(running[heads] - steps[heads], rows)
    if int(running.max()) >= owners:
        raise broken_postings(container, family)
    counts = raw[begin + np.repeat(widths * rows, rows) + place]
    return Postings(np.repeat(terms, rows), running.astype(np.uint32), counts)


def expand_runs(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of all runs, concatenated; a run is given by its first number and its length."""
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


class _SumBuffer(_local):
    """Memory in which the kernel adds up, one per thread: zeros before and after each use."""

    def __init__(self) -> None:
        self._room: NDArray[np.float64] | None = None

    def zeros(self, total: int) -> NDArray[np.float64]:
        if self._room is None or len(self._room) < total:
            self._room = np.zeros(total)
        return self._room


SUM_BUFFER = _SumBuffer()


class PostingSum:
    """Adds up the weighted counts of many terms, in one pass at the end: several times faster than term by term."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._broken: dict[int, Callable[[], Exception]] = {}

    def add_list(
        self, list: memoryview, rows: int, limit: int, first: int, weight: float, broken: Callable[[], Exception]
    ) -> None:
        """Add a stored list, for the kernel, which decodes and adds in one pass.

        Its owners are below `limit`; `first` is added to their numbers. `broken` makes the error for a damaged list.
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
        """The ascending owners with a sum other than zero, and their sums."""
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
