"""One segment of history, mapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lurcher.history.segment import COMMIT_FIELDS, FAMILIES, changes_of, commits_of, hunks_of, owners_in
from lurcher.history.views import Header, header_of
from lurcher.index.mapped import Segment
from lurcher.light import cached_property

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PastSegment(Segment):
    """One segment, mapped; `live` says which of its commits still count (None: all)."""

    @cached_property
    def commits(self) -> NDArray[Any]:
        return commits_of(self.container)

    @cached_property
    def changes(self) -> NDArray[Any]:
        return changes_of(self.container, self.commits)

    @cached_property
    def hunks(self) -> NDArray[Any]:
        return hunks_of(self.container, self.commits)

    def check_tables(self) -> None:
        """Raise unless every row leads somewhere."""
        _ = self.commits, self.changes, self.hunks

    def is_live(self, term: int) -> bool:
        return any((found := self.postings(family, term)) is not None and len(found[0]) for family in FAMILIES)

    def _live_postings(self, family: str, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
        found = self._postings(family, term)
        if found is None or self.live is None:
            return found
        owners, counts = found
        kept = self.live[owners if family in COMMIT_FIELDS else self.hunks["commit"][owners]]
        return owners[kept], counts[kept]

    def _owner_total(self, family: str) -> int:
        return owners_in(self.container, family)

    def strings(self, commit: int) -> bytes:
        """All strings of a commit."""
        start = int(self.commits["strings"][commit])
        return bytes(self.container.section("strings", start, start + int(self.commits["string_size"][commit])))

    def names(self) -> Iterator[bytes]:
        """The hashes of all commits, in order."""
        for name, size in zip(self.commits["sha"].tolist(), self.commits["sha_size"].tolist(), strict=True):
            yield name[:size]

    def headers(self, base: int) -> Iterator[tuple[int, Header]]:
        """All commits, numbered from `base` on."""
        blob = bytes(self.container.section("strings"))
        columns = (self.commits[name].tolist() for name in ("authored", "committed", "strings", "string_size"))
        for i, (name, authored, committed, start, size) in enumerate(zip(self.names(), *columns, strict=True)):
            yield base + i, header_of(name, authored, committed, blob[start : start + size])
