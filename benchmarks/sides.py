"""The programs under comparison: how each is called, where it keeps its index, what counts as an answer."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

from processes import CommandFailed, Cost, run

LIMIT = "10"
HERE = Path(__file__).resolve().parent


def _clean_environment() -> dict[str, str]:
    """The caller's environment without what would change either program's behaviour."""
    prefixes = ("LURCHER_", "SEMBLE_", "PYTHON", "HF_")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


@dataclass(frozen=True, slots=True)
class Lurcher:
    index: Path
    """Folder for the index, outside of the tree."""
    waits: bool = True
    """Whether a first question waits for the whole index; else it is answered after a while from what there is."""
    text: bool = False
    """Whether the answer is printed as text instead of JSON."""
    name: str = "lurcher"
    in_a_process: bool = True
    keeps_up: bool = True

    def version(self) -> str:
        from lurcher import __version__

        return __version__

    def environment(self) -> dict[str, str]:
        # A user's own settings must not decide a benchmark.
        own = {"LURCHER_INDEX_DIR": str(self.index), "LURCHER_CONFIG": os.devnull}
        return _clean_environment() | own | ({"LURCHER_INDEX_FIRST_ANSWER_SECONDS": "0"} if self.waits else {})

    def search(self, query: str, tree: Path, *, sample: bool = False, seconds: float = 1800.0) -> Cost:
        program = beside(Path(sys.executable), "lurcher")
        command = [program, "search", query, str(tree), "-k", LIMIT, *([] if self.text else ["--json"])]
        cost = run(command, self.environment(), sample=sample, seconds=seconds)
        _expect(self.paths(cost), self.name, query)
        return cost

    def paths(self, cost: Cost) -> list[str]:
        if self.text:
            return [line for line in cost.output.splitlines() if line.strip()]
        return [hit["path"] for hit in json.loads(cost.output)["hits"]]

    def in_process(self, tree: Path, queries: Path, check: str) -> dict[str, object]:
        driver = HERE / "drivers" / "lurcher_queries.py"
        command = [sys.executable, str(driver), str(tree), str(queries), check]
        return dict(json.loads(run(command, self.environment()).output))


@dataclass(frozen=True, slots=True)
class Semble:
    index: Path
    python: Path
    model: Path
    content: str
    name: str = "semble"
    in_a_process: bool = True
    keeps_up: bool = True

    def version(self) -> str:
        ask = "import importlib.metadata as m; print(m.version('semble'))"
        found = run([str(self.python), "-c", ask], self.environment()).output.strip()
        return f"{found}, {self.model.name}, content {self.content}"

    def environment(self) -> dict[str, str]:
        return {
            **_clean_environment(),
            "SEMBLE_CACHE_LOCATION": str(self.index),
            "SEMBLE_MODEL_NAME": str(self.model),
            "HF_HUB_OFFLINE": "1",
        }

    def search(self, query: str, tree: Path, *, sample: bool = False) -> Cost:
        program = beside(self.python, "semble")
        command = [program, "search", query, str(tree), "-k", LIMIT, "--content", self.content]
        cost = run(command, self.environment(), sample=sample)
        _expect(self.paths(cost), self.name, query)
        return cost

    def paths(self, cost: Cost) -> list[str]:
        return [result["file_path"] for result in json.loads(cost.output).get("results", ())]

    def in_process(self, tree: Path, queries: Path, check: str) -> dict[str, object]:
        driver = HERE / "drivers" / "semble_queries.py"
        command = [str(self.python), str(driver), str(tree), str(queries), self.content]
        return dict(json.loads(run(command, self.environment()).output))


@dataclass(frozen=True, slots=True)
class Probe:
    """Ranked search without an index: a scan, then BM25 over the blocks around what was found."""

    index: Path
    program: Path
    name: str = "probe"
    in_a_process: bool = False
    keeps_up: bool = False

    def environment(self) -> dict[str, str]:
        return {**_clean_environment(), "HOME": str(self.index)}

    def version(self) -> str:
        return run([str(self.program), "--version"], self.environment()).output.split()[-1]

    def search(self, query: str, tree: Path, *, sample: bool = False) -> Cost:
        # Tests are among what the others search, so they are asked for here too.
        command = [str(self.program), "search", query, str(tree), "--max-results", LIMIT, "--allow-tests", "-o", "json"]
        cost = run(command, self.environment(), sample=sample)
        _expect(self.paths(cost), self.name, query)
        return cost

    def paths(self, cost: Cost) -> list[str]:
        return [result["file"] for result in json.loads(cost.output[cost.output.index("{") :])["results"]]

    def in_process(self, tree: Path, queries: Path, check: str) -> dict[str, object]:
        raise NotImplementedError("probe is a program only")


@dataclass(frozen=True, slots=True)
class FullText:
    """SQLite's full-text search over pieces of 50 lines: what a short script of one's own would do. It never looks again."""

    index: Path
    name: str = "sqlite-fts5"
    in_a_process: bool = True
    keeps_up: bool = False

    def environment(self) -> dict[str, str]:
        return _clean_environment()

    def version(self) -> str:
        return sqlite3.sqlite_version

    def search(self, query: str, tree: Path, *, sample: bool = False) -> Cost:
        cost = run(self._command(tree, "--ask", query), self.environment(), sample=sample)
        _expect(self.paths(cost), self.name, query)
        return cost

    def paths(self, cost: Cost) -> list[str]:
        return list(json.loads(cost.output)["paths"])

    def in_process(self, tree: Path, queries: Path, check: str) -> dict[str, object]:
        return dict(json.loads(run(self._command(tree, "--queries", str(queries)), self.environment()).output))

    def _command(self, tree: Path, *what: str) -> list[str]:
        return [sys.executable, str(HERE / "drivers" / "full_text.py"), str(tree), str(self.index / "pieces.db"), *what]


Side = Lurcher | Semble | Probe | FullText


def forget(side: Side) -> None:
    """Remove what a program kept, so that its next run is cold."""
    shutil.rmtree(side.index, ignore_errors=True)
    side.index.mkdir(parents=True)


def kept_bytes(side: Side) -> int:
    return sum(path.stat().st_size for path in side.index.rglob("*") if path.is_file())


def beside(python: Path, name: str) -> str:
    """The console script that was installed for an interpreter (its link is not followed: that would leave the venv)."""
    script = python.parent / name
    if not script.exists():
        raise CommandFailed(f"{name} is not installed beside {python.name}")
    return str(script)


def _expect(found: list[str], name: str, query: str) -> None:
    if not found:
        raise CommandFailed(f"{name} found nothing for '{query}': an empty answer is no measurement")
