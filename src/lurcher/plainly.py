"""Reads the TOML that most people write in a file of settings: tables, and one plain value a line.

The standard library's reader reads all of TOML and takes fifteen milliseconds to load, with every question. What is read here
is read the same there; whatever else a file holds, a mistake included, is left to it.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_WORDS = {"true": True, "false": False}
_QUOTES = {'"': '"\\', "'": "'"}
"""What a text in such quotes may not hold, to be read here."""


def plain_toml(text: str) -> dict[str, Any] | None:
    """What a TOML text says; None where it is not plain enough."""
    found: dict[str, Any] = {}
    table, headed = found, set()
    for line in text.split("\n"):
        said = line.strip(" \t")
        if not said.replace("\t", " ").isprintable():
            return None
        if not said or said[0] == "#":
            continue
        if said[0] == "[":
            inner = _table(found, said)
            if inner is None or said in headed:
                return None
            headed.add(said)
            table = inner
            continue
        name, _, rest = said.partition("=")
        name, value = name.rstrip(" \t"), _value(rest.lstrip(" \t"))
        if value is None or name in table or not _is_name(name):
            return None
        table[name] = value
    return found


def _table(found: dict[str, Any], header: str) -> dict[str, Any] | None:
    """The table that a line begins; None where it is no plain one, or stands in the place of a value."""
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


def _value(text: str) -> bool | int | float | str | None:
    word = _WORDS.get(text)
    if word is not None:
        return word
    quote = text[:1]
    if quote in _QUOTES and len(text) > 1 and text[-1] == quote:
        inner = text[1:-1]
        return inner if not any(letter in inner for letter in _QUOTES[quote]) else None
    whole, point, part = text.removeprefix("-").partition(".")
    if not _is_number(whole) or (len(whole) > 1 and whole[0] == "0") or (point and not _is_number(part)):
        return None
    return float(text) if point else int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 18
