"""The programs that can use the MCP server: where each keeps its settings for a project, and our entry in them.

An entry is added to a text and removed from it; `NotEditable` says why that cannot be done safely.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.config import parse_toml
from lurcher.errors import ConfigError
from lurcher.surfaces.agents import config_files
from lurcher.surfaces.agents.config_files import NotEditable

NAME = "lurcher"
COMMAND, ARGUMENTS = "lurcher", ("mcp",)


@dataclass(frozen=True, slots=True)
class Client:
    key: str
    """Its name for `--client`."""
    title: str
    files: tuple[str, ...]
    """Where its settings may be, relative to the project; the first that is there, else the first of all."""
    path: tuple[str, ...]
    """The nested keys of the entry."""
    entry: Callable[[], dict[str, Any]]
    signs: tuple[str, ...]
    """Files and folders of a project that show that it is used there."""
    home: tuple[str, ...]
    """Files and folders of the home folder that show that it is installed."""
    program: str
    first: tuple[tuple[str, Any], ...] = ()
    """What else a new file contains."""

    def is_used(self, project: Path, home: Path | None) -> bool:
        return (
            any((project / sign).exists() for sign in self.signs)
            or (home is not None and any((home / sign).exists() for sign in self.home))
            or shutil.which(self.program) is not None
        )

    def file(self, project: Path) -> Path:
        return next((project / name for name in self.files if (project / name).exists()), project / self.files[0])

    @property
    def toml(self) -> bool:
        return self.files[0].endswith(".toml")


def _plain() -> dict[str, Any]:
    return {"command": COMMAND, "args": list(ARGUMENTS)}


def _typed() -> dict[str, Any]:
    return {"type": "stdio", **_plain()}


def _custom() -> dict[str, Any]:
    return {"source": "custom", **_plain()}


def _listed() -> dict[str, Any]:
    return {"type": "local", "command": [COMMAND, *ARGUMENTS], "enabled": True}


CLIENTS: Sequence[Client] = (
    Client(
        "claude", "Claude Code", (".mcp.json",), ("mcpServers", NAME), _plain, (".mcp.json", ".claude", "CLAUDE.md"),
        (".claude", ".claude.json"), "claude",
    ),
    Client(
        "cursor", "Cursor", (".cursor/mcp.json",), ("mcpServers", NAME), _plain, (".cursor", ".cursorrules"), (".cursor",),
        "cursor",
    ),
    Client("codex", "Codex", (".codex/config.toml",), ("mcp_servers", NAME), _plain, (".codex",), (".codex",), "codex"),
    Client(
        "opencode", "OpenCode", ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        ("mcp", NAME), _listed, ("opencode.json", "opencode.jsonc", ".opencode"), (".config/opencode",), "opencode",
        (("$schema", "https://opencode.ai/config.json"),),
    ),
    Client(
        "vscode", "VS Code", (".vscode/mcp.json",), ("servers", NAME), _typed, (".vscode",), (".vscode", ".config/Code"),
        "code",
    ),
    Client(
        "gemini", "Gemini CLI", (".gemini/settings.json",), ("mcpServers", NAME), _plain, (".gemini", "GEMINI.md"),
        (".gemini",), "gemini",
    ),
    Client("zed", "Zed", (".zed/settings.json",), ("context_servers", NAME), _custom, (".zed",), (".config/zed",), "zed"),
)  # fmt: skip


def add_entry(client: Client, text: str | None) -> str:
    """The settings with our entry; unchanged if it is there already.

    Only a file that we create equals `new_file`, so `remove_entry` can tell it from one that existed and was empty.
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
    made = config_files.with_member(text, client.path, entry)
    if made.rstrip() != new_file(client).rstrip():
        return made
    return json.dumps(config_files.parse(made).data) + text[len(text.rstrip()) :]  # on one line


def remove_entry(client: Client, text: str) -> str | None:
    """The settings without our entry; None if we created the file, which is removed then."""
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
    return _without_table(client, text) if client.toml else config_files.without_member(text, client.path)


def new_file(client: Client) -> str:
    """A file with nothing but our entry; also what users are shown to add by hand."""
    if client.toml:
        return _table(client)
    inner: Any = client.entry()
    for name in reversed(client.path):
        inner = {name: inner}
    return json.dumps({**dict(client.first), **inner}, indent=2) + "\n"


def _known(client: Client, text: str) -> Any:
    data = _toml(text) if client.toml else config_files.parse(text).data
    for name in client.path:
        if not isinstance(data, dict):
            raise NotEditable("it does not have the expected structure")
        data = data.get(name)
        if data is None:
            return None
    return data


def _ours(entry: Any) -> bool:
    """Whether an entry starts our program, even if other values of it were changed."""
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
