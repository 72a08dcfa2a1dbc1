"""Evidence that only long reports have: stack traces, links, paths and dotted names that lead to a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lurcher.lanes import order_by_path
from lurcher.lanes.symbol import find_definitions
from lurcher.ranking import Context
from lurcher.runtime.kernel import np
from lurcher.terms import compound, name_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def find_files_at(context: Context, mentioned: str) -> list[int]:
    """Files whose path ends with `mentioned`, or with which `mentioned` ends; only the longest common end counts."""
    wanted = [part for part in mentioned.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]
    if not wanted:
        return []
    best, found = 0, []
    owners, _ = context.snapshot.postings("stem", compound(name_of("/".join(wanted[-2:]))))
    for file in order_by_path(context.snapshot, owners, owners).tolist():
        path = context.snapshot.path(file).split("/")
        shared = 0
        while shared < min(len(path), len(wanted)) and path[-1 - shared] == wanted[-1 - shared]:
            shared += 1
        if shared == 0 or (shared < len(path) and shared < len(wanted) and shared < 2):
            continue
        if shared > best:
            best, found = shared, [file]
        elif shared == best:
            found.append(file)
    return found


_DECAY = 0.5


def score_trace(context: Context) -> NDArray[np.float64]:
    """The file is in the stack trace: the deepest frame in the repository counts most, each one above it half."""
    found = np.zeros(context.snapshot.file_total)
    value = 1.0
    for path in reversed(context.plan.report.frames if context.plan.report else ()):
        files = find_files_at(context, path)
        if not files or found[files[0]]:
            continue
        for file in files:
            found[file] = max(found[file], value / len(files))
            context.notes["trace", file] = "in the stack trace"
        value *= _DECAY
    return found


_BLOB = re.compile(r"/(?:blob|blame|tree|raw|edit|src)/(?:branch/)?[^/]+/([^?#]+)")


def score_urls(context: Context) -> NDArray[np.float64]:
    """The report links to the file in a hosted repository."""
    found = np.zeros(context.snapshot.file_total)
    for url in context.plan.report.urls if context.plan.report else ():
        match = _BLOB.search(url)
        if match and "." in match[1].rsplit("/", 1)[-1]:
            files = find_files_at(context, match[1])
            for file in files:
                found[file] = max(found[file], 1.0 / len(files))
                context.notes["url", file] = "a link points to it"
    return found


def score_mentioned_paths(context: Context) -> NDArray[np.float64]:
    """The report names the file's path."""
    found = np.zeros(context.snapshot.file_total)
    for path in context.plan.report.paths if context.plan.report else ():
        files = find_files_at(context, path)
        for file in files:
            found[file] = max(found[file], 1.0 / len(files))
            context.notes["mentioned", file] = f"{path} is mentioned"
    return found


def score_dotted_names(context: Context) -> NDArray[np.float64]:
    """A dotted name of the report (`package.module.Class.method`) resolves to the file."""
    found = np.zeros(context.snapshot.file_total)
    for name in context.plan.report.dotted if context.plan.report else ():
        files = _find_module(context, name) or _find_symbol(context, name)
        for file in files:
            found[file] = max(found[file], 1.0 / len(files))
            context.notes["dotted", file] = f"{name} resolves to it"
    return found


def _find_module(context: Context, name: str) -> list[int]:
    """Files that the longest part of the name is the module path of."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        wanted = parts[:length]
        files = []
        for candidate in ("/".join(wanted), "/".join((*wanted, "__init__"))):
            for extension in (".py", ".ts", ".js", ".java", ".kt", ".scala", ".rb", ".ex", ".hs", ".lua", ".go", ".rs"):
                files += [
                    file
                    for file in find_files_at(context, candidate + extension)
                    if context.snapshot.path(file).endswith("/".join(wanted[-2:]) + extension)
                    or context.snapshot.path(file).endswith("/".join(wanted[-2:]) + "/__init__" + extension)
                ]
        if files:
            return sorted(set(files))
    return []


def _find_symbol(context: Context, name: str) -> list[int]:
    """Files that define the last component inside of the one before it."""
    matches = find_definitions(context.snapshot, [name])
    return sorted({match.file for match in matches if match.strength >= 0.5 and match.definition.container})
