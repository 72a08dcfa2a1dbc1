"""`lurcher init`, as text: one line per file, and what to add by hand where a file was left alone."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

from lurcher.errors import UsageError
from lurcher.runtime.terminal import printable
from lurcher.sources.roots import find_root
from lurcher.surfaces import agents
from lurcher.surfaces.agents.clients import CLIENTS

FOUND, ERROR = 0, 2
_WOULD = {agents.WROTE: "would write", agents.REMOVED: "would remove"}


def run(parsed: Namespace) -> int:
    known = [client.key for client in CLIENTS]
    for key in parsed.client:
        if key not in known:
            raise UsageError(f"unknown client '{key}'", f"known are: {', '.join(known)}")
    project = find_root(Path(parsed.place or ".")).path
    home = Path("~").expanduser()
    clients = agents.chosen(project, parsed.client, home if home.is_dir() else None)
    done = agents.steps(
        project, clients if not parsed.remove or parsed.client else CLIENTS, remove=parsed.remove, dry_run=parsed.dry_run,
        with_hook=parsed.hook or (parsed.remove and not parsed.client), agents=not parsed.no_agents,
    )  # fmt: skip
    notes = [] if parsed.remove else agents.missing()
    if parsed.json:
        print(json.dumps({"project": str(project), "steps": [step.to_dict() for step in done], "notes": notes}))
    else:
        _show(done, project, parsed)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        if not clients and not parsed.remove:
            print(f"note: no agent was found here; name one: --client {'|'.join(known)}", file=sys.stderr)
    left = [step for step in done if step.done == agents.LEFT and not (parsed.remove and step.title == "git")]
    return ERROR if left else FOUND


def _show(done: list[agents.Step], project: Path, parsed: Namespace) -> None:
    for step in done:
        if parsed.remove and step.done == agents.UNCHANGED:
            continue
        what = _WOULD.get(step.done, step.done) if parsed.dry_run else step.done
        path = step.path.relative_to(project) if step.path.is_relative_to(project) else step.path
        reason = f": {printable(step.reason)}" if step.reason else ""
        print(f"{what}  {printable(str(path))}  ({step.title}){reason}")
        if step.show:
            if step.done == agents.LEFT:
                print("  add this yourself:" if not parsed.remove else "  take this out yourself:")
            for line in step.show.rstrip("\n").split("\n"):
                print(f"    {printable(line)}")
