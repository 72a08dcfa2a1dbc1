"""What the dense lane adds to a query in an open engine: each question with and without it, in turns, best of several.

    python benchmarks/dense_cost.py TREE [--runs 7]

The tree is not looked at between questions (`check=False`), so that only answering is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from lurcher import Engine
from lurcher.config import Settings
from lurcher.query import Plan
from lurcher.ranking import default

QUERIES = Path(__file__).resolve().parent / "queries.txt"


def _without_dense(plan: Plan, settings: Settings) -> tuple[str, ...]:
    return tuple(lane for lane in plan.lanes if lane != "dense")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    queries = [line for line in QUERIES.read_text("utf-8").split("\n") if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder)
        with Engine.open(options.tree, index_dir=index) as engine:
            engine.index()
            lanes = {"with": default.lanes, "without": _without_dense}
            best = {name: [float("inf")] * len(queries) for name in lanes}
            for run in range(options.runs + 1):
                for i, query in enumerate(queries):
                    for name in list(lanes) if (run + i) % 2 else reversed(list(lanes)):
                        default.lanes = lanes[name]
                        begun = time.perf_counter()
                        engine.search(query, check=False)
                        if run:
                            best[name][i] = min(best[name][i], 1000 * (time.perf_counter() - begun))
    found = {name: round(statistics.median(values), 3) for name, values in best.items()}
    paired = [a - b for a, b in zip(best["with"], best["without"], strict=True)]
    print(json.dumps({"p50_ms": found, "median_difference_ms": round(statistics.median(paired), 3), "queries": len(queries)}))


if __name__ == "__main__":
    main()
