"""From nothing to the table: `python -m training --work DIR`. Every step can be interrupted and goes on where it stopped."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lurcher.vectors.table import CARD, FIELDS, VERSION, VIEWS, write_table
from training import card, corpus, download, grams, teacher
from training.pairs import KINDS
from training.train import Recipe, start, train

HOME = Path(__file__).resolve().parent
OUT = HOME.parent / "src" / "lurcher" / "embedding" / "builtin.table"
TERMS = 60_000
BUCKETS = 8_192
GRAM_LENGTHS = (3, 4, 5)
GRAM_WEIGHT_QUERY = 0.5
GRAM_WEIGHT_DOCUMENT = 0.0
"""What a composed vector counts. In a document the compounds that the table does not know stand beside their parts."""
BITS = 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for packages, pairs and everything else that is kept")
    parser.add_argument("--out", type=Path, default=OUT, help="where the table is written")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes that cut packages into pairs")
    parser.add_argument("--no-fetch", action="store_true", help="use the packages that are there")
    parser.add_argument("--bench", type=Path, help="labelled questions to evaluate the table on (see docs/evaluation.md)")
    parser.add_argument("--repos", type=Path, help="where the repositories of those questions lie")
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    if not options.no_fetch and (gone := download.fetch(work)):
        names = ", ".join(f"{package.name} {package.version}" for package in gone)
        raise SystemExit(f"not to be had as pinned: {names}\n(--no-fetch trains on the others; the table will differ)")
    reports = corpus.cut_packages(work, options.jobs, _progress("cutting packages"))
    for report in reports:
        if "error" in report:
            print(f"left out: {report['package']} ({report['error']})", file=sys.stderr)
    touched = [report for report in reports if report.get("removed") or report.get("removed_files")]
    (work / "removed.jsonl").write_text("".join(json.dumps(report, sort_keys=True) + "\n" for report in touched))
    useful = [work / "pairs" / report["file"] for report in reports if report.get("pairs")]
    loaded = corpus.load(useful, _progress("loading pairs"))
    chosen = corpus.vocabulary(loaded, TERMS)
    terms = [loaded.terms[i] for i in chosen]
    pairs, idf = corpus.matrices(loaded, chosen, FIELDS)
    facts = {
        "packages": len(useful),
        "packages_removed": [report["package"] for report in reports if report.get("removed")],
        "files_removed": sum(len(report.get("removed_files", ())) for report in reports if not report.get("removed")),
        "megabytes": round(sum(sum(report.get("bytes", {}).values()) for report in reports) / 1e6),
        "pairs": len(pairs.package),
        "kinds": {kind: int(count) for kind, count in zip(KINDS, np.bincount(pairs.kind, minlength=len(KINDS)), strict=True)},
        "languages": _languages(loaded),
        "licences": dict(Counter(package.licence for package in download.packages(work)).most_common(12)),
    }
    del loaded
    recipe = Recipe(seed=options.seed)
    first = start(len(terms), recipe.dims, idf, recipe.seed, teacher.term_vectors(terms, work, recipe.dims))
    begun = time.monotonic()
    losses: list[float] = []

    def tell(step: int, steps: int, loss: float) -> None:
        losses.append(loss)
        if step % 100 == 0 or step == steps:
            print(f"training: {step}/{steps}, loss {loss:.3f}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)

    trained = train(pairs, len(terms), recipe, first, tell)
    np.savez(work / "trained.npz", table=trained.table, query=trained.query_weights, document=trained.document_weights)
    (work / "terms.txt").write_text("\n".join(terms), encoding="utf-8", errors="surrogatepass")
    frequency = np.bincount(pairs.documents.ids, minlength=len(terms)).astype(np.float64)
    composed = grams.fit(terms, trained.table, frequency, GRAM_LENGTHS, BUCKETS)
    facts |= {"seed": options.seed, "loss": round(losses[-1], 4) if losses else None, "recipe": asdict(recipe)}
    table = write_table(
        options.out, terms, trained.table, trained.query_weights, trained.document_weights, composed,
        {
            "version": VERSION, "name": "lurcher-terms-1", "compose": "grams", "gram_lengths": list(GRAM_LENGTHS),
            "gram_weight_query": GRAM_WEIGHT_QUERY, "gram_weight_document": GRAM_WEIGHT_DOCUMENT,
            "fields": FIELDS, "card": CARD, "views": VIEWS, "licence": "Apache-2.0",
            "training": {key: facts[key] for key in ("packages", "megabytes", "pairs", "seed", "loss")},
        },
        BITS,
    )  # fmt: skip
    (work / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    card.write(HOME / "MODEL_CARD.md", facts, table)
    print(f"{options.out}: {len(terms)} terms, {recipe.dims} dimensions, {table.size / 1e6:.1f} MB, digest {table.digest}")
    return _evaluate(options.bench, options.repos, work, options.out) if options.bench else 0


def _evaluate(bench: Path, repos: Path | None, work: Path, table: Path) -> int:
    """Score the table as it will be used, with the ranking as it is."""
    command = [sys.executable, "-m", "lurcher", "eval", str(bench), "--work", str(work / "evaluation"), "-q"]
    command += ["--set", f"dense.model={table.resolve()}", "--save", str(work / "evaluation.json")]
    return subprocess.run(command + (["--repos", str(repos)] if repos else []), check=False).returncode


def _progress(what: str) -> Callable[..., None]:
    def tell(done: int, total: int = 0) -> None:
        if done % 200 == 0 or done == total:
            print(f"{what}: {done}{f'/{total}' if total else ''}", file=sys.stderr, flush=True)

    return tell


def _languages(loaded: Any) -> dict[str, int]:
    counts = np.bincount(loaded.language, minlength=len(loaded.languages))
    return {loaded.languages[i]: int(counts[i]) for i in np.argsort(-counts, kind="stable")[:24]}


if __name__ == "__main__":
    sys.exit(main())
