"""How much a source has to say about a question, on one scale for all sources.

Code is what questions are about unless something speaks against it, so it is 0 on the scale and the others are told as odds
against it, in logarithms. What speaks for notes: the code's best hit scores low, notes say words of the question that the
code does not, and the question asks for advice. What speaks for history: the question asks about the past, or complains.
The weights were fitted on questions about code, documents and commits of 36 repositories and rounded; they are kept low
enough that a question about code loses little (see benchmarks/across.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from lurcher.answering import Findings, Listing
from lurcher.index.reader import Snapshot
from lurcher.planning.groups import expand, query_terms
from lurcher.planning.intent import REPORT, SYMBOL, wants_change
from lurcher.settings.rankings import AcrossSettings

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


def strengths_of(parts: Sequence[Findings], text: str, snapshot: Snapshot, settings: AcrossSettings) -> list[Strength]:
    """One for each part, the best being 1."""
    rarity = _rarities(snapshot, text)
    said = {part.sources[0]: _said(part.listing, rarity) for part in parts}
    best = {part.sources[0]: _best(part) for part in parts}
    intents = {part.intent for part in parts if part.sources[0] == "code"}
    odds = {"code": 0.0}
    code, words = best.get("code", 0.0), said.get("code", 0.0)
    named = float(SYMBOL in intents)
    if "notes" in said:
        odds["notes"] = settings.notes - 7 * code + 1.5 * best["notes"] - 2.5 * words + 2.2 * said["notes"] - 0.65 * named
        odds["notes"] += 12 * max(0.0, said["notes"] - words - _FAR_MORE)
        odds["notes"] += settings.advice * (_FOR_ADVICE.search(text) is not None)
        if REPORT in intents:
            odds["notes"] = min(odds["notes"], settings.report)
    if "history" in said:
        odds["history"] = settings.history - code + 1.5 * (said["history"] - words) - named
        odds["history"] += settings.past * _about_the_past(text) + settings.complaint * wants_change(text)
    values = {source: exp(settings.steep * odds[source]) for source in said}
    highest = max(values.values())
    return [
        Strength(
            values[source] / highest, _FADING[source], said[source] >= settings.floor,
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
    return part.listing.score(0) if own else _USUAL[source]


def _rarities(snapshot: Snapshot, text: str) -> dict[str, float]:
    """How rare each word of the question is in the files; their sum is 1."""
    total = snapshot.unit_count
    found: dict[str, float] = {}
    for group in expand(snapshot, query_terms(text).items()):
        having = sum(len(snapshot.postings(family, form)[0])
                     for form in (group.word, *group.forms) for family in ("body", "comments"))  # fmt: skip
        found[group.word] = log(1 + (total + 1) / (min(having, total) + 0.5))
    whole = sum(found.values()) or 1.0
    return {word: value / whole for word, value in found.items()}


def _said(listing: Listing, rarity: Mapping[str, float]) -> float:
    """The share of the question that one of the first hits says, by how rare its words are."""
    best = 0.0
    for i in range(min(_LOOKED_AT, len(listing))):
        words = {word for lane in listing.why(i).lanes.values() for word in lane.terms}
        best = max(best, sum(value for word, value in rarity.items() if word in words))
    return best
