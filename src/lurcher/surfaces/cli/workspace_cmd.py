"""`lurcher workspace`: the repositories that `lurcher search --workspace` asks together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lurcher.errors import UsageError
from lurcher.indexing.repositories import add_repositories, read_repositories, remove_repositories
from lurcher.runtime.process import format_count, printable
from lurcher.server.repositories import RepositoryEngine
from lurcher.surfaces.cli.search_cmd import AGREED, ERROR, FOUND, NOTHING, Meter, overrides_of, print_json

if TYPE_CHECKING:
    from argparse import Namespace


def run_workspace(parsed: Namespace) -> int:
    if parsed.action in ("add", "remove") and not parsed.path:
        raise UsageError(f"nothing to {parsed.action}", f"name repositories: lurcher workspace {parsed.action} 'FOLDER/*'")
    if parsed.yes:
        parsed.set.append(AGREED)
    entries: list[dict[str, Any]]
    if parsed.action == "remove":
        entries = [{"name": entry.name, "path": entry.place} for entry in remove_repositories(parsed.path)]
    elif parsed.action == "list":
        repositories = read_repositories()
        entries = RepositoryEngine(repositories, overrides_of(parsed.set)).status() if repositories else []
    else:
        entries = _index(parsed)
    if parsed.json:
        print_json({"repositories": entries})
    else:
        _print_entries(parsed.action, entries)
    if parsed.action != "list" and any("problem" in entry for entry in entries):
        return ERROR
    return FOUND if entries or parsed.action == "add" else NOTHING


def _index(parsed: Namespace) -> list[dict[str, Any]]:
    """Index what was added, or bring all that is named up to date."""
    names = parsed.path
    if parsed.action == "add":
        added = add_repositories(parsed.path, broad=AGREED in parsed.set)
        if not added:
            return []
        names = [entry.name for entry in added]
    with Meter(parsed.quiet) as meter:
        return RepositoryEngine.open(overrides_of(parsed.set)).refresh(names, meter.update)


def _print_entries(action: str, entries: list[dict[str, Any]]) -> None:
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        if "problem" in entry:
            holds = f"problem: {entry['problem']}"
        elif "files" in entry:
            holds = format_count(entry["files"], "file")
        elif action == "list":
            units = entry["units"]
            holds = "no index" if not entry["indexed"] else "" if units is None else format_count(units, "unit")
        else:
            holds = "removed; its index stays"
        print(f"{printable(entry['name']):<{width}}  {printable(entry['path'])}  {printable(holds)}".rstrip())
    if not entries:
        print("nothing was added" if action == "add" else "the workspace has no repositories")
