"""What `--in all` costs and finds: questions about code and about the past, asked of everything and of their own source.

    python benchmarks/across.py --code DATASET --history DATASET … --repos MIRRORS --work FOLDER [--seconds 5] [--out FILE]

MIRRORS holds bare git directories named OWNER+NAME/repo. Each repository is laid out whole, with its documents, its tests and
its history, below --work: so code competes with all that could be mistaken for an answer. Of long histories as much is read
as --seconds allow. Ten hits are asked for, as on a first page; a commit that changed the right file is not the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.evaluation import Run, compare, evaluate

LIMIT = 10


def laid_out(mirror: Path, place: Path, revision: str = "HEAD") -> Path:
    """A work tree of a mirror; files that a mirror lacks stay out."""
    if not place.exists():
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(mirror), str(place)], check=True)
        subprocess.run(["git", "-C", str(place), "checkout", "-q", revision], check=False, capture_output=True)
    return place


def whole(dataset: Path, mirrors: Path, work: Path) -> tuple[Path, Path]:
    """The dataset without its restriction to sub-folders, and the work trees it is about."""
    trees, copied = work / "trees", work / "dataset"
    copied.mkdir(parents=True, exist_ok=True)
    repos = json.loads((dataset / "repos.json").read_text())
    for repo in repos:
        owner, name = repo["url"].removesuffix(".git").rstrip("/").split("/")[-2:]
        laid_out(mirrors / f"{owner}+{name}" / "repo", trees / repo["name"], repo["revision"])
        (copied / f"{repo['name']}.json").write_bytes((dataset / f"{repo['name']}.json").read_bytes())
    kept = [{key: value for key, value in repo.items() if key != "benchmark_root"} for repo in repos]
    (copied / "repos.json").write_text(json.dumps(kept))
    return copied, trees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--code", type=Path)
    parser.add_argument("--history", type=Path, nargs="*", default=[])
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seconds", default="5", help="how long a history may be read")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    overrides = {"history.refresh_seconds": options.seconds, **dict(pair.split("=", 1) for pair in options.set)}

    @contextmanager
    def opened(folder: Path) -> Iterator[Engine]:
        if folder.name == "repo":  # a mirror: its work tree has the same history, and files
            folder = laid_out(folder, options.work / "clones" / folder.parent.name)
        with Engine.open(folder, root=folder, index_dir=options.work / "indexes" / folder.name, overrides=overrides) as engine:
            yield engine

    def asked(dataset: Path, repos: Path, sources: list[str]) -> Run:
        return evaluate(
            dataset, opened, repos=repos, limit=LIMIT, options={"sources": sources}, only=options.only, check_leaks=False
        )  # fmt: skip

    found: dict[str, Any] = {"date": date.today().isoformat(), "limit": LIMIT, "history_seconds": options.seconds}
    pairs = [(*whole(options.code, options.repos, options.work), "code")] if options.code else []
    pairs += [(dataset, options.repos, "history") for dataset in options.history]
    for dataset, repos, source in pairs:
        alone, every = asked(dataset, repos, [source]), asked(dataset, repos, ["all"])
        for before, after, change in zip(alone.summaries, every.summaries, compare(alone, every).variants, strict=True):
            name = f"{dataset.stem if source != 'code' else 'code'}, {before.variant}"
            found[name] = {
                "metric": before.metric, "questions": before.queries, "alone": round(before.headline.mean, 4),
                "all": round(after.headline.mean, 4), "change": change.to_dict(),
                "p50_ms": {"alone": before.latency_ms["p50"], "all": after.latency_ms["p50"]},
            }  # fmt: skip
            print(name, json.dumps({key: value for key, value in found[name].items() if key != "change"}))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")



if __name__ == "__main__":
    main()
