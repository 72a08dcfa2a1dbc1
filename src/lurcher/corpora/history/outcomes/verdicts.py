"""Decides what became of every commit: reverted, hotfixed or success, with a confidence and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.outcomes.fixes import Fix
from lurcher.corpora.history.outcomes.reverts import MessageLike, Revert, find_reverts
from lurcher.types import HOTFIXED, REVERTED, SUCCESS, VERDICTS

PARTLY_REVERTED, REVERT_UNDONE, FIXED, POSSIBLY_FIXED = "partly-reverted", "revert-undone", "mended", "followed"
"""Kinds of evidence besides REVERTED, as they appear in JSON: FIXED by the strict rule, POSSIBLY_FIXED by the loose one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A later commit that supports or weakens a verdict."""

    kind: str
    """reverted, partly-reverted, revert-undone, mended (it rewrote lines of this one), or followed (it mentions a fix)."""
    sha: str
    date: int
    """Seconds since 1970."""
    author: str
    note: str
    """The reason, in the words of the later commit."""
    how: str = ""
    """How a revert refers to what it reverts: sha, subject, number or merge."""
    confidence: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a commit."""

    verdict: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "confidence": self.confidence,
            "evidence": [entry.to_dict() for entry in self.evidence],
        }


DEFAULT_OUTCOME = Outcome(SUCCESS, 0.9)
"""The outcome of a commit without any evidence."""
_MIN_SUCCESS_CONFIDENCE = 0.5
"""The confidence in the success of the newest commit."""
_MAX_POSSIBLE_FIXES = 3


class Verdicts:
    """The outcomes of all commits of a history, by hash."""

    def __init__(self, recorded: Mapping[str, Outcome], total: int) -> None:
        self._recorded = dict(recorded)
        self._total = total

    def outcome_of(self, sha: str) -> Outcome:
        """The outcome of a commit; DEFAULT_OUTCOME if nothing is recorded."""
        return self._recorded.get(sha, DEFAULT_OUTCOME)

    @property
    def recorded(self) -> Mapping[str, Outcome]:
        """The outcomes that are not the default."""
        return self._recorded

    def failed(self) -> dict[str, str]:
        """The verdicts other than success, by hash."""
        return {sha: outcome.verdict for sha, outcome in self._recorded.items() if outcome.verdict != SUCCESS}

    def counts(self) -> dict[str, int]:
        """Number of commits with each verdict."""
        counts = dict.fromkeys(VERDICTS, 0)
        for outcome in self._recorded.values():
            counts[outcome.verdict] += 1
        counts[SUCCESS] = self._total - counts[REVERTED] - counts[HOTFIXED]
        return counts


def decide_verdicts(commits: Sequence[MessageLike], fixes: Iterable[Fix], settings: OutcomeSettings) -> Verdicts:
    """Decide the verdicts on commits, given newest first. Merges serve as evidence only, unless they were reverted."""
    loose = settings.strictness == "loose"
    reverts_of = _reverts_by_subject(commits) if loose else find_reverts(commits)
    fixes_of: dict[str, list[Fix]] = {}
    for fix in fixes:
        fixes_of.setdefault(fix.earlier, []).append(fix)
    by_sha = {commit.sha: commit for commit in commits}
    recorded: dict[str, Outcome] = {}
    total = 0
    for commit in commits:
        if len(commit.parents) < 2:
            reverts, later = reverts_of.get(commit.sha, ()), fixes_of.get(commit.sha, ())
            if reverts or later:
                recorded[commit.sha] = _decide(reverts, later, by_sha, loose)
            elif total < settings.window:
                # It is too recent for a fix to be expected yet: the confidence grows with its age.
                gain = (DEFAULT_OUTCOME.confidence - _MIN_SUCCESS_CONFIDENCE) * total / settings.window
                recorded[commit.sha] = Outcome(SUCCESS, round(_MIN_SUCCESS_CONFIDENCE + gain, 3))
            total += 1
        elif commit.sha in reverts_of:
            recorded[commit.sha] = _decide(reverts_of[commit.sha], (), by_sha, loose)
            total += 1
    return Verdicts(recorded, total)


def _decide(reverts: Sequence[Revert], fixes: Sequence[Fix], by_sha: Mapping[str, MessageLike], loose: bool) -> Outcome:
    """The outcome of a commit with evidence: a full revert decides first, then strict fixes and partial reverts."""
    evidence = [_revert_evidence(entry) for entry in reverts]
    whole = [entry for entry in evidence if entry.kind == REVERTED]
    near = sorted(fixes, key=lambda fix: (not fix.strict, -fix.confidence, fix.distance, fix.later))
    strict = [_fix_evidence(fix, by_sha) for fix in near if fix.strict]
    possible = [_fix_evidence(fix, by_sha) for fix in near if not fix.strict][:_MAX_POSSIBLE_FIXES]
    evidence += strict + possible
    partial = [entry for entry in evidence if entry.kind == PARTLY_REVERTED]
    all_evidence = tuple(evidence)
    if whole:
        return Outcome(REVERTED, max(entry.confidence for entry in whole), all_evidence)
    if loose and (strict or possible):
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*strict, *possible)), all_evidence)
    if strict or partial:
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*strict, *partial)), all_evidence)
    doubt = max((entry.confidence for entry in possible), default=0.0)
    return Outcome(SUCCESS, round(DEFAULT_OUTCOME.confidence * (1 - doubt), 3), all_evidence)


def _revert_evidence(entry: Revert) -> Evidence:
    kind = REVERT_UNDONE if not entry.stands else PARTLY_REVERTED if entry.partial else REVERTED
    # Only a part was wrong, and the message does not say how large it is.
    confidence = round(entry.confidence * 0.6, 3) if kind == PARTLY_REVERTED else entry.confidence
    return Evidence(kind, entry.by, entry.when, entry.who, entry.why, entry.how, confidence)


def _fix_evidence(fix: Fix, by_sha: Mapping[str, MessageLike]) -> Evidence:
    later = by_sha.get(fix.later)
    lines = f"; rewrites {fix.rewritten} line{'s' if fix.rewritten != 1 else ''} of it" if fix.rewritten else ""
    note = (later.subject if later else "") + lines
    when, who = (later.authored, later.author) if later else (0, "")
    return Evidence(FIXED if fix.strict else POSSIBLY_FIXED, fix.later, when, who, note, confidence=fix.confidence)


def _reverts_by_subject(commits: Sequence[MessageLike]) -> dict[str, tuple[Revert, ...]]:
    """Reverts by the loose rule: a later commit has the subject `Revert "<this subject>"`."""
    later: dict[str, MessageLike] = {}
    found: dict[str, tuple[Revert, ...]] = {}
    for commit in commits:
        by = later.get(f'Revert "{commit.subject}"')
        if by is not None:
            found[commit.sha] = (Revert(commit.sha, by.sha, by.authored, by.author, "", "subject", 0.95),)
        later[commit.subject] = commit
    return found


def rules_dict(settings: OutcomeSettings) -> dict[str, Any]:
    """The rules by which outcomes are found, as they are stored with the outcomes."""
    return asdict(settings)


def rules_text(settings: OutcomeSettings) -> str:
    """The rules by which outcomes are found, as one text: outcomes found by other rules are not used."""
    return "\n".join(f"{name}={value}" for name, value in rules_dict(settings).items())
