"""The state of an index as agents read it."""

from __future__ import annotations

from typing import Any

from lurcher.runtime.plural import counted
from lurcher.server.session import Served

_KEPT = (
    "root", "exists", "generation", "files", "units", "fresh", "stale_paths", "problem", "hint", "history", "languages",
    "files_found", "skipped",
)  # fmt: skip


def status_data(served: Served) -> dict[str, Any]:
    """What matters to an agent of the engine's status, and how far a build has come."""
    status = served.engine.status()
    roots = [{name: entry[name] for name in _KEPT if name in entry} for entry in status.get("roots", [status])]
    data: dict[str, Any] = {"roots": roots, **({"shared": status["shared"]} if "shared" in status else {})}
    build = served.building
    if build is not None:
        data["building"] = {"what": build.what, "done": build.done, "total": build.total}
    return data


def _shared_text(shared: dict[str, Any]) -> list[str]:
    """What a shared store has, which answers searches then; it is written by the command, not from here."""
    lines = [f"store {shared['store']} (lurcher index brings it up to date)"]
    if "problem" in shared:
        lines.append(f"  problem: {shared['problem']} ({shared.get('hint', '')})")
    for entry in shared["projects"]:
        held = f"generation {entry['generation']}, {entry['files']:,} files" if entry["exists"] else "not there"
        lines.append(f"  {entry['project']}: {held}")
    return lines


def status_text(data: dict[str, Any]) -> str:
    lines = []
    for entry in data["roots"]:
        lines.append(entry["root"])
        if "problem" in entry:
            lines.append(f"  problem: {entry['problem']} ({entry.get('hint', '')})")
        elif not entry["exists"]:
            lines.append(f"  no index yet; {counted(entry.get('files_found', 0), 'file')} would be indexed")
        else:
            state = "fresh" if entry["fresh"] else f"{counted(entry['stale_paths'], 'file')} changed since"
            holds = f"{counted(entry['files'], 'file')}, {counted(entry['units'], 'unit')}"
            lines.append(f"  generation {entry['generation']}, {state}: {holds}")
            most = list(entry["languages"].items())[:8]
            lines.append("  " + ", ".join(f"{name} {count:,}" for name, count in most))
        past = entry.get("history")
        if past and past.get("exists"):
            lines.append(f"  history: {past['commits']:,} of {counted(past['total'], 'commit')}")
    lines += _shared_text(data["shared"]) if "shared" in data else []
    if "building" in data:
        build = data["building"]
        lines.append(f"indexing now: {build['what']}, {build['done']:,} of {build['total']:,}")
    if "seconds" in data:
        lines.append(f"done in {data['seconds']} s")
    return "\n".join(lines)
