"""Which repositories of a workspace can answer a question, from a small file about the words of each.

For every stem of a repository's terms the file has a hash of it and how many of its units have it, in logarithms; about five
bytes each. A question opens only repositories that have a word of it; where those are many, the best by CORI (Callan, Lu and
Croft, "Searching distributed collections with inference networks", SIGIR 1995): a word counts by how many units have it and by
how few repositories do. Such a file belongs to one generation of an index and can be made again from it at any time.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from contextlib import suppress
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from lurcher.errors import IndexError_
from lurcher.storage import disk
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.terms.vocabulary import abbreviations, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lurcher.indexing import Identity
    from lurcher.indexing.root_index import RootIndex

_FORMAT = 1
_COUNT_FAMILIES = ("body", "comments", "symbols", "above", "name", "folder")
_NAME_FAMILIES = ("definitions", "types", "stem")
DEFINED = 0x80
"""Set in the count of a term that is the name of a definition or a file."""
_STEPS = 4
"""Steps of a count for each doubling."""
_PRESENT, _LENGTH = 50.0, 150.0
"""Constants of CORI: units at which a word counts half, and what the size of a repository adds to that."""
_MIN_BELIEF = 0.4
"""What a word counts that a repository has, however rarely, as in CORI."""
_NAME_BONUS = 1.0
"""What it counts more where it is the name of a definition or a file there."""


class Vocabulary(NamedTuple):
    """The words of one repository."""

    identity: Identity | None
    """Of the manifest that it was made from."""
    units: int
    hashes: memoryview
    counts: memoryview

    def look_up(self, key: int) -> tuple[int, bool]:
        """How many units have a word, about, and whether it is a name; 0 where the repository does not have it."""
        place = bisect_left(self.hashes, key)
        if place == len(self.hashes) or self.hashes[place] != key:
            return 0, False
        packed = self.counts[place]
        return max(1, round(2 ** ((packed & ~DEFINED) / _STEPS))), bool(packed & DEFINED)


def hash_term(term: str) -> int:
    return crc32(stem(term).encode("utf-8", "replace"))


def read_vocabulary(path: str) -> Vocabulary | None:
    """The vocabulary in a file; None where there is none that can be used."""
    try:
        return _parse(Container.open(path))
    except (IndexError_, OSError):
        return None


def _parse(file: Container) -> Vocabulary | None:
    try:
        meta = file.meta
        if meta["format"] != _FORMAT or type(meta["units"]) is not int:
            return None
        hashes, counts = file.section("hashes").cast("B").cast("I"), file.section("counts").cast("B")
        if len(hashes) != len(counts):
            return None
        identity = tuple(int(number) for number in meta["identity"])
        return Vocabulary((identity[0], identity[1], identity[2]), meta["units"], hashes, counts)
    except (IndexError_, KeyError, TypeError, ValueError, IndexError):
        return None


def write_vocabulary(index: RootIndex, path: Path) -> Vocabulary | None:
    """Make the vocabulary of an index as it is on disk, and keep it in a file if that is possible; None without an index."""
    import numpy as np

    from lurcher.storage.container_writer import encode_container
    from lurcher.storage.postings import open_lists

    identity = index.identity()
    found = index.read_from_disk()
    if found is None or identity is None:
        return None
    units = 0
    totals: dict[int, int] = {}
    names: set[int] = set()
    for segment in found[1].segments:
        container = segment.container
        units += int(container.meta["units"])
        ends = container.array("term_ends", "<u4").tolist()
        blob = bytes(container.section("terms"))
        keys = [hash_term(blob[a:b].decode("utf-8", "replace")) for a, b in zip([0, *ends], ends, strict=False)]
        most = np.zeros(len(keys), np.int64)
        for family in _COUNT_FAMILIES:
            lists = open_lists(container, family)
            most[lists.terms] = np.maximum(most[lists.terms], lists.counts(0, len(lists.terms)))
        for number in np.flatnonzero(most).tolist():
            totals[keys[number]] = totals.get(keys[number], 0) + int(most[number])
        for family in _NAME_FAMILIES:
            for number in open_lists(container, family).terms.tolist():
                names.add(keys[number])
                totals.setdefault(keys[number], 1)
    ordered = sorted(totals)
    counts = bytes([min(DEFINED - 1, round(_STEPS * log(totals[key], 2))) | DEFINED * (key in names) for key in ordered])
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "hashes": ("<u4", np.array(ordered, "<u4").tobytes()), "counts": ("u1", counts),
    }  # fmt: skip
    pieces = encode_container(sections, {"format": _FORMAT, "identity": list(identity), "units": units})
    with suppress(OSError):  # it only saves time
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write_scratch(path, pieces)
    return _parse(Container(b"".join(pieces), path.name))


def manifest_identity(folder: str) -> Identity | None:
    """What a vocabulary of the index in a folder has to have been made from; None where there is no index."""
    try:
        status = os.stat(os.path.join(folder, manifests.NAME))
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def choose_repositories(
    terms: Iterable[str], vocabularies: Mapping[str, Vocabulary], most: int, *, named: bool
) -> tuple[list[str], int]:
    """The names of the repositories that can contribute, best first and at most so many; and how many there are of them.

    `named` says that the question is a name: then a repository that defines it counts more.
    """
    groups = [frozenset((hash_term(term), *map(hash_term, abbreviations(term)))) for term in terms]
    found: dict[str, list[tuple[int, bool]]] = {
        name: [_best([words.look_up(key) for key in group]) for group in groups] for name, words in vocabularies.items()
    }
    having = [sum(counts[place][0] > 0 for counts in found.values()) for place in range(len(groups))]
    sizes = [words.units for words in vocabularies.values()]
    mean = sum(sizes) / len(sizes) if sizes else 1.0
    scores: dict[str, float] = {}
    for name, counts in found.items():
        if any(count for count, _ in counts):
            scores[name] = _belief(counts, having, len(found), vocabularies[name].units / (mean or 1.0), named)
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return order[:most], len(order)


def _best(counts: Sequence[tuple[int, bool]]) -> tuple[int, bool]:
    return max((count for count, _ in counts), default=0), any(defined for _, defined in counts)


def _belief(counts: Sequence[tuple[int, bool]], having: Sequence[int], total: int, size: float, named: bool) -> float:
    score = 0.0
    for (count, defined), repositories in zip(counts, having, strict=True):
        if count:
            rarity = log((total + 0.5) / repositories) / log(total + 1.0)
            often = count / (count + _PRESENT + _LENGTH * size)
            score += rarity * (_MIN_BELIEF + (1 - _MIN_BELIEF) * often) + often * 0.1 + _NAME_BONUS * (named and defined)
    return score
