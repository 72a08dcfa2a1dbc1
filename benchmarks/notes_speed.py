"""How long notes take: an index of many from nothing, and questions in one process.

    python benchmarks/notes_speed.py --work /tmp/speed --notes 10000 obsidian=… curl=… docker=… fastapi=… --save result.json

The tree is made of the real Markdown files of repositories that lie on this machine, in the order in which they are named,
until there are enough. Indexing is timed as a user would start it, in a process of its own with an empty index folder; both
the time on the wall and that of the processors are told, since machines are rarely quiet, and of several runs the best.
Questions are those of `questions/notes.jsonl`; each is asked with a look at the tree before (`checked`, as a user gets it) and
without one (`unchecked`: what a server that watches the tree does).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from notes import COMMITS, QUESTIONS, markdown_of

from lurcher.engine import Engine


def gather(tree: Path, repositories: list[str], most: int) -> dict[str, object]:
    """Write the tree; what it is made of."""
    count = size = 0
    used = {}
    for pair in repositories:
        name, _, place = pair.partition("=")
        commit, texts = markdown_of(Path(place), COMMITS.get(name, "HEAD"))
        taken = sorted(texts)[: most - count]
        for path in taken:
            file = tree / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(texts[path].encode("utf-8"))
            size += file.stat().st_size
        count += len(taken)
        used[name] = {"commit": commit, "notes": len(taken)}
    for command in (["init", "-q"], ["add", "-A", "."]):
        subprocess.run(["git", "-C", str(tree), *command], check=True, capture_output=True)
    return {"notes": count, "megabytes": round(size / 1e6, 1), "from": used}


def index(tree: Path, folder: Path) -> tuple[float, float]:
    """Seconds on the wall, and of all processors."""
    shutil.rmtree(folder, ignore_errors=True)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "lurcher", "index", str(tree)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "LURCHER_INDEX_DIR": str(folder)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, spent


def ask(engine: Engine, questions: list[str], check: bool) -> dict[str, float]:
    spent, used = [], []
    for question in questions:
        began, busy = time.perf_counter(), time.process_time()
        engine.notes(question, limit=10, check=check)
        spent.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (time.process_time() - busy))
    return {
        "p50_ms": round(statistics.median(spent), 1), "p95_ms": round(sorted(spent)[int(0.95 * len(spent))], 1),
        "processor_p50_ms": round(statistics.median(used), 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    tree, folder = options.work / "tree", options.work / "index"
    result: dict[str, object] = {"tree": gather(tree, options.repositories, options.notes), "load": os.getloadavg()[0]}
    runs = [index(tree, folder) for _ in range(options.runs)]
    result["index"] = {
        "wall_seconds": [round(wall, 1) for wall, _ in runs], "processor_seconds": [round(spent, 1) for _, spent in runs],
        "best_wall_seconds": round(min(wall for wall, _ in runs), 1),
    }  # fmt: skip
    questions = [json.loads(line)["query"] for line in QUESTIONS.read_text("utf-8").splitlines()]
    with Engine.open(tree, root=tree, index_dir=folder) as engine:
        engine.index()
        began = time.perf_counter()
        engine.notes(questions[0])
        result["first_ms"] = round(1000 * (time.perf_counter() - began), 1)
        for name, check in (("checked", True), ("unchecked", False)):
            tries = [ask(engine, questions, check) for _ in range(options.runs)]
            result[name] = min(tries, key=lambda found: found["p50_ms"])
    print(json.dumps(result, indent=1))
    if options.save:
        options.save.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
