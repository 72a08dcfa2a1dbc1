"""A store: one SQLite file on a disk that a small team shares, such as shelf:///srv/lurcher.sqlite.

It compares with everything it keeps, so its candidates are exact; that does for some ten thousand units.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

import numpy as np

from lurcher.config import Settings
from lurcher.errors import IndexLocked, StoreError
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile

TABLES = """
CREATE TABLE IF NOT EXISTS heads (project TEXT PRIMARY KEY, generation INTEGER, head TEXT);
CREATE TABLE IF NOT EXISTS writers (project TEXT PRIMARY KEY, until REAL);
CREATE TABLE IF NOT EXISTS pages (project TEXT, name TEXT, born INTEGER, data BLOB, PRIMARY KEY (project, name, born));
CREATE TABLE IF NOT EXISTS files (project TEXT, key TEXT, path TEXT, language TEXT, digest TEXT, names TEXT, born INTEGER,
    died INTEGER, card BLOB, units TEXT, dense BLOB, sparse BLOB, record BLOB, PRIMARY KEY (project, key));
"""
SEEN = "project = ? AND born <= ? AND (died IS NULL OR died > ?)"
LEASE = 600.0
"""Seconds after which a writer that died is out of the way."""
K = 60.0


def open_store(url: str, settings: Settings) -> "Shelf":
    return Shelf(unquote(url.partition("://")[2]), settings.store.seconds)


class Shelf:
    def __init__(self, path: str, seconds: float) -> None:
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
            self._db.executescript(TABLES)
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be opened: {error}", "check the path of the store") from error

    def _ask(self, sql: str, *values: object) -> list[tuple]:
        try:
            with self._lock:
                return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store failed: {error}", "run: lurcher doctor", passing=True) from error

    # -- who reads ------------------------------------------------------------------------------------------------------

    def projects(self) -> list[str]:
        return [name for (name,) in self._ask("SELECT project FROM heads ORDER BY project")]

    def head(self, project: str) -> Head | None:
        rows = self._ask("SELECT head FROM heads WHERE project = ?", project)
        return Head(**json.loads(rows[0][0])) if rows else None

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        newest = "SELECT data FROM pages WHERE project = ? AND name = ? AND born <= ? ORDER BY born DESC LIMIT 1"
        found = {name: self._ask(newest, project, name, generation) for name in names}
        return {name: rows[0][0] for name, rows in found.items() if rows}

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        found = {key: self._ask("SELECT record FROM files WHERE project = ? AND key = ?", project, key) for key in keys}
        return {key: rows[0][0] for key, rows in found.items() if rows}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        keys = {key for key, _ in wanted}
        rows = {key: self._ask("SELECT units FROM files WHERE project = ? AND key = ?", project, key) for key in keys}
        texts = {key: json.loads(found[0][0]) for key, found in rows.items() if found}
        return {(key, place): texts[key][place] for key, place in wanted if key in texts}

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        columns = "key, path, language, names, card, dense, sparse"
        rows = self._ask(f"SELECT {columns} FROM files WHERE {SEEN} ORDER BY path", project, generation, generation)
        rows = [row for row in rows if _passes(row[1], row[2], question)]
        legs: dict[str, list[tuple[float, int, int]]] = {"dense": [], "card": [], "sparse": [], "names": []}
        for number, (_, _, _, names, card, dense, sparse) in enumerate(rows):
            if question.dense is not None:
                legs["dense"] += [(score, number, i) for i, score in _cosines(dense, question.dense)]
                legs["card"] += [(score, number, -1) for _, score in _cosines(card, question.dense)]
            if question.sparse is not None:
                legs["sparse"] += [(score, number, i) for i, score in enumerate(_products(sparse, question)) if score > 0]
            if set(json.loads(names)) & set(question.names):
                legs["names"].append((1.0, number, -1))
        return _fused(legs, rows, question)

    def state(self) -> dict[str, str]:
        return {"version": f"SQLite {sqlite3.sqlite_version}", "projects": str(len(self.projects()))}

    # -- who writes -----------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, project: str, seconds: float) -> Iterator[None]:
        deadline = time.monotonic() + seconds
        take = "INSERT INTO writers VALUES (?, ?) ON CONFLICT (project) DO UPDATE SET until = excluded.until WHERE until < ?"
        while not self._ask(f"{take} RETURNING project", project, time.time() + LEASE, time.time()):
            if time.monotonic() >= deadline:
                raise IndexLocked(f"somebody else is writing {project}", "wait for it")
            time.sleep(0.05)
        try:
            yield
        finally:
            self._ask("DELETE FROM writers WHERE project = ?", project)

    def listing(self, project: str) -> Iterator[Listed]:
        for row in self._ask("SELECT key, path, digest, born, died FROM files WHERE project = ?", project):
            yield Listed(*row)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        for file in files:
            empty = np.zeros(0, np.float32)
            dense = [unit.dense if unit.dense is not None else empty for unit in file.units]
            sparse = [(unit.sparse.numbers.tolist(), unit.sparse.weights.tolist()) for unit in file.units]
            self._ask(
                f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 13)})", project, file.key, file.path, file.language,
                file.digest, json.dumps(file.names), born, None, _packed([] if file.card is None else [file.card]),
                json.dumps([unit.text for unit in file.units]), _packed(dense), json.dumps(sparse), file.record,
            )  # fmt: skip
            self._ask("UPDATE writers SET until = ? WHERE project = ?", time.time() + LEASE, project)
            done(1)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        for name, data in pages.items():
            self._ask("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", project, name, born, data)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        for key in keys:
            self._ask("UPDATE files SET born = ?, died = NULL WHERE project = ? AND key = ?", born, project, key)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        for key in keys:
            self._ask(
                "UPDATE files SET died = ?1 WHERE project = ?2 AND key = ?3 AND (died IS NULL OR died > ?1)", died, project, key
            )

    def publish(self, project: str, head: Head) -> None:
        told = json.dumps({name: getattr(head, name) for name in Head.__slots__} | {"more": dict(head.more)})
        first = "INSERT INTO heads SELECT ?, ?, ? WHERE ? = 1 ON CONFLICT DO NOTHING RETURNING project"
        later = "UPDATE heads SET generation = ?, head = ? WHERE project = ? AND generation = ? RETURNING project"
        number = head.generation
        if not self._ask(later, number, told, project, number - 1) and not self._ask(first, project, number, told, number):
            raise IndexLocked(f"{project} was written by somebody else meanwhile", "run it again")

    def sweep(self, project: str, generation: int) -> int:
        gone = "DELETE FROM files WHERE project = ? AND (born > ? OR died <= ?) RETURNING key"
        old = (
            "DELETE FROM pages WHERE project = ?1 AND born != (SELECT coalesce(max(born), -1) FROM pages AS seen "
            "WHERE seen.project = ?1 AND seen.name = pages.name AND seen.born <= ?2) RETURNING name"
        )
        return len(self._ask(gone, project, generation, generation)) + len(self._ask(old, project, generation))

    def drop(self, project: str) -> bool:
        found = bool(self._ask("DELETE FROM heads WHERE project = ? RETURNING project", project))
        for table in ("files", "pages", "writers"):
            self._ask(f"DELETE FROM {table} WHERE project = ?", project)
        return found

    def close(self) -> None:
        self._db.close()


def _passes(path: str, language: str, question: Question) -> bool:
    inside = not question.folders or any(path.startswith(f"{folder}/") for folder in question.folders)
    return inside and (not question.languages or language in question.languages)


def _packed(rows: Sequence[np.ndarray]) -> bytes:
    return json.dumps([row.tolist() for row in rows]).encode()


def _cosines(data: bytes, dense: np.ndarray) -> Iterator[tuple[int, float]]:
    """Place and cosine of each unit that has a vector."""
    for place, row in enumerate(json.loads(data)):
        if len(row) == len(dense):
            yield place, float(np.array(row, np.float32) @ dense)


def _products(data: str, question: Question) -> list[float]:
    wanted = dict(zip(question.sparse.numbers.tolist(), question.sparse.weights.tolist(), strict=True))
    return [
        sum(weight * wanted.get(number, 0.0) for number, weight in zip(numbers, weights, strict=True))
        for numbers, weights in json.loads(data)
    ]


def _fused(legs: Mapping[str, list[tuple[float, int, int]]], rows: Sequence[tuple], question: Question) -> list[Candidate]:
    """Reciprocal ranks added up: for each file those of its best unit and of the file as a whole."""
    units: dict[tuple[int, int], float] = {}
    ranks: dict[int, dict[str, int]] = {}
    for leg, found in legs.items():
        for rank, (_, number, place) in enumerate(sorted(found, key=lambda item: (-item[0], *item[1:]))[: question.depth], 1):
            units[number, place] = units.get((number, place), 0.0) + 1 / ((question.rrf or K) + rank)
            ranks.setdefault(number, {}).setdefault(leg, rank)
    scores: dict[int, float] = {}
    for (number, place), score in sorted(units.items(), key=lambda item: -item[0][1]):
        whole = units.get((number, -1), 0.0)
        scores[number] = max(scores.get(number, 0.0), score + whole if place >= 0 else whole)
    best = sorted(scores, key=lambda number: (-scores[number], rows[number][1]))[: question.limit]
    return [Candidate(rows[number][0], rows[number][1], scores[number], ranks[number]) for number in best]
