"""The hooks of Claude Code and Codex that `lurcher init --agent-hooks` adds; `lurcher hook` answers them.

Both programs read the same JSON: for each event a list of groups, each with a matcher and commands. Ours is one more group;
those of the user stay as they are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lurcher.surfaces.agents import config_files
from lurcher.surfaces.agents.clients import is_ours
from lurcher.surfaces.agents.config_files import NotEditable

FILES = (("claude", "Claude Code", ".claude/settings.json"), ("codex", "Codex", ".codex/hooks.json"))
"""Client, title, and the file of a project that holds hooks."""
_SECONDS = 5
"""When the programs give up; `lurcher hook` itself does so much sooner."""
_MATCHERS = {"PreToolUse": "Grep|Read|Bash", "UserPromptSubmit": ""}


def groups(command: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """For each event, the group that calls us."""
    call = {"type": "command", "command": shlex.join([*command, "hook"]), "timeout": _SECONDS}
    return {event: [{**({"matcher": text} if text else {}), "hooks": [call]}] for event, text in _MATCHERS.items()}


def new_file(command: Sequence[str]) -> str:
    return json.dumps({"hooks": groups(command)}, indent=2, ensure_ascii=False) + "\n"


def change(command: Sequence[str], remove: bool) -> Callable[[str | None, Path], str | None]:
    """Adds our groups to the text of a file, or removes them."""

    def edit(text: str | None, path: Path) -> str | None:
        if text is None or not text.strip():
            return text if remove else new_file(command)
        made = text
        for event, ours in groups(command).items():
            made = _edit_event(made, event, [] if remove else ours)
        return None if remove and text == new_file(command) else made

    return edit


def _edit_event(text: str, event: str, ours: list[dict[str, Any]]) -> str:
    path = ("hooks", event)
    data = config_files.parse(text).data
    known = data.get("hooks", {}) if isinstance(data, dict) else None
    found = known.get(event, []) if isinstance(known, dict) else None
    if not isinstance(found, list):
        raise NotEditable("it does not have the expected structure")
    kept = [group for group in found if not _is_ours(group)]
    wanted = [*kept, *ours]
    if wanted == found:
        return text
    if config_files.has_comments(text, path):
        raise NotEditable(f"there are comments in '{event}'")
    return config_files.with_member(text, path, wanted) if wanted else config_files.without_member(text, path)


def _is_ours(group: Any) -> bool:
    calls = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(calls, list) and any(_is_our_call(call) for call in calls)


def _is_our_call(call: Any) -> bool:
    command = call.get("command") if isinstance(call, dict) else None
    if not isinstance(command, str):
        return False
    try:
        parts = shlex.split(command)
    except ValueError:
        return False
    return parts[-1:] == ["hook"] and is_ours({"command": parts})
