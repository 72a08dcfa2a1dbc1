"""The order of commits: children before their parents, otherwise the latest first, as `git rev-list --date-order` has it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora.history.reader import Past


def date_order(past: Past) -> NDArray[np.int64]:
    """The numbers of all live commits in order; ties are decided by hash, so it does not matter how the index grew.

    Where a merge is not indexed, nothing but time tells what came before it.
    """
    import numpy as np

    live = np.flatnonzero(past.live).tolist()
    names = [name for segment in past.segments for name in segment.names()]
    number = {names[i]: i for i in live}
    times = past.committed.tolist()
    parents: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for commit, texts in past_parents(past):
        known = [number[name] for name in texts if name in number]
        if known:
            parents[commit] = known
            for parent in known:
                waiting[parent] = waiting.get(parent, 0) + 1
    ready = [(-times[i], names[i], i) for i in live if i not in waiting]
    heapify(ready)
    found = []
    while ready:
        _, _, commit = heappop(ready)
        found.append(commit)
        for parent in parents.get(commit, ()):
            waiting[parent] -= 1
            if not waiting[parent]:
                heappush(ready, (-times[parent], names[parent], parent))
    if len(found) < len(live):
        # No history of git goes in circles, but a damaged index might.
        found += sorted(set(live).difference(found), key=lambda i: (-times[i], names[i]))
    return np.array(found, np.int64)


def past_parents(past: Past) -> list[tuple[int, list[bytes]]]:
    """For each live commit the hashes of its parents."""
    found = []
    base = 0
    for segment in past.segments:
        blob = bytes(segment.container.section("strings"))
        live = segment.live
        starts, sizes = segment.commits["strings"].tolist(), segment.commits["string_size"].tolist()
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            if live is None or live[i]:
                fields = blob[start : start + size].split(b"\0", 5)
                found.append((base + i, [_name(text) for text in fields[4].split()] if len(fields) > 4 else []))
        base += len(starts)
    return found


def _name(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return b""
