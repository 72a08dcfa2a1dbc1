"""Query words in a file's name or folder: + max · share of the words · weight, if the share is large enough."""

from __future__ import annotations

from lurcher.ranking.context import Context
from lurcher.terms.split import folders_of, name_of, name_parts
from lurcher.types import StageWhy

_MIN_PREFIX = 3


def apply(context: Context, scores: dict[int, float], log: dict[int, list[StageWhy]]) -> None:
    words = [group.word for group in context.plan.groups]
    if not scores or not words:
        return
    settings = context.settings.classic
    top = max(scores.values())
    shares: dict[int, float] = {}
    for unit in scores:
        file = int(context.snapshot.unit_file[unit])
        if file not in shares:
            shares[file] = _compute_share(words, context.snapshot.path(file))
        if shares[file] >= settings.stem_share and shares[file]:
            amount = top * shares[file] * settings.stem
            scores[unit] += amount
            log.setdefault(unit, []).append(StageWhy("stem", amount=amount))


def _compute_share(words: list[str], path: str) -> float:
    parts = name_parts(name_of(path))
    for folder in folders_of(path)[-1:]:
        parts += name_parts(folder)
    return sum(any(_is_alike(word, part) for part in parts) for word in words) / len(words)


def _is_alike(word: str, part: str) -> bool:
    if word == part:
        return True
    short, long = sorted((word, part), key=len)
    return len(short) >= _MIN_PREFIX and long.startswith(short)
