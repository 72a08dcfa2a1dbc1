"""Files made up for stores: small vectors, a few words, and records that say which file they are of."""

from __future__ import annotations

import hashlib
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from lurcher.stores.base import Head, Question, Sparse, StoredFile, StoredUnit

DIMS = 8


def vector(seed: str, dims: int = DIMS) -> np.ndarray:
    made = np.random.default_rng(_number(seed, 8)).standard_normal(dims).astype(np.float32)
    return made / np.linalg.norm(made)


def sparse(*words: str) -> Sparse:
    numbers = sorted({_number(word, 4) for word in words})
    return Sparse(np.array(numbers, np.uint32), np.ones(len(numbers), np.float32))


def _number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest(), "big")


def file(
    project: str, path: str, version: int = 1, units: int = 2, *, words: tuple[str, ...] = (), **more: object
) -> StoredFile:
    """A file whose units hold the words `common`, `unit<place>`, their path, and those asked for."""
    dims = int(more.get("dims", DIMS))  # type: ignore[call-overload]
    return StoredFile(
        key=str(uuid5(NAMESPACE_URL, ascii(f"{project}|{path}|{version}"))),
        path=path,
        language=str(more.get("language", "python")),
        digest=f"digest-{version}",
        names=tuple(more.get("names", ())),  # type: ignore[call-overload]
        card=vector(path, dims) if dims else None,
        units=tuple(
            StoredUnit(
                10 * place + 1, 10 * place + 10, f"symbol{place}", "function", f"{path} {version} {place}", f"{path}-{place}",
                vector(f"{path}{place}", dims) if dims else None, sparse("common", f"unit{place}", path, *words),
            )
            for place in range(units)
        ),
        record=ascii(f"{path} {version}").encode(),
    )  # fmt: skip


def head(generation: int, files: int = 0, units: int = 0, **more: str) -> Head:
    return Head(generation, "fingerprint", "2026-11-16T00:00:00Z", "c0ffee", files, units, DIMS, more)


def asking(*words: str, near: str = "", **more: object) -> Question:
    return Question(vector(near) if near else None, sparse(*words) if words else None, **more)  # type: ignore[arg-type]
