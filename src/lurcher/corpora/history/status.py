"""What a history index holds and how it stands to HEAD, read without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lurcher.corpora.history.index import PastProject
from lurcher.errors import IndexError_
from lurcher.sources.git.refs import head_of

if TYPE_CHECKING:
    from lurcher.indexing.root_index import RootIndex


def history_entry(project: RootIndex) -> dict[str, Any] | None:
    """Fields are added over time, never renamed; None where there is no repository."""
    history = PastProject.beside(project)
    head = head_of(history.top)
    if head is None:
        return None
    try:
        found = history.read_from_disk()
    except IndexError_ as problem:
        return {"exists": False, "problem": problem.message, "hint": problem.hint}
    except OSError as error:
        return {"exists": False, "problem": f"cannot be read: {error.strerror}", "hint": "check the folder's permissions"}
    if found is None:
        return {"exists": False}
    manifest, past = found
    verdicts = history.kept_verdicts(manifest)
    segments: list[dict[str, Any]] = [
        {"name": name, "bytes": segment.container.size, "commits": int(segment.meta["commits"])}
        for name, segment in zip(manifest.segments, past.segments, strict=True)
    ]
    return {
        "exists": True,
        "generation": manifest.generation,
        "fresh": manifest.head == head,
        "complete": manifest.complete,
        "commits": past.commit_count,
        "total": past.total,
        "coverage": None if head.shallow and past.coverage == 1.0 else round(past.coverage, 4),
        "shallow": bool(head.shallow),
        "hunks": past.hunk_total,
        "missing_files": manifest.losses[1],
        "outcomes": None if verdicts is None else verdicts.mix(),
        "bytes": sum(entry["bytes"] for entry in segments),
        "segments": segments,
    }
