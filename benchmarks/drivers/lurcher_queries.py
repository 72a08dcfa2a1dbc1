"""Times queries inside one process with lurcher's Python API: TREE QUERIES CHECK|NOCHECK → JSON on stdout."""

import json
import statistics
import sys
import time
from pathlib import Path

from lurcher import Engine

LIMIT = 10


def main(tree: str, queries: str, check: str) -> None:
    texts = Path(queries).read_text("utf-8").split("\n")
    texts = [text for text in texts if text.strip()]
    looks = check == "CHECK"
    with Engine.open(tree) as engine:
        for text in texts:
            engine.search(text, limit=LIMIT, check=looks)
        times, stages = [], []
        for text in texts:
            started = time.perf_counter()
            answer = engine.search(text, limit=LIMIT, check=looks)
            times.append(1000 * (time.perf_counter() - started))
            stages.append(answer.timings_ms)
            assert answer.index.fresh or not looks, "the tree changed during the measurement"
        status = engine.status()
    # A stage that a question does not go through took no time in it.
    names = dict.fromkeys(name for each in stages for name in each)
    median = {name: statistics.median(each.get(name, 0.0) for each in stages) for name in names}
    print(json.dumps({"ms": times, "files": status["files"], "chunks": status["units"], "stages": median}))


if __name__ == "__main__":
    main(*sys.argv[1:])
