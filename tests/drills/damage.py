"""Damaged files: any file of an index of code, notes or history is cut, changed, lost, replaced or older than the others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from tests.drills.drill import Drill
from tests.storage.damage import Patient
from tests.storage.kinds import KEPT


class Damage(Drill):
    """The answer is right; the damage is named and repaired, by the query that meets it or by what `doctor` says."""

    name = "damage"
    short, long = 60, 3_000
    cpu_seconds = 60.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._patients = {name: Patient(kind(folder / name)) for name, kind in KEPT.items()}

    def attempt(self, chance: random.Random) -> str | None:
        name = chance.choice(sorted(self._patients))
        self.counts[name] += 1
        return self._patients[name].attempt(chance, self.counts)


DRILL = Damage
