"""Reads scores out of what a judge replies: `INDEX:SCORE` lines, JSON of several shapes, with anything around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

HIGHEST = 10.0
MOST_CHARS = 200_000
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(
    r"""^[^\w\n]{0,8} (?:(?:index|document|doc|candidate|item|id)\b [^\w\n]{0,4})?
        (\d{1,4}) [\]\)"'*`]{0,4} [ \t]*
        (?:[:=|,→>]|[-–—](?=[ \t>])|is\b|score\b){1,3} [ \t"'*`]* (?:(?:score|rating)\b [^\w\n\-]{0,4})?
        (-?\d{1,4}(?:\.\d{1,20})?) (?:[ \t]*/[ \t]*10\b)? (?![\d.:])""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_INDEX = ("index", "id", "document", "doc", "candidate", "item", "i", "n", "number")
_SCORE = ("score", "rating", "relevance", "relevance_score", "value", "s")


def read_scores(reply: str, count: int) -> list[float | None]:
    """The score of each of `count` documents, from 0 to 10; None for one that got none.

    Who counts documents from 1, where they are counted from 0, has scored none. What is outside of 0 to 10 counts as not
    said. Of several scores for one document the lowest counts: a judge that was talked into a high one has often given its
    own before.
    """
    text = _THOUGHT.sub(" ", reply[:MOST_CHARS])
    for pairs in (_from_json(text, count), _from_lines(text)):
        found: list[float | None] = [None] * count
        beyond = False
        for index, score in pairs:
            if 0 <= index < count and isfinite(score) and 0 <= score <= HIGHEST:
                known = found[index]
                found[index] = score if known is None else min(known, score)
            beyond = beyond or index == count
        if beyond and count and found[0] is None:  # it counts from 1: each score would be another document's
            return [None] * count
        if any(score is not None for score in found):
            return found
    return [None] * count


def _from_lines(text: str) -> Iterator[tuple[int, float]]:
    for match in _LINE.finditer(text):
        yield int(match[1]), float(match[2])


def _from_json(text: str, count: int) -> Iterator[tuple[int, float]]:
    decoder = json.JSONDecoder()
    place, tries = 0, 0
    while tries < 200:
        starts = [found for found in (text.find("{", place), text.find("[", place)) if found >= 0]
        if not starts:
            return
        place, tries = min(starts), tries + 1
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        yield from _pairs(value, count)


def _pairs(value: Any, count: int) -> Iterator[tuple[int, float]]:
    if isinstance(value, list):
        numbers = [_number(item) for item in value]
        if count > 1 and len(value) == count and all(number is not None for number in numbers):
            yield from ((index, number) for index, number in enumerate(numbers) if number is not None)
            return
        for item in value:
            if isinstance(item, dict):
                yield from _pairs(item, count)
            elif isinstance(item, list) and len(item) == 2:
                yield from _pair(item[0], item[1])
            elif isinstance(item, str):
                yield from _from_lines(item)
    elif isinstance(value, dict):
        named = {str(key).lower(): item for key, item in value.items()}
        index = next((named[name] for name in _INDEX if name in named), None)
        score = next((named[name] for name in _SCORE if name in named), None)
        if index is not None and score is not None:
            yield from _pair(index, score)
            return
        for key, item in value.items():
            if isinstance(item, (list, dict)) and not str(key).isdecimal():
                yield from _pairs(item, count)
            elif isinstance(item, dict):
                inner = {str(name).lower(): part for name, part in item.items()}
                yield from _pair(key, next((inner[name] for name in _SCORE if name in inner), None))
            else:
                yield from _pair(key, item)


def _pair(index: Any, score: Any) -> Iterator[tuple[int, float]]:
    place, value = _number(index), _number(score)
    if place is not None and value is not None and place == int(place):
        yield int(place), value


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        found = re.fullmatch(r"\s*\[?(-?\d{1,4}(?:\.\d{1,20})?)\]?(?:\s*/\s*10)?\s*", value)
        return float(found[1]) if found else None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e6:
        return float(value)
    return None
