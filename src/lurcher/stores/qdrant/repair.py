"""Brings files and their units to agree again, after a writer that stopped between the one and the other.

What a file's point says is true: it is written after its units. Units without a file are removed; units that were not yet, or
already, told of a birth or a death get what their file has. Without this they would come to light with the next head.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lurcher.stores.qdrant.layout import NEVER, above, among, at_most, both, either, file_number, identity, of
from lurcher.stores.qdrant.points import Json, Points, understood

MOST_KEYS = 500
"""Of files that one condition names."""


def mend(points: Points, units: str, files: str, project: str, generation: int) -> None:
    """As the one writer; `generation` is what readers see."""
    changed = either(above("born", generation), both(above("died", generation), at_most("died", NEVER - 1)))
    told = {_key(points, one): _life(points, one) for one in points.scroll(units, of(project, changed), _FIELDS)}
    lives: dict[str, tuple[int, int]] = {}
    for one in points.scroll(files, of(project, changed), _FIELDS):
        lives[_key(points, one)] = _life(points, one)
    for some in chunks([key for key in told if key not in lives]):
        found = points.get(files, [identity(file_number(project, key)) for key in some], _FIELDS)
        lives.update({_key(points, one): _life(points, one) for one in found.values()})
    for some in chunks([key for key in told if key not in lives]):
        points.delete(units, of(project, among("key", some)))
    same: dict[tuple[int, int], list[str]] = defaultdict(list)
    for key, life in lives.items():
        same[life].append(key)
    for (born, died), keys in sorted(same.items()):
        other = {"must_not": [both(*_exactly("born", born), *_exactly("died", died))]}
        for some in chunks(keys):
            points.change(units, {"born": born, "died": died}, of(project, among("key", some), other))


def chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), MOST_KEYS):
        yield keys[start : start + MOST_KEYS]


_FIELDS = ("key", "born", "died")


def _exactly(key: str, number: int) -> list[Json]:
    return [at_most(key, number), above(key, number - 1)]


def _key(points: Points, found: Json) -> str:
    with understood(points.url, "what there is"):
        return str(found["key"])


def _life(points: Points, found: Json) -> tuple[int, int]:
    with understood(points.url, "what there is"):
        return int(found["born"]), int(found["died"])
