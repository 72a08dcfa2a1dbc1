"""The manifest of a history index: which segments hold it, which of their commits still count, and how far it goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.corpora.history.segment import FORMAT, check_shape
from lurcher.errors import CorruptIndex, OutdatedIndex, Template
from lurcher.sources.git.refs import NOWHERE, Head
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


class Judged(NamedTuple):
    """Where outcomes are kept, of how many commits they are, and by which rules."""

    name: str = ""
    """Empty where there are none."""
    commits: int = 0
    rules: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PastManifest:
    generation: int
    fingerprint: Mapping[str, Any]
    segments: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    """Commits in each segment, live and dead."""
    live: tuple[NDArray[np.bool_] | None, ...] = ()
    """For each segment which commits count; None: all."""
    head: Head = NOWHERE
    """What was being read when this was written."""
    complete: bool = False
    """Whether nothing is missing that could be read."""
    total: int = 0
    """Commits that HEAD leads to."""
    most: int = 0
    """How many commits were wanted at the most; 0: all."""
    losses: tuple[int, int, int] = (0, 0, 0)
    """Commits of which files were missing, these files, and commits of which even the list of files was missing."""
    order: NDArray[np.uint32] | None = None
    """The numbers of the live commits, newest first."""
    vectors: Mapping[str, VectorSidecar] = field(default_factory=dict)
    """Vectors that lie apart from the segments, by the digest of the model that made them."""
    judged: Judged = field(default_factory=Judged)
    """What became of the commits, or of some of them while more are being read."""

    @property
    def commits(self) -> int:
        """Live commits."""
        return sum(size if mask is None else int(mask.sum()) for size, mask in zip(self.sizes, self.live, strict=True))


def fingerprint(model: str, first_parent: bool, merges: bool, diff_bytes: int, secrets: bool = False) -> dict[str, Any]:
    """What a history index must have in common with us to be used; but for `model`, the one that was in use then."""
    return {
        "history": FORMAT, "version": VERSION, "model": model, "first_parent": first_parent, "merges": merges,
        "diff_bytes": diff_bytes, "secrets": secrets,
    }  # fmt: skip


def pack(manifest: PastManifest) -> list[bytes | memoryview]:
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
        "most": manifest.most,
        "losses": list(manifest.losses),
        "ordered": manifest.order is not None,
        "judged": list(manifest.judged),
    }
    if manifest.vectors:
        meta["vectors"] = {digest: apart.to_dict() for digest, apart in sorted(manifest.vectors.items())}
    return encode_container(sections, meta)


def read(folder: Path, expected: Mapping[str, Any]) -> PastManifest | None:
    """The manifest on disk, or None where there is none yet."""
    if not (folder / NAME).exists():
        return None
    container = Container.open(folder / NAME)
    try:
        found = container.meta["fingerprint"]
        if not manifests.is_compatible(found, expected):
            raise OutdatedIndex(f"the history index was made with {manifests.describe_difference(found, expected)}", HINT)
        return _checked(container)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptIndex(f"the manifest of the history is damaged: {error}", HINT) from error


def _checked(container: Container) -> PastManifest:
    """Believe nothing that would lead outside of the index folder or of a table."""
    import numpy as np

    meta = container.meta
    names, sizes, (sha, shallow), losses = meta["segments"], meta["sizes"], meta["head"], meta["losses"]
    if type(meta["generation"]) is not int or meta["generation"] < 1:
        raise ValueError("it has no generation")
    if type(meta["total"]) is not int or type(meta["most"]) is not int:
        raise ValueError("it does not say how many commits there are")
    if type(names) is not list or not all(type(name) is str and _SEGMENT.fullmatch(name) for name in names):
        raise ValueError("it names what is no segment")
    if len(sizes) != len(names) or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError("its segments have no sizes")
    if not _SHA.fullmatch(sha) or type(shallow) is not str or type(meta["complete"]) is not bool:
        raise ValueError("it does not say what it covers")
    if len(losses) != 3 or any(type(count) is not int for count in losses):
        raise ValueError("it does not say what it lacks")
    judged, of, rules = meta["judged"]
    if not _OUTCOMES.fullmatch(judged) or type(of) is not int or type(rules) is not str:
        raise ValueError("it does not say where outcomes are")
    total = sum(sizes)
    live: list[NDArray[np.bool_] | None] = [None] * len(sizes)
    if not meta["whole"]:
        bits = np.unpackbits(container.array("live", "u1"))
        if not total <= len(bits) < total + 8:
            raise ValueError("it does not say which commits count")
        parts = np.split(bits[:total].astype(bool), np.cumsum(sizes)[:-1]) if sizes else []
        live = [None if bool(part.all()) else part for part in parts]
    order = container.array("order", "<u4") if meta["ordered"] else None
    manifest = PastManifest(
        meta["generation"], meta["fingerprint"], tuple(names), tuple(sizes), tuple(live), Head(sha, shallow),
        meta["complete"], meta["total"], meta["most"], (losses[0], losses[1], losses[2]), order,
        checked_vectors(meta.get("vectors", {})), Judged(judged, of, rules),
    )  # fmt: skip
    if order is not None and (len(order) != manifest.commits or (len(order) and int(order.max()) >= total)):
        raise ValueError("it has no order")
    return manifest


class PastStore(IndexFolder):
    """Where a history index lives: a folder of its own inside of the index folder, with its own lock."""

    def check_segment(self, container: Container) -> Container:
        return check_shape(container)

    def read_past(self, expected: Mapping[str, Any]) -> PastManifest | None:
        """The manifest on disk; None where there is none of ours."""
        return read(self.folder, expected) if (self.folder / FOLDER_TAG).exists() else None

    def outcomes(self, name: str) -> Container:
        """The file of that name, in which outcomes are kept."""
        return self.open_file(name, "outcomes")

    def files_in_use(self, manifest: GenerationFiles) -> set[str]:
        judged = manifest.judged.name if isinstance(manifest, PastManifest) else ""
        return super().files_in_use(manifest) | ({judged} if judged else set())

    def find_leftovers(self, manifest: GenerationFiles) -> list[Path]:
        kept = self.files_in_use(manifest)
        old = (path for path in self.folder.glob("*.outcomes") if path.name not in kept)
        return sorted([*super().find_leftovers(manifest), *old])

    def prepare(self) -> None:
        # The folder around it has to be known for an index folder, or what is in it would be taken for somebody else's.
        IndexFolder(str(self.folder.parent), root=self.root).prepare()
        super().prepare()

    def commit_past(self, manifest: PastManifest) -> None:
        self.drop_unused(manifest)
        if self.writable and not self.memory:
            try:
                self.prepare()
                write_atomically(self.folder / NAME, pack(manifest))
                self.remove_leftovers(manifest)
            except OSError as error:
                self.fall_back_to_memory(error)

    def clear_past(self) -> bool:
        """Remove the index, the manifest first; True if there was one. The caller holds the lock."""
        self.memory.clear()
        found = remove_file(self.folder / NAME, must=True)
        if found:
            sync_folder(self.folder)
        return any([remove_file(path) for path in self.find_leftovers(PastManifest(0, {}))]) or found
