"""Commands about coding agents: `lurcher init` sets them up, `lurcher stats` shows what they saved."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from lurcher import config
from lurcher.errors import UsageError
from lurcher.runtime.terminal import printable
from lurcher.server import token_stats
from lurcher.server.token_stats import TokenCount
from lurcher.sources.roots import find_root
from lurcher.surfaces import agents
from lurcher.surfaces.agents.clients import CLIENTS

FOUND, NOTHING, ERROR = 0, 1, 2
_WOULD = {agents.WROTE: "would write", agents.REMOVED: "would remove"}


def run_init(parsed: Namespace) -> int:
    """One line per file, and what to add by hand where a file was left alone."""
    known = [client.key for client in CLIENTS]
    for key in parsed.client:
        if key not in known:
            raise UsageError(f"unknown client '{key}'", f"known are: {', '.join(known)}")
    project = find_root(Path(parsed.place or ".")).path
    home = Path("~").expanduser()
    clients = agents.choose_clients(project, parsed.client, home if home.is_dir() else None)
    done = agents.apply_steps(
        project, clients if not parsed.remove or parsed.client else CLIENTS, remove=parsed.remove, dry_run=parsed.dry_run,
        with_hook=parsed.hook or (parsed.remove and not parsed.client), agents=not parsed.no_agents,
    )  # fmt: skip
    notes = [] if parsed.remove else agents.find_missing()
    if parsed.json:
        print(json.dumps({"project": str(project), "steps": [step.to_dict() for step in done], "notes": notes}))
    else:
        _print_steps(done, project, parsed)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        if not clients and not parsed.remove:
            print(f"note: no agent was found here; name one: --client {'|'.join(known)}", file=sys.stderr)
    left = [step for step in done if step.done == agents.LEFT and not (parsed.remove and step.title == "git")]
    return ERROR if left else FOUND


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


def _tool_data(tool: TokenCount) -> dict[str, object]:
    return {
        "surface": tool.surface, "tool": tool.tool, "calls": tool.calls, "returned": tool.returned, "whole": tool.whole,
        "saved": tool.saved,
    }  # fmt: skip


def _total(tools: Sequence[TokenCount]) -> dict[str, int]:
    return {name: sum(getattr(tool, name) for tool in tools) for name in ("calls", "returned", "whole", "saved")}


def _print_table(tools: Sequence[TokenCount], entries: Sequence[TokenCount]) -> None:
    if not tools:
        print("nothing was counted yet: the servers count the answers that agents get (lurcher mcp)", file=sys.stderr)
        return
    total = _total(tools)
    days = sorted({entry.day for entry in entries})
    rows = [("tool", "answers", "tokens", "whole files", "saved")]
    rows += [_row(f"{tool.surface} {tool.tool}", tool.calls, tool.returned, tool.whole, tool.saved) for tool in tools]
    rows.append(_row("all", **total))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())
    when = f"on {days[0]}" if len(days) == 1 else f"on {len(days)} days since {days[0]}"
    print(f"{total['saved']:,} tokens saved {when}; a token of a file is estimated as 4 bytes", file=sys.stderr)


def _row(name: str, calls: int, returned: int, whole: int, saved: int) -> tuple[str, str, str, str, str]:
    return name, f"{calls:,}", f"{returned:,}", f"{whole:,}", _share(saved, whole)


def _share(saved: int, whole: int) -> str:
    return f"{100 * saved / whole:.0f} %" if whole else "-"
