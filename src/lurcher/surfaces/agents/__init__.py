"""`lurcher init`: adds the MCP server to the settings of the coding agents that a project uses.

A file is changed as text; the result must parse to the old content plus our entry, and replaces the file in one step. A file
that cannot be changed safely is left alone, and the user is shown what to add.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.surfaces.agents import config_files
from lurcher.surfaces.agents.clients import CLIENTS, COMMAND, Client, add_entry, new_file, remove_entry
from lurcher.surfaces.agents.config_files import Change, NotEditable

AGENTS = "AGENTS.md"
BEGIN, END = "<!-- lurcher:begin -->", "<!-- lurcher:end -->"
SECTION = """## Finding things in this repository

This repository is indexed by lurcher. Use its tools (or the commands in brackets) before grep and before reading files whole:

- `search` (`lurcher search "how are redirects followed"`): the code that answers a question, a name or an error report
- `find_pattern` (`lurcher history "have we tried caching this"`): past commits, and whether they were reverted or fixed
- `explain_change` (`lurcher explain FILE:12-20`): why lines are there
- `outline`, `context` (`lurcher outline FILE`, `lurcher context FOLDER`): what is in a file or folder, without reading it
- `impact` (`lurcher impact FILE`): what depends on a file, before its interface changes
- `exists` (`lurcher exists NAME`): whether a name occurs at all; says whether a no is certain

Answers are current: changed files are indexed first. A line that begins with `note:` says what an answer does not cover."""

WROTE, REMOVED, UNCHANGED, LEFT = "wrote", "removed", "unchanged", "left alone"


@dataclass(frozen=True, slots=True)
class Step:
    """One file, and what was done with it, or would be in a dry run."""

    title: str
    path: Path
    done: str
    """wrote, removed, unchanged, or left alone"""
    reason: str = ""
    """Why it was left alone."""
    show: str = ""
    """What to add by hand, if it was left alone; in a dry run, the difference."""

    def to_dict(self) -> dict[str, Any]:
        return {"for": self.title, "path": str(self.path), "done": self.done, "reason": self.reason, "show": self.show}


def choose_clients(project: Path, keys: Sequence[str], home: Path | None) -> list[Client]:
    """The clients with these keys, or without keys those that are in use here."""
    return [client for client in CLIENTS if (client.key in keys if keys else client.is_used(project, home))]


def apply_steps(
    project: Path, clients: Sequence[Client], *, remove: bool = False, dry_run: bool = False, with_hook: bool = False,
    agents: bool = True,
) -> list[Step]:  # fmt: skip
    """Changes the files, or with `dry_run` only says what would be changed."""
    found = [
        _step(client.title, client.file(project), project, dry_run, _entry_change(client, remove), new_file(client))
        for client in clients
    ]
    if agents:
        shown = f"{BEGIN}\n{SECTION}\n{END}\n"
        found.append(_step("agents", project / AGENTS, project, dry_run, _section_change(remove), shown))
    if with_hook:
        found.append(_hook_step(project, remove, dry_run))
    return found


Edit = Callable[[str | None, Path], str | None]


def _entry_change(client: Client, remove: bool) -> Edit:
    def change(text: str | None, path: Path) -> str | None:
        if remove:
            return None if text is None else remove_entry(client, text)
        return add_entry(client, text)

    return change


def _section_change(remove: bool) -> Edit:
    def change(text: str | None, path: Path) -> str | None:
        if not remove:
            made = config_files.add_section(text or "", SECTION, BEGIN, END)
            # The section and a line end mark a file that we made; one that was empty before gets no line end, and stays.
            return made if text is None or text.strip() else made + text if text else made.removesuffix("\n")
        if text is None:
            return None
        rest = config_files.remove_section(text, BEGIN, END)
        return None if text.startswith(BEGIN) and text.endswith(f"{END}\n") and not rest else rest

    return change


def _hook_step(project: Path, remove: bool, dry_run: bool) -> Step:
    shown = f"{config_files.HOOK_BEGIN}\n{config_files.HOOK}\n{config_files.HOOK_END}\n"
    try:
        path = config_files.find_hook(project)
    except NotEditable as problem:
        return Step("git", project / ".git/hooks/post-commit", LEFT, str(problem), "" if remove else shown)

    def change(text: str | None, path: Path) -> str | None:
        if remove:
            return None if text is None else config_files.remove_hook(text)
        return config_files.add_hook(text, path)

    return _step("git", path, path.parent, dry_run, change, shown, mode=0o755)


def _step(
    title: str, path: Path, within: Path, dry_run: bool, edit: Edit, shown: str, mode: int | None = None
) -> Step:
    try:
        before = config_files.read(path, within)
        change = Change(path, before, edit(before, path), mode if before is None else None)
        if change.nothing:
            return Step(title, path, UNCHANGED)
        if not dry_run:
            config_files.apply(change)
    except (NotEditable, OSError) as problem:
        reason = problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
        return Step(title, path, LEFT, reason, shown)
    done = WROTE if change.after is not None and len(change.after) >= len(change.before or "") else REMOVED
    return Step(title, path, done, show=_difference(change, path) if dry_run else "")


def _difference(change: Change, path: Path) -> str:
    lines = difflib.unified_diff(
        (change.before or "").splitlines(), (change.after or "").splitlines(), str(path), str(path), lineterm="", n=2
    )
    return "\n".join(lines)


def find_missing() -> list[str]:
    """What the entries need but is not installed, each as a sentence."""
    from lurcher.errors import MissingExtra
    from lurcher.surfaces.mcp import need_extra

    said = []
    if shutil.which(COMMAND) is None:
        said.append(f"the command {COMMAND} is not on the PATH: clients will not find it")
    try:
        need_extra()
    except MissingExtra as error:
        said.append(f"{error.message}: {error.hint}")
    return said
