#!/usr/bin/env python3
"""Fails if questions find their files less well than before.

    check_eval.py QUESTIONS [--root .] [--metric file_mrr@10] [--floor 0.8]

QUESTIONS is a file for `lurcher eval`; the lurcher on the PATH is used.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description="check retrieval quality against a floor")
    parser.add_argument("questions")
    parser.add_argument("--root", default=".")
    parser.add_argument("--metric", default="file_mrr@10", help="a measure in the JSON of lurcher eval")
    parser.add_argument("--floor", type=float, default=0.8)
    options = parser.parse_args()
    done = subprocess.run(
        ["lurcher", "eval", options.questions, "--root", options.root, "--json"], stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        return done.returncode
    measures = json.loads(done.stdout)["aggregates"]["query"]["mean_over_queries"]
    if options.metric not in measures:
        print(f"no measure {options.metric}; there are: {', '.join(sorted(measures))}", file=sys.stderr)
        return 2
    reached = measures[options.metric]
    print(f"{options.metric} {reached:.3f}, floor {options.floor:.3f}")
    return 0 if reached >= options.floor else 1


if __name__ == "__main__":
    sys.exit(main())
