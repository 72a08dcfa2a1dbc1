"""Measures lurcher against a peer (semble) on the same trees, in the same run: one command, one table, one dated JSON file.

    python benchmarks/speed.py --tree TREE --tree2000 TREE --peer-python PEER/bin/python --peer-model MODEL_FOLDER

Run it with the interpreter that lurcher is installed for. Both programs get copies of the trees, empty index folders and
no settings of the user; every measurement is a fresh process, the two sides take turns, and a ratio is peer / lurcher.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from processes import Cost
from sides import HERE, Lurcher, Semble, Side, forget, kept_bytes

WARM_QUERIES = 10
CHANGE_BYTES = range(4_000, 20_000)
"""Size of the files that the one-file-change measurement edits: neither trivial nor outliers."""
HASH_COMMENTS = {".py", ".rb", ".sh", ".yml", ".toml"}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    queries = [line for line in options.queries.read_text("utf-8").split("\n") if line.strip()]
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="speed-") as scratch:
        base = Path(scratch).resolve()
        sides: tuple[Side, Side] = (
            Lurcher(base / "index-lurcher"),
            Semble(base / "index-semble", options.peer_python.absolute(), options.peer_model.resolve(), options.peer_content),
        )
        _warm_up(sides, base / "tiny")
        tree = _copy(options.tree, base / "tree")
        result: dict[str, Any] = {"about": _about(options, sides[1], load_before), "tree": _size(tree)}
        _say(f"tree: {result['tree']['files']} files, {result['tree']['bytes'] / 1e6:.1f} MB")
        result["cold"] = measure_cold(sides, tree, queries[0], options.runs)
        result["warm"] = measure_warm(sides, tree, queries[:WARM_QUERIES], options.runs)
        result["in_process"], result["indexed"] = measure_in_process(sides, tree, options.queries, options.runs)
        if options.tree2000:
            small = _copy(options.tree2000, base / "tree2000")
            result["tree2000"] = _size(small)
            result["change"] = measure_change(sides, small, queries[0], options.runs)
        result["about"]["load_after"] = round(os.getloadavg()[0], 2)
    out = options.out or _dated_file()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(table(result))
    print(f"\nsaved: {out.name}")
    return 0


# -- measurements -----------------------------------------------------------------------------------------------------


def measure_cold(sides: tuple[Side, Side], tree: Path, query: str, runs: int) -> dict[str, Any]:
    """Index from nothing and give the first answer, as one command."""
    costs: dict[str, list[Cost]] = {side.name: [] for side in sides}
    kept: dict[str, int] = {}
    for number, side in _turns(sides, runs):
        forget(side)
        costs[side.name].append(side.search(query, tree))
        kept[side.name] = kept_bytes(side)
        _say(f"cold {number + 1}/{runs} {side.name}: {costs[side.name][-1].wall:.2f} s")
    sampled: dict[str, Cost] = {}
    for side in sides:
        forget(side)
        sampled[side.name] = side.search(query, tree, sample=True)
    measured = {
        side.name: {
            "wall_s": _spread([cost.wall for cost in costs[side.name]]),
            "cpu_s": _spread([cost.cpu for cost in costs[side.name]]),
            "memory_tree_mb": {"best": round(sampled[side.name].tree_rss / 1e6, 1)},
            "memory_largest_mb": _spread([cost.largest_rss / 1e6 for cost in costs[side.name]]),
            "index_mb": {"best": round(kept[side.name] / 1e6, 1)},
        }
        for side in sides
    }
    return {**measured, "ratio": _ratios(measured[sides[1].name], measured[sides[0].name])}


def measure_warm(sides: tuple[Side, Side], tree: Path, queries: Sequence[str], runs: int) -> dict[str, Any]:
    """A query as a whole process on an index that is there; each program checks the tree as it does by default."""
    costs: dict[str, dict[str, list[Cost]]] = {side.name: {query: [] for query in queries} for side in sides}
    for side in sides:
        side.search(queries[0], tree)
    for _, side in _turns(sides, runs):
        for query in queries:
            costs[side.name][query].append(side.search(query, tree))
    measured = {}
    for side in sides:
        mine = costs[side.name]
        every = [cost for query in queries for cost in mine[query]]
        measured[side.name] = {
            "wall_ms": {
                # The mean over the queries of each query's best run: one lucky process does not decide.
                "best": round(1000 * statistics.mean(min(cost.wall for cost in mine[query]) for query in queries), 2),
                "median": round(1000 * statistics.median(cost.wall for cost in every), 2),
            },
            "cpu_ms": {
                "best": round(1000 * statistics.mean(min(cost.cpu for cost in mine[query]) for query in queries), 2),
                "median": round(1000 * statistics.median(cost.cpu for cost in every), 2),
            },
            "memory_largest_mb": _spread([cost.largest_rss / 1e6 for cost in every]),
        }
        _say(f"warm {side.name}: median {measured[side.name]['wall_ms']['median']:.0f} ms")
    return {**measured, "ratio": _ratios(measured[sides[1].name], measured[sides[0].name])}


def measure_in_process(sides: tuple[Side, Side], tree: Path, queries: Path, runs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Queries inside a process that holds the index open; the peer never looks at the tree again, lurcher does by default."""
    ours, peer = sides
    contestants = (("lurcher", ours, "CHECK"), ("lurcher_unchecked", ours, "NOCHECK"), ("semble", peer, ""))
    times: dict[str, list[list[float]]] = {name: [] for name, _, _ in contestants}
    indexed: dict[str, Any] = {}
    for number in range(runs):
        for name, side, check in contestants if number % 2 == 0 else contestants[::-1]:
            found: dict[str, Any] = side.in_process(tree, queries, check)
            times[name].append(found["ms"])
            indexed[side.name] = {"files": found["files"], "chunks": found["chunks"]}
    measured = {}
    for name, passes in times.items():
        best = sorted(min(column) for column in zip(*passes, strict=True))
        measured[name] = {"p50_ms": {"best": _percentile(best, 50)}, "p95_ms": {"best": _percentile(best, 95)}}
        _say(f"in process {name}: p50 {measured[name]['p50_ms']['best']:.2f} ms")
    ratios = {name: _ratios(measured["semble"], measured[name]) for name in ("lurcher", "lurcher_unchecked")}
    return {**measured, "ratio": ratios}, indexed


def measure_change(sides: tuple[Side, Side], tree: Path, query: str, runs: int) -> dict[str, Any]:
    """What one changed file adds to the next query, as a share of a full build; each run changes another file."""
    build: dict[str, list[Cost]] = {side.name: [] for side in sides}
    unchanged: dict[str, list[Cost]] = {side.name: [] for side in sides}
    changed: dict[str, list[Cost]] = {side.name: [] for side in sides}
    seen = {side.name: 0 for side in sides}
    for _, side in _turns(sides, runs):
        forget(side)
        build[side.name].append(side.search(query, tree))
    for number, path in enumerate(_files_to_change(tree, runs)):
        order = sides if number % 2 == 0 else sides[::-1]
        for side in order:
            unchanged[side.name].append(side.search(query, tree))
        word = f"zqxvbenchmark{number}"
        mark = "#" if path.suffix in HASH_COMMENTS else "//"
        path.write_bytes(f"{mark} {word}\n".encode() + path.read_bytes())
        for side in order:
            changed[side.name].append(side.search(query, tree))
        for side in order:
            # Not timed: an update that the next query does not see would be quick for the wrong reason.
            seen[side.name] += path.relative_to(tree).as_posix() in side.paths(side.search(word, tree))
    measured = {}
    for side in sides:
        before, after, whole = unchanged[side.name], changed[side.name], build[side.name]
        extra = _extra([cost.wall for cost in before], [cost.wall for cost in after])
        measured[side.name] = {
            "build_s": _spread([cost.wall for cost in whole]),
            "unchanged_ms": _spread([1000 * cost.wall for cost in before]),
            "changed_ms": _spread([1000 * cost.wall for cost in after]),
            "extra_ms": extra,
            "extra_cpu_ms": _extra([cost.cpu for cost in before], [cost.cpu for cost in after]),
            "share_of_build": {
                "best": round(extra["best"] / 1000 / min(cost.wall for cost in whole), 4),
                "median": round(extra["median"] / 1000 / statistics.median(cost.wall for cost in whole), 4),
            },
        }
        _say(f"change {side.name}: +{extra['best']:.0f} ms")
    ratio = _ratios(measured[sides[1].name], measured[sides[0].name])
    return {**measured, "ratio": ratio, "changes_found": seen}


def _extra(before: Sequence[float], after: Sequence[float]) -> dict[str, float]:
    """Milliseconds that the change added: between the two best runs, and the median over the pairs."""
    pairs = [second - first for first, second in zip(before, after, strict=True)]
    return {"best": round(1000 * (min(after) - min(before)), 2), "median": round(1000 * statistics.median(pairs), 2)}


def _warm_up(sides: tuple[Side, Side], tree: Path) -> None:
    """One search that nobody counts, so that bytecode and libraries are on hand for both."""
    tree.mkdir()
    (tree / "sample.py").write_text("def parse_headers(request):\n    return dict(request.headers)\n", "utf-8")
    for side in sides:
        forget(side)
        side.search("parse headers", tree)


def _turns(sides: tuple[Side, Side], runs: int) -> Iterator[tuple[int, Side]]:
    """A B, B A, A B, …: neither side always runs on the machine that the other has warmed up."""
    for number in range(runs):
        for side in sides if number % 2 == 0 else sides[::-1]:
            yield number, side


def _files_to_change(tree: Path, count: int) -> list[Path]:
    files = [path for path in _sources(tree) if path.stat().st_size in CHANGE_BYTES]
    if len(files) < count:
        raise SystemExit(f"the tree has only {len(files)} files of a usual size to change")
    return [files[(i + 1) * len(files) // (count + 1)] for i in range(count)]


# -- trees and numbers ------------------------------------------------------------------------------------------------


def _copy(tree: Path, target: Path) -> Path:
    """A copy outside of any repository around the original, with its own .git if it has one."""
    shutil.copytree(tree, target, symlinks=True)
    if (target / ".git").exists():
        # The copy has new inodes; without this, git would look at every file's content on each call.
        subprocess.run(["git", "-C", str(target), "status", "--porcelain"], stdout=subprocess.DEVNULL, check=True)
    return target


def _sources(tree: Path) -> list[Path]:
    return sorted(
        path
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in path.relative_to(tree).parts)
    )


def _size(tree: Path) -> dict[str, int | bool]:
    files = _sources(tree)
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files), "git": (tree / ".git").exists()}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"best": round(min(values), 3), "median": round(statistics.median(values), 3)}


def _percentile(ordered: Sequence[float], percent: int) -> float:
    return round(ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))], 3)


def _ratios(peer: dict[str, dict[str, float]], ours: dict[str, dict[str, float]]) -> dict[str, dict[str, float | None]]:
    return {
        name: {kind: round(value / ours[name][kind], 2) if ours[name][kind] > 0 else None for kind, value in kinds.items()}
        for name, kinds in peer.items()
    }


def _about(options: argparse.Namespace, peer: Side, load: float) -> dict[str, Any]:
    """Enough to read the figures later; nothing that names the machine or its folders."""
    from importlib.metadata import version

    assert isinstance(peer, Semble)
    ask = "import importlib.metadata as m; print(m.version('semble'))"
    peer_version = subprocess.run([str(peer.python), "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "lurcher": version("lurcher"),
        "commit": commit.stdout.strip(),
        "semble": peer_version,
        "semble_model": peer.model.name,
        "semble_content": peer.content,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "runs": options.runs,
        "load_before": round(load, 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").split("\n")
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _dated_file() -> Path:
    """Today's file under results/; an earlier run of the same day is kept."""
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    names = (f"{day}-speed.json" if number == 1 else f"{day}-speed-{number}.json" for number in range(1, 1000))
    return next(path for path in (HERE / "results" / name for name in names) if not path.exists())


# -- what is shown ----------------------------------------------------------------------------------------------------


def table(result: dict[str, Any]) -> str:
    """The result as aligned text; ratios above 1 are in lurcher's favour."""
    rows: list[tuple[str, str, str, str]] = [("", "lurcher", "semble", "ratio")]
    for section in ("cold", "warm", "change"):
        if section not in result:
            continue
        part = result[section]
        for name, kinds in part["lurcher"].items():
            for kind in kinds:
                theirs = part["semble"][name][kind]
                rows.append(_line(f"{section} {name} {kind}", kinds[kind], theirs, part["ratio"][name][kind]))
    part = result["in_process"]
    for variant in ("lurcher", "lurcher_unchecked"):
        for name, kinds in part[variant].items():
            label = f"in-process {name}" + ("" if variant == "lurcher" else " (tree not looked at)")
            rows.append(_line(label, kinds["best"], part["semble"][name]["best"], part["ratio"][variant][name]["best"]))
    indexed = result["indexed"]
    rows += [
        (f"indexed {name}", str(indexed["lurcher"][name]), str(indexed["semble"][name]), "") for name in ("files", "chunks")
    ]
    if "change" in result:
        seen = result["change"]["changes_found"]
        rows.append((f"changes found (of {result['about']['runs']})", str(seen["lurcher"]), str(seen["semble"]), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3))]).rstrip() for row in rows
    )


def _line(label: str, ours: float, theirs: float, ratio: float | None) -> tuple[str, str, str, str]:
    return label, f"{ours:.4g}", f"{theirs:.4g}", "-" if ratio is None else f"{ratio:.2f}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure lurcher against semble on the same trees.")
    parser.add_argument("--tree", type=Path, required=True, help="a source tree of about 20 MB")
    parser.add_argument("--tree2000", type=Path, help="a tree of about 2,000 files, for the one-file change")
    parser.add_argument("--peer-python", type=Path, required=True, help="the interpreter that semble is installed for")
    parser.add_argument("--peer-model", type=Path, required=True, help="a local Model2Vec folder for semble")
    parser.add_argument("--peer-content", choices=("code", "all"), default="code", help="what semble indexes")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt", help="one question per line")
    parser.add_argument("--runs", type=int, default=5, help="how often each side runs (default: 5)")
    parser.add_argument("--out", type=Path, help="where to save (default: results/YYYY-MM-DD-speed.json)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
