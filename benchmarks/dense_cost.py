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

QUERIES = Path(__file__).resolve().parent / "queries.txt"
OFF = {"default.dense_card": "0", "default.dense_chunk": "0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    queries = [line for line in QUERIES.read_text("utf-8").split("\n") if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder)
        with Engine.open(options.tree, index_dir=index) as with_lane:
            with_lane.index()
            with Engine.open(options.tree, index_dir=index, overrides=OFF) as without:
                sides = {"with": with_lane, "without": without}
                best = {name: [float("inf")] * len(queries) for name in sides}
                for run in range(options.runs + 1):
                    for i, query in enumerate(queries):
                        for name, engine in sides.items() if (run + i) % 2 else reversed(sides.items()):
                            begun = time.perf_counter()
                            engine.search(query, check=False)
                            if run:
                                best[name][i] = min(best[name][i], 1000 * (time.perf_counter() - begun))
    found = {name: round(statistics.median(values), 3) for name, values in best.items()}
    paired = [a - b for a, b in zip(best["with"], best["without"], strict=True)]
    print(json.dumps({"p50_ms": found, "median_difference_ms": round(statistics.median(paired), 3), "queries": len(queries)}))


if __name__ == "__main__":
    main()
