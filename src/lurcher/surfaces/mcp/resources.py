"""What can be read by address: the outline of each file, and the state of the index."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote, unquote

import mcp_types as types

from lurcher.errors import CursorError, PathError
from lurcher.server.session import Served
from lurcher.surfaces.mcp import answers
from lurcher.surfaces.mcp.access import Access
from lurcher.surfaces.mcp.status import status_data
from lurcher.surfaces.mcp.tools import Call
from lurcher.types import silent

STATUS = "lurcher://status"
OUTLINE = "lurcher://outline/"
PAGE = 200
TEMPLATE = types.ResourceTemplate(
    name="outline", title="Symbols of a file", uri_template=OUTLINE + "{+path}", mime_type="text/plain",
    description="The symbols of a file or folder, with lines and signatures.",
)  # fmt: skip
_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Listed:
    entries: list[types.Resource]
    next: str | None


def listed(served: Served, access: Access, cursor: str | None) -> Listed:
    """The state of the index, then the files that have symbols, a page at a time."""
    start = _position(cursor)
    entries = []
    if start == 0:
        entries.append(
            types.Resource(name="status", title="State of the index", uri=STATUS, mime_type="application/json")
        )
    if not served.ready(0.0):
        return Listed(entries, None)
    engine = served.engine
    names = sorted(
        label + path
        for project, label in zip(engine.projects, engine.labels, strict=True)
        for path, row in project.view(silent).manifest.rows.items()
        if row.segment >= 0
    )
    shown = [name for name in names if any(engine.locate(name).is_relative_to(folder) for folder in access.folders)]
    page = shown[start : start + PAGE]
    entries += [types.Resource(name=name, uri=OUTLINE + quote(name), mime_type="text/plain") for name in page]
    return Listed(entries, f"from-{start + PAGE}" if start + PAGE < len(shown) else None)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix("from-")
    if cursor == number or not number.isdecimal() or len(number) > 9:
        raise CursorError("the cursor is damaged", "pass it exactly as it was given")
    return int(number)


def read(call: Call, uri: str) -> types.TextResourceContents:
    if uri == STATUS:
        text = json.dumps(status_data(call.served), ensure_ascii=False)
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if not uri.startswith(OUTLINE):
        raise PathError(f"there is no resource {uri[:200]}", f"there are {STATUS} and {OUTLINE}PATH")
    with call.served.whole() as engine:
        place = call.place(unquote(uri.removeprefix(OUTLINE), errors="replace"), engine)
        told = answers.outline(engine.outline(place, progress=call.progress), _BUDGET)
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=told.text)
