"""Why a question has no hits, where the tree and the flags tell: notes on stderr, below `nothing found`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lurcher.errors import LurcherError
from lurcher.query.validate import resolve_languages
from lurcher.runtime.process import format_count, printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from typing import Any

    from lurcher.engine import Engine

_MAY_HAVE_TEXT = ("oversized", "minified", "unreadable", "looks-like-a-secret")
"""Reasons to leave out a file of text."""
_MOST_NAMED = 3


def explain_nothing(engine: Engine, parsed: Namespace, source: str | None, query: str) -> None:
    """Prints what may be the reason that nothing was found."""
    try:
        status = engine.status(skipped=True)
        roots = status.get("roots") or [status]
        notes = list(_of_history(roots) if source == "history" else _of_files(engine, parsed, roots, query))
    except (LurcherError, OSError):  # it is a note beside an answer
        return
    for note in notes:
        print(printable(f"note: {note}"), file=sys.stderr)


def _of_history(roots: list[dict[str, Any]]) -> Iterator[str]:
    histories = [root["history"] for root in roots if "history" in root]
    if histories and not any(history.get("total", 1) for history in histories):
        yield "the repository has no commits yet"


def _of_files(engine: Engine, parsed: Namespace, roots: list[dict[str, Any]], query: str) -> Iterator[str]:
    named = list(_unindexed(engine, parsed.path, query))
    yield from named
    if not any(root.get("files", 1) for root in roots):
        yield "there is no file of text here that could be indexed (to see what was left out: lurcher status --skipped)"
        return
    if parsed.lang and all("languages" in root for root in roots):
        present = {language for root in roots for language in root["languages"]}
        wanted = resolve_languages(tuple(parsed.lang))
        if present.isdisjoint(wanted):
            yield f"no file here is {' or '.join(wanted)}"
            return
    if not named:
        yield from _left_out(roots)


def _left_out(roots: list[dict[str, Any]]) -> Iterator[str]:
    """The number of files that could hold text and are not in the index, and some of them."""
    count = sum(root.get("skipped", {}).get(reason, 0) for root in roots for reason in _MAY_HAVE_TEXT)
    paths = [path for root in roots for reason in _MAY_HAVE_TEXT for path in root.get("skipped_paths", {}).get(reason, ())]
    if count:
        more = ", …" if count > min(len(paths), _MOST_NAMED) else ""
        some = f": {', '.join(paths[:_MOST_NAMED])}{more}" if paths else ""
        verb = "is" if count == 1 else "are"
        yield f"{format_count(count, 'file')} {verb} not in the index{some} (to see why: lurcher status --skipped)"


def _unindexed(engine: Engine, paths: list[str], query: str) -> Iterator[str]:
    """Which of the named files are not in the index."""
    for path in paths:
        if not os.path.isfile(path):
            continue
        verdict = engine.why(os.path.abspath(path), query, refresh=False).verdict
        if verdict.startswith("it is not in the index"):
            yield f"nothing is known of {path}: {verdict}"
