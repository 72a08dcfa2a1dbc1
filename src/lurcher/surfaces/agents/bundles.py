"""What lurcher ships for agents besides its MCP server: a skill, a subagent, plugins, and the manifests of registry and bundle.

The texts are in `texts/`; everything in JSON is made here, so that names and versions are written once. `lurcher init` writes
the skill and the plugins, `tools/build_bundles.py` packs archives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lurcher.runtime import VERSION
from lurcher.surfaces.agents import hooks

NAME = "lurcher"
REGISTRY_NAME = "io.github.lurcher/lurcher"
"""The name in the MCP registry; README.md repeats it, which proves that the package on PyPI is ours."""
_HOOKS = "lurcher-hooks"
_TITLE = "Finds the code, commits and notes that answer a question"
_LONG = (
    "Search for code, commits and notes: offline, in milliseconds, with the reason for every hit. Questions in plain words, "
    "names, error reports, regular expressions and syntax patterns."
)
_HOOKS_TITLE = "Suggests lurcher's places before greps, whole-file reads and prompts"
_AUTHOR = {"name": "The lurcher authors"}
_KEYWORDS = ["code search", "retrieval", "git history", "offline"]
_CLAUDE, _CODEX = ".claude-plugin", ".codex-plugin"
_MARKETPLACE = f"{_CLAUDE}/marketplace.json"


def read_text(name: str) -> str:
    return (Path(__file__).parent / "texts" / name).read_text("utf-8")


def project_files(*, claude: bool, others: bool) -> Iterator[tuple[str, str, str]]:
    """What `--skill` writes into a project: for whom, the path, and the text."""
    if claude:
        yield "Claude Code", f".claude/skills/{NAME}/SKILL.md", read_text("SKILL.md")
        yield "Claude Code", ".claude/agents/lurcher-explorer.md", read_text("explorer.md")
    if others:
        yield "skill", f".agents/skills/{NAME}/SKILL.md", read_text("SKILL.md")


def marketplace_files(command: Sequence[str]) -> dict[str, str]:
    """A folder from which Claude Code and Codex install our plugins: path → text.

    There are two plugins. Hooks are one of their own, since installing it is how a user asks for them.
    """
    about = {NAME: _TITLE, _HOOKS: _HOOKS_TITLE}
    claude = [{"name": name, "source": f"./{name}", "description": text} for name, text in about.items()]
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    codex = [
        {"name": name, "source": {"source": "local", "path": f"./{name}"}, "policy": policy, "category": "Coding"}
        for name in about
    ]
    files = {
        _MARKETPLACE: _dump({"name": NAME, "description": _TITLE, "owner": _AUTHOR, "plugins": claude}),
        ".agents/plugins/marketplace.json": _dump({"name": NAME, "interface": {"displayName": NAME}, "plugins": codex}),
    }
    for name, made in ((NAME, plugin_files(command)), (_HOOKS, hooks_plugin_files(command))):
        files.update({f"{name}/{path}": text for path, text in made.items()})
    return files


def is_marketplace(folder: Path) -> bool:
    """Whether a folder holds what `marketplace_files` made."""
    try:
        return bool(json.loads((folder / _MARKETPLACE).read_text("utf-8"))["name"] == NAME)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def plugin_files(command: Sequence[str]) -> dict[str, str]:
    """The plugin with server, skill and subagent: path → text."""
    server = {"mcpServers": {NAME: {"command": command[0], "args": [*command[1:], "mcp"]}}}
    return {
        **_manifests(NAME, _TITLE, skills="./skills/", mcpServers="./.mcp.json"),
        ".mcp.json": _dump(server),
        f"skills/{NAME}/SKILL.md": read_text("SKILL.md"),
        "agents/lurcher-explorer.md": read_text("explorer.md").replace("mcp__lurcher__", "mcp__plugin_lurcher_lurcher__"),
    }


def hooks_plugin_files(command: Sequence[str]) -> dict[str, str]:
    """The plugin with nothing but hooks: path → text."""
    return {**_manifests(_HOOKS, _HOOKS_TITLE, hooks="./hooks/hooks.json"), "hooks/hooks.json": hooks.new_file(command)}


def _manifests(name: str, title: str, **parts: str) -> dict[str, str]:
    """The manifest for Claude Code, which finds the parts of a plugin by itself, and that for Codex."""
    about = {
        "name": name, "version": VERSION, "description": title, "author": _AUTHOR, "license": "Apache-2.0",
        "keywords": _KEYWORDS,
    }  # fmt: skip
    interface = {
        "displayName": name, "shortDescription": title, "longDescription": _LONG, "developerName": _AUTHOR["name"],
        "category": "Coding", "capabilities": ["Read"],
    }  # fmt: skip
    return {
        f"{_CLAUDE}/plugin.json": _dump(about),
        f"{_CODEX}/plugin.json": _dump({**about, **parts, "interface": interface}),
    }


def registry_entry() -> dict[str, Any]:
    """`server.json` for the MCP registry: `uvx --with mcp lurcher@VERSION mcp`."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "title": NAME,
        "description": _TITLE,
        "version": VERSION,
        "packages": [
            {
                "registryType": "pypi",
                "registryBaseUrl": "https://pypi.org",
                "identifier": NAME,
                "version": VERSION,
                "runtimeHint": "uvx",
                "runtimeArguments": [{"type": "named", "name": "--with", "value": "mcp>=2"}],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def desktop_files() -> dict[str, str]:
    """The contents of the `.mcpb` bundle: path → text. uv, which the host brings, installs the package from PyPI."""
    from lurcher.surfaces.mcp.tools import TOOLS

    root = "${user_config.folder}"
    manifest = {
        "manifest_version": "0.4",
        "name": NAME,
        "display_name": NAME,
        "version": VERSION,
        "description": _TITLE,
        "long_description": _LONG,
        "author": _AUTHOR,
        "license": "Apache-2.0",
        "keywords": _KEYWORDS,
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", "server.py", "--root", root]},
        },
        "tools": [{"name": tool.name, "description": tool.title} for tool in TOOLS],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.10"}},
        "user_config": {
            "folder": {
                "type": "directory", "title": "Project", "description": "The repository to search; nothing else is read.",
                "required": True,
            }  # fmt: skip
        },
    }
    project = (
        f'[project]\nname = "lurcher-bundle"\nversion = "{VERSION}"\nrequires-python = ">=3.10"\n'
        f'dependencies = ["lurcher[mcp]=={VERSION}"]\n'
    )
    server = (
        '"""Starts the MCP server of lurcher."""\n\nimport sys\n\nfrom lurcher.surfaces.cli import main\n\n'
        'sys.exit(main(["mcp", *sys.argv[1:]]))\n'
    )
    return {"manifest.json": _dump(manifest), "pyproject.toml": project, "server.py": server}


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
