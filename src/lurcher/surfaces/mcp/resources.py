"""What agents can read by address: the outline of each file, and the state of the index, which is a tool too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types

from lurcher.errors import CursorError, PathError
from lurcher.runtime.terminal import format_count
from lurcher.server.session import Session
from lurcher.surfaces.mcp import answers
from lurcher.surfaces.mcp.access import Access
from lurcher.surfaces.mcp.tools import Call
from lurcher.types import silent

STATUS = "lurcher://status"
OUTLINE = "lurcher://outline/"
PAGE_SIZE = 200
TEMPLATE = types.ResourceTemplate(
    name="outline", title="Symbols of a file", uri_template=OUTLINE + "{+path}", mime_type="text/plain",
    description="The symbols of a file or folder, with lines and signatures.",
)  # fmt: skip
_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[types.Resource]
    next: str | None


def list_resources(served: Session, access: Access, cursor: str | None) -> Page:
    """The state of the index, then the files that have symbols, a page at a time."""
    start = _position(cursor)
    entries = []
    if start == 0:
        entries.append(
            types.Resource(name="status", title="State of the index", uri=STATUS, mime_type="application/json")
        )
    if not served.ready(0.0):
        return Page(entries, None)
    engine = served.engine
    names = sorted(
        label + path
        for project, label in zip(engine.projects, engine.labels, strict=True)
        for path, row in project.view(silent).manifest.rows.items()
        if row.segment >= 0
    )
    shown = [name for name in names if any(engine.locate(name).is_relative_to(folder) for folder in access.folders)]
    page = shown[start : start + PAGE_SIZE]
    entries += [types.Resource(name=name, uri=OUTLINE + quote(name), mime_type="text/plain") for name in page]
    return Page(entries, f"from-{start + PAGE_SIZE}" if start + PAGE_SIZE < len(shown) else None)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix("from-")
    if cursor == number or not number.isdecimal() or len(number) > 9:
        raise CursorError("the cursor is damaged", "pass it exactly as it was given")
    return int(number)


def read_resource(call: Call, uri: str) -> types.TextResourceContents:
    if uri == STATUS:
        text = json.dumps(status_data(call.served), ensure_ascii=False)
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if not uri.startswith(OUTLINE):
        raise PathError(f"there is no resource {uri[:200]}", f"there are {STATUS} and {OUTLINE}PATH")
    with call.served.full_index() as engine:
        place = call.resolve(unquote(uri.removeprefix(OUTLINE), errors="replace"), engine)
        result = answers.render_outline(engine.outline(place, progress=call.progress), _BUDGET)
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=result.text)


# -- the state of the index ---------------------------------------------------------------------------------------------

_KEPT = (
    "root", "exists", "generation", "files", "units", "fresh", "stale_paths", "problem", "hint", "history", "languages",
    "files_found", "skipped",
)  # fmt: skip


def status_data(served: Session) -> dict[str, Any]:
    """What matters to an agent of the engine's status, and how far a build has come."""
    status = served.engine.status()
    roots = [{name: entry[name] for name in _KEPT if name in entry} for entry in status.get("roots", [status])]
    data: dict[str, Any] = {"roots": roots, **({"shared": status["shared"]} if "shared" in status else {})}
    build = served.building
    if build is not None:
        data["building"] = {"what": build.what, "done": build.done, "total": build.total}
    return data


def _shared_text(shared: dict[str, Any]) -> list[str]:
    """What a shared store holds. It answers searches then; only `lurcher index` writes to it."""
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
            lines.append(f"  no index yet; {format_count(entry.get('files_found', 0), 'file')} would be indexed")
        else:
            state = "fresh" if entry["fresh"] else f"{format_count(entry['stale_paths'], 'file')} changed since"
            holds = f"{format_count(entry['files'], 'file')}, {format_count(entry['units'], 'unit')}"
            lines.append(f"  generation {entry['generation']}, {state}: {holds}")
            most = list(entry["languages"].items())[:8]
            lines.append("  " + ", ".join(f"{name} {count:,}" for name, count in most))
        past = entry.get("history")
        if past and past.get("exists"):
            lines.append(f"  history: {past['commits']:,} of {format_count(past['total'], 'commit')}")
    lines += _shared_text(data["shared"]) if "shared" in data else []
    if "building" in data:
        build = data["building"]
        lines.append(f"indexing now: {build['what']}, {build['done']:,} of {build['total']:,}")
    if "seconds" in data:
        lines.append(f"done in {data['seconds']} s")
    return "\n".join(lines)
