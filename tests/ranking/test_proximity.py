"""Files near the best ones in the import graph are lifted a little; hubs lift nobody."""

from __future__ import annotations

import pytest

from lurcher.ranking.classic import MAX_NEIGHBOURS, PROXIMITY_WEIGHT, apply_proximity, find_neighbours
from lurcher.types import StageWhy
from tests.small import context_of, snapshot_of

FILES = {
    "app/router.py": "from app import table\n\n\ndef route(path):\n    return table.find(path)\n",
    "app/table.py": "from app import rows\n\n\ndef find(path):\n    return rows.of(path)\n",
    "app/rows.py": "def of(path):\n    return path\n",
    "app/__init__.py": "",
    "app/other.py": "def find(path):\n    return path\n",
}


def test_nearness_decays_with_each_hop_and_goes_both_ways() -> None:
    snapshot = snapshot_of(FILES)
    files = snapshot.live_paths
    found = find_neighbours(snapshot, {files["app/router.py"]: 1.0})
    assert (found[files["app/table.py"]].share, found[files["app/table.py"]].hop) == (1.0, 1)
    assert (found[files["app/rows.py"]].share, found[files["app/rows.py"]].hop) == (0.5, 2)
    assert files["app/other.py"] not in found and files["app/router.py"] not in found
    back = find_neighbours(snapshot, {files["app/rows.py"]: 0.8})
    assert back[files["app/table.py"]].share == pytest.approx(0.8)
    assert back[files["app/router.py"]].share == pytest.approx(0.4)


def test_to_be_near_a_hub_says_nothing() -> None:
    users = {f"app/user_{i}.py": "from app import rows\n" for i in range(MAX_NEIGHBOURS + 1)}
    snapshot = snapshot_of({**FILES, **users})
    found = find_neighbours(snapshot, {snapshot.live_paths["app/rows.py"]: 1.0})
    assert not any(snapshot.path(file).startswith("app/user_") for file in found)


def test_the_stage_adds_its_share_of_the_best_score_and_says_why() -> None:
    context = context_of(FILES, "find path")
    unit = {context.snapshot.path(int(file)): number for number, file in enumerate(context.snapshot.unit_file.tolist())}
    scores = {unit["app/router.py"]: 2.0, unit["app/table.py"]: 1.0, unit["app/other.py"]: 1.0}
    log: dict[int, list[StageWhy]] = {}
    apply_proximity(context, scores, log)
    assert scores[unit["app/table.py"]] == pytest.approx(1.0 + 2.0 * PROXIMITY_WEIGHT)
    assert scores[unit["app/other.py"]] == 1.0
    assert log[unit["app/table.py"]][0].note == "1 import away from app/router.py"
