"""The term table: one vector per term, and the parts that vectors of unseen terms are composed of. One memory-mapped file.

The file is a container (see storage/container.py) with these sections:

    terms, term_ends                    the terms as UTF-8, sorted by their bytes, and where each ends
    rows, scales                        their vectors, quantised (see quantise.py), and one scale per row
    query_weights, document_weights     what a term's vector is multiplied by on either side
    grams, gram_scales                  vectors of the n-gram buckets (see unseen_terms.py); may be empty

and `Meta` as its meta entry. Everything in a file is checked before it is used: a hostile file is an error like any other.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from itertools import pairwise
from math import isfinite
from struct import Struct

from lurcher.errors import LurcherError, ModelError
from lurcher.runtime.kernel import native
from lurcher.runtime.kernel import np as small
from lurcher.storage.container import BoundedCache, Container
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.quantise import PackedRows


VERSION = 1
COMPOSE = ("grams", "wordpiece", "none")
FIELDS = {"body": 1.0, "comments": 1.0, "symbols": 1.0, "name": 2.0, "folder": 1.0}
"""The default weight of each field in a unit's vector."""
CARD = {"name": 2.0, "folder": 1.0, "comments": 1.0, "symbols": 1.0}
"""The same for the summary of a file."""
VIEWS = {"summary": 0.3, "name": 0.3, "folder": 0.05, "comments": 0.15, "units": 0.2}
"""The default weight of each view of a file in its card."""
MAX_DIMS = 4096
_MAX_WEIGHT = 1000.0
QUERY, DOCUMENT = "query", "document"
_SINGLE = Struct("<f")
_MAX_VALUE = 1e6
"""Scales and weights are below this; larger ones, and NaN, would spoil every sum."""
_FEW_ROWS = 64
"""Up to this many terms or rows are looked up one by one; for more it pays to read the whole section."""
_SOME_TERMS = 4000
"""Up to this many terms, binary searches cost less than a dictionary of all terms."""
_MAX_SEARCHED = 10_000
_COMPOSE_BATCH = 2048
"""Unseen terms that are composed at a time, which bounds the memory used."""


class Meta(Record):
    """What a term table says about itself."""

    __slots__ = (
        "version", "name", "dims", "bits", "compose", "gram_lengths", "gram_weight_query", "gram_weight_document", "fields",
        "card", "views", "training", "licence",
    )  # fmt: skip

    def __init__(
        self, version: int, name: str, dims: int, bits: int, compose: str, gram_lengths: tuple[int, ...],
        gram_weight_query: float, gram_weight_document: float, fields: dict[str, float], card: dict[str, float],
        views: dict[str, float], training: Any, licence: str,
    ) -> None:  # fmt: skip
        self.version, self.name, self.dims, self.bits = version, name, dims, bits
        self.compose = compose
        """What an unseen term is composed of: hashed n-grams, pieces of the vocabulary, or nothing."""
        self.gram_lengths, self.gram_weight_query = gram_lengths, gram_weight_query
        self.gram_weight_document, self.fields, self.card, self.views = gram_weight_document, fields, card, views
        self.training = training
        """How it was made; only for display."""
        self.licence = licence


def parse_meta(found: Mapping[str, Any], corrupt: Callable[[str], LurcherError]) -> Meta:
    """The meta entry of a table file, checked; `corrupt` makes the error."""

    def value(name: str, kind: type, default: Any = None) -> Any:
        setting = found.get(name, default)
        if type(setting) is not kind:
            raise corrupt(f"its '{name}' is missing or has the wrong type")
        return setting

    def number(name: str, setting: Any) -> float:
        if type(setting) not in (int, float) or not isfinite(setting) or abs(setting) > _MAX_WEIGHT:
            raise corrupt(f"its '{name}' is out of range")
        return float(setting)

    def weights(name: str, defaults: Mapping[str, float]) -> dict[str, float]:
        setting = value(name, dict, {})
        unknown = sorted(set(setting) - set(defaults))
        if unknown:
            raise corrupt(f"its '{name}' has an unknown entry '{unknown[0]}'")
        return {key: number(name, setting.get(key, default)) for key, default in defaults.items()}

    version = value("version", int)
    if version != VERSION:
        raise corrupt(f"it is a table of version {version}, not {VERSION}")
    dims, bits, compose = value("dims", int), value("bits", int), value("compose", str)
    if not 1 <= dims <= MAX_DIMS:
        raise corrupt(f"it has {dims} dimensions, not 1 to {MAX_DIMS}")
    if bits not in (4, 8):
        raise corrupt(f"it has numbers of {bits} bits, not 4 or 8")
    if compose not in COMPOSE:
        raise corrupt(f"it composes unseen terms by '{compose[:40]}'")
    lengths = value("gram_lengths", list, [])
    if len(lengths) > 8 or any(type(length) is not int or not 1 <= length <= 16 for length in lengths):
        raise corrupt("its n-gram lengths are out of range")
    return Meta(
        version, value("name", str), dims, bits, compose, tuple(sorted(set(lengths))),
        number("gram_weight_query", found.get("gram_weight_query", 1.0)),
        number("gram_weight_document", found.get("gram_weight_document", 1.0)),
        weights("fields", FIELDS), weights("card", CARD), weights("views", VIEWS), found.get("training", ""),
        value("licence", str, ""),
    )  # fmt: skip


class _ModelFile(Container):
    WHAT = "model file"
    HINT = "choose another: lurcher model use builtin"
    ERROR = ModelError


class Table:
    """An open term table. Safe to use from several threads."""

    def __init__(self, file: _ModelFile, path: Path | str | None = None) -> None:
        self._file = file
        self.path = path
        self.meta: Meta = parse_meta(file.meta, file.corrupt)
        self._width = (self.meta.dims * self.meta.bits + 7) // 8  # as quantise.row_bytes, which a query need not load
        self._searched: BoundedCache[str, int] = BoundedCache(_MAX_SEARCHED)
        self._checked: dict[str, NDArray[np.float32]] = {}
        self._check_sizes()

    @classmethod
    def open(cls, path: Path | str) -> Table:
        try:
            path = os.path.realpath(path)
            return cls(_ModelFile.open(path), path)
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
            reason = error.strerror if isinstance(error, OSError) else error
            raise ModelError(f"model file {os.path.split(path)[1]} cannot be read: {reason}", _ModelFile.HINT) from error

    @classmethod
    def of(cls, data: bytes, name: str = "table") -> Table:
        """A table held in memory."""
        return cls(_ModelFile(data, name))

    def _check_sizes(self) -> None:
        size, count, buckets = self._file.length, len(self), self.buckets
        valid = (
            size("rows") == count * self._width
            and size("grams") == buckets * self._width
            and all(size(name) == 4 * count for name in ("term_ends", "scales", "query_weights", "document_weights"))
            and size("gram_scales") == 4 * buckets
        )
        if not valid:
            raise self._file.corrupt("its sections have the wrong sizes")

    def __len__(self) -> int:
        return self._file.length("term_ends") // 4

    @property
    def buckets(self) -> int:
        return self._file.length("gram_scales") // 4

    @property
    def dims(self) -> int:
        return self.meta.dims

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size

    @cached_property
    def digest(self) -> str:
        return self._file.digest()

    def verify(self) -> None:
        """Read and check everything."""
        self._file.verify()
        self._weights_of(QUERY), self._weights_of(DOCUMENT), self._scales("scales"), self._scales("gram_scales")
        _ = self._numbers

    # -- looking terms up -------------------------------------------------------------------------------------------------

    def find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """The row of each term, -1 where there is none."""
        import numpy as np

        if "_numbers" not in self.__dict__:
            if len(terms) <= _FEW_ROWS:
                return np.fromiter(map(self.find_row, terms), np.int64, len(terms))
            if len(terms) <= _SOME_TERMS:
                return np.fromiter(self._find_rows(terms), np.int64, len(terms))
            kernel = native()
            if kernel is not None:
                return np.frombuffer(kernel.places(self._terms, self._ends, list(terms)), np.int64)
        known = self._numbers
        return np.fromiter((known.get(term, -1) for term in terms), np.int64, len(terms))

    def _find_rows(self, terms: Sequence[str]) -> Iterator[int]:
        """Binary searches over copies in memory, which are faster to read than the mapped file."""
        data, ends = bytes(self._terms), [0, *self._ends.tolist()]
        for term in terms:
            key = term.encode("utf-8", "surrogatepass")
            low, high = 0, len(ends) - 1
            while low < high:
                middle = (low + high) // 2
                if data[ends[middle] : ends[middle + 1]] < key:
                    low = middle + 1
                else:
                    high = middle
            yield low if low < len(ends) - 1 and data[ends[low] : ends[low + 1]] == key else -1

    def find_row(self, term: str) -> int:
        """The row of a term, -1 where there is none."""
        known = self._searched.get(term)
        if known is None:
            known = self._search_row(term)
            self._searched.put(term, known, 0)
        return known

    @cached_property
    def _ends(self) -> memoryview:
        ends = self._file.typed_section("term_ends", "<u4").cast("I")
        numbers = small.frombuffer(ends.cast("B"), small.uint32)
        if len(ends) and (ends[-1] != self._file.length("terms") or bool((numbers[1:] < numbers[:-1]).any())):
            raise self._file.corrupt("its terms do not end where they should")
        return ends

    @cached_property
    def _terms(self) -> memoryview:
        return self._file.section("terms")

    def _search_row(self, term: str) -> int:
        key, ends, terms = term.encode("utf-8", "surrogatepass"), self._ends, self._terms
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if bytes(terms[ends[middle - 1] if middle else 0 : ends[middle]]) < key:
                low = middle + 1
            else:
                high = middle
        found = low < len(ends) and bytes(terms[ends[low - 1] if low else 0 : ends[low]]) == key
        return low if found else -1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        data, start, numbers = bytes(self._terms), 0, {}
        try:
            for number, end in enumerate(self._ends.tolist()):
                numbers[data[start:end].decode("utf-8", "surrogatepass")] = number
                start = end
        except UnicodeDecodeError as error:
            raise self._file.corrupt("a term is not text") from error
        return numbers

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._numbers), default=0)

    # -- single terms of a query ------------------------------------------------------------------------------------------

    def query_factor(self, row: int) -> float:
        """What a row is multiplied by in a query: its scale times its weight, in single precision."""
        (scale,), (weight,) = self.scales_at("rows", [row]), self._singles(f"{QUERY}_weights", [row])
        return float((small.asarray([scale], small.float32) * small.asarray([weight], small.float32))[0])

    def scales_at(self, section: str, places: Sequence[int]) -> list[float]:
        """The scales of some rows or grams."""
        return self._singles("scales" if section == "rows" else "gram_scales", places)

    def _singles(self, section: str, places: Sequence[int]) -> list[float]:
        found = [_SINGLE.unpack(self._file.section(section, 4 * row, 4 * row + 4))[0] for row in places]
        if not all(abs(number) < _MAX_VALUE for number in found):
            raise self._file.corrupt(f"section '{section}' has a number out of range")
        return found

    def packed(self, section: str, places: Sequence[int]) -> bytes:
        """Some rows or grams in packed form."""
        width = self._width
        return b"".join(self._file.section(section, row * width, (row + 1) * width) for row in places)

    def pieces(self, term: str) -> list[int]:
        """The rows of the pieces of an unseen term."""
        from lurcher.vectors.unseen_terms import split_pieces

        return split_pieces(term, self._numbers, self._longest)

    def can_compose(self, term: str) -> bool:
        """Whether an unseen term can be composed of n-grams, which are learnt from code: other scripts have no useful ones."""
        return any(letter.isascii() and letter.isalnum() for letter in term)

    # -- vectors ----------------------------------------------------------------------------------------------------------

    def rows(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """The terms' vectors without weights, (n, dims); unseen terms are composed."""
        numbers, scales = self.quantised(terms, self.find(terms))
        return numbers * scales[:, None]

    def vectors(self, terms: Sequence[str], side: str, found: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """The terms' vectors times the weights of a side (query or document); `found` is the result of `find`, if known."""
        found = self.find(terms) if found is None else found
        numbers, scales = self.quantised(terms, found)
        return numbers * (scales * self.weights(found, side))[:, None]

    def weights(self, found: NDArray[np.int64], side: str) -> NDArray[np.float32]:
        """The weight of each row on a side; unseen terms (-1) have the weight of composed vectors."""
        import numpy as np

        composed = np.float32(self.meta.gram_weight_query if side == QUERY else self.meta.gram_weight_document)
        if not len(self):
            return np.full(len(found), composed, np.float32)
        return np.where(found >= 0, self._weights_of(side)[found], composed)

    def quantised(self, terms: Sequence[str], found: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The vectors of terms as whole numbers and one scale each; `found` is the result of `find`."""
        import numpy as np

        unseen = np.flatnonzero(found < 0)
        if not len(unseen):
            return self._unpack_rows("rows", found), self._scales("scales")[found]
        numbers = np.zeros((len(terms), self.dims), np.int8)
        scales = np.zeros(len(terms), np.float32)
        seen = np.flatnonzero(found >= 0)
        if len(seen):
            numbers[seen] = self._unpack_rows("rows", found[seen])
            scales[seen] = self._scales("scales")[found[seen]]
        if self.meta.compose == "grams":
            unseen = np.array([i for i in unseen.tolist() if self.can_compose(terms[i])], np.int64)
        for first in range(0, len(unseen), _COMPOSE_BATCH):
            places = unseen[first : first + _COMPOSE_BATCH]
            from lurcher.vectors.quantise import quantise

            numbers[places], scales[places] = quantise(self._compose([terms[i] for i in places.tolist()]))
        return numbers, scales

    def packed_rows(self, found: NDArray[np.int64]) -> tuple[PackedRows, NDArray[np.float32]]:
        """All rows in packed form, and the scales of those in `found`."""
        from lurcher.vectors.quantise import PackedRows

        return PackedRows(self._file.array("rows", "u1"), self.meta.bits, self.dims), self._scales("scales")[found]

    def _compose(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of unseen terms: the mean of their n-grams or pieces, zero where they have none."""
        import numpy as np

        if self.meta.compose == "grams":
            from lurcher.vectors.unseen_terms import hash_grams

            parts, owners = hash_grams(terms, self.meta.gram_lengths, self.buckets)
            section, scales = "grams", "gram_scales"
        elif self.meta.compose == "wordpiece":
            from lurcher.vectors.unseen_terms import split_pieces

            found = [split_pieces(term, self._numbers, self._longest) for term in terms]
            parts = np.array([number for pieces in found for number in pieces], np.int64)
            owners = np.repeat(np.arange(len(terms)), [len(pieces) for pieces in found])
            section, scales = "rows", "scales"
        else:
            parts = owners = np.zeros(0, np.int64)
            section, scales = "rows", "scales"
        vectors = np.zeros((len(terms), self.dims), np.float32)
        if len(parts):
            from lurcher.vectors.quantise import PackedRows, weighted_sums

            counts = np.maximum(np.bincount(owners, minlength=len(terms)), 1)
            amounts = self._scales(scales)[parts].astype(np.float64)
            gather = partial(self._unpack_rows, section)
            height = self._height(section)
            whole = PackedRows(self._file.array(section, "u1"), self.meta.bits, self.dims) if len(parts) > _FEW_ROWS else None
            for here, sums, factors in weighted_sums(owners, parts, amounts, len(terms), gather, height, whole):
                vectors[here] = sums * (factors / counts[here])[:, None].astype(np.float32)
        return vectors

    def _height(self, section: str) -> int:
        return len(self) if section == "rows" else self.buckets

    def _unpack_rows(self, section: str, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
        import numpy as np

        width = self._width
        if len(numbers) <= _FEW_ROWS:
            pieces = [self._file.section(section, row * width, (row + 1) * width) for row in numbers.tolist()]
            packed = np.frombuffer(b"".join(pieces), np.uint8).reshape(-1, width)
        else:
            packed = self._file.array(section, "u1").reshape(-1, width)[numbers]
        from lurcher.vectors.quantise import unpack

        return unpack(packed, self.meta.bits, self.dims)

    def _scales(self, section: str) -> NDArray[np.float32]:
        return self._numbers_in(section)

    def _weights_of(self, side: str) -> NDArray[np.float32]:
        return self._numbers_in(f"{side}_weights")

    def _numbers_in(self, section: str) -> NDArray[np.float32]:
        import numpy as np

        known = self._checked.get(section)
        if known is None:
            known = self._file.array(section, "<f4")
            if len(known) and not float(np.abs(known).max()) < _MAX_VALUE:
                raise self._file.corrupt(f"section '{section}' has a number out of range")
            self._checked[section] = known
        return known


def pack_table(
    terms: Sequence[str],
    rows: NDArray[Any],
    query_weights: NDArray[Any],
    document_weights: NDArray[Any],
    grams: NDArray[Any] | None,
    meta: Mapping[str, Any],
    bits: int = 8,
) -> list[bytes | memoryview]:
    """The content of a table file. Terms may be in any order; `meta` has the fields of `Meta` except dims and bits."""
    import numpy as np

    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    if any(encoded[a] == encoded[b] for a, b in pairwise(order)):
        raise ModelError("a term occurs twice", "give each term one row")
    rows = np.asarray(rows, np.float32)
    dims = rows.shape[1]
    grams = np.zeros((0, dims), np.float32) if grams is None else np.asarray(grams, np.float32)
    if len(rows) != len(encoded) or grams.shape[1] != dims or not (np.isfinite(rows).all() and np.isfinite(grams).all()):
        raise ModelError("the vectors do not fit the terms", "give one row of finite numbers per term")
    sorted_rows = np.array(order, np.int64)
    from lurcher.vectors.quantise import pack, quantise

    numbers, scales = quantise(rows[sorted_rows], bits)
    gram_numbers, gram_scales = quantise(grams, bits)
    ends = np.cumsum([len(encoded[i]) for i in order], dtype=np.int64)

    def floats(values: NDArray[Any]) -> tuple[str, bytes]:
        return "<f4", np.ascontiguousarray(values, "<f4").tobytes()

    from lurcher.storage.container_writer import encode_container

    return encode_container(
        {
            "terms": ("u1", b"".join(encoded[i] for i in order)),
            "term_ends": ("<u4", ends.astype("<u4").tobytes()),
            "rows": ("u1", pack(numbers, bits).tobytes()),
            "scales": floats(scales),
            "query_weights": floats(np.asarray(query_weights)[sorted_rows]),
            "document_weights": floats(np.asarray(document_weights)[sorted_rows]),
            "grams": ("u1", pack(gram_numbers, bits).tobytes()),
            "gram_scales": floats(gram_scales),
        },
        {**meta, "dims": dims, "bits": bits},
    )


def write_table(
    path: Path,
    terms: Sequence[str],
    rows: NDArray[Any],
    query_weights: NDArray[Any],
    document_weights: NDArray[Any],
    grams: NDArray[Any] | None,
    meta: Mapping[str, Any],
    bits: int = 8,
) -> Table:
    """Quantise and write a table, and open it again."""
    pieces = pack_table(terms, rows, query_weights, document_weights, grams, meta, bits)
    Table.of(b"".join(pieces), path.name).verify()
    from lurcher.storage.disk import write_atomically

    write_atomically(path, pieces)
    return Table.open(path)
