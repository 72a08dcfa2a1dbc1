"""What an endpoint takes, declared once: requests are checked against it, and the OpenAPI document is written from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lurcher.errors import QueryError

MAX_QUERY = 10_000
"""Characters of a question over HTTP: it stands in the address."""
MAX_PATH = 4096
MAX_WORD = 1000
MAX_VALUES = 50


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    doc: str
    kind: str = "string"
    """string, integer, number or boolean"""
    required: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    longest: int = MAX_WORD

    def schema(self) -> dict[str, Any]:
        item: dict[str, Any] = {"type": self.kind}
        if self.choices:
            item["enum"] = list(self.choices)
        elif self.kind == "string":
            item["maxLength"] = self.longest
            if self.required:
                item["minLength"] = 1
        bounds = {"minimum": self.low, "maximum": self.high}
        item |= {name: bound for name, bound in bounds.items() if bound is not None}
        return {"type": "array", "items": item, "maxItems": MAX_VALUES} if self.many else item

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "in": "query", "description": self.doc, "required": self.required, "schema": self.schema(),
        }  # fmt: skip

    def read(self, text: str) -> Any:
        """One value out of its text."""
        value: Any = text
        if self.kind == "boolean":
            value = {"true": True, "1": True, "": True, "false": False, "0": False}.get(text.lower())
        elif self.kind in ("integer", "number"):
            value = _number(text, whole=self.kind == "integer")
        elif len(text) > self.longest:
            raise QueryError(f"'{self.name}' has {len(text):,} characters", f"at most {self.longest:,} are read")
        if value is None:
            article = "an" if self.kind == "integer" else "a"
            raise QueryError(f"'{self.name}' is {text[:40]!r}, which is not {article} {self.kind}", self.doc)
        if self.choices and value not in self.choices:
            raise QueryError(f"'{self.name}' cannot be {text[:40]!r}", f"allowed: {', '.join(self.choices)}")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise QueryError(f"'{self.name}' cannot be {text[:40]}", f"allowed: {self.low} to {self.high}")
        return value


def _number(text: str, *, whole: bool) -> float | None:
    # What Python takes for a number besides, such as 1_000, is none in an address.
    if not text.isascii() or len(text) > 30 or set(text) & set("_ \t\n\r\f\v"):
        return None
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`GET /api/<name>`."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., Any]
    """Called with the engine, the checked values and whether to look at the tree; gives what becomes JSON."""
    example: Mapping[str, Any] = field(default_factory=dict)
    depends_on_history: Callable[[Mapping[str, Any]], bool] = lambda values: False
    asks_index: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the answer is about the index of the tree, and can be had without looking at the tree."""
    slow: bool = False
    """Whether it may take a second or more."""
    asks_tree: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether it takes an index of the tree to answer."""
    early: Callable[..., Any] | None = None
    """Answers while there is no index: called with the engine, the values, and what searches without one."""
    cached: bool = True
    """Whether the same question has the same answer as long as tree and history are as they were."""
    lasts: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether that holds for this question."""

    @property
    def path(self) -> str:
        return f"/api/{self.name}"

    def values(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """What a request asks for, checked; an unknown or repeated name is an error, not ignored."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        found: dict[str, Any] = {}
        for name, text in pairs:
            parameter = declared.get(name)
            if parameter is None:
                raise QueryError(f"unknown parameter '{name[:60]}'", f"known are: {', '.join(sorted(declared))}")
            if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
                raise QueryError(f"'{name}' has a character that no text has", "send UTF-8 without zero bytes")
            if parameter.many:
                values = found.setdefault(name, [])
                if len(values) == MAX_VALUES:
                    raise QueryError(f"there are more than {MAX_VALUES} values of '{name}'", "send fewer")
                values.append(parameter.read(text))
            elif name in found:
                raise QueryError(f"'{name}' is given twice", "give it once")
            else:
                found[name] = parameter.read(text)
        for parameter in self.parameters:
            if parameter.required and not found.get(parameter.name):
                raise QueryError(f"'{parameter.name}' is missing", parameter.doc)
        return found
