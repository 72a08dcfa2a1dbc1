"""Record golden answers, or check them: `python -m tests.golden record|check [--large DIR] [TREE …]`."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.golden import answers
from tests.golden.trees import HERE, LARGE, SMALL, Large, Small, Unavailable, build, clone

RECORDED = HERE / "recorded"
UNAVAILABLE = 3
"""The exit status when a tree could not be made and nothing else was wrong."""
_SHOWN = 10
"""Differences of one tree that are printed in full."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("action", choices=("record", "check"))
    default = f"default: {', '.join(SMALL)}; with --large: {', '.join(LARGE)}"
    parser.add_argument("trees", nargs="*", metavar="TREE", help=default)
    parser.add_argument("--large", metavar="DIR", type=Path, help=f"a folder with clones of {', '.join(LARGE)}")
    parser.add_argument("--write", metavar="DIR", type=Path, help="write all answers in full to this folder")
    parser.add_argument("--in", dest="scratch", metavar="DIR", type=Path, help="build the trees in this folder and keep them")
    options = parser.parse_intermixed_args(arguments)
    names = options.trees or list(LARGE if options.large else SMALL)
    unknown = [name for name in names if name not in SMALL and name not in LARGE]
    if unknown:
        parser.error(f"unknown tree: {', '.join(unknown)}")
    scratch = options.scratch or Path(tempfile.mkdtemp(prefix="golden-"))
    answers.isolate(scratch / "home")
    worst = 0
    try:
        for name in names:
            tree = SMALL.get(name) or LARGE[name]
            try:
                found = answer_all(tree, scratch.resolve(), options.large)
            except Unavailable as error:
                print(f"{name}: skipped: {error}")
                worst = max(worst, UNAVAILABLE) if worst != 1 else 1
                continue
            if options.write:
                write(found, options.write / name)
            differences = compare(name, found)
            if options.action == "record":
                record(tree, found)
            elif differences:
                worst = 1
    finally:
        if options.scratch is None:
            shutil.rmtree(scratch, ignore_errors=True)
    return worst


def answer_all(tree: Small | Large, scratch: Path, checkouts: Path | None) -> list[answers.Answer]:
    """Build the tree, index it, ask all of its questions."""
    began, used = time.monotonic(), time.process_time()
    shutil.rmtree(scratch / tree.name, ignore_errors=True)
    if isinstance(tree, Small):
        folder = build(tree, scratch)
    elif checkouts is None:
        raise Unavailable("name a folder with a clone of it by --large")
    else:
        folder = clone(tree, checkouts.resolve(), scratch)
    made = time.monotonic()
    answers.index(tree, folder)
    indexed = time.monotonic()
    found = list(answers.ask(tree, folder, answers.read_questions(tree.name)))
    ended = time.monotonic()
    print(
        f"{tree.name}: {len(found)} answers; built in {made - began:.1f} s, indexed in {indexed - made:.1f} s, "
        f"asked in {ended - indexed:.1f} s, {time.process_time() - used:.1f} s of processor time"
    )
    return found


def compare(name: str, found: Sequence[answers.Answer]) -> int:
    """Print what differs from what is recorded, and return how many answers do."""
    head, recorded = read(name)
    if not recorded:
        print(f"{name}: nothing is recorded")
        return len(found)
    wording = different = 0
    for answer in found:
        old = recorded.pop(answer.question.text, None)
        if old is None:
            print(f"{name}: not recorded: {answer.question.text}")
            different += 1
        elif old["sha256"] != answer.sha256:
            same = old["digest"] == list(answer.digest)
            wording += same
            different += 1
            if different <= _SHOWN:
                print(f"{name}: {answer.question.text}")
                _print_difference(old["digest"], answer.digest)
    for question in recorded:
        print(f"{name}: recorded, but no longer asked: {question}")
        different += 1
    if different:
        print(f"{name}: {different} answers differ, {wording} of them only in what the digest does not show")
        here = answers.versions()
        other = [f"{key} {value} (here {here.get(key)})" for key, value in head["versions"].items() if here.get(key) != value]
        if other:
            print(f"{name}: recorded with other versions: {', '.join(other)}")
        print("To see the answers in full: check --write DIR, here and in a checkout of the version before, then diff -r.")
    else:
        print(f"{name}: all {len(found)} answers are as recorded")
    return different


def _print_difference(old: Sequence[str], new: Sequence[str]) -> None:
    if list(old) == list(new):
        print("    same places and scores; the full output differs")
        return
    for line in difflib.unified_diff(list(old), list(new), "recorded", "now", n=1, lineterm=""):
        if not line.startswith("@@"):
            print(f"    {line}")


def read(name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The head of what is recorded of a tree, and the recorded answers by question."""
    path = RECORDED / f"{name}.jsonl"
    if not path.exists():
        return {}, {}
    head, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return head, {row["question"]: row for row in rows}


def record(tree: Small | Large, found: Sequence[answers.Answer]) -> None:
    RECORDED.mkdir(exist_ok=True)
    head = {"tree": tree.name, "head": tree.head, "versions": answers.versions()}
    rows = sorted((answer.to_record() for answer in found), key=lambda row: str(row["question"]))
    lines = [json.dumps(row, ensure_ascii=False) for row in (head, *rows)]
    (RECORDED / f"{tree.name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(found: Sequence[answers.Answer], folder: Path) -> None:
    """Write each answer in full to a file named after the question; JSON is indented, so that it can be compared."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, answer in enumerate(found):
        name = re.sub(r"[^A-Za-z0-9]+", "-", answer.question.text).strip("-")[:80]
        status, out, *rest = answer.output.split("\n", 2)
        try:
            body = "\n".join([status, json.dumps(json.loads(out), indent=1, ensure_ascii=False), *rest])
        except ValueError:
            body = answer.output
        (folder / f"{number:03}-{name}.txt").write_text(f"{answer.question.text}\n{body}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
