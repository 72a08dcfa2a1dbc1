"""What is measured of each program: a cold start, a warm command, queries in one process, the first query after a change.

Every measurement is a fresh process and the sides take turns. A peer that fails takes no further part in that tree, one that
fails at some of the questions is measured on the others, and the result says so; if lurcher fails, so does the run.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from processes import CommandFailed, Cost, run
from sides import HERE, Lurcher, Side, forget, kept_bytes
from trees import change, files_to_change

Figures = dict[str, dict[str, dict[str, float]]]
"""Side → figure → its best and perhaps its median."""


class Field:
    """Who takes part. The first is lurcher."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self.sides, self.left_out, self.notes = list(sides), dict[str, str](), dict[str, str]()

    def joined_by(self, side: Side) -> Field:
        """The same sides and one more, with the same record of who was left out."""
        joined = Field([*self.sides, side])
        joined.left_out, joined.notes = self.left_out, self.notes
        return joined

    def turns(self, runs: int) -> Iterator[tuple[int, Side]]:
        """A B C, B C A, …: no side always runs on the machine that the same other has warmed up."""
        for number in range(runs):
            first = number % len(self.sides)
            for side in [*self.sides[first:], *self.sides[:first]]:
                if side.name not in self.left_out:
                    yield number, side

    def search(self, side: Side, query: str, tree: Path, *, sample: bool = False) -> Cost | None:
        try:
            return side.search(query, tree, sample=sample)
        except CommandFailed as error:
            self.drop(side, error)
            return None

    def drop(self, side: Side, error: CommandFailed) -> None:
        self.left_out[side.name] = self.reason(side, error)
        say(f"left out: {side.name}: {self.left_out[side.name]}")

    def reason(self, side: Side, error: CommandFailed) -> str:
        """Why a peer failed, without the paths of this machine."""
        if side is self.sides[0]:
            raise error
        return re.sub(r"(?<![^\s'\"])/\S+", "…", str(error).split("\n")[0])[:200]

    def still(self) -> list[Side]:
        return [side for side in self.sides if side.name not in self.left_out]


def warm_up(field: Field, tree: Path) -> None:
    """One search that nobody counts, so that bytecode and libraries are on hand for all."""
    tree.mkdir()
    (tree / "sample.py").write_text("def parse_headers(request):\n    return dict(request.headers)\n", "utf-8")
    for side in field.sides:
        forget(side)
        field.search(side, "parse headers", tree)


def measure_cold(field: Field, tree: Path, query: str, runs: int) -> Figures:
    """Index from nothing and give the first answer, as one command."""
    costs: dict[str, list[Cost]] = {side.name: [] for side in field.sides}
    kept: dict[str, int] = {}
    for number, side in field.turns(runs):
        forget(side)
        if cost := field.search(side, query, tree):
            costs[side.name].append(cost)
            kept[side.name] = kept_bytes(side)
            say(f"cold {number + 1}/{runs} {side.name}: {cost.wall:.2f} s")
    found: Figures = {}
    for side in field.still():
        forget(side)
        if sampled := field.search(side, query, tree, sample=True):
            found[side.name] = {
                "wall_s": _spread([cost.wall for cost in costs[side.name]]),
                "cpu_s": _spread([cost.cpu for cost in costs[side.name]]),
                "memory_tree_mb": {"best": round(sampled.tree_rss / 1e6, 1)},
                "memory_largest_mb": _spread([cost.largest_rss / 1e6 for cost in costs[side.name]]),
                "index_mb": {"best": round(kept[side.name] / 1e6, 1)},
            }
    return found


def measure_warm(field: Field, tree: Path, queries: Sequence[str], runs: int) -> Figures:
    """A query as a whole process on what is kept; each program looks at the tree as it does by default.

    A question that a peer has no answer to counts neither for it nor against it.
    """
    costs: dict[str, dict[str, list[Cost]]] = {side.name: {query: [] for query in queries} for side in field.sides}
    for side in field.still():
        field.search(side, queries[0], tree)
    for _, side in field.turns(runs):
        mine = costs[side.name]
        for query in list(mine):
            try:
                mine[query].append(side.search(query, tree))
            except CommandFailed as error:
                del mine[query]
                missing = len(queries) - len(mine)
                field.notes[side.name] = f"{missing} of {len(queries)} questions without an answer: {field.reason(side, error)}"
                say(f"{side.name}: {field.notes[side.name]}")
                if 2 * missing > len(queries):
                    field.drop(side, error)
                    break
    found: Figures = {}
    for side in field.still():
        mine = costs[side.name]
        every = [cost for several in mine.values() for cost in several]
        found[side.name] = {
            "wall_ms": {
                # The mean over the queries of each query's best run: one lucky process does not decide.
                "best": round(1000 * statistics.mean(min(cost.wall for cost in several) for several in mine.values()), 2),
                "median": round(1000 * statistics.median(cost.wall for cost in every), 2),
            },
            "cpu_ms": {
                "best": round(1000 * statistics.mean(min(cost.cpu for cost in several) for several in mine.values()), 2),
                "median": round(1000 * statistics.median(cost.cpu for cost in every), 2),
            },
            "memory_largest_mb": _spread([cost.largest_rss / 1e6 for cost in every]),
        }
        say(f"warm {side.name}: best {found[side.name]['wall_ms']['best']:.0f} ms")
    return found


def measure_in_process(field: Field, tree: Path, queries: Path, runs: int) -> dict[str, Any]:
    """Queries inside a process that holds the index open: lurcher looks at the tree or does not, the others never do."""
    ours, *others = [side for side in field.still() if side.in_a_process]
    contestants = [("lurcher", ours, "CHECK"), ("lurcher_unchecked", ours, "NOCHECK")]
    contestants += [(side.name, side, "") for side in others]
    times: dict[str, list[list[float]]] = {name: [] for name, _, _ in contestants}
    stages: list[dict[str, float]] = []
    indexed: dict[str, Any] = {}
    for number in range(runs):
        first = number % len(contestants)
        for name, side, check in [*contestants[first:], *contestants[:first]]:
            if side.name in field.left_out:
                continue
            try:
                found: dict[str, Any] = side.in_process(tree, queries, check)
            except CommandFailed as error:
                field.drop(side, error)
                continue
            times[name].append(found["ms"])
            indexed[side.name] = {"files": found["files"], "chunks": found["chunks"]}
            if name == "lurcher":
                stages.append(found["stages"])
    measured: Figures = {}
    for name, side, _ in contestants:
        if side.name in field.left_out:
            continue
        best = sorted(min(column) for column in zip(*times[name], strict=True))
        measured[name] = {f"p{share}_ms": {"best": percentile(best, share)} for share in (50, 95, 99)}
        say(f"in process {name}: p50 {measured[name]['p50_ms']['best']:.2f} ms")
    least = {stage: round(min(each[stage] for each in stages), 3) for stage in stages[0]}
    return {"in_process": measured, "stages_ms": least, "indexed": indexed}


def measure_floor(ours: Lurcher, tree: Path, runs: int) -> dict[str, float]:
    """What no design of ours can save: an interpreter that starts and ends, and every file parsed once with nothing done."""
    starts = [run([sys.executable, "-I", "-c", "pass"], ours.environment()).wall for _ in range(max(runs, 5))]
    command = [sys.executable, str(HERE / "drivers" / "parse_alone.py"), str(tree)]
    passes = [json.loads(run(command, ours.environment()).output) for _ in range(min(runs, 2))]
    return {
        "python_ms": round(1000 * min(starts), 2),
        "parse_cpu_s": round(min(each["cpu_s"] for each in passes), 2),
        "parsed_files": passes[0]["files"],
        "parsed_bytes": passes[0]["bytes"],
    }


def measure_change(field: Field, tree: Path, query: str, runs: int) -> dict[str, Any]:
    """What one changed file adds to the next query, as a share of a full build; each run changes another file."""
    sides = [side for side in field.still() if side.keeps_up]
    build: dict[str, list[Cost]] = {side.name: [] for side in sides}
    unchanged: dict[str, list[Cost]] = {side.name: [] for side in sides}
    changed: dict[str, list[Cost]] = {side.name: [] for side in sides}
    seen = {side.name: 0 for side in sides}
    for _, side in Field(sides).turns(runs):
        forget(side)
        build[side.name].append(side.search(query, tree))
    for number, path in enumerate(files_to_change(tree, runs)):
        order = sides if number % 2 == 0 else sides[::-1]
        for side in order:
            unchanged[side.name].append(side.search(query, tree))
        word = f"zqxvbenchmark{number}"
        change(path, word)
        for side in order:
            changed[side.name].append(side.search(query, tree))
        for side in order:
            # Not timed: an update that the next query does not see would be quick for the wrong reason.
            seen[side.name] += path.relative_to(tree).as_posix() in _paths(side, word, tree)
    measured: Figures = {}
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
        say(f"change {side.name}: +{extra['best']:.0f} ms")
    return {"sides": measured, "changes_found": seen}


def _paths(side: Side, word: str, tree: Path) -> list[str]:
    try:
        return side.paths(side.search(word, tree))
    except CommandFailed:
        return []


def _extra(before: Sequence[float], after: Sequence[float]) -> dict[str, float]:
    """Milliseconds that the change added: between the two best runs, and the median over the pairs."""
    pairs = [second - first for first, second in zip(before, after, strict=True)]
    return {"best": round(1000 * (min(after) - min(before)), 2), "median": round(1000 * statistics.median(pairs), 2)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"best": round(min(values), 3), "median": round(statistics.median(values), 3)}


def percentile(ordered: Sequence[float], percent: float) -> float:
    return round(ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))], 3)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
