"""Work trees of one repository: what each further one costs until its first answer, and on disk.

    python benchmarks/worktrees.py REPOSITORY [--work-trees 10] [--edits 40]

The repository is cloned to a temporary folder and indexed. Then work trees are added one after the other, each is asked one
question, as a new process, and its answer is compared with that of an index made from nothing. After that, files of each are
edited and asked about again, in turns, so that segments are added and merged. Disk is what the file system gives for all index
folders together, each file counted once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from about import about, dated, load
from measures import say
from processes import Cost, run
from sides import beside

QUESTION = "how are retries limited"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--work-trees", type=int, default=10)
    parser.add_argument("--edits", type=int, default=40, help="files edited in each work tree, in ten turns")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        result = measure(options.repository, Path(folder), options.work_trees, options.edits)
        out = options.out or dated("worktrees")
        out.write_text(json.dumps({**about(), "load": load(), **result}, indent=1) + "\n", "utf-8")
        say(f"written to {out}")
    return 0


def measure(repository: Path, folder: Path, count: int, edits: int) -> dict[str, Any]:
    tops = [folder / "main"]
    git(folder, "clone", "-q", str(repository), "main")
    first = search(tops[0], "index")
    files = len(git(tops[0], "ls-files").splitlines())
    one = disk_bytes(tops)
    say(f"{files:,} files; first index {first.cpu:.1f} s of CPU, {one / 1e6:.1f} MB")
    added = []
    for number in range(1, count):
        tops.append(folder / f"w{number}")
        git(tops[0], "worktree", "add", "-q", "--detach", str(tops[-1]))
        before = disk_bytes(tops)
        cost = search(tops[-1])
        extra = disk_bytes(tops) - before
        added.append({"wall_s": round(cost.wall, 3), "cpu_s": round(cost.cpu, 3), "disk_bytes": extra})
        say(f"work tree {number}: {cost.wall:.2f} s, {cost.cpu:.2f} s of CPU, {extra / 1e6:.2f} MB")
    again = {top.name: [round(search(top).cpu, 3) for _ in range(3)] for top in tops[:2]}
    unedited = disk_bytes(tops)
    same = hits(search(tops[1])) == hits(from_nothing(tops[1], folder))
    chance = random.Random(1)
    for _ in range(10):
        for top in tops:
            edit(top, chance, edits // 10)
            search(top)
    edited = disk_bytes(tops)
    same_edited = hits(search(tops[1])) == hits(from_nothing(tops[1], folder))
    say(f"{count} work trees: {unedited / one:.2f} of one index; after edits {edited / one:.2f}")
    return {
        "files": files, "first_index": {"wall_s": round(first.wall, 3), "cpu_s": round(first.cpu, 3), "disk_bytes": one},
        "added": added, "next_searches_cpu_s": again, "work_trees": count,
        "disk_bytes": unedited, "disk_ratio": round(unedited / one, 4), "answers_equal": same,
        "edited_files_each": edits, "disk_bytes_edited": edited, "disk_ratio_edited": round(edited / one, 4),
        "answers_equal_edited": same_edited,
    }  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def search(top: Path, command: str = "search", **environment: str) -> Cost:
    program = beside(Path(sys.executable), "lurcher")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LURCHER_", "PYTHON"))}
    question = [QUESTION] if command == "search" else []
    return run([program, command, *question, str(top), "--json"], {**kept, "LURCHER_CONFIG": os.devnull, **environment})


def from_nothing(top: Path, folder: Path) -> Cost:
    search(top, "index", LURCHER_INDEX_DIR=str(folder / "fresh"))
    return search(top, LURCHER_INDEX_DIR=str(folder / "fresh"))


def hits(cost: Cost) -> Any:
    return json.loads(cost.output)["hits"]


def disk_bytes(tops: Iterable[Path]) -> int:
    """What the index folders take together; a file with several names counts once."""
    files = [path.lstat() for top in tops for path in (top / ".lurcher").rglob("*")]
    return sum({(status.st_dev, status.st_ino): status.st_blocks * 512 for status in files}.values())


def edit(top: Path, chance: random.Random, count: int) -> None:
    names = git(top, "ls-files", "*.go", "*.py", "*.rs", "*.ts").splitlines()
    for name in chance.sample(names, min(count, len(names))):
        path = top / name
        if path.is_file() and not path.is_symlink():
            path.write_bytes(path.read_bytes() + f"\n// edit {chance.random()}\n".encode())


if __name__ == "__main__":
    sys.exit(main())
