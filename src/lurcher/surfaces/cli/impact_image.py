"""Dependents as a picture: a graph in the language of Graphviz, and drawn by it."""

from __future__ import annotations

import shutil
import subprocess

from lurcher.errors import UsageError
from lurcher.inspect.answers import Dependent, ImpactAnswer
from lurcher.runtime.terminal import printable

_SECONDS = 60.0
_MOST_NAMES = 3
_FILL = {"asked": "#2b6cb0", "test": "#e2e8f0", "code": "#ebf8ff"}


def dot(answer: ImpactAnswer) -> str:
    """Files as nodes, the one asked about at the left; an arrow from each dependent's import to what it imports."""
    listed = {answer.path, *(entry.path for entry in answer.dependents)}
    lines = [
        "digraph impact {",
        "  rankdir=RL;",
        '  graph [fontname="sans-serif", nodesep=0.15, ranksep=0.9];',
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, color="#a0aec0", margin="0.12,0.05"];',
        '  edge [fontname="sans-serif", fontsize=9, color="#718096", fontcolor="#4a5568", arrowsize=0.7];',
        f'  {_quoted(answer.path)} [fillcolor="{_FILL["asked"]}", fontcolor=white];',
    ]
    for entry in answer.dependents:
        traits = f'fillcolor="{_FILL["test"]}", style="rounded,filled,dashed"' if entry.test else f'fillcolor="{_FILL["code"]}"'
        lines.append(f"  {_quoted(entry.path)} [{traits}];")
    lines += [
        f"  {_quoted(entry.path)} -> {_quoted(entry.via)}{_edge(entry)};"
        for entry in answer.dependents
        if entry.via in listed
    ]
    return "\n".join([*lines, "}", ""])


def _edge(entry: Dependent) -> str:
    traits = []
    if entry.names:
        more = ", …" if len(entry.names) > _MOST_NAMES else ""
        traits.append(f"label={_quoted(', '.join(entry.names[:_MOST_NAMES]) + more)}")
    if entry.confidence < 0.995:
        traits.append("style=dashed")
    return f" [{', '.join(traits)}]" if traits else ""


def _quoted(text: str) -> str:
    """A string of the dot language: a quote ends it, a backslash begins an escape, and what cannot be printed has no place."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def svg(answer: ImpactAnswer) -> str:
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "an svg is drawn by Graphviz, which is not installed",
            "install it (apt install graphviz, brew install graphviz), or use --format dot",
        )
    try:
        graph = dot(answer).encode()
        done = subprocess.run([program, "-Tsvg"], input=graph, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError("Graphviz takes too long for so many files", "use --hops 1") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise UsageError(f"Graphviz could not draw it: {reason}", "use --format dot to see what it was given")
    return done.stdout.decode("utf-8", "replace")
