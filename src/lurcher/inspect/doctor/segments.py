"""The index itself: every byte of every file in it, whether its tables lead somewhere, and whether they say the same."""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from lurcher.chunking.notebook import NOTEBOOK
from lurcher.errors import LurcherError, OutdatedIndex
from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, command, few
from lurcher.languages.installed import outdated
from lurcher.runtime.terminal import format_count
from lurcher.storage import manifest as manifests
from lurcher.storage.bloom import BloomBuilder
from lurcher.storage.container import Container
from lurcher.storage.folder import live_rows_by_segment
from lurcher.storage.imports import read_imports
from lurcher.storage.manifest import NAME, FileRow, Manifest
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import FILES, Schema, Segment, check_segment, read_table
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import broken_postings
from lurcher.storage.vectors import KIND, read_vectors, sidecar_files
from lurcher.types import Progress

_ATTEMPTS = 3


def examine(project: RootIndex, progress: Progress, *, quick: bool) -> Iterator[Finding]:
    """A writer may replace what is being looked at: then it is looked at again."""
    for _ in range(_ATTEMPTS):
        before = _identity(project)
        findings = list(_examine(project, progress, quick=quick))
        if _identity(project) == before or not any(finding.state == PROBLEM for finding in findings):
            yield from findings
            return
    yield Finding("index", NOTE, "it is being rewritten right now and could not be checked", "run it again later")


def _identity(project: RootIndex) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(project.store.folder / NAME)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _examine(project: RootIndex, progress: Progress, *, quick: bool) -> Iterator[Finding]:
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
        manifest = manifests.read_manifest(folder, project.fingerprint)
    except OutdatedIndex as outdated:
        yield Finding("index", NOTE, f"{outdated.message}: the next query makes it anew", _mend(project, NAME))
        return
    except (LurcherError, OSError) as error:
        yield _damage(project, NAME, error)
        return
    if manifest is None:  # removed just now
        return
    damaged = 0
    for number, (name, places) in enumerate(zip(manifest.segments, live_rows_by_segment(manifest), strict=True)):
        progress("reading the index", number, len(manifest.segments))
        try:
            _check_segment(folder / name, manifest, number, places, quick=quick)
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(project, name, error)
    kept = sorted(sidecar_files(manifest.vectors))
    for name in kept:
        try:
            found = project.store.open_file(name, KIND)
            if not quick:
                found.verify()
        except (LurcherError, OSError) as error:
            damaged += 1
            yield _damage(project, name, error)
    if not damaged:
        size = sum((folder / name).stat().st_size for name in (*manifest.segments, *kept))
        held = "every file opens" if quick else "every byte, table and text is as it was written"
        files, segments = format_count(len(manifest.rows), "file"), format_count(len(manifest.segments), "segment")
        message = f"generation {manifest.generation}: {files} in {segments}"
        yield Finding("index", OK, f"{message}, {size / 1e6:,.1f} MB; {held}")
        yield from _grammars(project, manifest)
    present += sorted(path.name for path in folder.glob(f"*.{KIND}"))
    unused = [name for name in present if name not in manifest.segments and name not in kept]
    if unused:
        message = f"segments or vectors that no manifest names: {few(unused)}"
        yield Finding("index", NOTE, message, f"the next update removes them; {_mend(project, NAME)}")


def _grammars(project: RootIndex, manifest: Manifest) -> Iterator[Finding]:
    """Files that are cut by lines although there is, or could be, a grammar for them."""
    languages = outdated(manifest.grammars)
    if languages:
        message = f"{few(sorted(languages))} files were read without the grammar that is installed now, or with an older one"
        yield Finding("index", NOTE, f"{message}: the next query reads them again", command("lurcher index", project.root.path))
    found = project.read_from_disk()
    if found is None:
        return
    for note in (*grammar_failure_notes(found[1]), *(() if languages else missing_grammar_notes(found[1]))):
        yield Finding("index", NOTE, note.reason, note.hint)


def _check_segment(path: Path, manifest: Manifest, number: int, places: list[int], *, quick: bool) -> None:
    container = check_segment(Container.open(path))
    if places and max(places) >= container.meta["files"]:
        raise container.corrupt("the manifest names files that it does not have")
    if quick:
        return
    check_bytes(container, path)
    check_content(container, FILES)
    check_tables(container)
    check_files(container, {row.place: (name, row) for name, row in manifest.rows.items() if row.segment == number})


def _damage(project: RootIndex, name: str, error: LurcherError | OSError) -> Finding:
    message = error.message if isinstance(error, LurcherError) else f"cannot be read: {error.strerror or error}"
    return Finding("index", PROBLEM, message if name in message else f"{name}: {message}", _mend(project, name))


def _mend(project: RootIndex, name: str) -> str:
    rebuild = command("lurcher index --rebuild", project.root.path)
    path = project.store.folder / name
    try:
        regular = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        regular = True
    return rebuild if regular else f"remove {path}, then {rebuild}"

# -- one segment: also what a query trusts once the checksums are right ---------------------------------------------------


_TERMS = 20_000
_LOST = "\N{REPLACEMENT CHARACTER}"
_BEFORE_UTF8 = (("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"),
                ("utf-32-le", b"\xff\xfe\x00\x00"), ("utf-32-be", b"\x00\x00\xfe\xff"), ("cp1252", b""))  # fmt: skip
"""How a file's bytes may have been before its text was kept as UTF-8, with the mark before them."""


def check_bytes(container: Container, path: Path) -> None:
    """Every checksum, and the name, which is made from the content."""
    container.verify()
    if path.name != f"{container.digest()}.segment":
        raise container.corrupt("its content is not what its name says")


def check_content(container: Container, schema: Schema) -> None:
    """Every row of every table leads to what exists, terms are in order, and postings lead to rows: for any schema."""
    for name in schema.tables:
        read_table(container, name, schema)
    _check_terms(container)
    for family in schema.families:
        _check_postings(container, family, schema)


def check_tables(container: Container) -> None:
    """Every unit and definition belongs to the file that claims it, and lies in it."""
    import numpy as np

    files, units, definitions = (read_table(container, name) for name in ("files", "units", "definitions"))
    for rows, first, count in ((units, "unit", "units"), (definitions, "definition", "definitions")):
        owners = np.repeat(np.arange(len(files)), files[count])
        firsts = np.cumsum(files[count], dtype=np.int64) - files[count]
        if len(owners) != len(rows) or (rows["file"] != owners).any() or (files[first] != firsts)[files[count] > 0].any():
            raise container.corrupt(f"a {first} belongs to another file")
        if len(rows) and ((rows["start"] > rows["end"]).any() or (rows["end"] > files["size"][rows["file"]]).any()):
            raise container.corrupt(f"a {first} lies outside of its file")
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
    """As many rows and bytes as there should be, in widths that exist, and no owner beyond the last; some terms at a time."""
    lists = open_lists(container, family)
    total = len(lists.terms)
    owners = schema.count_owners(container, family)
    for first in range(0, total, _TERMS):
        read_lists(container, family, lists, first, min(first + _TERMS, total), owners)
    if lists.span(0, total)[3] != container.length(f"{family}.data"):
        raise broken_postings(container, family)


def check_files(container: Container, rows: Mapping[int, tuple[str, FileRow]]) -> None:
    """Each file that the manifest names is there under its path, with the text that it had when it was read."""
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
            raise container.corrupt(f"{path} is said to be where {segment.path(place)} is")
        if not _is_text_of(text, row.digest):
            raise container.corrupt(f"the text of {path} is not what was read")
    if bytes(container.section("bloom")) != entries.build():
        raise container.corrupt("its filter is not that of its texts")


def _is_text_of(text: bytes, digest: bytes) -> bool:
    """Whether a file with this digest has this text. What decoding or the reading of a notebook left out is not known any more:
    the checksum has to do."""
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
