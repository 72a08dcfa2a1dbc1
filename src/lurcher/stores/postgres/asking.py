"""Candidates in one statement: what is near, what has the words, what defines the names, fused by reciprocal ranks.

near      units and cards in the cells nearest to the question (or all, or what the index of pgvector gives)
heavy     parts of the lists of words, those that weigh most first, up to so many entries; their sums by unit
named     files that define a name
fused     Σ 1/(k + rank) of each unit over the legs; a card and a name stand for the file as a unit of their own
"""

from __future__ import annotations

from typing import Any

from lurcher.config import PostgresSettings
from lurcher.stores.port import Candidate, Question
from lurcher.stores.postgres.cells import FEWEST_PROBES
from lurcher.stores.postgres.connect import Connection
from lurcher.stores.postgres.letters import given, kept

RRF = 60.0
"""The constant of fusion where the question has none."""
_SPARE = 3
"""Times as many as are wanted are fetched before those go that a reader of this generation does not see."""

_VISIBLE = "f.project = %(project)s AND f.born <= %(generation)s AND (f.died IS NULL OR f.died > %(generation)s)"
_FILTERS = {
    "languages": " AND f.language = ANY(%(languages)s)",
    "folders": " AND f.path ^@ ANY(%(folders)s)",
}

_PROBED = """
    probed AS MATERIALIZED (
        SELECT number FROM cells WHERE project = %(project)s AND vector_dims(centre) = %(dims)s
        ORDER BY centre <#> %(dense)s::halfvec
        LIMIT greatest(%(fewest)s, (SELECT round(count(*) * %(probes)s) FROM cells WHERE project = %(project)s))
    ),
"""
_IN_CELLS = """
    SELECT v.file, v.place, v.dense <#> %(dense)s::halfvec AS away FROM vectors v
    WHERE v.project = %(project)s AND v.dims = %(dims)s AND v.cell = ANY(ARRAY(SELECT number FROM probed))
"""
_ALL = """
    SELECT v.file, v.place, v.dense <#> %(dense)s::halfvec AS away FROM vectors v
    WHERE v.project = %(project)s AND v.dims = %(dims)s
"""
_FILTERED = """
    SELECT v.file, v.place, v.dense <#> %(dense)s::halfvec AS away FROM files f JOIN vectors v ON v.file = f.no
    WHERE v.dims = %(dims)s AND {visible}
"""
_NEAR = """
    compared AS MATERIALIZED ({source}),
    near AS (
        SELECT * FROM (
            (SELECT file, place, away FROM compared WHERE place >= 0 ORDER BY away, file, place LIMIT %(fetched)s)
            UNION ALL (SELECT file, place, away FROM compared WHERE place < 0 ORDER BY away, file LIMIT %(fetched)s)
        ) AS nearest
    ),
"""
_BY_INDEX = """
    near AS (
        SELECT * FROM (
            (SELECT file, place, dense::halfvec({dims}) <#> %(dense)s::halfvec({dims}) AS away FROM vectors
             WHERE dims = {dims} AND project = %(project)s AND place >= 0
             ORDER BY dense::halfvec({dims}) <#> %(dense)s::halfvec({dims}) LIMIT %(fetched)s)
            UNION ALL
            (SELECT file, place, dense::halfvec({dims}) <#> %(dense)s::halfvec({dims}) AS away FROM vectors
             WHERE dims = {dims} AND project = %(project)s AND place < 0
             ORDER BY dense::halfvec({dims}) <#> %(dense)s::halfvec({dims}) LIMIT %(fetched)s)
        ) AS nearest
    ),
"""
_DENSE = """
    SELECT * FROM (
        SELECT CASE WHEN n.place < 0 THEN 'card' ELSE 'dense' END AS leg, n.file, n.place,
               row_number() OVER (PARTITION BY n.place < 0 ORDER BY n.away, n.file, n.place) AS rank
        FROM near n JOIN files f ON f.no = n.file WHERE {visible}
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
    summed AS MATERIALIZED (
        SELECT entry >> 16 AS unit, sum((entry & 65535) * factor) AS score
        FROM chosen CROSS JOIN LATERAL unnest(entries) AS entry WHERE before < %(postings)s GROUP BY 1
    ),
    heavy AS ({source}),
"""
_HEAVIEST = "SELECT unit, score FROM summed ORDER BY score DESC, unit LIMIT %(fetched)s"
_SPARSE = """
    SELECT * FROM (
        SELECT 'sparse' AS leg, f.no AS file, (h.unit & 65535)::integer AS place,
               row_number() OVER (ORDER BY h.score DESC, h.unit) AS rank
        FROM heavy h JOIN files f ON f.no = (h.unit >> 16)::integer WHERE {visible}
    ) AS ranked WHERE rank <= %(depth)s
"""
_NAMES = """
    SELECT 'names' AS leg, file, -2 AS place, rank FROM (
        SELECT f.no AS file, row_number() OVER (ORDER BY f.path COLLATE "C") AS rank FROM files f
        WHERE f.names && %(names)s::text[] AND {visible}
    ) AS ranked WHERE rank <= %(depth)s
"""
_FUSED = """
    legs AS MATERIALIZED ({legs}),
    fused AS (
        SELECT file, place, sum(1 / (%(rrf)s::float8 + rank)) AS score, min(rank) FILTER (WHERE leg = 'dense') AS dense,
               min(rank) FILTER (WHERE leg = 'card') AS card, min(rank) FILTER (WHERE leg = 'sparse') AS sparse,
               min(rank) FILTER (WHERE leg = 'names') AS names
        FROM legs GROUP BY file, place
    )
    SELECT f.key::text, f.path, best.score, best.dense, best.card, best.sparse, best.names FROM (
        SELECT file, max(score) AS score, min(dense) AS dense, min(card) AS card, min(sparse) AS sparse, min(names) AS names
        FROM fused GROUP BY file
    ) AS best JOIN files f ON f.no = best.file
    ORDER BY best.score DESC, f.path COLLATE "C", f.key LIMIT %(limit)s
"""
_LEGS = ("dense", "card", "sparse", "names")


def candidates(
    connection: Connection, project: int, generation: int, question: Question, settings: PostgresSettings
) -> list[Candidate]:
    statement, values = statement_for(project, generation, question, settings)
    if not statement:
        return []
    found = []
    for key, path, score, *ranks in connection.execute(statement.encode(), values):
        legs = {leg: int(rank) for leg, rank in zip(_LEGS, ranks, strict=True) if rank is not None}
        found.append(Candidate(key, given(path), float(score), legs))
    return found


def statement_for(project: int, generation: int, question: Question, settings: PostgresSettings) -> tuple[str, dict[str, Any]]:
    """The statement and its values; no statement where no leg has anything to go by. What comes from outside is a value."""
    folders = [kept(folder) + "/" for folder in question.folders if folder]
    everywhere = len(folders) < len(question.folders)
    filtered = bool(question.languages or (folders and not everywhere))
    visible = _VISIBLE
    if question.languages:
        visible += _FILTERS["languages"]
    if folders and not everywhere:
        visible += _FILTERS["folders"]
    values: dict[str, Any] = {
        "project": project, "generation": generation, "languages": [kept(name) for name in question.languages],
        "folders": folders, "depth": question.depth, "limit": question.limit, "fetched": question.depth * _SPARE,
        "rrf": RRF if question.rrf is None else question.rrf,
    }  # fmt: skip
    parts: list[str] = []
    legs: list[str] = []
    if question.dense is not None and len(question.dense) and question.dense.any():
        dims = len(question.dense)
        values |= {"dims": dims, "dense": vector_text(question.dense), "probes": settings.probes, "fewest": FEWEST_PROBES}
        if settings.vectors == "hnsw" and not filtered:
            parts.append(_BY_INDEX.format(dims=dims))
        elif filtered:
            parts.append(_NEAR.format(source=_FILTERED.format(visible=visible)))
        elif settings.vectors == "cells":
            parts += [_PROBED, _NEAR.format(source=_IN_CELLS)]
        else:
            parts.append(_NEAR.format(source=_ALL))
        legs.append(_DENSE.format(visible=visible))
    if question.sparse is not None and len(question.sparse.numbers):
        values |= {
            "terms": question.sparse.numbers.astype("<u4").view("<i4").tolist(), "postings": settings.postings,
            "weights": question.sparse.weights.astype(float).tolist(),
        }  # fmt: skip
        parts.append(_HEAVY.format(source="SELECT unit, score FROM summed" if filtered else _HEAVIEST))
        legs.append(_SPARSE.format(visible=visible))
    if question.names:
        values["names"] = [kept(name) for name in question.names]
        legs.append(_NAMES.format(visible=visible))
    if not legs:
        return "", values
    return "WITH" + "".join(parts) + _FUSED.format(legs=" UNION ALL ".join(legs)), values


def vector_text(vector: Any) -> str:
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"
