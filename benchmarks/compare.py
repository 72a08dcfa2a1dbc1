"""lurcher against its peers on the same trees in one run: one command, a table, a plot, a dated result.

    python benchmarks/compare.py --tree TREE [--tree TREE …] --peer-python PEER/bin/python --peer-model MODEL_FOLDER
                                 [--tools FOLDER] [--change-tree TREE] [--runs 5] [--plot FILE.svg] [--out FILE.json]

Run it with the interpreter that lurcher is installed for, on a machine that does nothing else. Every program gets copies of
the trees, an empty index folder and no settings of the user; every measurement is a fresh process, the sides take turns, and
a ratio is peer / lurcher. A peer that is not there is left out, and the result says so. What is done is saved after each tree.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bars
import literal
from about import HERE, about, dated, load
from compare_plot import drawn
from measures import Field, measure_change, measure_cold, measure_floor, measure_in_process, measure_warm, say, warm_up
from processes import CommandFailed, run
from sides import FullText, Lurcher, Probe, Semble, Side
from trees import copy, size

from tables import aligned, compare_tables

WARM_QUERIES = 10


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    literal.use(options.tools)
    out = options.out or dated("compare")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="compare-") as scratch:
        base = Path(scratch).resolve()
        sides, absent = _sides(options, base)
        field = Field(sides)
        warm_up(field, base / "tiny")
        sides = field.still()
        result: dict[str, Any] = {
            "about": {
                **about(), "runs": options.runs, "queries": len(_lines(options.queries)), "load_before": load(),
                "sides": {side.name: side.version() for side in sides} | _versions(), "left_out": absent | field.left_out,
            },
            "trees": [],
        }  # fmt: skip
        for number, original in enumerate(options.tree):
            result["trees"].append(_tree(copy(original, base / f"tree{number}"), sides, options, base))
            shutil.rmtree(base / f"tree{number}")
            _save(result, out)
        if options.change_tree:
            tree = copy(options.change_tree, base / "change")
            result["change"] = {**size(tree), **measure_change(Field(sides), tree, _lines(options.queries)[0], options.runs)}
    result["about"]["load_after"] = load()
    _save(result, out)
    if options.plot:
        options.plot.write_text(drawn(result), "utf-8")
    print("\n\n".join(f"{title}\n{aligned(rows)}" for title, rows in compare_tables(result)))
    print(f"\nsaved: {out.name}")
    return 0


def _sides(options: argparse.Namespace, base: Path) -> tuple[list[Side], dict[str, str]]:
    sides: list[Side] = [Lurcher(base / "index-lurcher")]
    absent: dict[str, str] = {}
    if options.peer_python and options.peer_model:
        model = options.peer_model.resolve()
        sides.append(Semble(base / "index-semble", options.peer_python.absolute(), model, options.peer_content))
    else:
        absent["semble"] = "no --peer-python and --peer-model"
    if probe := shutil.which("probe"):
        sides.append(Probe(base / "home-probe", Path(probe)))
    else:
        absent["probe"] = "not on the PATH"
    sides.append(FullText(base / "index-sqlite"))
    for name, program in (("rg", "rg"), ("codesearch", "csearch")):
        if not shutil.which(program):
            absent[name] = "not on the PATH"
    absent |= dict.fromkeys(options.without, "on request")
    return [side for side in sides if side.name not in options.without], absent


def _tree(tree: Path, sides: Sequence[Side], options: argparse.Namespace, base: Path) -> dict[str, Any]:
    queries, field = _lines(options.queries), Field(sides)
    found: dict[str, Any] = {**size(tree), "load_before": load()}
    say(f"tree: {found['files']} files, {found['bytes'] / 1e6:.1f} MB")
    found["cold"] = measure_cold(field, tree, queries[0], options.runs)
    in_text = Lurcher(sides[0].index, text=True, name="lurcher_text")
    found["warm"] = measure_warm(field.joined_by(in_text), tree, queries[:WARM_QUERIES], options.runs)
    found |= measure_in_process(field, tree, options.queries, options.runs)
    found["floor"] = measure_floor(Lurcher(sides[0].index), tree, options.runs)
    if shutil.which("rg"):
        found["literal"] = _literal(tree, sides[0].index, options, base)
    found |= {"left_out": field.left_out, "notes": field.notes, "load_after": load()}
    found["bars"] = bars.checked(found)
    return found


def _literal(tree: Path, index: Path, options: argparse.Namespace, base: Path) -> dict[str, Any]:
    """In a process of its own, since it holds an engine open."""
    out = base / "literal.json"
    command = [sys.executable, str(HERE / "literal.py"), "--tree", str(tree), "--index", str(index), "--out", str(out)]
    tools = ["--tools", str(options.tools)] if options.tools else []
    run([*command, *tools, "--runs", str(options.runs)], Lurcher(index).environment())
    found = json.loads(out.read_text("utf-8"))
    return {"build": found["build"], "patterns": found["patterns"]}


def _versions() -> dict[str, str]:
    """Of the programs that the search for exact text is compared with."""
    found = {}
    for name, program in (("rg", "rg"), ("git-grep", "git")):
        if path := shutil.which(program):
            try:
                words = run([path, "--version"], {}).output.split()
            except CommandFailed:
                continue
            found[name] = next((word for word in words if word[0].isdigit()), "?")
    return found


def _lines(queries: Path) -> list[str]:
    return [line for line in queries.read_text("utf-8").split("\n") if line.strip()]


def _save(result: dict[str, Any], out: Path) -> None:
    out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, action="append", required=True, help="a source tree; bars are for 20 and 120 MB")
    parser.add_argument("--change-tree", type=Path, help="a tree of about 2,000 files, for the one-file change")
    parser.add_argument("--peer-python", type=Path, help="the interpreter that semble is installed for")
    parser.add_argument("--peer-model", type=Path, help="a local Model2Vec folder for semble")
    parser.add_argument("--peer-content", choices=("code", "all"), default="code", help="what semble indexes")
    parser.add_argument("--tools", type=Path, help="a folder with rg, probe, csearch and cindex, looked at before the PATH")
    parser.add_argument("--without", action="append", default=[], help="a side to leave out, by name")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt", help="one question per line")
    parser.add_argument("--runs", type=int, default=5, help="how often each side runs (default: 5)")
    parser.add_argument("--plot", type=Path, help="an SVG to draw")
    parser.add_argument("--out", type=Path, help="where to save (default: results/YYYY-MM-DD-compare.json)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
