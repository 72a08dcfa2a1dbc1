"""Measures a store in PostgreSQL as it grows: projects of growing size in one schema, the last with a million units or more.

    python benchmarks/scaling.py --trees SMALL … LARGE --queries FILE [--queries FILE] --out FILE [--server FOLDER]

Each tree becomes a project. For each: units per second while its rows and the files of its index are sent, bytes, and the
times of hybrid searches: `first` when a question was never asked before, `warm` when it is asked again by the same process,
the whole question, the share of the store, and the time of processors that client and server took together, which a busy
machine disturbs less; `fastest_of_two`: asked a third time, each question by the better of the last two. `other`: questions
that read the files of the index, in a process that has read nothing (`first`) and again (`warm`). `upkeep`: every hundredth
file of the last tree gets a line, and is sent; then VACUUM ANALYZE. A server is started from the package that the tests use,
with its data flushed to disk as usual; `--server` names the data folder of one that runs already, and stays. Results are
written after each tree. `--only questions` asks about what was sent before, `--only upkeep` does the upkeep alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from postgres import commit, machine, rounded

from lurcher import Engine
from lurcher.config import load
from lurcher.stores import shared
from lurcher.stores.base import Store, store_at
from tests.stores.postgres_server import TestServer

TABLES = ("files", "records", "units", "postings", "vectors", "cells", "segments", "pages")


class Timed:
    """A store whose calls are timed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.spent: dict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name in ("writing", "listing", "close"):
            return (lambda: None) if name == "close" else call

        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self.spent[name] += time.perf_counter() - begin

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=Path, nargs="+", required=True)
    parser.add_argument("--index", type=Path, help="where local indexes are kept, used again if they are there")
    parser.add_argument("--queries", type=Path, action="append", required=True, help="one question a line")
    parser.add_argument("--shared-buffers", default="2GB")
    parser.add_argument("--server", type=Path)
    parser.add_argument("--only", choices=("load", "questions", "upkeep"))
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    questions = list(dict.fromkeys(
        line for path in given.queries for line in path.read_text().splitlines() if line.strip()
    ))  # fmt: skip
    server = RunningServer(given.server) if given.server else TestServer()
    settings = {"fsync": "on", "full_page_writes": "on", "max_wal_size": "8GB", "shared_buffers": given.shared_buffers}
    if given.server:
        settings = {name: server.run(f"SHOW {name}")[0][0] for name in settings}
    else:
        server.run(*(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()))
        server.restart()
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(), "machine": machine(), "commit": commit(), "server": settings, "projects": [],
    }  # fmt: skip
    steps = [given.only] if given.only else ["load", "questions", "upkeep"]
    with tempfile.TemporaryDirectory() as scratch:
        for number, tree in enumerate(given.trees):
            place = {
                "root": tree, "index_dir": (given.index or Path(scratch)) / tree.name, "store": server.address(),
                "project": tree.name,
            }  # fmt: skip
            if steps != ["upkeep"]:
                measured: dict[str, Any] = {"project": tree.name}
                if "load" in steps:
                    measured |= load_tree(server, tree, place)
                if "questions" in steps:
                    measured |= ask(server, tree, place, questions)
                results["projects"].append(measured)
            if number == len(given.trees) - 1 and "upkeep" in steps:
                results["upkeep"] = upkeep(server, tree, place)
            given.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


class RunningServer(TestServer):
    def __init__(self, folder: Path) -> None:
        self.folder = folder


def load_tree(server: TestServer, tree: Path, place: dict[str, Any]) -> dict[str, Any]:
    timed = timed_store(server)
    before = sizes(server)
    with Engine.open(tree, **place, fallback="none") as engine:
        engine.index(share=False)
        began = time.process_time()
        begin = time.perf_counter()
        sent = engine.index()["sent"][0]
        whole = time.perf_counter() - begin
    spent, units = timed.spent, sent["units"]
    loading = {
        "seconds": whole, "units_per_second": units / whole, "client_processor_seconds": time.process_time() - began,
        "put_seconds": spent["put"], "publish_seconds": spent["publish"], "put_pages_seconds": spent["put_pages"],
        "sweep_seconds": spent["sweep"],
    }  # fmt: skip
    grown = {name: size - before.get(name, 0) for name, size in sizes(server).items()}
    found = {
        "files": sent["files"], "units": units, "loading": rounded(loading), "bytes": grown,
        "bytes_per_unit": round(sum(grown.values()) / units),
    }  # fmt: skip
    print(tree.name, found, flush=True)
    return found


def timed_store(server: TestServer) -> Timed:
    timed = Timed(store_at(server.address(), load(None)))
    shared.store_at = lambda address, settings: timed  # type: ignore[assignment,return-value]
    return timed


def ask(server: TestServer, tree: Path, place: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    timed = timed_store(server)
    with Engine.open(tree, **place, fallback="none") as engine:
        for question in questions[:5]:
            engine.search(question, sources=["code"])
        vars(server).pop("workers", None)
        rounds = [searched(server, engine, timed, questions[5:]) for _ in range(3)]
    first, warm = (
        {"questions": len(some), **{f"{name}_ms": spread([one[name] for one in some]) for name in some[0]}}
        for some in rounds[:2]
    )  # fmt: skip
    fastest = [min(pair, key=lambda one: one["processor"]) for pair in zip(*rounds[1:], strict=True)]
    walls = [min(one["whole"], other["whole"]) for one, other in zip(*rounds[1:], strict=True)]
    best = {
        "questions": len(fastest), "whole_ms_p50": round(statistics.median(walls), 1),
        "processor_ms_p50": round(statistics.median(one["processor"] for one in fastest), 1),
        "processor_ms_max": round(max(one["processor"] for one in fastest), 1),
        "client_ms_p50": round(statistics.median(one["client"] for one in fastest), 1),
    }  # fmt: skip
    others = {}
    for name, question_of in other_questions(tree, place).items():
        with Engine.open(tree, **place) as engine:
            times = [round(took(lambda: question_of(engine)), 1) for _ in range(4)]  # noqa: B023
            others[name] = {"first_ms": times[0], "warm_ms": min(times[1:])}
    return {"load": os.getloadavg()[0], "first": first, "warm": warm, "fastest_of_two": best, "other": others}


def took(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def searched(server: TestServer, engine: Engine, timed: Timed, questions: list[str]) -> list[dict[str, float]]:
    """Milliseconds of each question: the whole, the share of the store, and processors: all, and of this process."""
    found = []
    for question in questions:
        timed.spent.clear()
        own, begun = time.process_time(), processor_time(server)
        whole = took(lambda: engine.search(question, sources=["code"], mode="hybrid"))  # noqa: B023
        processor = processor_time(server) - begun
        found.append({
            "whole": whole, "store": 1000 * sum(timed.spent.values()), "processor": 1000 * processor,
            "client": 1000 * (time.process_time() - own),
        })  # fmt: skip
    return found


def processor_time(server: TestServer) -> float:
    """Seconds that this process and its connections' processes in the server have used."""
    if not hasattr(server, "workers"):
        found = server.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'lurcher'")
        server.workers = [Path(f"/proc/{pid}/schedstat") for (pid,) in found]  # type: ignore[attr-defined]
    there = [path for path in server.workers if path.exists()]  # type: ignore[attr-defined]
    return time.process_time() + sum(int(path.read_text().split()[0]) for path in there) / 1e9


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    p99 = ordered[round(0.99 * (len(ordered) - 1))]
    return rounded({"p50": statistics.median(ordered), "p95": ordered[round(0.95 * (len(ordered) - 1))], "p99": p99})


def other_questions(tree: Path, place: dict[str, Any]) -> dict[str, Callable[[Engine], Any]]:
    """Questions about a name and a file of the tree."""
    with Engine.open(tree, root=tree, index_dir=place["index_dir"]) as engine:
        snapshot = engine.projects[0].view(lambda *step: None, check=False).snapshot
        middle = len(snapshot.definition_file) // 2
        name = next(
            found.qualified for number in range(middle, middle + 10_000)
            if len((found := snapshot.definition(number)).name) > 8 and found.kind in ("function", "method")
        )  # fmt: skip
        path = snapshot.path(int(snapshot.definition_file[middle]))
    word = name.rpartition(".")[2]
    return {
        "symbol": lambda engine: engine.symbol(name), "exists": lambda engine: engine.exists(word, exact=True),
        "outline": lambda engine: engine.outline(path), "references": lambda engine: engine.references(name),
        "impact": lambda engine: engine.impact(path), "literal": lambda engine: engine.search(word, mode="literal"),
        "notes": lambda engine: engine.notes("how to install it"),
    }  # fmt: skip


def upkeep(server: TestServer, tree: Path, place: dict[str, Any]) -> dict[str, Any]:
    before = sum(sizes(server).values())
    with Engine.open(tree, **place) as engine:
        rows = list(engine.projects[0].view(lambda *step: None, check=False).manifest.rows)[::100]
        for path in rows:
            with open(tree / path, "a", encoding="utf-8", errors="ignore") as file:
                file.write("\n")
        engine.index(share=False)
        begin = time.perf_counter()
        sent = engine.index()["sent"][0]
        seconds = time.perf_counter() - begin
    after = sum(sizes(server).values())
    begin = time.perf_counter()
    server.run("VACUUM (ANALYZE)")
    vacuum = time.perf_counter() - begin
    found = {"changed_files": sent["sent_files"], "changed_units": sent["sent_units"], "seconds": round(seconds, 1)}
    return found | {"bytes_before": before, "bytes_after": after, "bytes_vacuumed": sum(sizes(server).values()),
                    "vacuum_seconds": round(vacuum, 1)}  # fmt: skip


def sizes(server: TestServer) -> dict[str, int]:
    rows = server.run(
        "SELECT relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'lurcher' AND c.relkind = 'r'"
    )
    return {name: size for name, size in rows if name in TABLES}


if __name__ == "__main__":
    main()
