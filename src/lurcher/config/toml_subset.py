"""Parses the part of TOML that most settings files use: tables, and one `name = value` per line.

With `tomllib` it takes 13 ms of processor time more, which every query would pay. Whatever is outside this subset, errors
included, returns None and goes to `tomllib`; what is inside means the same there, which a property test checks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BOOLEANS = {"true": True, "false": False}
_NOT_IN_QUOTES = {'"': '"\\', "'": "'"}
"""The characters that a string in such quotes may not contain in this subset."""


def parse_toml_subset(text: str) -> dict[str, Any] | None:
    """The tables of a TOML text; None if it uses more than the subset."""
    found: dict[str, Any] = {}
    table, headers = found, set()
    for raw in text.split("\n"):
        line = raw.strip(" \t")
        if not line.replace("\t", " ").isprintable():
            return None
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            inner = _open_table(found, line)
            if inner is None or line in headers:
                return None
            headers.add(line)
            table = inner
            continue
        name, _, rest = line.partition("=")
        name, value = name.rstrip(" \t"), _parse_value(rest.lstrip(" \t"))
        if value is None or name in table or not _is_name(name):
            return None
        table[name] = value
    return found


def _open_table(found: dict[str, Any], header: str) -> dict[str, Any] | None:
    """The table that a header line begins; None if the header is not plain, or a value has that name."""
    table = found
    for name in header[1:-1].split("."):
        if not _is_name(name) or header[-1] != "]":
            return None
        inner = table.setdefault(name, {})
        if type(inner) is not dict:
            return None
        table = inner
    return table


def _is_name(name: str) -> bool:
    return name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()


def _parse_value(text: str) -> bool | int | float | str | None:
    boolean = _BOOLEANS.get(text)
    if boolean is not None:
        return boolean
    quote = text[:1]
    if quote in _NOT_IN_QUOTES and len(text) > 1 and text[-1] == quote:
        inner = text[1:-1]
        return inner if not any(letter in inner for letter in _NOT_IN_QUOTES[quote]) else None
    whole, point, part = text.removeprefix("-").partition(".")
    if not _is_number(whole) or (len(whole) > 1 and whole[0] == "0") or (point and not _is_number(part)):
        return None
    return float(text) if point else int(text)


def _is_number(text: str) -> bool:
    # 17 digits fit any 64-bit integer; longer numbers are left to tomllib.
    return text.isascii() and text.isdigit() and len(text) < 18
