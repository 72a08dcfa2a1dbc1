"""Which files of the snapshot a path in a traceback, a URL or a sentence refers to."""

from __future__ import annotations

from lurcher.lanes.base import order_by_path
from lurcher.ranking.context import Context
from lurcher.terms.split import compound, name_of


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
