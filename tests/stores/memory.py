"""A store in memory: the plainest one that keeps the contract, which the others are compared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lurcher.config import Settings
from lurcher.errors import IndexLocked
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile

K = 60.0


@dataclass
class Kept:
    file: StoredFile
    born: int
    died: int | None = None

    def seen(self, generation: int) -> bool:
        return self.born <= generation and (self.died is None or self.died > generation)


@dataclass
class Shelf:
    files: dict[str, Kept] = field(default_factory=dict)
    pages: dict[str, dict[int, bytes]] = field(default_factory=dict)
    head: Head | None = None


class MemoryStore:
    def __init__(self) -> None:
        self._shelves: dict[str, Shelf] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.RLock()

    def _shelf(self, project: str) -> Shelf:
        return self._shelves.setdefault(project, Shelf())

    def projects(self) -> list[str]:
        with self._lock:
            return sorted(name for name, shelf in self._shelves.items() if shelf.head is not None)

    def head(self, project: str) -> Head | None:
        with self._lock:
            return self._shelf(project).head

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(project, threading.Lock())
        if not lock.acquire(timeout=max(seconds, 0)):
            raise IndexLocked(f"somebody else is writing {project}", "wait for it")
        try:
            yield
        finally:
            lock.release()

    def listing(self, project: str) -> Iterator[Listed]:
        with self._lock:
            kept = list(self._shelf(project).files.values())
        for item in kept:
            yield Listed(item.file.key, item.file.path, item.file.digest, item.born, item.died)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        for file in files:
            with self._lock:
                self._shelf(project).files[file.key] = Kept(file, born)
            done(1)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        with self._lock:
            for name, data in pages.items():
                self._shelf(project).pages.setdefault(name, {})[born] = data

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        with self._lock:
            files = self._shelf(project).files
            for kept in (files[key] for key in keys if key in files):
                kept.born, kept.died = born, None

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        with self._lock:
            files = self._shelf(project).files
            for kept in (files[key] for key in keys if key in files):
                if kept.died is None or kept.died > died:
                    kept.died = died

    def publish(self, project: str, head: Head) -> None:
        with self._lock:
            shelf = self._shelf(project)
            if (shelf.head.generation if shelf.head else 0) != head.generation - 1:
                raise IndexLocked(f"{project} was written by somebody else meanwhile", "run it again")
            shelf.head = head

    def sweep(self, project: str, generation: int) -> int:
        with self._lock:
            shelf = self._shelf(project)
            gone = [
                key for key, kept in shelf.files.items()
                if kept.born > generation or (kept.died is not None and kept.died <= generation)
            ]  # fmt: skip
            for key in gone:
                del shelf.files[key]
            count = len(gone)
            for versions in shelf.pages.values():
                seen = max((born for born in versions if born <= generation), default=None)
                for born in [born for born in versions if born != seen]:
                    del versions[born]
                    count += 1
            return count

    def drop(self, project: str) -> bool:
        with self._lock:
            return self._shelves.pop(project, Shelf()).head is not None

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        with self._lock:
            found = {}
            for name in names:
                versions = self._shelf(project).pages.get(name, {})
                seen = max((born for born in versions if born <= generation), default=None)
                if seen is not None:
                    found[name] = versions[seen]
            return found

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        with self._lock:
            kept = [item.file for item in self._shelf(project).files.values() if item.seen(generation)]
        files = {file.key: file for file in kept if _passes(file, question)}
        legs: dict[str, list[tuple[str, int]]] = {}
        if question.dense is not None:
            dense = [
                (float(unit.dense @ question.dense), key, i)
                for key, file in files.items() for i, unit in enumerate(file.units) if unit.dense is not None
            ]  # fmt: skip
            legs["dense"] = _best(dense, question.depth)
            cards = [(float(file.card @ question.dense), key, -1) for key, file in files.items() if file.card is not None]
            legs["card"] = _best(cards, question.depth)
        if question.sparse is not None:
            wanted = dict(zip(question.sparse.numbers.tolist(), question.sparse.weights.tolist(), strict=True))
            scored = []
            for key, file in files.items():
                for i, unit in enumerate(file.units):
                    pairs = zip(unit.sparse.numbers.tolist(), unit.sparse.weights.tolist(), strict=True)
                    score = sum(weight * wanted[number] for number, weight in pairs if number in wanted)
                    if score > 0:
                        scored.append((score, key, i))
            legs["sparse"] = _best(scored, question.depth)
        if question.names:
            named = set(question.names)
            found = [(1.0, key, -1) for key, file in files.items() if named & set(file.names)]
            legs["names"] = _best(found, question.depth)
        return _fused(legs, files, K if question.rrf is None else question.rrf, question.limit)

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        with self._lock:
            files = self._shelf(project).files
            return {key: files[key].file.record for key in keys if key in files}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        with self._lock:
            files = self._shelf(project).files
            return {(key, i): files[key].file.units[i].text for key, i in wanted if key in files}

    def state(self) -> dict[str, str]:
        return {"version": "memory", "projects": str(len(self.projects()))}

    def close(self) -> None:
        pass


def _passes(file: StoredFile, question: Question) -> bool:
    if question.languages and file.language not in question.languages:
        return False
    return not question.folders or any(file.path.startswith(folder + "/") for folder in question.folders)


def _best(scored: list[tuple[float, str, int]], depth: int) -> list[tuple[str, int]]:
    return [(key, i) for _, key, i in sorted(scored, key=lambda item: (-item[0], item[1], item[2]))[:depth]]


def _fused(
    legs: Mapping[str, list[tuple[str, int]]], files: Mapping[str, StoredFile], k: float, limit: int
) -> list[Candidate]:
    """The best unit of each file stands for it; what is found of a file as a whole adds to it."""
    units: dict[tuple[str, int], float] = {}
    ranks: dict[str, dict[str, int]] = {}
    for leg, places in legs.items():
        for rank, (key, i) in enumerate(places, 1):
            units[key, i] = units.get((key, i), 0.0) + 1 / (k + rank)
            best = ranks.setdefault(key, {})
            best[leg] = min(best.get(leg, rank), rank)
    scores: dict[str, float] = {}
    for (key, i), score in units.items():
        if i >= 0:
            scores[key] = max(scores.get(key, 0.0), score)
    for (key, i), score in units.items():
        if i < 0:
            scores[key] = scores.get(key, 0.0) + score
    order = sorted(scores, key=lambda key: (-scores[key], files[key].path))[:limit]
    return [Candidate(key, files[key].path, scores[key], ranks[key]) for key in order]


SHARED: dict[str, MemoryStore] = {}
"""Stores by address, so that several engines find the same one."""


def open_store(url: str, settings: Settings) -> MemoryStore:
    return SHARED.setdefault(url, MemoryStore())
