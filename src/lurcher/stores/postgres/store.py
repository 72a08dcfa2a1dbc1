"""A `Store` in PostgreSQL: reads with one statement each, and leaves writing to `writer`.

The statement that finds candidates searches by dense vectors, by terms and by defined names, and fuses by reciprocal ranks:

    near      units and cards in the cells nearest to the query (or all vectors, or those that pgvector's index gives)
    heavy     units by summed weights; parts of postings are read heaviest first, up to a number of entries
    names     files that define a name
    fused     Σ 1/(k + rank) of each unit over the legs; a card or a name counts as one more unit of its file
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lurcher.config.schema import PostgresSettings
from lurcher.runtime.process import format_count
from lurcher.stores.base import Candidate, Head, Listed, Question, StoredFile
from lurcher.stores.postgres.connection import Connection, Server
from lurcher.stores.postgres.schema import VERSION
from lurcher.stores.postgres.segments import MIN_PROBES, escape_text, unescape_text
from lurcher.stores.postgres.writer import Writer

if TYPE_CHECKING:
    from lurcher.config import Settings


PROBES = 0.035
"""The share of the cells that a query reads, at least 16: docs/postgres.md has the measurement."""
POSTINGS = 20_000
"""Entries of words that a query reads, those that weigh most first; docs/postgres.md."""
RRF = 60.0
"""The default constant of fusion."""
_SPARE = 2
"""So many times the depth is fetched where some files are not visible to readers of this generation."""
_SPARED = 50
"""Files fetched beyond the limit, so that equal scores at its end are ordered by path."""
_FEW = 6_000
"""Where a filter leaves no more units than this, all of them are compared."""
_WIDER = 2
"""Where a filter leaves more units, so many times the usual number of cells is searched."""

_VISIBLE = "f.project = %(project)s AND f.born <= %(generation)s AND (f.died IS NULL OR f.died > %(generation)s)"
# Visibility is checked file by file, and only if some file is invisible; OFFSET keeps the planner from joining all files.
_SEEN = f"""
    CROSS JOIN LATERAL (
        SELECT 1 WHERE NOT (SELECT {{what}} FROM unseen)
        UNION ALL SELECT 1 FROM files f WHERE (SELECT {{what}} FROM unseen) AND f.no = {{file}} AND {_VISIBLE} OFFSET 0
    ) AS f
"""
_UNSEEN = """
    unseen AS MATERIALIZED (
        SELECT EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND born > %(generation)s)
            OR EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND died IS NOT NULL) AS vectors,
            EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND born > %(generation)s)
            OR EXISTS (SELECT 1 FROM files WHERE project = %(project)s AND died IS NOT NULL)
            OR EXISTS (SELECT 1 FROM segments WHERE project = %(project)s AND gone > 0) AS entries
    ),
"""
_ENOUGH = "LIMIT %(depth)s * (SELECT CASE WHEN vectors THEN %(spare)s ELSE 1 END FROM unseen)"
_ENOUGH_ENTRIES = "LIMIT %(depth)s * (SELECT CASE WHEN entries THEN %(spare)s ELSE 1 END FROM unseen)"
_MATCHING = f"""
    matching AS MATERIALIZED (
        SELECT f.no, f.path, f.units FROM files f WHERE {_VISIBLE}
        AND (%(languages)s::text[] = '{{}}' OR f.language = ANY(%(languages)s::text[]))
        AND (%(folders)s::text[] = '{{}}' OR f.path ^@ ANY(%(folders)s::text[]))
    ),
    many AS MATERIALIZED (SELECT coalesce(sum(units), 0) > %(few)s AS yes FROM matching),
"""
"""The files that a filter leaves."""
_JOINED = "JOIN matching f ON f.no = {file}"
_PROBED = """
    probed AS MATERIALIZED (
        SELECT number FROM cells WHERE project = %(project)s AND vector_dims(centre) = %(dims)s
        ORDER BY centre <#> %(dense)s::halfvec, number
        LIMIT greatest(%(fewest)s, (SELECT round(count(*) * %(probes)s) FROM cells WHERE project = %(project)s))
    ),
"""
_COMPARE = "SELECT v.file, v.place, v.dense <#> %(dense)s::halfvec AS away FROM vectors v"
_OWN = "v.project = %(project)s AND v.dims = %(dims)s"
_IN_MATCHING = "v.file IN (SELECT no FROM matching) AND (SELECT yes FROM many)"
_IN_CELLS = "v.cell = ANY(ARRAY(SELECT number FROM probed))"
_NEAR = f"""
    near AS (
        ({_COMPARE} WHERE {_OWN} AND {{also}} AND v.place >= 0 ORDER BY away, v.file, v.place {_ENOUGH})
        UNION ALL ({_COMPARE} WHERE {_OWN} AND {{also}} AND v.place < 0 ORDER BY away, v.file {_ENOUGH})
    ),
"""
_NEAR_MATCHING = f"""
    compared AS MATERIALIZED (
        SELECT v.file, v.place, v.dense <#> %(dense)s::halfvec AS away FROM matching m
        CROSS JOIN LATERAL (SELECT v.file, v.place, v.dense FROM vectors v WHERE v.file = m.no AND {_OWN} OFFSET 0) AS v
        WHERE NOT (SELECT yes FROM many)
        UNION ALL
        {_COMPARE} WHERE {_OWN} AND {_IN_CELLS} AND v.place >= 0 AND {_IN_MATCHING}
        UNION ALL
        {_COMPARE} WHERE {_OWN} AND {_IN_CELLS} AND v.place < 0 AND {_IN_MATCHING}
    ),
    near AS (
        (SELECT file, place, away FROM compared WHERE place >= 0 ORDER BY away, file, place LIMIT %(depth)s)
        UNION ALL (SELECT file, place, away FROM compared WHERE place < 0 ORDER BY away, file LIMIT %(depth)s)
    ),
"""
_BY_INDEX = f"""
    near AS (
        (SELECT file, place, dense::halfvec({{dims}}) <#> %(dense)s::halfvec({{dims}}) AS away FROM vectors
         WHERE dims = {{dims}} AND project = %(project)s AND place >= 0
         ORDER BY dense::halfvec({{dims}}) <#> %(dense)s::halfvec({{dims}}) {_ENOUGH})
        UNION ALL
        (SELECT file, place, dense::halfvec({{dims}}) <#> %(dense)s::halfvec({{dims}}) AS away FROM vectors
         WHERE dims = {{dims}} AND project = %(project)s AND place < 0
         ORDER BY dense::halfvec({{dims}}) <#> %(dense)s::halfvec({{dims}}) {_ENOUGH})
    ),
"""
_DENSE = """
    SELECT * FROM (
        SELECT CASE WHEN n.place < 0 THEN 'card' ELSE 'dense' END AS leg, n.file, n.place,
               row_number() OVER (PARTITION BY n.place < 0 ORDER BY n.away, n.file, n.place) AS rank
        FROM near n {seen}
    ) AS ranked WHERE rank <= %(depth)s
"""
_HEAVY = """
    lists AS MATERIALIZED (
        SELECT p.entries, p.size, p.scale * a.weight AS factor, p.peak * a.weight AS most, p.term, p.segment, p.part
        FROM unnest(%(terms)s::integer[], %(weights)s::float8[]) AS a (term, weight)
        JOIN postings p ON p.project = %(project)s AND p.term = a.term
    ),
    chosen AS MATERIALIZED (
        SELECT entries, factor, sum(size) OVER (ORDER BY most DESC, term, segment, part) - size AS before FROM lists
    ),
    summed AS (
        SELECT entry >> 16 AS unit, sum((entry & 65535) * factor) AS score
        FROM (SELECT unnest(entries) AS entry, factor FROM chosen WHERE before < %(postings)s) AS e GROUP BY 1
    ),
    heavy AS ({source}),
"""
_HEAVIEST = "SELECT unit, score FROM summed ORDER BY score DESC, unit " + _ENOUGH_ENTRIES
_SPARSE = """
    SELECT * FROM (
        SELECT 'sparse' AS leg, (h.unit >> 16)::integer AS file, (h.unit & 65535)::integer AS place,
               row_number() OVER (ORDER BY h.score DESC, h.unit) AS rank
        FROM heavy h {seen}
    ) AS ranked WHERE rank <= %(depth)s
"""
_NAMES = f"""
    SELECT 'names' AS leg, file, -1 AS place, rank FROM (
        SELECT f.no AS file, row_number() OVER (ORDER BY f.key) AS rank FROM files f
        WHERE f.names && %(names)s::text[] AND {_VISIBLE} {{also}}
    ) AS ranked WHERE rank <= %(depth)s
"""
_FUSED = """
    legs AS MATERIALIZED ({legs}),
    fused AS (
        SELECT file, place, sum(1 / (%(rrf)s::float8 + rank)) AS score,
               min(rank) FILTER (WHERE leg = 'dense') AS dense, min(rank) FILTER (WHERE leg = 'card') AS card,
               min(rank) FILTER (WHERE leg = 'sparse') AS sparse, min(rank) FILTER (WHERE leg = 'names') AS names
        FROM legs GROUP BY file, place
    ),
    best AS (
        SELECT file,
               coalesce(max(score) FILTER (WHERE place >= 0), 0) + coalesce(max(score) FILTER (WHERE place < 0), 0) AS score,
               min(dense) AS dense, min(card) AS card, min(sparse) AS sparse, min(names) AS names
        FROM fused GROUP BY file ORDER BY 2 DESC, file LIMIT %(limit)s + %(spared)s
    )
    SELECT f.key::text, f.path, b.score, b.dense, b.card, b.sparse, b.names
    FROM best b CROSS JOIN LATERAL (SELECT f.key, f.path FROM files f WHERE f.no = b.file OFFSET 0) AS f
    ORDER BY b.score DESC, f.path COLLATE "C", b.file LIMIT %(limit)s
"""
_LEGS = ("dense", "card", "sparse", "names")


def find_candidates(
    connection: Connection, project: int, generation: int, question: Question, settings: PostgresSettings
) -> list[Candidate]:
    statement, values = build_statement(project, generation, question, settings)
    if not statement:
        return []
    found = []
    for key, path, score, *ranks in connection.execute(statement.encode(), values):
        legs = {leg: int(rank) for leg, rank in zip(_LEGS, ranks, strict=True) if rank is not None}
        found.append(Candidate(key, unescape_text(path), float(score), legs))
    return found


def build_statement(
    project: int, generation: int, question: Question, settings: PostgresSettings
) -> tuple[str, dict[str, Any]]:
    """The statement and its values; an empty statement where no leg has anything to search for.

    Whatever comes from outside is passed as a value.
    """
    folders = [] if "" in question.folders else [escape_text(folder) + "/" for folder in question.folders]
    filtered = bool(question.languages or folders)
    values: dict[str, Any] = {
        "project": project, "generation": generation, "languages": [escape_text(name) for name in question.languages],
        "folders": folders, "depth": question.depth, "limit": question.limit, "spare": _SPARE, "spared": _SPARED,
        "rrf": RRF if question.rrf is None else question.rrf, "few": _FEW,
    }  # fmt: skip
    seen = _JOINED if filtered else _SEEN
    parts = [_UNSEEN, _MATCHING] if filtered else [_UNSEEN]
    legs: list[str] = []
    if question.dense is not None and question.dense.any():
        dims = len(question.dense)
        share = PROBES * (_WIDER if filtered else 1)
        values |= {"dims": dims, "dense": format_vector(question.dense), "probes": share, "fewest": MIN_PROBES}
        if filtered:
            parts += [_PROBED, _NEAR_MATCHING]
        elif settings.vectors == "hnsw":
            parts.append(_BY_INDEX.format(dims=dims))
        elif settings.vectors == "cells":
            parts += [_PROBED, _NEAR.format(also=_IN_CELLS)]
        else:
            parts.append(_NEAR.format(also="true"))
        legs.append(_DENSE.format(seen=seen.format(file="n.file", what="vectors")))
    if question.sparse is not None and len(question.sparse.numbers):
        values |= {
            "terms": question.sparse.numbers.astype("<u4").view("<i4").tolist(), "postings": POSTINGS,
            "weights": question.sparse.weights.astype(float).tolist(),
        }  # fmt: skip
        parts.append(_HEAVY.format(source="SELECT unit, score FROM summed" if filtered else _HEAVIEST))
        legs.append(_SPARSE.format(seen=seen.format(file="(h.unit >> 16)::integer", what="entries")))
    if question.names:
        values["names"] = [escape_text(name) for name in question.names]
        legs.append(_NAMES.format(also="AND f.no IN (SELECT no FROM matching)" if filtered else ""))
    if not legs:
        return "", values
    return "WITH" + "".join(parts) + _FUSED.format(legs=" UNION ALL ".join(legs)), values


def format_vector(vector: Any) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"


WRITE_SECONDS = 900.0
"""How long one step of writing may take, such as the merge of a large project; hand-set."""
_LISTING_ROWS = 5000
"""Files that one statement lists."""


class PostgresStore:
    """A `Store`; nothing is sent to the server before the first call."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings.postgres
        self._server = Server(url, settings)
        self._writer = Writer(self._server, WRITE_SECONDS, settings.postgres.vectors)

    def __repr__(self) -> str:
        return f"PostgresStore({self._server.location!r})"

    # -- reading ----------------------------------------------------------------------------------------------------------

    def projects(self) -> list[str]:
        if not self._server.check_schema():
            return []
        rows = self._server.run(lambda c: c.execute("SELECT name FROM projects WHERE generation > 0").fetchall())
        return sorted(unescape_text(name) for (name,) in rows)

    def head(self, project: str) -> Head | None:
        if not self._server.check_schema():
            return None
        row = self._server.run(lambda c: c.execute(_HEAD, (escape_text(project),)).fetchone())
        if row is None:
            return None
        generation, fingerprint, written, commit, files, units, dims, more = row
        details = {unescape_text(str(key)): unescape_text(str(value)) for key, value in more.items()}
        fingerprint, written, commit = (unescape_text(text) for text in (fingerprint, written, commit))
        return Head(generation, fingerprint, written, commit, files, units, dims, details)

    def listing(self, project: str) -> Iterator[Listed]:
        if not self._server.check_schema():
            return
        after = 0
        while True:
            values = (escape_text(project), after, _LISTING_ROWS)
            rows = self._server.run(lambda c: c.execute(_LISTING, values).fetchall())  # noqa: B023
            for number, key, path, digest, born, died in rows:
                after = number
                yield Listed(key, unescape_text(path), unescape_text(digest), born, died)
            if len(rows) < _LISTING_ROWS:
                return

    def pages(self, project: str, generation: int, names: Sequence[str]) -> dict[str, bytes]:
        if not self._server.check_schema():
            return {}
        wanted = [escape_text(name) for name in names]
        rows = self._server.run(lambda c: c.execute(_PAGES, (escape_text(project), wanted, generation), binary=True).fetchall())
        return {unescape_text(name): bytes(data) for name, data in rows}

    def candidates(self, project: str, generation: int, question: Question) -> list[Candidate]:
        if not self._server.check_schema():
            return []

        row = self._server.run(lambda c: c.execute(_PROJECT, (escape_text(project),)).fetchone())
        if row is None:
            return []
        number, public, dims = row
        if generation > public:  # only the writer itself searches what is not published yet
            self._writer.build_segments(project, dims or (0 if question.dense is None else len(question.dense)))
        return self._server.run(lambda c: find_candidates(c, number, generation, question, self._settings))

    def records(self, project: str, keys: Sequence[str]) -> dict[str, bytes]:
        if not self._server.check_schema():
            return {}
        wanted = [UUID(key) for key in keys]
        rows = self._server.run(lambda c: c.execute(_RECORDS, (escape_text(project), wanted), binary=True).fetchall())
        return {str(key): bytes(record) for key, record in rows}

    def texts(self, project: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        if not self._server.check_schema():
            return {}
        keys, places = [UUID(key) for key, _ in wanted], [place for _, place in wanted]
        rows = self._server.run(lambda c: c.execute(_TEXTS, (keys, places, escape_text(project)), binary=True).fetchall())
        return {(str(key), place): unescape_text(text) for key, place, text in rows}

    # -- writing ----------------------------------------------------------------------------------------------------------

    def writing(self, project: str, seconds: float) -> AbstractContextManager[None]:
        return self._writer.writing(project, seconds)

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        self._writer.put(project, files, born, done)

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        self._writer.put_pages(project, pages, born)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        self._writer.adopt(project, keys, born)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        self._writer.retire(project, keys, died)

    def publish(self, project: str, head: Head) -> None:
        self._writer.publish(project, head)

    def sweep(self, project: str, generation: int) -> int:
        return self._writer.sweep(project, generation)

    def drop(self, project: str) -> bool:
        return self._server.check_schema() and self._writer.drop(project)

    # -- the store itself -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, str]:
        begin = time.perf_counter()
        ready = self._server.check_schema()
        state = {"place": self._server.location}

        def work(connection: Connection) -> None:
            started = time.perf_counter()
            row = connection.execute(_SERVER).fetchone()
            state["latency"] = f"{(time.perf_counter() - started) * 1000:.1f} ms"
            assert row is not None
            state["server"], state["pgvector"] = f"PostgreSQL {row[0]}", row[1] or "not installed"
            schema = self._server.schema
            state["schema"] = f"{schema}, version {VERSION}" if ready else f"{schema}, not created yet"
            if ready:
                self._sizes(connection, state)

        self._server.run(work)
        state["connected in"] = f"{(time.perf_counter() - begin) * 1000:.0f} ms"
        return state

    @staticmethod
    def _sizes(connection: Connection, state: dict[str, str]) -> None:
        counts = connection.execute(_COUNTS).fetchone()
        assert counts is not None
        projects, files, units, dims, left = counts
        state |= {"projects": f"{projects:,}", "files": f"{files:,}", "units": f"{units:,}", "dims": dims or "none"}
        state["unpublished"] = format_count(left, "project") if left else "none"
        row = connection.execute(_SIZE).fetchone()
        state["size"] = row[0] if row else ""

    def close(self) -> None:
        self._server.close()


_PROJECT = "SELECT id, generation, dims FROM projects WHERE name = %s"
_HEAD = """
    SELECT generation, fingerprint, written, "commit", files, units, dims, more FROM projects WHERE name = %s AND generation > 0
"""
_LISTING = """
    SELECT f.no, f.key::text, f.path, f.digest, f.born, f.died FROM projects p JOIN files f ON f.project = p.id
    WHERE p.name = %s AND f.no > %s ORDER BY f.no LIMIT %s
"""
_PAGES = """
    SELECT DISTINCT ON (g.name) g.name, g.data FROM projects p JOIN pages g ON g.project = p.id
    WHERE p.name = %s AND g.name = ANY(%s) AND g.born <= %s ORDER BY g.name, g.born DESC
"""
_RECORDS = """
    SELECT f.key, r.record FROM projects p JOIN files f ON f.project = p.id JOIN records r ON r.file = f.no
    WHERE p.name = %s AND f.key = ANY(%s)
"""
_TEXTS = """
    SELECT f.key, u.place, u.text FROM unnest(%s::uuid[], %s::integer[]) AS w (key, place)
    JOIN projects p ON p.name = %s JOIN files f ON f.project = p.id AND f.key = w.key
    JOIN units u ON u.file = f.no AND u.place = w.place
"""
_SERVER = "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
_COUNTS = """
    SELECT count(*) FILTER (WHERE generation > 0), coalesce(sum(files), 0), coalesce(sum(units), 0),
           string_agg(DISTINCT dims::text, ', ') FILTER (WHERE dims > 0), count(*) FILTER (WHERE generation = 0)
    FROM projects
"""
_SIZE = """
    SELECT pg_size_pretty(coalesce(sum(pg_total_relation_size(c.oid)), 0)) FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
"""
