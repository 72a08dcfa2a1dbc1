"""What every lane is asked and what it answers with, and how the lanes of a plan are run.

A lane is one file of this folder (or an entry point in the group `lurcher.lanes`) with `run(request) -> Found`. One that
`search.lanes` names has `scores` in what it finds; see `lurcher.lanes.installed`.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.errors import CorruptIndex, DeadlineExceeded, LurcherError, UsageError
from lurcher.query.plan import Plan
from lurcher.registry import find
from lurcher.runtime.cancel import check_cancelled
from lurcher.runtime.light import TYPE_CHECKING, Protocol, dataclass
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
    """Which files may answer: live, and passed by the filter."""
    model: Model
    languages: tuple[str, ...] = ()
    """The languages that were asked for; none if any will do."""


class Found(Protocol):
    """What a lane found; each has more to offer to the rankings that know it."""

    def why(self, unit: int) -> LaneWhy | None:
        """The lane's place for a unit; None where it has nothing to say about it."""


class Located(Protocol):
    """A lane that knows where exactly in a unit its matches are."""

    def extent(self, unit: int) -> tuple[int, int] | None:
        """The bytes of the file that show a unit's matches, from the first on; what is shown are the whole lines."""

    def starts(self, unit: int) -> Sequence[int]:
        """The byte of the file at which each of the unit's matches begins, in order."""

    def matches(self, file: int, start: int, end: int) -> tuple[Match, ...]:
        """Every match that begins in bytes [start, end) of a file, in order."""


def located(found: Found) -> TypeGuard[Located]:
    """Whether a lane knows where exactly its matches are."""
    return all(hasattr(found, name) for name in ("extent", "starts", "matches"))


def lane_named(name: str) -> Callable[[Request], Found]:
    found = find("lanes", name, "run")
    if found is None:
        raise UsageError(f"unknown lane '{name}'", "a lane is a file of lurcher.lanes, or an entry point in that group")
    lane: Callable[[Request], Found] = found
    return lane


def run_lanes(
    names: Sequence[str], request: Request, done: Callable[[str], None]
) -> tuple[dict[str, Found], tuple[Degraded, ...]]:
    """What each lane found, by its name. One that fails is left out and told of; the last one standing may not fail.

    A damaged index is not a lane's failure: whoever asked can make it anew. Nor is a deadline.
    """
    found: dict[str, Found] = {}
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
            failed.append(failure(name, error))
        done(name)
    return found, tuple(failed)


def failure(name: str, error: Exception) -> Degraded:
    """What is told of a lane that failed."""
    if isinstance(error, LurcherError):
        return Degraded(name, error.message, error.hint)
    return Degraded(name, f"the lane failed: {type(error).__name__}: {error}", "")
