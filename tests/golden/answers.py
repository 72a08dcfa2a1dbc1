"""Questions, their answers, and what is recorded of an answer: its SHA-256 and a digest that a person can read.

A question is a command line as a user would type it, run in the tree's folder. Answers are compared byte for byte, together
with the exit status and what was printed to stderr. Only this is replaced before that: the folder that the tree is in; in
`status`, the age of the index, the size of its folder (the manifest holds times), the name of the kernel and the versions of
grammars, which the first line of a recorded file has; in a cursor, the
digests of the folder and of the index, and the seal over them.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.golden.trees import HERE, Large, Small

TEXT = "text "
"""Begins a question whose answer is wanted as text; all others are asked with --json."""
MORE = "+"
"""Begins a line that asks for the next page of the answer above it, with the flags that follow."""
REPORT = "report:"
"""Begins an argument that stands for a longer text, in a file of the folder `reports`."""
_UNSTABLE = re.compile(r'"(age_seconds|disk_bytes|ratio|kernel)": ([0-9.]+|\{[^}]*\})')
_GRAMMARS = re.compile(r'"grammars": \{(?:"[^"]*": \{[^}]*\}(?:, )?)*\}, ')
_CURSOR = re.compile(r'("next": "|--continue )([A-Za-z0-9_-]{36,})')
_FOLDER_AND_INDEX, _SEAL = slice(9, 21), slice(-8, None)
"""Where the bytes of a cursor are that depend on where the tree is and when it was indexed."""
_HEADING = re.compile(r"^\S*:\d+(-\d+)?(:\d+)?\s.*\d\.\d+$")
"""The line above an excerpt in the text form: path, except for further places of a file, lines, symbol, score."""
_LIST_LINES = 40
"""A digest shows this many entries of a list."""


@dataclass(frozen=True)
class Question:
    text: str
    """The line of the questions file; of a further page, the line that it follows and its own."""
    arguments: tuple[str, ...]
    """Without --json."""
    as_text: bool
    page: bool
    """Whether to go on where the answer before ended."""


@dataclass(frozen=True)
class Answer:
    question: Question
    output: str
    """Normalised: status, stdout, stderr."""
    digest: tuple[str, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.output.encode()).hexdigest()

    def to_record(self) -> dict[str, Any]:
        return {"question": self.question.text, "sha256": self.sha256, "digest": list(self.digest)}


def read_questions(tree: str) -> list[Question]:
    """The questions of a tree, in the order in which they are asked."""
    found: list[Question] = []
    seen: set[str] = set()
    for line in (HERE / "questions" / f"{tree}.txt").read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(MORE):
            before = found[-1]
            arguments = (*before.arguments, *shlex.split(line[1:]))
            question = Question(f"{before.text} {line}", arguments, before.as_text, True)
        else:
            as_text = line.startswith(TEXT)
            arguments = tuple(map(_read_report, shlex.split(line.removeprefix(TEXT))))
            question = Question(line, arguments, as_text, False)
        if question.text in seen:
            raise ValueError(f"{tree}.txt asks twice: {question.text}")
        seen.add(question.text)
        found.append(question)
    return found


def _read_report(argument: str) -> str:
    """The text of a report, where the argument is its file; else the argument."""
    if not argument.startswith(REPORT):
        return argument
    return (HERE / "questions" / "reports" / argument.removeprefix(REPORT)).read_text(encoding="utf-8")


def index(tree: Small | Large, folder: Path) -> None:
    """Index the tree from nothing: code, notes, all of its history, its libraries."""
    settings = tree.settings if isinstance(tree, Large) else ()
    commands = [["index", "--history", "-q"], *(["index", "--library", name, "-q"] for name, _, _ in tree.libraries)]
    for command in commands:
        status, out, err = run([*command, *(part for setting in settings for part in ("--set", setting))], folder)
        if status != 0:
            raise RuntimeError(f"lurcher {shlex.join(command)} ended with {status}: {out}{err}")


def ask(tree: Small | Large, folder: Path, questions: Sequence[Question]) -> Iterator[Answer]:
    """Answer one question after the other."""
    settings = [part for setting in (tree.settings if isinstance(tree, Large) else ()) for part in ("--set", setting)]
    cursor = None
    for question in questions:
        arguments = [*question.arguments, *settings]
        if question.page:
            arguments += ["--continue", cursor or "none"]
        if not question.as_text:
            arguments.append("--json")
        status, out, err = run(arguments, folder)
        value = None
        if not question.as_text:
            with contextlib.suppress(ValueError):
                value = json.loads(out)
        cursor = value.get("next") if isinstance(value, dict) else None
        digest = digest_text(out) if value is None else digest_json(value)
        output = normalise(f"status {status}\n{out}\nstderr\n{err}", folder)
        yield Answer(question, output, (f"status {status}", *(normalise(line, folder) for line in digest)))


def normalise(output: str, folder: Path) -> str:
    """Replace what differs from run to run."""
    output = _UNSTABLE.sub(r'"\1": 0', _GRAMMARS.sub("", output.replace(str(folder), "/TREE")))
    return _CURSOR.sub(_normalise_cursor, output)


def _normalise_cursor(found: re.Match[str]) -> str:
    """What the cursor says of the question, the generation, and where to go on."""
    raw = base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4))
    return f"{found[1]}{raw[: _FOLDER_AND_INDEX.start].hex()} {raw[_FOLDER_AND_INDEX.stop : _SEAL.start].hex()}"


def run(arguments: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Run one command of lurcher in this process: status, stdout, stderr. The only place that knows lurcher's code."""
    from lurcher.surfaces.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(arguments))
    except SystemExit as error:  # of argparse
        status = error.code if isinstance(error.code, int) else 1
    finally:
        os.chdir(before)
    for stream in (out, err):
        stream.flush()
    return status, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))  # type: ignore[attr-defined, return-value]


def isolate(home: Path) -> None:
    """Make this process independent of the settings and files of whoever runs it; before lurcher is imported."""
    for key in list(os.environ):
        if key.startswith(("LURCHER_", "XDG_", "GIT_", "NO_COLOR", "FORCE_COLOR")) and key != "LURCHER_KERNEL":
            del os.environ[key]
    for key in ("VIRTUAL_ENV", "COLUMNS", "GOPATH", "GOMODCACHE", "CARGO_HOME"):
        os.environ.pop(key, None)
    home.mkdir(parents=True, exist_ok=True)
    os.environ.update(HOME=str(home), TZ="UTC", LC_ALL="C.UTF-8", GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)


def versions() -> dict[str, str]:
    """The versions of what can change an answer besides lurcher itself: parsers above all."""
    installed = {str(each.metadata["Name"]).replace("_", "-"): each.version for each in metadata.distributions()}
    others = {"ast-grep-py", "google-re2", "lz4", "numpy", "tree-sitter"}
    found = {name: version for name, version in installed.items() if name in others or name.startswith("tree-sitter-")}
    return {"python": ".".join(map(str, sys.version_info[:2])), **dict(sorted(found.items()))}


_SHOWN = (
    "mode", "intent", "ranking", "exists", "certain", "shown", "rank", "total", "tokens", "kind", "language", "references",
    "hop", "via", "names", "confidence", "use", "test", "score", "lines", "files", "units", "definitions", "commits",
    "reverted", "hotfixed", "dependents", "left_out", "code",
)  # fmt: skip
"""Fields of a JSON answer that a digest shows; no excerpts, since those are text of others and digests are kept here."""


def digest_json(value: Mapping[str, Any]) -> list[str]:
    """One line on the answer, and one for each of its entries: place, name, score."""
    lines = [" ".join([_describe(value), *_degraded(value)])]
    _add_entries(value, lines, "")
    return lines


def digest_text(output: str) -> list[str]:
    """How long it is, and the headings of excerpts."""
    lines = output.splitlines()
    return [f"{len(lines)} lines", *[line for line in lines if _HEADING.match(line)][:_LIST_LINES]]


def _add_entries(value: Mapping[str, Any], lines: list[str], indent: str) -> None:
    for key, part in value.items():
        if key in ("why", "links", "index", "hunk", "degraded", "evidence"):
            continue
        if key == "error" and isinstance(part, dict):
            lines.append(f"{indent}error {part.get('code')}")
        if key in ("here", "there") and isinstance(part, dict):
            lines.append(f"{indent}{key} {_describe(part)}")
        if not isinstance(part, list) or not part or not all(isinstance(entry, dict) for entry in part):
            continue
        for entry in part[:_LIST_LINES]:
            lines.append(f"{indent}- {_describe(entry)}")
            _add_entries(entry, lines, f"{indent}  ")
        if len(part) > _LIST_LINES:
            lines.append(f"{indent}- … {len(part) - _LIST_LINES} more")


def _describe(entry: Mapping[str, Any]) -> str:
    shown = []
    path = entry.get("path")
    if path:
        first, last, line = (entry.get(key) for key in ("start_line", "end_line", "line"))
        lines = f":{first}-{last}" if first is not None else ""
        shown.append(f"{path}{lines}" + (f" at {line}" if line is not None else ""))
    name = entry.get("qualified") or entry.get("symbol") or entry.get("name") or entry.get("stage")
    if name:
        shown.append(str(name))
    commit = entry.get("commit") if isinstance(entry.get("commit"), dict) else entry
    if commit and commit.get("sha"):
        outcome = commit.get("outcome") or {}
        shown.append(f"{commit['sha'][:10]} {outcome.get('verdict', '')} {outcome.get('confidence', '')}".rstrip())
    for key in _SHOWN:
        field = entry.get(key)
        if isinstance(field, float):
            shown.append(f"{key}={round(field, 6)}")
        elif isinstance(field, bool | int | str):
            shown.append(f"{key}={field}")
        elif isinstance(field, list) and field and all(isinstance(each, str) for each in field):
            shown.append(f"{key}={','.join(field[:5])}")
    if entry.get("next"):
        shown.append("next")
    return " ".join(shown)


def _degraded(value: Mapping[str, Any]) -> list[str]:
    stages = [str(each.get("stage")) for each in value.get("degraded") or () if isinstance(each, dict)]
    return [f"degraded={','.join(stages)}"] if stages else []
