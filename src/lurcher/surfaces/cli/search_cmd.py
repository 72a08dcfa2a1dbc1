"""The commands `search`, `notes` and `history`, and what other commands share: the engine, progress, JSON, locations."""

from __future__ import annotations

import sys
import time

from lurcher.config import terminal_columns
from lurcher.errors import ConfigError, QueryError, UsageError
from lurcher.runtime.process import CLEAR_LINE, raw_stream
from lurcher.runtime.stdlib import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Any

    from lurcher.engine import Engine
    from lurcher.types import Answer


FOUND, NOTHING, ERROR = 0, 1, 2
_MAX_STDIN = 4_000_000
_PATIENCE = 0.4
"""Seconds before progress is shown."""
_PAUSE = 0.08
"""Seconds between two updates of it."""
_BAR = 24


AGREED = "index.broad=true"
"""The setting that allows an index of a home folder or a whole disk."""


def overrides_of(pairs: Sequence[str]) -> dict[str, str]:
    """The settings that `key=value` arguments stand for."""
    found = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise ConfigError(f"'{pair}' is not a setting", "write it as section.name=value")
        found[key.strip()] = value.strip()
    return found


def print_json(value: Any) -> None:
    # On a terminal control characters are escaped; a program gets the text as it is.
    if sys.stdout.isatty():
        import json

        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        raw_stream(sys.stdout).write(dumps(value, ensure_ascii=False) + "\n")


class Meter:
    """Progress on stderr: one line that is rewritten, only on a terminal, and only where there is something to wait for."""

    def __init__(self, quiet: bool = False) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._started = time.monotonic()
        self._last = 0.0
        self._shown = False

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def clear(self) -> None:
        """Removes the line from the screen."""
        if self._shown:
            self._shown = False
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()

    def update(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now - self._started < _PATIENCE or (now - self._last < _PAUSE and done < total):
            return
        self._last = now
        self._shown = True
        count = f"{done:,}/{total:,}"
        # A line that is wider than the terminal becomes two, of which only the second is rewritten.
        width = max(0, min(_BAR, terminal_columns(sys.stderr) - len(what) - len(count) - 3))
        bar = "█" * round(width * done / total) if total else ""
        sys.stderr.write(f"{CLEAR_LINE}{what} {bar:░<{width}} {count}" if width else f"{CLEAR_LINE}{count}")
        sys.stderr.flush()


def engine_for(parsed: Namespace, *, bare: bool = False, soon: bool = False) -> Engine:
    """An engine for the paths of a command; with `bare` a repository without a work tree is allowed too.

    `soon` says that a question about files follows: then the tree is checked for changes while the engine is loaded.
    """
    paths = parsed.path or ["."]
    overrides = settings_of(parsed)
    if bare and len(paths) == 1:
        from pathlib import Path

        from lurcher.inspect.explain import is_bare

        if is_bare(Path(paths[0])):
            from lurcher.engine import Engine

            return Engine.open(paths[0], root=paths[0], overrides=overrides)
    from lurcher.indexing.workspace import open_roots

    opened = open_roots(paths, overrides=overrides)
    for project in opened.projects if soon else ():
        project.prefetch_check()
    from lurcher.engine import Engine

    return Engine(opened.projects, opened.prefixes, opened.settings, overrides)


def settings_of(parsed: Namespace) -> dict[str, Any]:
    """The settings that flags stand for: those given by name, and those about a shared store."""
    given = {
        "store.url": getattr(parsed, "store", None), "store.project": ",".join(getattr(parsed, "project", None) or ()),
        "store.fallback": getattr(parsed, "fallback", None),
    }  # fmt: skip
    return {**overrides_of(parsed.set), **{key: value for key, value in given.items() if value}}


def filter_options(parsed: Namespace) -> dict[str, Any]:
    """The options of a query that say which files may answer."""
    return {"languages": parsed.lang, "paths": parsed.glob, "excludes": parsed.exclude}


def page_options(parsed: Namespace) -> dict[str, Any]:
    """The options of a query that say how many hits, and how much of each."""
    return {
        "limit": parsed.limit, "budget": parsed.budget, "cursor": getattr(parsed, "continue"), "context": parsed.context,
        "snippet_lines": parsed.snippet_lines, "flat": getattr(parsed, "flat", False),
    }  # fmt: skip


def wants_json(parsed: Namespace) -> bool:
    if parsed.json and parsed.format not in (None, "json"):
        raise UsageError(f"--json and --format {parsed.format} contradict each other", "use one of them")
    return bool(parsed.json or parsed.format == "json")


def show_answer(parsed: Namespace, answer: Answer, engine: Engine, *, timings: bool) -> int:
    """Prints an answer as JSON, without what differs from run to run unless asked for, or as text."""
    if wants_json(parsed):
        value = answer.to_dict()
        if not getattr(parsed, "timings", False):
            value["timings_ms"] = {}
        print_json(value)
        return FOUND if answer.hits or answer.usage is not None else NOTHING
    from lurcher.surfaces.cli import printer

    if answer.usage is not None and parsed.format != "vimgrep":
        from lurcher.surfaces.cli.print_references import print_usage

        print_usage(answer.usage, engine.locate)
    if parsed.format == "vimgrep":
        printer.print_caveats(answer)
        printer.print_vimgrep(answer, file_locator(engine))
        printer.print_footer(answer, getattr(parsed, "timings", False))
    else:
        printer.print_answer(answer, file_locator(engine), explain=parsed.explain, timings=timings)
    return FOUND if answer.hits or answer.usage is not None else NOTHING


def _query_text(query: str) -> str:
    if query == "-":
        query = sys.stdin.buffer.read(_MAX_STDIN).decode("utf-8", "replace")
    if not query.strip():
        raise QueryError("the query is empty", 'for example: lurcher search "how are redirects followed"')
    return query


def run_search(parsed: Namespace) -> int:
    _check_source(parsed)
    return _run_question(
        parsed,
        getattr(parsed, "in"),
        libraries=parsed.library or (),
        mode=_chosen_mode(parsed),
        fixed=parsed.fixed,
        case="ignore" if parsed.ignore_case else "exact" if parsed.case_sensitive else "smart",
        word=parsed.word,
        multiline=parsed.multiline,
    )


def run_notes(parsed: Namespace) -> int:
    return _run_question(parsed, "notes", mode=parsed.mode)


def run_history(parsed: Namespace) -> int:
    return _run_question(parsed, "history", mode=parsed.mode)


def _run_question(parsed: Namespace, source: str | None, **options: Any) -> int:
    """Asks one source or all of them; a command has the flags that its source knows."""
    query = _query_text(parsed.query)
    for flag, name in (("since", "since"), ("until", "until"), ("author", "author"), ("outcome", "outcomes"), ("tag", "tags")):
        options[name] = getattr(parsed, flag, None) or ((), None)[flag in ("since", "until", "author")]
    options |= {
        "sources": None if source is None else [source], "ranking": getattr(parsed, "ranking", None), **filter_options(parsed),
        **page_options(parsed), "rerank": [] if parsed.no_rerank else parsed.rerank or None, "fusion": parsed.fusion,
        "alpha": parsed.alpha, "mmr": parsed.mmr, "refresh": not parsed.no_refresh,
    }  # fmt: skip
    if getattr(parsed, "workspace", False) or getattr(parsed, "repo", None):
        return _search_workspace(parsed, query, options)
    soon = source in (None, "code") and not options.get("libraries")
    with engine_for(parsed, bare=source == "history", soon=soon) as engine, Meter(parsed.quiet) as meter:
        first = is_watched(parsed) and not engine.indexed
        past = source in ("history", "all") and not (parsed.no_refresh or engine.shares)
        if past:
            from lurcher.server import history_fill

            engine.history_corpus.deferred = history_fill.is_allowed(engine.settings)
        answer = engine.search(query, progress=meter.update, **options)
        meter.clear()  # before the answer is printed: the line would stay in front of the first hit
        if past and engine.history_corpus.deferred and answer.index.coverage.get("history", 1.0) < 1.0:
            history_fill.start_filling(engine)
        status = show_answer(parsed, answer, engine, timings=parsed.timings)
        quiet = answer.hits or answer.usage or parsed.quiet or engine.shares or wants_json(parsed)
        if not quiet and source in (None, "code", "history"):
            from lurcher.surfaces.cli.nothing_found import explain_nothing

            explain_nothing(engine, parsed, source, query)
        if first and engine.indexed:
            from lurcher.surfaces.cli.start import suggest_commands

            suggest_commands(engine)
    return status


def is_watched(parsed: Namespace) -> bool:
    """Whether a person reads what a command prints beside its result."""
    return not parsed.quiet and sys.stdout.isatty() and sys.stderr.isatty()


def _search_workspace(parsed: Namespace, query: str, options: dict[str, Any]) -> int:
    for flag in ("path", "store", "project", "library"):
        if getattr(parsed, flag):
            what = "a PATH" if flag == "path" else f"--{flag}"
            raise UsageError(f"--workspace and {what} contradict each other", "use one of them; --repo chooses repositories")
    from lurcher.server.repositories import RepositoryEngine

    workspace = RepositoryEngine.open(overrides_of(parsed.set))
    with Meter(parsed.quiet) as meter:
        answer = workspace.search(query, repositories=parsed.repo, progress=meter.update, **options)
    # An answer without hits names no file, so any engine will do.
    engine = workspace.engine or workspace.engine_of(workspace.repositories[:1])
    return show_answer(parsed, answer, engine, timings=parsed.timings)


def _check_source(parsed: Namespace) -> None:
    """Raises for a flag that the chosen source does not know."""
    source = getattr(parsed, "in") or ("libraries" if parsed.library else "code")
    if source in ("code", "libraries"):
        for flag, known in _OTHERS.items():
            if getattr(parsed, flag) not in (None, [], False):
                raise UsageError(f"--{flag} is for --in {known}", f"add --in {known}, or use lurcher {known}")
    if source == "notes" and parsed.ranking is not None:
        raise UsageError("--ranking is not for --in notes", "leave one of them out")
    for flag, mode in _SHORT_FORMS.items() if source in ("history", "notes") else ():
        if mode != "dense" and getattr(parsed, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is not for --in {source}", "leave one of them out")


_OTHERS = {"since": "history", "until": "history", "author": "history", "outcome": "history", "tag": "notes"}
"""Filters that code does not have, and a source that has them."""
_SHORT_FORMS = {
    "semantic": "dense", "structural": "structural", "literal": "literal", "fixed": "literal", "word": "literal",
    "ignore_case": "literal", "case_sensitive": "literal", "multiline": "literal",
}  # fmt: skip
"""Flags that stand for a mode, or that exist in one mode only."""


def _chosen_mode(parsed: Namespace) -> str | None:
    """The mode given by --mode, or by a flag that stands for it."""
    asked: dict[str, str] = {}
    for flag, mode in _SHORT_FORMS.items():
        if getattr(parsed, flag):
            asked.setdefault(mode, f"--{flag.replace('_', '-')}")
    if parsed.mode is not None:
        asked.setdefault(parsed.mode, f"--mode {parsed.mode}")
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked.values())} contradict each other", "use one of them")
    return next(iter(asked), None)


def split_location(asked: str) -> tuple[str, int | None, int | None]:
    """The file and the lines of `FILE`, `FILE:12`, `FILE:12-20` or `FILE:12:3`; a file whose whole name that is comes first."""
    import re
    from pathlib import Path

    match = re.fullmatch(r"(.+?):(\d{1,9})?(-)?(\d{1,9})?", re.sub(r"(:\d+):\d*$", r"\1", asked), re.DOTALL)
    if match is None or "\0" in asked or Path(asked).exists():
        return asked, None, None
    place, first, dash, last = match.groups()
    if first is None:
        raise UsageError(f"'{asked}' names no lines", "write FILE, FILE:12 or FILE:12-20")
    if dash is None:
        return place, int(first), int(first)
    return place, int(first), int(last) if last else None


def file_locator(engine: Engine) -> Callable[[str], Path | str]:
    """From a hit's path to its file, like `Engine.locate`, but without `pathlib` where the path is one of the tree's.

    Paths of libraries and of installed sources have a colon; for them, and for files that have one, the engine is asked.
    """
    roots = [(label, project.root.place) for label, project in zip(engine.labels, engine.projects, strict=True)]

    def locate(path: str) -> Path | str:
        for label, root in roots if ":" not in path else ():
            if path.startswith(label):
                return f"{root}/{path[len(label) :]}"
        return engine.locate(path)

    return locate
