"""Answers that were given already, each good only as long as tree and history bear the stamp they had."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST_BYTES = 32 << 20
MOST_ENTRIES = 4000


class Known:
    """The least recently used go first. One entry per question: an answer of another stamp takes the place of the old one."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_entries: int = MOST_ENTRIES) -> None:
        self._most_bytes, self._most_entries = most_bytes, most_entries
        self._entries: OrderedDict[Hashable, tuple[Hashable, bytes]] = OrderedDict()
        self.bytes = 0
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, question: Hashable, stamp: Hashable) -> bytes | None:
        entry = self._entries.get(question)
        if entry is None or entry[0] != stamp:
            self.misses += 1
            return None
        self._entries.move_to_end(question)
        self.hits += 1
        return entry[1]

    def put(self, question: Hashable, stamp: Hashable, answer: bytes) -> None:
        if len(answer) > self._most_bytes // 8:
            return
        self._forget(question)
        self._entries[question] = (stamp, answer)
        self.bytes += len(answer)
        while self.bytes > self._most_bytes or len(self._entries) > self._most_entries:
            self._forget(next(iter(self._entries)))

    def clear(self) -> None:
        self._entries.clear()
        self.bytes = 0

    def _forget(self, question: Hashable) -> None:
        entry = self._entries.pop(question, None)
        if entry is not None:
            self.bytes -= len(entry[1])
