"""How cost grows with the tree: samples of large source trees, from a megabyte to all of them, indexed and searched.

    python benchmarks/growth.py TREE… [--sizes 1 10 100 1000] [--also NAME=TREE …] [--plot docs/images/growth.svg]

A sample is files in the order of their paths' hashes until it has its size: always the same, like the whole, and part of the
next larger one; several trees are put side by side first. It becomes a git work tree. Measured are, in fresh processes:

- a cold index (wall and processor time, memory of all its processes) and what it keeps on disk;
- the first answer when there is no index, as one command;
- a warm query as a command (the median of ten questions, each with its best run);
- queries in one process, with a look at the tree each time and without (p50 and p99 of all questions, each with its best run);
- a command right after one file has changed, whose answer must show the change.

An exponent is the slope on logarithmic scales, fitted over all sizes and from each to the next: 1 is in proportion, and what
exceeds 1.05 is marked. A size that the result file has already for the same commit is not measured again, and each is saved
when it is done, so that a run that was stopped goes on where it was. Sizes that would not be done in time are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import exponents
from about import HERE, RESULTS, about, commit, load, today
from growth_plot import drawn
from measures import percentile, say
from processes import CommandFailed, Cost, run
from sides import Lurcher, beside, forget, kept_bytes
from trees import change, copy, files_to_change

from tables import aligned, exponent_rows, growth_rows

LARGEST = 1_000_000
"""Bytes of a file that lurcher takes; larger ones are not sampled."""
COMMANDS = 10
AGAIN_SECONDS = 20.0
"""A cold index is repeated only while that has taken less than this."""
HOUR = 3600.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    out = options.out or RESULTS / f"{today()}-growth.json"
    result = _begun(out)
    ends = time.monotonic() + 60 * options.minutes
    files = [(tree, path, size) for tree in options.tree for path, size in _files(tree)]
    files.sort(key=lambda item: hashlib.blake2b(f"{item[0].name}/{item[1]}".encode("utf-8", "replace")).digest())
    last: dict[str, Any] = {}
    for size in sorted(options.sizes):
        known = [item for item in result["sizes"] if item["asked_mb"] == size]
        if not known:
            left = ends - time.monotonic()
            if last and last["seconds"] * size / last["asked_mb"] > left:
                say(f"{size:g} MB would not be done in the {left / 60:.0f} minutes that are left: not measured")
                break
            say(f"{size:g} MB …")
            with tempfile.TemporaryDirectory(prefix="growth-", dir=options.work) as scratch:
                base = Path(scratch).resolve()
                _sample(files, int(size * 1e6), base / "tree")
                known = [{"asked_mb": size, **_measured(base, options.queries, options.runs)}]
            result["sizes"] = sorted([*result["sizes"], *known], key=lambda item: float(item["asked_mb"]))
            _save(result, out)
        last = known[0]
        say(json.dumps(last))
    for name, _, tree in (text.partition("=") for text in options.also):
        if all(item["name"] != name for item in result["also"]):
            with tempfile.TemporaryDirectory(prefix="growth-", dir=options.work) as scratch:
                base = Path(scratch).resolve()
                copy(Path(tree), base / "tree")
                result["also"].append({"name": name, **_measured(base, options.queries, options.runs)})
            _save(result, out)
    result["exponents"] = exponents.table(result["sizes"])
    if options.plot:
        options.plot.write_text(drawn(result["sizes"]), "utf-8")
    print(f"{aligned(growth_rows(result))}\n\nexponents\n{aligned(exponent_rows(result))}\n\nsaved: {out.name}")
    worse = [name for name, found in result["exponents"].items() if found["worse_than_linear"]]
    print(f"worse than in proportion in some step: {', '.join(worse) or 'nothing'}")
    return 0


def _begun(out: Path) -> dict[str, Any]:
    """The result so far, with what it has of this commit."""
    fresh: dict[str, Any] = {"about": {**about(), "load_before": load()}, "sizes": [], "also": [], "exponents": {}}
    if not out.exists():
        return fresh
    kept = json.loads(out.read_text("utf-8"))
    for part in ("sizes", "also"):
        fresh[part] = [item for item in kept.get(part, []) if item.get("commit") == commit()]
    if fresh["sizes"] or fresh["also"]:
        fresh["about"]["load_before"] = kept["about"]["load_before"]
    return fresh


def _save(result: dict[str, Any], out: Path) -> None:
    """Whole or not at all: a run may be stopped at any time."""
    result["exponents"] = exponents.table(result["sizes"])
    result["about"]["load_after"] = load()
    part = out.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    part.replace(out)


def _files(tree: Path) -> Iterator[tuple[str, int]]:
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name not in (".git", ".lurcher")]
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink() and 0 < (size := path.stat().st_size) <= LARGEST:
                yield str(path.relative_to(tree)), size


def _sample(files: Sequence[tuple[Path, str, int]], size: int, target: Path) -> None:
    left = size
    for tree, path, length in files:
        if left <= 0:
            break
        left -= length
        copied = target / tree.name / path
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / path, copied)
    for command in (["init", "-q"], ["-c", "core.autocrlf=false", "add", "-fA"]):
        subprocess.run(["git", "-C", str(target), *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _measured(base: Path, queries: Path, runs: int) -> dict[str, Any]:
    began = time.monotonic()
    tree, side = base / "tree", Lurcher(base / "index", waits=False)
    asked = [line for line in queries.read_text("utf-8").split("\n") if line.strip()]
    size = sum(length for _, length in _files(tree))
    program = beside(Path(sys.executable), "lurcher")
    forget(side)
    first = side.search(asked[0], tree, seconds=HOUR)
    say(f"  first answer: {first.wall:.2f} s")
    cold = _cold(side, [program, "index", "-q", str(tree)], runs, pause=min(0.25, max(0.01, size / 4e8)))
    say(f"  cold index: {min(cost.wall for cost in cold):.2f} s, {min(cost.cpu for cost in cold):.2f} s of processor time")
    status = json.loads(run([program, "status", str(tree), "--json"], side.environment()).output)
    kept = kept_bytes(side)
    side.search(asked[0], tree)
    commands = [[side.search(query, tree) for _ in range(runs)] for query in asked[:COMMANDS]]
    looking, resting = (_times(side, tree, queries, runs, check) for check in ("CHECK", "NOCHECK"))
    changed = _changed(side, tree, asked[0], runs)
    return {
        "commit": commit(), "bytes": size, "files": status["files"], "units": status["units"],
        "index_wall_s": round(min(cost.wall for cost in cold), 3), "index_cpu_s": round(min(cost.cpu for cost in cold), 3),
        "index_memory_mb": round(min(cost.tree_rss for cost in cold) / 1e6, 1), "kept_mb": round(kept / 1e6, 2),
        "first_answer_s": round(first.wall, 3),
        "command_ms": _middle(min(cost.wall for cost in costs) for costs in commands),
        "command_cpu_ms": _middle(min(cost.cpu for cost in costs) for costs in commands),
        "command_memory_mb": round(min(cost.largest_rss for costs in commands for cost in costs) / 1e6, 1),
        "looking_p50_ms": percentile(looking, 50), "looking_p99_ms": percentile(looking, 99),
        "query_p50_ms": percentile(resting, 50), "query_p99_ms": percentile(resting, 99),
        "changed_ms": round(1000 * min(cost.wall for cost in changed), 1),
        "changed_cpu_ms": round(1000 * min(cost.cpu for cost in changed), 1),
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def _cold(side: Lurcher, command: list[str], runs: int, pause: float) -> list[Cost]:
    """From nothing, as often as asked or as there is patience for; memory is looked at seldom where that takes long."""
    found: list[Cost] = []
    while len(found) < runs and sum(cost.wall for cost in found) < AGAIN_SECONDS:
        forget(side)
        found.append(run(command, side.environment(), sample=pause, seconds=2 * HOUR))
    return found


def _changed(side: Lurcher, tree: Path, query: str, runs: int) -> list[Cost]:
    """A command after each of some changes, one file at a time."""
    found = []
    for number, path in enumerate(files_to_change(tree, runs)):
        change(path, f"zqxvgrowth{number}")
        found.append(side.search(query, tree))
        if path.relative_to(tree).as_posix() not in side.paths(side.search(f"zqxvgrowth{number}", tree)):
            raise CommandFailed("an answer after a change does not know the change: its time means nothing")
    return found


def _times(side: Lurcher, tree: Path, queries: Path, runs: int, check: str) -> list[float]:
    """Milliseconds of each question's best run, in order."""
    passes: list[Any] = [side.in_process(tree, queries, check)["ms"] for _ in range(runs)]
    return sorted(min(times) for times in zip(*passes, strict=True))


def _middle(values: Iterator[float]) -> float:
    return round(1000 * statistics.median(values), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="+", help="large source trees, whose names differ")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 10, 100, 1000], help="in millions of bytes")
    parser.add_argument("--also", nargs="+", default=[], metavar="NAME=TREE", help="whole trees to measure too, not fitted")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--runs", type=int, default=3, help="of each command, the best of which counts")
    parser.add_argument("--minutes", type=float, default=120, help="a size that would take longer than is left is not begun")
    parser.add_argument("--work", type=Path, help="where to put samples and indexes (default: the usual temporary folder)")
    parser.add_argument("--out", type=Path, help="where to save (default: results/YYYY-MM-DD-growth.json)")
    parser.add_argument("--plot", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
