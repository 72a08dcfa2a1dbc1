"""What every lane gets (`Request`) and returns (`LaneResult`), and how the lanes of a plan are run.

A lane is one file of this folder (or an entry point in the group `lurcher.lanes`) with `run(request) -> LaneResult`.
One that `search.lanes` names returns `Scored`; see `lurcher.lanes.installed`.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import CorruptIndex, DeadlineExceeded, LurcherError, UsageError
from lurcher.query.plan import Plan
from lurcher.registry import find
from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass
from lurcher.runtime.process import check_cancelled
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, LaneWhy, Match
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeGuard

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Request:
    snapshot: Snapshot
    plan: Plan
    settings: Settings
    allowed: NDArray[np.bool_]
    """Which files may answer: live and accepted by the filter."""
    model: Model
    languages: tuple[str, ...] = ()
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
