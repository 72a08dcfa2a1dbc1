"""`--rerank llm`: a chat model reads the question and all candidates in one prompt and rates each from 0 to 10."""

from __future__ import annotations

from typing import Any

from lurcher.config import Settings
from lurcher.errors import ServerError
from lurcher.net.http import Deadline, place
from lurcher.rerank.base import Judged, Request
from lurcher.rerank.chat import chat_of
from lurcher.rerank.judge import HIGHEST, make_prompt, read_scores

_TOKENS_EACH = 12
"""Tokens that a model may write for each candidate: its line, with something around it."""
_TOKENS_MORE = 200


def top(settings: Settings) -> int:
    return settings.judge.top


def rerank(request: Request) -> Judged:
    deadline = Deadline.after(request.settings.judge.seconds)
    chat = chat_of(request.settings)
    prompt = make_prompt(request.query, request.candidates, request.settings.judge.chars)
    scores: list[float | None] = [None] * len(request.candidates)
    if prompt.shown:
        most = _TOKENS_EACH * len(prompt.shown) + _TOKENS_MORE
        reply = chat.reply(prompt.system, prompt.text, most, deadline, _shape(len(prompt.shown)))
        found = read_scores(reply, len(prompt.shown))
        if all(score is None for score in found):
            raise ServerError(f"the model at {place(chat.base)} gave no scores", "use another model: set judge.model")
        for i, score in zip(prompt.shown, found, strict=True):
            scores[i] = None if score is None else score / HIGHEST
    return Judged(tuple(scores), prompt.held, hint="a larger model forgets less: set judge.model")


def _shape(count: int) -> dict[str, Any]:
    """A score for every number: small models otherwise forget some, or talk of something else."""
    score = {"type": "integer", "minimum": 0, "maximum": int(HIGHEST)}
    numbers = [str(number) for number in range(count)]
    properties = dict.fromkeys(numbers, score)
    return {"type": "object", "properties": properties, "required": numbers, "additionalProperties": False}
