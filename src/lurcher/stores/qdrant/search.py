"""Candidates: units by nearness and by words, files by their cards and by what they define, fused by rank.

One request asks about units and one, at the same time, about files. The ranks within each leg come along in the same batch as
the fused list, because Qdrant tells of a fused point only its score.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lurcher.stores.qdrant.layout import among, file_of, filtered, numbers, seen, writable
from lurcher.stores.qdrant.points import Json, Points

if TYPE_CHECKING:
    from lurcher.stores.base import Question

Found = list[tuple[str, float]]
PARAMS: Json = {}
"""Of dense queries; a benchmark compares with {"exact": True}, of which the graph finds 99.6 % of the candidates."""
OWN = 1.0
"""Qdrant's own constant, with ranks from 1: 1/(1 + rank)."""


class Ranked:
    """A file that was found."""

    __slots__ = ("legs", "score")

    def __init__(self) -> None:
        self.score = 0.0
        self.legs: dict[str, int] = {}


def ranked(
    points: Points, units: str, files: str, project: str, generation: int, question: Question
) -> dict[str, Ranked]:
    """Files by the numbers of their points, with what they scored; in no order."""
    where = filtered(question.languages, question.folders)
    of_units = _legs(question, seen(project, generation, *where), ("dense", "sparse"))
    of_files = _legs(question, seen(project, generation, *where), ("card", "names"))
    # A server fuses its lists itself; an embedded engine leaves it to us, which is half the work for it.
    fuse = not points.alone and len(of_units) > 1 and (question.rrf is None or float(question.rrf).is_integer())
    asked = [_fused(list(of_units.values()), question)] if fuse else []
    answers, cards = _asked(points, units, [*asked, *of_units.values()], files, list(of_files.values()))
    k = OWN if question.rrf is None else question.rrf
    legs = dict(zip(of_units, answers[len(asked) :], strict=True))
    scores = dict(answers[0]) if fuse else _summed(legs.values(), k)
    found: dict[str, Ranked] = {}
    for leg, several in legs.items():
        _take(found, leg, several, units=True)
    for point, score in scores.items():
        file = found.get(file_of(point)) or found.setdefault(file_of(point), Ranked())
        if score > file.score:
            file.score = score
    for leg, several in zip(of_files, cards, strict=True):
        _take(found, leg, several, units=False)
        for rank, (point, _) in enumerate(several, 1):
            # No file defines a name better than another: all of them are first.
            rank = 1 if leg == "names" else rank
            found[point].score += 1.0 / (k + rank)
    return found


def best(found: dict[str, Ranked], limit: int) -> list[tuple[str, Ranked]]:
    """So many of them, best first; what was found by name is among them whatever its score."""
    order = sorted(found.items(), key=lambda item: (-item[1].score, item[0]))
    named = [item for item in order if "names" in item[1].legs][:limit]
    others = [item for item in order if "names" not in item[1].legs][: limit - len(named)]
    return sorted(named + others, key=lambda item: (-item[1].score, item[0]))


def _legs(question: Question, where: Json, names: tuple[str, ...]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    near = question.dense is not None and {"nearest": numbers(question.dense)}
    for leg in names:
        if leg in ("dense", "card") and near:
            made[leg] = {"query": near, "using": "dense", "filter": where, "params": PARAMS, "limit": question.depth}
        elif leg == "sparse" and question.sparse is not None and len(question.sparse.numbers):
            words = {"indices": question.sparse.numbers.tolist(), "values": numbers(question.sparse.weights)}
            made[leg] = {"query": {"nearest": words}, "using": "sparse", "filter": where, "limit": question.depth}
        elif leg == "names" and question.names:
            wanted = {"must": [*where["must"], among("names", [writable(name) for name in question.names])]}
            made[leg] = {"filter": wanted, "limit": question.limit}
    return {leg: {**one, "with_payload": False} for leg, one in made.items()}


def _fused(legs: list[Json], question: Question) -> Json:
    """The legs as Qdrant's prefetches. Its places begin at 0, and our ranks at 1."""
    query: Json = {"fusion": "rrf"} if question.rrf is None else {"rrf": {"k": int(question.rrf) + 1}}
    first = [{key: value for key, value in leg.items() if key != "with_payload"} for leg in legs]
    return {"prefetch": first, "query": query, "limit": question.depth * len(legs), "with_payload": False}


def _asked(
    points: Points, units: str, of_units: list[Json], files: str, of_files: list[Json]
) -> tuple[list[Found], list[Found]]:
    if not points.parallel or not of_units or not of_files:
        found, cards = points.query(units, of_units) if of_units else [], points.query(files, of_files) if of_files else []
        return _settled(found), _settled(cards)
    with ThreadPoolExecutor(1, "lurcher-ask") as pool:
        later = pool.submit(points.query, files, of_files)
        return _settled(points.query(units, of_units)), _settled(later.result())


def _settled(answers: list[Found]) -> list[Found]:
    """What scored the same is in the order of its number, whichever segment it came from."""
    for found in answers:
        if len({score for _, score in found}) < len(found):
            found.sort(key=lambda one: (-one[1], one[0]))
    return answers


def _summed(legs: Any, k: float) -> dict[str, float]:
    scores: dict[str, float] = {}
    for several in legs:
        for rank, (point, _) in enumerate(several, 1):
            scores[point] = scores.get(point, 0.0) + 1.0 / (k + rank)
    return scores


def _take(found: dict[str, Ranked], leg: str, several: Found, *, units: bool) -> None:
    for rank, (point, _) in enumerate(several, 1):
        number = file_of(point) if units else point
        file = found.get(number)
        if file is None:
            file = found[number] = Ranked()
        if leg not in file.legs:  # the best comes first
            file.legs[leg] = 1 if leg == "names" else rank
