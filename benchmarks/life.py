"""What keeping an index costs: memory and disk for a large tree, a look at an unchanged one, a change of one file.

    python benchmarks/life.py --large TREE --many TREE [--runs 7] [--out FILE]

`--large` is only read. `--many` (a git work tree of about 10,000 files) is cloned, and single files of the clone are changed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from processes import run

from lurcher.engine import Engine
from lurcher.storage.container import Container

QUERY = "where is the response parsed"


def best_of(runs: int, prepare: Callable[[int], None], act: Callable[[], None]) -> float:
    """Milliseconds of the quickest run."""
    found = []
    for number in range(runs + 1):
        prepare(number)
        begun = time.perf_counter()
        act()
        found.append(1000 * (time.perf_counter() - begun))
    return round(min(found[1:]), 1)


def large(tree: Path) -> dict[str, float]:
    """Peak memory of a cold build over all its processes, and the size of what it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lurcher", "index", "-q", str(tree)]
        cost = run(command, {**os.environ, "LURCHER_INDEX_DIR": folder}, sample=True)
        segments = [Container.open(path) for path in Path(folder).rglob("*.segment")]
        text = sum(segment.length("text") for segment in segments)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        return {
            "files": sum(segment.meta["files"] for segment in segments), "text_mb": round(text / 1e6, 1),
            "index_mb": round(size / 1e6, 1), "index_to_text": round(size / text, 3),
            "memory_tree_mb": round(cost.tree_rss / 1e6, 1),
            "memory_largest_mb": round(cost.largest_rss / 1e6, 1), "wall_s": round(cost.wall, 1), "cpu_s": round(cost.cpu, 1),
        }  # fmt: skip


def many(tree: Path, runs: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", str(tree), str(clone)], check=True)
        command = [sys.executable, "-m", "lurcher", "search", QUERY, "--json", str(clone)]

        def ask() -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        with Engine.open(clone) as engine:
            engine.index()
        time.sleep(3)  # young time stamps are not believed
        ask(), ask()
        with Engine.open(clone) as engine:
            files = engine.status()["files"]
            project = engine.projects[0]
            project.view(lambda *_: None)
            check = best_of(runs, lambda _: None, lambda: project.view(lambda *_: None))
            alone = best_of(runs, lambda _: None, lambda: engine.search(QUERY, check=False))
            whole = best_of(runs, lambda _: None, lambda: engine.search(QUERY))
        unchanged = best_of(runs, lambda _: None, ask)
        changed = {}
        for suffix in (".py", ".js", ".go", ".java", ".cc"):
            file = next(files_of(clone, suffix), None)
            if file is not None:
                text = file.read_bytes()
                mark = b"#" if suffix == ".py" else b"//"
                times = best_of(runs, lambda n, f=file, t=text, m=mark: f.write_bytes(t + m + b" %d\n" % n), ask)  # type: ignore[misc]
                changed[suffix] = round(times - unchanged, 1)
        return {
            "files": files, "check_ms": check, "query_ms": alone, "query_with_check_ms": whole, "cli_unchanged_ms": unchanged,
            **{f"cli_one_file_more_ms{suffix}": value for suffix, value in changed.items()},
        }  # fmt: skip


def files_of(tree: Path, suffix: str) -> Iterator[Path]:
    for path in sorted(tree.rglob(f"*{suffix}")):
        if 5_000 < path.stat().st_size < 20_000:
            yield path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--many", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, object] = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "python": sys.version.split()[0]}
    if options.large:
        found["large"] = large(options.large)
    if options.many:
        found["many"] = many(options.many, options.runs)
    text = json.dumps(found, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
