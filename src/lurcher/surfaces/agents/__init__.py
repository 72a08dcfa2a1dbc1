"""`lurcher init`: adds the MCP server to the settings of the coding agents that a project uses, and what else was asked for.

A file is changed as text; the result must parse to the old content plus our entry, and replaces the file in one step. A file
that cannot be changed safely is left alone, and the user is shown what to add.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.errors import ServerError
from lurcher.inspect.doctor import NOTE, OK, PROBLEM, Finding
from lurcher.runtime import VERSION
from lurcher.runtime.installation import find_command, is_this_command
from lurcher.surfaces.agents import bundles, config_files, hooks
from lurcher.surfaces.agents.clients import CLIENTS, Client, add_entry, command_of, is_ours, new_file, read_entry, remove_entry
from lurcher.surfaces.agents.config_files import Change, NotEditable
from lurcher.surfaces.agents.handshake import shake_hands

AGENTS, CLAUDE = "AGENTS.md", "CLAUDE.md"
BEGIN, END = "<!-- lurcher:begin -->", "<!-- lurcher:end -->"
_IMPORT = "@AGENTS.md"
"""How CLAUDE.md includes the other file."""

WROTE, REMOVED, UNCHANGED, LEFT = "wrote", "removed", "unchanged", "left alone"
Edit = Callable[[str | None, Path], str | None]


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
    then: str = ""
    """What is left to do in the program."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "for": self.title, "path": str(self.path), "done": self.done, "reason": self.reason, "show": self.show,
            "then": self.then,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setup:
    """What `lurcher init` was asked to do."""

    project: Path
    home: Path | None
    clients: Sequence[Client]
    remove: bool = False
    dry_run: bool = False
    instructions: bool = False
    """A section in AGENTS.md, which CLAUDE.md includes."""
    skill: bool = False
    agent_hooks: bool = False
    git_hook: bool = False
    plugin: Path | None = None
    """The folder for a marketplace with our plugins for Claude Code and Codex."""

    @property
    def needs_server(self) -> bool:
        return not self.remove and bool(self.clients or self.plugin)

    @property
    def is_empty(self) -> bool:
        return not (self.clients or self.instructions or self.skill or self.agent_hooks or self.git_hook or self.plugin)

    @property
    def command(self) -> list[str]:
        return [*find_command(), "mcp"]

    def has(self, key: str) -> bool:
        return any(client.key == key for client in self.clients)


def choose_clients(project: Path, keys: Sequence[str], home: Path | None) -> list[Client]:
    """The clients with these keys, or without keys those that are in use here."""
    return [client for client in CLIENTS if (client.key in keys if keys else client.is_used(project, home))]


def apply_steps(setup: Setup) -> list[Step]:
    """Changes the files, or in a dry run only says what would be changed."""
    return list(_steps(setup))


def _steps(setup: Setup) -> Iterator[Step]:
    project, remove = setup.project, setup.remove
    for client in setup.clients:
        yield _client_step(setup, client)
    if setup.instructions:
        section = bundles.read_text("instructions.md")
        yield _step(setup, "agents", project / AGENTS, _section_change(section, remove), f"{BEGIN}\n{section}{END}\n")
        if setup.has("claude") or (project / CLAUDE).exists():
            shown = f"{BEGIN}\n{_IMPORT}\n{END}\n"
            yield _step(setup, "Claude Code", project / CLAUDE, _section_change(_IMPORT, remove), shown)
    if setup.skill:
        for title, name, text in bundles.project_files(claude=setup.has("claude"), others=remove or _reads_skills(setup)):
            yield _step(setup, title, project / name, _own_file(text, remove), text)
    if setup.agent_hooks:
        for key, title, name in hooks.FILES:
            if setup.has(key):
                shown = hooks.new_file(find_command())
                yield _step(setup, title, project / name, hooks.change(find_command(), remove), shown)
    if setup.git_hook:
        yield _git_hook_step(setup)
    if setup.plugin is not None:
        yield from _plugin_steps(setup, setup.plugin)


def _reads_skills(setup: Setup) -> bool:
    """Whether a skill is needed where all programs but Claude Code look for it."""
    return not setup.has("claude") or len(setup.clients) > 1


def _client_step(setup: Setup, client: Client) -> Step:
    path = client.file(setup.project, setup.home)
    shown = "" if setup.remove else new_file(client, setup.command)
    if client.is_shared and setup.home is None:
        return Step(client.title, path, UNCHANGED if setup.remove else LEFT, "there is no home folder", shown)

    def change(text: str | None, path: Path) -> str | None:
        if setup.remove:
            return None if text is None else remove_entry(client, text, setup.project)
        return add_entry(client, text, setup.command, setup.project)

    within = setup.project if not client.is_shared else setup.home if path.is_relative_to(setup.home or "") else path.parent
    return _step(setup, client.title, path, change, shown, within=within, then="" if setup.remove else client.then)


def _section_change(section: str, remove: bool) -> Edit:
    def change(text: str | None, path: Path) -> str | None:
        if not remove:
            if section == _IMPORT and BEGIN not in (text or "") and _IMPORT in (text or "").split():
                return text
            made = config_files.add_section(text or "", section, BEGIN, END)
            # The section and a line end mark a file that we made; one that was empty before gets no line end, and stays.
            return made if text is None or text.strip() else made + text if text else made.removesuffix("\n")
        if text is None:
            return None
        rest = config_files.remove_section(text, BEGIN, END)
        return None if text.startswith(BEGIN) and text.endswith(f"{END}\n") and not rest else rest

    return change


def _own_file(text: str, remove: bool) -> Edit:
    def change(before: str | None, path: Path) -> str | None:
        if before is not None:
            config_files.check_seal(before)
        return None if remove else config_files.seal(text)

    return change


def _plugin_steps(setup: Setup, folder: Path) -> Iterator[Step]:
    files = bundles.marketplace_files(find_command())
    ours = bundles.is_marketplace(folder)
    for name, text in files.items():

        def change(before: str | None, path: Path, text: str = text) -> str | None:
            if before is not None and not ours:
                raise NotEditable("the folder holds something else")
            return None if setup.remove else text

        yield _step(setup, "plugin", folder / name, change, "", within=folder)


def _git_hook_step(setup: Setup) -> Step:
    shown = f"{config_files.HOOK_BEGIN}\n{config_files.HOOK}\n{config_files.HOOK_END}\n"
    try:
        path = config_files.find_hook(setup.project)
    except NotEditable as problem:
        return Step("git", setup.project / ".git/hooks/post-commit", LEFT, str(problem), "" if setup.remove else shown)

    def change(text: str | None, path: Path) -> str | None:
        if setup.remove:
            return None if text is None else config_files.remove_hook(text)
        return config_files.add_hook(text, path)

    return _step(setup, "git", path, change, shown, within=path.parent, mode=0o755)


def _step(
    setup: Setup, title: str, path: Path, edit: Edit, shown: str, *, within: Path | None = None, mode: int | None = None,
    then: str = "",
) -> Step:  # fmt: skip
    within = within or setup.project
    try:
        before = config_files.read(path, within)
        if before is None and setup.remove:
            return Step(title, path, UNCHANGED)
        change = Change(path, before, edit(before, path), mode if before is None else None, within)
        if change.nothing:
            return Step(title, path, UNCHANGED)
        if not setup.dry_run:
            config_files.apply(change)
    except (NotEditable, OSError) as problem:
        reason = problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
        return Step(title, path, LEFT, reason, shown)
    done = REMOVED if setup.remove else WROTE
    return Step(title, path, done, show=_difference(change, path) if setup.dry_run else "", then=then)


def _difference(change: Change, path: Path) -> str:
    lines = difflib.unified_diff(
        (change.before or "").splitlines(), (change.after or "").splitlines(), str(path), str(path), lineterm="", n=2
    )
    return "\n".join(lines)


def check_entries(project: Path, home: Path | None, *, quick: bool = False) -> Iterator[Finding]:
    """For `lurcher doctor`: whether what the clients of a project would start is there, answers, and is this version.

    Only this installation is started: the files of a project may name anything.
    """
    wrong = None
    for client in CLIENTS:
        path = client.file(project, home)
        repair = f"run: lurcher init --client {client.key}"
        try:
            text = path.read_text("utf-8")
            entry = read_entry(client, text)
        except (OSError, UnicodeDecodeError):
            continue
        except NotEditable as problem:
            if "lurcher" in text:
                yield Finding("agents", NOTE, f"{client.title}: {path} cannot be checked: {problem}", "correct it by hand")
            continue
        command = command_of(entry)
        if command is None or not is_ours(entry):
            continue
        said = f"{client.title}: {path} starts {' '.join(command)}"
        if shutil.which(command[0]) is None:
            yield Finding("agents", PROBLEM, f"{said}, which does not exist or is not executable", repair)
        elif not is_this_command(command):
            yield Finding("agents", NOTE, f"{said}, which is not this lurcher {VERSION}", repair)
        else:
            if wrong is None:
                wrong = "" if quick else _problem_of([*find_command(), "mcp"], project)
            yield Finding("agents", PROBLEM, f"{said}; {wrong}", repair) if wrong else Finding("agents", OK, said)


def _problem_of(command: list[str], folder: Path) -> str:
    """What is wrong with the server that a command starts; empty if nothing is."""
    try:
        shake_hands(command, folder)
    except ServerError as error:
        return error.message
    return ""
