"""Several segments of history become one; commits that no longer count are left behind.

Memory holds the tables, the terms, and one slice of the rest at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.segment import (
    CHANGE,
    COMMIT,
    COMMIT_FIELDS,
    FAMILIES,
    HUNK,
    VECTORS,
    changes_of,
    commits_of,
    hunks_of,
    meta_of,
    owners_in,
)
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.merge import expand_ranges
from lurcher.storage.merge_postings import merge_families
from lurcher.storage.segment_writer import as_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FORGET = 16 << 20


def merge(parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None], out: ContainerWriter) -> str:
    """Write one segment that holds the live commits of all parts (None: all of them) in their order; its digest."""
    return _Merger(parts, live).write(out)


class _Merger:
    def __init__(self, parts: Sequence[Container], live: Sequence[NDArray[np.bool_] | None]) -> None:
        import numpy as np

        self._parts = parts
        self._tables = [commits_of(part) for part in parts]
        self._kept = [
            np.arange(len(table)) if mask is None else np.flatnonzero(mask)
            for table, mask in zip(self._tables, live, strict=True)
        ]
        self._languages: dict[str, int] = {}
        self._copied = 0

    def write(self, out: ContainerWriter) -> str:
        import numpy as np

        commits = np.concatenate([table[kept] for table, kept in zip(self._tables, self._kept, strict=True)]).astype(COMMIT)
        changes, hunks = self._rows("changes"), self._rows("hunks")
        for first, size in (("strings", "string_size"), ("text", "text_size"), ("change", "changes"), ("hunk", "hunks")):
            sizes = commits[size].astype(np.int64)
            commits[first] = np.cumsum(sizes) - sizes
        owners = np.arange(len(commits))
        changes["commit"] = np.repeat(owners, commits["changes"])
        hunks["commit"] = np.repeat(owners, commits["hunks"])
        for name, rows in (("commits", commits), ("changes", changes), ("hunks", hunks)):
            out.add(name, "V", as_bytes(rows))
        self._copy(out, "strings", "strings", "string_size")
        terms = merge_families(out, self._parts, FAMILIES, self._owners, owners_in)
        dims, model = self._vectors(out)
        self._copy(out, "text", "text", "text_size")
        counts = {"commits": len(commits), "changes": len(changes), "hunks": len(hunks), "terms": terms}
        return out.finish(meta_of(counts, list(self._languages), dims, model))

    def _places(self, number: int, kind: str) -> NDArray[np.int64]:
        """The rows of a part's changes or hunks that are kept."""
        table, kept = self._tables[number], self._kept[number]
        first, count = ("change", "changes") if kind == "changes" else ("hunk", "hunks")
        return expand_ranges(table[first][kept], table[count][kept])

    def _rows(self, kind: str) -> NDArray[Any]:
        import numpy as np

        found = []
        for number, (part, table) in enumerate(zip(self._parts, self._tables, strict=True)):
            places = self._places(number, kind)
            rows = (changes_of if kind == "changes" else hunks_of)(part, table)[places].copy()
            if kind == "changes":
                names = part.meta["languages"]
                used = np.unique(rows["language"]).tolist()
                own = np.zeros(max(len(names), 1), np.uint16)
                for code in used:
                    own[code] = self._languages.setdefault(names[code], len(self._languages))
                rows["language"] = own[rows["language"]]
            found.append(rows)
        return np.concatenate(found).astype(CHANGE if kind == "changes" else HUNK)

    def _copy(self, out: ContainerWriter, section: str, first: str, size: str) -> None:
        """Copy what belongs to the kept commits."""
        out.begin(section, PACKED)
        for part, table, kept in zip(self._parts, self._tables, self._kept, strict=True):
            starts, sizes = table[first][kept].tolist(), table[size][kept].tolist()
            for start, length in zip(starts, sizes, strict=True):
                out.write(part.section(section, start, start + length))
                self._passed(length)
        out.end()

    def _passed(self, size: int) -> None:
        self._copied += size
        if self._copied >= _FORGET:
            self._copied = 0
            for part in self._parts:
                part.release_pages()

    def _vectors(self, out: ContainerWriter) -> tuple[int, str]:
        """The size of vectors, and the model that made them. Parts that do not go together have no vectors together."""
        made = {(int(part.meta["dims"]), str(part.meta.get("model", ""))) for part in self._parts}
        dims, model = made.pop() if len(made) == 1 else (0, "")
        for numbers, scales, kind in VECTORS:
            for section, element, width in ((numbers, "i1", dims), (scales, "<f4", 1)):
                out.begin(section, element)
                for number, part in enumerate(self._parts if dims else ()):
                    places = self._kept[number] if kind == "commits" else self._places(number, kind)
                    rows = part.array(section, element).reshape(-1, width)
                    for start in range(0, len(places), 4096):
                        out.write(as_bytes(rows[places[start : start + 4096]]))
                    part.release_pages()
                out.end()
        return dims, model

    def _owners(self, family: str) -> list[NDArray[np.int64]]:
        """Where the owners of each part go; -1: nowhere."""
        import numpy as np

        maps, base = [], 0
        for number, part in enumerate(self._parts):
            places = self._kept[number] if family in COMMIT_FIELDS else self._places(number, "hunks")
            target = np.full(owners_in(part, family), -1, np.int64)
            target[places] = np.arange(base, base + len(places))
            base += len(places)
            maps.append(target)
        return maps
