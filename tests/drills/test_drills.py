"""The short form of every drill, and that a drill can fail. DRILL_SEED chooses another course of events."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import drills
from tests.drills.drill import REPOSITORY, Drill, run
from tests.drills.git import Git

SEED = int(os.environ.get("DRILL_SEED", "20261117"))


@pytest.mark.parametrize("name", drills.NAMES)
def test_a_short_drill_finds_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = drills.drill_named(name)
    if (reason := kind.missing()) is not None:
        pytest.skip(reason)
    tally = run(kind, kind.short, SEED)
    with capsys.disabled():
        print(f"\n{tally.line()}")
    assert not tally.failures, tally.told()
    assert tally.tries == kind.short


class Faulty(Drill):
    """What goes wrong is in the script below."""

    name = "faulty"
    short = long = 9
    cpu_seconds = 1.0
    wall_seconds = 20.0
    memory = 300 << 20

    def attempt(self, chance: random.Random) -> str | None:
        raise NotImplementedError("the child has one of its own")


FAULTS = """
import os, random, sys, time
from tests import drills
from tests.drills import drill
from tests.drills.drill import Drill

class Faulty(Drill):
    name = "faulty"
    short = long = 7
    cpu_seconds = 1.0
    wall_seconds = 20.0
    memory = 300 << 20
    number = int(sys.argv[3]) - 1

    def attempt(self, chance):
        Faulty.number += 1
        number = Faulty.number
        if number == 1:
            return "wrong"
        if number == 2:
            raise KeyError("missing")
        if number == 3:
            while True:
                pass
        if number == 4:
            bytearray(1 << 30)
        if number == 5:
            os.abort()
        if number == 6:
            time.sleep(600)
        return None

drills.drill_named = lambda name: Faulty
drill._child(*sys.argv[1:])
"""


def test_every_kind_of_failure_is_named_and_the_rest_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "faulty.py"
    script.write_text(FAULTS)
    real = subprocess.Popen

    def popen(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        options["env"] = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return real([sys.executable, str(script), *command[3:]], **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr("tests.drills.drill.subprocess.Popen", popen)
    told: list[str] = []
    tally = run(Faulty, 8, 5, tell=told.append)
    assert tally.tries == 8
    found = dict(tally.failures)
    assert sorted(found) == [1, 2, 3, 4, 5, 6]
    assert found[1] == "wrong" and "KeyError" in found[2] and "processor time" in found[3] and "MemoryError" in found[4]
    assert "SIGABRT" in found[5] and "nothing happened for 20 seconds" in found[6]
    assert len(told) == 6
    assert tally.line().startswith("faulty: 8 tries, 6 failures, seed 5")
    assert "python -m tests.drills faulty --seed 5 --only 3" in tally.told()


def test_a_drill_stops_in_time() -> None:
    kind = drills.drill_named("sources")
    for seconds in (2, 20, 200):  # on a busy machine the first try may begin too late
        tally = run(kind, 10**6, 1, minutes=seconds / 60)
        if tally.tries:
            break
    assert 0 < tally.tries < 10**6 and not tally.failures
    assert "out of time" in tally.line()


def test_a_program_that_git_runs_would_be_noticed(tmp_path: Path) -> None:
    drill = Git(tmp_path, [])
    shop = tmp_path / "shop"
    shutil.copytree(tmp_path / "pristine", shop)
    drill.spoil(shop, random.Random(1))
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for command in (["git", "status"], ["git", "diff"], ["git", "log", "-p"]):
        subprocess.run(command, cwd=shop, env=environment, capture_output=True, timeout=60, check=False)
    assert drill.mark.exists()

