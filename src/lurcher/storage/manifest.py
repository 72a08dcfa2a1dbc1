"""The manifest names the live segments and says what each file looked like when it was read.

It is one small container, replaced atomically: a reader sees the old generation or the new one, whole. A file that is not in
the manifest is dead, whatever the segments hold; so there are no separate tombstones to keep in step.
"""

from __future__ import annotations

import os
from _collections_abc import Mapping

from lurcher.errors import CorruptIndex, OutdatedIndex, Template
from lurcher.languages.installed import Used, checked
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, Struct, cached_property, dataclass, field
from lurcher.runtime.paths import exists
from lurcher.sources.signature import Mark, Marks, TreeSignature, paths_in
from lurcher.storage.container import Container
from lurcher.storage.segment import FORMAT
from lurcher.version import VERSION

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.storage.container import Stamp
    from lurcher.storage.sidecar import VectorSidecar

NAME = "manifest"
FOLDER_TAG = "CACHEDIR.TAG"
"""Marks the folder as ours, and for backup programs as not worth keeping."""
_ROW = Struct("<16sQqqQiI")
STAMP_OFFSET, _SEGMENT_OFFSET = 16, 48
"""Where in a row size, times and number of a file begin, and where its segment."""
NO_SEGMENT = -1
ROW_BYTES = _ROW.size
_SIGNATURE_PARTS = ("folders", "files", "git")


class FileRow(NamedTuple):
    """One file of the tree: what it looked like, and where its units are."""

    digest: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    segment: int
    """Position in `Manifest.segments`; NO_SEGMENT for a file that was read and left out."""
    place: int
    """Row in that segment's file table; or position in `SKIP_REASONS`."""


class FileRows(Mapping[str, FileRow]):
    """The rows as a manifest holds them; taken apart only for who asks for one, since a look at the tree needs none."""

    def __init__(self, paths: bytes | memoryview, packed: bytes | memoryview) -> None:
        self.paths, self.packed = paths, packed
        """Names with zeros between, and as many rows."""
        if len(packed) % _ROW.size:
            raise ValueError("broken rows")
        count, leads_out = paths_in(paths, True)
        if len(packed) // _ROW.size != count:
            raise ValueError("it has not as many rows as files")
        if leads_out:
            raise ValueError("a file is outside of the tree")

    @cached_property
    def _all(self) -> dict[str, FileRow]:
        # Row(...) by way of its base class takes half the time.
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
        """Of each row the segment, and its place there."""
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
"""Among the reasons for leaving files out: so many have not been read yet."""
UNREADABLE = "unreadable"
SKIP_REASONS = ("binary", "minified", "oversized", UNREADABLE, "other", "looks-like-a-secret")


@dataclass(frozen=True, slots=True)
class Manifest:
    generation: int
    fingerprint: Mapping[str, Any]
    segments: tuple[str, ...]
    rows: Mapping[str, FileRow]
    skipped: Mapping[str, int]
    """How many files the source left out unread, by reason."""
    checked_ns: int
    """When the tree was last compared, by the clock that is furthest behind; younger time stamps are not believed."""
    settled: frozenset[str] = frozenset()
    """Files whose time stamps are believed although they are younger, since they were read twice, long enough apart."""
    signature: TreeSignature | None = None
    """What the list of files itself depends on."""
    vectors: Mapping[str, VectorSidecar] = field(default_factory=dict)
    """Vectors that lie apart from the segments, by the digest of the model that made them."""
    grammars: Mapping[str, Used] = field(default_factory=dict)
    """Language → the oldest grammar that files were read with."""
    stamps: Mapping[str, Stamp] = field(default_factory=dict, compare=False)
    """Of files that it names, as whoever wrote them left them."""
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each reason in `skipped` a few of the paths."""

    @property
    def is_partial(self) -> bool:
        """Whether files are waiting for a further wave."""
        return self.skipped.get(WAITING, 0) > 0

    def has_skipped(self, reason: str) -> bool:
        """Whether some file was read, or should have been, and left out for that reason."""
        place = SKIP_REASONS.index(reason)
        if not isinstance(self.rows, FileRows):
            return any(row.segment == NO_SEGMENT and row.place == place for row in self.rows.values())
        segments, places = self.rows.locations
        return bool(len(segments)) and bool(((segments == NO_SEGMENT) & (places == place)).any())

    def skip_counts(self) -> dict[str, int]:
        """Everything left out, by reason."""
        counts = dict(self.skipped)
        for row in self.rows.values():
            if row.segment == NO_SEGMENT:
                reason = SKIP_REASONS[row.place]
                counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))


def make_fingerprint(chunk_chars: int, model: str, secrets: bool = False) -> dict[str, Any]:
    """What an index must have in common with us to be used; but for `model`, the digest of the one that was in use then.

    One that does not say whether it holds secrets may hold some, and is made anew.
    """
    return {"format": FORMAT, "version": VERSION, "chunk_chars": chunk_chars, "model": model, "secrets": secrets}


def is_compatible(found: Any, expected: Mapping[str, Any]) -> bool:
    """Whether an index will do. Of another model it has all but vectors: those can be made anew by themselves."""
    return isinstance(found, Mapping) and {**found, "model": expected.get("model")} == expected


def empty_manifest(print_: Mapping[str, Any]) -> Manifest:
    return Manifest(0, print_, (), {}, {}, 0)


def encode_manifest(manifest: Manifest, stamps: Mapping[str, Stamp] | None = None) -> list[bytes | memoryview]:
    paths = sorted(manifest.rows)
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "rows": ("V", b"".join(_ROW.pack(*manifest.rows[path]) for path in paths)),
        "paths": ("u1", "\0".join(paths).encode()),
    }
    meta: dict[str, Any] = {
        "generation": manifest.generation,
        "fingerprint": dict(manifest.fingerprint),
        "segments": list(manifest.segments),
        "skipped": dict(sorted(manifest.skipped.items())),
        "checked_ns": manifest.checked_ns,
    }
    examples = {reason: list(paths) for reason, paths in sorted(manifest.examples.items()) if paths}
    if examples:
        meta["examples"] = examples
    if manifest.settled:
        meta["settled"] = sorted(manifest.settled)
    if manifest.vectors:
        meta["vectors"] = {digest: apart.to_dict() for digest, apart in sorted(manifest.vectors.items())}
    if manifest.grammars:
        meta["grammars"] = {language: list(grammar) for language, grammar in sorted(manifest.grammars.items())}
    kept = {name: list(stamps[name]) for name in sorted(_files_in_use(manifest)) if name in stamps} if stamps else {}
    if kept:
        meta["stamps"] = kept
    if manifest.signature is not None:
        meta["standing"] = _pack_signature(manifest.signature, sections)
    from lurcher.storage.container_writer import encode_container

    return encode_container(sections, meta)


def write_manifest(folder: Path, manifest: Manifest, stamps: Mapping[str, Stamp] | None = None) -> None:
    from lurcher.storage.disk import write_atomically

    write_atomically(folder / NAME, encode_manifest(manifest, stamps))


def _files_in_use(manifest: Manifest) -> set[str]:
    """The files that a manifest names."""
    if not manifest.vectors:
        return set(manifest.segments)
    from lurcher.storage.sidecar import sidecar_files

    return {*manifest.segments, *sidecar_files(manifest.vectors)}


def read_manifest(folder: Path | str, expected: Mapping[str, Any]) -> Manifest | None:
    """The current manifest, or None where there is no index yet."""
    path = os.path.join(folder, NAME)
    if not exists(path):
        return None
    container = Container.open(path)
    try:
        meta = container.meta
        found = meta["fingerprint"]
        if not is_compatible(found, expected):
            raise OutdatedIndex(
                f"the index was made with {describe_difference(found, expected)}", Template("{run index: rebuild}"
            ))
        rows = FileRows(container.section("paths"), container.section("rows"))
        _check_meta(meta, rows)
        settled = meta.get("settled", [])
        if type(settled) is not list or not all(type(path) is str for path in settled):
            raise ValueError("it does not say which files are believed")
        return Manifest(
            meta["generation"], found, tuple(meta["segments"]), rows, meta["skipped"], meta["checked_ns"],
            frozenset(settled), _read_signature(meta, container), _read_vectors(meta), checked(meta.get("grammars", {})),
            _read_stamps(meta), _read_examples(meta),
        )  # fmt: skip
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptIndex(f"the manifest is damaged: {error}", Template("{run index: rebuild}")) from error


def _read_vectors(meta: Mapping[str, Any]) -> Mapping[str, VectorSidecar]:
    if "vectors" not in meta:
        return {}
    from lurcher.storage.sidecar import parse_sidecars  # few indexes have vectors apart from their segments

    return parse_sidecars(meta["vectors"])


def _read_examples(meta: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for reason, paths in dict(meta.get("examples", {})).items():
        if type(paths) is not list or not all(type(path) is str for path in paths):
            raise ValueError("it names no files that were left out")
        found[reason] = tuple(paths)
    return found


def _read_stamps(meta: Mapping[str, Any]) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for name, numbers in dict(meta.get("stamps", {})).items():
        if type(numbers) is not list or len(numbers) != 4 or any(type(number) is not int for number in numbers):
            raise ValueError("a file has a stamp that is none")
        found[name] = tuple(numbers)
    return found


def _pack_signature(signature: TreeSignature, sections: dict[str, tuple[str, bytes | memoryview]]) -> dict[str, Any]:
    """Puts the parts of a standing into sections of their own; returns the rest."""
    for name in _SIGNATURE_PARTS:
        part: Mapping[str, Mark] = getattr(signature, name)
        packed = Marks.of(part)
        sections[f"{name}_paths"] = ("u1", packed.names)
        sections[f"{name}_marks"] = ("V", packed.packed)
    names = ("circumstances", "started_ns", "settled", "index", "tracked")
    return {name: getattr(signature, name) for name in names}


def _read_signature(meta: Mapping[str, Any], container: Container) -> TreeSignature | None:
    """The standing that a manifest holds. It is only ever looked at, but not outside of the tree, except for what git reads."""
    if "standing" not in meta:
        return None
    parts: list[Mapping[str, Mark]] = []
    for name in _SIGNATURE_PARTS:
        part = Marks(container.section(f"{name}_paths"), container.section(f"{name}_marks"))
        if name != "git" and part.leads_out:
            raise ValueError("a folder is outside of the tree")
        parts.append(part if name == "folders" else part.all)
    rest = meta["standing"]
    about, started, settled = rest["circumstances"], rest["started_ns"], rest["settled"]
    index, tracked = rest.get("index", ""), rest.get("tracked", "")
    if any(type(text) is not str for text in (about, index, tracked)) or not _is_time(started) or type(settled) is not bool:
        raise ValueError("it does not say what it depends on")
    return TreeSignature(about, parts[0], parts[1], parts[2], started, settled, index, tracked)


def _check_meta(meta: Mapping[str, Any], rows: FileRows) -> None:
    """Believe nothing that would lead outside of the index folder or of a table."""
    if type(meta["generation"]) is not int or not 1 <= meta["generation"] < 1 << 63:
        raise ValueError("it has no generation")
    if not _is_time(meta["checked_ns"]):
        raise ValueError("it does not say when the tree was looked at")
    if type(meta["segments"]) is not list or not all(map(_is_segment_name, meta["segments"])):
        raise ValueError("it names what is no segment")
    if any(type(name) is not str or type(count) is not int for name, count in dict(meta["skipped"]).items()):
        raise ValueError("it counts what was left out in no numbers")
    segments, places = rows.locations
    if not len(segments):
        return
    if not NO_SEGMENT <= int(segments.min()) <= int(segments.max()) < len(meta["segments"]):
        raise ValueError("a file is in no segment")
    left_out = places[segments == NO_SEGMENT]
    if len(left_out) and int(left_out.max()) >= len(SKIP_REASONS):
        raise ValueError("a file was left out for no reason")


def _is_time(number: object) -> bool:
    """Whether it is a number of nanoseconds that can be counted with."""
    return type(number) is int and -(1 << 62) < number < 1 << 63


def _is_segment_name(name: object) -> bool:
    return isinstance(name, str) and len(name) == 32 and name.endswith(".segment") and not name[:24].strip("0123456789abcdef")


def describe_difference(found: Any, expected: Mapping[str, Any]) -> str:
    if not isinstance(found, Mapping):
        return "another format"
    keys: Iterable[str] = sorted(key for key in {*found, *expected} - {"model"} if found.get(key) != expected.get(key))
    return ", ".join(
        "another folder for its place" if key == "place" else f"{key} {found.get(key)} (now {expected.get(key)})"
        for key in keys
    )
