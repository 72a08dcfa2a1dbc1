"""Two machines that keep one store current and are killed again and again: `python -m tests.server.two_machines 100 20`.

A machine is a process of `lurcher sync` with a folder of its own. The result says whether every project is whole, and how
often each was published.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lurcher import Engine
from lurcher.config import Settings
from lurcher.stores.base import store_at
from tests.conftest import environment, git


def make_repositories(folder: Path, count: int) -> dict[str, Path]:
    """Small repositories, each with a word of its own."""
    found = {}
    for number in range(count):
        place = folder / f"r{number:03}"
        (place / "src").mkdir(parents=True)
        for part in range(1 + number % 5):
            text = (
                f'def handle_{part}_zebra{number:03}(value):\n    """Handles zebra{number:03}."""\n    return value + {part}\n'
            )
            (place / "src" / f"part{part}.py").write_text(text * 3)
        (place / "README.md").write_text(f"# r{number:03}\n\nAbout zebra{number:03}.\n")
        git(place, "init", "-q")
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"Begin zebra{number:03}")
        found[f"acme/r{number:03}"] = place
    return found


class Machine:
    def __init__(self, folder: Path, repos: Path, url: str) -> None:
        self._folder, self._repos, self._url = folder, repos, url
        self.reports: list[dict[str, Any]] = []
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "lurcher",
            "sync",
            "--repos",
            str(self._repos),
            "--folder",
            str(self._folder),
            "--json",
        ]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        env = environment(LURCHER_STORE=self._url)
        self.process = subprocess.Popen(command, env=env, stdout=self._output, stderr=subprocess.DEVNULL)

    def kill(self) -> bool:
        """Whether it was still at work."""
        assert self.process is not None
        if self.process.poll() is not None:
            return False
        self.process.kill()
        self.process.wait(60)
        return True

    def finish(self) -> int:
        assert self.process is not None
        status = self.process.wait(600)
        self._output.seek(0)
        self.reports.append(json.loads(self._output.read()))
        return status


def run_machines(url: str, work: Path, repos: Path, kills: int, seed: int = 1) -> dict[str, Any]:
    chance = random.Random(seed)
    machines = [Machine(work / f"machine{number}", repos, url) for number in (1, 2)]
    began, killed = time.monotonic(), 0
    for machine in machines:
        machine.start()
    while killed < kills and time.monotonic() - began < 900:
        time.sleep(chance.uniform(0.6, 2.2))
        victim = chance.choice(machines)
        killed += victim.kill()
        victim.start()  # one that was done by itself looks once more, too
    statuses = [machine.finish() for machine in machines]
    reports = [report for machine in machines for report in machine.reports]
    return {
        "kills": killed, "exit_statuses": statuses, "seconds": round(time.monotonic() - began, 1),
        "last_counts": [report["counts"] for report in reports],
        "failed": [entry for report in reports for entry in report["repositories"] if entry["problem"]],
    }  # fmt: skip


def examine(url: str, origins: dict[str, Path], empty: Path) -> dict[str, Any]:
    """Which projects are whole, and how often each was published."""
    store = store_at(url, Settings())
    broken, generations = [], Counter[int]()
    empty.mkdir(exist_ok=True)
    listed = store.projects()
    for project, origin in origins.items():
        head = store.head(project)
        if head is None:
            broken.append(f"{project}: not in the store")
            continue
        generations[head.generation] += 1
        word = f"zebra{project[-3:]}"
        files = len(git(origin, "ls-files").splitlines())
        seen = [item for item in store.listing(project) if item.born <= head.generation and item.died is None]
        left = sum(1 for item in store.listing(project)) - len(seen)
        with Engine.open(empty, root=empty, store=url, project=project) as engine:
            hits = engine.search(f"handle 0 {word}").hits
            there = engine.exists(f"handle_0_{word}").exists
        facts = {
            "commit": head.commit == git(origin, "rev-parse", "HEAD").strip(), "files": head.files == files == len(seen),
            "nothing left over": left == 0, "search": bool(hits) and hits[0].path == "src/part0.py", "symbol": there,
        }  # fmt: skip
        broken += [f"{project}: {fact}" for fact, right in facts.items() if not right]
    store.close()
    return {"projects": len(listed), "broken": broken, "publications": dict(sorted(generations.items()))}


def main(count: int, kills: int) -> dict[str, Any]:
    from tests.stores.postgres_server import postgres

    work = Path(tempfile.mkdtemp(prefix="lurcher-machines-"))
    try:
        with postgres(work / "pg") as url:
            origins = make_repositories(work / "origins", count)
            repos = work / "repos.txt"
            repos.write_text("".join(f"{place} name={project}\n" for project, place in origins.items()))
            first = {**run_machines(url, work, repos, kills), **examine(url, origins, work / "empty")}
            for place in list(origins.values())[: count // 10]:
                (place / "src" / "part0.py").write_text((place / "src" / "part0.py").read_text() + "\nLATER = 1\n")
                git(place, "commit", "-qam", "Change")
            again = {**run_machines(url, work, repos, 0), **examine(url, origins, work / "empty")}
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {"repositories": count, "cpus": os.cpu_count(), "first": first, "after_changing_a_tenth": again}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2])), indent=1))
