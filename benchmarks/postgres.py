"""Measures a store in PostgreSQL with a large project: how fast it fills, how fast it answers, and whether killing hurts it.

    python benchmarks/postgres.py --tree TREE --kill-tree SMALLER --url postgres://user@host/database

TREE should have about 200,000 units; what is measured is in a schema of its own, which is removed at the end. Without `--url`
a server is started from the package that the tests use, as it comes (128 MB of shared buffers).

`loading`: files made by the engine first, all in memory ("vectors ready"), then put and published; both parts timed.
`questions`: each question once, in one process that has asked five others before, through the engine; `store_ms` is the share
of the store's own calls. `fastest`: of each question the fastest of five times, which a busy machine disturbs less, records
being kept by the engine; `store_alone`: candidates and all their records, without the engine, the fastest of five times.
`filtered`: as `questions`, with a folder. `kills`: `lurcher index --rebuild` into the store is killed at a
random moment, again and again, and after each time the project has to be whole.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pickle
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lurcher import Engine
from lurcher.config import load
from lurcher.stores import shared
from lurcher.stores.base import Store, StoredFile, store_at

HERE = Path(__file__).resolve().parent
SCHEMA = "lurcher_benchmark"


class Timed:
    """A store whose calls are timed; files are made before they are put."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.spent: dict[str, float] = defaultdict(float)
        self.units = 0
        self.asked: dict[bytes, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name in ("writing", "listing", "close"):
            return (lambda: None) if name == "close" else call

        def timed(*arguments: Any) -> Any:
            if name == "candidates":
                self.asked.setdefault(pickle.dumps(arguments), arguments)
            begin = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self.spent[name] += time.perf_counter() - begin

        return timed

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        begin = time.perf_counter()
        ready = list(files)
        made = time.perf_counter()
        self._store.put(project, ready, born, done)
        self.spent["make"] += made - begin
        self.spent["put"] += time.perf_counter() - made
        self.units += sum(len(file.units) for file in ready)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a store in PostgreSQL.")
    parser.add_argument("--tree", type=Path, required=True, help="a tree of about 200,000 units")
    parser.add_argument("--index", type=Path, help="a folder for its local index, used again if it is there")
    parser.add_argument("--kill-tree", type=Path, help="a small tree that is rebuilt and killed")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--url", help="an empty database; without it a server is started")
    parser.add_argument("--keep", action="store_true", help="leave what was loaded, and use it if it is there")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    questions = [line for line in arguments.queries.read_text().splitlines() if line.strip()]
    url = arguments.url or started()
    os.environ["LURCHER_POSTGRES_SCHEMA"] = SCHEMA
    if not arguments.keep:
        forget(url)
    with tempfile.TemporaryDirectory() as scratch:
        index = arguments.index or Path(scratch) / "index"
        results = {"date": datetime.date.today().isoformat(), "machine": machine(), "commit": commit()}
        results |= measure(arguments.tree, index, url, questions)
        if arguments.kill_tree:
            results["kills"] = killed(arguments.kill_tree, Path(scratch) / "kills", url, arguments.kills, questions[:5])
    if not arguments.keep:
        forget(url)
    out = arguments.out or HERE / "results" / f"{results['date']}-postgres.json"
    out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


def measure(tree: Path, index: Path, url: str, questions: list[str]) -> dict[str, Any]:
    timed = Timed(store_at(url, load(None)))
    shared.store_at = lambda address, settings: timed  # type: ignore[assignment,return-value]
    with Engine.open(tree, root=tree, index_dir=index, store=url, project="large") as engine:
        begin = time.perf_counter()
        engine.index()
        whole = time.perf_counter() - begin
        spent = timed.spent.copy()
        ready = spent["put"] + spent["publish"]
        loaded = {
            "units": timed.units, "make_seconds": spent["make"], "put_seconds": spent["put"],
            "publish_seconds": spent["publish"], "sweep_seconds": spent["sweep"],
            "units_per_second": timed.units / ready if ready else 0.0, "index_command_seconds": whole,
        }  # fmt: skip
        for question in questions[-5:]:
            engine.search(question)
        first = asked(engine, timed, questions[:-5])
        again = asked(engine, timed, questions[:-5], times=5)
        alone = asked_alone(timed, times=5)
        folder = next(path.name for path in sorted(tree.iterdir()) if path.is_dir())
        filtered = asked(engine, timed, questions[:-5], path=f"{folder}/**")
    state = store_at(url, load(None)).state()
    return {
        "loading": rounded(loaded),
        "questions": first,
        "fastest": again,
        "store_alone": alone,
        "filtered": filtered,
        "state": state,
    }


def asked(engine: Engine, timed: Timed, questions: list[str], path: str = "", times: int = 1) -> dict[str, Any]:
    """Of each question the fastest time."""
    walls: list[float] = []
    stores: list[float] = []
    candidates: list[float] = []
    for question in questions:
        took = []
        for _ in range(times):
            timed.spent.clear()
            begin = time.perf_counter()
            answer = engine.search(question, paths=(path,) if path else ())
            wall = time.perf_counter() - begin
            took.append((wall, sum(timed.spent.values()), timed.spent["candidates"]))
            assert not answer.degraded, answer.degraded
        for values, kept in zip(zip(*took, strict=True), (walls, stores, candidates), strict=True):
            kept.append(1000 * min(values))
    return {"questions": len(walls), "whole_ms": spread(walls), "store_ms": spread(stores), "candidates_ms": spread(candidates)}


def asked_alone(timed: Timed, times: int) -> dict[str, Any]:
    """Candidates and their records for the questions that the engine asked, without the engine."""
    walls = []
    for arguments in list(timed.asked.values()):
        took = []
        for _ in range(times):
            begin = time.perf_counter()
            found = timed.candidates(*arguments)
            timed.records(arguments[0], [item.key for item in found])
            took.append(time.perf_counter() - begin)
        walls.append(1000 * min(took))
    return {"questions": len(walls), "whole_ms": spread(walls)}


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return rounded({"p50": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))], "max": ordered[-1]})


def killed(tree: Path, index: Path, url: str, times: int, questions: list[str]) -> dict[str, Any]:
    """Rebuild, kill, read; how often it was killed in the middle, and how often somebody saw half a project."""
    chance = random.Random(11)
    command = [
        sys.executable,
        "-m",
        "lurcher",
        "index",
        str(tree),
        "--store",
        url,
        "--project",
        "killed",
        "--set",
        f"index.dir={index}",
        "-q",
    ]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    subprocess.run([*command, "--rebuild"], check=True)
    usual = (time.perf_counter() - begin) / 2
    store = store_at(url, load(None))
    head = store.head("killed")
    assert head is not None
    wanted = sorted(item.path for item in store.listing("killed"))
    middle, generations = 0, head.generation
    for _ in range(times):
        process = subprocess.Popen([*command, "--rebuild"])
        time.sleep(chance.uniform(0.2, usual))
        middle += process.poll() is None
        process.kill()
        process.wait()
        seen = store.head("killed")
        assert seen is not None and seen.generation >= generations and seen.files == len(wanted)
        generations = seen.generation
        there = sorted(
            i.path for i in store.listing("killed") if i.born <= generations and (i.died is None or i.died > generations)
        )
        assert there == wanted, "a reader saw a part of the project"
        with Engine.open(tree, root=tree, index_dir=index, store=url, project="killed") as engine:
            assert all(engine.search(question).hits for question in questions)
    subprocess.run([*command, "--rebuild"], check=True)
    left = sorted(item.path for item in store.listing("killed"))
    after = store.head("killed")
    assert after is not None and after.generation == generations + 1 and left == wanted
    return {
        "kills": times,
        "in_the_middle": middle,
        "published_meanwhile": generations - head.generation,
        "files": len(wanted),
        "whole": True,
    }


def started() -> str:
    sys.path.insert(0, str(HERE.parent))
    from tests.stores.postgres_server import server

    return server().address()


def forget(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE".encode())


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


def machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()


if __name__ == "__main__":
    main()
