"""What the index of a root holds and how it relates to the tree, read without changing anything."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from lurcher.errors import BroadRoot, IndexError_, LurcherError
from lurcher.indexing.freshness import compare_listing
from lurcher.indexing.scip_edges import scip_status
from lurcher.languages.grammar import describe_grammars
from lurcher.runtime.kernel import describe_kernel, np
from lurcher.sources import Root
from lurcher.storage import index_folder_of
from lurcher.storage.disk import find_holder
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS, WAITING, Manifest, files_in_use
from lurcher.storage.segment import FILES, GRAMMAR_GAVE_UP, NO_GRAMMAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from lurcher.indexing.root_index import RootIndex
    from lurcher.storage.segment import Segment
    from lurcher.storage.snapshot import Snapshot
    from lurcher.vectors import Model

_MOST_PATHS = 100
_VECTORS = ("vectors", "vector_scales", "cards", "card_scales")


def model_entry(model: Model) -> dict[str, Any]:
    """The model in use, in a few words."""
    if model.problem is not None:
        return {"name": model.setting, "problem": model.problem.message, "hint": model.problem.hint}
    if model.textual:
        return {"name": model.setting, "digest": model.digest}
    if model.table is None:
        return {"name": "none"}
    return {"name": model.table.meta.name, "dims": model.table.dims, "digest": model.table.digest}


def embedded_entry(model: Model, manifest: Manifest, snapshot: Snapshot) -> dict[str, Any]:
    """What there is of vectors that a provider made, and how many are missing."""
    if not model.textual or model.problem is not None:
        return {}
    from lurcher.indexing.reembed import count_missing

    apart = manifest.vectors.get(model.digest)
    missing, total = count_missing(snapshot.segments, FILES.vectors)
    return {**({"dims": apart.dims, "about": dict(apart.about)} if apart else {}), "texts": total, "missing": missing}


def index_status(project: RootIndex, *, skipped: bool = False) -> dict[str, Any]:
    """Fields are added over time, never renamed. With `skipped` also the paths of files that were left out."""
    folder = project.store.folder
    status: dict[str, Any] = {
        "root": str(project.root.path), "index": str(folder), "exists": False, "lock": lock_entry(folder),
        "kernel": describe_kernel(),
    }  # fmt: skip
    try:
        found = project.read_from_disk()
        listing = project.list_files()
        if found is None:
            paths = {reason: list(listing.examples[reason]) for reason in sorted(listing.examples)}
            counts = {"files_found": len(listing.entries), "skipped": dict(sorted(listing.skipped.items()))}
            return {**status, **counts, **({"skipped_paths": paths} if skipped else {})}
        manifest, snapshot = found
        changes = compare_listing(manifest, listing)
        content = _content(manifest.segments, snapshot.segments)
        disk_bytes = folder_bytes(folder)
    except (IndexError_, BroadRoot) as problem:
        return {**status, "problem": problem.message, "hint": problem.hint}
    except OSError as error:
        return {**status, "problem": f"cannot be read: {error.strerror}", "hint": "check the folder's permissions"}
    stale = project.count_stale(manifest, changes)
    return {
        **status,
        "exists": True,
        "generation": manifest.generation,
        "format": manifest.fingerprint["format"],
        "age_seconds": max(0, round((time.time_ns() - manifest.checked_ns) / 1e9)),
        "fresh": stale == 0,
        "stale_paths": stale,
        "waiting": manifest.skipped.get(WAITING, 0),
        "listed_by": listing.method,
        "files": sum(row.segment != NO_SEGMENT for row in manifest.rows.values()),
        **content,
        "by_lines": by_lines_entry(snapshot),
        "grammars": describe_grammars(content["languages"]),
        "disk_bytes": disk_bytes,
        "linked": linked_entry(project, manifest),
        "ratio": round(disk_bytes / content["text_bytes"], 3) if content["text_bytes"] else None,
        "model": {**model_entry(project.model), **embedded_entry(project.model, manifest, snapshot)},
        # What is left out unread is no part of the index: one that came or went since makes no new generation.
        "skipped": manifest.replace(skipped=listing.skipped).skip_counts(),
        **({"skipped_paths": skipped_paths(manifest, listing.examples)} if skipped else {}),
        **scip_status(project, snapshot),
    }


def by_lines_entry(snapshot: Snapshot) -> dict[str, Any]:
    """Files that are cut by lines since a grammar gave up on them, by path, or is missing, by language."""
    paths = sorted(map(snapshot.path, snapshot.flagged(GRAMMAR_GAVE_UP)))
    missing: dict[str, int] = {}
    for file in snapshot.flagged(NO_GRAMMAR):
        language = snapshot.language(file)
        missing[language] = missing.get(language, 0) + 1
    return {"gave_up": len(paths), "paths": paths[:_MOST_PATHS], "no_grammar": dict(sorted(missing.items()))}


def lock_entry(folder: Path) -> dict[str, Any]:
    """Whether a process is writing the index, and which, as far as that is known."""
    try:
        pid = find_holder(folder)
    except OSError as error:
        return {"held": False, "pid": None, "problem": error.strerror or str(error)}
    return {"held": pid is not None, "pid": pid or None}


def folder_bytes(folder: Path) -> int:
    """All that the index takes on disk; files may come and go while another process writes."""
    total = 0
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += path.lstat().st_size
    return total


def linked_entry(project: RootIndex, manifest: Manifest) -> dict[str, Any]:
    """What the index has in common with others, which takes room once: its bytes, and the other work trees that have it."""
    linked: dict[tuple[int, int], int] = {}
    for name in files_in_use(manifest):
        with contextlib.suppress(OSError):
            status = (project.store.folder / name).lstat()
            if status.st_nlink > 1:
                linked[status.st_dev, status.st_ino] = status.st_size
    entry: dict[str, Any] = {"bytes": sum(linked.values()), "with": []}
    if linked and project.root.git:
        from lurcher.sources.git.refs import other_work_trees

        for top, _ in other_work_trees(project.root.place):
            with contextlib.suppress(OSError, LurcherError):
                folder = index_folder_of(Root(top, True, ""), project.settings)
                marks = [item.stat(follow_symlinks=False) for item in os.scandir(folder)]
                if any((mark.st_dev, mark.st_ino) in linked for mark in marks):
                    entry["with"].append(top)
    return entry


def skipped_paths(manifest: Manifest, examples: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The files that were read and left out, by reason, and `examples` of those that the listing left out unread."""
    found = {reason: list(paths) for reason, paths in examples.items()}
    for path, row in manifest.rows.items():
        if row.segment == NO_SEGMENT:
            found.setdefault(SKIP_REASONS[row.place], []).append(path)
    return {reason: sorted(set(found[reason])) for reason in sorted(found)}


def _content(names: Sequence[str], segments: Sequence[Segment]) -> dict[str, Any]:
    totals = {"units": 0, "definitions": 0, "terms": 0, "text_bytes": 0, "vector_bytes": 0}
    languages: dict[str, int] = {}
    entries = []
    for name, segment in zip(names, segments, strict=True):
        counts = _segment(segment, languages)
        count = int(segment.meta["files"])
        entries.append({
            "name": name, "bytes": segment.container.size, "files": count,
            "live": counts["files"], "dead": count - counts["files"], "text_bytes": counts["text_bytes"],
        })  # fmt: skip
        for key in ("units", "definitions", "text_bytes"):
            totals[key] += counts[key]
        holders = {id(one): one for one in (segment.container, segment.vectors) if one is not None}
        totals["vector_bytes"] += sum(find_holder.length(name) for find_holder in holders.values() for name in _VECTORS)
        totals["terms"] = max(totals["terms"], int(segment.meta["terms"]))
    return {
        **totals,
        "bytes": sum(entry["bytes"] for entry in entries),
        "segments": entries,
        "languages": dict(sorted(languages.items(), key=lambda item: (-item[1], item[0]))),
    }


def _segment(segment: Segment, languages: dict[str, int]) -> Mapping[str, int]:
    """What the live files of a segment come to."""
    rows = segment.files if segment.live is None else segment.files[segment.live]
    for number, count in enumerate(np.bincount(rows["language"]).tolist()):
        if count:
            name = segment.meta["languages"][number]
            languages[name] = languages.get(name, 0) + count
    return {
        "files": len(rows),
        "units": int(rows["units"].sum()),
        "definitions": int(rows["definitions"].sum()),
        "text_bytes": int(rows["size"].sum()),
    }
