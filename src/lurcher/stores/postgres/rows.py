"""Files as rows: what a batch of them becomes in the tables, within a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from lurcher.stores.base import StoredFile
from lurcher.stores.postgres.connection import Connection

SWEPT_AT_ONCE = 2000


def put_again(connection: Connection, project: int, seen: int, keys: list[UUID], born: int) -> None:
    """Files that are kept: what readers of the generation `seen` see stays as old as it is, the others are born anew."""
    connection.execute(
        "UPDATE files SET died = NULL, born = CASE WHEN born <= %(seen)s AND (died IS NULL OR died > %(seen)s) THEN born "
        "ELSE %(born)s END WHERE project = %(project)s AND key = ANY(%(keys)s)",
        {"seen": seen, "born": born, "project": project, "keys": keys},
    )


def insert(connection: Connection, project: int, files: Mapping[UUID, StoredFile], born: int) -> None:
    if not files:
        return
    cursor = connection.cursor()
    with cursor.copy(
        "COPY files (project, key, path, language, digest, names, units, born) FROM STDIN (FORMAT binary)"
    ) as copy:
        copy.set_types(["int4", "uuid", "text", "text", "text", "text[]", "int4", "int4"])
        for key, file in files.items():
            names = [kept(name) for name in file.names]
            path, language, digest = kept(file.path), kept(file.language), kept(file.digest)
            copy.write_row((project, key, path, language, digest, names, len(file.units), born))
    numbers = dict(
        cursor.execute("SELECT key, no FROM files WHERE project = %s AND key = ANY(%s)", (project, list(files))).fetchall()
    )
    with cursor.copy("COPY records (file, record, card) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "bytea", "bytea"])
        for key, file in files.items():
            copy.write_row((numbers[key], file.record, _halves(file.card)))
    with cursor.copy(
        "COPY units (file, place, start_line, end_line, symbol, kind, digest, text, dense, terms) FROM STDIN (FORMAT binary)"
    ) as copy:
        copy.set_types(["int4"] * 4 + ["text"] * 4 + ["bytea"] * 2)
        for key, file in files.items():
            number = numbers[key]
            for place, unit in enumerate(file.units):
                copy.write_row((
                    number, place, unit.start_line, unit.end_line, kept(unit.symbol), kept(unit.kind), kept(unit.digest),
                    kept(unit.text), _halves(unit.dense), _terms(unit.sparse.numbers, unit.sparse.weights),
                ))  # fmt: skip


def _halves(vector: Any) -> bytes | None:
    """A vector in half the size; one of no length is none."""
    if vector is None:
        return None
    import numpy as np

    halves = np.asarray(vector, np.float32).astype("<f2")
    return halves.tobytes() if np.isfinite(halves).all() and halves.any() else None


def _terms(numbers: Any, weights: Any) -> bytes:
    """Numbers as signed ones of four bytes, then the weights."""
    import numpy as np

    return np.asarray(numbers).astype("<u4").tobytes() + np.asarray(weights).astype("<f4").tobytes()


def sweep(connection: Connection, project: int, generation: int) -> int:
    """Remove some files that nobody sees; how many."""
    rows = connection.execute(
        "SELECT no FROM files WHERE project = %(project)s AND (died <= %(generation)s OR born > %(generation)s) "
        "ORDER BY no LIMIT %(most)s",
        {"project": project, "generation": generation, "most": SWEPT_AT_ONCE},
    )
    gone = [number for (number,) in rows]
    if gone:
        for statement in _SWEEP:
            connection.execute(statement, (gone,))
    return len(gone)


_SWEEP = (
    "DELETE FROM units WHERE file = ANY(%s)",
    "DELETE FROM records WHERE file = ANY(%s)",
    "DELETE FROM vectors WHERE file = ANY(%s)",
    """
    UPDATE segments s SET gone = s.gone + g.count FROM (
        SELECT t.id, count(*) FROM unnest(%s::integer[]) AS w (no) JOIN files f ON f.no = w.no
        JOIN segments t ON t.project = f.project AND w.no > t.low AND w.no <= t.high GROUP BY t.id
    ) AS g WHERE s.id = g.id
    """,
    "DELETE FROM files WHERE no = ANY(%s)",
)

# ----------------------------------------------------------------------------------------------------------------------
# Text as PostgreSQL can hold it: what it cannot, zeros and halves of pairs, stands as letters that nobody uses.


_SPARE = 0x10F000
_TO = {0: chr(_SPARE + 0x800), **{0xD800 + place: chr(_SPARE + place) for place in range(0x800)}}
_FROM = {_SPARE + 0x800: "\0", **{_SPARE + place: chr(0xD800 + place) for place in range(0x800)}}
_FIRST = chr(_SPARE)


def kept(text: str) -> str:
    if "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    return text.translate(_TO)


def given(text: str) -> str:
    """What was kept, as it was."""
    return text if text.isascii() or max(text) < _FIRST else text.translate(_FROM)
