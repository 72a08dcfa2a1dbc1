"""Exact text with an index against ripgrep, on the same tree in the same run.

    python benchmarks/literal.py --tree TREE [--index FOLDER] [--runs 7] [--out FILE]

Three ways to ask: `in_process` is an open engine's whole search (the tree is looked at, hits are made), `unchecked` the same
without that look, and `command` the whole command line. ripgrep's time is that of its process, which lists the files too.
Patterns are chosen from the tree itself by how many lines have them: rare ones (1 to 10), some (about 1,000), common ones.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

from lurcher.engine import Engine

WORD = re.compile(rb"[A-Za-z_]{6,30}")
RANKS = {"rare": (1, 10), "some": (500, 2_000), "common": (10_000, 60_000)}
EACH = 4


def patterns(engine: Engine, tree: Path) -> dict[str, list[str]]:
    """Words of every 50th file, by how many lines of the tree have them; one of many letters may be part of others."""
    listed = sorted(path for path in tree.rglob("*") if path.is_file() and not {".git", ".lurcher"} & set(path.parts))
    seen = Counter(word for path in listed[::50] for word in set(WORD.findall(path.read_bytes())))
    chosen: dict[str, list[str]] = {name: [] for name in RANKS}
    for word, _ in sorted(seen.items(), key=lambda item: (hash_of(item[0]), item[0])):
        if all(len(found) >= EACH for found in chosen.values()):
            break
        text = word.decode()
        lines = int(matching_lines(text, tree))
        for name, (least, most) in RANKS.items():
            if least <= lines <= most and len(chosen[name]) < EACH:
                chosen[name].append(text)
    chosen["none"] = ["qzxqzxqzx"]
    chosen["punctuation"] = ["=> {", "} else if ("]
    return chosen


def hash_of(word: bytes) -> int:
    import zlib

    return zlib.crc32(word)


def matching_lines(text: str, tree: Path) -> int:
    done = subprocess.run(["rg", "-F", "-s", "--no-filename", "-c", "-e", text, "."], cwd=tree, capture_output=True, text=True)
    return sum(map(int, done.stdout.split()))


def best_of(runs: int, act: Callable[[], None]) -> float:
    """Milliseconds of the quickest run but the first."""
    found = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        act()
        found.append(1000 * (time.perf_counter() - begun))
    return min(found[1:])


def measured(engine: Engine, tree: Path, text: str, runs: int, environment: dict[str, str]) -> dict[str, object]:
    rg = ["rg", "-F", "-s", "-n", "-e", text, "."]
    command = [sys.executable, "-m", "lurcher", "search", "-F", "-s", text, str(tree), "--json"]

    def run(arguments: list[str]) -> None:
        subprocess.run(arguments, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    times = {
        "rg": best_of(runs, lambda: run(rg)),
        "in_process": best_of(runs, lambda: void(engine.search(text, mode="literal", fixed=True, case="exact"))),
        "unchecked": best_of(runs, lambda: void(engine.search(text, mode="literal", fixed=True, case="exact", check=False))),
        "command": best_of(max(runs // 2, 2), lambda: run(command)),
    }
    return {
        "pattern": text, "lines": matching_lines(text, tree), **{name: round(value, 1) for name, value in times.items()},
        "ratio_in_process": round(times["in_process"] / times["rg"], 3),
        "ratio_unchecked": round(times["unchecked"] / times["rg"], 3),
        "command_minus_rg": round(times["command"] - times["rg"], 1),
    }  # fmt: skip


def void(_: object) -> None:
    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--index", type=Path, help="where to keep the index (default: a temporary folder)")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    tree = arguments.tree.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.index or Path(temporary)
        environment = {**os.environ, "LURCHER_INDEX_DIR": str(folder), "LURCHER_CONFIG": os.devnull}
        os.environ.update(environment)
        with Engine.open(tree) as engine:
            status = engine.index()
            found: dict[str, list[dict[str, object]]] = {}
            for name, texts in patterns(engine, tree).items():
                for text in texts:
                    row = measured(engine, tree, text, arguments.runs, environment)
                    found.setdefault(name, []).append(row)
                    print(name, json.dumps(row), flush=True)
    result = {"date": date.today().isoformat(), "files": status["files"], "patterns": found}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
