"""The index itself: every byte of every file in it, whether its tables lead somewhere, and whether they say the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lurcher.chunking.installed import outdated
from lurcher.counted import counted
from lurcher.errors import LurcherError, OutdatedIndex
from lurcher.index import manifest as manifests
from lurcher.index.apart import KIND, names_in
from lurcher.index.container import Container
from lurcher.index.doctor.finding import NOTE, OK, PROBLEM, Finding, command, few
from lurcher.index.doctor.segment import check_bytes, check_files, check_tables
from lurcher.index.manifest import NAME, Manifest
from lurcher.index.project import Project
from lurcher.index.segment import check_shape
from lurcher.index.store import live_places
from lurcher.index.unparsed import given_up, without_grammar
from lurcher.types import Progress

_ATTEMPTS = 3


def examine(project: Project, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """A writer may replace what is being looked at: then it is looked at again."""
    for _ in range(_ATTEMPTS):
        before = _identity(project)
        findings = list(_examine(project, progress, quick=quick))
        if _identity(project) == before or not any(finding.state == PROBLEM for finding in findings):
            yield from findings
            return
    yield Finding("index", NOTE, "it is being rewritten right now and could not be checked", "run it again later")


def _identity(project: Project) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(project.store.folder / NAME)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _examine(project: Project, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    folder = project.store.folder
    present = sorted(path.name for path in folder.glob("*.segment")) if folder.is_dir() else []
    if not os.path.lexists(folder / NAME):
        if present:
            yield Finding("index", PROBLEM, f"index file {NAME} is missing", _mend(project, NAME))
        elif folder.is_dir():
            yield Finding("index", NOTE, "no index yet", command("lurcher index", project.root.path))
        return
    try:
        Container.open(folder / NAME).verify()
        manifest = manifests.read(folder, project.fingerprint)
    except OutdatedIndex as outdated:
        yield Finding("index", NOTE, f"{outdated.message}: the next query makes it anew", _mend(project, NAME))
        return
    except (LurcherError, OSError) as error:
        yield _damage(project, NAME, error)
        return
    if manifest is None:  # removed just now
        return
    damaged = 0
    for number, (name, places) in enumerate(zip(manifest.segments, live_places(manifest), strict=True)):
        progress("reading the index", number, len(manifest.segments))
        try:
            _check_segment(folder / name, manifest, number, places, quick=quick)
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(project, name, error)
    kept = sorted(names_in(manifest.vectors))
    for name in kept:
        try:
            found = project.store.other(name, KIND)
            if not quick:
                found.verify()
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(project, name, error)
    if not damaged:
        size = sum((folder / name).stat().st_size for name in (*manifest.segments, *kept))
        held = "every file opens" if quick else "every byte, table and text is as it was written"
        files, segments = counted(len(manifest.rows), "file"), counted(len(manifest.segments), "segment")
        message = f"generation {manifest.generation}: {files} in {segments}"
        yield Finding("index", OK, f"{message}, {size / 1e6:,.1f} MB; {held}")
        yield from _grammars(project, manifest)
    present += sorted(path.name for path in folder.glob(f"*.{KIND}"))
    unused = [name for name in present if name not in manifest.segments and name not in kept]
    if unused:
        message = f"segments or vectors that no manifest names: {few(unused)}"
        yield Finding("index", NOTE, message, f"the next update removes them; {_mend(project, NAME)}")


def _grammars(project: Project, manifest: Manifest) -> Iterator[Finding]:
    """Files that are cut by lines although there is, or could be, a grammar for them."""
    languages = outdated(manifest.grammars)
    if languages:
        message = f"{few(sorted(languages))} files were read without the grammar that is installed now, or with an older one"
        yield Finding("index", NOTE, f"{message}: the next query reads them again", command("lurcher index", project.root.path))
    found = project.on_disk()
    if found is None:
        return
    for note in (*given_up(found[1]), *(() if languages else without_grammar(found[1]))):
        yield Finding("index", NOTE, note.reason, note.hint)


def _check_segment(path: Path, manifest: Manifest, number: int, places: list[int], *, quick: bool) -> None:
    container = check_shape(Container.open(path))
    if places and max(places) >= container.meta["files"]:
        raise container.corrupt("the manifest names files that it does not have")
    if quick:
        return
    check_bytes(container, path)
    check_tables(container)
    check_files(container, {row.place: (name, row) for name, row in manifest.rows.items() if row.segment == number})


def _damage(project: Project, name: str, error: LurcherError | OSError) -> Finding:
    message = error.message if isinstance(error, LurcherError) else f"cannot be read: {error.strerror or error}"
    return Finding("index", PROBLEM, message if name in message else f"{name}: {message}", _mend(project, name))


def _mend(project: Project, name: str) -> str:
    rebuild = command("lurcher index --rebuild", project.root.path)
    path = project.store.folder / name
    try:
        regular = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        regular = True
    return rebuild if regular else f"remove {path}, then {rebuild}"
