"""Arranges stored files for searching: postings of terms per segment, and vectors in cells.

A segment covers the files whose numbers lie in a range, and ranges follow each other without gaps. New files become a new
segment, merged with smaller ones before it, so that a query never has to read many; a segment that has lost many files is
built again.

A cell is a region of the vector space: a query compares only the vectors in the cells nearest to it. Centres are found by
k-means over a sample. With `postgres.vectors = hnsw`, pgvector's own index is used instead.

The first half of the file encodes values as PostgreSQL stores them: escaped text, vectors as bytes, and rows for COPY in binary
format, which numpy makes for whole tables without a Python object for each number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import errors, sql

from lurcher.errors import StoreError
from lurcher.stores.postgres.connection import Connection, Server

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray


COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
PART_ENTRIES = 2048
"""The most entries that one row of `postings` has."""
_BIGINT = 20
"""PostgreSQL's number of the type of an entry."""
_BATCH_NUMBERS = 1 << 20
"""Numbers of vectors that are encoded at a time."""


_SPARE = 0x10F000
"""The first code point of a private range that no text uses."""
_ESCAPED = {0: chr(_SPARE + 0x800), **{0xD800 + place: chr(_SPARE + place) for place in range(0x800)}}
_UNESCAPED = {_SPARE + 0x800: "\0", **{_SPARE + place: chr(0xD800 + place) for place in range(0x800)}}


def escape_text(text: str) -> str:
    """Text as PostgreSQL can store it: zeros and lone surrogates become characters of a private range."""
    if "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    return text.translate(_ESCAPED)


def unescape_text(text: str) -> str:
    """The inverse of `escape_text`."""
    return text if text.isascii() or max(text) < chr(_SPARE) else text.translate(_UNESCAPED)


def encode_half(vector: Any) -> bytes | None:
    """A vector in half precision; None for none, or for one of length zero."""
    if vector is None:
        return None
    import numpy as np

    halves = np.asarray(vector, np.float32).astype("<f2")
    return halves.tobytes() if np.isfinite(halves).all() and halves.any() else None


def encode_terms(numbers: Any, weights: Any) -> bytes:
    """A sparse vector: the term numbers as four bytes each, then the weights."""
    import numpy as np

    return np.asarray(numbers).astype("<u4").tobytes() + np.asarray(weights).astype("<f4").tobytes()


class PostingEntries(NamedTuple):
    """Terms of units with their weights."""

    terms: NDArray[np.int32]
    units: NDArray[np.int64]
    """Number of the file · 2^16 + place of the unit in it."""
    weights: NDArray[np.float32]


def encode_postings(entries: PostingEntries, project: int, segment: int) -> Iterator[bytes]:
    """The rows of the table `postings`: entries of each term, the heaviest first, in parts. All weights are positive."""
    import numpy as np

    terms, units, weights = entries
    # One sort key for term and weight: for positive floats the order of the bits is that of the numbers.
    weight_bits = weights.astype(np.float32).view(np.uint32).astype(np.uint64)
    order = np.argsort(
        terms.view(np.uint32).astype(np.uint64) << np.uint64(32) | (np.uint64(0xFFFFFFFF) - weight_bits), kind="stable"
    )
    terms, units, weights = terms[order], units[order], weights[order]
    first = np.flatnonzero(np.diff(terms.astype(np.int64), prepend=np.int64(1) << 40))
    sizes = np.diff(np.append(first, len(terms)))
    scales = weights[first] / np.float32(65535)
    row = np.repeat(np.arange(len(first)), sizes)
    amounts = np.clip(np.rint(weights / scales[row]), 1, 65535).astype(np.int64)
    items = np.empty(len(terms), [("length", ">i4"), ("entry", ">i8")])
    items["length"], items["entry"] = 8, units << 16 | amounts
    place = np.arange(len(terms)) - first[row]
    starts = np.flatnonzero(place % PART_ENTRIES == 0)
    ends = np.append(starts[1:], len(terms))
    counts = ends - starts
    heads = _fields(
        len(starts),
        [
            ("project", ">i4", project), ("term", ">i4", terms[starts]), ("segment", ">i4", segment),
            ("part", ">i4", place[starts] // PART_ENTRIES), ("size", ">i4", counts), ("peak", ">f4", weights[starts]),
            ("scale", ">f4", scales[row[starts]]),
        ],
        [
            ("bytes", ">i4", 20 + 12 * counts), ("ndim", ">i4", 1), ("flags", ">i4", 0), ("type", ">i4", _BIGINT),
            ("count", ">i4", counts), ("lower", ">i4", 1),
        ],
        8,
    )  # fmt: skip
    width = heads.dtype.itemsize
    head, body = memoryview(heads.tobytes()), memoryview(items.tobytes())
    for begin in range(0, len(starts), 8192):
        pieces = []
        for number in range(begin, min(begin + 8192, len(starts))):
            pieces += [head[number * width : (number + 1) * width], body[12 * starts[number] : 12 * ends[number]]]
        yield b"".join(pieces)


def encode_vectors(
    project: int, cells: NDArray[np.int64], files: NDArray[np.int64], places: NDArray[np.int64], dense: NDArray[np.float16]
) -> Iterator[bytes]:
    """The rows of the table `vectors`: those of a cell next to each other, cards after units."""
    import numpy as np

    order = np.lexsort((places, files, cells, places < 0))
    dims = dense.shape[1]
    for begin in range(0, len(order), max(1, _BATCH_NUMBERS // max(dims, 1))):
        some = order[begin : begin + max(1, _BATCH_NUMBERS // max(dims, 1))]
        rows = _fields(
            len(some),
            [
                ("project", ">i4", project), ("cell", ">i4", cells[some]), ("file", ">i4", files[some]),
                ("place", ">i4", places[some]), ("dims", ">i4", dims),
            ],
            [
                ("bytes", ">i4", 4 + 2 * dims), ("numbers", ">i2", dims), ("unused", ">i2", 0),
                ("dense", (">f2", (dims,)), dense[some]),
            ],
            6,
        )  # fmt: skip
        yield rows.tobytes()


def _fields(
    count: int, fixed: list[tuple[str, str, object]], last: list[tuple[str, object, object]], columns: int
) -> NDArray[np.void]:
    """Rows for COPY: `fixed` fields of four bytes, each preceded by its length, then the `last` field."""
    import numpy as np

    layout: list[tuple[str, object]] = [("columns", ">i2")]
    for name, kind, _ in fixed:
        layout += [(f"{name} length", ">i4"), (name, kind)]
    rows = np.zeros(count, [*layout, *((name, kind) for name, kind, _ in last)])
    rows["columns"] = columns
    for name, _, value in fixed:
        rows[f"{name} length"], rows[name] = 4, value
    for name, _, value in last:
        rows[name] = value
    return rows


MAX_UNITS = 100_000
"""Units of one segment, about: more would not fit into the memory of a small machine while it is built."""
_DECAYED = 0.4
"""The share of its files that may be removed before a segment is built again."""
_OUTGROWN = 4
"""Cells are found again once there are so many times the vectors that they were made for."""
VECTORS_PER_CELL = 256
MAX_CELLS = 4096
SAMPLE_PER_CELL = 32
"""Vectors per cell that the centres are found from."""
MIN_PROBES = 16
"""Cells that a query searches at least."""
_KMEANS_ROUNDS = 5
_BATCH = 8192
"""Vectors that are compared with all centres at a time."""
CARD = -1
"""The place of a file's card among its units."""
_UNITS = """
    COPY (
        SELECT f.no, u.place, u.dense, u.terms FROM files f
        CROSS JOIN LATERAL (SELECT place, dense, terms FROM units WHERE file = f.no OFFSET 0) AS u
        WHERE f.project = %s AND f.no > %s AND f.no <= %s ORDER BY f.no, u.place
    ) TO STDOUT (FORMAT binary)
"""
_CARDS = """
    COPY (
        SELECT f.no, r.card FROM files f
        CROSS JOIN LATERAL (SELECT card FROM records WHERE file = f.no AND card IS NOT NULL OFFSET 0) AS r
        WHERE f.project = %s AND f.no > %s AND f.no <= %s ORDER BY f.no
    ) TO STDOUT (FORMAT binary)
"""
"""OFFSET keeps the planner from joining whole tables, those of all projects, for each segment. In a first load it would,
because nothing is known about the tables then."""
_SAMPLE = """
    COPY (
        SELECT u.dense FROM files f JOIN units u ON u.file = f.no
        WHERE f.project = %s AND length(u.dense) = %s AND (u.file * 31::bigint + u.place) %% %s = 0 ORDER BY u.file, u.place
    ) TO STDOUT (FORMAT binary)
"""


class _Segment(NamedTuple):
    id: int
    low: int
    high: int
    files: int
    units: int
    gone: int


class _Range(NamedTuple):
    low: int
    high: int
    replaced: tuple[int, ...]


def build_segments(connection: psycopg.Connection[Any], project: int, dims: int) -> int:
    """Build segments for all files that are in none; returns the number of their units.

    Runs in a transaction that holds the project's row exclusively: readers see all new segments at once.
    """
    dims = max(dims, 1)  # without vectors there is one empty cell
    centres = _load_centres(connection, project, dims)
    rebuild = centres is None
    ranges = _plan_ranges(connection, project, rebuild)
    if not ranges:
        return 0
    if centres is None:
        centres = _train_cells(connection, project, dims)
    made = 0
    for part in ranges:
        if part.replaced:
            connection.execute("DELETE FROM postings WHERE segment = ANY(%s)", (list(part.replaced),))
            connection.execute("DELETE FROM segments WHERE id = ANY(%s)", (list(part.replaced),))
            connection.execute(
                "DELETE FROM vectors WHERE project = %s AND file > %s AND file <= %s", (project, part.low, part.high)
            )
        for low, high, files, units in _slices(connection, project, part):
            _write_segment(connection, project, low, high, files, units, centres)
            made += units
    return made


def _plan_ranges(connection: psycopg.Connection[Any], project: int, rebuild: bool) -> list[_Range]:
    """The ranges of files to build segments for, and the segments that each replaces."""
    segments = [
        _Segment(*row)
        for row in connection.execute(
            """
            SELECT s.id, s.low, s.high, s.files, s.units, s.gone
            FROM segments s WHERE s.project = %s ORDER BY s.low
            """,
            (project,),
        )
    ]
    covered = segments[-1].high if segments else 0
    row = connection.execute(
        "SELECT coalesce(max(no), 0), coalesce(sum(units), 0) FROM files WHERE project = %s AND no > %s", (project, covered)
    ).fetchone()
    top, waiting = (max(int(row[0]), covered), int(row[1])) if row else (covered, 0)
    if rebuild and (segments or top):
        return [_Range(0, top, tuple(segment.id for segment in segments))]
    found: list[_Range] = []
    if top > covered:
        low, units, replaced = covered, waiting, []
        while segments and segments[-1].units < 2 * units and segments[-1].units + units <= MAX_UNITS:
            last = segments.pop()
            low, units = last.low, units + last.units
            replaced.append(last.id)
        found.append(_Range(low, top, tuple(replaced)))
    found += [_Range(part.low, part.high, (part.id,)) for part in segments if part.gone > _DECAYED * part.files]
    return found


def _slices(connection: psycopg.Connection[Any], project: int, part: _Range) -> list[tuple[int, int, int, int]]:
    """The range split so that no slice has too many units: first and last number, files and units of each."""
    found, low, files, units = [], part.low, 0, 0
    for number, count in connection.execute(
        "SELECT no, units FROM files WHERE project = %s AND no > %s AND no <= %s ORDER BY no", (project, part.low, part.high)
    ).fetchall():
        files, units = files + 1, units + count
        if units >= MAX_UNITS:
            found.append((low, number, files, units))
            low, files, units = number, 0, 0
    if files or low < part.high:
        found.append((low, part.high, files, units))
    return found


def _write_segment(
    connection: psycopg.Connection[Any], project: int, low: int, high: int, files: int, units: int, centres: NDArray[np.float32]
) -> None:
    import numpy as np

    row = connection.execute(
        "INSERT INTO segments (project, low, high, files, units) VALUES (%s, %s, %s, %s, %s) RETURNING id",
        (project, low, high, files, units),
    ).fetchone()
    assert row is not None
    span = (project, low, high)
    dims = centres.shape[1]
    owners: list[int] = []
    sizes: list[int] = []
    numbers: list[bytes] = []
    weights: list[bytes] = []
    holders: list[tuple[int, int]] = []
    dense: list[bytes] = []
    with connection.cursor().copy(_UNITS, span) as copy:
        copy.set_types(["int4", "int4", "bytea", "bytea"])
        for file, place, vector, terms in copy.rows():
            half = len(terms) // 2
            if half and place < 1 << 16:
                owners.append(file << 16 | place)
                sizes.append(half // 4)
                numbers.append(terms[:half])
                weights.append(terms[half:])
            if vector is not None and len(vector) == 2 * dims:
                holders.append((file, place))
                dense.append(vector)
    entries = PostingEntries(
        np.frombuffer(b"".join(numbers), "<i4"), np.repeat(np.array(owners, np.int64), sizes),
        np.frombuffer(b"".join(weights), "<f4"),
    )  # fmt: skip
    del numbers, weights
    heavy = entries.weights > 0
    if not heavy.all():
        entries = PostingEntries(entries.terms[heavy], entries.units[heavy], entries.weights[heavy])
    if len(entries.terms):
        _send(connection, "COPY postings FROM STDIN (FORMAT binary)", encode_postings(entries, project, row[0]))
    with connection.cursor().copy(_CARDS, span) as copy:
        copy.set_types(["int4", "bytea"])
        for file, card in copy.rows():
            if len(card) == 2 * dims:
                holders.append((file, CARD))
                dense.append(card)
    if dense:
        halves = np.frombuffer(b"".join(dense), "<f2").reshape(-1, dims)
        places = np.array(holders, np.int64)
        own = nearest_cells(halves.astype(np.float32), centres)
        _send(
            connection, "COPY vectors FROM STDIN (FORMAT binary)",
            encode_vectors(project, own, places[:, 0], places[:, 1], halves),
        )  # fmt: skip


def _send(connection: psycopg.Connection[Any], statement: str, rows: Iterable[bytes]) -> None:
    with connection.cursor().copy(statement.encode()) as copy:
        copy.write(COPY_HEADER)
        for data in rows:
            copy.write(data)
        copy.write(COPY_TRAILER)


def _load_centres(connection: psycopg.Connection[Any], project: int, dims: int) -> NDArray[np.float32] | None:
    """The centres of the project's cells; None where they have to be found again."""
    import numpy as np

    row = connection.execute(
        "SELECT trained, (SELECT coalesce(sum(units + 1), 0) FROM files WHERE project = p.id) FROM projects p WHERE id = %s",
        (project,),
    ).fetchone()
    outgrown = row is None or (row[1] > _OUTGROWN * row[0] and cell_count(row[1]) > cell_count(row[0]))
    if outgrown:
        return None
    texts = connection.execute("SELECT centre::text FROM cells WHERE project = %s ORDER BY number", (project,)).fetchall()
    found = np.array([np.fromstring(text.strip("[]"), np.float32, sep=",") for (text,) in texts])
    return found if found.ndim == 2 and found.shape[1] == dims else None


def _train_cells(connection: psycopg.Connection[Any], project: int, dims: int) -> NDArray[np.float32]:
    """Find and store the cells of a project, from a sample spread evenly over its files."""
    import numpy as np

    row = connection.execute("SELECT coalesce(sum(units + 1), 0) FROM files WHERE project = %s", (project,)).fetchone()
    total = int(row[0]) if row else 0
    wanted = cell_count(total)
    step = max(1, total // (wanted * SAMPLE_PER_CELL))
    with connection.cursor().copy(_SAMPLE, (project, 2 * dims, step)) as copy:
        copy.set_types(["bytea"])
        found = [vector for (vector,) in copy.rows()]
    sample = np.frombuffer(b"".join(found), "<f2").reshape(-1, dims).astype(np.float32)
    centres = find_centres(sample, wanted) if len(sample) else np.zeros((1, dims), np.float32)
    connection.execute("DELETE FROM cells WHERE project = %s", (project,))
    with connection.cursor().copy("COPY cells FROM STDIN") as copy:
        for number, centre in enumerate(centres):
            copy.write_row((project, number, "[" + ",".join(f"{value:.6f}" for value in centre.tolist()) + "]"))
    connection.execute("UPDATE projects SET trained = %s WHERE id = %s", (total, project))
    return centres.astype(np.float16).astype(np.float32)


def cell_count(vectors: int) -> int:
    """The number of cells for so many vectors."""
    return max(1, min(MAX_CELLS, vectors // VECTORS_PER_CELL))


def find_centres(sample: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The centres of `count` clusters: spherical k-means, deterministic for the same sample."""
    import numpy as np

    count = min(count, len(sample))
    found: NDArray[np.float32] = sample[np.random.default_rng(0).choice(len(sample), count, replace=False)].copy()
    for _ in range(_KMEANS_ROUNDS if count > 1 else 1):
        own = nearest_cells(sample, found)
        order = np.argsort(own, kind="stable")
        filled, first = np.unique(own[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        found[filled] = sums / np.maximum(lengths, 1e-9)
    return found


def nearest_cells(vectors: NDArray[np.float32], found: NDArray[np.float32]) -> NDArray[np.int64]:
    """The cell of each vector."""
    import numpy as np

    parts = [(vectors[at : at + _BATCH] @ found.T).argmax(axis=1) for at in range(0, len(vectors), _BATCH)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def hnsw_statement(dims: int) -> sql.Composed:
    return sql.SQL(
        "CREATE INDEX IF NOT EXISTS {name} ON vectors USING hnsw ((dense::halfvec({dims})) halfvec_ip_ops) WHERE dims = {dims}"
    ).format(name=sql.Identifier(f"vectors_hnsw_{dims}"), dims=sql.Literal(dims))


def ensure_hnsw(server: Server, dims: int, seconds: float) -> None:
    """Create pgvector's index over vectors of `dims` dimensions if it is missing; only the owner of the tables may."""

    def work(connection: Connection) -> None:
        if connection.execute("SELECT to_regclass(%s)", (f"vectors_hnsw_{dims}",)).fetchone() != (None,):
            return
        with connection.transaction():
            connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{round(seconds * 1000)}ms",))
            try:
                connection.execute(hnsw_statement(dims))
            except errors.InsufficientPrivilege as error:
                path = sql.SQL("SET search_path = {}, public; ").format(sql.Identifier(server.schema)).as_string()
                raise StoreError(
                    f"only the owner of the tables can create the hnsw index: {error.diag.message_primary}",
                    f"as the owner: {path}{hnsw_statement(dims).as_string()};",
                ) from None

    server.run(work)
