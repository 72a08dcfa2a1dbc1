"""Whether a text occurs anywhere, by the Bloom filters of the segments or by searching the files.

Only whole words count, as with `grep -w`: `user` does not occur in `get_user`; case matters. That it occurs nowhere is certain
only if the index covers the whole tree and is fresh.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.errors import QueryError
from lurcher.indexing.coverage import combine_unread, find_unread, unread_note
from lurcher.inspect import Basis, plain_fields
from lurcher.storage.bloom import hash_text, may_contain
from lurcher.storage.manifest import UNREADABLE, WAITING
from lurcher.storage.segment import UNIT_FIELDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import split, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class ExistsAnswer:
    """Whether a text occurs. Without `certain`, a yes is probable, and a no holds for the files that were read."""

    pattern: str
    exists: bool
    certain: bool
    path: str | None
    """Where it was found, if files were searched."""
    line: int | None
    basis: Basis

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.exists:
            return "yes" if self.certain else "probably"
        return "no" if self.certain else "no, as far as files were read"

    def to_dict(self) -> dict[str, Any]:
        out = plain_fields(self)
        del out["basis"]
        return {**out, **self.basis.to_dict()}


def exists(
    snapshot: Snapshot, pattern: str, exact: bool, index: Basis, labels: Sequence[str] = ("",),
    inside: NDArray[np.bool_] | None = None,
) -> ExistsAnswer:  # fmt: skip
    """`labels` are the path prefixes of the roots; `inside` marks the files to search, if not all."""
    if not pattern.strip():
        raise QueryError("the pattern is empty", "for example: lurcher exists parse_cookie")
    if len(pattern) > MOST_CHARACTERS:
        raise QueryError(f"the pattern has {len(pattern):,} characters", f"a pattern has at most {MOST_CHARACTERS:,}")
    hashes = hash_text(pattern.encode("utf-8", "surrogatepass"))
    possible = {number for number, segment in enumerate(snapshot.segments) if may_contain(segment.bloom, hashes)}
    if possible and not exact and inside is None:  # the filters are about all files
        return ExistsAnswer(pattern, True, False, None, None, index)
    found = next(_find_occurrences(snapshot, pattern, possible, inside), None)
    if found is not None:
        return ExistsAnswer(pattern, True, True, *found, index)
    unread = combine_unread([(label, find_unread(view.manifest)) for label, view in zip(labels, index.views, strict=False)])
    certain = index.index.fresh and not unread
    # Every answer notes files that wait to be indexed or cannot be read; the others are noted here.
    unnoted = {reason: each for reason, each in unread.items() if reason not in (WAITING, UNREADABLE)}
    if unnoted:
        index = index.replace(degraded=(*index.degraded, unread_note(unnoted)))
    return ExistsAnswer(pattern, False, certain, None, None, index)


def _find_occurrences(
    snapshot: Snapshot, pattern: str, possible: set[int], inside: NDArray[np.bool_] | None
) -> Iterator[tuple[str, int]]:
    """Path and line of the first occurrence in each file that has one: files that have all its words come first."""
    data = pattern.encode("utf-8", "surrogatepass")
    before, after = r"(?<!\w)" if _is_word(pattern[0]) else "", r"(?!\w)" if _is_word(pattern[-1]) else ""
    alone = re.compile(before + re.escape(pattern) + after)
    likely = _likely(snapshot, pattern)
    files = [file for file in snapshot.live_paths.values() if snapshot.segment_of(file) in possible]
    files = files if inside is None else [file for file in files if inside[file]]
    for file in sorted(files, key=lambda file: (file not in likely, snapshot.path(file))):
        text = snapshot.file_text(file)
        if data in text:
            match = alone.search(decoded := text.decode("utf-8", "replace"))
            if match is not None:
                yield snapshot.path(file), decoded.count("\n", 0, match.start()) + 1


def _is_word(character: str) -> bool:
    return re.match(r"\w", character) is not None


def _likely(snapshot: Snapshot, pattern: str) -> set[int]:
    """Files that contain every word of the pattern, in any spelling, by the index."""
    found: set[int] | None = None
    for terms in map(split, words(pattern)):
        if terms:
            here: set[int] = set()
            for field in UNIT_FIELDS:
                here.update(snapshot.unit_file[snapshot.postings(field, terms[0])[0]].tolist())
            found = here if found is None else found & here
    return found or set()
