"""An entry in a client's settings file: the text with it, or without it, or the reason why that cannot be done safely."""

from __future__ import annotations

import json
import re
from typing import Any

from lurcher.config.loader import parse_toml
from lurcher.errors import ConfigError
from lurcher.surfaces.agents import jsonc
from lurcher.surfaces.agents.clients import COMMAND, Client
from lurcher.surfaces.agents.jsonc import NotEditable


def add_entry(client: Client, text: str | None) -> str:
    """The settings with our entry; what is there already as it should be stays as it is.

    Only a file that we make is exactly `new_file`: so `remove_entry` can tell it from one that was there, and held nothing.
    """
    entry = client.entry()
    if text is None:
        return new_file(client)
    if not text.strip():
        return new_file(client) + text if text else new_file(client).removesuffix("\n")
    known = _known(client, text)
    if known == entry:
        return text
    if known is not None and not _ours(known):
        raise NotEditable(f"it has another entry named {client.path[-1]}")
    if client.toml:
        base = _without_table(client, text) if known is not None else text
        block = _table(client)
        gap = "" if not base.strip() else "\n" if base.endswith("\n") else "\n\n"
        return _checked_toml(client, base, f"{base}{gap}{block}", entry)
    made = jsonc.with_member(text, client.path, entry)
    if made.rstrip() != new_file(client).rstrip():
        return made
    return json.dumps(jsonc.parse(made).data) + text[len(text.rstrip()) :]  # on one line


def remove_entry(client: Client, text: str) -> str | None:
    """The settings without our entry; None where we made the file."""
    new = new_file(client)
    if text == new:
        return None
    if text == new.removesuffix("\n") or (text.startswith(new) and not text[len(new) :].strip()):
        return text[len(new) :]
    known = _known(client, text)
    if known is None:
        return text
    if not _ours(known):
        raise NotEditable(f"its entry named {client.path[-1]} is not ours")
    return _without_table(client, text) if client.toml else jsonc.without_member(text, client.path)


def new_file(client: Client) -> str:
    """A new file."""
    if client.toml:
        return _table(client)
    inner: Any = client.entry()
    for name in reversed(client.path):
        inner = {name: inner}
    return json.dumps({**dict(client.first), **inner}, indent=2) + "\n"


def snippet(client: Client) -> str:
    """What to add by hand."""
    return new_file(client)


def _known(client: Client, text: str) -> Any:
    data = _toml(text) if client.toml else jsonc.parse(text).data
    for name in client.path:
        if not isinstance(data, dict):
            raise NotEditable("it is not laid out as expected")
        data = data.get(name)
        if data is None:
            return None
    return data


def _ours(entry: Any) -> bool:
    """Whether an entry starts our program, whatever else somebody changed in it."""
    command = entry.get("command") if isinstance(entry, dict) else None
    first = command[0] if isinstance(command, list) and command else command
    return isinstance(first, str) and first.rpartition("/")[2] == COMMAND


def _toml(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text.encode("utf-8", "surrogateescape"), "it")
    except ConfigError as error:
        raise NotEditable(error.message) from None


def _table(client: Client) -> str:
    lines = [f"[{'.'.join(client.path)}]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in client.entry().items()]
    return "\n".join(lines) + "\n"


def _without_table(client: Client, text: str) -> str:
    head = re.compile(rf"^[ \t]*\[[ \t]*{re.escape('.'.join(client.path))}[ \t]*\][ \t]*(?:#.*)?\r?\n?", re.MULTILINE)
    match = head.search(text)
    if match is None:
        raise NotEditable("its entry is written in another way")
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, match.end())
    end = following.start() if following else len(text)
    before = text[: match.start()]
    if before.endswith("\n\n") or not following:
        before = before.rstrip("\n") + ("\n\n" if following else "\n") if before.strip() else ""
    rest = before + text[end:]
    expected = _toml(text)
    parent = expected
    for name in client.path[:-1]:
        parent = parent[name]
    del parent[client.path[-1]]
    if not _pruned(_toml(rest)) == _pruned(expected):
        raise NotEditable("its entry is written in another way")
    return rest


def _checked_toml(client: Client, base: str, text: str, entry: dict[str, Any]) -> str:
    expected = _toml(base)
    parent = expected
    for name in client.path[:-1]:
        parent = parent.setdefault(name, {})
    parent[client.path[-1]] = entry
    if _toml(text) != expected:
        raise NotEditable("it is written in a way that cannot be changed safely")
    return text


def _pruned(data: dict[str, Any]) -> dict[str, Any]:
    """Without empty tables, which a text may leave out."""
    kept = {name: _pruned(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in kept.items() if value != {}}
