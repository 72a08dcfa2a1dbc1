"""The commands that neither search nor index: each calls the engine and prints the answer.

`lurcher init` sets coding agents up, `lurcher stats` shows what they saved.
"""

from __future__ import annotations

import itertools
import json
import shlex
import sys
import zlib
from argparse import Namespace
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher import config
from lurcher.errors import DatasetError, UsageError
from lurcher.runtime.process import format_count, printable
from lurcher.server import token_stats
from lurcher.server.token_stats import TokenCount
from lurcher.sources import find_root
from lurcher.surfaces import agents
from lurcher.surfaces.agents.clients import CLIENTS
from lurcher.surfaces.agents.handshake import shake_hands
from lurcher.surfaces.cli import print_inspect, printer
from lurcher.surfaces.cli.search_cmd import (
    Meter,
    engine_for,
    filter_options,
    overrides_of,
    page_options,
    print_json,
    settings_of,
    show_answer,
    split_location,
    wants_json,
)
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lurcher.config import Settings
    from lurcher.engine import Engine
    from lurcher.inspect.doctor import Finding


FOUND, NOTHING, ERROR = 0, 1, 2


def run_symbol(parsed: Namespace) -> int:
    with engine_for(parsed) as engine, Meter(parsed.quiet) as meter:
        answer = engine.symbol(
            parsed.name, limit=20 if parsed.limit is None else parsed.limit, languages=parsed.lang, progress=meter.update
        )
    if wants_json(parsed):
        print_json(answer.to_dict())
    elif parsed.format == "vimgrep":
        printer.print_notes(answer.degraded)
        printer.print_symbols_vimgrep(answer, engine.locate)
    else:
        printer.print_symbols(answer, engine.locate)
    return FOUND if answer.definitions else NOTHING


def _engine_around(parsed: Namespace, place: str) -> tuple[Any, str | Path]:
    """An engine for the tree that a place is in, and the place as the engine should read it.

    A path that exists from the current folder is that file; anything else may be a path as a hit shows it.
    """
    from lurcher.engine import Engine

    seen = Path(place)
    if "\0" in place or not seen.exists():
        return Engine.open(".", overrides=settings_of(parsed)), place
    inside = seen.resolve().is_relative_to(find_root(Path()).path)
    engine = Engine.open("." if inside else seen, overrides=settings_of(parsed))
    return engine, place if engine.elsewhere else Path.cwd() / seen  # of another project, a file here says nothing


def run_related(parsed: Namespace) -> int:
    file, line, _ = split_location(parsed.place)
    if line is None:
        raise UsageError(f"{parsed.place} names no line", "write it as FILE:LINE")
    engine, place = _engine_around(parsed, file)
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.related(
            place,
            line,
            **filter_options(parsed),
            **page_options(parsed),
            progress=meter.update,
        )
    return show_answer(parsed, answer, engine, timings=False)


def run_why(parsed: Namespace) -> int:
    file, line, _ = split_location(parsed.place)
    engine, place = _engine_around(parsed, file)
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.why(
            place,
            parsed.query,
            line=line,
            limit=parsed.limit,
            mode=parsed.mode,
            ranking=parsed.ranking,
            **filter_options(parsed),
            progress=meter.update,
        )
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_why(answer, engine.locate)
    return FOUND if answer.shown else NOTHING


def run_impact(parsed: Namespace) -> int:
    engine, place = _engine_around(parsed, parsed.file)
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.impact(place, symbol=parsed.symbol, hops=parsed.hops, progress=meter.update)
    if parsed.json:
        print_json(answer.to_dict())
    elif parsed.format in ("dot", "svg"):
        printer.print_notes(answer.basis.degraded)
        render = print_inspect.render_dot if parsed.format == "dot" else print_inspect.render_svg
        sys.stdout.write(render(answer))
        print_inspect.print_impact_totals(answer)
    else:
        print_inspect.print_impact(answer, engine.locate)
    return FOUND if answer.dependents else NOTHING


def run_outline(parsed: Namespace) -> int:
    engine, place = _engine_around(parsed, parsed.place or ".")
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.outline(place, kinds=parsed.kind, progress=meter.update)
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_outline(answer, engine.locate)
    return FOUND if answer.total else NOTHING


def run_context(parsed: Namespace) -> int:
    engine, place = _engine_around(parsed, parsed.place or ".")
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.context(place, budget=parsed.budget, progress=meter.update)
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_context(answer)
    return FOUND


def run_exists(parsed: Namespace) -> int:
    with engine_for(parsed) as engine, Meter(parsed.quiet) as meter:
        answer = engine.exists(parsed.pattern, exact=parsed.exact, progress=meter.update)
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_exists(answer, engine.locate)
    return FOUND if answer.exists else NOTHING


def run_brief(parsed: Namespace) -> int:
    engine, place = _engine_around(parsed, parsed.target)
    with engine, Meter(parsed.quiet) as meter:
        answer = engine.brief(place, budget=parsed.budget, progress=meter.update)
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_brief(answer)
    return FOUND


def run_explain(parsed: Namespace) -> int:
    from lurcher.inspect.explain import explain, is_bare

    file, first, last = split_location(parsed.file)
    limit = 10 if parsed.limit is None else parsed.limit
    here = Path.cwd()
    if is_bare(here):  # without a work tree there is no engine
        settings = config.load(None, settings_of(parsed))
        notes = _without_store(settings, here, "which commits wrote a line")
        answer, locate = explain(here, file, first, last, settings=settings.blame, limit=limit), here.joinpath
        answer = replace(answer, degraded=(*notes, *answer.degraded))
    else:
        engine, place = _engine_around(parsed, file)
        with engine:
            answer, locate = engine.explain(place, first, last, limit=limit), engine.locate
    if parsed.json:
        print_json(answer.to_dict())
    else:
        print_inspect.print_explain(answer, locate)
    return FOUND if answer.writers else NOTHING


def _without_store(settings: Settings, here: Path, purpose: str) -> tuple[Degraded, ...]:
    """The notes about a shared store for an answer that is made without an engine."""
    if not settings.store.url and not settings.store.project:
        return ()
    from lurcher.stores.shared import find_shared_store

    shared = find_shared_store(settings, [here])
    return () if shared is None else shared.note_unsupported(purpose)


def run_serve(parsed: Namespace) -> int:
    from lurcher.surfaces import http, team

    if team.is_meant(parsed):
        return team.run(parsed)
    with engine_for(parsed) as engine:
        for project in engine.projects:
            project.check_breadth()
        http.run(engine, parsed)
    return FOUND


def run_status(parsed: Namespace) -> int:
    with engine_for(parsed) as engine:
        status = engine.status(skipped=parsed.skipped)
    if parsed.json:
        print_json(status)
    else:
        print_inspect.print_status(status)
    if "problem" in status.get("shared", {}):
        return ERROR
    shared = status.get("shared", {}).get("projects")
    exists = all(entry["exists"] for entry in shared or status.get("roots", [status]))
    return FOUND if exists else NOTHING


def run_doctor(parsed: Namespace) -> int:
    from lurcher.engine import diagnose

    found = []
    with Meter(parsed.quiet) as meter:
        findings = diagnose(
            parsed.path or ["."], quick=parsed.quick, overrides=overrides_of(parsed.set), progress=meter.update
        )
        for finding in itertools.chain(findings, _check_agents(parsed)):
            found.append(finding)
            meter.clear()
            if not parsed.json and not (finding.health and finding.health.reachable):
                print_inspect.print_finding(finding)
    checked = [finding.health for finding in found if finding.health is not None]
    services = list({(health.service, health.address): health for health in checked}.values())  # roots may share them
    counts = {state: sum(finding.state == state for finding in found) for state in ("problem", "note")}
    if parsed.json:
        checks = [finding.to_dict() for finding in found]
        extra = {"services": [health.to_dict() for health in services]} if services else {}
        print_json({"problems": counts["problem"], "notes": counts["note"], "checks": checks, **extra})
    else:
        print_inspect.print_services(services)
        print_inspect.print_verdict(counts["problem"])
    return NOTHING if counts["problem"] else FOUND


def _check_agents(parsed: Namespace) -> Iterator[Finding]:
    """What the coding agents of each root would start."""
    from lurcher.inspect.doctor import run_check

    home = Path("~").expanduser()
    for root in dict.fromkeys(find_root(Path(place)).path for place in parsed.path or ["."]):
        entries = partial(agents.check_entries, root, home if home.is_dir() else None, quick=parsed.quick)
        yield from run_check("agents", entries, str(root))


def run_model(parsed: Namespace) -> int:
    from lurcher.indexing.root_index import select_model
    from lurcher.vectors import convert

    root = find_root(Path()).path
    if parsed.action == "use":
        if parsed.model is None:
            raise UsageError("no model was named", "name a table, a Model2Vec folder, builtin or none")
        value, file = convert.choose_model(parsed.model)
        print(f"{convert.SETTING} = {json.dumps(value)} in {file}", file=sys.stderr)
    overrides = overrides_of(parsed.set)
    if parsed.model is not None:
        named = value if parsed.action == "use" else parsed.model
        settings = config.load(root, overrides)
        if parsed.action == "use" and settings.dense.model != named:
            print(f"note: {settings.origins[convert.SETTING]} sets {convert.SETTING} too, and wins", file=sys.stderr)
        if settings.embedding.provider != "builtin":
            print(f"note: embedding.provider is {settings.embedding.provider}, which takes precedence", file=sys.stderr)
            overrides = {**overrides, "embedding.provider": "builtin"}
        overrides = {**overrides, convert.SETTING: named}
    found = convert.describe_model(select_model(config.load(root, overrides), root))
    if parsed.json:
        print_json(found)
    else:
        print_inspect.print_model(found)
    return FOUND if "digest" in found else NOTHING


def run_config(parsed: Namespace) -> int:
    root = find_root(Path(parsed.path[0] if parsed.path else "."))
    settings = config.load(root.path, overrides_of(parsed.set))
    from lurcher.net.http import redact_url

    rows = [
        (key, redact_url(value) if isinstance(value, str) else value, origin, doc)
        for key, value, origin, doc in settings.rows()
    ]  # fmt: skip
    if parsed.json:
        print_json({key: {"value": value, "origin": origin} for key, value, origin, _ in rows})
        return FOUND
    for key, value, origin, doc in rows:
        text = json.dumps(value)
        where = f"  [{origin}]" if parsed.origin else ""
        print(f"{key} = {text}{where}  # {doc}")
    return FOUND


def run_mcp(parsed: Namespace) -> int:
    if parsed.http:
        from lurcher.surfaces import http

        http.run_mcp(parsed.root, overrides_of(parsed.set), parsed)
        return FOUND
    from lurcher.surfaces.mcp import serve_stdio

    serve_stdio(parsed.root, overrides_of(parsed.set), workspace=parsed.workspace)
    return FOUND


def run_completion(parsed: Namespace) -> int:
    from lurcher.surfaces.cli import reference

    print(reference.completion_script(parsed.shell), end="")
    return FOUND


def run_help(parsed: Namespace) -> int:
    from lurcher.surfaces.cli.reference import print_help

    print_help(parsed.topic)
    return FOUND


def run_eval(parsed: Namespace) -> int:
    from lurcher import evaluation

    if parsed.compare:
        if not parsed.other:
            raise DatasetError("--compare needs two saved runs", "lurcher eval --compare before.json after.json")
        comparison = evaluation.compare(Path(parsed.dataset), Path(parsed.other))
        if parsed.json:
            print_json(comparison.to_dict())
        else:
            print(evaluation.format_comparison(comparison))
        return FOUND
    run = _evaluate(parsed, {})
    if parsed.save:
        evaluation.save_run(run, Path(parsed.save))
    if not parsed.versus:
        if parsed.json:
            print_json(run.to_dict())
        else:
            print(evaluation.format_report(run, all_warnings=parsed.warnings))
        return FOUND
    comparison = evaluation.compare(run, _evaluate(parsed, overrides_of(parsed.versus)))
    if parsed.json:
        print_json(comparison.to_dict())
    else:
        print(evaluation.format_comparison(comparison))
    return FOUND


def _evaluate(parsed: Namespace, more: dict[str, str]) -> Any:
    from lurcher.engine import Engine
    from lurcher.evaluation import evaluate
    from lurcher.net.http import redact_url

    # Evaluation waits for complete indexes of trees and histories.
    overrides = {"history.refresh_seconds": "3600", "index.first_answer_seconds": "0", **overrides_of(parsed.set), **more}
    work = Path(parsed.work) if parsed.work else None
    store = parsed.store or overrides.get("store.url") or "local"
    if store == "local" and config.load(None).store.url not in ("", "local"):
        note = Degraded("store", "a shared store is set; eval measures the local index", "to measure the store: --store URL")
        printer.print_notes([note])

    @contextmanager
    def open_engine(folder: Path) -> Iterator[Engine]:
        index = None
        if work is not None:
            # One index per setting that changes its content, so that a comparison does not rebuild them in turns.
            made_with = overrides.get("index.chunk_chars", "")
            models = [str(value) for key, value in sorted(overrides.items()) if key == "dense.model" or "embedding." in key]
            if models:
                made_with += f"-{zlib.crc32(' '.join(models).encode('utf-8', 'replace')):08x}"
            index = work / "indexes" / f"{'-'.join(folder.resolve().parts[-3:])}{made_with}"
        # A shared store is measured only on request.
        shared = {} if store == "local" else {"project": f"eval:{folder.resolve().name}"}
        with Engine.open(folder, root=folder, index_dir=index, overrides=overrides, store=store, **shared) as engine:
            if shared:
                engine.index()
            yield engine

    options: dict[str, Any] = {} if getattr(parsed, "in") is None else {"sources": [getattr(parsed, "in")]}
    for name in ("mode", "ranking", "fusion", "alpha", "mmr"):
        if getattr(parsed, name) is not None:
            options[name] = getattr(parsed, name)
    if parsed.flat:
        options["flat"] = True
    opener: Any = open_engine
    recorded: dict[str, Any] = {
        key: redact_url(str(value)) if key.endswith(".url") else value for key, value in overrides.items()
    }
    if parsed.baseline or parsed.peer:
        from lurcher.evaluation import baselines

        if parsed.baseline and parsed.peer:
            raise UsageError("--baseline and --peer are both given", "measure one after the other, and --compare their runs")
        opener = baselines.open_baseline(parsed.baseline) if parsed.baseline else baselines.open_peer(parsed.peer)
        named = {"baseline": parsed.baseline, "grep": baselines.ripgrep_version()} if parsed.baseline else {"peer": parsed.peer}
        options, recorded = {}, named
    with Meter(parsed.quiet) as meter:
        return evaluate(
            Path(parsed.dataset),
            opener,
            repos=Path(parsed.repos) if parsed.repos else None,
            root=Path(parsed.root) if parsed.root else None,
            work=work / "trees" if work else None,
            **({"limit": parsed.limit} if parsed.limit else {}),
            options=options,
            settings=recorded,
            only=parsed.only,
            packed=not (parsed.baseline or parsed.peer),
            negatives=parsed.negatives,
            progress=meter.update,
        )


_WOULD = {agents.WROTE: "would write", agents.REMOVED: "would remove"}


def run_init(parsed: Namespace) -> int:
    """Makes sure that the server answers, then one line per file, and what to add by hand where a file was left alone."""
    known = [client.key for client in CLIENTS]
    for key in parsed.client:
        if key not in known:
            raise UsageError(f"unknown client '{key}'", f"known are: {', '.join(known)}")
    project = find_root(Path(parsed.place or ".")).path
    home: Path | None = Path("~").expanduser()
    home = home if home is not None and home.is_dir() else None
    everything = parsed.remove and not parsed.client
    setup = agents.Setup(
        project, home, CLIENTS if everything else agents.choose_clients(project, parsed.client, home),
        remove=parsed.remove, dry_run=parsed.dry_run, instructions=parsed.instructions or everything,
        skill=parsed.skill or everything, agent_hooks=parsed.agent_hooks or everything, git_hook=parsed.hook or everything,
        plugin=Path(parsed.plugin).absolute() if parsed.plugin else None,
    )  # fmt: skip
    if setup.is_empty:
        raise UsageError("no agent was found here, so nothing was written", f"name one: --client {'|'.join(known)}")
    if setup.agent_hooks and not setup.remove and not (setup.has("claude") or setup.has("codex")):
        raise UsageError("hooks are for Claude Code and Codex, which were not found here", "name one: --client claude")
    server = _greet_server(setup) if setup.needs_server else None
    done = agents.apply_steps(setup)
    if parsed.json:
        print(json.dumps({"project": str(project), "server": server, "steps": [step.to_dict() for step in done]}))
    else:
        if server is not None:
            print(f"{format_count(server['tools'], 'tool')} answer: {printable(' '.join(server['command']))}")
        _print_steps(done, project, parsed)
    left = [step for step in done if step.done == agents.LEFT and not (parsed.remove and step.title == "git")]
    return ERROR if left else FOUND


def _greet_server(setup: agents.Setup) -> dict[str, Any]:
    """Starts the server that the entries will name; raises, before anything is written, if it does not answer."""
    from lurcher.surfaces.mcp import need_extra

    need_extra()
    found = shake_hands(setup.command, setup.project)
    return {"command": setup.command, "tools": found.tools, "version": found.version}


def _print_steps(done: list[agents.Step], project: Path, parsed: Namespace) -> None:
    for step in done:
        if parsed.remove and step.done == agents.UNCHANGED:
            continue
        what = _WOULD.get(step.done, step.done) if parsed.dry_run else step.done
        path = step.path.relative_to(project) if step.path.is_relative_to(project) else step.path
        reason = f": {printable(step.reason)}" if step.reason else ""
        print(f"{what}  {printable(str(path))}  ({step.title}){reason}")
        if step.show:
            if step.done == agents.LEFT:
                print("  add this yourself:" if not parsed.remove else "  remove this yourself:")
            for line in step.show.rstrip("\n").split("\n"):
                print(f"    {printable(line)}")
        if step.then and step.done == agents.WROTE:
            print(f"  then: {step.then}")
    if parsed.plugin and not parsed.remove and not parsed.dry_run:
        folder = shlex.quote(str(Path(parsed.plugin).absolute()))
        print(f"then: claude plugin marketplace add {folder} && claude plugin install lurcher@lurcher")
        print(f"or:   codex plugin marketplace add {folder} && codex plugin add lurcher@lurcher")


def run_stats(parsed: Namespace) -> int:
    if parsed.days is not None and parsed.days < 1:
        raise UsageError(f"--days is {parsed.days}", "use 1 or more")
    if parsed.clear:
        cleared = token_stats.clear()
        if parsed.json:
            print(json.dumps({"cleared": cleared}))
        else:
            print("all counts were removed" if cleared else "there was nothing to remove")
        return FOUND
    entries = token_stats.read()
    if parsed.days is not None:
        entries = token_stats.last_days(entries, parsed.days)
    tools = token_stats.by_tool(entries)
    counted = config.load(None).savings.count
    if parsed.json:
        print(json.dumps({
            "counting": counted, "days": len({entry.day for entry in entries}), "total": _total(tools),
            "tools": [_tool_data(tool) for tool in tools],
        }))  # fmt: skip
    else:
        _print_table(tools, entries)
        if not counted:
            print("note: nothing is counted any more (savings.count is false)", file=sys.stderr)
    return FOUND if tools else NOTHING


_COMPARED = (
    "compared with a grep for the names and the three rarest words of each question that prints ten lines around every match, "
    "only of the files in the answer; not with reading these files whole. A token is estimated as 4 characters"
)


def _tool_data(tool: TokenCount) -> dict[str, object]:
    return {
        "surface": tool.surface, "tool": tool.tool, "calls": tool.calls, "returned": tool.returned, "grep": tool.grep,
        "saved": tool.saved,
    }  # fmt: skip


def _total(tools: Sequence[TokenCount]) -> dict[str, int]:
    return {name: sum(getattr(tool, name) for tool in tools) for name in ("calls", "returned", "grep", "saved")}


def _print_table(tools: Sequence[TokenCount], entries: Sequence[TokenCount]) -> None:
    if not tools:
        print("nothing was counted yet: the servers count the answers that agents get (lurcher mcp)", file=sys.stderr)
        return
    total = _total(tools)
    days = sorted({entry.day for entry in entries})
    rows = [("tool", "answers", "tokens", "tuned grep", "saved")]
    rows += [_row(f"{tool.surface} {tool.tool}", tool.calls, tool.returned, tool.grep, tool.saved) for tool in tools]
    rows.append(_row("all", **total))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())
    when = f"on {days[0]}" if len(days) == 1 else f"on {len(days)} days since {days[0]}"
    print(f"{total['saved']:,} tokens saved {when}, {_COMPARED}", file=sys.stderr)


def _row(name: str, calls: int, returned: int, grep: int, saved: int) -> tuple[str, str, str, str, str]:
    return name, f"{calls:,}", f"{returned:,}", f"{grep:,}" if grep else "-", _share(saved, grep)


def _share(saved: int, grep: int) -> str:
    return f"{100 * saved / grep:.0f} %" if grep else "-"
