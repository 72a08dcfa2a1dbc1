"""Whole families of postings: packed when a segment is written, read as rows, merged a slice of terms at a time.

`tables` has their format, and reads single lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lurcher.runtime.kernel import native, np
from lurcher.runtime.parallel import BackgroundCall, run_in_order
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter, as_bytes
from lurcher.storage.tables import broken_postings, check_lists
from lurcher.terms.count import Postings

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    check_lists(container, family, found)
    return found


def read_lists(container: Container, family: str, lists: PostingLists, first: int, last: int, owners: int) -> Postings:
    """The rows of the terms at positions [first, last); each owner is below `owners`."""
    import numpy as np


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


_SLICE_ROWS = 400_000
"""Postings that are sorted at a time."""

OwnerMaps = Callable[[str], "Sequence[NDArray[np.int64]]"]
"""For a family: the new numbers of the owners of each part, -1 for dropped ones."""
OwnerCount = Callable[[Container, str], int]
"""The number of owners of a family in a part."""


def merge_families(
    out: ContainerWriter, parts: Sequence[Container], families: Sequence[str], owners: OwnerMaps, total: OwnerCount,
    united: BackgroundCall[MergedTerms] | None = None,
) -> int:  # fmt: skip
    """Write every family, then the terms still in use; returns their number. `united` may have the merged terms already."""
    import numpy as np

    union, term_maps = merge_terms(parts) if united is None else united.result()
    used = np.zeros(len(union.ends), bool)
    kept: list[tuple[str, NDArray[np.int64], bytes, bytes]] = []
    for family in families:
        terms, rows, sizes = [], [], []
        out.begin(f"{family}.data", "u1")
        for packed in _merge_slices(parts, family, term_maps, len(union.ends), owners(family), total):
            out.write(as_bytes(packed.data))
            terms.append(packed.terms.astype(np.int64))
            rows.append(packed.rows)
            sizes.append(packed.sizes)
        out.end()
        numbers = np.concatenate(terms) if terms else np.zeros(0, np.int64)
        used[numbers] = True
        kept.append((family, numbers, encode_ends(rows), encode_ends(sizes)))
    renumber = np.cumsum(used) - 1
    for family, numbers, row_ends, byte_ends in kept:
        out.add(f"{family}.terms", "<u4", as_bytes(renumber[numbers].astype("<u4")))
        out.add(f"{family}.rows", "<u4", row_ends)
        out.add(f"{family}.ends", "<u4", byte_ends)
    if not used.all():
        union = union.only(used)
    out.add("terms", "u1", union.text)
    out.add("term_ends", "<u4", as_bytes(union.ends))
    return len(union.ends)


def _merge_slices(
    parts: Sequence[Container], family: str, term_maps: Sequence[NDArray[np.int64]], terms: int,
    targets: Sequence[NDArray[np.int64]], total: OwnerCount,
) -> Iterator[PackedPostings]:  # fmt: skip
    """The postings of a family over all parts, slice by slice."""
    return (
        packed for packed in run_in_order(_plan_slices(parts, family, term_maps, terms, targets, total)) if len(packed.terms)
    )


def _plan_slices(
    parts: Sequence[Container], family: str, term_maps: Sequence[NDArray[np.int64]], terms: int,
    targets: Sequence[NDArray[np.int64]], total: OwnerCount,
) -> Iterator[Callable[[], PackedPostings]]:  # fmt: skip
    """The calls that make the slices."""
    import numpy as np

    lists = [open_lists(part, family) for part in parts]
    numbers = [mapped[found.terms] for mapped, found in zip(term_maps, lists, strict=True)]
    load = np.zeros(terms, np.int64)
    for found, mapped in zip(lists, numbers, strict=True):
        load[mapped] += found.counts(0, len(found.terms))
    rows = np.cumsum(load)
    joined = _merge_slice if native() is None else _merge_slice_natively
    together = list(zip(parts, lists, numbers, targets, strict=True))
    first = 0
    while first < terms:
        before = int(rows[first - 1]) if first else 0
        last = max(int(np.searchsorted(rows, before + _SLICE_ROWS, "right")), first + 1)
        yield partial(joined, together, family, total, first, last)
        first = last


_Part = tuple[Container, PostingLists, "NDArray[np.int64]", "NDArray[np.int64]"]
"""A part, its lists, the new numbers of their terms, and those of the owners."""


def _merge_slice_natively(parts: Sequence[_Part], family: str, total: OwnerCount, first: int, last: int) -> PackedPostings:
    """The live rows of the terms [first, last), sorted by term and owner."""
    import numpy as np

    kernel = native()
    assert kernel is not None
    pieces, sources = [], []
    for part, found, mapped, target in parts:
        a, b = (int(place) for place in np.searchsorted(mapped, (first, last)))
        if a == b:
            continue
        first_row, _, start, end = found.span(a, b)
        if len(target) != total(part, family) or not start <= end:
            raise broken_postings(part, family)
        data = part.section(f"{family}.data", start, end)
        pieces.append((mapped[a:b], found.rows[a:b], found.ends[a:b], first_row, data, start, target))
        sources.append(part)
    try:
        terms, rows, sizes, packed = kernel.merged_postings(pieces)
    except ValueError as error:
        raise broken_postings(sources[error.args[0]], family) from None
    return PackedPostings(
        np.frombuffer(terms, np.uint32), np.frombuffer(rows, np.int64), np.frombuffer(sizes, np.int64),
        np.frombuffer(packed, np.uint8),
    )  # fmt: skip


def _merge_slice(parts: Sequence[_Part], family: str, total: OwnerCount, first: int, last: int) -> PackedPostings:
    """The reference for the kernel."""
    import numpy as np

    keys, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    for part, found, mapped, target in parts:
        a, b = (int(place) for place in np.searchsorted(mapped, (first, last)))
        if a == b:
            continue
        read = read_lists(part, family, found, a, b, total(part, family))
        owners = target[read.owners]
        alive = owners >= 0
        terms = np.repeat(mapped[a:b], found.counts(a, b))
        keys.append((terms[alive] << 32) | owners[alive])
        counts.append(read.counts[alive])
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    key = key[order]
    rows = Postings((key >> 32).astype(np.uint32), (key & 0xFFFFFFFF).astype(np.uint32), np.concatenate(counts)[order])
    return pack_postings(rows)


class Terms(NamedTuple):
    """Sorted terms: their concatenated bytes, and the end of each."""

    text: bytes
    ends: NDArray[np.uint32]

    def only(self, kept: NDArray[np.bool_]) -> Terms:
        """The terms that a mask keeps."""
        import numpy as np

        starts = np.concatenate((np.zeros(1, np.uint32), self.ends[:-1]))[kept].tolist() if len(self.ends) else []
        ends = self.ends[kept].tolist()
        text = b"".join(self.text[start:end] for start, end in zip(starts, ends, strict=True))
        sizes = np.array(ends, np.int64) - np.array(starts, np.int64)
        return Terms(text, np.cumsum(sizes).astype(np.uint32))


MergedTerms = tuple[Terms, "list[NDArray[np.int64]]"]
"""All terms of some parts, sorted, and for each part the new numbers of its terms."""


def merge_terms(parts: Sequence[Container]) -> MergedTerms:
    import numpy as np

    kernel = native()
    if kernel is None:
        return _merge_terms_in_python(parts)
    try:
        text, ends, maps = kernel.united_terms([(part.section("terms"), part.array("term_ends", "<u4")) for part in parts])
    except ValueError as error:
        raise parts[error.args[0]].corrupt("its terms are out of order") from None
    return Terms(bytes(text), np.frombuffer(ends, np.uint32)), [np.frombuffer(numbers, np.int64) for numbers in maps]


def _merge_terms_in_python(parts: Sequence[Container]) -> MergedTerms:
    import numpy as np

    known: set[bytes] = set()
    for part in parts:
        known.update(_iterate_terms(part))
    union = sorted(known)
    del known
    number = {term: i for i, term in enumerate(union)}
    maps = []
    for part in parts:
        own = np.fromiter(map(number.__getitem__, _iterate_terms(part)), np.int64, part.meta["terms"])
        if len(own) > 1 and int(np.diff(own).min()) <= 0:
            raise part.corrupt("its terms are out of order")
        maps.append(own)
    return Terms(b"".join(union), np.cumsum(np.fromiter(map(len, union), np.int64, len(union))).astype(np.uint32)), maps


def _iterate_terms(part: Container) -> Iterator[bytes]:
    blob = bytes(part.section("terms"))
    start = 0
    for end in part.array("term_ends", "<u4").tolist():
        yield blob[start:end]
        start = end


def encode_ends(sizes: Sequence[NDArray[np.int64]]) -> bytes:
    import numpy as np

    return np.cumsum(np.concatenate(sizes) if sizes else np.zeros(0, np.int64)).astype("<u4").tobytes()
