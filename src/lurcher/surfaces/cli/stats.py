"""`lurcher stats`: what agents saved, as a table."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from lurcher import config
from lurcher.errors import UsageError
from lurcher.server import token_stats
from lurcher.server.token_stats import Sum

FOUND, NOTHING = 0, 1


def run(parsed: Namespace) -> int:
    if parsed.days is not None and parsed.days < 1:
        raise UsageError(f"--days is {parsed.days}", "use 1 or more")
    if parsed.clear:
        cleared = token_stats.clear()
        if parsed.json:
            print(json.dumps({"cleared": cleared}))
        else:
            print("all was forgotten" if cleared else "there was nothing to forget")
        return FOUND
    entries = token_stats.read()
    if parsed.days is not None:
        entries = token_stats.since(entries, parsed.days)
    tools = token_stats.by_tool(entries)
    counted = config.load(None).savings.count
    if parsed.json:
        print(json.dumps({
            "counting": counted, "days": len({entry.day for entry in entries}), "total": _total(tools),
            "tools": [_entry(tool) for tool in tools],
        }))  # fmt: skip
    else:
        _table(tools, entries)
        if not counted:
            print("note: nothing is counted any more (savings.count is false)", file=sys.stderr)
    return FOUND if tools else NOTHING


def _entry(tool: Sum) -> dict[str, object]:
    return {
        "surface": tool.surface, "tool": tool.tool, "calls": tool.calls, "returned": tool.returned, "whole": tool.whole,
        "saved": tool.saved,
    }  # fmt: skip


def _total(tools: Sequence[Sum]) -> dict[str, int]:
    return {name: sum(getattr(tool, name) for tool in tools) for name in ("calls", "returned", "whole", "saved")}


def _table(tools: Sequence[Sum], entries: Sequence[Sum]) -> None:
    if not tools:
        print("nothing was counted yet: servers count what agents ask them (lurcher mcp)", file=sys.stderr)
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
    print(f"{total['saved']:,} tokens saved {when}; a token of a file is reckoned at 4 bytes", file=sys.stderr)


def _row(name: str, calls: int, returned: int, whole: int, saved: int) -> tuple[str, str, str, str, str]:
    return name, f"{calls:,}", f"{returned:,}", f"{whole:,}", _share(saved, whole)


def _share(saved: int, whole: int) -> str:
    return f"{100 * saved / whole:.0f} %" if whole else "-"
