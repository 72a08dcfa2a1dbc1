"""The terms of a whole project and how common each is, stored in pages by their first characters.

A search fetches only a few files; which forms of a word exist and how rare it is must come from the whole project, or answers
would depend on what else was fetched. A query reads the pages of its terms.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lurcher.lanes.lexical import FIELD_WEIGHTS
from lurcher.sources.roles import VERSIONED, version_of
from lurcher.storage.merge import expand_ranges
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, FILE_FIELDS, FILES, UNIT_FAMILIES, Segment
from lurcher.storage.snapshot import Snapshot
from lurcher.stores import overlaps
from lurcher.stores.overlaps import OverlapCounter, SegmentOverlaps
from lurcher.stores.records import damaged_error, decode, encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PREFIX_LENGTH = 3
"""Terms with the same first characters, so many, are on one page."""
SAMPLE = "sample"
"""The page with vectors of a few units, to estimate which similarities are typical."""
CONTENTS = "contents"
"""The page that lists the others; only writers read it."""
VERSIONS = "versions"
"""The page with the newest version of every path with version folders."""
_TERM_BATCH = 4096


def page_name(term: str) -> str:
    """The page of a term, and of all that begin with the same characters."""
    return "w." + term[:PREFIX_LENGTH].encode("utf-8", "surrogatepass").hex()


@dataclass(slots=True)
class TermStats:
    units: int = 0
    """In how many units the term occurs, or in the name or folders of their file."""
    folders: int = 0
    """In the folder names of how many files."""
    files: int = 0
    """How many files define it or have it as their name."""
    families: int = 0
    """In which families of postings it occurs, one bit each."""


_STATS = struct.Struct("<IIIH")
_FAMILIES_AT = 12
"""The offset of `families` in it."""
_MAX_PREFIXES, _MAX_LOOKUPS = 64, 1000
"""Lookups of a page that are cached: a query looks the same terms up again and again."""


def count_terms(snapshot: Snapshot) -> tuple[dict[bytes, TermStats], OverlapCounter]:
    """Every term of the live files of a local index, and which forms of a word share units."""
    found: dict[bytes, TermStats] = {}
    overlaps = OverlapCounter(snapshot.segments)
    for segment in snapshot.segments:
        shared = overlaps.start(segment)
        for first in range(0, int(segment.meta["terms"]), _TERM_BATCH):
            _count_range(segment, first, min(first + _TERM_BATCH, int(segment.meta["terms"])), found, shared)
        shared.finish()
    return found, overlaps


def _count_range(
    segment: Segment, first: int, last: int, found: dict[bytes, TermStats], shared: SegmentOverlaps
) -> None:
    """Add the counts of the terms [first, last) of a segment."""
    import numpy as np

    many = last - first
    folders, files, families = np.zeros(many, np.int64), np.zeros(many, np.int64), np.zeros(many, np.int64)
    keys: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    holders: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for code, family in enumerate(FAMILIES):
        lists = open_lists(segment.container, family)
        a, b = (int(place) for place in lists.terms.searchsorted(np.array((first, last), lists.terms.dtype)))
        if a == b:
            continue
        rows = read_lists(segment.container, family, lists, a, b, FILES.count_owners(segment.container, family))
        terms, owners, counts = rows.terms.astype(np.int64) - first, rows.owners.astype(np.int64), rows.counts
        if family in FILE_FIELDS:
            of = owners
        else:
            of = segment.tables.units["file"][owners] if family in UNIT_FAMILIES else segment.tables.definitions["file"][owners]
        if segment.live is not None:
            mask = segment.live[of]
            terms, owners, counts, of = terms[mask], owners[mask], counts[mask], of[mask]
        families[np.unique(terms)] |= 1 << code
        if family == "folder":
            folders += np.bincount(terms, minlength=many)
        if family == "stem" or family == "definitions":
            holders.append((terms << 32) | of)
        if FIELD_WEIGHTS.get(family):
            there = counts > 0
            terms, owners = terms[there], owners[there]
            if family in FILE_FIELDS:
                sizes = segment.tables.files["units"][owners].astype(np.int64)
                keys.append((np.repeat(terms, sizes) << 32) | expand_ranges(segment.tables.files["unit"][owners], sizes))
            elif family not in DEFINITION_FIELDS:
                keys.append((terms << 32) | owners)
    files += np.bincount(np.unique(np.concatenate(holders)) >> 32, minlength=many)
    unique = np.unique(np.concatenate(keys))
    units = np.bincount(unique >> 32, minlength=many)
    shared.add(first, last, (unique >> 32) + first, unique & 0xFFFFFFFF)
    for number in np.flatnonzero(families).tolist():
        stats = found.setdefault(segment.term_at(first + number), TermStats())
        stats.units += int(units[number])
        stats.folders += int(folders[number])
        stats.files += int(files[number])
        stats.families |= int(families[number])


def encode_sample(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> bytes:
    return encode(struct.pack("<I", vectors.shape[1]) + scales.astype("<f4").tobytes() + vectors.tobytes())


def decode_sample(page: bytes | None) -> tuple[NDArray[np.int8], NDArray[np.float32]] | None:
    """Quantised vectors and the scales that give them length 1; None where there are none."""
    import numpy as np

    if not page:
        return None
    raw = decode(page, "page")
    dims = int(struct.unpack_from("<I", raw)[0]) if len(raw) >= 4 else 0
    count, rest = divmod(len(raw) - 4, dims + 4)
    if not dims or rest:
        raise damaged_error("page")
    scales = np.frombuffer(raw, "<f4", count, 4)
    return np.frombuffer(raw, "i1", count * dims, 4 + 4 * count).reshape(count, dims), scales


def encode_pages(
    words: Mapping[bytes, TermStats], versions: Mapping[str, int], overlaps: OverlapCounter
) -> Iterator[tuple[str, bytes]]:
    """Every page of a project, with its name."""
    by_page: dict[str, list[bytes]] = {}
    for term in sorted(words):
        if b"\0" not in term:
            by_page.setdefault(page_name(term.decode("utf-8", "surrogatepass")), []).append(term)
    for name, terms in by_page.items():
        numbers = b"".join(
            _STATS.pack(stats.units, stats.folders, stats.files, stats.families) for stats in map(words.__getitem__, terms)
        )
        yield name, encode(struct.pack("<I", len(terms)) + numbers + b"\0" + b"\0".join(terms) + b"\0")
    yield from overlaps.pages()
    if versions:
        yield VERSIONS, encode(json.dumps(dict(sorted(versions.items()))).encode())


def newest_versions(snapshot: Snapshot) -> dict[str, int]:
    """The newest version of every path that has version folders."""
    import numpy as np

    newest: dict[str, int] = {}
    for file in np.flatnonzero(((snapshot.file_roles & VERSIONED) != 0) & snapshot.live_files).tolist():
        found = version_of(snapshot.path(file))
        if found is not None:
            newest[found[0]] = max(newest.get(found[0], 0), found[1])
    return newest


def page_digest(page: bytes) -> str:
    return blake2b(page, digest_size=8).hexdigest()


def encode_contents(digests: Mapping[str, str]) -> bytes:
    return encode(json.dumps(dict(sorted(digests.items()))).encode())


def decode_json(page: bytes | None) -> dict[str, Any]:
    """A page of names and values; empty where there is no page."""
    if not page:
        return {}
    try:
        found = json.loads(decode(page, "page"))
    except (ValueError, RecursionError) as error:
        raise damaged_error("page") from error
    if not isinstance(found, dict):
        raise damaged_error("page")
    return found


class Page:
    """The terms of one page, searched in place."""

    def __init__(self, data: bytes) -> None:
        raw = decode(data, "page")
        if len(raw) < 4:
            raise damaged_error("page")
        self._count = int(struct.unpack_from("<I", raw)[0])
        start = 4 + self._count * _STATS.size
        if start >= len(raw) or raw.count(b"\0", start) != self._count + 1:
            raise damaged_error("page")
        self._raw, self._terms = raw, raw[start:]
        self._lookups: dict[bytes, TermStats | None] = {}
        self._prefixes: dict[tuple[bytes, str | None], list[str]] = {}

    def get(self, term: bytes) -> TermStats | None:
        got = self._lookups
        if term in got:
            return got[term]
        at = self._terms.find(b"\0" + term + b"\0") if term else -1
        found = None if at < 0 else self._stats_at(self._terms.count(b"\0", 0, at))
        if len(got) >= _MAX_LOOKUPS:
            got = self._lookups = {}  # replaced, not emptied: others may be reading it
        got[term] = found
        return found

    def _stats_at(self, number: int) -> TermStats:
        return TermStats(*_STATS.unpack_from(self._raw, 4 + number * _STATS.size))

    def with_prefix(self, prefix: bytes, family: str | None) -> list[str]:
        """Terms with a prefix, or those of a family, sorted. They are next to each other in the page."""
        known = self._prefixes.get((prefix, family))
        if known is None:
            known = self._find_prefix(prefix, family)
            if len(self._prefixes) >= _MAX_PREFIXES:
                self._prefixes = {}  # replaced, not emptied: others may be reading it
            self._prefixes[prefix, family] = known
        return known

    def _find_prefix(self, prefix: bytes, family: str | None) -> list[str]:
        first = self._terms.find(b"\0" + prefix)
        if first < 0 or not prefix:
            return []
        end = self._terms.find(b"\0", self._terms.rfind(b"\0" + prefix) + 1)
        try:
            found = self._terms[first + 1 : end].decode("utf-8", "surrogatepass").split("\0")
        except UnicodeDecodeError as error:
            raise damaged_error("page") from error
        if family is None:
            return found
        byte, bit = divmod(FAMILIES.index(family), 8)
        number = 4 + self._terms.count(b"\0", 0, first) * _STATS.size
        bits = self._raw[number + _FAMILIES_AT + byte : number + len(found) * _STATS.size : _STATS.size]
        return [term for term, here in zip(found, bits, strict=True) if here >> bit & 1]


Families = Mapping[str, "overlaps.Family | None"]
"""What a page of overlaps has."""
Pages = dict[str, "Page | Families | None"]
Fetch = Callable[[Sequence[str]], Mapping[str, bytes]]


class Vocabulary:
    """The terms of one project at one generation, for one query. Pages are loaded when they are needed."""

    def __init__(self, fetch: Fetch, pages: Pages | None = None, *, overlaps: bool = False) -> None:
        """`pages` are those that other queries have loaded already; new ones are added to it. `overlaps`: whether the project
        has pages of them."""
        self._fetch, self._has_overlaps = fetch, overlaps
        self._pages: Pages = {} if pages is None else pages
        self._versions: dict[str, Any] | None = None
        self._missing: set[str] | None = None

    def batch_loads(self) -> _LoadBatch:
        """A context in which missing pages count as empty; they are loaded together at its end."""
        return _LoadBatch(self)

    def load(self, names: Sequence[str]) -> None:
        missing = sorted({name for name in names if name not in self._pages})
        if missing:
            found = self._fetch(missing)
            for name in missing:
                data = found.get(name)
                read = overlaps.decode_page if name.startswith(overlaps.PAGES) else Page
                self._pages[name] = read(data) if data else None

    def _page(self, term: str) -> Page | None:
        found = self._load_page(page_name(term))
        return found if isinstance(found, Page) else None

    def _load_page(self, name: str) -> Page | Families | None:
        if name not in self._pages:
            if self._missing is not None:
                self._missing.add(name)
                return None
            self.load([name])
        return self._pages[name]

    def stats(self, term: str) -> TermStats | None:
        page = self._page(term)
        return None if page is None else page.get(term.encode("utf-8", "surrogatepass"))

    def units_with_any(self, terms: Sequence[str]) -> int | None:
        """In how many units any of some forms of one word occurs; None where the project does not have that."""
        families = {overlaps.family_of(term) for term in terms}
        if not self._has_overlaps or len(families) > 1:
            return None
        family = families.pop()
        page = self._load_page(overlaps.page_name(family))
        total = sum(found.units for term in terms if (found := self.stats(term)) is not None)
        if not isinstance(page, Mapping) or family not in page:
            return total  # no unit has two of them
        known = page[family]
        return None if known is None else total - overlaps.count_shared(known, terms)

    def with_prefix(self, prefix: str, family: str | None, most: int) -> list[str]:
        """Terms with a prefix of at least `PREFIX_LENGTH` characters, sorted."""
        page = self._page(prefix) if len(prefix) >= PREFIX_LENGTH else None
        if page is None:
            return []
        found = page.with_prefix(prefix.encode("utf-8", "surrogatepass"), family)
        return found if family is not None else found[:most]

    def sample(self) -> tuple[NDArray[np.int8], NDArray[np.float32]] | None:
        return decode_sample(self._fetch([SAMPLE]).get(SAMPLE))

    def newest_version(self, place: str) -> int:
        """The newest version of a path with version folders."""
        if self._versions is None:
            self._versions = decode_json(self._fetch([VERSIONS]).get(VERSIONS))
        value = self._versions.get(place, 0)
        return value if type(value) is int else 0


class _LoadBatch:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.complete = False

    def __enter__(self) -> _LoadBatch:
        self._vocabulary._missing = set()
        return self

    def __exit__(self, *error: object) -> None:
        missing, self._vocabulary._missing = self._vocabulary._missing or set(), None
        self.complete = not missing
        if missing:
            self._vocabulary.load(sorted(missing))
