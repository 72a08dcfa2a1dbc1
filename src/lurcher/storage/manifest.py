"""The manifest: the live segments of a generation, and the state of the source when it was read.

It is one small container that is replaced atomically: a reader sees the old generation or the new one. For a tree of files it
has size and stamps of each; a file that is not in the manifest is dead, whatever the segments hold, so no tombstones are
needed. Other kinds of indexes add a `ManifestFormat` of their own.
"""

from __future__ import annotations

import os
from _collections_abc import Mapping
from collections import namedtuple
from functools import cached_property
from struct import Struct

from lurcher.errors import CorruptIndex, OutdatedIndex, Template
from lurcher.languages import Used, checked
from lurcher.runtime import VERSION
from lurcher.runtime.kernel import native, np
from lurcher.runtime.process import exists
from lurcher.runtime.stdlib import Protocol
from lurcher.sources import Mark, Marks, TreeSignature, paths_in
from lurcher.storage.container import Container
from lurcher.storage.segment import FORMAT
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
    from pathlib import Path
    from typing import Any, TypeVar

    from numpy.typing import NDArray

    from lurcher.storage.container import Stamp
    from lurcher.storage.vectors import VectorSidecar

    M = TypeVar("M")

NAME = "manifest"
FOLDER_TAG = "CACHEDIR.TAG"
"""Marks the folder as an index, and makes backup programs skip it."""
_ROW = Struct("<16sQqqQiI")
STAMP_OFFSET, _SEGMENT_OFFSET = 16, 48
"""Offsets in a row: of size, times and inode, and of the segment."""
NO_SEGMENT = -1
ROW_BYTES = _ROW.size
_SIGNATURE_PARTS = ("folders", "files", "git")


class FileRow(namedtuple("FileRow", "digest size mtime_ns ctime_ns inode segment place")):
    """One file of the tree: digest and stamps when it was read, and where its units are."""

    digest: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    segment: int
    """Position in `Manifest.segments`; NO_SEGMENT for a file that was left out."""
    place: int
    """Row in that segment's file table; for NO_SEGMENT, position in `SKIP_REASONS`."""


class FileRows(Mapping[str, FileRow]):
    """The rows as a manifest holds them, decoded only on access: a check of the tree by the kernel needs none."""

    def __init__(self, paths: bytes | memoryview, packed: bytes | memoryview) -> None:
        self.paths, self.packed = paths, packed
        """Paths separated by zeros, and the packed rows."""
        if len(packed) % _ROW.size:
            raise ValueError("broken rows")
        count, leads_out = paths_in(paths, True)
        if len(packed) // _ROW.size != count:
            raise ValueError("the numbers of rows and files differ")
        if leads_out:
            raise ValueError("a file is outside of the tree")

    @cached_property
    def _all(self) -> dict[str, FileRow]:
        # Calling tuple.__new__ takes half the time of FileRow(…).
        make = tuple.__new__
        return dict(zip(self._names, [make(FileRow, fields) for fields in _ROW.iter_unpack(self.packed)], strict=True))

    @cached_property
    def _names(self) -> list[str]:
        return bytes(self.paths).decode().split("\0") if self.paths else []

    def item_at(self, number: int) -> tuple[str, FileRow]:
        name = self._names[number]
        return name, self._all[name]

    @cached_property
    def locations(self) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        """The segment of each row, and its place there."""
        kernel = native()
        if kernel is None:
            every, first = _ROW.size // 4, _SEGMENT_OFFSET // 4
            return np.frombuffer(self.packed, np.int32)[first::every], np.frombuffer(self.packed, np.uint32)[first + 1 :: every]
        column, size = kernel.column, _ROW.size
        return column(self.packed, _SEGMENT_OFFSET, size, np.int32), column(self.packed, _SEGMENT_OFFSET + 4, size, np.uint32)

    def __getitem__(self, path: str) -> FileRow:
        return self._all[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, path: object) -> bool:
        return path in self._all

    def __bool__(self) -> bool:
        return bool(self.packed)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FileRows):
            return self.paths == other.paths and self.packed == other.packed
        return self._all == other

    __hash__ = None  # type: ignore[assignment]

    def get(self, path: str, default: Any = None) -> Any:
        return self._all.get(path, default)

    def keys(self) -> KeysView[str]:
        return self._all.keys()

    def values(self) -> ValuesView[FileRow]:
        return self._all.values()

    def items(self) -> ItemsView[str, FileRow]:
        return self._all.items()


WAITING = "waiting"
"""Skip reason of files that a first build has not read yet."""
UNREADABLE = "unreadable"
SKIP_REASONS = ("binary", "minified", "oversized", UNREADABLE, "other", "looks-like-a-secret")


class Manifest(Record):
    uncompared = ("stamps",)
    __slots__ = (
        "generation", "fingerprint", "segments", "rows", "skipped", "checked_ns", "settled", "signature", "vectors",
        "grammars", "stamps", "examples",
    )  # fmt: skip

    def __init__(
        self, generation: int, fingerprint: Mapping[str, Any], segments: tuple[str, ...], rows: Mapping[str, FileRow],
        skipped: Mapping[str, int], checked_ns: int, settled: frozenset[str] = frozenset(),
        signature: TreeSignature | None = None, vectors: Mapping[str, VectorSidecar] | None = None,
        grammars: Mapping[str, Used] | None = None, stamps: Mapping[str, Stamp] | None = None,
        examples: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:  # fmt: skip
        self.generation, self.fingerprint, self.segments, self.rows = generation, fingerprint, segments, rows
        self.skipped = skipped
        """Number of files that were left out unread, by reason."""
        self.checked_ns = checked_ns
        """When the tree was last compared, by the slowest clock involved; younger time stamps are not trusted."""
        self.settled = settled
        """Files with younger stamps that are trusted, since they were read twice, long enough apart."""
        self.signature = signature
        """What the list of files depends on: folders, ignore files, git."""
        self.vectors: Mapping[str, VectorSidecar] = {} if vectors is None else vectors
        """Vectors outside of the segments, by the digest of their model."""
        self.grammars: Mapping[str, Used] = {} if grammars is None else grammars
        """Language → the oldest grammar that parsed files of the index."""
        self.stamps: Mapping[str, Stamp] = {} if stamps is None else stamps
        """Stamps of the files of the generation when they were written."""
        self.examples: Mapping[str, tuple[str, ...]] = {} if examples is None else examples
        """A few paths for each reason in `skipped`."""

    @property
    def further_files(self) -> tuple[str, ...]:
        return ()

    @property
    def is_partial(self) -> bool:
        """Whether a first build has not read all files yet."""
        return self.skipped.get(WAITING, 0) > 0

    def has_skipped(self, reason: str) -> bool:
        """Whether a file with a row was left out for that reason."""
        place = SKIP_REASONS.index(reason)
        if not isinstance(self.rows, FileRows):
            return any(row.segment == NO_SEGMENT and row.place == place for row in self.rows.values())
        segments, places = self.rows.locations
        return bool(len(segments)) and bool(((segments == NO_SEGMENT) & (places == place)).any())

    def skip_counts(self) -> dict[str, int]:
        """Number of all files left out, by reason."""
        counts = dict(self.skipped)
        for row in self.rows.values():
            if row.segment == NO_SEGMENT:
                reason = SKIP_REASONS[row.place]
                counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))


def make_fingerprint(chunk_chars: int, model: str, secrets: bool = False) -> dict[str, Any]:
    """What must match for an index to be used, except `model`, the digest of the model in use.

    An index that does not say whether it holds secrets may hold some, and is rebuilt.
    """
    return {"format": FORMAT, "version": VERSION, "chunk_chars": chunk_chars, "model": model, "secrets": secrets}


def is_compatible(found: Any, expected: Mapping[str, Any]) -> bool:
    """Whether an index can be used. One of another model can: its vectors are made again, nothing else."""
    return isinstance(found, Mapping) and {**found, "model": expected.get("model")} == expected


def empty_manifest(print_: Mapping[str, Any]) -> Manifest:
    return Manifest(0, print_, (), {}, {}, 0)


class Common(Record):
    """What all manifests have."""

    __slots__ = ("generation", "fingerprint", "segments", "vectors", "stamps")

    def __init__(
        self, generation: int, fingerprint: Mapping[str, Any], segments: tuple[str, ...], vectors: Mapping[str, VectorSidecar],
        stamps: Mapping[str, Stamp],
    ) -> None:  # fmt: skip
        self.generation, self.fingerprint, self.segments, self.vectors = generation, fingerprint, segments, vectors
        self.stamps = stamps


class AnyManifest(Protocol):
    """A manifest of any kind of index."""

    @property
    def generation(self) -> int: ...
    @property
    def fingerprint(self) -> Mapping[str, Any]: ...
    @property
    def segments(self) -> tuple[str, ...]: ...
    @property
    def vectors(self) -> Mapping[str, VectorSidecar]: ...
    @property
    def stamps(self) -> Mapping[str, Stamp]: ...
    @property
    def further_files(self) -> tuple[str, ...]:
        """Files of the generation besides segments and sidecars."""
    def replace(self: M, **changes: Any) -> M: ...


Sections = dict[str, "tuple[str, bytes | memoryview]"]


class ManifestFormat(Record):
    """What the manifests of one kind of index hold besides what all have."""

    __slots__ = ("stage", "called", "rebuild", "empty", "encode", "decode")

    def __init__(
        self, stage: str, called: str, rebuild: str, empty: Callable[[Mapping[str, Any]], Any],
        encode: Callable[[Any, Sections, dict[str, Any]], None], decode: Callable[[Container, Common], Any],
    ) -> None:  # fmt: skip
        self.stage = stage
        """The stage that notes about the index name."""
        self.called = called
        """What messages call the index."""
        self.rebuild = rebuild
        """The hint how to build it anew."""
        self.empty = empty
        """The manifest of an index without content, from its fingerprint."""
        self.encode = encode
        """Puts the rest of a manifest into sections and the meta entry."""
        self.decode = decode
        """The manifest in a container, with every value checked: no file name or row number may lead out of the index."""


def encode_manifest(
    manifest: AnyManifest, stamps: Mapping[str, Stamp] | None = None, format: ManifestFormat | None = None
) -> list[bytes | memoryview]:
    meta: dict[str, Any] = {
        "generation": manifest.generation,
        "fingerprint": dict(manifest.fingerprint),
        "segments": list(manifest.segments),
    }
    if manifest.vectors:
        meta["vectors"] = {digest: sidecar.to_dict() for digest, sidecar in sorted(manifest.vectors.items())}
    entries = {name: list(stamps[name]) for name in sorted(files_in_use(manifest)) if name in stamps} if stamps else {}
    if entries:
        meta["stamps"] = entries
    sections: Sections = {}
    (format or FILES_FORMAT).encode(manifest, sections, meta)
    from lurcher.storage.container_writer import encode_container

    return encode_container(sections, meta)


def _encode_files(manifest: Manifest, sections: Sections, meta: dict[str, Any]) -> None:
    paths = sorted(manifest.rows)
    sections["rows"] = ("V", b"".join(_ROW.pack(*manifest.rows[path]) for path in paths))
    sections["paths"] = ("u1", "\0".join(paths).encode())
    meta["skipped"] = dict(sorted(manifest.skipped.items()))
    meta["checked_ns"] = manifest.checked_ns
    examples = {reason: list(paths) for reason, paths in sorted(manifest.examples.items()) if paths}
    if examples:
        meta["examples"] = examples
    if manifest.settled:
        meta["settled"] = sorted(manifest.settled)
    if manifest.grammars:
        meta["grammars"] = {language: used.to_list() for language, used in sorted(manifest.grammars.items())}
    if manifest.signature is not None:
        meta["signature"] = _pack_signature(manifest.signature, sections)


def write_manifest(
    folder: Path, manifest: AnyManifest, stamps: Mapping[str, Stamp] | None = None, format: ManifestFormat | None = None
) -> None:
    from lurcher.storage.disk import write_atomically

    write_atomically(folder / NAME, encode_manifest(manifest, stamps, format))


def files_in_use(manifest: AnyManifest) -> set[str]:
    """The names of the files of a generation."""
    names = {*manifest.segments, *manifest.further_files}
    if not manifest.vectors:
        return names
    from lurcher.storage.vectors import sidecar_files

    return names | sidecar_files(manifest.vectors)


def read_manifest(folder: Path | str, expected: Mapping[str, Any], format: ManifestFormat | None = None) -> Any:
    """The manifest in a folder; None where there is no index."""
    path = os.path.join(folder, NAME)
    return parse_manifest(Container.open(path), expected, format) if exists(path) else None


def parse_manifest(container: Container, expected: Mapping[str, Any] | None, format: ManifestFormat | None = None) -> Any:
    """The manifest in a container, which fits `expected`, if given."""
    format = format or FILES_FORMAT
    try:
        meta = container.meta
        found = meta["fingerprint"]
        if expected is not None and not is_compatible(found, expected):
            raise OutdatedIndex(f"the {format.called} was made with {describe_difference(found, expected)}", format.rebuild)
        if type(meta["generation"]) is not int or not 1 <= meta["generation"] < 1 << 63:
            raise ValueError("its generation is not valid")
        if type(meta["segments"]) is not list or not all(map(_is_segment_name, meta["segments"])):
            raise ValueError("a segment has an impossible name")
        common = Common(meta["generation"], found, tuple(meta["segments"]), _read_vectors(meta), _read_stamps(meta))
        return format.decode(container, common)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptIndex(f"the manifest of the {format.called} is damaged: {error}", format.rebuild) from error


def _decode_files(container: Container, common: Common) -> Manifest:
    meta = container.meta
    rows = FileRows(container.section("paths"), container.section("rows"))
    _check_meta(meta, rows)
    settled = meta.get("settled", [])
    if type(settled) is not list or not all(type(path) is str for path in settled):
        raise ValueError("its list of settled files is not valid")
    return Manifest(
        common.generation, common.fingerprint, common.segments, rows, meta["skipped"], meta["checked_ns"], frozenset(settled),
        _read_signature(meta, container), common.vectors, checked(meta.get("grammars", {})), common.stamps,
        _read_examples(meta),
    )  # fmt: skip


FILES_FORMAT = ManifestFormat(
    "index", "index", Template("{run index: rebuild}"), empty_manifest, _encode_files, _decode_files
)


def _read_vectors(meta: Mapping[str, Any]) -> Mapping[str, VectorSidecar]:
    if "vectors" not in meta:
        return {}
    from lurcher.storage.vectors import parse_sidecars  # few indexes have sidecars

    return parse_sidecars(meta["vectors"])


def _read_examples(meta: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for reason, paths in dict(meta.get("examples", {})).items():
        if type(paths) is not list or not all(type(path) is str for path in paths):
            raise ValueError("its examples are not valid")
        found[reason] = tuple(paths)
    return found


def _read_stamps(meta: Mapping[str, Any]) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for name, numbers in dict(meta.get("stamps", {})).items():
        if type(numbers) is not list or len(numbers) != 4 or any(type(number) is not int for number in numbers):
            raise ValueError("a stamp is not valid")
        found[name] = tuple(numbers)
    return found


def _pack_signature(signature: TreeSignature, sections: Sections) -> dict[str, Any]:
    """Put the marks of a signature into sections and return the rest for the meta entry."""
    for name in _SIGNATURE_PARTS:
        part: Mapping[str, Mark] = getattr(signature, name)
        packed = Marks.of(part)
        sections[f"{name}_paths"] = ("u1", packed.names)
        sections[f"{name}_marks"] = ("V", packed.packed)
    names = ("circumstances", "started_ns", "settled", "index", "tracked")
    return {name: getattr(signature, name) for name in names}


def _read_signature(meta: Mapping[str, Any], container: Container) -> TreeSignature | None:
    """The signature in a manifest. Its paths are only used with stat, and lead out of the tree only for files of git."""
    if "signature" not in meta:
        return None
    parts: list[Mapping[str, Mark]] = []
    for name in _SIGNATURE_PARTS:
        part = Marks(container.section(f"{name}_paths"), container.section(f"{name}_marks"))
        if name != "git" and part.leads_out:
            raise ValueError("a folder is outside of the tree")
        parts.append(part if name == "folders" else part.all)
    rest = meta["signature"]
    about, started, settled = rest["circumstances"], rest["started_ns"], rest["settled"]
    index, tracked = rest.get("index", ""), rest.get("tracked", "")
    if any(type(text) is not str for text in (about, index, tracked)) or not _is_time(started) or type(settled) is not bool:
        raise ValueError("its signature is not valid")
    return TreeSignature(about, parts[0], parts[1], parts[2], started, settled, index, tracked)


def _check_meta(meta: Mapping[str, Any], rows: FileRows) -> None:
    """Refuse anything that would lead outside of a table."""
    if not _is_time(meta["checked_ns"]):
        raise ValueError("its time of comparison is not valid")
    if any(type(name) is not str or type(count) is not int for name, count in dict(meta["skipped"]).items()):
        raise ValueError("its numbers of skipped files are not valid")
    segments, places = rows.locations
    if not len(segments):
        return
    if not NO_SEGMENT <= int(segments.min()) <= int(segments.max()) < len(meta["segments"]):
        raise ValueError("a file refers to a missing segment")
    left_out = places[segments == NO_SEGMENT]
    if len(left_out) and int(left_out.max()) >= len(SKIP_REASONS):
        raise ValueError("a file has an unknown skip reason")


def _is_time(number: object) -> bool:
    """Whether it is a plausible number of nanoseconds."""
    return type(number) is int and -(1 << 62) < number < 1 << 63


def _is_segment_name(name: object) -> bool:
    return isinstance(name, str) and len(name) == 32 and name.endswith(".segment") and not name[:24].strip("0123456789abcdef")


def describe_difference(found: Any, expected: Mapping[str, Any]) -> str:
    if not isinstance(found, Mapping) or "format" not in found:
        return "another format"
    keys: Iterable[str] = sorted(key for key in {*found, *expected} - {"model"} if found.get(key) != expected.get(key))
    return ", ".join(
        "another folder for its place" if key == "place" else f"{key} {found.get(key)} (now {expected.get(key)})"
        for key in keys
    )
