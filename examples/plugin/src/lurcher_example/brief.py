"""A reranker: of hits that answer about as well, the shorter one first."""

from lurcher.config import Settings
from lurcher.rerank.stage import Judged, Request


def top(settings: Settings) -> int:
    return 20


def rerank(request: Request) -> Judged:
    return Judged(tuple(1 / (1 + len(candidate.text) / 1000) for candidate in request.candidates))
