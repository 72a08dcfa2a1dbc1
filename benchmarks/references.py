"""Precision and recall of `lurcher references` against what compiler-grade indexers say.

    python benchmarks/references.py truth TREE index.scip truth.json [--source-root src]
    python benchmarks/references.py score TREE truth.json … [--show N] [--only KIND]

`truth` reads a SCIP index (of scip-python, scip-typescript or scip-go) and writes where each definition of the tree is referred
to, local names left out. SCIP does not say what a reference is (a call, a type …); that is read off the syntax tree around it,
by the rules below. `score` asks for the references of every definition by its position and counts those that are "resolved";
candidates count for nothing. Where scip-python says nothing, or cannot tell a name from a local one, an answer is neither right
nor wrong ("unjudged"); the other indexers know every name, and what they do not mention is a builtin.

Recall is by the kind that the syntax has, precision by the kind that lurcher says.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lurcher.languages.detect import detect
from lurcher.languages.grammar import grammar_of
from lurcher.sources import scip

USED = ("call", "type")
"""The kinds that the bars are for."""
_SUFFIXES = {"().": "function", "#": "type", ".": "variable"}
"""What is scored; namespaces, parameters and type parameters are not."""

Place = tuple[str, int, int]
"""Path, line and column, both counted from 1, the column in characters."""


# -- the truth --------------------------------------------------------------------------------------------------------


def make_truth(tree: Path, index: scip.Index, source_root: str = "") -> dict[str, Any]:
    """The definitions with their references, and all places of which the indexer knows what they refer to."""
    definitions: dict[str, list[tuple[Place, str, str]]] = {}
    references: dict[str, dict[Place, str]] = {}
    known: dict[str, list[list[int]]] = {}
    for document in sorted(index.documents, key=lambda document: document.path):
        path = os.path.normpath(document.path)
        if path.startswith(("..", "/")) or not (tree / path).is_file():
            continue
        lines = (tree / path).read_text("utf-8").split("\n")
        kinds = dict(_syntax_kinds(path, "\n".join(lines)))
        places = known.setdefault(path, [])
        for occurrence in document.occurrences:
            line, start, _, _ = occurrence.range
            column = _character(lines[line], start, document.encoding)
            symbol, name, what = _scored(occurrence.symbol, source_root)
            # Not what has another name in the text: an alias; or a mistake, as scip-python makes in up to 1 of 40 places.
            if not name or not re.match(rf"{re.escape(name)}(?!\w)", lines[line][column:]):
                continue
            column += name.startswith("#")  # a private name of TypeScript: its identifier begins behind that
            places.append([line + 1, column + 1])
            place = (path, line + 1, column + 1)
            if occurrence.roles & scip.DEFINITION:
                definitions.setdefault(symbol, []).append((place, name, what))
            else:
                references.setdefault(symbol, {})[place] = kinds.get((line, column), "quoted")
    found = []
    for symbol, places_of in sorted(definitions.items(), key=lambda item: item[1][0][0]):
        own = {place for place, _, _ in places_of}
        uses = [
            {"path": path, "line": line, "column": column, "kind": kind}
            for (path, line, column), kind in sorted(references.get(symbol, {}).items())
            if (path, line, column) not in own
        ]
        (path, line, column), name, what = places_of[0]
        found.append(
            {
                "path": path, "line": line, "column": column, "name": name, "what": what, "references": uses,
                "definitions": [list(place) for place, _, _ in places_of],
            }  # fmt: skip
        )
    complete = index.tool != "scip-python"
    return {"indexer": f"{index.tool} {index.version}", "complete": complete, "definitions": found, "known": known}


def _scored(symbol: str, source_root: str) -> tuple[str, str, str]:
    """A symbol without the source root in its module, its name, and what it is; no name where it is not scored."""
    descriptors = scip.parse_descriptors(symbol)
    if not descriptors or descriptors[-1][1] not in _SUFFIXES:
        return symbol, "", ""
    # scip-python names a module of a `src` folder with and without it, depending on who imports it.
    symbol = symbol.replace(f" `{source_root}.", " `", 1) if source_root else symbol
    if descriptors[-1][0] == "<constructor>":
        # scip-typescript: `new Cart()` refers to the constructor, if one is written down, and else to the class.
        symbol, descriptors = symbol[: symbol.rindex("`<constructor>`")], descriptors[:-1]
    name, suffix = descriptors[-1]
    if suffix == "." and any(before == "()." for _, before in descriptors[:-1]):
        return symbol, "", ""
    return symbol, name, _SUFFIXES[suffix]


def _character(line: str, offset: int, encoding: int) -> int:
    """The character of a line at an offset in the encoding's units; UTF-16 where the indexer does not say."""
    if line.isascii() or encoding == scip.UTF32:
        return offset
    codec, width = ("utf-8", 1) if encoding == scip.UTF8 else ("utf-16-le", 2)
    return len(line.encode(codec)[: offset * width].decode(codec, "ignore"))


# -- what a reference is, by the syntax around it -----------------------------------------------------------------------

_MEMBERS = {
    "attribute": "attribute", "member_expression": "property", "selector_expression": "field", "qualified_type": "name",
    "nested_type_identifier": "name", "nested_identifier": "property", "generic_type": "name", "field_expression": "field",
    "scoped_identifier": "name", "scoped_type_identifier": "name", "instantiation_expression": "function",
}  # fmt: skip
"""Nodes whose name is the name of the member in this field."""
_CALLS = {"call": "function", "call_expression": "function", "new_expression": "constructor"}
_INHERITANCE = ("extends_clause", "implements_clause", "extends_type_clause", "class_heritage")
_IMPORTS = (
    "import_statement", "import_from_statement", "future_import_statement", "import_specifier", "import_clause",
    "namespace_import", "export_specifier", "import_spec",
)  # fmt: skip
_TYPES = ("type", "type_identifier", "type_annotation")


def _syntax_kinds(path: str, text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Line and character of each name, counted from 0, with its kind."""
    import tree_sitter

    grammar = grammar_of(detect(path, text.encode()[:2000]))
    if grammar is None:
        return
    lines = text.split("\n")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.capsule))
    stack = [parser.parse(text.encode()).root_node]
    while stack:
        node = stack.pop()
        if node.is_named and not node.children and "identifier" in node.type:
            row, byte = node.start_point
            column = len(lines[row].encode()[:byte].decode())
            yield (row, column), _kind(node)
        stack += reversed(node.children)


def _kind(leaf: Any) -> str:
    node, parent, member = leaf, leaf.parent, False
    while parent is not None and parent.type in _MEMBERS and parent.child_by_field_name(_MEMBERS[parent.type]) == node:
        member |= parent.type in ("attribute", "member_expression", "selector_expression", "field_expression")
        node, parent = parent, parent.parent
    if parent is None:
        return "read"
    if parent.type in _CALLS and parent.child_by_field_name(_CALLS[parent.type]) == node:
        return "decorator" if parent.parent is not None and parent.parent.type == "decorator" else "call"
    if parent.type == "decorator":
        return "decorator"
    if any(around.type in _IMPORTS for around in _around(leaf, 4)):
        return "import"
    if parent.type in _INHERITANCE or _is_base(parent):
        return "inheritance"
    if leaf.type == "type_identifier" or any(around.type in _TYPES for around in _around(leaf, 12)):
        return "type"
    if parent.type in ("assignment", "assignment_expression", "augmented_assignment") and _is_left(parent, node):
        return "write"
    return "attribute" if member else "read"


def _is_base(node: Any) -> bool:
    above = node.parent
    return node.type == "argument_list" and above is not None and above.type == "class_definition"


def _is_left(parent: Any, node: Any) -> bool:
    return bool(parent.child_by_field_name("left") == node)


def _around(node: Any, levels: int) -> Iterator[Any]:
    """The nodes around a name, up to the next statement or block."""
    for _ in range(levels):
        node = node.parent
        if node is None or node.type in ("block", "statement_block", "parameters", "arguments", "argument_list"):
            return
        yield node


# -- scoring ----------------------------------------------------------------------------------------------------------


class Score:
    """Counts by kind, of one tree or several."""

    def __init__(self) -> None:
        self.wanted: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.missing_definitions = 0
        self.examples: list[str] = []

    def add(
        self, definition: dict[str, Any], answer: dict[str, Any] | None, known: dict[str, set[tuple[int, int]]], complete: bool
    ) -> None:
        truth = {(use["path"], use["line"], use["column"]): use["kind"] for use in definition["references"]}
        own = {tuple(place) for place in definition["definitions"]}
        resolved = {} if answer is None else _resolved(answer)
        label = f"{definition['path']}:{definition['line']}:{definition['column']} {definition['name']}"
        self.missing_definitions += answer is None
        for place, kind in truth.items():
            group = kind if definition["what"] != "variable" else f"{kind} of variables"
            self.wanted[group] += 1
            self.found[group] += place in resolved
            if place not in resolved:
                self.examples.append(f"missed   {group}: {label} at {place[0]}:{place[1]}:{place[2]}")
        for place, kind in resolved.items():
            group = kind if definition["what"] != "variable" else f"{kind} of variables"
            path, line, column = place
            if place in own or path not in known:
                continue
            if place in truth:
                self.right[group] += 1
            elif complete or (line, column) in known[path]:
                self.wrong[group] += 1
                self.examples.append(f"wrong    {group}: {label} at {path}:{line}:{column}")
            else:
                self.unjudged[group] += 1
                self.examples.append(f"unjudged {group}: {label} at {path}:{line}:{column}")

    def merge(self, other: Score) -> None:
        for name in ("wanted", "found", "right", "wrong", "unjudged"):
            getattr(self, name).update(getattr(other, name))
        self.missing_definitions += other.missing_definitions

    def rows(self) -> list[tuple[str, float | None, float | None, int, int, int]]:
        """Kind, precision, recall, references wanted, wrong, unjudged."""
        kinds = sorted({*self.wanted, *self.right, *self.wrong, *self.unjudged}, key=lambda kind: (" of " in kind, kind))
        return [self._row("call + type", USED), *(self._row(kind, (kind,)) for kind in kinds)]

    def _row(self, label: str, kinds: Iterable[str]) -> tuple[str, float | None, float | None, int, int, int]:
        kinds = tuple(kinds)
        wanted, found, right, wrong, unjudged = (
            sum(counts[kind] for kind in kinds) for counts in (self.wanted, self.found, self.right, self.wrong, self.unjudged)
        )
        precision = right / (right + wrong) if right + wrong else None
        return label, precision, found / wanted if wanted else None, wanted, wrong, unjudged


def _resolved(answer: dict[str, Any]) -> dict[Place, str]:
    return {
        (item["path"], item["line"], item["column"]): item["kind"]
        for item in answer["references"]
        if item["resolution"] == "resolved"
    }


def score_tree(tree: Path, truth: dict[str, Any]) -> Score:
    from lurcher import Engine
    from lurcher.errors import LurcherError

    known = {path: {(line, column) for line, column in places} for path, places in truth["known"].items()}
    score = Score()
    with Engine.open(tree) as engine:
        for definition in truth["definitions"]:
            try:
                answer = engine.references(f"{definition['path']}:{definition['line']}:{definition['column']}").to_dict()
            except LurcherError:
                answer = None
            score.add(definition, answer, known, truth["complete"])
    return score


def print_score(title: str, score: Score) -> None:
    print(f"\n{title}: {score.missing_definitions} definitions could not be asked for")
    print(f"{'kind':<26}{'precision':>10}{'recall':>9}{'wanted':>8}{'wrong':>7}{'unjudged':>9}")
    for label, precision, recall, wanted, wrong, unjudged in score.rows():
        shown = [f"{value:.3f}" if value is not None else "-" for value in (precision, recall)]
        print(f"{label:<26}{shown[0]:>10}{shown[1]:>9}{wanted:>8}{wrong:>7}{unjudged:>9}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    truth = commands.add_parser("truth")
    truth.add_argument("tree", type=Path)
    truth.add_argument("index", type=Path)
    truth.add_argument("out", type=Path)
    truth.add_argument("--source-root", default="", help="a folder that scip-python takes for a part of module names")
    score = commands.add_parser("score")
    score.add_argument("trees", type=Path, help="the folder with the trees, by the names of the truth files")
    score.add_argument("truth", type=Path, nargs="+")
    score.add_argument("--show", type=int, default=0, metavar="N", help="print so many examples of each fault")
    score.add_argument("--only", default="", metavar="KIND", help="print examples of this kind only")
    arguments = parser.parse_args()
    if arguments.command == "truth":
        made = make_truth(arguments.tree, scip.read_index(arguments.index), arguments.source_root)
        arguments.out.write_text(json.dumps(made, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")
        uses = Counter(use["kind"] for definition in made["definitions"] for use in definition["references"])
        print(arguments.out, len(made["definitions"]), "definitions;", dict(uses.most_common()))
        return
    total = Score()
    for path in arguments.truth:
        one = score_tree(arguments.trees / path.stem, json.loads(path.read_text("utf-8")))
        print_score(path.stem, one)
        for fault in ("missed", "wrong", "unjudged"):
            shown = [line for line in one.examples if line.startswith(fault) and f" {arguments.only}" in line]
            print(*shown[: arguments.show], sep="\n", end="\n" if shown and arguments.show else "")
        total.merge(one)
    if len(arguments.truth) > 1:
        print_score("all", total)


if __name__ == "__main__":
    sys.exit(main())
