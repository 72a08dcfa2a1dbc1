"""A workspace of many repositories: what a question costs in one process and as a command, and what it misses.

    python benchmarks/workspace.py FOLDER [--queries queries.txt] [--runs 5] [--check 10] [--questions FILE]

FOLDER holds the repositories. They are added to the workspace of a home folder made for the purpose, and indexed where they
have no index yet. Then every query is asked in one process (the best run of each counts), and the first ten as commands. The
hits of some are compared with those of an engine that has all repositories open. The questions of a file are judged by what is
known of them: each line is JSON with `query`, `repository` (a folder's name) and `files` (ends of paths that answer it).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from about import HERE, about, dated, load
from measures import percentile, say
from processes import run
from sides import beside

COMMANDS = 10


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--check", type=int, default=10, help="queries that are also asked of all repositories at once")
    parser.add_argument("--questions", type=Path, help="questions whose repository and files are known")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    queries = [line.strip() for line in options.queries.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, LURCHER_CONFIG=os.devnull)
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            os.environ.pop(name, None)
        result = measure(options.folder, queries, options.runs, options.check)
        if options.questions:
            known = [json.loads(line) for line in options.questions.read_text("utf-8").splitlines()]
            result["known_answers"] = judge(known)
        out = options.out or dated("workspace")
        out.write_text(json.dumps({**about(), "load": load(), **result}, indent=1) + "\n", "utf-8")
        say(f"written to {out}")
    return 0


def measure(folder: Path, queries: list[str], runs: int, check: int) -> dict[str, Any]:
    from lurcher.server.repositories import RepositoryEngine

    program = beside(Path(sys.executable), "lurcher")
    added = run([program, "workspace", "add", f"{folder}/*", "--json"], os.environ)
    entries = json.loads(added.output)["repositories"]
    text = sum(path.stat().st_size for path in _files(folder))
    say(f"{len(entries)} repositories, {text / 1e6:,.0f} MB; added in {added.wall:.0f} s")
    vocabulary = sum(path.stat().st_size for path in Path(os.environ["HOME"]).rglob("*.words"))
    workspace = RepositoryEngine.open()
    walls: list[list[float]] = [[] for _ in queries]
    cpus: list[list[float]] = [[] for _ in queries]
    opened, able = [0] * len(queries), [0] * len(queries)
    for _ in range(runs + 1):
        for number, query in enumerate(queries):
            began, cpu = time.perf_counter(), time.process_time()
            answer = workspace.search(query)
            walls[number].append(time.perf_counter() - began)
            cpus[number].append(time.process_time() - cpu)
            opened[number] = len(workspace.engine.projects) if workspace.engine is not None else 0
            told = [note.reason.split()[1] for note in answer.degraded if note.reason.startswith("of ")]
            able[number] = int(told[0].replace(",", "")) if told else opened[number]
    wall, cpu_ms = ([1e3 * min(times[1:]) for times in found] for found in (walls, cpus))
    say(f"in process: p50 {percentile(wall, 50):.1f} ms, p99 {percentile(wall, 99):.1f}; CPU p50 {percentile(cpu_ms, 50):.1f}")
    commands = []
    for query in queries[:COMMANDS]:
        costs = [run([program, "search", query, "--workspace", "--json"], os.environ, good=(0, 1)) for _ in range(runs)]
        commands.append((1e3 * min(cost.wall for cost in costs), 1e3 * min(cost.cpu for cost in costs)))
    command = [statistics.median(values) for values in zip(*commands, strict=True)]
    say(f"command: {command[0]:.0f} ms, {command[1]:.0f} ms of CPU")
    return {
        "repositories": len(entries), "text_bytes": text, "vocabulary_bytes": vocabulary, "queries": len(queries),
        "in_process_ms": {"p50": round(percentile(wall, 50), 2), "p99": round(percentile(wall, 99), 2)},
        "in_process_cpu_ms": {"p50": round(percentile(cpu_ms, 50), 2), "p99": round(percentile(cpu_ms, 99), 2)},
        "command_ms": round(command[0], 1), "command_cpu_ms": round(command[1], 1),
        "opened": {"median": statistics.median(opened), "most": max(opened)},
        "able": {"median": statistics.median(able), "most": max(able)},
        "against_all": compare(workspace, folder, queries[:check]) if check else None,
    }  # fmt: skip


def compare(workspace: Any, folder: Path, queries: list[str]) -> dict[str, Any]:
    """How the hits compare with those of all repositories opened together."""
    from lurcher.server import repositories

    chosen = [[hit.path for hit in workspace.search(query).hits] for query in queries]
    repositories.MAX_OPENED = len(workspace.repositories)
    everything = repositories.RepositoryEngine.open()
    times, first, common = [], 0, 0.0
    for query, paths in zip(queries, chosen, strict=True):
        everything.search(query)
        began = time.perf_counter()
        wanted = [hit.path for hit in everything.search(query).hits]
        times.append(1e3 * (time.perf_counter() - began))
        first += paths[:1] == wanted[:1]
        common += len(set(paths) & set(wanted)) / max(1, len(wanted))
    say(f"first hit as with all open: {first} of {len(queries)}; hits in common {common / len(queries):.2f}")
    return {
        "queries": len(queries), "same_first_hit": first, "hits_in_common": round(common / len(queries), 3),
        "all_open_p50_ms": round(percentile(times, 50), 1),
    }  # fmt: skip


def judge(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the right repository is opened and the right file is among the first hits, as it is and with all open."""
    from lurcher.server import repositories

    found: dict[str, Any] = {"questions": len(questions)}
    usual = repositories.MAX_OPENED
    for name, most in (("as_it_is", usual), ("all_open", sys.maxsize)):
        repositories.MAX_OPENED = most
        workspace = repositories.RepositoryEngine.open()
        opened, ranks = 0, []
        for question in questions:
            hits = workspace.search(question["query"]).hits
            opened += workspace.engine is not None and f"{question['repository']}/" in workspace.engine.labels
            right = [
                hit.repository == question["repository"] and hit.path.endswith(tuple(question["files"])) for hit in hits
            ]
            ranks.append(right.index(True) if True in right else sys.maxsize)
        shares = {f"file_in_first_{first}": sum(rank < first for rank in ranks) for first in (1, 5, 10)}
        found[name] = {key: round(count / len(questions), 3) for key, count in {"repository_opened": opened, **shares}.items()}
        say(f"{name}: {found[name]}")
    repositories.MAX_OPENED = usual
    return found


def _files(folder: Path) -> list[Path]:
    found = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".lurcher")]
        found += [path for name in names if not (path := Path(top, name)).is_symlink()]
    return found


if __name__ == "__main__":
    sys.exit(main())
