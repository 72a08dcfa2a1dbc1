"""Which commits of an index were mended soon after: found from the lines that are kept, without asking git.

What mended a commit is decided by the `window` commits before it in the order, newest first. Where these are the same as when
it was last decided, that still holds, however the index grew or the history was rewritten; all others are decided anew. So an
index that grew in steps tells the same as one made at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.outcomes.fixes import Fix, Window
from lurcher.corpora.history.reader import Past
from lurcher.corpora.history.segment import MERGE
from lurcher.corpora.history.views import ChangeView
from lurcher.runtime.light import cached_property
from lurcher.sources.git.parse import Hunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIX = [
    ("earlier", "<u4"), ("later", "<u4"), ("rewritten", "<u4"), ("overlap", "<u2"), ("share", "<u2"), ("confidence", "<u2"),
    ("strict", "<u2"),
]  # fmt: skip
"""One fix: two places in the order, and shares in ten thousandths."""
_WHOLE = 10_000


def order_of(past: Past) -> NDArray[np.int64]:
    """The numbers of the commits that can be mended and mend, newest first: merges do neither."""
    numbers = past.newest_first
    found: NDArray[np.int64] = numbers[(past.commit_flags[numbers] & MERGE) == 0] if len(numbers) else numbers
    return found


def marks_of(past: Past, order: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first eight bytes of each hash: no two commits of a history share them."""
    import numpy as np

    if not len(order):
        return np.zeros(0, "<u8")
    names = np.ascontiguousarray(past.column("commits", "sha")[order])
    marks: NDArray[np.uint64] = names.view("<u8").reshape(len(order), -1)[:, 0].copy()
    return marks


def unchanged(old: NDArray[np.uint64], new: NDArray[np.uint64], window: int) -> NDArray[np.int64]:
    """For each place of the new order that of the old one where the same commits stand before it; -1 where there is none."""
    import numpy as np

    places = np.full(len(new), -1, np.int64)
    if not len(old) or not len(new):
        return places
    by_mark = np.argsort(old, kind="stable")
    at = np.minimum(np.searchsorted(old[by_mark], new), len(old) - 1)
    same = old[by_mark][at] == new
    places[same] = by_mark[at][same]
    follows = np.zeros(len(new), bool)
    follows[1:] = (places[1:] > 0) & (places[1:] == places[:-1] + 1) & (places[:-1] >= 0)
    every = np.arange(len(new))
    start = np.maximum.accumulate(np.where(follows, 0, every))
    enough = (every - start >= window) | ((start == 0) & (places[0] == 0))
    places[~enough] = -1
    return places


def found_fixes(
    past: Past,
    order: NDArray[np.int64],
    settings: OutcomeSettings,
    known: tuple[NDArray[np.uint64], NDArray[Any]] | None = None,
) -> NDArray[Any]:
    """All fixes, as rows; `known` are the marks of an earlier order and the fixes among them, found by the same settings."""
    import numpy as np

    marks = marks_of(past, order)
    before, rows = known if known is not None else (np.zeros(0, "<u8"), np.zeros(0, FIX))
    places = unchanged(before, marks, settings.window)
    kept = _carried(rows, places, len(before))
    fresh: list[tuple[int, ...]] = []
    missing = places < 0
    edges = np.flatnonzero(np.diff(missing.astype(np.int8), prepend=0, append=0))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        fresh += _decided(past, order, start, end, settings)
    found = np.concatenate((kept, np.array(fresh, FIX)))
    return found[np.lexsort((found["later"], found["earlier"]))]


def _carried(rows: NDArray[Any], places: NDArray[np.int64], count: int) -> NDArray[Any]:
    """Fixes that still hold, at their new places."""
    import numpy as np

    target = np.full(count, -1, np.int64)
    here = np.flatnonzero(places >= 0)
    target[places[here]] = here
    moved = target[rows["earlier"]] if len(rows) else np.zeros(0, np.int64)
    kept: NDArray[Any] = rows[moved >= 0].copy()
    distance = kept["earlier"].astype(np.int64) - kept["later"]
    kept["earlier"] = moved[moved >= 0]
    kept["later"] = kept["earlier"] - distance
    return kept


def _decided(past: Past, order: NDArray[np.int64], start: int, end: int, settings: OutcomeSettings) -> list[tuple[int, ...]]:
    """The fixes of the commits from one place to another."""
    window = Window(settings)
    found: list[tuple[int, ...]] = []
    for place in range(max(0, start - settings.window), end):
        commit = Kept(past, int(order[place]))
        found += [
            (
                place, place - fix.distance, min(fix.rewritten, 0xFFFFFFFF), round(fix.overlap * _WHOLE),
                round(fix.share * _WHOLE), round(fix.confidence * _WHOLE), int(fix.strict),
            )
            for fix in window.feed(commit, known=place < start)
        ]  # fmt: skip
    return found


def fixes_of(rows: NDArray[Any], shas: list[str]) -> list[Fix]:
    """Rows as records; `shas` are the hashes in order."""
    columns = [rows[name].tolist() for name, _ in FIX]
    return [
        Fix(shas[earlier], shas[later], earlier - later, both / _WHOLE, lines, share / _WHOLE, bool(strict), sure / _WHOLE)
        for earlier, later, lines, both, share, sure, strict in zip(*columns, strict=True)
    ]


class Kept:
    """A commit of an index, of which only what is asked for is read."""

    def __init__(self, past: Past, number: int) -> None:
        self._past, self._number = past, number

    @property
    def sha(self) -> str:
        return self._past.sha(self._number)

    @cached_property
    def subject(self) -> str:
        return self._past.subject(self._number)

    @cached_property
    def changes(self) -> tuple[KeptChange, ...]:
        return tuple(KeptChange(self._past, view) for view in self._past.changes_of(self._number))


class KeptChange:
    """What it did to one file."""

    def __init__(self, past: Past, view: ChangeView) -> None:
        self._past, self._numbers = past, view.hunks
        self.path, self.status, self.old_path, self.binary = view.path, view.status, view.old_path, view.binary

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(Hunk(0, 0, "", *self._past.hunk_lines(number)) for number in self._numbers)
