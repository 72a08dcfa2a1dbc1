"""What a tool takes: each parameter declared once, for the schema that agents read and for the check of what they send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lurcher.errors import UsageError
from lurcher.runtime.terminal import printable

_KINDS = {"text": "text", "int": "a whole number", "bool": "true or false", "texts": "a list of texts"}
_MOST_SHOWN = 60
_MOST_ITEMS = 100


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: str
    """text, int, bool, texts"""
    doc: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 1_000_000_000
    most: int = 4096
    """Characters of a text."""

    @property
    def schema(self) -> dict[str, Any]:
        types: dict[str, dict[str, Any]] = {
            "text": {"type": "string"}, "int": {"type": "integer"}, "bool": {"type": "boolean"},
            "texts": {"type": "array", "items": {"type": "string"}},
        }  # fmt: skip
        out = types[self.kind]
        if self.choices:
            (out["items"] if self.kind == "texts" else out)["enum"] = list(self.choices)
        if self.default is not None:
            out["default"] = self.default
        if self.doc:
            out["description"] = self.doc
        return out


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    required = [item.name for item in parameters if item.required]
    return {
        "type": "object",
        "properties": {item.name: item.schema for item in parameters},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def checked(parameters: Sequence[Parameter], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every parameter with its value; UsageError for what does not fit."""
    given = given or {}
    known = {item.name: item for item in parameters}
    for name in given:
        if name not in known:
            raise UsageError(f"unknown argument '{_shown(name)}'", f"this tool takes: {', '.join(known) or 'nothing'}")
    values = {}
    for item in parameters:
        value = given.get(item.name)
        if value is None:
            if item.required:
                raise UsageError(f"'{item.name}' is missing", item.doc)
            value = item.default
        values[item.name] = value if value is None else _value(item, value)
    return values


def _value(item: Parameter, value: Any) -> Any:
    if item.kind == "texts":
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise _misfit(item, value)
        if len(value) > _MOST_ITEMS:
            raise UsageError(f"'{item.name}' has {len(value):,} entries", f"at most {_MOST_ITEMS}")
        return [_text(item, part) for part in value]
    if item.kind == "text":
        if not isinstance(value, str):
            raise _misfit(item, value)
        return _text(item, value)
    if item.kind == "bool":
        if not isinstance(value, bool):
            raise _misfit(item, value)
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit(item, value)
    if not item.low <= value <= item.high:
        raise UsageError(f"'{item.name}' cannot be {_shown(value)}", f"allowed: {item.low} to {item.high}")
    return value


def _text(item: Parameter, value: str) -> str:
    if len(value) > item.most:
        raise UsageError(f"'{item.name}' has {len(value):,} characters", f"at most {item.most:,}")
    if item.choices and value not in item.choices:
        raise UsageError(f"'{item.name}' cannot be '{_shown(value)}'", f"allowed: {', '.join(item.choices)}")
    # Half a surrogate pair can be sent as JSON, but not written as UTF-8.
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _misfit(item: Parameter, value: Any) -> UsageError:
    return UsageError(f"'{item.name}' must be {_KINDS[item.kind]}, not {_shown(value)}", item.doc)


def _shown(value: Any) -> str:
    text = printable(str(value)[: _MOST_SHOWN + 1])
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
