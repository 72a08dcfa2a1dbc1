"""The warm `search` command of two versions of lurcher, as text and as JSON, in alternating fresh processes.

    python benchmarks/warm_command.py BEFORE AFTER TREE --runs 30

BEFORE and AFTER are checkouts, run by the interpreter that runs this, or virtual environments with lurcher in them. Prints best
and median milliseconds of each, their ratio (after / before: below 1 is faster), and how many modules of lurcher a command
loads. On a busy machine only the best of many rounds says something.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMS = {"text": [], "json": ["--json"]}
COUNT = """
import os, runpy, sys
def leave(status):
    raise SystemExit(status)
os._exit = leave
try:
    runpy.run_module("lurcher", run_name="__main__", alter_sys=True)
except SystemExit:
    pass
sys.stderr.write("\\nMODULES %d\\n" % sum(name.split(".")[0] == "lurcher" for name in list(sys.modules)))
"""
"""Runs a command to its end, also where that ends the process at once, and counts."""


@dataclass(frozen=True)
class Side:
    name: str
    python: str
    environment: dict[str, str]

    def run(self, arguments: Sequence[str], folder: Path, *, start: Sequence[str] = ("-m", "lurcher")) -> tuple[float, str]:
        """The milliseconds of one command, and what it printed to stderr."""
        command = [self.python, *start, *arguments]
        began = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, check=False)
        took = 1000 * (time.perf_counter() - began)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{self.name}: {' '.join(arguments)} failed: {done.stderr.decode()}")
        return took, done.stderr.decode()


def side(name: str, place: Path, index: Path) -> Side:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LURCHER_", "PYTHON"))}
    environment = {**kept, "LURCHER_INDEX_DIR": str(index)}
    if (place / "bin/python").exists():
        return Side(name, str(place / "bin/python"), environment)
    if (place / "src/lurcher").is_dir():
        return Side(name, sys.executable, {**environment, "PYTHONPATH": str(place.resolve() / "src")})
    raise SystemExit(f"{place} is neither a virtual environment nor a checkout of lurcher")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=20, help="rounds; each asks one question of each side in each form")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt", help="one question a line; the first ten count")
    options = parser.parse_args()
    queries = [line for line in options.queries.read_text(encoding="utf-8").splitlines() if line.strip()][:10]
    scratch = Path(tempfile.mkdtemp(prefix="warm-command-"))
    try:
        sides = [side(name, getattr(options, name), scratch / name) for name in ("before", "after")]
        taken: dict[tuple[str, str], list[float]] = {}
        for each in sides:
            each.run(["index", "-q"], options.tree)
            for _ in range(3):  # compiled modules are kept, files are in memory
                for flags in FORMS.values():
                    each.run(["search", queries[0], *flags], options.tree)
        for number in range(options.runs):
            query = queries[number % len(queries)]
            for each in sides if number % 2 else reversed(sides):
                for form, flags in FORMS.items():
                    taken.setdefault((form, each.name), []).append(each.run(["search", query, *flags], options.tree)[0])
        print(f"{'':6}{'':8}{'best':>9}{'median':>9}{'modules':>9}")
        for form, flags in FORMS.items():
            figures = {}
            for each in sides:
                _, stderr = each.run(["search", queries[0], *flags], options.tree, start=("-c", COUNT))
                modules = stderr.rpartition("MODULES ")[2].strip()
                figures[each.name] = best, median = min(taken[form, each.name]), statistics.median(taken[form, each.name])
                print(f"{form:6}{each.name:8}{best:9.1f}{median:9.1f}{modules:>9}")
            ratios = [after / before for before, after in zip(figures["before"], figures["after"], strict=True)]
            print(f"{form:6}{'ratio':8}{ratios[0]:9.3f}{ratios[1]:9.3f}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
