"""A segment taken back from its container, every part of it found sound, to compare it with what was laid out."""

from __future__ import annotations

import numpy as np

from lurcher.storage.container import Container
from lurcher.storage.postings import open_lists, read_lists
from lurcher.storage.segment import FAMILIES, FILES, check_segment, read_table
from lurcher.storage.segment_writer import SegmentData
from lurcher.storage.vectors import read_vectors
from lurcher.terms.count import Postings


def postings_in(container: Container, family: str) -> Postings:
    lists = open_lists(container, family)
    return read_lists(container, family, lists, 0, len(lists.terms), FILES.count_owners(container, family))


def decode(container: Container) -> SegmentData:
    """The whole segment back in memory, every part of it found sound."""
    tables = {name: read_table(check_segment(container), name) for name in FILES.tables}
    files = tables["files"]
    text = bytes(container.section("text"))
    blob = bytes(container.section("terms"))
    ends = container.array("term_ends", "<u4").tolist()
    starts = [0, *ends][: len(ends)]
    try:
        terms = [blob[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
    except UnicodeDecodeError as error:
        raise container.corrupt("a term is not text") from error
    return SegmentData(
        tables,
        terms,
        {family: postings_in(container, family) for family in FAMILIES},
        {name: bytes(container.section(name)) for name in ("import_texts", "paths", "strings", "occurrences")},
        [text[a : a + n] for a, n in zip(files["text"].astype(np.int64).tolist(), files["size"].tolist(), strict=True)],
        list(container.meta["languages"]),
        read_vectors(container),
        container.meta["model"],
    )
