"""The verdict on every commit, with how sure it is and what speaks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.outcomes.fixes import Fix
from lurcher.corpora.history.outcomes.reverts import Reversal, Told, reversals

REVERTED, HOTFIXED, SUCCESS = "reverted", "hotfixed", "success"
VERDICTS = (REVERTED, HOTFIXED, SUCCESS)
PARTLY_REVERTED, REVERT_UNDONE, MENDED, FOLLOWED = "partly-reverted", "revert-undone", "mended", "followed"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One later commit that bears on a verdict."""

    kind: str
    """reverted, partly-reverted, revert-undone, mended (it rewrote lines of this one), or followed (it says it fixes)."""
    sha: str
    date: int
    """Seconds since 1970."""
    author: str
    note: str
    """Why, in the later commit's words."""
    how: str = ""
    """How a revert names what it takes back."""
    confidence: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "confidence": self.confidence,
            "evidence": [entry.to_dict() for entry in self.evidence],
        }


STANDING = Outcome(SUCCESS, 0.9)
"""What is said of most commits."""
_LEAST_STANDING = 0.5
_MOST_FOLLOWED = 3


class Verdicts:
    """The outcomes of a history."""

    def __init__(self, marked: Mapping[str, Outcome], total: int) -> None:
        self._marked = dict(marked)
        self._total = total

    def of(self, sha: str) -> Outcome:
        """A commit's outcome; most have stood unremarked."""
        return self._marked.get(sha, STANDING)

    @property
    def marked(self) -> Mapping[str, Outcome]:
        """Those of which more is to be said than that they stand."""
        return self._marked

    def faulted(self) -> dict[str, str]:
        """The verdicts on those that did not simply stand."""
        return {sha: outcome.verdict for sha, outcome in self._marked.items() if outcome.verdict != SUCCESS}

    def mix(self) -> dict[str, int]:
        """How many commits have each verdict."""
        counts = dict.fromkeys(VERDICTS, 0)
        for outcome in self._marked.values():
            counts[outcome.verdict] += 1
        counts[SUCCESS] = self._total - counts[REVERTED] - counts[HOTFIXED]
        return counts


def judge(commits: Sequence[Told], fixes: Iterable[Fix], settings: OutcomeSettings) -> Verdicts:
    """The verdicts on commits, given newest first. Merges among them bear witness and are not counted."""
    loose = settings.strictness == "loose"
    taken_back = _by_subject_alone(commits) if loose else reversals(commits)
    mended: dict[str, list[Fix]] = {}
    for fix in fixes:
        mended.setdefault(fix.earlier, []).append(fix)
    by_sha = {commit.sha: commit for commit in commits}
    marked: dict[str, Outcome] = {}
    total = 0
    for commit in commits:
        if len(commit.parents) < 2:
            reverts, later = taken_back.get(commit.sha, ()), mended.get(commit.sha, ())
            if reverts or later:
                marked[commit.sha] = _outcome(reverts, later, by_sha, loose)
            elif total < settings.window:
                # Nobody has had the time to find fault with it.
                sure = _LEAST_STANDING + (STANDING.confidence - _LEAST_STANDING) * total / settings.window
                marked[commit.sha] = Outcome(SUCCESS, round(sure, 3))
            total += 1
        elif commit.sha in taken_back:
            marked[commit.sha] = _outcome(taken_back[commit.sha], (), by_sha, loose)
            total += 1
    return Verdicts(marked, total)


def _outcome(reverts: Sequence[Reversal], fixes: Sequence[Fix], by_sha: Mapping[str, Told], loose: bool) -> Outcome:
    evidence = [_of_revert(entry) for entry in reverts]
    whole = [entry for entry in evidence if entry.kind == REVERTED]
    near = sorted(fixes, key=lambda fix: (not fix.strict, -fix.confidence, fix.distance, fix.later))
    mending = [_of_fix(fix, by_sha) for fix in near if fix.strict]
    following = [_of_fix(fix, by_sha) for fix in near if not fix.strict][:_MOST_FOLLOWED]
    evidence += mending + following
    partial = [entry for entry in evidence if entry.kind == PARTLY_REVERTED]
    said = tuple(evidence)
    if whole:
        return Outcome(REVERTED, max(entry.confidence for entry in whole), said)
    if loose and (mending or following):
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*mending, *following)), said)
    if mending or partial:
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*mending, *partial)), said)
    doubt = max((entry.confidence for entry in following), default=0.0)
    return Outcome(SUCCESS, round(STANDING.confidence * (1 - doubt), 3), said)


def _of_revert(entry: Reversal) -> Evidence:
    kind = REVERT_UNDONE if not entry.stands else PARTLY_REVERTED if entry.partial else REVERTED
    # A part that is taken back is a part that was wrong; the message does not say how much of the whole that is.
    sure = round(entry.confidence * 0.6, 3) if kind == PARTLY_REVERTED else entry.confidence
    return Evidence(kind, entry.by, entry.when, entry.who, entry.why, entry.how, sure)


def _of_fix(fix: Fix, by_sha: Mapping[str, Told]) -> Evidence:
    later = by_sha.get(fix.later)
    lines = f"; rewrites {fix.rewritten} line{'s' if fix.rewritten != 1 else ''} of it" if fix.rewritten else ""
    note = (later.subject if later else "") + lines
    when, who = (later.authored, later.author) if later else (0, "")
    return Evidence(MENDED if fix.strict else FOLLOWED, fix.later, when, who, note, confidence=fix.confidence)


def _by_subject_alone(commits: Sequence[Told]) -> dict[str, tuple[Reversal, ...]]:
    """The loose rule: a later subject is `Revert "<this subject>"`."""
    later: dict[str, Told] = {}
    found: dict[str, tuple[Reversal, ...]] = {}
    for commit in commits:
        by = later.get(f'Revert "{commit.subject}"')
        if by is not None:
            found[commit.sha] = (Reversal(commit.sha, by.sha, by.authored, by.author, "", "subject", 0.95),)
        later[commit.subject] = commit
    return found

# ----------------------------------------------------------------------------------------------------------------------
# By which rules outcomes are found: what others found by other rules does not serve.


def rules_of(settings: OutcomeSettings) -> dict[str, Any]:
    return asdict(settings)


def rules_text(settings: OutcomeSettings) -> str:
    """The rules as one comparable text."""
    return "\n".join(f"{name}={value}" for name, value in rules_of(settings).items())
