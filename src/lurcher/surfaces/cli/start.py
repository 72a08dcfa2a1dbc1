"""What somebody sees who does not know the commands yet: examples with the repository's own names."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

from lurcher.config import terminal_columns
from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.runtime import VERSION
from lurcher.runtime.process import printable
from lurcher.surfaces.cli.printer import Painter, use_colour

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from lurcher.inspect.examples import Example

SHOWN = 4
_GLIMPSE_SECONDS = 0.6
_USUAL_WORDS = "open read parse load create update"
"""Words that most repositories have in functions worth an example."""
_WHAT = {
    "words": ("search", "find the code that answers a question"),
    "name": ("symbol", "show where a name is defined"),
    "pattern": ("search --literal", "find exact text"),
    "past": ("history", "find the commits that answer a question"),
    "note": ("notes", "find the sections of documents that do"),
}
_GENERAL = (
    ("lurcher search 'how are redirects followed'", "find the code that answers a question"),
    ("lurcher symbol Client.retry", "show where a name is defined"),
    ("lurcher references Client.retry", "show who uses it"),
    ("lurcher history 'why are retries capped'", "find the commits that answer a question"),
)


def run_start() -> int:
    """Greets with examples that can be run here."""
    painter = Painter(use_colour())
    print(f"{painter.symbol('lurcher')} {VERSION}: finds the code, the commits and the notes that answer a question.\n")
    try:
        with Engine.open(".") as engine:
            rows, indexed = list(_rows(engine)), engine.indexed
    except (LurcherError, OSError):  # greeting somebody is no time for problems: the first command reports them
        rows, indexed = [], True
    _print_rows(rows or list(_GENERAL), painter)
    if not indexed:
        print("\nThe first search indexes this folder and keeps the index in .lurcher.")
    print("\nlurcher --help lists all commands; lurcher COMMAND --help explains one.")
    return 0


def suggest_commands(engine: Engine) -> None:
    """After the first index of a repository: what to try next."""
    try:
        rows = list(_rows(engine))
    except (LurcherError, OSError):
        return
    if rows:
        print("\nThe index is ready; try next:", file=sys.stderr)
        _print_rows(rows, Painter(use_colour()), sys.stderr)


def _print_rows(rows: list[tuple[str, str]], painter: Painter, stream: TextIO | None = None) -> None:
    width = max(len(command) for command, _ in rows)
    beside = 4 + width + 2 + max(len(what) for _, what in rows) <= terminal_columns(sys.stdout)
    for command, what in rows:
        if beside:
            print(f"    {printable(command):<{width}}  {painter.dim(what)}", file=stream)
        else:  # wrapped lines are hard to read, and to copy
            print(f"    {painter.dim(what)}\n        {printable(command)}", file=stream)


def _rows(engine: Engine) -> Iterator[tuple[str, str]]:
    """Commands with names of the repository, and what each does."""
    found = _examples(engine)
    name = next((one for one in found if one.what == "name"), None)
    chosen = [one for one in found if one.what != "pattern"]
    for one in chosen[: SHOWN if name is None else SHOWN - 1]:
        command, what = _WHAT[one.what]
        yield f"lurcher {command} {shlex.quote(one.text)}", what
        if one is name:
            yield f"lurcher references {shlex.quote(one.text)}", "show who uses it"


def _examples(engine: Engine) -> tuple[Example, ...]:
    if engine.indexed:
        return engine.examples(refresh=False, check=False).examples
    from lurcher.indexing.workspace import state_of
    from lurcher.inspect import Basis
    from lurcher.inspect.examples import examples
    from lurcher.server.unindexed import build_partial_view, list_tracked

    project = engine.projects[0]
    entries = list_tracked(project, _GLIMPSE_SECONDS)
    if not entries:
        return ()
    now = time.monotonic()
    glimpse = build_partial_view(project, entries, _USUAL_WORDS, None, now + _GLIMPSE_SECONDS / 2, now + _GLIMPSE_SECONDS, "")
    snapshot, tops = glimpse.view.snapshot, [project.root.place] if project.root.git else []
    return examples(snapshot, tops, Basis(state_of(snapshot, [glimpse.view]))).examples
