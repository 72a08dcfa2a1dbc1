"""Checks of the index folder, the index in it, the history index, and those of libraries.

Unless it has to be quick, every byte of every file is read, and every table compared with what it refers to.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from lurcher.chunking.notebook import NOTEBOOK
from lurcher.corpora.history.index import HistoryIndex
from lurcher.corpora.history.schema import HistoryManifest
from lurcher.corpora.libraries import libraries_of
from lurcher.errors import LurcherError, OutdatedIndex
from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.scip_edges import open_edges
from lurcher.indexing.status import folder_bytes, linked_entry
from lurcher.inspect.doctor import NOTE, OK, PROBLEM, Finding, first_few, run_hint
from lurcher.languages import outdated
from lurcher.runtime.process import format_count, is_read_only, is_running
from lurcher.storage import SCIP_NAME, TAG_TEXT, disk
from lurcher.storage import manifest as manifests
from lurcher.storage.bloom import BloomBuilder
from lurcher.storage.container import Container
from lurcher.storage.imports import read_imports
from lurcher.storage.manifest import FOLDER_TAG, NAME, FileRow, Manifest
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import FILES, Schema, Segment, check_segment, read_table
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import broken_postings
from lurcher.storage.vectors import KIND, read_vectors, sidecar_files
from lurcher.types import Degraded, Progress, silent

_AnyIndex = RootIndex | HistoryIndex
_OWN = frozenset({NAME, FOLDER_TAG, ".gitignore", disk.LOCK_NAME, SCIP_NAME, "history", "libraries"})
_ELSEWHERE = "set LURCHER_INDEX_DIR to a folder on a local disk"
_ATTEMPTS = 3
_TERMS = 20_000
_LOST = "\N{REPLACEMENT CHARACTER}"
_BEFORE_UTF8 = (("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"),
                ("utf-32-le", b"\xff\xfe\x00\x00"), ("utf-32-be", b"\x00\x00\xfe\xff"), ("cp1252", b""))  # fmt: skip
"""Encodings that a file may have had before its text was stored as UTF-8, with their byte order marks."""


def check_folder(project: RootIndex) -> Iterator[Finding]:
    folder, root = project.store.folder, project.root.path
    if not os.path.lexists(folder):
        yield Finding("folder", NOTE, f"no index yet: {folder} will be made", run_hint("lurcher index", root))
        return
    if not folder.is_dir():
        yield Finding("folder", PROBLEM, f"{folder} is not a folder", f"remove it: rm {shlex.quote(str(folder))}")
        return
    names = sorted(os.listdir(folder))
    findings = [*_marks(folder, root, names), *_room(folder), *_lock(folder), *_rest(folder, root, names)]
    yield from findings
    if not any(finding.state == PROBLEM for finding in findings):
        yield Finding("folder", OK, f"{folder} can be written")


def _marks(folder: Path, root: Path, names: list[str]) -> Iterator[Finding]:
    start_over = f"rm -r {shlex.quote(str(folder))}, then {run_hint('lurcher index', root)}"
    if names and FOLDER_TAG not in names:
        message = f"{folder} has no {FOLDER_TAG}: it is not an index folder, or damaged"
        yield Finding("folder", PROBLEM, message, f"if it is an index: {start_over}")
    elif names and _content(folder / FOLDER_TAG) != TAG_TEXT:
        yield Finding("folder", PROBLEM, f"{FOLDER_TAG} is damaged", start_over)
    if FOLDER_TAG in names and ".gitignore" not in names:
        fix = run_hint("lurcher index --rebuild", root)
        yield Finding("folder", PROBLEM, ".gitignore is missing: git will show the index", fix)
    elif ".gitignore" in names and "*" not in _content(folder / ".gitignore").split("\n"):
        fix = f"rm -r {shlex.quote(str(folder / '.gitignore'))}, then {run_hint('lurcher index --rebuild', root)}"
        yield Finding("folder", PROBLEM, ".gitignore is damaged: git will show the index", fix)


def _content(path: Path) -> str:
    """The text of a small regular file, else nothing."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ""
        with path.open("rb") as handle:
            return handle.read(10_000).decode("utf-8", "replace")
    except OSError:
        return ""


def _room(folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.W_OK | os.X_OK) or is_read_only(folder):
        yield Finding("folder", PROBLEM, f"{folder} cannot be written", f"check its permissions, or {_ELSEWHERE}")
        return
    size, free = folder_bytes(folder), shutil.disk_usage(folder).free
    if free < size:
        message = f"{free / 1e6:,.0f} MB are free, too few to rebuild the index of {size / 1e6:,.0f} MB"
        yield Finding("folder", PROBLEM, message, f"make room, or {_ELSEWHERE}")


def _lock(folder: Path) -> Iterator[Finding]:
    path = folder / disk.LOCK_NAME
    if not os.path.lexists(path):
        return
    if not stat.S_ISREG(path.lstat().st_mode):
        message = f"{disk.LOCK_NAME} is not a file: nothing can be written"
        yield Finding("lock", PROBLEM, message, f"rm -r {shlex.quote(str(path))}")
        return
    try:
        pid = disk.find_holder(folder)
    except OSError as error:
        yield Finding("lock", PROBLEM, f"the file system has no locks: {error.strerror}", _ELSEWHERE)
        return
    if pid is None:
        yield Finding("lock", OK, "free")
    else:
        yield Finding("lock", NOTE, f"process {pid} is writing the index" if pid else "another process is writing the index")


def _rest(folder: Path, root: Path, names: list[str]) -> Iterator[Finding]:
    drafts = [name for name in names if name.startswith(".") and name.endswith(".tmp") and not _writer_lives(name)]
    if drafts:
        message = f"left behind by a writer that was killed: {first_few(drafts)}"
        yield Finding("folder", NOTE, message, f"the next update removes them; {run_hint('lurcher index --rebuild', root)}")
    foreign = [name for name in names if name not in _OWN and not name.endswith((".segment", ".vectors", ".tmp"))]
    if foreign:
        yield Finding("folder", NOTE, f"files that do not belong to the index: {first_few(foreign)}")


def _writer_lives(name: str) -> bool:
    """Whether the process whose number is in the name of a temporary file still runs."""
    number = name.removesuffix(".tmp").rpartition(".")[2].partition("-")[0]
    if not number.isdecimal():
        return False
    return is_running(int(number))


# -- the index ---------------------------------------------------------------------------------------------------------


def check_index(project: RootIndex, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """Check the index of a root; again if a writer replaced it meanwhile."""
    yield from _until_at_rest(project, lambda: _check_generation(project, "index", progress, quick=quick))
    yield from _check_scip(project, quick=quick)


def _check_scip(project: RootIndex, *, quick: bool) -> Iterator[Finding]:
    """Check what is kept of SCIP indexes, if there is something."""
    edges, note = open_edges(project)
    try:
        if edges is not None and not quick:
            edges.verify()
    except LurcherError as error:
        note = Degraded(SCIP_NAME, error.message, error.hint)
    if note is not None:
        yield Finding(SCIP_NAME, PROBLEM, note.reason, note.hint)
    elif edges is not None:
        yield Finding(SCIP_NAME, OK, f"edges of {format_count(edges.documents, 'file')}, by {', '.join(edges.about['tools'])}")


def check_history(project: RootIndex, *, quick: bool) -> Iterator[Finding]:
    """Check the index of its history, if there is one."""
    index = HistoryIndex.for_root(project)
    if index.store.folder.is_dir():
        yield from _until_at_rest(index, lambda: _check_generation(index, "history", silent, quick=quick))


def _until_at_rest(index: _AnyIndex, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    findings: list[Finding] = []
    for _ in range(_ATTEMPTS):
        before = index.identity()
        findings = list(check())
        if index.identity() == before or not any(finding.state == PROBLEM for finding in findings):
            yield from findings
            return
    message = "it is being rewritten right now and could not be checked"
    yield Finding(findings[0].check, NOTE, message, "run it again later")


def _check_generation(index: _AnyIndex, check: str, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """Check the generation on disk of an index of any schema: the manifest, every segment, and every file beside them."""
    folder = index.store.folder
    present = sorted(path.name for path in folder.glob("*.segment")) if folder.is_dir() else []
    if not os.path.lexists(folder / NAME):
        if present:
            yield Finding(check, PROBLEM, f"index file {NAME} is missing", _repair_hint(index, NAME))
        elif folder.is_dir() and isinstance(index, RootIndex):
            yield Finding(check, NOTE, "no index yet", run_hint("lurcher index", index.root.path))
        return
    try:
        Container.open(folder / NAME).verify()
        manifest = manifests.read_manifest(folder, index.fingerprint, index.store.format)
    except OutdatedIndex as outdated:
        yield Finding(check, NOTE, f"{outdated.message}: the next query rebuilds it", _repair_hint(index, NAME))
        return
    except (LurcherError, OSError) as error:
        yield _damage(index, check, NAME, error)
        return
    if manifest is None:  # removed just now
        return
    damaged = 0
    for number, name in enumerate(manifest.segments):
        progress("reading the index", number, len(manifest.segments))
        try:
            _check_segment(folder / name, manifest, number, index.store.schema, quick=quick)
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(index, check, name, error)
    kept = sorted(sidecar_files(manifest.vectors))
    for name in (*kept, *manifest.further_files):
        try:
            found = index.store.open_file(name, name.rpartition(".")[2])
            if not quick:
                found.verify()
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(index, check, name, error)
    if not damaged:
        yield from _describe(index, check, manifest, quick=quick)
    present += sorted(path.name for path in folder.glob(f"*.{KIND}"))
    unused = [name for name in present if name not in manifest.segments and name not in kept]
    if unused:
        message = f"segments or vectors that no manifest names: {first_few(unused)}"
        yield Finding(check, NOTE, message, f"the next update removes them; {_repair_hint(index, NAME)}")


def _describe(index: _AnyIndex, check: str, manifest: Manifest | HistoryManifest, *, quick: bool) -> Iterator[Finding]:
    """What a sound generation holds."""
    segments = format_count(len(manifest.segments), "segment")
    if not isinstance(manifest, Manifest):
        try:
            index.read_from_disk()  # the order of its commits is compared with its segments
        except LurcherError as error:
            yield _damage(index, check, NAME, error)
            return
        yield Finding(check, OK, f"{manifest.commits:,} of {format_count(manifest.total, 'commit')} in {segments}")
        return
    assert isinstance(index, RootIndex)
    named = (*manifest.segments, *sidecar_files(manifest.vectors))
    size = sum((index.store.folder / name).stat().st_size for name in named)
    held = "every file opens" if quick else "every byte, table and text is intact"
    message = f"generation {manifest.generation}: {format_count(len(manifest.rows), 'file')} in {segments}"
    yield Finding(check, OK, f"{message}, {size / 1e6:,.1f} MB; {held}")
    linked = linked_entry(index, manifest)
    if linked["bytes"]:
        others = first_few(linked["with"]) or "another index"
        yield Finding(check, OK, f"{linked['bytes'] / 1e6:,.1f} MB of it are shared with {others}")
    yield from _check_grammars_used(index, manifest)


def _check_grammars_used(project: RootIndex, manifest: Manifest) -> Iterator[Finding]:
    """Note files that are chunked by lines although a grammar exists for their language."""
    languages = outdated(manifest.grammars)
    if languages:
        reason = "were read without the grammar that is installed now, or with an older one"
        message = f"{first_few(sorted(languages))} files {reason}: the next query reads them again"
        yield Finding("index", NOTE, message, run_hint("lurcher index", project.root.path))
    found = project.read_from_disk()
    if found is None:
        return
    for note in (*grammar_failure_notes(found[1]), *(() if languages else missing_grammar_notes(found[1]))):
        yield Finding("index", NOTE, note.reason, note.hint)


def _check_segment(
    path: Path, manifest: Manifest | HistoryManifest, number: int, schema: Schema, *, quick: bool
) -> None:
    container = check_segment(Container.open(path), schema)
    files = {row.place: (name, row) for name, row in manifest.rows.items() if row.segment == number} if isinstance(
        manifest, Manifest
    ) else {}
    if files and max(files) >= container.meta["files"]:
        raise container.corrupt("the manifest names files that it does not have")
    if quick:
        for name in schema.tables if schema is not FILES else ():
            read_table(container, name, schema)
        return
    check_bytes(container, path)
    check_content(container, schema)
    if isinstance(manifest, Manifest):
        check_tables(container)
        check_files(container, files)


def _damage(index: _AnyIndex, check: str, name: str, error: LurcherError | OSError) -> Finding:
    message = error.message if isinstance(error, LurcherError) else f"cannot be read: {error.strerror or error}"
    return Finding(check, PROBLEM, message if name in message else f"{name}: {message}", _repair_hint(index, name))


def _repair_hint(index: _AnyIndex, name: str) -> str:
    root, history = (index.root.path, "") if isinstance(index, RootIndex) else (index.top, " --history")
    rebuild = run_hint(f"lurcher index{history} --rebuild", root)
    path = index.store.folder / name
    try:
        regular = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        regular = True
    return rebuild if regular else f"remove {path}, then {rebuild}"


# -- one segment -------------------------------------------------------------------------------------------------------


def check_bytes(container: Container, path: Path) -> None:
    """Check every checksum, and that the name is the digest of the content."""
    container.verify()
    if path.name != f"{container.digest()}.segment":
        raise container.corrupt("its content does not match its name")


def check_content(container: Container, schema: Schema) -> None:
    """Check, for any schema, that every row of every table refers to something that exists, and terms and postings."""
    for name in schema.tables:
        read_table(container, name, schema)
    _check_terms(container)
    for family in schema.families:
        _check_postings(container, family, schema)


def check_tables(container: Container) -> None:
    """Check that every unit and definition belongs to the file that claims it, and lies in it."""
    import numpy as np

    files, units, definitions = (read_table(container, name) for name in ("files", "units", "definitions"))
    for rows, first, count in ((units, "unit", "units"), (definitions, "definition", "definitions")):
        owners = np.repeat(np.arange(len(files)), files[count])
        firsts = np.cumsum(files[count], dtype=np.int64) - files[count]
        if len(owners) != len(rows) or (rows["file"] != owners).any() or (files[first] != firsts)[files[count] > 0].any():
            raise container.corrupt(f"a {first} belongs to another file")
        if len(rows) and ((rows["start"] > rows["end"]).any() or (rows["end"] > files["size"][rows["file"]]).any()):
            raise container.corrupt(f"a {first} is outside of its file")
    for _ in read_imports(container, [True] * len(files)):
        pass
    read_vectors(container)


def _check_terms(container: Container) -> None:
    ends = container.array("term_ends", "<u4").tolist()
    blob = bytes(container.section("terms"))
    terms = [blob[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    if (ends[-1] if ends else 0) != len(blob) or any(a >= b for a, b in pairwise(terms)):
        raise container.corrupt("its terms are not in order")


def _check_postings(container: Container, family: str, schema: Schema) -> None:
    """Check the number of rows and bytes, the widths and the owners of a family of postings, some terms at a time."""
    lists = open_lists(container, family)
    total = len(lists.terms)
    owners = schema.count_owners(container, family)
    for first in range(0, total, _TERMS):
        read_lists(container, family, lists, first, min(first + _TERMS, total), owners)
    if lists.span(0, total)[3] != container.length(f"{family}.data"):
        raise broken_postings(container, family)


def check_files(container: Container, rows: Mapping[int, tuple[str, FileRow]]) -> None:
    """Check that each file of the manifest is there under its path, with the text that was read."""
    segment = Segment(container)
    files = segment.files
    snapshot = Snapshot([segment], 1)
    entries = BloomBuilder()
    for place in range(len(files)):
        text = snapshot.file_text(place)
        if zlib.crc32(text) != int(files["crc"][place]):
            raise container.corrupt(f"the text of {segment.path(place)} fails its checksum")
        entries.add(text)
        named = rows.get(place)
        if named is None:  # replaced since, by a row of another segment
            continue
        path, row = named
        if segment.path(place) != path:
            raise container.corrupt(f"{path} is listed where {segment.path(place)} is")
        if not _is_text_of(text, row.digest):
            raise container.corrupt(f"the text of {path} is not what was read")
    if bytes(container.section("bloom")) != entries.build():
        raise container.corrupt("its Bloom filter does not match its texts")


def _is_text_of(text: bytes, digest: bytes) -> bool:
    """Whether a file with this digest has this text. A text that lost something when it was decoded, or that is from a
    notebook, cannot be compared: then the checksum has to do."""
    if text.startswith(NOTEBOOK) or hashlib.blake2b(text, digest_size=16).digest() == digest:
        return True
    decoded = text.decode("utf-8", "replace")
    if _LOST in decoded:
        return True
    for encoding, mark in _BEFORE_UTF8:
        try:
            if hashlib.blake2b(mark + decoded.encode(encoding), digest_size=16).digest() == digest:
                return True
        except UnicodeEncodeError:
            continue
    return False


# -- libraries --------------------------------------------------------------------------


def check_libraries(project: RootIndex) -> Iterator[Finding]:
    """Check the index of each library: whether it can be read, and is of the installed version."""
    found, unusable = libraries_of(project)
    for note in unusable:
        yield Finding("libraries", NOTE, note.reason, note.hint)
    current = []
    for library in found:
        changed = library.changed()
        if changed is not None:
            yield Finding("libraries", NOTE, changed, library.repair_hint)
        else:
            current.append(f"{library.name} {library.library.version}".strip())
    if current:
        yield Finding("libraries", OK, f"{first_few(current, 10)} as installed")
