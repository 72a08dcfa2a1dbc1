"""What an agent reads until it has seen the lines that answer its question: tokens and calls, without a language model.

python benchmarks/agents.py DATASET[:N] … --repos MIRRORS --work FOLDER [--peer-python PYTHON --peer-model MODEL] [--save]

DATASET has questions with line labels (`lurcher eval` reads the same). A side answers a question in calls, and each call is a
text. The reader starts at the top of the first text and goes on to the next call when it is at the end. It stops at the first
labelled line, and at the line with which it has read 80 % of them. `tokens` is what it has read until then, `paid` the same
with the last call to its end, in tokens of cl100k_base. After 50,000 tokens it gives up.

lurcher       the text of the MCP tool `search`, from a real server, then that of the next pages
grep-…        the three greps of `lurcher eval`: grep-files reads one file a call after the grep itself, the others see 30,000
              characters of the output a call. In which order to read, they know for free
semble        the text of its MCP tool `search` with its defaults: five results of ten lines; then ten, twenty, … of which only
              what is new is counted
semble-whole  the same with whole chunks

Answers are kept below --work, a file for each side and dataset, so a run can be stopped at any time; delete the file to ask
again. Indexes of lurcher are kept there too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from about import HERE, about, dated, load
from sides import Semble

from lurcher.answer import count_tokens
from lurcher.evaluation.baselines import BASELINES, FILES, GrepSearcher, read_lines, ripgrep_version
from lurcher.evaluation.datasets import Place, Task, load_dataset
from lurcher.evaluation.spans import NEVER
from lurcher.evaluation.trees import export_tree

ENOUGH = 0.8
OUTPUT_CHARACTERS = 30_000
"""Of the output of a command, what an agent is shown at once."""
GREP_PLACES = 400
SEMBLE = {"semble": "10", "semble-whole": "whole"}
SIDES = ("lurcher", *BASELINES, *SEMBLE)
Piece = tuple[str, str | None, int | None]
"""Some text; and if it is a line of a file, which."""
Ask = Callable[[str], Iterable[Sequence[Piece]]]
"""The calls that answer a question, each made when it is read."""


# -- the sides: from a folder to a function that answers --------------------------------------------------------------


def mcp_benchmark() -> Any:
    """The script mcp.py beside this one, which has the name of a package."""
    spec = importlib.util.spec_from_file_location("mcp_benchmark", HERE / "mcp.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Lurcher:
    """One server for all trees, which a call names as its project."""

    def __init__(self, work: Path) -> None:
        self._index = work / "lurcher-index"
        self._server = mcp_benchmark().Server(work, self._index)

    @contextmanager
    def open(self, tree: Path) -> Iterator[Ask]:
        from lurcher import Engine

        # Here and not in the server, which would start processes for every tree.
        with Engine.open(tree, overrides={"index.dir": str(self._index), "index.workers": 1}) as engine:
            engine.index()

        def ask(question: str) -> Iterator[Sequence[Piece]]:
            given = {"query": question, "project": str(tree)}
            while True:
                text = self._server.call("search", **given)["content"][0]["text"]
                yield list(lines_shown(tree, text))
                following = re.search(r"; more: cursor=(\S+)$", text)
                if following is None:
                    return
                given["cursor"] = following[1]

        yield ask

    def close(self) -> None:
        self._server.close()


HEADING = re.compile(r"(.*?):(\d+)-(\d+)(?: .*)?")


def lines_shown(tree: Path, text: str) -> Iterator[Piece]:
    """Every line of an answer; below a heading, those that are the file's lines that it names. Signatures do not count."""
    rows = text.split("\n")
    path, at, place = "", 0, (0, 0)
    known: dict[str, list[str]] = {}
    while at < len(rows):
        heading = HEADING.fullmatch(rows[at])
        if heading is not None and (heading[1] or path):
            named = heading[1] or path
            if named not in known:
                known[named] = read_lines(tree / named)
            place = int(heading[2]), int(heading[3])
            inside = [row.rstrip("\r") for row in known[named][place[0] - 1 : place[1]]]
            begin = next((start for start in range(at + 1, min(at + 12, len(rows))) if inside and rows[start] == inside[0]), -1)
            if begin >= 0:
                path = named
                yield from ((f"{row}\n", None, None) for row in rows[at:begin])
                at = begin
                for number, line in enumerate(inside, place[0]):
                    if at >= len(rows) or rows[at] != line:
                        break
                    yield f"{rows[at]}\n", path, number
                    at += 1
                continue
        yield f"{rows[at]}\n", None, None
        at += 1


def open_grep(way: str, tree: Path) -> AbstractContextManager[Ask]:
    searcher = GrepSearcher(tree, way)

    def ask(question: str) -> Iterator[Sequence[Piece]]:
        hits = searcher.search(question, limit=GREP_PLACES).hits
        if way == FILES:
            yield []
        page: list[Piece] = []
        size = 0
        for hit in hits:
            page.append((f"{hit.path}:{hit.start_line}-{hit.end_line}\n", None, None))
            for number, line in enumerate(hit.text.removesuffix("\n").split("\n"), hit.start_line):
                if way != FILES and size + len(line) > OUTPUT_CHARACTERS:
                    yield page
                    page, size = [], 0
                page.append((f"{line}\n", hit.path, number))
                size += len(line) + 1
            if way == FILES:
                yield page
                page, size = [], 0
        if page:
            yield page

    @contextmanager
    def opened() -> Iterator[Ask]:
        yield ask

    return opened()


class Peer:
    """semble in its own environment, one process for all trees."""

    def __init__(self, python: Path, model: Path, work: Path, lines: str) -> None:
        self._side = Semble(work / "semble-index", python, model, "code")
        driver = HERE / "drivers" / "semble_answers.py"
        self._process = subprocess.Popen(
            [str(python), str(driver), lines], env=self._side.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def version(self) -> str:
        return self._side.version()

    @contextmanager
    def open(self, tree: Path) -> Iterator[Ask]:
        def ask(question: str) -> list[list[Piece]]:
            assert self._process.stdin is not None and self._process.stdout is not None
            print(json.dumps({"tree": str(tree), "query": question}), file=self._process.stdin, flush=True)
            row = self._process.stdout.readline()
            if not row:
                raise SystemExit(f"semble ended with status {self._process.wait()}")
            return [[(text, path, line) for text, path, line in call] for call in json.loads(row)]

        yield ask

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


# -- reading ------------------------------------------------------------------------------------------------------------


def read(calls: Iterable[Sequence[Piece]], gold: dict[str, Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """How far the reader gets: for the first labelled line and for enough of them, tokens, paid tokens and calls, or None."""
    wanted = {(path, line) for path, ranges in gold.items() for first, last in ranges for line in range(first, last + 1)}
    seen: set[tuple[str, int]] = set()
    found: dict[str, Any] = {"first": None, "enough": None}
    spent, number = 0.0, 0
    for number, pieces in enumerate(calls, 1):
        text = "".join(piece for piece, _, _ in pieces)
        total = count_tokens(text)
        each = total / max(1, len(text))
        reached = []
        for (_, path, line), length in zip(pieces, accumulate(len(piece) for piece, _, _ in pieces), strict=True):
            if path is None or line is None or (path, line) not in wanted or (path, line) in seen:
                continue
            if spent + length * each > NEVER:
                break
            seen.add((path, line))
            for name, share in (("first", 0.0), ("enough", ENOUGH)):
                if found[name] is None and len(seen) >= max(1, share * len(wanted)):
                    found[name] = {"tokens": round(spent + length * each), "calls": number}
                    reached.append(name)
        spent += total
        for name in reached:
            found[name]["paid"] = round(spent)
        if found["enough"] is not None or spent > NEVER:
            break
        if number == 1:
            found["page"] = total
    return {**found, "page": found.get("page", round(spent)), "lines": len(wanted), "seen": len(seen), "calls": number}


def gold_there(tree: Path, task: Task) -> dict[str, Sequence[tuple[int, int]]]:
    """The labelled lines that the tree has."""
    found = {}
    for path, ranges in task.gold.items():
        length = len(read_lines(tree / path))
        kept = [(first, min(last, length)) for first, last in ranges if first <= length]
        if kept:
            found[path] = kept
    return found


# -- a run ---------------------------------------------------------------------------------------------------------------


def run_side(
    side: str, dataset: Path, every: int, options: argparse.Namespace, left_out: Counter[str], until: float
) -> tuple[dict[str, dict[str, Any]], str]:
    """Each question's result by its name, from the file of earlier runs where that has it, and the version of the side."""
    work: Path = options.work
    kept = work / f"agents-{dataset.stem}-{side}.jsonl"
    known = {row["id"]: row for row in map(json.loads, kept.read_text("utf-8").splitlines())} if kept.exists() else {}
    loaded = load_dataset(dataset, repos=options.repos)
    left_out.update(loaded.left_out)
    places = [place for number, place in enumerate(loaded.places) if number % every == 0]
    started: Lurcher | Peer | None = None
    if side == "lurcher":
        started = Lurcher(work)
    elif side in SEMBLE:
        started = Peer(options.peer_python, options.peer_model, work, SEMBLE[side])
    version = started.version if isinstance(started, Peer) else ripgrep_version() if side in BASELINES else ""
    results = {}
    with kept.open("a", encoding="utf-8") as out:
        for place in places:
            if time.time() > until and not all(task.id in known for task in place.tasks):
                continue
            for row in answer_place(side, place, work, started, known):
                if row["id"] not in known:
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                results[row["id"]] = row
    if started:
        started.close()
    return results, version


def answer_place(
    side: str, place: Place, work: Path, started: Lurcher | Peer | None, known: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    yield from (known[task.id] for task in place.tasks if task.id in known)
    asked = [task for task in place.tasks if task.id not in known]
    if not asked:
        return
    assert place.git_directory is not None and place.commit is not None
    tree = export_tree(place.git_directory, place.commit, work / place.name)
    golds = {task.id: gold_there(tree, task) for task in asked}
    yield from ({"id": task.id, "lines": 0} for task in asked if not golds[task.id])
    asked = [task for task in asked if golds[task.id]]
    if not asked:
        return
    with started.open(tree) if started else open_grep(side, tree) as ask:
        yield from ({"id": task.id, **read(ask(task.text), golds[task.id])} for task in asked)


def summary(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Medians over all questions; one that is not reached counts as `NEVER`."""
    rows = list(rows)
    found: dict[str, Any] = {"questions": len(rows), "first_call_tokens": statistics.median(row["page"] for row in rows)}
    for name in ("first", "enough"):
        reached = [row[name] for row in rows if row[name] is not None]
        found[name] = {
            "never": len(rows) - len(reached),
            "tokens": statistics.median([entry["tokens"] for entry in reached] + [NEVER] * (len(rows) - len(reached))),
            "paid": statistics.median([entry["paid"] for entry in reached] + [NEVER] * (len(rows) - len(reached))),
            "calls": statistics.median([entry["calls"] for entry in reached] + [NEVER] * (len(rows) - len(reached))),
            "in_one_call": sum(entry["calls"] == 1 for entry in reached),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path, metavar="DATASET", help="add :N for every Nth tree only")
    parser.add_argument("--repos", type=Path, required=True, help="bare git directories named OWNER+NAME/repo")
    parser.add_argument("--work", type=Path, required=True, help="where trees and answers are kept")
    parser.add_argument("--side", action="append", choices=SIDES, help="only this side (repeatable)")
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--peer-model", type=Path)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop asking after this time")
    parser.add_argument("--save", action="store_true", help="write results/YYYY-MM-DD-agents.json")
    options = parser.parse_args(arguments)
    chosen = options.side or [side for side in SIDES if side not in SEMBLE or options.peer_python]
    until = time.time() + 60 * options.minutes
    result: dict[str, Any] = {
        "about": {**about(), "load": load()}, "never": NEVER, "enough": ENOUGH, "versions": {}, "sets": {},
    }  # fmt: skip
    for given in options.datasets:
        name, _, every = str(given).partition(":")
        left_out: Counter[str] = Counter()
        found = {}
        for side in chosen:
            counted: Counter[str] = Counter()
            found[side], version = run_side(side, Path(name), int(every or 1), options, counted, until)
            if version:
                result["versions"][side] = version
            left_out = counted
        # A side that there was no time for is left out; of the others, only questions that all of them were asked.
        found = {side: rows for side, rows in found.items() if rows}
        if not found:
            continue
        asked = next(iter(found.values()))
        left_out["no labelled line in the tree"] += sum(not row["lines"] for row in asked.values())
        shared = [id for id in asked if all(rows.get(id, {"lines": 0})["lines"] for rows in found.values())]
        sides = {side: [rows[id] for id in shared] for side, rows in found.items()}
        result["sets"][Path(name).stem] = {
            "every": int(every or 1), "left_out": dict(sorted(left_out.items())), "questions": shared,
            "sides": {side: {"summary": summary(rows), **columns(rows)} for side, rows in sides.items() if rows},
        }  # fmt: skip
        for side, rows in sides.items():
            if rows:
                print(f"{Path(name).stem} {side}: {json.dumps(summary(rows))}")
    if options.save:
        dated("agents").write_text(json.dumps(result) + "\n", "utf-8")
    return 0


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was measured for each question, in the order of `questions`; null where it was not reached."""
    return {
        f"{name}_{figure}": [row[name] and row[name][figure] for row in rows]
        for name in ("first", "enough")
        for figure in ("tokens", "calls")
    }


if __name__ == "__main__":
    sys.exit(main())
