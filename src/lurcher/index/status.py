"""What an index holds and how it stands to the tree, read without changing anything."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lurcher.errors import IndexError_
from lurcher.index.freshness import compare
from lurcher.index.manifest import NO_SEGMENT

if TYPE_CHECKING:
    from lurcher.embedding.model import Model
    from lurcher.index.project import Project

_VECTORS = ("vectors", "vector_scales", "cards", "card_scales")


def model_entry(model: Model) -> dict[str, Any]:
    """The model in use, in a few words."""
    if model.problem is not None:
        return {"name": model.setting, "problem": model.problem.message, "hint": model.problem.hint}
    if model.table is None:
        return {"name": "none"}
    return {"name": model.table.meta.name, "dims": model.table.dims, "digest": model.table.digest}


def status_of(project: Project) -> dict[str, Any]:
    status: dict[str, Any] = {"root": str(project.root.path), "index": str(project.store.folder), "exists": False}
    try:
        found = project.on_disk()
    except IndexError_ as problem:
        return {**status, "problem": problem.message, "hint": problem.hint}
    except OSError as error:
        return {**status, "problem": f"cannot be read: {error.strerror}", "hint": "check the folder's permissions"}
    listing = project.list_files()
    if found is None:
        return {**status, "files_found": len(listing.entries), "skipped": dict(sorted(listing.skipped.items()))}
    manifest, snapshot = found
    changes = compare(manifest, listing)
    segments = []
    vector_bytes = 0
    totals = {"units": 0, "definitions": 0, "terms": 0}
    languages: dict[str, int] = {}
    try:
        for name, segment in zip(manifest.segments, snapshot.segments, strict=True):
            segments.append({"name": name, "bytes": segment.container.size, "files": segment.meta["files"]})
            live = range(len(segment.files)) if segment.live is None else segment.live.nonzero()[0].tolist()
            for place in live:
                row = segment.files[place]
                totals["units"] += int(row["units"])
                totals["definitions"] += int(row["definitions"])
                language = segment.meta["languages"][int(row["language"])]
                languages[language] = languages.get(language, 0) + 1
            vector_bytes += sum(segment.container.length(name) for name in _VECTORS)
            totals["terms"] = max(totals["terms"], int(segment.meta["terms"]))
    except IndexError_ as problem:
        return {**status, "problem": problem.message, "hint": problem.hint}
    files = sum(row.segment != NO_SEGMENT for row in manifest.rows.values())
    return {
        **status,
        "exists": True,
        "generation": manifest.generation,
        "format": manifest.fingerprint["format"],
        "age_seconds": max(0, round((time.time_ns() - manifest.checked_ns) / 1e9)),
        "fresh": project.stale_in(manifest, changes) == 0,
        "stale_paths": project.stale_in(manifest, changes),
        "files": files,
        **totals,
        "bytes": sum(segment["bytes"] for segment in segments),
        "vector_bytes": vector_bytes,
        "model": model_entry(project.model),
        "segments": segments,
        "languages": dict(sorted(languages.items(), key=lambda item: (-item[1], item[0]))),
        # What is left out unread is no part of the index: one that came or went since makes no new generation.
        "skipped": replace(manifest, skipped=listing.skipped).skip_counts(),
    }
