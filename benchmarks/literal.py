"""Exact text with an index against programs that scan or have an index of their own, on the same tree in the same run.

    python benchmarks/literal.py --tree TREE [--index FOLDER] [--tools FOLDER] [--runs 7] [--out FILE]

Three ways to ask: `in_process` is an open engine's whole search (the tree is looked at, hits are made), `unchecked` the same
without that look, and `command` the whole command line. The time of the others (ripgrep, `git grep`, codesearch: those that are
there) is that of their process; ripgrep and git list the files too, codesearch trusts its index. They print every line that
matches, lurcher counts them all and prints the first ten hits. Words are chosen from the tree itself by how many lines have
them: rare ones (1 to 10), some, common ones.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from about import about, load
from processes import run
from sides import Lurcher, beside
from trees import size, sources

from lurcher.engine import Engine

WORD = re.compile(rb"[A-Za-z_]{6,30}")
EACH, TRIES, SAMPLED = 4, 150, 400
FOUND_OR_NOT = (0, 1)


class Others:
    """The programs that are there, and how each is asked for exact text."""

    def __init__(self, tree: Path, kept: Path, environment: dict[str, str]) -> None:
        self.tree, self.environment = tree, {**environment, "CSEARCHINDEX": str(kept / "codesearch.index")}
        self._kept = kept
        programs = {name: shutil.which(program) for name, program in (("rg", "rg"), ("codesearch", "csearch"))}
        self.programs = {name: path for name, path in programs.items() if path}
        if (tree / ".git").exists() and (git := shutil.which("git")):
            self.programs["git-grep"] = git

    def command(self, name: str, text: str) -> list[str]:
        program = self.programs[name]
        if name == "rg":
            return [program, "-F", "-s", "-n", "-e", text, "."]
        if name == "git-grep":
            return [program, "grep", "-F", "-n", "-e", text]
        return [program, "-n", re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)]

    def milliseconds(self, name: str, text: str, runs: int) -> float:
        return self.command_ms(self.command(name, text), runs)

    def command_ms(self, command: list[str], runs: int) -> float:
        """Milliseconds of the quickest run but the first."""
        costs = [run(command, self.environment, good=FOUND_OR_NOT, folder=self.tree) for _ in range(runs + 1)]
        return 1000 * min(cost.wall for cost in costs[1:])

    def lines(self, text: str) -> int:
        command = [self.programs["rg"], "-F", "-s", "--no-filename", "-c", "-e", text, "."]
        return sum(map(int, run(command, self.environment, good=FOUND_OR_NOT, folder=self.tree).output.split()))

    def build(self) -> dict[str, dict[str, float]]:
        """What the index of codesearch costs."""
        indexer = shutil.which("cindex")
        if "codesearch" not in self.programs or not indexer:
            self.programs.pop("codesearch", None)
            return {}
        cost = run([indexer, str(self.tree)], self.environment)
        kept = Path(self.environment["CSEARCHINDEX"]).stat().st_size
        return {"codesearch": {"wall_s": round(cost.wall, 2), "cpu_s": round(cost.cpu, 2), "index_mb": round(kept / 1e6, 1)}}


def patterns(others: Others, tree: Path) -> dict[str, list[str]]:
    """Words of files all over the tree, by how many lines of it have them; a word may be part of longer ones."""
    files = sources(tree)
    megabytes = max(1.0, sum(path.stat().st_size for path in files) / 1e6)
    seen = Counter(
        word for path in files[:: max(1, len(files) // SAMPLED)] for word in WORD.findall(path.read_bytes())
    )  # fmt: skip
    mixed = sorted(seen, key=lambda word: (zlib.crc32(word), word))
    often = sorted(seen, key=lambda word: (-seen[word], word))
    # Ranges in proportion to the tree: at 120 MB these are about 1,000 and about 30,000 lines.
    ranges: tuple[tuple[str, Iterable[bytes], float, float], ...] = (
        ("rare", (word for word in mixed if seen[word] == 1), 1, 10),
        ("some", often[len(often) // 100 :: 7], 4 * megabytes, 17 * megabytes),
        ("common", often, 80 * megabytes, 500 * megabytes),
    )
    chosen: dict[str, list[str]] = {}
    for name, words, least, most in ranges:
        chosen[name] = []
        for _, word in zip(range(TRIES), words, strict=False):
            if len(chosen[name]) == EACH:
                break
            if least <= others.lines(word.decode()) <= most:
                chosen[name].append(word.decode())
    return {**chosen, "none": ["qzxqzxqzx"], "punctuation": ["=> {", "} else if ("]}


def best_of(runs: int, act: Callable[[], None]) -> float:
    """Milliseconds of the quickest run but the first."""
    found = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        act()
        found.append(1000 * (time.perf_counter() - begun))
    return min(found[1:])


def measured(engine: Engine, tree: Path, text: str, runs: int, others: Others) -> dict[str, Any]:
    command = [beside(Path(sys.executable), "lurcher"), "search", "-F", "-s", text, str(tree), "--json"]
    times = {
        **{name: others.milliseconds(name, text, runs) for name in others.programs},
        "in_process": best_of(runs, lambda: void(engine.search(text, mode="literal", fixed=True, case="exact"))),
        "unchecked": best_of(runs, lambda: void(engine.search(text, mode="literal", fixed=True, case="exact", check=False))),
        "command": others.command_ms(command, runs),
    }
    return {"pattern": text, "lines": others.lines(text), **{name: round(value, 2) for name, value in times.items()}}


def measure(tree: Path, index: Path, kept: Path, runs: int) -> dict[str, Any]:
    environment = Lurcher(index).environment()
    os.environ.update({name: environment[name] for name in ("LURCHER_INDEX_DIR", "LURCHER_CONFIG")})
    others = Others(tree, kept, environment)
    if "rg" not in others.programs:
        raise SystemExit("ripgrep (rg) is not on the PATH: words cannot be chosen without it")
    built = others.build()
    found: dict[str, list[dict[str, Any]]] = {}
    with Engine.open(tree) as engine:
        engine.index()
        for name, texts in patterns(others, tree).items():
            for text in texts:
                found.setdefault(name, []).append(measured(engine, tree, text, runs, others))
                print(name, json.dumps(found[name][-1]), file=sys.stderr, flush=True)
    return {"build": built, "patterns": found}


def void(_: object) -> None:
    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--index", type=Path, help="where to keep the index (default: a temporary folder)")
    parser.add_argument("--tools", type=Path, help="a folder with the programs of others, looked at before the PATH")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tree = options.tree.resolve()
    use(options.tools)
    result: dict[str, Any] = {"about": {**about(), "load_before": load()}, "tree": size(tree)}
    with tempfile.TemporaryDirectory(prefix="literal-") as temporary:
        result |= measure(tree, options.index or Path(temporary) / "index", Path(temporary), options.runs)
    result["about"]["load_after"] = load()
    text = json.dumps(result, indent=1) + "\n"
    if options.out:
        options.out.write_text(text, "utf-8")
    print(text)


def use(tools: Path | None) -> None:
    """Programs from a folder of the caller's, then those beside the interpreter, then the usual ones."""
    folders = [*([str(tools.resolve())] if tools else []), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    os.environ["PATH"] = os.pathsep.join(folders)


if __name__ == "__main__":
    main()
