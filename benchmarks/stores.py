"""What a shared store costs against the local index, and how far their answers agree.

    python benchmarks/stores.py --tree TREE --store URL [--work FOLDER] [--set KEY=VALUE …] [--keep]

Sends a tree to a store, asks the questions of queries.txt and names that the tree defines of both, and prints JSON: units sent
per second, milliseconds per question, and how many of the first ten files are the same. The project is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from lurcher import Answer, Engine

HERE = Path(__file__).parent
NAMES = 50
LIMIT = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--project", default="bench:stores")
    parser.add_argument("--work", type=Path, help="where the local index is kept (default: a temporary folder)")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the project in the store")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(given, given.work or Path(scratch)), indent=2))


def measure(given: argparse.Namespace, work: Path) -> dict[str, Any]:
    overrides = dict(pair.split("=", 1) for pair in given.set)
    places: dict[str, Any] = {"root": given.tree, "index_dir": work / given.tree.name, "overrides": overrides}
    with (
        Engine.open(given.tree, **places) as here,
        Engine.open(given.tree, **places, store=given.store, project=given.project) as shared,
    ):
        here.index()
        began = time.perf_counter()
        sent = shared.index()["sent"][0]
        sending = time.perf_counter() - began
        began = time.perf_counter()
        shared.index()
        again = time.perf_counter() - began
        questions = given.queries.read_text().splitlines() + names_in(here)
        local, through = (asked(engine, questions, given.rounds) for engine in (here, shared))
        if not given.keep:
            shared.clear()
    return {
        "tree": given.tree.name, "files": sent["files"], "units": sent["units"], "questions": len(questions),
        "sending": {
            "seconds": round(sending, 2), "units_per_second": round(sent["sent_units"] / sending), "again": round(again, 2),
        },
        "milliseconds": {"local": times(local), "store": times(through), "stages": stages(through)},
        "agreement": agreement(local, through),
    }  # fmt: skip


def names_in(engine: Engine) -> list[str]:
    """Names of types and functions from all over the tree."""
    snapshot = engine.projects[0].view(lambda *step: None).snapshot
    numbers = np.linspace(0, len(snapshot.definition_file) - 1, NAMES).astype(int)
    return [snapshot.definition(int(number)).qualified for number in np.unique(numbers)]


Timed = list[tuple[float, Answer]]


def asked(engine: Engine, questions: list[str], rounds: int) -> Timed:
    """Each question with its best time; the first round warms up."""
    found: Timed = []
    for question in questions:
        best = float("inf")
        for _ in range(rounds + 1):
            began = time.perf_counter()
            answer = engine.search(question, limit=LIMIT, sources=["code"], mode="hybrid")
            best = min(best, time.perf_counter() - began)
        found.append((1000 * best, answer))
    return found


def times(found: Timed) -> dict[str, float]:
    ordered = sorted(ms for ms, _ in found)
    return {"p50": round(statistics.median(ordered), 2), "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2)}


def stages(found: Timed) -> dict[str, float]:
    names = {name for _, answer in found for name in answer.timings_ms}
    return {
        name: round(statistics.median(answer.timings_ms.get(name, 0.0) for _, answer in found), 2) for name in sorted(names)
    }  # fmt: skip


def agreement(local: Timed, through: Timed) -> dict[str, float]:
    first, same, shares = 0, 0, []
    for (_, mine), (_, other) in zip(local, through, strict=True):
        ours, theirs = ([hit.path for hit in answer.hits] for answer in (mine, other))
        first += ours[:1] == theirs[:1]
        same += [hit.id for hit in mine.hits] == [hit.id for hit in other.hits]
        if ours:
            shares.append(len(set(ours) & set(theirs)) / len(set(ours)))
    count = len(local)
    found = {"first_hit": first / count, "all_ten": same / count, "files_of_ten": statistics.mean(shares)}
    return {name: round(share, 4) for name, share in found.items()}


if __name__ == "__main__":
    main()
