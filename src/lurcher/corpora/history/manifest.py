"""The manifest of a history index, and the folder that holds the index.

The manifest names the segments and the file of outcomes, says which commits are live, and which part of the history is covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.corpora.history.segment import FORMAT, check_shape
from lurcher.errors import CorruptIndex, OutdatedIndex, Template
from lurcher.sources.git.refs import NO_HEAD, Head
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.disk import remove_file, sync_folder, write_atomically
from lurcher.storage.folder import GenerationFiles, IndexFolder
from lurcher.storage.manifest import FOLDER_TAG, NAME
from lurcher.storage.sidecar import VectorSidecar
from lurcher.storage.sidecar import parse_sidecars as checked_vectors
from lurcher.version import VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HINT = Template("{run index: history rebuild}")
_SEGMENT = re.compile(r"[0-9a-f]{24}\.segment")
_OUTCOMES = re.compile(r"(?:[0-9a-f]{24}\.outcomes)?")
_SHA = re.compile(r"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?")


class OutcomesFile(NamedTuple):
    """The file that holds the outcomes of commits."""

    name: str = ""
    """Empty if there are no outcomes yet."""
    commits: int = 0
    """Number of commits that it covers."""
    rules: str = ""
    """The rules by which the outcomes were found, as `rules_text` gives them."""


@dataclass(frozen=True, slots=True, eq=False)
class HistoryManifest:
    """What one generation of a history index consists of."""

    generation: int
    fingerprint: Mapping[str, Any]
    segments: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    """Commits in each segment, live and dead."""
    live: tuple[NDArray[np.bool_] | None, ...] = ()
    """For each segment which commits are live; None: all."""
    head: Head = NO_HEAD
    """HEAD when this was written."""
    complete: bool = False
    """Whether every commit that can be read, up to `max_commits`, is indexed."""
    total: int = 0
    """Number of commits reachable from HEAD."""
    max_commits: int = 0
    """The limit that was set; 0: none."""
    losses: tuple[int, int, int] = (0, 0, 0)
    """(commits with missing files, missing files, commits whose list of changed files is missing)."""
    order: NDArray[np.uint32] | None = None
    """The numbers of the live commits, newest first."""
    vectors: Mapping[str, VectorSidecar] = field(default_factory=dict)
    """Vectors in files of their own, by the digest of the model that made them."""
    outcomes: OutcomesFile = field(default_factory=OutcomesFile)
    """The outcomes of all commits, or of some of them while more are being read."""

    @property
    def commits(self) -> int:
        """Number of live commits."""
        return sum(size if mask is None else int(mask.sum()) for size, mask in zip(self.sizes, self.live, strict=True))


def make_fingerprint(model: str, first_parent: bool, merges: bool, diff_bytes: int, secrets: bool = False) -> dict[str, Any]:
    """The settings and versions that an index must match to be used; only `model` may differ."""
    return {
        "history": FORMAT, "version": VERSION, "model": model, "first_parent": first_parent, "merges": merges,
        "diff_bytes": diff_bytes, "secrets": secrets,
    }  # fmt: skip


def pack_manifest(manifest: HistoryManifest) -> list[bytes | memoryview]:
    import numpy as np

    masks = [
        np.ones(size, np.uint8) if mask is None else mask.astype(np.uint8)
        for size, mask in zip(manifest.sizes, manifest.live, strict=True)
    ]
    everything = all(mask is None for mask in manifest.live)
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "live": ("u1", b"" if everything else np.packbits(np.concatenate(masks)).tobytes()),
        "order": ("<u4", b"" if manifest.order is None else manifest.order.astype("<u4").tobytes()),
    }
    meta: dict[str, Any] = {
        "generation": manifest.generation,
        "fingerprint": dict(manifest.fingerprint),
        "segments": list(manifest.segments),
        "sizes": list(manifest.sizes),
        "whole": everything,
        "head": [manifest.head.sha, manifest.head.shallow],
        "complete": manifest.complete,
        "total": manifest.total,
        "most": manifest.max_commits,
        "losses": list(manifest.losses),
        "ordered": manifest.order is not None,
        "judged": list(manifest.outcomes),
    }
    if manifest.vectors:
        meta["vectors"] = {digest: apart.to_dict() for digest, apart in sorted(manifest.vectors.items())}
    return encode_container(sections, meta)


def read_manifest(folder: Path, expected: Mapping[str, Any]) -> HistoryManifest | None:
    """Read the manifest in a folder; None if there is none. Raises if it does not match `expected` or is damaged."""
    if not (folder / NAME).exists():
        return None
    container = Container.open(folder / NAME)
    try:
        found = container.meta["fingerprint"]
        if not manifests.is_compatible(found, expected):
            raise OutdatedIndex(f"the history index was made with {manifests.describe_difference(found, expected)}", HINT)
        return _validate(container)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptIndex(f"the manifest of the history is damaged: {error}", HINT) from error


def _validate(container: Container) -> HistoryManifest:
    """The manifest in a container, with every value checked: no file name or row number may point outside of the index."""
    import numpy as np

    meta = container.meta
    names, sizes, (sha, shallow), losses = meta["segments"], meta["sizes"], meta["head"], meta["losses"]
    if type(meta["generation"]) is not int or meta["generation"] < 1:
        raise ValueError("the generation is invalid")
    if type(meta["total"]) is not int or type(meta["most"]) is not int:
        raise ValueError("the number of commits is invalid")
    if type(names) is not list or not all(type(name) is str and _SEGMENT.fullmatch(name) for name in names):
        raise ValueError("the name of a segment is invalid")
    if len(sizes) != len(names) or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError("the sizes of the segments are invalid")
    if not _SHA.fullmatch(sha) or type(shallow) is not str or type(meta["complete"]) is not bool:
        raise ValueError("HEAD is invalid")
    if len(losses) != 3 or any(type(count) is not int for count in losses):
        raise ValueError("the counts of missing files are invalid")
    outcomes, count, rules = meta["judged"]
    if not _OUTCOMES.fullmatch(outcomes) or type(count) is not int or type(rules) is not str:
        raise ValueError("the file of outcomes is invalid")
    total = sum(sizes)
    live: list[NDArray[np.bool_] | None] = [None] * len(sizes)
    if not meta["whole"]:
        bits = np.unpackbits(container.array("live", "u1"))
        if not total <= len(bits) < total + 8:
            raise ValueError("the list of live commits is invalid")
        parts = np.split(bits[:total].astype(bool), np.cumsum(sizes)[:-1]) if sizes else []
        live = [None if bool(part.all()) else part for part in parts]
    order = container.array("order", "<u4") if meta["ordered"] else None
    manifest = HistoryManifest(
        meta["generation"], meta["fingerprint"], tuple(names), tuple(sizes), tuple(live), Head(sha, shallow),
        meta["complete"], meta["total"], meta["most"], (losses[0], losses[1], losses[2]), order,
        checked_vectors(meta.get("vectors", {})), OutcomesFile(outcomes, count, rules),
    )  # fmt: skip
    if order is not None and (len(order) != manifest.commits or (len(order) and int(order.max()) >= total)):
        raise ValueError("the order of commits is invalid")
    return manifest


class HistoryStore(IndexFolder):
    """The folder of a history index, inside of the index folder, with its own lock."""

    def check_segment(self, container: Container) -> Container:
        return check_shape(container)

    def read_manifest(self, expected: Mapping[str, Any]) -> HistoryManifest | None:
        """The manifest on disk; None if there is no index."""
        return read_manifest(self.folder, expected) if (self.folder / FOLDER_TAG).exists() else None

    def outcomes(self, name: str) -> Container:
        """Open the file of outcomes with that name."""
        return self.open_file(name, "outcomes")

    def files_in_use(self, manifest: GenerationFiles) -> set[str]:
        outcomes = manifest.outcomes.name if isinstance(manifest, HistoryManifest) else ""
        return super().files_in_use(manifest) | ({outcomes} if outcomes else set())

    def find_leftovers(self, manifest: GenerationFiles) -> list[Path]:
        kept = self.files_in_use(manifest)
        old = (path for path in self.folder.glob("*.outcomes") if path.name not in kept)
        return sorted([*super().find_leftovers(manifest), *old])

    def prepare(self) -> None:
        # The parent must be marked as an index folder too, or its content would count as somebody else's files.
        IndexFolder(str(self.folder.parent), root=self.root).prepare()
        super().prepare()

    def commit_manifest(self, manifest: HistoryManifest) -> None:
        """Make a manifest the current one, on disk if the folder is writable, and remove files that it does not name."""
        self.drop_unused(manifest)
        if self.writable and not self.memory:
            try:
                self.prepare()
                write_atomically(self.folder / NAME, pack_manifest(manifest))
                self.remove_leftovers(manifest)
            except OSError as error:
                self.fall_back_to_memory(error)

    def clear_history(self) -> bool:
        """Remove the index, the manifest first; True if there was one. The caller holds the lock."""
        self.memory.clear()
        found = remove_file(self.folder / NAME, must=True)
        if found:
            sync_folder(self.folder)
        return any([remove_file(path) for path in self.find_leftovers(HistoryManifest(0, {}))]) or found
