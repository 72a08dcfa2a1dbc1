"""Score units for a plan: what every lane gets (`Request`) and returns (`LaneResult`), and how the lanes of a plan are run.

A lane is one file of this folder (or an entry point in the group `lurcher.lanes`) with `run(request) -> LaneResult`; it knows
nothing of the others. One that `search.lanes` names returns `Scored`; see `lurcher.lanes.installed`.

Answers must not depend on the numbers of units, which depend on the segments: equal scores are ordered by path, then by line.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import CorruptIndex, DeadlineExceeded, LurcherError, UsageError
from lurcher.query import Plan
from lurcher.runtime import find
from lurcher.runtime.kernel import native, np
from lurcher.runtime.process import check_cancelled
from lurcher.runtime.stdlib import Protocol
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, LaneWhy, Match, Record
from lurcher.vectors import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeGuard

    from numpy.typing import NDArray


class Request(Record):
    __slots__ = ("snapshot", "plan", "settings", "allowed", "model", "languages")

    def __init__(
        self, snapshot: Snapshot, plan: Plan, settings: Settings, allowed: NDArray[np.bool_], model: Model,
        languages: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.snapshot, self.plan, self.settings = snapshot, plan, settings
        self.allowed = allowed
        """Which files may answer: live and accepted by the filter."""
        self.model = model
        self.languages = languages
        """The languages that the query names; empty for any."""


class LaneResult(Protocol):
    """What a lane found. Each lane has a class of its own with more, for the rankings that know it."""

    def why(self, unit: int) -> LaneWhy | None:
        """Rank and score of a unit in this lane; None where the lane did not find it."""


class LocatedResult(Protocol):
    """The result of a lane that knows the exact positions of its matches."""

    def extent(self, unit: int) -> tuple[int, int] | None:
        """From which byte of the file to which a unit's matches reach; whole lines are shown."""

    def starts(self, unit: int) -> Sequence[int]:
        """The byte of the file at which each of the unit's matches begins, in order."""

    def matches(self, file: int, start: int, end: int) -> tuple[Match, ...]:
        """Every match that begins in bytes [start, end) of a file, in order."""


def is_located(found: LaneResult) -> TypeGuard[LocatedResult]:
    """Whether a lane knows the exact positions of its matches."""
    return all(hasattr(found, name) for name in ("extent", "starts", "matches"))


def lane_named(name: str) -> Callable[[Request], LaneResult]:
    found = find("lanes", name, "run")
    if found is None:
        raise UsageError(f"unknown lane '{name}'", "a lane is a file of lurcher.lanes, or an entry point in that group")
    lane: Callable[[Request], LaneResult] = found
    return lane


def run_lanes(
    names: Sequence[str], request: Request, done: Callable[[str], None]
) -> tuple[dict[str, LaneResult], tuple[Degraded, ...]]:
    """Lane name → result. A lane that fails is left out and gets a note; if all fail, the last error is raised.

    A damaged index and a deadline are not failures of a lane and are always raised: the caller can rebuild the index.
    """
    found: dict[str, LaneResult] = {}
    failed: list[Degraded] = []
    for name in names:
        check_cancelled()
        try:
            found[name] = lane_named(name)(request)
        except (CorruptIndex, DeadlineExceeded):
            raise
        except Exception as error:
            if not found and len(failed) == len(names) - 1:
                raise
            failed.append(describe_failure(name, error))
        done(name)
    return found, tuple(failed)


def describe_failure(name: str, error: Exception) -> Degraded:
    """The note about a lane that failed."""
    if isinstance(error, LurcherError):
        return Degraded(name, error.message, error.hint)
    return Degraded(name, f"the lane failed: {type(error).__name__}: {error}", "")


def order_units(snapshot: Snapshot, units: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of `units` by descending value, then path, then line: a total order."""
    files = snapshot.unit_file[units]
    return np.lexsort((units, snapshot.path_rank[files], -values))


def order_by_path(snapshot: Snapshot, numbers: NDArray[np.int64], files: NDArray[np.int64]) -> NDArray[np.int64]:
    """`numbers`, each of something in the file at the same position of `files`, by path and then by number.

    A limit may cut numbers only in this order: the numbers themselves depend on the segments.
    """
    if len(snapshot.segments) < 2:
        return numbers
    return numbers[np.lexsort((numbers, snapshot.path_rank[files]))]


def top_files(
    snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """At most `most` of `files`, those with the largest values, sorted by number; ties go to the first path."""
    return files if len(files) <= most else files[top_positions(snapshot, files, values, most)]


def top_positions(
    snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Ascending positions of the `most` largest values; ties go to the first path of a file."""
    kernel = native()
    if kernel is not None:
        found: NDArray[np.int64] = kernel.largest(values, files, snapshot.path_rank, most)
        return found
    return _top_positions(snapshot, files, values, most)


def _top_positions(
    snapshot: Snapshot, files: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    import numpy as np

    if len(files) <= most:
        return np.arange(len(files))
    border = np.partition(values, len(values) - most)[len(values) - most]
    above, equal = np.flatnonzero(values > border), np.flatnonzero(values == border)
    equal = equal[np.argsort(snapshot.path_rank[files[equal]], kind="stable")][: most - len(above)]
    return np.sort(np.concatenate((above, equal)))


class FileScores(Record):
    """The scores of units, per file."""

    __slots__ = ("best", "units", "scored")

    def __init__(self, best: NDArray[np.float64], units: NDArray[np.int64], scored: NDArray[np.int64]) -> None:
        self.best = best
        """The highest score of a unit, 0 where none has a score."""
        self.units = units
        """The first unit with that score, or -1."""
        self.scored = scored
        """How many units have a score."""


def best_units_by_file(snapshot: Snapshot, scores: NDArray[np.float64]) -> FileScores:
    """The best unit of each file; the units of a file have consecutive numbers."""
    kernel = native()
    if kernel is not None:
        return FileScores(*kernel.best_units(scores, snapshot.first_unit, snapshot.unit_counts))
    return _best_units_by_file(snapshot, scores)


def _best_units_by_file(snapshot: Snapshot, scores: NDArray[np.float64]) -> FileScores:
    import numpy as np

    best, units = np.zeros(snapshot.file_total), np.full(snapshot.file_total, -1, np.int64)
    scored = np.zeros(snapshot.file_total, np.int64)
    filled = np.flatnonzero(snapshot.unit_counts)
    if len(filled):
        best[filled] = np.maximum(np.maximum.reduceat(scores, snapshot.first_unit[filled]), 0.0)
        scored[filled] = np.add.reduceat((scores > 0).astype(np.int64), snapshot.first_unit[filled])
        top = np.flatnonzero((scores > 0) & (scores == best[snapshot.unit_file]))[::-1]
        units[snapshot.unit_file[top]] = top  # the last write stays: the first of equals
    return FileScores(best, units, scored)


def rank_of_unit(
    snapshot: Snapshot, scores: NDArray[np.float64], unit: int, counts: tuple[int, int] | None = None
) -> int:
    """The 1-based rank of a unit in the total order; 0 where it has no score.

    `counts` is what `count_above_and_equal` says of its score, for callers that rank many units.
    """
    value = scores[unit]
    if not value > 0:
        return 0
    above, equal = counts or count_above_and_equal(scores, [float(value)])[0]
    if equal > 1:
        tied = np.flatnonzero(scores == value)
        above += int(np.flatnonzero(tied[order_units(snapshot, tied, scores[tied])] == unit)[0])
    return above + 1


def count_above_and_equal(scores: NDArray[np.float64], values: Sequence[float]) -> list[tuple[int, int]]:
    """For each value the number of scores above it and of scores equal to it."""
    kernel = native()
    if kernel is None:
        return [(int(np.count_nonzero(scores > value)), int(np.count_nonzero(scores == value))) for value in values]
    found: list[tuple[int, int]] = kernel.count_above_and_equal(scores, values)
    return found
