"""SQLite's full-text search on a tree: TREE DATABASE (--ask QUERY | --queries FILE) → JSON on stdout; built if need be."""

import argparse
import json
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

LIMIT, LINES, LARGEST = 10, 50, 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("database", type=Path)
    parser.add_argument("--ask")
    parser.add_argument("--queries", type=Path)
    options = parser.parse_args()
    built = options.database.exists()
    base = sqlite3.connect(options.database)
    if not built:
        base.execute("CREATE VIRTUAL TABLE pieces USING fts5(path, line UNINDEXED, text, tokenize = 'porter unicode61')")
        base.executemany("INSERT INTO pieces VALUES (?, ?, ?)", pieces(options.tree))
        base.commit()
    if options.ask is not None:
        print(json.dumps({"paths": [path for path, _, _ in asked(base, options.ask)]}))
        return
    texts = [text for text in options.queries.read_text("utf-8").split("\n") if text.strip()]
    for text in texts:
        asked(base, text)
    times = []
    for text in texts:
        started = time.perf_counter()
        asked(base, text)
        times.append(1000 * (time.perf_counter() - started))
    count = base.execute("SELECT count(*), count(DISTINCT path) FROM pieces").fetchone()
    print(json.dumps({"ms": times, "files": count[1], "chunks": count[0]}))


def pieces(tree: Path) -> Iterator[tuple[str, int, str]]:
    for path in listed(tree):
        whole = tree / path
        if whole.is_symlink() or not whole.is_file() or whole.stat().st_size > LARGEST:
            continue
        data = whole.read_bytes()
        if b"\0" in data:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        for start in range(0, len(lines), LINES):
            yield path, start + 1, "\n".join(lines[start : start + LINES])


def listed(tree: Path) -> list[str]:
    if (tree / ".git").exists():
        command = ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        found = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")
        return found.rstrip("\0").split("\0")
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())


def asked(base: sqlite3.Connection, query: str) -> list[tuple[str, int, str]]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    select = "SELECT path, line, text FROM pieces WHERE pieces MATCH ? ORDER BY rank LIMIT ?"
    return base.execute(select, (words, LIMIT)).fetchall()


if __name__ == "__main__":
    main()
