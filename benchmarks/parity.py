"""How many answers through a store are those of the local index, hit by hit, on the repositories of a dataset.

    python benchmarks/parity.py --dataset FOLDER --trees FOLDER --store URL [--every 4] [--work FOLDER] [--out FILE]

FOLDER of the dataset has a JSON file for each repository, as `lurcher eval` takes it; the trees are folders of these names.
Each repository becomes a project. Questions are taken in turn from all of them. Each is searched for, in code, in notes and in
all; about the file that the local index finds first `outline`, `impact`, `related` and `why` are asked, and about a name in it
`symbol`, `exists`, `references` and exact text, for one question of `--every` so many. An answer has the same hits if all of
them are, in order, with their places and texts; it is `exact` if scores are the same to six digits too. Projects are removed
afterwards.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from lurcher import Engine
from lurcher.errors import LurcherError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--store", required=True, help="an address; `postgres`: a server is started")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--work", type=Path, help="where local indexes are kept")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.store == "postgres":
        import sys

        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from tests.stores.postgres_server import server

        given.store = server().address()
    results = measure(given)
    text = json.dumps(results, indent=1) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text)


def measure(given: argparse.Namespace) -> dict[str, Any]:
    files = [path for path in sorted(given.dataset.glob("*.json")) if (given.trees / path.stem).is_dir()]
    found = {path.stem: queries_of(path) for path in files}
    columns = zip_longest(*([(name, text) for text in texts] for name, texts in found.items()))
    chosen = [pair for pair in chain.from_iterable(columns) if pair is not None][: given.count]
    counts: dict[str, list[int]] = {}
    differing: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        away = Path(scratch) / "empty"
        away.mkdir()
        for name in dict.fromkeys(name for name, _ in chosen):
            tree = given.trees / name
            place: dict[str, Any] = {"root": tree, "index_dir": (given.work or Path(scratch)) / name}
            with (
                Engine.open(tree, **place) as here,
                Engine.open(tree, **place, store=given.store, project=f"parity:{name}") as writer,
                Engine.open(away, store=given.store, project=f"parity:{name}") as there,
            ):
                writer.index()
                for number, text in enumerate(text for other, text in chosen if other == name):
                    for kind, ask in questions(here, text, further=number % given.every == 0).items():
                        ours, theirs = told(here, ask), told(there, ask)
                        same = without_scores(ours) == without_scores(theirs)
                        count = counts.setdefault(kind, [0, 0, 0])
                        for column, one in enumerate((same, ours == theirs, True)):
                            count[column] += one
                        if not same:
                            differing.append(f"{name}: {kind}: {text}")
                writer.clear()
            print(name, {kind: f"{same}/{total}" for kind, (same, _, total) in counts.items()}, flush=True)
    return {
        "store": given.store.partition(":")[0], "repositories": len({name for name, _ in chosen}), "questions": len(chosen),
        "answers": {
            kind: {"same_hits": same, "exact": exact, "asked": total} for kind, (same, exact, total) in counts.items()
        },
        "differing": differing,
    }  # fmt: skip


def queries_of(path: Path) -> list[str]:
    found = json.loads(path.read_text())
    return [entry["query"] for entry in (found if isinstance(found, list) else found["queries"])]


def questions(here: Engine, text: str, *, further: bool) -> dict[str, Callable[[Engine], Any]]:
    made: dict[str, Callable[[Engine], Any]] = {
        "search": lambda engine: engine.search(text, sources=["code"]),
        "search in all": lambda engine: engine.search(text, sources=["all"]), "notes": lambda engine: engine.notes(text),
    }  # fmt: skip
    hits = here.search(text, sources=["code"]).hits if further else ()
    if hits:
        path, line = hits[0].path, hits[0].start_line
        made |= {
            "outline": lambda engine: engine.outline(path), "impact": lambda engine: engine.impact(path),
            "related": lambda engine: engine.related(path, line), "why": lambda engine: engine.why(path, text),
        }  # fmt: skip
        named = next((hit.symbol for hit in hits if hit.symbol), None)
        if named:
            word = named.rpartition(".")[2]
            made |= {
                "symbol": lambda engine: engine.symbol(named), "exists": lambda engine: engine.exists(word, exact=True),
                "references": lambda engine: engine.references(named),
                "literal": lambda engine: engine.search(word, mode="literal", fixed=True),
            }  # fmt: skip
    return made


NOT_COMPARED = (
    "index", "timings_ms", "degraded", "next", "certain", "total", "named", "at_least", "why", "confidence",
)  # fmt: skip
"""How current an index is; how many hits there are, and ranks in lanes, which are those of candidates in a store. The counts
of a store say that they are "at least"."""


def told(engine: Engine, ask: Callable[[Engine], Any]) -> Any:
    try:
        return plain(ask(engine).to_dict(), top=True)
    except LurcherError as error:
        return type(error).__name__, str(error.message)


def plain(value: Any, top: bool = False) -> Any:
    if isinstance(value, dict):
        left_out = NOT_COMPARED if top else ("why",)
        return {key: plain(item) for key, item in value.items() if key not in left_out}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def without_scores(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_scores(item) for key, item in value.items() if key not in ("score", "likelihood")}
    return [without_scores(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
