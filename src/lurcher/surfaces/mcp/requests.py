"""What a client may send: the arguments of each tool, checked, and paths inside the folders that it may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lurcher import surfaces as p
from lurcher.errors import PathError
from lurcher.runtime.process import printable
from lurcher.sources import Root, breadth, find_root
from lurcher.surfaces import MCP, Parameter
from lurcher.surfaces.wording import Wording


def _take(*parameters: Parameter) -> tuple[Parameter, ...]:
    return tuple(parameter.on(MCP) for parameter in parameters)


_START_LINE, _END_LINE = (p.LINE.on(MCP, name=name, required=False) for name in ("start_line", "end_line"))
_NAME = Parameter("name", longest=4096, required=True)
PROJECT = Parameter("project", longest=4096)
"""Which of the projects is asked, by its name or folder; all of them if it is not given."""
_LINES_OF_FILE = (p.FILE.on(MCP), _START_LINE, _END_LINE)
_PAST = _take(p.QUERY, p.SINCE, p.UNTIL, p.AUTHOR, p.OUTCOME, p.PATHS, p.LIMIT, p.BUDGET, p.CURSOR)

LISTED: Mapping[str, tuple[Parameter, ...]] = {
    "search": _take(p.QUERY, p.SOURCE, p.MODE, p.PATHS, p.LANG, p.LIBRARY, p.LIMIT, p.SNIPPET_LINES, p.BUDGET, p.CURSOR),
    "symbol": (_NAME, *_take(p.LANG, p.BUDGET)),
    "references": _take(p.TARGET, p.SHOW, p.DEPTH, p.BUDGET),
    "search_history": _PAST,
    "explain_change": (*_LINES_OF_FILE, *_take(p.LIMIT, p.BUDGET)),
    "brief": (_NAME.but(help="file, folder or symbol"), p.BUDGET.on(MCP)),
    "outline": _take(p.PATHS, p.KIND, p.BUDGET),
    "read": (*_LINES_OF_FILE, p.BUDGET.on(MCP)),
    "impact": _take(p.FILE, p.SYMBOL, p.HOPS, p.BUDGET),
    "projects": (),
    "status": (),
}
_UNLISTED: Mapping[str, tuple[Parameter, ...]] = {
    "find_pattern": _PAST,
    "related": _take(p.FILE, p.LINE, p.LIMIT, p.FLAT, p.SNIPPET_LINES, p.BUDGET, p.CURSOR),
    "context": _take(p.PATHS, p.BUDGET),
    "exists": (Parameter("text", required=True), p.EXACT.on(MCP)),
    "index": _take(p.HISTORY, p.REBUILD),
}
"""Answered too, for programs and for agents that have learned them, but not described to every agent."""
ARGUMENTS: Mapping[str, tuple[Parameter, ...]] = {
    name: given if name == "projects" else (*given, PROJECT) for name, given in {**LISTED, **_UNLISTED}.items()
}

WORDING = Wording(MCP, ARGUMENTS)
_MOST_NAMES = 20


def input_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        properties[parameter.name] = described = p.json_schema(parameter)
        if parameter.default is not None:
            described["default"] = parameter.default
        if parameter.help:
            described["description"] = parameter.help
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object", "properties": properties, **({"required": required} if required else {}),
        "additionalProperties": False,
    }  # fmt: skip


def check_arguments(parameters: Sequence[Parameter], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every parameter with its value, or None; raises UsageError for a wrong one."""
    values = dict.fromkeys([parameter.name for parameter in parameters])
    return {**values, **{name: _whole(value) for name, value in p.check_all(parameters, given or {}).items()}}


def _whole(value: Any) -> Any:
    """Without unpaired surrogates, which JSON can send but UTF-8 cannot write."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# -- folders: those the server was started with, within those the client has open --------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """The resolved folders that may be read; links are followed before a path is checked."""

    folders: tuple[Path, ...]

    def check(self, path: str) -> Path:
        """The file or folder that a path names, which need not exist; raises PathError if it is outside of the folders.

        A relative path is one as hits have it: below one of the folders, or with several of them, after its name.
        """
        if "\0" in path or len(path) > 4096:
            raise PathError("this is not a path", "pass a path as a hit has it")
        given = Path(path)
        places = [given] if given.is_absolute() else [base / given for base in self._bases(given)]
        allowed = []
        for place in places:
            try:
                meant = place.resolve()
            except (OSError, RuntimeError, ValueError):
                continue
            if any(meant.is_relative_to(folder) for folder in self.folders):
                allowed.append(meant)
        if not allowed:
            raise PathError(f"{_show(path)} is outside of the allowed roots", f"allowed: {', '.join(map(str, self.folders))}")
        try:
            return next((place for place in allowed if place.exists()), allowed[0])
        except OSError as error:  # such as a name that is too long for the file system
            raise PathError(f"{_show(path)} is not a path: {error.strerror}", "pass a path as a hit has it") from None

    def _bases(self, path: Path) -> Iterable[Path]:
        for folder in self.folders:
            yield from dict.fromkeys((top_of(folder), folder))  # hits have paths from the top of the repository on
        if len(self.folders) > 1 and path.parts:
            yield from (folder.parent for folder in self.folders if folder.name == path.parts[0])

    @property
    def names(self) -> dict[str, Path]:
        """Each folder by the shortest end of its path that no other one has."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            others = [other.parts for other in self.folders if other != folder]
            ends = (folder.parts[-size:] for size in range(1, len(folder.parts) + 1))
            end = next((end for end in ends if all(other[-len(end) :] != end for other in others)), folder.parts)
            found["/".join(end)] = folder
        return found

    def choose(self, project: str) -> Access:
        """Only the folder of this name, or at this path inside of one of the folders."""
        folder = self.names.get(project)
        if folder is None and Path(project).is_absolute():
            folder = self.check(project)
            if not folder.is_dir():
                raise PathError(f"{_show(project)} is not a folder", "call projects")
        if folder is None:
            known = ", ".join(list(self.names)[:_MOST_NAMES])
            raise PathError(f"there is no project {_show(project)}", f"known: {known}; or pass the path of its folder")
        return Access((folder,))

    def narrow(self, roots: Sequence[Path]) -> Access:
        """Only what is also inside the folders that the client has open."""
        both = [inner for a in self.folders for b in roots if (inner := _inner(a, b)) is not None]
        if not both:
            raise PathError(
                "none of the client's roots is inside of the folders that this server may show",
                f"it was started for: {', '.join(map(str, self.folders))}",
            )
        return Access(tuple(dict.fromkeys(both)))


def top_of(folder: Path) -> Path:
    """The root of the index that a folder belongs to."""
    try:
        return find_root(folder).path
    except PathError:
        return folder


def _inner(a: Path, b: Path) -> Path | None:
    return a if a.is_relative_to(b) else b if b.is_relative_to(a) else None


def folders_of(uris: Iterable[str]) -> list[Path]:
    """The folders of `file:` URIs, resolved; other URIs and missing folders are skipped."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            continue
        try:
            path = Path(unquote(parts.path)).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        found.append(path if path.is_dir() else path.parent)
    return found


def starting_access(roots: Sequence[str], here: Path) -> Access:
    """The folders of `--root`, else the repository around the current folder."""
    if roots:
        found = []
        for root in roots:
            try:
                path = Path(root).expanduser().resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                raise PathError(f"{root} does not exist", "name a folder with --root") from None
            if not path.is_dir():
                raise PathError(f"{root} is not a folder", "name a folder with --root")
            found.append(path)
        return Access(tuple(dict.fromkeys(found)))
    return Access((top_of(here.resolve()),))


def is_too_wide(folder: Path) -> bool:
    """Whether a folder is too broad to be a project, such as the home folder a desktop program starts servers in."""
    return breadth(Root(folder, False, "")) != ""


def _show(path: str) -> str:
    text = printable(path)
    return text if len(text) <= 200 else text[:199] + "…"
