"""Makes a set with line labels: the first sentence of a documentation comment → the definition under it.

    python benchmarks/doc_comments.py TREE… --out FOLDER [--each 40] [--seed 1]
    lurcher eval FOLDER/set.jsonl --repos FOLDER/trees --work CACHE
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lurcher.errors import LurcherError
from lurcher.evaluation.doc_comments import EACH, write_set


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder for the set and its trees")
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help=f"at most so many per tree (default {EACH})")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parsed = parser.parse_args(arguments)
    try:
        write_set(parsed.trees, parsed.out, each=parsed.each, seed=parsed.seed)
    except LurcherError as error:
        print(f"{error.message}; {error.hint}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
