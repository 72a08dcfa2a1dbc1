"""What each tool takes: its JSON schema, the check of a call, and the words in which errors name parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lurcher.surfaces import parameters as p
from lurcher.surfaces.parameters import MCP, Parameter
from lurcher.surfaces.wording import Wording


def _take(*parameters: Parameter) -> tuple[Parameter, ...]:
    return tuple(parameter.on(MCP) for parameter in parameters)


_START_LINE, _END_LINE = (p.LINE.on(MCP, name=name, required=False) for name in ("start_line", "end_line"))

ARGUMENTS: Mapping[str, tuple[Parameter, ...]] = {
    "search": _take(
        p.QUERY, p.SOURCE, p.MODE, p.PATHS, p.LANG, p.LIBRARY, p.LIMIT, p.SNIPPET_LINES, p.BUDGET, p.CURSOR
    ),
    "find_pattern": _take(
        p.QUERY, p.SINCE, p.UNTIL, p.AUTHOR, p.OUTCOME, p.PATHS, p.LIMIT, p.BUDGET, p.CURSOR
    ),
    "explain_change": (p.FILE.on(MCP), _START_LINE, _END_LINE, *_take(p.LIMIT, p.BUDGET)),
    "related": _take(p.FILE, p.LINE, p.LIMIT, p.SNIPPET_LINES, p.BUDGET, p.CURSOR),
    "outline": _take(p.PATHS, p.KIND, p.BUDGET),
    "context": _take(p.PATHS, p.BUDGET),
    "impact": _take(p.FILE, p.SYMBOL, p.HOPS, p.BUDGET),
    "exists": (Parameter("text", required=True), p.EXACT.on(MCP)),
    "index": _take(p.HISTORY, p.REBUILD),
    "status": (),
}

WORDING = Wording(MCP, ARGUMENTS)


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        properties[parameter.name] = described = p.json_schema(parameter)
        if parameter.default is not None:
            described["default"] = parameter.default
        if parameter.help:
            described["description"] = parameter.help
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object", "properties": properties, **({"required": required} if required else {}),
        "additionalProperties": False,
    }  # fmt: skip


def check_arguments(parameters: Sequence[Parameter], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every parameter with its value, None where it has none; UsageError for what does not fit."""
    values = dict.fromkeys([parameter.name for parameter in parameters])
    return {**values, **{name: _whole(value) for name, value in p.check_all(parameters, given or {}).items()}}


def _whole(value: Any) -> Any:
    """Without unpaired surrogates, which JSON can send but UTF-8 cannot write."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
