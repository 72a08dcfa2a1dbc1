"""What a history index costs: the newest 500 commits, 2,000, all of them, one more, and a look when nothing changed.

    python benchmarks/history_index.py REPOSITORY… [--runs 3] [--out FILE]

Every figure is the best of some fresh processes with an empty index folder, wall time from start to exit; memory is the largest
sum over all live processes, git's among them, sampled in a run of its own. Repositories are cloned first, and may be bare.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from processes import Cost, run

DRIVER = Path(__file__).resolve().parent / "drivers" / "history_fill.py"
PARTS: dict[str, tuple[str, ...]] = {
    "first_500": ("--seconds", "0"),
    "newest_2000": ("--most", "2000"),
    "all": (),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {"date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "runs": options.runs, "repositories": {}}
    for repository in options.repositories:
        name = (repository.parent if repository.name == "repo" else repository).name
        with tempfile.TemporaryDirectory() as folder:
            found["repositories"][name] = measured(repository, Path(folder), options.runs)
        print(name, json.dumps(found["repositories"][name]), flush=True)
    found["load"] = round(os.getloadavg()[1], 2)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def measured(repository: Path, folder: Path, runs: int) -> dict[str, Any]:
    clone = folder / "clone"
    subprocess.run(["git", "clone", "-q", "--no-checkout", str(repository.resolve()), str(clone)], check=True)
    figures: dict[str, Any] = {}
    for part, arguments in PARTS.items():
        # The largest takes as long as all others together; its best run differs little from its first.
        times = 1 if part == "all" else runs
        costs = [filled(clone, folder / f"{part}-{number}", arguments) for number in range(times)]
        sampled = filled(clone, folder / f"{part}-sampled", arguments, sample=True)
        best = min(costs, key=lambda cost: cost.wall)
        figures[part] = {
            "wall": round(best.wall, 2), "cpu": round(best.cpu, 2), "memory_mb": round(sampled.tree_rss / 1e6),
            **json.loads(best.output),
        }  # fmt: skip
    figures["one_more"] = one_more(clone, folder / "all-0")
    return figures


def filled(clone: Path, index: Path, arguments: tuple[str, ...], *, sample: bool = False) -> Cost:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LURCHER_")}
    return run([sys.executable, str(DRIVER), str(clone), str(index), *arguments], environment, sample=sample)


def one_more(clone: Path, index: Path) -> dict[str, Any]:
    """The next look after a commit."""
    who = ("-c", "user.name=n", "-c", "user.email=e@example.invalid")
    tree = subprocess.run(["git", "rev-parse", "HEAD~1^{tree}"], cwd=clone, check=True, capture_output=True, text=True).stdout
    command = ["git", *who, "commit-tree", "-p", "HEAD", "-m", "one more", tree.strip()]
    sha = subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "update-ref", "HEAD", sha], cwd=clone, check=True)
    cost = filled(clone, index, ())
    return {"wall": round(cost.wall, 2), **{key: json.loads(cost.output)[key] for key in ("seconds", "commits")}}


if __name__ == "__main__":
    main()
