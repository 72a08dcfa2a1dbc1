"""The programs that can use the server: where each keeps its settings for a project, and what an entry looks like there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "lurcher"
COMMAND, ARGUMENTS = "lurcher", ("mcp",)


@dataclass(frozen=True, slots=True)
class Client:
    key: str
    """What `--client` calls it."""
    title: str
    files: tuple[str, ...]
    """Where its settings may be, relative to the project; the first that is there, else the first of all."""
    path: tuple[str, ...]
    """Under which names the entry goes."""
    entry: Callable[[], dict[str, Any]]
    signs: tuple[str, ...]
    """What a project has where it is used."""
    home: tuple[str, ...]
    """What the home folder has where it is installed."""
    program: str
    first: tuple[tuple[str, Any], ...] = ()
    """What else a new file says."""

    def detected(self, project: Path, home: Path | None) -> bool:
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


def named(keys: Sequence[str]) -> list[Client]:
    return [client for client in CLIENTS if client.key in keys]
