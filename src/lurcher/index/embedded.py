"""Vectors by the digests of the texts that they are of: what was embedded once is found again, wherever its text is now."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lurcher.index.apart import KEY_BYTES, Group
from lurcher.index.container import Container
from lurcher.index.described import Described

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Known:
    """Vectors by the digests of their texts."""

    def __init__(self, groups: tuple[Group, ...]) -> None:
        self._groups = groups
        self._containers: list[Container] = []
        self._index: tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]] | None = None

    def add(self, container: Container) -> None:
        self._containers.append(container)
        self._index = None

    def rows(self, keys: NDArray[np.uint64], dims: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The vectors of texts with these digests; zero for those that are not known."""
        import numpy as np

        numbers, scales = np.zeros((len(keys), dims), np.int8), np.zeros(len(keys), np.float32)
        if not self._containers or not len(keys):
            return numbers, scales
        known, rows, lengths = self._sorted(dims)
        if not len(known):
            return numbers, scales
        places = np.minimum(known[:, 0].searchsorted(keys[:, 0]), len(known) - 1)
        same = np.flatnonzero((known[places] == keys).all(axis=1))
        numbers[same], scales[same] = rows[places[same]], lengths[places[same]]
        return numbers, scales

    def _sorted(self, dims: int) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]]:
        import numpy as np

        if self._index is None:
            pairs = [(container, group) for container in self._containers for group in self._groups]
            keys = np.concatenate([container.array(group.keys, "<u8").reshape(-1, 2) for container, group in pairs])
            rows = np.concatenate([container.array(group.numbers, "i1").reshape(-1, dims) for container, group in pairs])
            lengths = np.concatenate([container.array(group.scales, "<f4") for container, group in pairs])
            there = np.flatnonzero(lengths > 0)
            order = there[np.argsort(keys[there, 0], kind="stable")]
            self._index = keys[order], rows[order], lengths[order]
        return self._index


def keys_of(texts: Described) -> NDArray[np.uint64]:
    """The digest of every text that is needed; zero for others."""
    import numpy as np

    needed = range(texts.count) if texts.needed is None else np.flatnonzero(texts.needed).tolist()
    keys = np.zeros((texts.count, 2), np.uint64)
    for number in needed:
        text = texts.text(number).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=KEY_BYTES).digest()
        keys[number] = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    return keys
