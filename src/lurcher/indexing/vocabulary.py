"""Which repositories of a workspace can answer a question, from a small file about the words of each.

For every stem of a repository's terms the file has a hash of it, how many of its units have it, and in how many of its files
it is in a name, their own or that of a definition, the two in logarithms; about six bytes each. A question opens only
repositories that have a word of it; where those are many, the best by a sum over its words: a word counts by how large a part
of the units and of the names have it, and by how few repositories do. This is CORI (Callan, Lu and Croft, "Searching
distributed collections with inference networks", SIGIR 1995) with names as a second field, and with next to nothing for a
word that a repository merely has: nearly all of them have nearly every word. Such a file belongs to one generation of an
index and can be made again from it at any time.
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

_FORMAT = 2
_COUNT_FAMILIES = ("body", "comments", "symbols", "above", "name", "folder")
_NAME_FAMILIES = {"definitions": "definitions", "types": "definitions", "stem": None, "name": None}
"""The families that make a term a name, with the table of their owners; None: files."""
_STEPS = 8
"""Steps of a count for each doubling."""

# Chosen on 582 questions whose repository is known, in a workspace of 175. It is among the first 12 for 0.961 of the
# questions of a few words and 0.984 of the long ones; CORI as published, which knows no names, has 0.891 and 0.935. The
# optimum is flat.
_UNITS, _UNITS_BY_SIZE = 5.0, 150.0
"""Units with a word at which it counts half, and what the size of a repository, relative to the mean, adds to that."""
_NAMES, _NAMES_BY_SIZE = 1.0, 15.0
"""The same for files with a name that has the word."""
_MIN_BELIEF = 0.05
"""What a word counts that a repository has, however rarely. CORI has 0.4."""
_MIN_RARITY = 0.1
"""What a word counts that all repositories have: how often they do still tells them apart."""
_NAME_WEIGHT = {False: 0.5, True: 1.0}
"""What names count, by whether the question itself is a name."""


class Vocabulary(NamedTuple):
    """The words of one repository."""

    identity: Identity | None
    """Of the manifest that it was made from."""
    units: int
    hashes: memoryview
    counts: memoryview
    names: memoryview

    def look_up(self, key: int) -> tuple[float, float]:
        """About how many units have a word, and how many files a name with it; zeros where the repository does not have it."""
        place = bisect_left(self.hashes, key)
        if place == len(self.hashes) or self.hashes[place] != key:
            return 0.0, 0.0
        return _COUNTS[self.counts[place]], _COUNTS[self.names[place]]


_COUNTS = (0.0, *(2 ** (step / _STEPS) for step in range(255)))
"""The count that a byte stands for."""


def pack_count(count: int) -> int:
    return min(255, 1 + round(_STEPS * log(count, 2))) if count else 0


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
        hashes = file.section("hashes").cast("B").cast("I")
        counts, names = (file.section(name).cast("B") for name in ("counts", "names"))
        if not len(hashes) == len(counts) == len(names):
            return None
        identity = tuple(int(number) for number in meta["identity"])
        return Vocabulary((identity[0], identity[1], identity[2]), meta["units"], hashes, counts, names)
    except (IndexError_, KeyError, TypeError, ValueError, IndexError):
        return None


def write_vocabulary(index: RootIndex, path: Path) -> Vocabulary | None:
    """Make the vocabulary of an index as it is on disk, and keep it in a file if that is possible; None without an index."""
    import numpy as np

    from lurcher.storage.container_writer import encode_container
    from lurcher.storage.postings import open_lists, read_lists

    identity = index.identity()
    found = index.read_from_disk()
    if found is None or identity is None:
        return None
    units = 0
    totals: dict[int, int] = {}
    names: dict[int, int] = {}
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
        hashes = np.array(keys, np.uint64)
        pairs = []
        for family, table in _NAME_FAMILIES.items():
            lists = open_lists(container, family)
            rows = read_lists(container, family, lists, 0, len(lists.terms), int(container.meta[table or "files"]))
            files = rows.owners if table is None else np.array(segment.definitions["file"])[rows.owners]
            pairs.append(hashes[rows.terms] << np.uint64(32) | files.astype(np.uint64))
        for key, count in zip(*np.unique(np.unique(np.concatenate(pairs)) >> np.uint64(32), return_counts=True), strict=True):
            names[int(key)] = names.get(int(key), 0) + int(count)
            totals.setdefault(int(key), 1)
    ordered = sorted(totals)
    sections: dict[str, tuple[str, bytes | memoryview]] = {
        "hashes": ("<u4", np.array(ordered, "<u4").tobytes()),
        "counts": ("u1", bytes([pack_count(totals[key]) for key in ordered])),
        "names": ("u1", bytes([pack_count(names.get(key, 0)) for key in ordered])),
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

    `named` says that the question is a name: then names count more.
    """
    groups = [frozenset((hash_term(term), *map(hash_term, abbreviations(term)))) for term in terms]
    found = {name: [_most(list(map(words.look_up, group))) for group in groups] for name, words in vocabularies.items()}
    able = {name: counts for name, counts in found.items() if any(units for units, _ in counts)}
    rarities = [
        tuple(_rarity(sum(counts[place][field] > 0 for counts in able.values()), len(found)) for field in (0, 1))
        for place in range(len(groups))
    ]
    mean = sum(words.units for words in vocabularies.values()) / max(1, len(found)) or 1.0
    scores = {name: _score(counts, rarities, vocabularies[name].units / mean, named) for name, counts in able.items()}
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return order[:most], len(order)


def _most(counts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if len(counts) == 1:
        return counts[0]
    return max(units for units, _ in counts), max(names for _, names in counts)


def _rarity(having: int, total: int) -> float:
    return _MIN_RARITY + (log((total + 0.5) / having) / log(total + 1.0) if having else 0.0)


def _score(counts: Sequence[tuple[float, float]], rarities: Sequence[tuple[float, ...]], size: float, named: bool) -> float:
    score = 0.0
    for (units, names), (rarity, name_rarity) in zip(counts, rarities, strict=True):
        if units:
            score += rarity * _belief(units, _UNITS + _UNITS_BY_SIZE * size)
        if names:
            score += _NAME_WEIGHT[named] * name_rarity * _belief(names, _NAMES + _NAMES_BY_SIZE * size)
    return score


def _belief(count: float, half: float) -> float:
    return _MIN_BELIEF + (1 - _MIN_BELIEF) * count / (count + half)
