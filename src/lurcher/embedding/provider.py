"""What every embedding provider is asked and what it answers with.

A provider is one file of `providers/` (or an entry point in the group `lurcher.embedding.providers`) with

    identity(wanted) -> what tells its vectors from those of other models, found without asking anybody
    connect(wanted)  -> an Embedder

Both raise a LurcherError where they cannot do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lurcher.config import Settings
from lurcher.remote import Deadline
from lurcher.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Identity = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings say, and the folder that the project's own settings may name files of."""

    all: Settings
    root: Path

    @property
    def settings(self) -> EmbeddingSettings:
        return self.all.embedding


class Embedder(Protocol):
    """May be asked from several threads."""

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """One row for each text, of any length but none; all rows have as many numbers."""

    def served(self, deadline: Deadline) -> str:
        """What whoever embeds says of its model; empty where it says nothing."""
