"""Chooses among files that would all do: the nearest one."""

from __future__ import annotations

from collections.abc import Sequence

from lurcher.imports.types import Target

NEAREST = 0.8
"""Confidence in the one that is nearer than all others."""
_MOST_TIES = 8
_MOST_CANDIDATES = 300
"""With more files of one name, nearness says nothing."""


def shared(first: str, second: str) -> int:
    """How many folders two paths have in common, from the root."""
    count = 0
    for one, other in zip(first.split("/")[:-1], second.split("/")[:-1], strict=False):
        if one != other:
            break
        count += 1
    return count


def nearest(path: str, candidates: Sequence[str], sure: float = 1.0) -> tuple[Target, ...]:
    """The candidate nearest to `path`; several that are equally near share the confidence.

    Near is what has most folders in common, and of those what is fewest folders away.
    """
    if len(candidates) <= 1:
        return tuple(Target(candidate, sure) for candidate in candidates)
    if len(candidates) > _MOST_CANDIDATES:
        return ()
    places = {candidate: (-shared(path, candidate), candidate.count("/")) for candidate in candidates}
    best = min(places.values())
    ties = sorted(candidate for candidate, place in places.items() if place == best)
    if len(ties) == 1:
        return (Target(ties[0], sure * NEAREST),)
    return tuple(Target(tie, sure / len(ties)) for tie in ties[:_MOST_TIES])


def split(members: Sequence[str]) -> tuple[Target, ...]:
    """All files of a package: the import means the whole, of which each file is a part."""
    share = 1.0 / len(members) if members else 1.0
    return tuple(Target(member, share) for member in members)
