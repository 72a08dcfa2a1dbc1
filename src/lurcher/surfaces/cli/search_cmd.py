"""Commands that ask a question and show the answer: `search`, `notes` and `history`."""

from __future__ import annotations

import sys

from lurcher.errors import QueryError, UsageError
from lurcher.runtime.fastjson import dumps
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.terminal import unguarded
from lurcher.surfaces.cli.declared import overrides_of
from lurcher.surfaces.cli.progress import Meter

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from lurcher.engine import Engine
    from lurcher.types import Answer

FOUND, NOTHING, ERROR = 0, 1, 2
_MAX_STDIN = 4_000_000


def print_json(value: Any) -> None:
    # A terminal would act on control characters that a file may hold; a program wants the text as it is.
    if sys.stdout.isatty():
        import json

        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        unguarded(sys.stdout).write(dumps(value, ensure_ascii=False) + "\n")


def engine_for(parsed: Namespace, *, bare: bool = False, soon: bool = False) -> Engine:
    """An engine for the paths of a command; with `bare` a repository without a work tree is one too.

    Where a question about files will follow `soon`, their tree is looked at while the rest of the engine is loaded.
    """
    paths = parsed.path or ["."]
    overrides: dict[str, Any] = {**overrides_of(parsed.set), **_of_store(parsed)}
    if bare and len(paths) == 1:
        from pathlib import Path

        from lurcher.inspect.explain import is_bare

        if is_bare(Path(paths[0])):
            from lurcher.engine import Engine

            return Engine.open(paths[0], root=paths[0], overrides=overrides_of(parsed.set))
    from lurcher.indexing.workspace import open_roots

    opened = open_roots(paths, overrides=overrides)
    for project in opened.projects if soon else ():
        project.begin_look()
    from lurcher.engine import Engine

    return Engine(opened.projects, opened.prefixes, opened.settings, overrides)


def _of_store(parsed: Namespace) -> dict[str, str]:
    """Flags about a shared store as settings."""
    given = {
        "store.url": getattr(parsed, "store", None), "store.project": ",".join(getattr(parsed, "project", None) or ()),
        "store.fallback": getattr(parsed, "fallback", None),
    }  # fmt: skip
    return {key: value for key, value in given.items() if value}


def narrowed(parsed: Namespace) -> dict[str, Any]:
    """Which files may answer."""
    return {"languages": parsed.lang, "paths": parsed.glob, "excludes": parsed.exclude}


def paged(parsed: Namespace) -> dict[str, Any]:
    """How many hits, and how much of each."""
    return {
        "limit": parsed.limit, "budget": parsed.budget, "cursor": getattr(parsed, "continue"), "context": parsed.context,
        "snippet_lines": parsed.snippet_lines,
    }  # fmt: skip


def as_json(parsed: Namespace) -> bool:
    if parsed.json and parsed.format not in (None, "json"):
        raise UsageError(f"--json and --format {parsed.format} contradict each other", "use one of them")
    return bool(parsed.json or parsed.format == "json")


def show_answer(parsed: Namespace, answer: Answer, engine: Engine, *, timings: bool) -> int:
    """An answer as JSON, without what differs from run to run unless asked for, or as text."""
    if parsed.format == "vimgrep" and not as_json(parsed):
        from lurcher.surfaces.cli import printer, vimgrep

        printer.notes(answer.degraded)
        vimgrep.answer(answer, engine.locate)
        printer.footer(answer, getattr(parsed, "timings", False))
    elif as_json(parsed):
        value = answer.to_dict()
        if not getattr(parsed, "timings", False):
            value["timings_ms"] = {}
        print_json(value)
    else:
        from lurcher.surfaces.cli import printer

        printer.answer(answer, engine.locate, explain=parsed.explain, timings=timings)
    return FOUND if answer.hits else NOTHING


def _query_text(query: str) -> str:
    if query == "-":
        query = sys.stdin.buffer.read(_MAX_STDIN).decode("utf-8", "replace")
    if not query.strip():
        raise QueryError("the query is empty", 'for example: lurcher search "how are redirects followed"')
    return query


def run_search(parsed: Namespace) -> int:
    _check_source(parsed)
    return _asked(
        parsed,
        getattr(parsed, "in"),
        libraries=parsed.library or (),
        mode=_mode(parsed),
        fixed=parsed.fixed,
        case="ignore" if parsed.ignore_case else "exact" if parsed.case_sensitive else "smart",
        word=parsed.word,
        multiline=parsed.multiline,
    )


def run_notes(parsed: Namespace) -> int:
    return _asked(parsed, "notes", mode=parsed.mode)


def run_history(parsed: Namespace) -> int:
    return _asked(parsed, "history", mode=parsed.mode)


def _asked(parsed: Namespace, source: str | None, **options: Any) -> int:
    """One question to one source or all of them; a command has the flags that its source knows."""
    query = _query_text(parsed.query)
    for flag, name in (("since", "since"), ("until", "until"), ("author", "author"), ("outcome", "outcomes"), ("tag", "tags")):
        options[name] = getattr(parsed, flag, None) or ((), None)[flag in ("since", "until", "author")]
    soon = source in (None, "code") and not options.get("libraries")
    with engine_for(parsed, bare=source == "history", soon=soon) as engine, Meter(parsed.quiet) as meter:
        answer = engine.search(
            query,
            sources=None if source is None else [source],
            ranking=getattr(parsed, "ranking", None),
            **narrowed(parsed),
            **paged(parsed),
            rerank=[] if parsed.no_rerank else parsed.rerank or None,
            fusion=parsed.fusion,
            alpha=parsed.alpha,
            mmr=parsed.mmr,
            refresh=not parsed.no_refresh,
            progress=meter.update,
            **options,
        )
    return show_answer(parsed, answer, engine, timings=parsed.timings)


def _check_source(parsed: Namespace) -> None:
    """A flag that the chosen source does not know is an error, not ignored."""
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
"""Filters that code does not know, and a source that does."""
_SHORT_FORMS = {
    "semantic": "dense", "structural": "structural", "literal": "literal", "fixed": "literal", "word": "literal",
    "ignore_case": "literal", "case_sensitive": "literal", "multiline": "literal",
}  # fmt: skip
"""Flags that stand for a mode, or that only one mode has."""


def _mode(parsed: Namespace) -> str | None:
    """The mode that was asked for by name, or by a flag that stands for it."""
    asked: dict[str, str] = {}
    for flag, mode in _SHORT_FORMS.items():
        if getattr(parsed, flag):
            asked.setdefault(mode, f"--{flag.replace('_', '-')}")
    if parsed.mode is not None:
        asked.setdefault(parsed.mode, f"--mode {parsed.mode}")
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked.values())} contradict each other", "use one of them")
    return next(iter(asked), None)
