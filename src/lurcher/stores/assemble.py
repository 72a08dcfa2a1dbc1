"""A segment assembled from records: tables are joined, and numbers moved by the sizes of the files before.

Postings are not merged, which would take longer than the whole query: the rows of a term are picked out when they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from lurcher.errors import LurcherError
from lurcher.runtime.light import cached_property
from lurcher.storage.container import Container
from lurcher.storage.merge import expand_ranges
from lurcher.storage.segment import DEFINITION, FAMILIES, FILE, FILE_FIELDS, UNIT, UNIT_FAMILIES, Segment
from lurcher.stores.codec import RECORD_SECTIONS, Record, damaged_error, hash_term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KIND = {
    family: "units" if family in UNIT_FAMILIES else "files" if family in FILE_FIELDS else "definitions" for family in FAMILIES
}


class RecordSections:
    """Joined records, with the interface of the container that a segment reads its sections from."""

    trusted = False
    """Whether values are used unchecked; those of a store are not."""

    def __init__(self, records: Sequence[Record], dims: int) -> None:
        import numpy as np

        def joined(section: str) -> bytes:
            place = RECORD_SECTIONS.index(section)
            return b"".join([record.sections[place] for record in records])

        units = np.array([record.units for record in records], np.int64)
        definitions = np.array([record.definitions for record in records], np.int64)
        languages: dict[str, int] = {}
        numbers = [languages.setdefault(record.language, len(languages)) for record in records]
        self.meta: dict[str, Any] = {
            "files": len(records), "units": int(units.sum()), "definitions": int(definitions.sum()), "imports": 0,
            "languages": list(languages), "dims": dims,
        }  # fmt: skip
        files = np.frombuffer(joined("file"), FILE).copy()
        if (files["units"] != units).any() or (files["definitions"] != definitions).any():
            raise damaged_error("record")
        strings, paths = (
            [len(record.sections[RECORD_SECTIONS.index(name)]) for record in records] for name in ("strings", "path")
        )
        files["text"], files["unit"], files["definition"] = _starts(files["size"]), _starts(units), _starts(definitions)
        files["path"], files["strings"], files["language"] = _starts(paths), _starts(strings), numbers
        owner = np.arange(len(records))
        unit_rows = np.frombuffer(joined("units"), UNIT).copy()
        unit_rows["file"] = np.repeat(owner, units)
        named = unit_rows["definition"] >= 0
        unit_rows["definition"][named] += np.repeat(files["definition"], units)[named].astype(np.int32)
        rows = np.frombuffer(joined("definitions"), DEFINITION).copy()
        holders = np.repeat(owner, definitions)
        rows["file"] = holders
        rows["unit"] += files["unit"][holders]
        for column in ("name", "container", "signature"):
            rows[column] += files["strings"][holders]
        self._tables = {"files": files, "units": unit_rows, "definitions": rows}
        self._bytes = {"strings": joined("strings"), "paths": joined("path"), "imports": b"", "import_texts": b""}
        self._text = int(files["size"].sum(dtype=np.int64))
        self._arrays: dict[str, NDArray[Any]] = {}
        if dims:
            for name, section, kind in (
                ("vectors", "vectors", "i1"), ("vector_scales", "scales", "<f4"), ("cards", "card", "i1"),
                ("card_scales", "card_scale", "<f4"),
            ):  # fmt: skip
                self._arrays[name] = np.frombuffer(joined(section), kind)

    def section(self, name: str, start: int = 0, end: int | None = None) -> memoryview:
        whole = self._bytes.get(name)
        end = len(whole) if whole is not None and end is None else end
        if whole is None or end is None or not 0 <= start <= end <= len(whole):
            raise self.corrupt(name)
        return memoryview(whole)[start:end]

    def length(self, name: str) -> int:
        if name == "text":
            return self._text
        return len(self._bytes.get(name, b""))

    def array(self, name: str, kind: str) -> NDArray[Any]:
        return self._arrays[name]

    def typed_section(self, name: str, kind: str) -> memoryview:
        return memoryview(self._arrays[name].tobytes())

    def section_with_parts(self, name: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> memoryview:
        return self.typed_section(name, "i1")

    def table(self, name: str, layout: list[tuple[str, str]]) -> NDArray[Any]:
        import numpy as np

        return self._tables[name] if name in self._tables else np.zeros(0, layout)

    def has_section(self, name: str) -> bool:
        return name in self._bytes or name in self._tables or name in self._arrays

    def corrupt(self, reason: str) -> LurcherError:
        return damaged_error("record")


class AssembledSegment(Segment):
    """Some files of a project, in path order."""

    def __init__(self, records: Sequence[Record], dims: int, prefix: str = "") -> None:
        """`dims` of the vectors, 0 to leave them out; a record with other dimensions leaves them out for all."""
        import numpy as np

        dims = dims if all(record.dims == dims for record in records) else 0
        super().__init__(cast(Container, RecordSections(records, dims)), None, prefix)
        self._records = list(records)
        self._words = self._joined("words", "<u8")
        self._counts = self._joined("rows", "<u4").astype(np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        if int(self._counts.sum()) != sum(record.rows for record in records):
            raise damaged_error("record")
        self._found: dict[str, dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]]] = {}

    def _joined(self, section: str, kind: str) -> NDArray[Any]:
        import numpy as np

        place = RECORD_SECTIONS.index(section)
        return np.frombuffer(b"".join([record.sections[place] for record in self._records]), kind)

    @cached_property
    def _rows(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return self._joined("families", "u1"), self._joined("owners", "<u4"), self._joined("counts", "u1")

    @cached_property
    def _holder(self) -> NDArray[np.int64]:
        """The file of each entry of `_words`."""
        import numpy as np

        return np.repeat(np.arange(len(self._records)), [record.words for record in self._records])

    def term_postings(self, term: str) -> dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        """By family: the owners of a term, and how often it occurs in each."""
        known = self._found.get(term)
        if known is None:
            known = self._found[term] = self._find_term(term)
        return known

    def _find_term(self, term: str) -> dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        import numpy as np

        places = np.flatnonzero(self._words == np.uint64(hash_term(term)))
        if not len(places):
            return {}
        rows = expand_ranges(self._starts[places], self._counts[places])
        families, owners, counts = (column[rows] for column in self._rows)
        files = np.repeat(self._holder[places], self._counts[places])
        found = {}
        for number in sorted(set(families.tolist())):
            if number >= len(FAMILIES):
                raise damaged_error("record")
            family, here = FAMILIES[number], families == number
            numbers = owners[here].astype(np.int64) + self._bases[_KIND[family]][files[here]]
            if int(numbers.max()) >= int(self.meta[_KIND[family]]):
                raise damaged_error("record")
            found[family] = numbers, counts[here]
        return found

    @cached_property
    def _bases(self) -> dict[str, NDArray[np.int64]]:
        """What to add to the numbers of each file."""
        import numpy as np

        rows = self.files
        return {
            "units": rows["unit"].astype(np.int64), "files": np.arange(len(rows)),
            "definitions": rows["definition"].astype(np.int64),
        }  # fmt: skip


def _starts(counts: Any) -> NDArray[np.int64]:
    import numpy as np

    sizes = np.asarray(counts).astype(np.int64)
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts
