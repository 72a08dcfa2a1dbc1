"""Fills the history index of one repository in a fresh process and prints what came of it, as JSON.

    python benchmarks/drivers/history_fill.py REPOSITORY INDEX [--seconds S] [--most N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from lurcher import config
from lurcher.corpora.history.index import FOLDER, HistoryIndex
from lurcher.indexing.root_index import select_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--most", type=int, default=0)
    options = parser.parse_args()
    settings = config.load(None, {"history.max_commits": options.most})
    model = select_model(settings, options.repository)
    project = HistoryIndex(options.repository, settings, options.index / FOLDER, model, "benchmark")
    begun = time.perf_counter()
    view = project.view(lambda what, done, total: None, seconds=options.seconds)
    filled = time.perf_counter() - begun
    again = []
    for _ in range(9):
        begun = time.perf_counter()
        project.view(lambda what, done, total: None, refresh=False)
        again.append(1000 * (time.perf_counter() - begun))
    history = view.history
    print(json.dumps({
        "seconds": round(filled, 3), "commits": history.commit_count, "total": history.total, "hunks": history.hunk_total,
        "segments": len(history.segments), "megabytes": round(sum(part.container.size for part in history.segments) / 1e6, 1),
        "look_ms": round(statistics.median(again), 3),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
