"""One answer out of several corpora: code, history and notes."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Protocol

from lurcher import answer as cursors
from lurcher.answer import Findings, Listing, add_notes
from lurcher.corpora.code import code_query
from lurcher.errors import CorruptIndex, LurcherError, PathError, Template, UsageError
from lurcher.query import REPORT, SYMBOL, Query, expand, extract_terms, requests_change
from lurcher.rerank.stage import Candidate, Factor
from lurcher.runtime.process import Stopwatch
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Answer, Degraded, Hit, StageWhy, Why

if TYPE_CHECKING:
    from lurcher.corpora import SearchRequest, Services
    from lurcher.corpora.history.corpus import HistoryCorpus
    from lurcher.corpora.notes.corpus import NotesCorpus

    class CodeFinder(Protocol):
        """What is needed of a corpus of code."""

        def findings(self, query: Query, request: SearchRequest, clock: Stopwatch) -> Findings: ...


class Federation:
    """Code, history and notes of one workspace as one answer."""

    def __init__(self, services: Services, code: CodeFinder, history: HistoryCorpus, notes: NotesCorpus) -> None:
        self._services, self._workspace = services, services.workspace
        self._code, self._history, self._notes = code, history, notes

    def search(self, request: SearchRequest, sources: Sequence[str]) -> Answer:
        """The best hits of some sources together, each hit linked with those of other sources that belong to it."""
        clock = Stopwatch()
        query = code_query(request, self._services, commits="history" in sources)
        # Patterns are for files alone; the other sources read the text as words then.
        mode = query.mode if query.mode in ("auto", "hybrid", "lexical", "dense") else "auto"
        others = request.replace(text=query.text, mode=mode, ranking=None, rerank=(), cursor=None)

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            views = None if damage else request.views  # what turned out to be damaged has been rebuilt
            if views is None:
                views = self._workspace.views(request.progress, refresh=request.refresh, check=request.check)
            clock.lap("refresh")
            parts: list[Findings] = []
            if "code" in sources:
                seen = request.replace(views=views)
                parts.append(self._code.findings(query.replace(prose="notes" not in sources), seen, clock))
                if not parts[0].reranked:
                    # Exact text and syntax are looked for in files, notes among them; commits cannot be searched so.
                    whole = self._code.findings(query, seen, clock)
                    reason = f"files alone are searched by {whole.mode} patterns"
                    note = Degraded("history", reason, Template("use {mode=hybrid}"))
                    answer = self._services.page(whole, query, clock)
                    return add_notes(answer, damage + (note,) * ("history" in sources))
            commits, problems = self._commits(others, clock) if "history" in sources else (None, ())
            if commits is not None:
                parts.append(commits)
            if "notes" in sources:
                parts.append(self._notes.find(others.replace(views=views), clock))
            snapshot = self._workspace.snapshot(views)
            found = merged(parts, query, snapshot)
            clock.lap("merge")
            answer = self._services.page(found, query, clock)
            if request.links:
                answer = self._add_links(answer, snapshot, request, commits is not None)
                clock.lap("links")
            return add_notes(answer, damage + problems)

        return self._workspace.with_repair(attempt, request.progress).replace(timings_ms=clock.total())

    def _commits(self, request: SearchRequest, clock: Stopwatch) -> tuple[Findings | None, tuple[Degraded, ...]]:
        """What history has; where it cannot be read, None and a note: the other sources answer."""
        try:
            return self._history.find(request, clock), ()
        except PathError as problem:
            return None, (Degraded("history", problem.message, ""),)
        except (UsageError, CorruptIndex):
            raise  # damage is repaired
        except LurcherError as problem:
            return None, (Degraded("history", problem.message, problem.hint),)

    def _add_links(self, answer: Answer, snapshot: Snapshot, request: SearchRequest, commits: bool) -> Answer:
        from lurcher.corpora.links import Linker

        roots = self._history.roots(refresh=False, progress=request.progress) if commits else []
        return answer.replace(hits=tuple(map(Linker(snapshot, roots).linked, answer.hits)))


# -- merging -----------------------------------------------------------------------------------------------------------


def merged(parts: Sequence[Findings], query: Query, snapshot: Snapshot) -> Findings:
    """The findings of several sources as one; the first of them says how the question was read.

    Each hit is scored by its source's strength and its share of the source's best score. The order within a source stays, so
    that `--in all` never disagrees with `--in code` about code. The first hit of the strongest source has the score that its
    source gives it, so that a weak answer looks weak here too.
    """
    strengths = strengths_of(parts, query.text, snapshot)
    listing = Merged(parts, strengths, query.limit)
    first = parts[0]
    coverage = {name: value for part in parts for name, value in part.index.coverage.items()}
    index = first.index.replace(fresh=all(part.index.fresh for part in parts), coverage=coverage)
    return Findings(
        tuple(source for part in parts for source in part.sources), listing, first.mode, first.intent, first.ranking, index,
        cursors.combine_fingerprints([part.fingerprint for part in parts]),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        factors={name: listing.factor(name) for part in parts for name in part.factors},
    )  # fmt: skip


_ROOM = 5
"""Hits of a page for each source that must be on it: on a short page the best hits are worth more than variety."""


class Merged(Listing):
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

    def _scale_score(self, part: int, i: int) -> float:
        return self._scale * _calibrate_score(self._parts[part], self._strengths[part], self._tops[part], i)

    def _at(self, i: int) -> tuple[float, int, int]:
        while len(self._order) <= i:
            self._order.append(next(self._merging))
        return self._order[i]

    def __len__(self) -> int:
        return sum(len(part.listing) for part in self._parts)

    def score(self, i: int) -> float:
        return self._at(i)[0]

    def _place(self, i: int) -> tuple[Listing, int]:
        _, part, position = self._at(i)
        return self._parts[part].listing, position

    def _positions(self, members: Sequence[int]) -> list[int]:
        return [self._at(i)[2] for i in members]

    def cost(self, i: int) -> int:
        listing, position = self._place(i)
        return listing.cost(position)

    def group(self, i: int) -> tuple[int, object]:
        listing, position = self._place(i)
        return self._at(i)[1], listing.group(position)

    def join(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        here = dict(zip(self._positions(members), members, strict=True))
        return [tuple(here[i] for i in run) for run in self._place(members[0])[0].join(list(here))]

    def add(self, i: int, members: Sequence[int]) -> tuple[int, int]:
        listing, position = self._place(i)
        return listing.add(position, self._positions(members))

    def widen(self, i: int, members: Sequence[int], left: int) -> int:
        listing, position = self._place(i)
        return listing.widen(position, self._positions(members), left)

    def candidate(self, i: int) -> Candidate:
        score, part, position = self._at(i)
        return replace(self._parts[part].listing.candidate(position), score=score)

    def location(self, i: int) -> str:
        _, part, position = self._at(i)
        return self._parts[part].listing.location(position)

    def why(self, i: int) -> Why:
        score, part, position = self._at(i)
        return self._extend_why(self._parts[part].listing.why(position), score, part, position)

    def hit(self, i: int, joined: Sequence[int] = ()) -> Hit:
        score, part, position = self._at(i)
        hit = self._parts[part].listing.hit(position, self._positions(joined))
        return hit.replace(score=score, why=self._extend_why(hit.why, score, part, position))

    def _extend_why(self, why: Why, score: float, part: int, position: int) -> Why:
        own, calibrated = self._parts[part].listing.score(position), self._scale_score(part, position)
        factor = calibrated / own if own else 1.0
        stages = [*why.stages, StageWhy("source", factor=factor, note=self._strengths[part].note)]
        if score < calibrated - 1e-12:
            stages.append(StageWhy("floor", note="behind a source that is heard once on the first page"))
        return why.replace(stages=tuple(stages))

    def factor(self, name: str) -> tuple[int, Factor]:
        """A second look that some source has of its own; hits of others are left as they are."""
        own = {part: found.factors[name] for part, found in enumerate(self._parts) if name in found.factors}

        def factor(i: int) -> tuple[float, str]:
            _, part, position = self._at(i)
            return own[part][1](position) if part in own else (1.0, "")

        return max(most for most, _ in own.values()), factor


def _calibrate_score(part: Findings, strength: Strength, top: float, i: int) -> float:
    """What a hit of a source counts beside those of others."""
    return strength.of(part.listing.score(i) / top if top > 0 else 1.0)


def _in_order(
    parts: Sequence[Findings], strengths: Sequence[Strength], tops: Sequence[float], scale: float, limit: int
) -> Iterator[tuple[float, int, int]]:
    """(score, part, position) of every hit; of equals the one of the earlier source."""

    def scale_score(part: int, i: int) -> float:
        return scale * _calibrate_score(parts[part], strengths[part], tops[part], i)

    waiting = [(-scale_score(part, 0), part, 0) for part, found in enumerate(parts) if len(found.listing)]
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
            heapq.heappush(waiting, (-scale_score(part, i + 1), part, i + 1))


# -- strength of a source ----------------------------------------------------------------------------------------------
#
# How much a source has to say about a question, on one scale for all sources: code is 0, the others are log odds against it.
# What speaks for notes: the code's best hit scores low, notes have words of the question that the code lacks, and the question
# asks for advice. What speaks for history: the question asks about the past, or complains. The weights were fitted on questions
# about code, documents and commits of 36 repositories and rounded; they are kept low enough that a question about code loses
# little (see benchmarks/across.py).


_OF_THE_PAST = re.compile(
    r"\b(?:did|didn't|wasn't|weren't|hadn't|have we|has any(?:one|body)|(?:why|when|where|how) (?:was|were|had)|since when|who"
    r"|ever|any(?:one|body)|some(?:one|body)|tried|used to|previously|originally|went wrong|what (?:made|caused|happened)"
    r"|gave up|in the past|over the years|back then|no longer|any ?more)\b",
    re.IGNORECASE,
)
_OF_CHANGE = re.compile(
    r"\b(?:commits?|revert\w*|regress\w+|introduced|changed|changelog|decision|decided|removed|dropped|replaced|renamed"
    r"|switched|withdrawn|undone|fixed)\b",
    re.IGNORECASE,
)
"""Words of change, which may be what code is about as well: it removes entries and commits transactions."""
_FOR_REASONS = re.compile(r"\bwhy\b", re.IGNORECASE)
_FOR_ADVICE = re.compile(
    r"\bhow (?:do|can|should|would|could) (?:i|we|you|one)\b|\bhow to\b|\b(?:my|our)\b"
    r"|\b(?:guide|guidelines?|tutorial|getting started|walkthrough|best practices?|runbook|rfc|meeting|glossary|faq|readme)\b",
    re.IGNORECASE,
)
# Odds against code, in logarithms, before words are weighed.
NOTES = 0.4
"""For notes."""
ADVICE = 2.0
"""For notes, where the query asks for advice."""
NOTES_REPORT = -1.5
"""For notes at most, where the query is a report of many lines."""
HISTORY = -1.5
"""For history."""
PAST = 5.0
"""For history, where the query asks about the past."""
COMPLAINT = 2.0
"""For history, where the query complains of a fault."""
STEEP = 0.7
"""How much odds count."""
FLOOR = 0.6
"""Share of the query's words, by rarity, that a source must have to be on the first page."""
_LOOKED_AT = 3
"""Hits of each source that are looked at for what they say."""
_FAR_MORE = 0.5
"""By so much of the question notes must say more than the code for that to count for itself."""
_USUAL = {"code": 0.45, "history": 0.45, "notes": 0.55}
"""What the best hit scores as a rule; stands in where a ranking has another scale."""
_FADING = {"code": 1.0, "history": 3.0, "notes": 4.0}
"""Powers of a hit's share of its source's best score: behind the best one, other sources fade fast beside code."""


@dataclass(frozen=True, slots=True)
class Strength:
    value: float
    """From 0 to 1: what its best hit counts."""
    fading: float
    relevant: bool
    """Whether it is heard on the first page, however little it counts beside the others."""
    note: str

    def of(self, share: float) -> float:
        """What a hit counts that has this share of the best hit's score."""
        return float(self.value * share**self.fading)


def strengths_of(parts: Sequence[Findings], text: str, snapshot: Snapshot) -> list[Strength]:
    """One for each part, the best being 1."""
    rarity = _rarities(snapshot, text)
    said = {part.sources[0]: _share_of_question(part.listing, rarity) for part in parts}
    best = {part.sources[0]: _best(part) for part in parts}
    intents = {part.intent for part in parts if part.sources[0] == "code"}
    odds = {"code": 0.0}
    code, words = best.get("code", 0.0), said.get("code", 0.0)
    named = float(SYMBOL in intents)
    if "notes" in said:
        odds["notes"] = NOTES - 7 * code + 1.5 * best["notes"] - 2.5 * words + 2.2 * said["notes"] - 0.65 * named
        odds["notes"] += 12 * max(0.0, said["notes"] - words - _FAR_MORE)
        odds["notes"] += ADVICE * (_FOR_ADVICE.search(text) is not None)
        if REPORT in intents:
            odds["notes"] = min(odds["notes"], NOTES_REPORT)
    if "history" in said:
        odds["history"] = HISTORY - code + 1.5 * (said["history"] - words) - named
        odds["history"] += PAST * _about_the_past(text) + COMPLAINT * requests_change(text)
    values = {source: exp(STEEP * odds[source]) for source in said}
    for part in parts:  # a history of which only the newest commits are searched counts for less
        if part.sources[0] == "history" and part.confidence is not None:
            values["history"] *= part.confidence.weight
    highest = max(values.values())
    return [
        Strength(
            values[source] / highest, _FADING[source], said[source] >= FLOOR,
            f"says {round(100 * said[source])} % of the question's words, by how rare they are",
        )
        for source in said
    ]  # fmt: skip


def _about_the_past(text: str) -> float:
    """1 for a question about the past; less for one that asks for reasons, which commits often tell, or speaks of change."""
    if _OF_THE_PAST.search(text):
        return 1.0
    return 0.5 * (_FOR_REASONS.search(text) is not None) + 0.25 * (_OF_CHANGE.search(text) is not None)


def _best(part: Findings) -> float:
    source = part.sources[0]
    if not len(part.listing):
        return 0.0
    own = part.ranking in ("default", "notes") and part.mode != "dense"
    # The odds were fitted with scores that say nothing of how likely the answer is there.
    weight = part.confidence.weight if part.confidence is not None else 1.0
    return part.listing.score(0) / weight if own else _USUAL[source]


def _rarities(snapshot: Snapshot, text: str) -> dict[str, float]:
    """How rare each word of the question is in the files; their sum is 1."""
    total = snapshot.unit_count
    found: dict[str, float] = {}
    for group in expand(snapshot, extract_terms(text).items()):
        having = sum(len(snapshot.postings(family, form)[0])
                     for form in (group.word, *group.forms) for family in ("body", "comments"))  # fmt: skip
        found[group.word] = log(1 + (total + 1) / (min(having, total) + 0.5))
    whole = sum(found.values()) or 1.0
    return {word: value / whole for word, value in found.items()}


def _share_of_question(listing: Listing, rarity: Mapping[str, float]) -> float:
    """The share of the question that one of the first hits says, by how rare its words are."""
    best = 0.0
    for i in range(min(_LOOKED_AT, len(listing))):
        words = {word for lane in listing.why(i).lanes.values() for word in lane.terms}
        best = max(best, sum(value for word, value in rarity.items() if word in words))
    return best
