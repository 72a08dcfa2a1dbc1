"""Definitions of the index against those of universal-ctags, by language.

    python benchmarks/definitions.py TREE …

A tag is found if the index has a definition of the same name in the same file whose lines hold the tag's line. Kinds of tags
that the index leaves out by design (LEFT_OUT) and anonymous types are not counted; `--kinds` shows them all. Precision is not
measured: the index has definitions that ctags does not know.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path

from lurcher import Engine
from lurcher.types import silent

LANGUAGES = {
    "Python": "python", "TypeScript": "typescript", "JavaScript": "javascript", "Go": "go", "Java": "java", "Rust": "rust",
    "C": "c", "C++": "cpp", "Ruby": "ruby", "PHP": "php", "C#": "csharp", "Kotlin": "kotlin", "Lua": "lua", "Elixir": "elixir",
}  # fmt: skip
LEFT_OUT = {
    "": {"local", "parameter", "package", "packageName", "unknown", "header", "label", "import"},
    "javascript": {"variable"}, "typescript": {"constant", "variable"},  # mostly in functions, which ctags does not tell
    "php": {"alias", "namespace"}, "python": {"namespace"}, "ruby": {"alias"},  # imports, and other names
    "rust": {"implementation", "module"},  # `impl` blocks, whose methods are there; `mod` of other files
}  # fmt: skip
"""By language, "" for all: names that are only used where they are, and names of something that is defined elsewhere."""


def read_tags(tree: Path) -> list[dict[str, object]]:
    command = ["ctags", "-R", "--output-format=json", "--fields=+nKl", "-f", "-", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, check=True)
    entries = (json.loads(line) for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("{"))
    return [entry for entry in entries if entry.get("_type") == "tag" and entry.get("language") in LANGUAGES]


def _is_left_out(language: str, kind: str) -> bool:
    return kind in LEFT_OUT[""] or kind in LEFT_OUT.get(language, ())


def compare(tree: Path, wanted: Counter[tuple[str, str]], found: Counter[tuple[str, str]], missed: list[str]) -> None:
    with Engine.open(tree) as engine:
        snapshot = engine.projects[0].view(silent).snapshot
        known: dict[str, dict[str, list[tuple[int, int]]]] = {}
        for path, file in snapshot.live_paths.items():
            for item in snapshot.definitions_of(file):
                known.setdefault(path, {}).setdefault(item.name, []).append((item.start_line, item.end_line))
    for tag in read_tags(tree):
        path, name, line, kind = str(tag["path"]).removeprefix("./"), str(tag["name"]), int(str(tag["line"])), str(tag["kind"])
        language = LANGUAGES[str(tag["language"])]
        file = snapshot.live_paths.get(path)
        if file is None or name.startswith("__anon") or snapshot.language(file) != language:
            continue
        wanted[language, kind] += 1
        if language == "lua":  # ctags has `Sorter:_start` as the name
            name = name.replace(":", ".").rpartition(".")[2]
        hit = any(first <= line <= last for first, last in known.get(path, {}).get(name, ()))
        found[language, kind] += hit
        if not hit and not _is_left_out(language, kind):
            missed.append(f"{language} {kind} {name} at {tree.name}/{path}:{line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument("--kinds", action="store_true", help="a row for each kind of tag")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many tags that were not found")
    arguments = parser.parse_args()
    wanted: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    missed: list[str] = []
    for tree in arguments.trees:
        compare(tree, wanted, found, missed)
    for language in sorted({language for language, _ in wanted}):
        kinds = {kind: (found[key], count) for key, count in wanted.items() for kind in key[1:] if key[0] == language}
        counted = [numbers for kind, numbers in kinds.items() if not _is_left_out(language, kind)]
        right, total = sum(n for n, _ in counted), sum(n for _, n in counted)
        print(f"{language:<12} recall {right / total if total else 0:.3f} of {total:,}")
        if arguments.kinds:
            for kind, (hits, count) in sorted(kinds.items(), key=lambda item: -item[1][1]):
                print(f"    {kind:<18}{hits:>7,} of {count:>7,}{'  (not counted)' if _is_left_out(language, kind) else ''}")
    print(*missed[:: max(1, len(missed) // arguments.show)][: arguments.show] if arguments.show else (), sep="\n")


if __name__ == "__main__":
    main()
