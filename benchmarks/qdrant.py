"""A store in Qdrant: how fast units go in, how long a question takes, and whether killed writers do harm.

    python benchmarks/qdrant.py --units 200000 --kills 50 --work /tmp/qdrant --save result.json      # the embedded engine
    python benchmarks/qdrant.py --url qdrant://127.0.0.1:6333 --pid PID --storage FOLDER ...         # an empty server

Units are made up, vectors ready: text cut from this repository's own files, 256 numbers around 500 centres, 80 words of a
vocabulary of 50,000 with Zipf's frequencies; six units to a file, and a record of 3 kB. A question is near a unit and has eight
of its words, among them common ones, and a name; as the engine asks it: 300 units a leg, 100 files, k = 60. Its time is that of
head, candidates and records together. How much the graph misses is told against the same question with every vector compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from lurcher import config
from lurcher.stores.base import Head, Question, Sparse, Store, StoredFile, StoredUnit, store_at
from lurcher.stores.qdrant import store as qdrant_store

ROOT = Path(__file__).parents[1]
DIMS, UNITS, WORDS, CHARACTERS = 256, 6, 80, 1200
AT_ONCE = 2000
"""Files that are made before they are put, so that only the putting is timed."""


class Made:
    """Files by number; the same number is the same file."""

    def __init__(self) -> None:
        self._centres = np.random.default_rng(1).standard_normal((500, DIMS)).astype(np.float32)
        self._text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py")))

    def file(self, number: int) -> StoredFile:
        chance = np.random.default_rng([7, number])
        vectors = self._centres[chance.integers(0, 500, UNITS + 1)] + 0.8 * chance.standard_normal((UNITS + 1, DIMS))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        units = []
        for place in range(UNITS):
            numbers = np.unique(chance.zipf(1.2, WORDS) % 50_000).astype(np.uint32)
            start = int(chance.integers(0, len(self._text) - CHARACTERS))
            words = Sparse(numbers, chance.uniform(0.3, 2.2, len(numbers)).astype(np.float32))
            text = self._text[start : start + CHARACTERS]
            lines = 40 * place + 1, 40 * place + 40
            units.append(StoredUnit(*lines, f"f{place}", "function", text, f"{number}-{place}", vectors[place], words))
        path, key = f"src/part{number % 97}/file{number}.py", str(uuid5(NAMESPACE_URL, str(number)))
        names = tuple(f"name{number}_{i}" for i in range(8))
        return StoredFile(key, path, "python", key, names, vectors[-1], tuple(units), chance.bytes(3000))

    def question(self, number: int) -> Question:
        chance = np.random.default_rng([8, number])
        file = self.file(number)
        unit = file.units[int(chance.integers(0, UNITS))]
        near = unit.dense + 0.3 * chance.standard_normal(DIMS) / np.sqrt(DIMS) * np.linalg.norm(unit.dense) * 4  # type: ignore[operator]
        chosen = np.sort(chance.choice(len(unit.sparse.numbers), min(8, len(unit.sparse.numbers)), replace=False))
        rarity = np.log1p(unit.sparse.numbers[chosen].astype(np.float32))
        dense = (near / np.linalg.norm(near)).astype(np.float32)
        words = Sparse(unit.sparse.numbers[chosen], rarity + 0.1)
        return Question(dense, words, (f"name{number}_0",), depth=300, limit=100, rrf=60.0)


def opened(url: str) -> Store:
    return store_at(url, config.Settings())


def filled(store: Store, made: Made, files: int) -> dict[str, float]:
    """Seconds for putting, publishing and tidying; making the files is not counted."""
    put = spent = 0.0
    with store.writing("p", 5):
        for start in range(0, files, AT_ONCE):
            some = [made.file(number) for number in range(start, min(start + AT_ONCE, files))]
            before, began = time.process_time(), time.perf_counter()
            store.put("p", some, 1, lambda count: None)
            put += time.perf_counter() - began
            spent += time.process_time() - before
        began = time.perf_counter()
        store.publish("p", Head(1, "print", "2026-11-16T00:00:00Z", "", files, files * UNITS, DIMS))
        publish = time.perf_counter() - began
        began = time.perf_counter()
        store.sweep("p", 1)
        tidy = time.perf_counter() - began
    units = files * UNITS
    return {
        "units": units, "put_seconds": round(put, 1), "units_per_second": round(units / put),
        "put_processor_seconds": round(spent, 1), "units_per_processor_second": round(units / spent),
        "publish_seconds": round(publish, 2), "graphs_seconds": round(tidy, 1),
        "units_per_second_with_graphs": round(units / (put + publish + tidy)),
    }  # fmt: skip


def asked(store: Store, made: Made, files: int, questions: int) -> tuple[dict[str, Any], list[set[str]]]:
    """Times on the wall, and of the processors, which others who use the machine do not lengthen as much."""
    candidates, records, whole, spent, found = [], [], [], [], []
    for number in range(questions):
        question = made.question(number * 7919 % files)
        before, began = time.process_time(), time.perf_counter()
        head = store.head("p")
        assert head is not None
        first = time.perf_counter()
        several = store.candidates("p", head.generation, question)
        second = time.perf_counter()
        got = store.records("p", [one.key for one in several])
        third = time.perf_counter()
        spent.append(1000 * (time.process_time() - before))
        assert len(got) == len(several)
        candidates.append(1000 * (second - first))
        records.append(1000 * (third - second))
        whole.append(1000 * (third - began))
        found.append({one.key for one in several})
    told: dict[str, Any] = {
        name: {
            "p50_ms": round(statistics.median(times), 2), "p95_ms": round(sorted(times)[int(0.95 * len(times))], 2),
            "p99_ms": round(sorted(times)[int(0.99 * len(times))], 2), "best_ms": round(min(times), 2),
        }
        for name, times in (("candidates", candidates), ("records", records), ("whole", whole), ("processors", spent))
    }  # fmt: skip
    told["load"] = round(os.getloadavg()[0], 1)
    return told, found


def kills(times: int, files: int, work: Path, url: str) -> dict[str, int]:
    from tests.stores.qdrant_killed_writer import killed

    if url:
        return killed(url, files, times)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.stores.qdrant_server", str(work / "killed")]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    try:
        return killed(server.stdout.readline().strip(), files, times)
    finally:
        server.stdin.close()
        server.wait(30)


def on_server(told: argparse.Namespace, made: Made, files: int) -> dict[str, Any]:
    """The same of a server: questions asked for the first time, and again. Its memory and disk, where they can be seen here."""
    store = opened(told.url)
    result: dict[str, Any] = {}
    if not told.keep:
        result["in"] = filled(store, made, files)
        print(json.dumps(result["in"]), flush=True)
        result["graphs_seconds_of_the_server"] = round(settled(store), 1)
    result["state"] = store.state()
    result["state"].pop("url")
    result["first asked"], found = asked(store, made, files, told.questions)
    result["asked again"], _ = asked(store, made, files, told.questions)
    qdrant_store.PARAMS["exact"] = True
    result["exact"], exact = asked(store, made, files, told.questions // 4)
    qdrant_store.PARAMS.clear()
    shared = [len(one & other) / len(other) for one, other in zip(found, exact, strict=False)]
    result["candidates that exact search has too"] = round(statistics.mean(shared), 4)
    store.close()
    if told.storage:
        result["disk_bytes_per_unit"] = round(used(told.storage) / (files * UNITS))
    if told.pid:
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{told.pid}/status").read_text().splitlines())
        result["server_memory_mb"] = {name: int(lines[name].split()[0]) // 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}
    return result


def settled(store: Store) -> float:
    """Seconds until the server has nothing more to build."""
    began = time.perf_counter()
    while any(value.startswith(("yellow", "grey")) for value in store.state().values()):
        time.sleep(1)
    return time.perf_counter() - began


def used(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--units", type=int, default=200_000)
    arguments.add_argument("--questions", type=int, default=200)
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--work", type=Path)
    arguments.add_argument("--url", default="", help="an empty server to use, in place of the embedded engine")
    arguments.add_argument("--pid", type=int, help="its process, where it runs here")
    arguments.add_argument("--storage", type=Path, help="its folder, where it can be read here")
    arguments.add_argument("--keep", action="store_true", help="ask about what an earlier run left in the folder")
    arguments.add_argument("--save", type=Path)
    told = arguments.parse_args()
    sys.path[0] = str(ROOT)  # in this folder there is a file called http.py
    if not told.url and told.work is None:
        arguments.error("--work or --url is needed")
    if told.work is not None and not told.keep:
        shutil.rmtree(told.work, ignore_errors=True)
    made, files = Made(), told.units // UNITS
    result: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "load before": round(os.getloadavg()[0], 1)},
        "settings": {"dims": DIMS, "depth": 300, "limit": 100, "rrf": 60},
    }
    if told.url:
        result |= on_server(told, made, files) if files else {}
    elif files:
        url = f"qdrant+edge://{(told.work / 'store').resolve()}"
        if not told.keep:
            store = opened(url)
            result["in"] = filled(store, made, files)
            print(json.dumps(result["in"]), flush=True)
            store.close()
        began = time.perf_counter()
        store = opened(url)
        assert store.head("p") is not None
        result["open_ms"] = round(1000 * (time.perf_counter() - began), 1)
        asked(store, made, files, 10)
        result["as it comes"], found = asked(store, made, files, told.questions)
        store.close()
        store = opened(url)
        store._points.exclusive = False  # type: ignore[attr-defined]  # as a server does it
        asked(store, made, files, 10)
        result["fused by the engine"], _ = asked(store, made, files, told.questions)
        store.close()
        store = opened(url)
        qdrant_store.PARAMS["exact"] = True
        result["exact"], exact = asked(store, made, files, told.questions // 4)
        qdrant_store.PARAMS.clear()
        shared = [len(one & other) / len(other) for one, other in zip(found, exact, strict=False)]
        result["candidates that exact search has too"] = round(statistics.mean(shared), 4)
        result["state"] = store.state()
        result["state"].pop("url")
        store.close()
        result["disk_bytes_per_unit"] = round(used(told.work / "store") / (files * UNITS))
        result["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps(result), flush=True)
    if told.kills:
        result["killed"] = kills(told.kills, 40, told.work, told.url)
    text = json.dumps(result, indent=1)
    print(text)
    if told.save:
        told.save.write_text(text + "\n")


if __name__ == "__main__":
    main()
