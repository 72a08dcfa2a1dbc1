"""The manifest of a history index: which commits are live, which part of the history is covered, and where the outcomes are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.errors import Template
from lurcher.sources.git.refs import NO_HEAD, Head
from lurcher.storage.container import Container
from lurcher.storage.manifest import Common, ManifestFormat, Sections
from lurcher.storage.segment import FORMAT
from lurcher.storage.sidecar import VectorSidecar
from lurcher.version import VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.storage.container import Stamp

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
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    """Stamps of the files of the generation when they were written."""

    @property
    def further_files(self) -> tuple[str, ...]:
        return (self.outcomes.name,) if self.outcomes.name else ()

    @property
    def commits(self) -> int:
        """Number of live commits."""
        return sum(size if mask is None else int(mask.sum()) for size, mask in zip(self.sizes, self.live, strict=True))


def make_fingerprint(model: str, first_parent: bool, merges: bool, diff_bytes: int, secrets: bool = False) -> dict[str, Any]:
    """The settings and versions that an index must match to be used; only `model` may differ."""
    return {
        "format": FORMAT, "version": VERSION, "model": model, "first_parent": first_parent, "merges": merges,
        "diff_bytes": diff_bytes, "secrets": secrets,
    }  # fmt: skip


def empty_manifest(print_: Mapping[str, Any]) -> HistoryManifest:
    return HistoryManifest(0, print_)


def _encode(manifest: HistoryManifest, sections: Sections, meta: dict[str, Any]) -> None:
    import numpy as np

    masks = [
        np.ones(size, np.uint8) if mask is None else mask.astype(np.uint8)
        for size, mask in zip(manifest.sizes, manifest.live, strict=True)
    ]
    everything = all(mask is None for mask in manifest.live)
    sections["live"] = ("u1", b"" if everything else np.packbits(np.concatenate(masks)).tobytes())
    sections["order"] = ("<u4", b"" if manifest.order is None else manifest.order.astype("<u4").tobytes())
    meta.update({
        "sizes": list(manifest.sizes),
        "whole": everything,
        "head": [manifest.head.sha, manifest.head.shallow],
        "complete": manifest.complete,
        "total": manifest.total,
        "most": manifest.max_commits,
        "losses": list(manifest.losses),
        "ordered": manifest.order is not None,
        "judged": list(manifest.outcomes),
    })  # fmt: skip


def _decode(container: Container, common: Common) -> HistoryManifest:
    import numpy as np

    meta = container.meta
    sizes, (sha, shallow), losses = meta["sizes"], meta["head"], meta["losses"]
    if type(meta["total"]) is not int or type(meta["most"]) is not int:
        raise ValueError("the number of commits is invalid")
    if len(sizes) != len(common.segments) or any(type(size) is not int or size < 0 for size in sizes):
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
        common.generation, common.fingerprint, common.segments, tuple(sizes), tuple(live), Head(sha, shallow),
        meta["complete"], meta["total"], meta["most"], (losses[0], losses[1], losses[2]), order, common.vectors,
        OutcomesFile(outcomes, count, rules), common.stamps,
    )  # fmt: skip
    if order is not None and (len(order) != manifest.commits or (len(order) and int(order.max()) >= total)):
        raise ValueError("the order of commits is invalid")
    return manifest


HISTORY_FORMAT = ManifestFormat(
    "history", "history index", Template("{run index: history rebuild}"), empty_manifest, _encode, _decode
)
