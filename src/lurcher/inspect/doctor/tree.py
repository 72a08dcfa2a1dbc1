"""What an index is made from, looked at for itself: settings, model, repository and files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from lurcher.errors import LurcherError
from lurcher.indexing.freshness import compare_listing
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.watcher import INSTALL, SYSCTL
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, command, few
from lurcher.inspect.doctor.installation import run_git
from lurcher.runtime.terminal import format_count
from lurcher.storage import manifest as manifests
from lurcher.types import Progress
from lurcher.vectors.model import BUILTIN

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def settings(project: RootIndex) -> Iterator[Finding]:
    origins = project.settings.origins
    if not origins:
        yield Finding("settings", OK, "all as they come")
        return
    where = ", ".join(sorted(set(origins.values())))
    yield Finding("settings", OK, f"{len(origins)} set by {where}: {', '.join(sorted(origins))}")


def model(project: RootIndex) -> Iterator[Finding]:
    found = project.model
    mend = "run: pip install --force-reinstall lurcher" if found.setting == BUILTIN else ""
    try:
        if found.problem is not None:
            raise found.problem
        if found.textual:
            yield from provider(project)
            return
        if found.table is None:
            yield Finding("model", OK, "none is wanted: no vectors, no search by meaning")
            return
        found.table.verify()
    except LurcherError as problem:
        yield Finding("model", PROBLEM, problem.message, mend or problem.hint)
        return
    yield Finding("model", OK, f"{found.table.meta.name}, {found.table.size / 1e6:.1f} MB, every checksum holds")


def provider(project: RootIndex) -> Iterator[Finding]:
    """Whether the embedding provider can be reached, what it has, how long it takes, and what the index lacks."""
    from lurcher.indexing.status import embedded_entry
    from lurcher.vectors.text_model import describe_provider

    told = describe_provider(project.model)
    served = f" ({told['served']})" if told["served"] else ""
    said = f"{told['name']}{served} answers, {told['dims']} numbers per vector, {told['load_ms']:.0f} ms"
    opened = project.read_from_disk()
    entry = embedded_entry(project.model, *opened) if opened is not None else {}
    mend = command("lurcher index", project.root.path)
    if entry.get("dims", told["dims"]) != told["dims"]:
        more = f"{said}; vectors of the index have {entry['dims']}"
        yield Finding("model", PROBLEM, more, command("lurcher index --rebuild", project.root.path))
    elif entry.get("missing"):
        yield Finding("model", NOTE, f"{said}; {entry['missing']:,} of {entry['texts']:,} texts have no vectors yet", mend)
    else:
        yield Finding("model", OK, said)


def repository(project: RootIndex) -> Iterator[Finding]:
    root = project.root.path
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return
    status, _, errors = run_git(top, "rev-parse", "--show-toplevel")
    if status == 0:
        yield Finding("git", OK, f"reads {top}")
        return
    reason = next((line for line in errors.splitlines() if line.startswith("fatal: ")), errors.strip() or "no reason given")
    reason = reason.removeprefix("fatal: ")
    if "dubious ownership" in reason:
        hint = f"if you trust it, run: git config --global --add safe.directory {shlex.quote(str(top))}"
        yield Finding("git", PROBLEM, f"git refuses {top}, which belongs to somebody else", hint)
    else:
        yield Finding("git", PROBLEM, f"git cannot read {top}: {reason}", f"see: git -C {shlex.quote(str(top))} status")


def examine(project: RootIndex, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """The tree beside the index. A file that is said to be unchanged is read, unless it has to be quick."""
    listing = project.list_files()
    try:
        manifest = manifests.read_manifest(project.store.folder, project.fingerprint)
    except (LurcherError, OSError):
        manifest = None  # there is a finding about it already
    if manifest is None:
        yield Finding("tree", OK, f"{format_count(len(listing.entries), 'file')} to index, listed by {listing.method}")
        return
    changes = compare_listing(manifest, listing)
    stale = project.count_stale(manifest, changes)
    if stale:
        mend = command("lurcher index", project.root.path)
        yield Finding("tree", NOTE, f"{format_count(stale, 'file')} changed since the index was made", mend)
    if quick:
        if not stale:
            yield Finding(
                "tree", OK, f"{format_count(len(listing.entries), 'file')}, each as the index knows it, by time stamps"
            )
        return
    suspects = {entry.path for entry in changes.suspects}
    unlike = []
    for done, entry in enumerate(listing.entries):
        if done % 256 == 0:
            progress("reading the tree", done, len(listing.entries))
        row = manifest.rows.get(entry.path)
        if row is None or entry.path in suspects or not any(row.digest):
            continue
        found = project.read_text(entry.path)
        if found.digest is not None and bytes.fromhex(found.digest) != row.digest:
            unlike.append(entry.path)
    if unlike:
        message = f"{format_count(len(unlike), 'file')} changed without a new time stamp: {few(unlike)}"
        yield Finding("tree", PROBLEM, message, command("lurcher index --rebuild", project.root.path))
    elif not stale:
        yield Finding("tree", OK, f"{format_count(len(listing.entries), 'file')}, each as the index knows it, byte by byte")


def watching(project: RootIndex, *, quick: bool) -> Iterator[Finding]:
    if find_spec("watchfiles") is None:
        yield Finding("watch", NOTE, "index --watch will look every few seconds: watchfiles is not installed", INSTALL)
        return
    try:
        limit = int(_WATCHES.read_text())
    except (OSError, ValueError):  # another system, with other limits
        yield Finding("watch", OK, "watchfiles is installed")
        return
    if quick:
        yield Finding("watch", OK, f"watchfiles is installed, and the system has {limit:,} watches")
        return
    folders = 0
    for _ in os.walk(project.root.path):
        folders += 1
        if folders > limit:
            break
    if folders > 0.9 * limit:
        yield Finding("watch", NOTE, f"index --watch needs a watch per folder, and the system has {limit:,}", f"run: {SYSCTL}")
    else:
        yield Finding("watch", OK, f"watchfiles is installed; {format_count(folders, 'folder')}, {limit:,} watches")
