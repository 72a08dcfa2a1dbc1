"""The words of a whole project and how common each is, kept in pages by their first letters.

What a store hands out are a few files; which forms of a word there are and how rare it is must come from the whole project, or
answers would depend on what else was fetched. A question reads the pages of its words.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lurcher.sources.roles import VERSIONED, version_of
from lurcher.storage.merge import expand_ranges
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import DEFINITION_FIELDS, FAMILIES, FILE_FIELDS, UNIT_FAMILIES, count_owners
from lurcher.storage.segment_reader import Segment
from lurcher.storage.snapshot import Snapshot
from lurcher.stores.codec import damaged, opened, sealed
from lurcher.stores.sparse import WEIGHTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PREFIX = 3
"""Letters by which words are sorted into pages."""
SAMPLE = "sample"
"""The page that has the vectors of a few units from all over, where it takes the whole to tell what is near."""
CONTENTS = "contents"
"""The page that says which others there are; only who writes reads it."""
VERSIONS = "versions"
"""The page that has the newest version of every place with version folders."""
_TERMS_AT_ONCE = 4096


def page_of(term: str) -> str:
    """The page that has a word, and all that begin like it."""
    return "w." + term[:PREFIX].encode("utf-8", "surrogatepass").hex()


@dataclass(slots=True)
class Word:
    units: int = 0
    """In how many units a word stands, or in the name or folders of whose file."""
    folders: int = 0
    """In the folders of how many files."""
    files: int = 0
    """How many files define it, or are called so."""
    families: int = 0
    """Where it stands at all, a bit for each family."""


_WORD = struct.Struct("<IIIH")
_FAMILIES_AT = 12
"""Where in it the bits of the families begin."""
_MOST_BEGUN, _MOST_GOT = 64, 1000
"""Of a page what was looked up before, since a question asks for the same words again and again."""


def words_of(snapshot: Snapshot) -> dict[bytes, Word]:
    """Every word of the live files of a local index."""
    found: dict[bytes, Word] = {}
    for segment in snapshot.segments:
        for first in range(0, int(segment.meta["terms"]), _TERMS_AT_ONCE):
            _count(segment, first, min(first + _TERMS_AT_ONCE, int(segment.meta["terms"])), found)
    return found


def _count(segment: Segment, first: int, last: int, found: dict[bytes, Word]) -> None:
    """Adds up the terms [first, last) of a segment."""
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
        rows = read_lists(segment.container, family, lists, a, b, count_owners(segment.container, family))
        terms, owners, counts = rows.terms.astype(np.int64) - first, rows.owners.astype(np.int64), rows.counts
        if family in FILE_FIELDS:
            of = owners
        else:
            of = segment.tables.units["file"][owners] if family in UNIT_FAMILIES else segment.tables.definitions["file"][owners]
        if segment.live is not None:
            kept = segment.live[of]
            terms, owners, counts, of = terms[kept], owners[kept], counts[kept], of[kept]
        families[np.unique(terms)] |= 1 << code
        if family == "folder":
            folders += np.bincount(terms, minlength=many)
        if family == "stem" or family == "definitions":
            holders.append((terms << 32) | of)
        if WEIGHTS.get(family):
            there = counts > 0
            terms, owners = terms[there], owners[there]
            if family in FILE_FIELDS:
                sizes = segment.tables.files["units"][owners].astype(np.int64)
                keys.append((np.repeat(terms, sizes) << 32) | expand_ranges(segment.tables.files["unit"][owners], sizes))
            elif family not in DEFINITION_FIELDS:
                keys.append((terms << 32) | owners)
    files += np.bincount(np.unique(np.concatenate(holders)) >> 32, minlength=many)
    units = np.bincount(np.unique(np.concatenate(keys)) >> 32, minlength=many)
    for number in np.flatnonzero(families).tolist():
        word = found.setdefault(segment.term_at(first + number), Word())
        word.units += int(units[number])
        word.folders += int(folders[number])
        word.files += int(files[number])
        word.families |= int(families[number])


def sample_page(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> bytes:
    return sealed(struct.pack("<I", vectors.shape[1]) + scales.astype("<f4").tobytes() + vectors.tobytes())


def read_sample(page: bytes | None) -> tuple[NDArray[np.int8], NDArray[np.float32]] | None:
    """Vectors and what makes each one long; None where there are none."""
    import numpy as np

    if not page:
        return None
    raw = opened(page, "page")
    dims = int(struct.unpack_from("<I", raw)[0]) if len(raw) >= 4 else 0
    count, rest = divmod(len(raw) - 4, dims + 4)
    if not dims or rest:
        raise damaged("page")
    scales = np.frombuffer(raw, "<f4", count, 4)
    return np.frombuffer(raw, "i1", count * dims, 4 + 4 * count).reshape(count, dims), scales


def pages_of(words: Mapping[bytes, Word], versions: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Every page of a project by its name."""
    by_page: dict[str, list[bytes]] = {}
    for term in sorted(words):
        if b"\0" not in term:
            by_page.setdefault(page_of(term.decode("utf-8", "surrogatepass")), []).append(term)
    for name, terms in by_page.items():
        numbers = b"".join(
            _WORD.pack(word.units, word.folders, word.files, word.families) for word in map(words.__getitem__, terms)
        )
        yield name, sealed(struct.pack("<I", len(terms)) + numbers + b"\0" + b"\0".join(terms) + b"\0")
    if versions:
        yield VERSIONS, sealed(json.dumps(dict(sorted(versions.items()))).encode())


def versions_of(snapshot: Snapshot) -> dict[str, int]:
    """The newest version of every place that has version folders."""
    import numpy as np

    newest: dict[str, int] = {}
    for file in np.flatnonzero(((snapshot.file_roles & VERSIONED) != 0) & snapshot.live_files).tolist():
        found = version_of(snapshot.path(file))
        if found is not None:
            newest[found[0]] = max(newest.get(found[0], 0), found[1])
    return newest


def digest_of(page: bytes) -> str:
    return blake2b(page, digest_size=8).hexdigest()


def contents_page(digests: Mapping[str, str]) -> bytes:
    return sealed(json.dumps(dict(sorted(digests.items()))).encode())


def read_json(page: bytes | None) -> dict[str, Any]:
    """What a page of names and values says; nothing where there is none."""
    if not page:
        return {}
    try:
        found = json.loads(opened(page, "page"))
    except (ValueError, RecursionError) as error:
        raise damaged("page") from error
    if not isinstance(found, dict):
        raise damaged("page")
    return found


class Page:
    """The words of one page, looked up where they lie."""

    def __init__(self, data: bytes) -> None:
        raw = opened(data, "page")
        if len(raw) < 4:
            raise damaged("page")
        self._count = int(struct.unpack_from("<I", raw)[0])
        start = 4 + self._count * _WORD.size
        if start >= len(raw) or raw.count(b"\0", start) != self._count + 1:
            raise damaged("page")
        self._raw, self._terms = raw, raw[start:]
        self._got: dict[bytes, Word | None] = {}
        self._begun: dict[tuple[bytes, str | None], list[str]] = {}

    def get(self, term: bytes) -> Word | None:
        got = self._got
        if term in got:
            return got[term]
        at = self._terms.find(b"\0" + term + b"\0") if term else -1
        found = None if at < 0 else self._word(self._terms.count(b"\0", 0, at))
        if len(got) >= _MOST_GOT:
            got = self._got = {}  # replaced, not emptied: others may be reading it
        got[term] = found
        return found

    def _word(self, number: int) -> Word:
        return Word(*_WORD.unpack_from(self._raw, 4 + number * _WORD.size))

    def beginning(self, prefix: bytes, family: str | None) -> list[str]:
        """Words that begin so, or those of a family, sorted. They lie next to each other, and are taken at once."""
        known = self._begun.get((prefix, family))
        if known is None:
            known = self._beginning(prefix, family)
            if len(self._begun) >= _MOST_BEGUN:
                self._begun = {}  # replaced, not emptied: others may be reading it
            self._begun[prefix, family] = known
        return known

    def _beginning(self, prefix: bytes, family: str | None) -> list[str]:
        first = self._terms.find(b"\0" + prefix)
        if first < 0 or not prefix:
            return []
        end = self._terms.find(b"\0", self._terms.rfind(b"\0" + prefix) + 1)
        try:
            found = self._terms[first + 1 : end].decode("utf-8", "surrogatepass").split("\0")
        except UnicodeDecodeError as error:
            raise damaged("page") from error
        if family is None:
            return found
        byte, bit = divmod(FAMILIES.index(family), 8)
        number = 4 + self._terms.count(b"\0", 0, first) * _WORD.size
        bits = self._raw[number + _FAMILIES_AT + byte : number + len(found) * _WORD.size : _WORD.size]
        return [word for word, here in zip(found, bits, strict=True) if here >> bit & 1]


Fetch = Callable[[Sequence[str]], Mapping[str, bytes]]


class Vocabulary:
    """The words of one project at one generation, for one question. Pages are fetched when they are needed, and kept."""

    def __init__(self, fetch: Fetch, pages: dict[str, Page | None] | None = None) -> None:
        """`pages` are those that other questions have read already."""
        self._fetch = fetch
        self._pages: dict[str, Page | None] = {} if pages is None else pages
        self._versions: dict[str, Any] | None = None
        self._awaited: set[str] | None = None

    def awaiting(self) -> _Awaiting:
        """While it lasts, pages that are missing read as empty and are fetched together at its end."""
        return _Awaiting(self)

    def load(self, names: Sequence[str]) -> None:
        missing = sorted({name for name in names if name not in self._pages})
        if missing:
            found = self._fetch(missing)
            for name in missing:
                data = found.get(name)
                self._pages[name] = Page(data) if data else None

    def _page(self, term: str) -> Page | None:
        name = page_of(term)
        if name not in self._pages:
            if self._awaited is not None:
                self._awaited.add(name)
                return None
            self.load([name])
        return self._pages[name]

    def word(self, term: str) -> Word | None:
        page = self._page(term)
        return None if page is None else page.get(term.encode("utf-8", "surrogatepass"))

    def beginning(self, prefix: str, family: str | None, most: int) -> list[str]:
        """Words that begin with some letters, at least as many as a page goes by; sorted."""
        page = self._page(prefix) if len(prefix) >= PREFIX else None
        if page is None:
            return []
        found = page.beginning(prefix.encode("utf-8", "surrogatepass"), family)
        return found if family is not None else found[:most]

    def sample(self) -> tuple[NDArray[np.int8], NDArray[np.float32]] | None:
        return read_sample(self._fetch([SAMPLE]).get(SAMPLE))

    def newest(self, place: str) -> int:
        """The newest version of a place with version folders."""
        if self._versions is None:
            self._versions = read_json(self._fetch([VERSIONS]).get(VERSIONS))
        value = self._versions.get(place, 0)
        return value if type(value) is int else 0


class _Awaiting:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.complete = False

    def __enter__(self) -> _Awaiting:
        self._vocabulary._awaited = set()
        return self

    def __exit__(self, *error: object) -> None:
        awaited, self._vocabulary._awaited = self._vocabulary._awaited or set(), None
        self.complete = not awaited
        if awaited:
            self._vocabulary.load(sorted(awaited))
