"""A process that writes one generation of a project after the other, until it is killed or has done enough.

    python -m tests.stores.postgres_writer URL PROJECT FILES GENERATIONS

All files of a generation carry its number, in the record and in the page `all`, so that whoever reads can tell whether what he
sees is whole. What a killed one left is taken over where it is of the same generation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from uuid import UUID

import numpy as np

from lurcher.config import Settings
from lurcher.stores.base import Head, Question, Sparse, Store, StoredFile, StoredUnit, store_at

DIMS = 8


def files(count: int, generation: int) -> Iterator[StoredFile]:
    for number in range(count):
        dense = np.zeros(DIMS, np.float32)
        dense[number % DIMS] = 1
        units = tuple(
            StoredUnit(
                1,
                9,
                "f",
                "function",
                f"{generation} {place}",
                "d",
                dense,
                Sparse(np.array([7], np.uint32), np.array([1.0], np.float32)),
            )
            for place in range(3)
        )
        key = str(UUID(int=generation << 32 | number, version=5))
        yield StoredFile(key, f"src/f{number}.py", "python", f"{generation}", ("name",), dense, units, b"%d" % generation)


def write(store: Store, project: str, count: int) -> int:
    """One generation more; which."""
    with store.writing(project, 20):
        before = store.head(project)
        generation = (before.generation if before else 0) + 1
        wanted = {file.key: file for file in files(count, generation)}
        listed = list(store.listing(project))
        left = [item.key for item in listed if item.key in wanted]
        store.adopt(project, left, generation)
        store.put(project, (file for key, file in wanted.items() if key not in set(left)), generation, lambda done: None)
        store.put_pages(project, {"all": b"%d" % generation}, generation)
        store.retire(project, [item.key for item in listed if item.key not in wanted and item.born < generation], generation)
        store.publish(project, Head(generation, "print", "now", "", count, 3 * count, DIMS, {}))
        store.sweep(project, generation)
    return generation


def whole(store: Store, project: str, count: int) -> int:
    """The generation that a reader sees; fails where it is not all of it, or more than that."""
    for _ in range(20):
        head = store.head(project)
        if head is None:
            return 0
        words = Sparse(np.array([7], np.uint32), np.array([1.0], np.float32))
        found = store.candidates(project, head.generation, Question(None, words, depth=6 * count, limit=2 * count))
        records = store.records(project, [item.key for item in found])
        page = store.pages(project, head.generation, ["all"])
        if store.head(project) == head:  # else it was replaced while we looked, and swept
            mark = b"%d" % head.generation
            assert sorted(item.path for item in found) == sorted(f"src/f{number}.py" for number in range(count))
            assert set(records.values()) == {mark} and len(records) == count and page == {"all": mark}
            return head.generation
    raise AssertionError("the project changes faster than it can be read")


def main(url: str, project: str, count: str, generations: str) -> None:
    store = store_at(url, Settings())
    print("ready", flush=True)
    for _ in range(int(generations)):
        print(write(store, project, int(count)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
