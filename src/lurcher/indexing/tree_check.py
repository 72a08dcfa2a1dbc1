"""What a look at the tree found: what answers depend on, and how one that was given without looking reads after it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from lurcher.indexing.root_index import UNCHECKED
from lurcher.types import Degraded, IndexState


@dataclass(frozen=True, slots=True)
class TreeState:
    index: IndexState
    notes: tuple[tuple[Degraded, ...], ...]
    """Of each root."""
    segments: tuple[tuple[str, ...], ...]
    past: Hashable
    """Another value whenever an answer about history could be another one."""
    files: int

    @property
    def tree(self) -> Hashable:
        """Another value whenever an answer about the tree could be another one."""
        return (self.index.generation, self.index.stale_paths, self.segments, self.notes)

    def seen(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        """An answer that was given without looking at the tree, as it would be with this look; None if it is of another
        generation, since then the tree has been looked at again meanwhile."""
        index = answer.get("index")
        if isinstance(index, dict) and index.get("shared"):
            return answer  # out of a shared store, which this look says nothing about
        if not isinstance(index, dict) or index["generation"] != self.index.generation:
            return None
        found = {**answer, "index": {**index, "fresh": self.index.fresh, "stale_paths": self.index.stale_paths}}
        if "degraded" in answer:
            notes = iter(self.notes)
            told: list[dict[str, str]] = []
            for entry in answer["degraded"]:
                told += [note.to_dict() for note in next(notes, ())] if entry == UNCHECKED.to_dict() else [entry]
            found["degraded"] = told
        return found

    def to_dict(self) -> dict[str, Any]:
        return {**self.index.to_dict(), "files": self.files}
