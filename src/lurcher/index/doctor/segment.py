"""One segment, looked at as closely as can be: what a query takes on trust once the checksums hold is checked as well."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from lurcher.index.bloom import Entries
from lurcher.index.container import Container
from lurcher.index.imports import read_imports
from lurcher.index.manifest import Row
from lurcher.index.mapped import Segment
from lurcher.index.postings import broken, lists_of, read_range
from lurcher.index.reader import Snapshot
from lurcher.index.segment import FAMILIES, definitions_of, files_of, owners_in, units_of
from lurcher.index.vectors import vectors_of

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


def check_tables(container: Container) -> None:
    """Every row of every table leads to what exists, and back."""
    import numpy as np

    files, units, definitions = files_of(container), units_of(container), definitions_of(container)
    for rows, first, count in ((units, "unit", "units"), (definitions, "definition", "definitions")):
        owners = np.repeat(np.arange(len(files)), files[count])
        firsts = np.cumsum(files[count], dtype=np.int64) - files[count]
        if len(owners) != len(rows) or (rows["file"] != owners).any() or (files[first] != firsts)[files[count] > 0].any():
            raise container.corrupt(f"a {first} belongs to another file")
        if len(rows) and ((rows["start"] > rows["end"]).any() or (rows["end"] > files["size"][rows["file"]]).any()):
            raise container.corrupt(f"a {first} lies outside of its file")
    for _ in read_imports(container, [True] * len(files)):
        pass
    _check_terms(container)
    for family in FAMILIES:
        _check_postings(container, family)
    vectors_of(container)


def _check_terms(container: Container) -> None:
    ends = container.array("term_ends", "<u4").tolist()
    blob = bytes(container.section("terms"))
    terms = [blob[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    if (ends[-1] if ends else 0) != len(blob) or any(a >= b for a, b in pairwise(terms)):
        raise container.corrupt("its terms are not in order")


def _check_postings(container: Container, family: str) -> None:
    """As many rows and bytes as there should be, in widths that exist, and no owner beyond the last; some terms at a time."""
    lists = lists_of(container, family)
    total = len(lists.terms)
    owners = owners_in(container, family)
    for first in range(0, total, _TERMS):
        read_range(container, family, lists, first, min(first + _TERMS, total), owners)
    if lists.span(0, total)[3] != container.length(f"{family}.data"):
        raise broken(container, family)


def check_files(container: Container, rows: Mapping[int, tuple[str, Row]]) -> None:
    """Each file that the manifest names is there under its path, with the text that it had when it was read."""
    segment = Segment(container)
    files = segment.files
    snapshot = Snapshot([segment], 1)
    entries = Entries()
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
    if bytes(container.section("bloom")) != entries.filter():
        raise container.corrupt("its filter is not that of its texts")


def _is_text_of(text: bytes, digest: bytes) -> bool:
    """Whether a file with this digest has this text. What decoding lost cannot be told any more: the checksum has to do."""
    if hashlib.blake2b(text, digest_size=16).digest() == digest:
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
