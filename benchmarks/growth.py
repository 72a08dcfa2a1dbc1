"""How cost grows with the tree: samples of one large source tree, from a megabyte to all of it, indexed and searched.

    python benchmarks/growth.py TREE [--sizes 1 10 100 1000] [--runs 3] [--plot docs/images/growth.svg]

A sample is files in the order of their paths' hashes until it has its size, so each is like the whole; it becomes a git work
tree. Measured are a cold index (fresh process: wall time, processor time, memory of all its processes), what is kept on disk,
a warm query as a command, and queries in one process with a look at the tree and without. An exponent is the slope between
two sizes on logarithmic scales: 1 is in proportion.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

from growth_plot import drawn
from processes import run
from sides import HERE, Lurcher, kept_bytes

LARGEST = 1_000_000
"""Bytes of a file that lurcher takes; larger ones are not sampled."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 10, 100, 1000], help="in millions of bytes")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--runs", type=int, default=3, help="of each command, the best of which counts")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    found: list[dict[str, Any]] = []
    files = sorted(_files(options.tree), key=lambda item: hashlib.blake2b(item[0].encode("utf-8", "replace")).digest())
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="growth-") as scratch:
            base = Path(scratch).resolve()
            _sample(options.tree, files, int(size * 1e6), base / "tree")
            found.append(_measured(base, options.queries, options.runs))
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    result = {"about": _about(), "sizes": found, "exponents": exponents(found)}
    text = json.dumps(result, indent=1) + "\n"
    out = options.out or HERE / "results" / f"{datetime.date.today().isoformat()}-growth.json"
    out.write_text(text, "utf-8")
    if options.plot:
        options.plot.write_text(drawn(found), "utf-8")
    print(text)
    return 0


def _files(tree: Path) -> Iterator[tuple[str, int]]:
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink() and 0 < (size := path.stat().st_size) <= LARGEST:
                yield str(path.relative_to(tree)), size


def _sample(tree: Path, files: Sequence[tuple[str, int]], size: int, target: Path) -> None:
    left = size
    for path, length in files:
        if left <= 0:
            break
        left -= length
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / path, target / path)
    for command in (["init", "-q"], ["-c", "core.autocrlf=false", "add", "-fA"]):
        subprocess.run(["git", "-C", str(target), *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _measured(base: Path, queries: Path, runs: int) -> dict[str, Any]:
    tree, side = base / "tree", Lurcher(base / "index")
    program = [sys.executable, "-m", "lurcher"]
    cold = run([*program, "index", "-q", str(tree)], side.environment(), sample=True, seconds=3600)
    status = json.loads(run([*program, "status", str(tree), "--json"], side.environment()).output)
    query = next(line for line in queries.read_text("utf-8").split("\n") if line.strip())
    commands = [side.search(query, tree) for _ in range(max(2, runs))]
    looking, resting = ([_times(side, tree, queries, check) for _ in range(runs)] for check in ("CHECK", "NOCHECK"))
    return {
        "bytes": sum(size for _, size in _files(tree)), "files": status["files"], "units": status["units"],
        "index_wall_s": round(cold.wall, 2), "index_cpu_s": round(cold.cpu, 2),
        "index_memory_mb": round(cold.tree_rss / 1e6, 1), "kept_mb": round(kept_bytes(side) / 1e6, 2),
        "command_ms": round(1000 * min(cost.wall for cost in commands), 1),
        "command_cpu_ms": round(1000 * min(cost.cpu for cost in commands), 1),
        "command_memory_mb": round(min(cost.largest_rss for cost in commands) / 1e6, 1),
        "query_p50_ms": _percentile(resting, 0.5), "query_p99_ms": _percentile(resting, 0.99),
        "looking_p50_ms": _percentile(looking, 0.5),
    }  # fmt: skip


def _times(side: Lurcher, tree: Path, queries: Path, check: str) -> list[float]:
    times: Any = side.in_process(tree, queries, check)["ms"]
    return list(times)


def _percentile(runs: Sequence[list[float]], share: float) -> float:
    """Over the queries, each with its best run."""
    best = sorted(min(times) for times in zip(*runs, strict=True))
    return round(best[min(len(best) - 1, int(share * len(best)))], 2)


def exponents(found: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """For each figure the slope from each size to the next, on logarithmic scales over bytes."""
    names = [name for name in found[0] if name not in ("bytes",)] if found else []
    return {
        name: [
            round(log(max(after[name], 1e-9) / max(before[name], 1e-9)) / log(after["bytes"] / before["bytes"]), 2)
            for before, after in pairwise(found)
        ]
        for name in names
    }


def _about() -> dict[str, Any]:
    import lurcher

    return {
        "date": datetime.date.today().isoformat(), "lurcher": lurcher.__version__, "python": platform.python_version(),
        "machine": platform.machine(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
