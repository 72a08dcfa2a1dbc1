"""Vectors of units and cards of files, from the term counts that the index stores anyway.

    unit = normalise(Σ over fields  weight · Σ over terms  document weight · √count · row)
    card = Σ over views of a file  weight · normalise(the same over the terms of that view)

The views of a file are its name, its folders, all its comments, all its units, and a summary: name, folders, first comments and
first defined names together. So the similarity of a card and a query is the weighted mean of the views' cosines, for one
product. Sums are exact (see quantise.py), so a vector has the same bytes whatever else is in its segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lurcher.runtime.kernel import native
from lurcher.storage.segment import CARD_FIELD, FUNCTION_KINDS, KINDS, TYPE_KINDS, UNIT_FIELDS, decode_string
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.vectors import Vectors
from lurcher.terms import split, words
from lurcher.terms.count import Postings
from lurcher.vectors.quantise import PackedRows, quantise, unit_sums
from lurcher.vectors.table import DOCUMENT, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CARD_NAMES = 40
"""Types and functions whose names are part of a file's card."""
_NAMING = frozenset(number for number, kind in enumerate(KINDS) if kind in TYPE_KINDS or kind in FUNCTION_KINDS)


class _Counts(NamedTuple):
    """Which owner has which term how often, and the weight of the field."""

    owners: NDArray[np.uint32]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    weight: float


def embed(data: SegmentData, table: Table) -> Vectors:
    import numpy as np

    units, views = _unit_counts(data, table.meta.fields), _views(data, table)
    rows = _Rows(data.terms, [*units, *(counts for _, view in views for counts in view)], table)
    numbers, scales = rows.sums(units, len(data.tables["units"]))
    cards = np.zeros((len(data.tables["files"]), table.dims), np.float32)
    for weight, counts in views:
        seen, lengths = rows.sums(counts, len(data.tables["files"]))
        cards += np.float32(weight) * (seen * lengths[:, None])
    if table.meta.views["units"]:
        cards += np.float32(table.meta.views["units"]) * _mean_units(data, numbers, scales)
    # The more its views agree, the longer a card is; at most 1.
    return Vectors(numbers, scales, *quantise(cards / np.float32(sum(map(abs, table.meta.views.values())) or 1.0)))


def embed_groups(
    terms: list[str], groups: Sequence[tuple[Sequence[tuple[Postings, float]], int]], table: Table
) -> list[tuple[NDArray[np.int8], NDArray[np.float32]]]:
    """For each group of weighted fields and number of owners: one vector per owner, from all its fields."""
    counts = [([_counts_of(postings, weight) for postings, weight in fields if weight], total) for fields, total in groups]
    rows = _Rows(terms, [part for group, _ in counts for part in group], table)
    return [rows.sums(group, total) for group, total in counts]


def _views(data: SegmentData, table: Table) -> list[tuple[float, list[_Counts]]]:
    """The terms of each view of the files with its weight, except for the view by units."""
    weights = table.meta.views
    found = [(weights["summary"], _summary_counts(data, table.meta.card))]
    found += [(weights[field], [_counts_of(data.postings[field], 1.0)]) for field in ("name", "folder")]
    comments = _counts_of(data.postings["comments"], 1.0)
    found.append((weights["comments"], [comments._replace(owners=data.tables["units"]["file"][comments.owners])]))
    return [(weight, counts) for weight, counts in found if weight]


def _mean_units(data: SegmentData, numbers: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The normalised sum of the vectors of each file's units."""
    import numpy as np

    together = np.zeros((len(data.tables["files"]), numbers.shape[1]), np.float32)
    filled = np.flatnonzero(data.tables["files"]["units"])
    if len(filled):
        vectors = numbers * scales[:, None]
        sums = np.add.reduceat(vectors, data.tables["files"]["unit"].astype(np.int64)[filled], axis=0, dtype=np.float64)
        lengths = np.sqrt((sums * sums).sum(axis=1))
        together[filled] = sums / np.where(lengths > 0, lengths, 1.0)[:, None]
    return together


class _Rows:
    """The vectors of the terms that occur and have a weight, each looked up or composed once."""

    def __init__(self, terms: list[str], used: Sequence[_Counts], table: Table) -> None:
        import numpy as np

        mark = np.zeros(len(terms), bool)
        for counts in used:
            mark[counts.terms] = True
        places = np.flatnonzero(mark)
        found = table.find([terms[i] for i in places.tolist()])
        weights = table.weights(found, DOCUMENT)
        # Composing vectors that have no weight in documents would be most of the work.
        weighing = weights != 0
        places, found, weights = places[weighing], found[weighing], weights[weighing]
        self._place = np.full(len(terms), -1, np.int32)
        self._weight = np.zeros(len(terms))
        if bool((found >= 0).all()):
            self._stored, scales = table.packed_rows(found)
            self._place[places] = found
        else:
            numbers, scales = table.quantised([terms[i] for i in places.tolist()], found)
            self._stored = PackedRows(numbers, 8, table.dims)
            self._place[places] = np.arange(len(places))
        self._weight[places] = scales * weights

    def sums(self, fields: list[_Counts], total: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Each owner's weighted sum of rows, normalised and quantised."""
        import numpy as np

        rows, bits, dims = self._stored.rows, self._stored.bits, self._stored.dims
        kernel = native()
        if kernel is not None:
            numbers, scales = kernel.owner_sums(fields, total, self._place, self._weight, rows.ravel(), bits, dims)
            return np.frombuffer(numbers, np.int8).reshape(total, dims), np.frombuffer(scales, np.float32)
        place = self._place.astype(np.int64)
        there = np.flatnonzero(place >= 0)
        # A row of zeros must not take a share of an owner's total amount.
        place[there[~self._stored.unpack_rows(place[there]).any(axis=1)]] = -1
        owners, terms, amounts = _concatenate(fields)
        mask = place[terms] >= 0
        owners, terms, amounts = owners[mask], terms[mask], amounts[mask]
        return unit_sums(owners, place[terms], amounts * self._weight[terms], total, self._stored)


def _unit_counts(data: SegmentData, weights: dict[str, float]) -> list[_Counts]:
    """Terms of a unit's own fields, and those of its file's name and folders."""
    import numpy as np

    parts = [_counts_of(data.postings[field], weights[field]) for field in UNIT_FIELDS if weights[field]]
    first, count = data.tables["files"]["unit"].astype(np.int64), data.tables["files"]["units"].astype(np.int64)
    for field in ("name", "folder"):
        if weights[field]:
            files, terms, counts, weight = _counts_of(data.postings[field], weights[field])
            times = count[files]
            before = np.cumsum(times) - times
            units = np.repeat(first[files] - before, times) + np.arange(int(times.sum()))
            parts.append(_Counts(units.astype(np.uint32), np.repeat(terms, times), np.repeat(counts, times), weight))
    return parts


def _summary_counts(data: SegmentData, weights: dict[str, float]) -> list[_Counts]:
    """Terms of a file's name and folders, of its first unit's comments, and of the first names that it defines."""
    parts = [_counts_of(data.postings[field], weights[field]) for field in ("name", "folder") if weights[field]]
    if weights["comments"] and len(data.tables["units"]):
        units, terms, counts, weight = _counts_of(data.postings["comments"], weights["comments"])
        files = data.tables["units"]["file"][units]
        leading = units == data.tables["files"]["unit"][files]
        parts.append(_Counts(files[leading], terms[leading], counts[leading], weight))
    if weights["symbols"]:
        named = data.postings.get(CARD_FIELD)  # present where the segment is new
        parts.append(_definition_counts(data, weights["symbols"]) if named is None else _counts_of(named, weights["symbols"]))
    return parts


def _definition_counts(data: SegmentData, weight: float) -> _Counts:
    """The terms of the names of each file's first types and functions, counted over these names together."""
    import numpy as np

    naming = np.flatnonzero(np.isin(data.tables["definitions"]["kind"], list(_NAMING)))
    if not len(naming):  # as in notes: no need to number the terms
        return _Counts(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint8), weight)
    files = data.tables["definitions"]["file"].astype(np.int64)[naming]
    # Definitions are in file order: this is the position among those of the same file.
    first = np.flatnonzero(np.diff(files, prepend=-1))
    rank = np.arange(len(files)) - np.repeat(first, np.diff(np.append(first, len(files))))
    mask = rank < CARD_NAMES
    naming, files = naming[mask], files[mask]
    number = {term: i for i, term in enumerate(data.terms)}
    spelled: dict[int, list[int]] = {}
    terms: list[int] = []
    widths: list[int] = []
    for offset in data.tables["definitions"]["name"][naming].tolist():
        known = spelled.get(offset)
        if known is None:
            name = decode_string(data.strings["strings"], offset)
            known = [number[term] for word in words(name) for term in split(word) if term in number]
            spelled[offset] = known
        terms += known
        widths.append(len(known))
    keys, counts = np.unique((np.repeat(files, widths) << 32) | np.array(terms, np.int64), return_counts=True)
    rows = (keys >> 32).astype(np.uint32), (keys & 0xFFFFFFFF).astype(np.uint32)
    return _Counts(*rows, np.minimum(counts, 255).astype(np.uint8), weight)


def _counts_of(postings: Postings, weight: float) -> _Counts:
    return _Counts(postings.owners, postings.terms, postings.counts, weight)


def _concatenate(parts: list[_Counts]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Owners, terms and amounts of all fields, concatenated."""
    import numpy as np

    owners, terms, amounts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for part in parts:
        owners.append(part.owners.astype(np.int64))
        terms.append(part.terms.astype(np.int64))
        amounts.append((part.weight * np.sqrt(np.arange(256)))[part.counts])
    return np.concatenate(owners), np.concatenate(terms), np.concatenate(amounts)
