"""Compares term tables behind the same fields and the same ranking: quality on a labelled set, size, and index time.

    python benchmarks/models.py --bench BENCH --repos REPOS --work WORK --tree TREE [NAME=TABLE ...]

`none` (no dense lane) and `builtin` are always measured; a Model2Vec folder is turned into a table by `lurcher model use`.
A file NAME=VECTORS.npz (arrays `terms`, `vectors`) becomes a table first: each term at weight 1, unseen terms left out.
Index times are the best of `--runs` fresh processes, taken in turns.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lurcher.vectors import BUILTIN_FILE
from lurcher.vectors.table import VERSION, Table, write_table

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("models", nargs="*", metavar="NAME=TABLE")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    models: dict[str, str] = {"none": "none", "builtin": "builtin"}
    for given in options.models:
        name, _, path = given.partition("=")
        models[name] = str(_table(Path(path), options.work / f"{name}.table"))
    rows: dict[str, dict[str, Any]] = {name: {"index_seconds": []} for name in models}
    for _ in range(options.runs):
        for name, model in models.items():
            rows[name]["index_seconds"].append(_index(options.tree, model))
    for name, model in models.items():
        rows[name] |= _quality(options, name, model) | _shape(model)
        print(_line(name, rows[name]), flush=True)
    out = RESULTS / f"{datetime.date.today().isoformat()}-models.json"
    out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    print(f"saved: {out.name}")
    return 0


def _table(path: Path, target: Path) -> Path:
    """A table file; arrays of terms and vectors are written as one."""
    if path.suffix != ".npz":
        return path.resolve()
    with np.load(path) as stored:
        terms, vectors = [str(term) for term in stored["terms"]], stored["vectors"].astype(np.float32)
    ones = np.ones(len(terms), np.float32)
    write_table(target, terms, vectors, ones, ones, None, {"version": VERSION, "name": path.stem, "compose": "none"}, 8)
    return target.resolve()


def _index(tree: Path, model: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LURCHER_INDEX_DIR": folder, "LURCHER_DENSE_MODEL": model}
        begun = time.perf_counter()
        command = [sys.executable, "-m", "lurcher", "index", str(tree), "-q"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return round(time.perf_counter() - begun, 3)


def _quality(options: argparse.Namespace, name: str, model: str) -> dict[str, Any]:
    saved = options.work / f"{name}.json"
    command = [sys.executable, "-m", "lurcher", "eval", str(options.bench), "--repos", str(options.repos), "-q"]
    command += ["--work", str(options.work / name), "--set", f"dense.model={model}", "--save", str(saved)]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads(saved.read_text("utf-8"))["aggregates"]["query"]
    kinds = {kind: round(values["scores"]["ndcg@10"], 4) for kind, values in found["categories"].items()}
    return {"ndcg@10": round(found["headline"]["mean"], 4), "categories": kinds}


def _shape(model: str) -> dict[str, Any]:
    if model == "none":
        return {"bytes": 0, "dims": 0, "terms": 0}
    table = Table.open(BUILTIN_FILE if model == "builtin" else Path(model))
    return {"bytes": table.size, "dims": table.dims, "terms": len(table)}


def _line(name: str, row: dict[str, Any]) -> str:
    kinds = "  ".join(f"{kind} {value:.4f}" for kind, value in row["categories"].items())
    size = f"{row['bytes'] / 1e6:5.1f} MB  index {min(row['index_seconds']):6.2f} s"
    return f"{name:>14}  {size}  NDCG@10 {row['ndcg@10']:.4f}  {kinds}"


if __name__ == "__main__":
    sys.exit(main())
