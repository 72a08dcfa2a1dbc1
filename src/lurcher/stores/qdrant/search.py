"""Candidates: units by dense and sparse vectors, files by their cards and by the names they define, fused by rank.

One request searches units and another one, at the same time, files. The ranks within each leg are queried in the same batch as
the fused list, because Qdrant gives only the score of a fused point.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lurcher.stores.qdrant.layout import (
    escape_text,
    file_point_id,
    filter_conditions,
    match_any,
    round_numbers,
    visible,
)
from lurcher.stores.qdrant.points import Json, Points

if TYPE_CHECKING:
    from lurcher.stores.base import Question

Found = list[tuple[str, float]]
PARAMS: Json = {}
"""Of dense queries; a benchmark compares with {"exact": True}, of which the graph finds 99.6 % of the candidates."""
DEFAULT_RRF_K = 1.0
"""Qdrant's default constant of fusion, with ranks from 1: 1/(1 + rank)."""


class RankedFile:
    """The fused score of a file, and its best rank in each leg."""

    __slots__ = ("legs", "score")

    def __init__(self) -> None:
        self.score = 0.0
        self.legs: dict[str, int] = {}


def rank_files(
    points: Points, units: str, files: str, project: str, generation: int, question: Question
) -> dict[str, RankedFile]:
    """Files by the ids of their points; in no order."""
    where = filter_conditions(question.languages, question.folders)
    of_units = _legs(question, visible(project, generation, *where), ("dense", "sparse"))
    of_files = _legs(question, visible(project, generation, *where), ("card", "names"))
    # A server fuses its lists itself; an embedded engine leaves it to us, which is half the work for it.
    fuse = not points.exclusive and len(of_units) > 1 and (question.rrf is None or float(question.rrf).is_integer())
    fusion = [_fusion_query(list(of_units.values()), question)] if fuse else []
    answers, cards = _run_queries(points, units, [*fusion, *of_units.values()], files, list(of_files.values()))
    k = DEFAULT_RRF_K if question.rrf is None else question.rrf
    legs = dict(zip(of_units, answers[len(fusion) :], strict=True))
    scores = dict(answers[0]) if fuse else _fuse(legs.values(), k)
    found: dict[str, RankedFile] = {}
    for leg, several in legs.items():
        _add_ranks(found, leg, several, units=True)
    for point, score in scores.items():
        file = found.get(file_point_id(point)) or found.setdefault(file_point_id(point), RankedFile())
        if score > file.score:
            file.score = score
    for leg, several in zip(of_files, cards, strict=True):
        _add_ranks(found, leg, several, units=False)
        for rank, (point, _) in enumerate(several, 1):
            # No file defines a name better than another: all of them rank first.
            rank = 1 if leg == "names" else rank
            found[point].score += 1.0 / (k + rank)
    return found


def select_best(found: dict[str, RankedFile], limit: int) -> list[tuple[str, RankedFile]]:
    """Up to `limit` files, best first; those found by name are among them whatever their score."""
    order = sorted(found.items(), key=lambda item: (-item[1].score, item[0]))
    named = [item for item in order if "names" in item[1].legs][:limit]
    others = [item for item in order if "names" not in item[1].legs][: limit - len(named)]
    return sorted(named + others, key=lambda item: (-item[1].score, item[0]))


def _legs(question: Question, where: Json, names: tuple[str, ...]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    near = question.dense is not None and {"nearest": round_numbers(question.dense)}
    for leg in names:
        if leg in ("dense", "card") and near:
            made[leg] = {"query": near, "using": "dense", "filter": where, "params": PARAMS, "limit": question.depth}
        elif leg == "sparse" and question.sparse is not None and len(question.sparse.numbers):
            words = {"indices": question.sparse.numbers.tolist(), "values": round_numbers(question.sparse.weights)}
            made[leg] = {"query": {"nearest": words}, "using": "sparse", "filter": where, "limit": question.depth}
        elif leg == "names" and question.names:
            wanted = {"must": [*where["must"], match_any("names", [escape_text(name) for name in question.names])]}
            made[leg] = {"filter": wanted, "limit": question.limit}
    return {leg: {**one, "with_payload": False} for leg, one in made.items()}


def _fusion_query(legs: list[Json], question: Question) -> Json:
    """The legs as prefetches of one fused query. Qdrant counts ranks from 0, we from 1."""
    query: Json = {"fusion": "rrf"} if question.rrf is None else {"rrf": {"k": int(question.rrf) + 1}}
    first = [{key: value for key, value in leg.items() if key != "with_payload"} for leg in legs]
    return {"prefetch": first, "query": query, "limit": question.depth * len(legs), "with_payload": False}


def _run_queries(
    points: Points, units: str, of_units: list[Json], files: str, of_files: list[Json]
) -> tuple[list[Found], list[Found]]:
    if not of_units or not of_files:
        found, cards = points.query(units, of_units) if of_units else [], points.query(files, of_files) if of_files else []
        return _sort_ties(found), _sort_ties(cards)
    with ThreadPoolExecutor(1, "lurcher-ask") as pool:
        later = pool.submit(points.query, files, of_files)
        return _sort_ties(points.query(units, of_units)), _sort_ties(later.result())


def _sort_ties(answers: list[Found]) -> list[Found]:
    """Order points of equal score by id, whichever segment they came from."""
    for found in answers:
        if len({score for _, score in found}) < len(found):
            found.sort(key=lambda one: (-one[1], one[0]))
    return answers


def _fuse(legs: Any, k: float) -> dict[str, float]:
    scores: dict[str, float] = {}
    for several in legs:
        for rank, (point, _) in enumerate(several, 1):
            scores[point] = scores.get(point, 0.0) + 1.0 / (k + rank)
    return scores


def _add_ranks(found: dict[str, RankedFile], leg: str, several: Found, *, units: bool) -> None:
    for rank, (point, _) in enumerate(several, 1):
        number = file_point_id(point) if units else point
        file = found.get(number)
        if file is None:
            file = found[number] = RankedFile()
        if leg not in file.legs:  # the best rank comes first
            file.legs[leg] = 1 if leg == "names" else rank
