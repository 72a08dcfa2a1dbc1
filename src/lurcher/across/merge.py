"""The lists of several sources as one: each hit by its source's strength and its share of the source's best score.

The order within a source is kept, so that `--in all` never disagrees with `--in code` about code. The first hit of the
strongest source has the score that its source gives it, so that a weak answer looks weak here too.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lurcher.across.strength import Strength, strengths_of
from lurcher.answering import Findings
from lurcher.budget import cursor as cursors
from lurcher.index.reader import Snapshot
from lurcher.rerank.reranker import Candidate
from lurcher.rerank.second import Factor
from lurcher.settings.rankings import AcrossSettings
from lurcher.types import Hit, Query, StageWhy, Why


def merged(parts: Sequence[Findings], query: Query, snapshot: Snapshot, settings: AcrossSettings) -> Findings:
    """What several sources found as one; the first of them says how the question was read."""
    strengths = strengths_of(parts, query.text, snapshot, settings)
    listing = Merged(parts, strengths, query.limit)
    first = parts[0]
    coverage = {name: value for part in parts for name, value in part.index.coverage.items()}
    index = replace(first.index, fresh=all(part.index.fresh for part in parts), coverage=coverage)
    return Findings(
        tuple(source for part in parts for source in part.sources), listing, first.mode, first.intent, first.ranking, index,
        cursors.joined([part.print_ for part in parts]), tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        factors={name: listing.factor(name) for part in parts for name in part.factors},
    )  # fmt: skip


_ROOM = 5
"""Hits of a page for each source that must be on it: on a short page the best hits are worth more than variety."""


class Merged:
    """Hits of all sources, best first; those of a source that has something to say are on the first page."""

    def __init__(self, parts: Sequence[Findings], strengths: Sequence[Strength], limit: int) -> None:
        self._parts, self._strengths = parts, strengths
        self._tops = [part.listing.score(0) if len(part.listing) else 0.0 for part in parts]
        firsts = [(strengths[part].value, min(1.0, top)) for part, top in enumerate(self._tops) if top > 0]
        strength, score = max(firsts, default=(0.0, 1.0))
        self._scale = score / strength if strength > 0 else 1.0
        """Brings the first hit of the strongest source that has one to the score that it has there."""
        # It does not refer to what holds it: a cycle would keep the snapshot, and its files, for longer than the answer.
        self._merging = _in_order(parts, strengths, self._tops, self._scale, limit)
        self._order: list[tuple[float, int, int]] = []

    def _scored(self, part: int, i: int) -> float:
        return self._scale * _calibrated(self._parts[part], self._strengths[part], self._tops[part], i)

    def _at(self, i: int) -> tuple[float, int, int]:
        while len(self._order) <= i:
            self._order.append(next(self._merging))
        return self._order[i]

    def __len__(self) -> int:
        return sum(len(part.listing) for part in self._parts)

    def score(self, i: int) -> float:
        return self._at(i)[0]

    def cost(self, i: int) -> int:
        _, part, position = self._at(i)
        return self._parts[part].listing.cost(position)

    def candidate(self, i: int) -> Candidate:
        score, part, position = self._at(i)
        return replace(self._parts[part].listing.candidate(position), score=score)

    def location(self, i: int) -> str:
        _, part, position = self._at(i)
        return self._parts[part].listing.location(position)

    def why(self, i: int) -> Why:
        score, part, position = self._at(i)
        return self._told(self._parts[part].listing.why(position), score, part, position)

    def hit(self, i: int) -> Hit:
        score, part, position = self._at(i)
        hit = self._parts[part].listing.hit(position)
        return replace(hit, score=score, why=self._told(hit.why, score, part, position))

    def _told(self, why: Why, score: float, part: int, position: int) -> Why:
        own, calibrated = self._parts[part].listing.score(position), self._scored(part, position)
        factor = calibrated / own if own else 1.0
        stages = [*why.stages, StageWhy("source", factor=factor, note=self._strengths[part].note)]
        if score < calibrated - 1e-12:
            stages.append(StageWhy("floor", note="behind a source that is heard once on the first page"))
        return replace(why, stages=tuple(stages))

    def factor(self, name: str) -> tuple[int, Factor]:
        """A second look that some source has of its own; hits of others are left as they are."""
        own = {part: found.factors[name] for part, found in enumerate(self._parts) if name in found.factors}

        def factor(i: int) -> tuple[float, str]:
            _, part, position = self._at(i)
            return own[part][1](position) if part in own else (1.0, "")

        return max(most for most, _ in own.values()), factor


def _calibrated(part: Findings, strength: Strength, top: float, i: int) -> float:
    """What a hit of a source counts beside those of others."""
    return strength.of(part.listing.score(i) / top if top > 0 else 1.0)


def _in_order(
    parts: Sequence[Findings], strengths: Sequence[Strength], tops: Sequence[float], scale: float, limit: int
) -> Iterator[tuple[float, int, int]]:
    """(score, part, position) of every hit; of equals the one of the earlier source."""

    def scored(part: int, i: int) -> float:
        return scale * _calibrated(parts[part], strengths[part], tops[part], i)

    waiting = [(-scored(part, 0), part, 0) for part, found in enumerate(parts) if len(found.listing)]
    heapq.heapify(waiting)
    heard = [part for part, strength in enumerate(strengths) if strength.relevant and tops[part] > 0]
    owed = set(sorted(heard, key=lambda part: -strengths[part].value)[: limit // _ROOM])
    given, floor = 0, 1.0
    while waiting:
        if owed and given >= limit - len(owed):
            # The page ends here: who has something relevant and was not heard yet has its best hit on it.
            late = [entry for entry in waiting if entry[1] in owed]
            score, part, i = min(late)
            waiting.remove((score, part, i))
            heapq.heapify(waiting)
        else:
            score, part, i = heapq.heappop(waiting)
        owed.discard(part)
        given += 1
        floor = min(floor, -score)
        yield floor, part, i
        if i + 1 < len(parts[part].listing):
            heapq.heappush(waiting, (-scored(part, i + 1), part, i + 1))
