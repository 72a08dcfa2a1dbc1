"""The programs that can use the MCP server: where each keeps its settings for a project, and our entry in them.

An entry is added to a text and removed from it; `NotEditable` says why that cannot be done safely.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from lurcher.config import parse_toml
from lurcher.config.user_files import named_folder
from lurcher.errors import ConfigError
from lurcher.surfaces.agents import config_files
from lurcher.surfaces.agents.config_files import NotEditable

NAME = "lurcher"
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Client:
    key: str
    """Its name for `--client`."""
    title: str
    files: tuple[str, ...]
    """Where its settings may be, relative to the project or to the home folder (`~/`); the first that is there, else the
    first of all."""
    path: tuple[str, ...]
    """The nested keys of the entry."""
    entry: Callable[[Sequence[str]], Entry]
    """The entry for a command with its arguments."""
    signs: tuple[str, ...]
    """Files and folders of a project that show that it is used there."""
    home: tuple[str, ...]
    """Files and folders of the home folder that show that it is installed."""
    program: str
    first: tuple[tuple[str, Any], ...] = ()
    """What else a new file contains."""
    variable: str = ""
    """The environment variable that names another file."""
    then: str = ""
    """What is left to do in the program itself."""

    def is_used(self, project: Path, home: Path | None) -> bool:
        return (
            any((project / sign).exists() for sign in self.signs)
            or (home is not None and any((home / sign).exists() for sign in self.home))
            or shutil.which(self.program) is not None
        )

    def file(self, project: Path, home: Path | None) -> Path:
        named = named_folder(self.variable) if self.variable else None
        if named is not None:
            return named
        if not self.is_shared:
            return next((project / name for name in self.files if (project / name).exists()), project / self.files[0])
        return (home or Path("~")) / self.files[0].removeprefix("~/")

    @property
    def is_shared(self) -> bool:
        """Whether its one file is for all projects. The program may start the server anywhere: the entry names the projects."""
        return self.files[0].startswith("~/")

    @property
    def format(self) -> str:
        return {".toml": "toml", ".yaml": "yaml"}.get(Path(self.files[0]).suffix, "json")


def _plain(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _typed_entry(command: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(command)}


def _custom(command: Sequence[str]) -> Entry:
    return {"source": "custom", **_plain(command)}


def _listed_entry(command: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(command), "enabled": True}


def _all_tools(command: Sequence[str]) -> Entry:
    return {**_typed_entry(command), "tools": ["*"]}


def _extension(command: Sequence[str]) -> Entry:
    about = "Searches code, notes and git history"
    return {
        "enabled": True, "type": "stdio", "name": NAME, "description": about, "cmd": command[0], "args": list(command[1:]),
        "timeout": 300,
    }  # fmt: skip


CLIENTS: Sequence[Client] = (
    Client(
        "claude", "Claude Code", (".mcp.json",), ("mcpServers", NAME), _plain, (".mcp.json", ".claude", "CLAUDE.md"),
        (".claude", ".claude.json"), "claude", then="approve the server when it asks",
    ),
    Client(
        "cursor", "Cursor", (".cursor/mcp.json",), ("mcpServers", NAME), _plain, (".cursor", ".cursorrules"), (".cursor",),
        "cursor", then="switch the server on in its settings",
    ),
    Client(
        "codex", "Codex", (".codex/config.toml",), ("mcp_servers", NAME), _plain, (".codex",), (".codex",), "codex",
        then="trust the project: Codex reads this file only then",
    ),
    Client(
        "opencode", "OpenCode", ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        ("mcp", NAME), _listed_entry, ("opencode.json", "opencode.jsonc", ".opencode"), (".config/opencode",), "opencode",
        (("$schema", "https://opencode.ai/config.json"),),
    ),
    Client(
        "vscode", "VS Code", (".vscode/mcp.json",), ("servers", NAME), _typed_entry, (".vscode",), (".vscode", ".config/Code"),
        "code", then="start the server from this file, and trust it",
    ),
    Client(
        "gemini", "Gemini CLI", (".gemini/settings.json",), ("mcpServers", NAME), _plain, (".gemini", "GEMINI.md"),
        (".gemini",), "gemini",
    ),
    Client("zed", "Zed", (".zed/settings.json",), ("context_servers", NAME), _custom, (".zed",), (".config/zed",), "zed"),
    Client(
        "windsurf", "Windsurf", ("~/.codeium/windsurf/mcp_config.json",), ("mcpServers", NAME), _plain,
        (".windsurf", ".windsurfrules"), (".codeium/windsurf",), "windsurf", then="refresh the list of servers",
    ),
    Client(
        "cline", "Cline", ("~/.cline/data/settings/cline_mcp_settings.json",), ("mcpServers", NAME), _plain,
        (".clinerules", ".cline"), (".cline",), "cline", variable="CLINE_MCP_SETTINGS_PATH",
    ),
    Client(
        "kilo", "Kilo Code", (".kilo/kilo.jsonc", ".kilo/kilo.json", "kilo.jsonc", "kilo.json"), ("mcp", NAME), _listed_entry,
        (".kilo", ".kilocode", "kilo.json", "kilo.jsonc"), (".config/kilo", ".kilocode"), "kilo",
    ),
    Client(
        "amp", "Amp", (".amp/settings.json", ".amp/settings.jsonc"), ("amp.mcpServers", NAME), _plain, (".amp",),
        (".config/amp",), "amp", then="run: amp mcp approve lurcher",
    ),
    Client(
        "goose", "Goose", ("~/.config/goose/config.yaml",), ("extensions", NAME), _extension, (".goosehints", ".goose"),
        (".config/goose",), "goose",
    ),
    Client(
        "copilot", "Copilot CLI", (".github/mcp.json",), ("mcpServers", NAME), _all_tools, (".github/mcp.json",),
        (".copilot",), "copilot",
    ),
)  # fmt: skip


def command_of(entry: Any) -> list[str] | None:
    """The command with its arguments that an entry starts; None if it has none."""
    if not isinstance(entry, dict):
        return None
    command, arguments = entry.get("command", entry.get("cmd")), entry.get("args", [])
    parts = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    return parts if parts and all(isinstance(part, str) for part in parts) else None


def is_ours(entry: Any) -> bool:
    """Whether an entry starts lurcher, wherever that is installed, and even if other values of it were changed."""
    command = command_of(entry) or [""]
    return Path(command[0]).stem == NAME or ("-m", NAME) in pairwise(command)


def projects_of(entry: Any) -> list[str]:
    """The projects that an entry names."""
    command = command_of(entry) or []
    return [folder for flag, folder in pairwise(command) if flag == "--root"]


def read_entry(client: Client, text: str) -> Any:
    """The entry in a text, None if there is none."""
    if client.format == "yaml":
        return config_files.yaml_entry(text, client.path)
    data = _toml(text) if client.format == "toml" else config_files.parse(text).data if text.strip() else {}
    for name in client.path:
        if not isinstance(data, dict):
            raise NotEditable("it does not have the expected structure")
        data = data.get(name)
        if data is None:
            return None
    return data


def add_entry(client: Client, text: str | None, command: Sequence[str], project: Path) -> str:
    """The settings with an entry for `command`; unchanged if it is there already. What a user added to the entry stays.

    Only a file that we create equals `new_file`, so `remove_entry` can tell it from one that existed and was empty.
    """
    known = None if text is None else read_entry(client, text)
    if known is not None and not is_ours(known):
        raise NotEditable(f"it has another entry named {client.path[-1]}")
    if client.is_shared:
        others = [folder for folder in projects_of(known) if Path(folder).is_dir()]
        folders = dict.fromkeys([*others, str(project)])
        command = [*command, *(part for folder in folders for part in ("--root", folder))]
    new = new_file(client, command)
    if text is None:
        return new
    if not text.strip():
        return new + text if text else new.removesuffix("\n")
    entry = client.entry(command)
    if known is not None:
        entry = {**entry, **known, **{key: entry[key] for key in ("command", "cmd", "args") if key in entry}}
        if known == entry:
            return text
    return _write_entry(client, text, entry, known is not None)


def _write_entry(client: Client, text: str, entry: Entry, replace: bool) -> str:
    if client.format == "yaml":
        return config_files.with_yaml_entry(text, client.path, entry)
    if client.format == "toml":
        base = _without_table(client, text) if replace else text
        gap = "" if not base.strip() else "\n" if base.endswith("\n") else "\n\n"
        return _checked_toml(client, base, f"{base}{gap}{_table(client, entry)}", entry)
    made = config_files.with_member(text, client.path, entry)
    if replace or made.rstrip() != new_file(client, command_of(entry) or []).rstrip():
        return made
    return json.dumps(config_files.parse(made).data) + text[len(text.rstrip()) :]  # on one line


def remove_entry(client: Client, text: str, project: Path) -> str | None:
    """The settings without our entry, or without the project in it; None if we created the file, which is removed then."""
    known = read_entry(client, text)
    if known is None:
        return text
    if not is_ours(known):
        raise NotEditable(f"its entry named {client.path[-1]} is not ours")
    command = command_of(known) or []
    if client.is_shared and any(folder != str(project) for folder in projects_of(known)):
        if str(project) not in projects_of(known):
            return text
        at = command.index(str(project))
        entry = {**known, "args": [*command[1 : at - 1], *command[at + 1 :]]}
        return _write_entry(client, text, entry, True)
    new = new_file(client, command)
    if text == new:
        return None
    if text == new.removesuffix("\n") or (text.startswith(new) and not text[len(new) :].strip()):
        return text[len(new) :]
    if client.format == "yaml":
        return config_files.without_yaml_entry(text, client.path)
    return _without_table(client, text) if client.format == "toml" else config_files.without_member(text, client.path)


def new_file(client: Client, command: Sequence[str]) -> str:
    """A file with nothing but our entry; also what users are shown to add by hand."""
    entry = client.entry(command)
    if client.format == "toml":
        return _table(client, entry)
    if client.format == "yaml":
        return config_files.with_yaml_entry("", client.path, entry)
    inner: Any = entry
    for name in reversed(client.path):
        inner = {name: inner}
    return json.dumps({**dict(client.first), **inner}, indent=2, ensure_ascii=False) + "\n"


def _toml(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text.encode("utf-8", "surrogateescape"), "it")
    except ConfigError as error:
        raise NotEditable(error.message.replace("it: not", "it is not", 1)) from None


def _table(client: Client, entry: Entry) -> str:
    lines = [f"[{'.'.join(client.path)}]"]
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
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
    if not _prune(_toml(rest)) == _prune(expected):
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


def _prune(data: dict[str, Any]) -> dict[str, Any]:
    """Without empty tables, which a text may leave out."""
    kept = {name: _prune(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in kept.items() if value != {}}
