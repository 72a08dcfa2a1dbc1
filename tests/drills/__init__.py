"""Drills: the product under kills, full disks, hostile input and dead services, many times over, from a seed.

    python -m tests.drills                       the short form of all, as the tests run it
    python -m tests.drills --long --jobs 2       the long form of all
    python -m tests.drills kills --tries 200 --seed 7 --minutes 5
    python -m tests.drills kills --seed 7 --only 133      exactly that try once more

docs/reliability.md says what each of them does.
"""

from __future__ import annotations

from importlib import import_module

from tests.drills.drill import Drill

NAMES = (
    "kills", "disk", "damage", "clock", "names", "git", "settings", "forged", "sources", "services", "http", "queries",
    "sync",
)  # fmt: skip


def drill_named(name: str) -> type[Drill]:
    """Each is the class that its file ends with."""
    kind: type[Drill] = import_module(f"tests.drills.{name}").DRILL
    return kind
