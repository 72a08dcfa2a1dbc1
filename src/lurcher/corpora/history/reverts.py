"""Finds reverted commits: by which commit, why, and whether the revert was reverted in turn.

Commits are given newest first, as git lists them. Whether a revert is still in effect depends on newer commits only, so one
pass from the newest decides all of them, however deep reverts of reverts go.

A message can refer to a commit in three ways: by hash (`This reverts commit 1234abcd.`), by subject (`Revert "Add a cache"`),
and by the number of the pull request (`Reverts owner/repo#12`). Only a direct object counts: `it was reverted in 1234abcd`
names the commit that reverted something, not what it reverted.
"""

from __future__ import annotations

import bisect
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

SHA, SUBJECT, NUMBER, MERGE = "sha", "subject", "number", "merge"
"""How a revert refers to what it reverts; MERGE: it reverts the merge that brought the commit."""


class MessageLike(Protocol):
    """The part of a commit that is needed here: no changes."""

    @property
    def sha(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def author(self) -> str: ...
    @property
    def authored(self) -> int: ...
    @property
    def subject(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def trailers(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(frozen=True, slots=True)
class Revert:
    """A commit and the commit that reverted it."""

    sha: str
    """The reverted commit."""
    by: str
    """The reverting commit; the following fields are about it."""
    when: int
    """Seconds since 1970."""
    who: str
    why: str
    """Its message without boilerplate; may be empty."""
    how: str
    """SHA, SUBJECT, NUMBER or MERGE."""
    confidence: float
    stands: bool = True
    """False if the reverting commit was itself reverted."""
    partial: bool = False


def find_reverts(commits: Sequence[MessageLike]) -> dict[str, tuple[Revert, ...]]:
    """The reverts of every commit that has some, the newest first; commits are given newest first.

    They should include merges: reverting a merge reverts the commits that it brought.
    """
    names = _CommitLookup(commits)
    found: dict[str, list[Revert]] = {}
    for place, commit in enumerate(commits):
        merge = len(commit.parents) > 1
        if not mentions_revert(commit.subject, "" if merge else commit.body) and not _has_trailer(commit):
            continue
        stands = not any(entry.stands and not entry.partial for entry in found.get(commit.sha, ()))
        why: str | None = None
        for target, claim, how, confidence in _resolve_claims(commit, place, names, merge):
            why = extract_reason(commit.subject, commit.body) if why is None else why
            shared = (commit.sha, commit.authored, commit.author, why)
            sha = commits[target].sha
            if any(entry.by == commit.sha for entry in found.get(sha, ())):
                continue
            found.setdefault(sha, []).append(Revert(sha, *shared, how, confidence, stands, claim.partial))
            merged = names.merged_commits(target)
            merge_confidence = confidence if len(merged) == 1 else round(confidence * 0.9, 4)
            for brought in merged:
                if brought != commit.sha and not any(entry.by == commit.sha for entry in found.get(brought, ())):
                    entry = Revert(brought, *shared, MERGE, merge_confidence, stands, claim.partial)
                    found.setdefault(brought, []).append(entry)
    return {sha: tuple(entries) for sha, entries in found.items()}


def _has_trailer(commit: MessageLike) -> bool:
    return any("revert" in key.lower() for key, _ in commit.trailers)


def _resolve_claims(
    commit: MessageLike, place: int, names: _CommitLookup, merge: bool
) -> Iterator[tuple[int, RevertClaim, str, float]]:
    """(place, claim, how, confidence) of the commits that a message reverts. If a hash is found, other claims are ignored."""
    claims = find_claims(commit.subject, commit.body, commit.trailers, merge=merge)
    hashed = False
    for claim in claims:
        target = names.by_sha(claim.value) if claim.how == SHA else None
        if target is not None and target != place:
            hashed = True
            yield target, claim, SHA, 1.0 if len(claim.value) >= 40 else 0.97
    if hashed:
        return
    partial = any(claim.partial for claim in claims)
    by_subject = False
    for claim in claims:
        if claim.how == SHA or claim.how == NUMBER:
            continue
        met = names.by_subject(claim, place)
        if met is not None:
            by_subject = True
            yield met[0], RevertClaim(claim.how, claim.value, partial), claim.how, met[1]
    for claim in () if by_subject else claims:
        target = names.by_number(claim.value, place) if claim.how == NUMBER else None
        if target is not None:
            yield target, claim, NUMBER, 0.9


_NUMBER_BEHIND = re.compile(r"(?:\s*\((?:#|!|GH-)\d+\))+\s*$")
_PULL = re.compile(r"^Merge (?:pull request|PR) #(\d+)\b|\((?:#|!|GH-)(\d+)\)\s*$")
_MIN_TRUNCATED = 20


def _normalise_subject(subject: str) -> str:
    """A subject in lower case, without the appended number of a pull request, with uniform spaces and quotes."""
    text = _NUMBER_BEHIND.sub("", subject)
    return " ".join(text.replace("“", '"').replace("”", '"').split()).rstrip(".").casefold()


class _CommitLookup:
    """Finds commits by hash, subject and number. A place is a position in the list: larger for older commits."""

    def __init__(self, commits: Sequence[MessageLike]) -> None:
        self._commits = commits
        self._places = {commit.sha: place for place, commit in enumerate(commits)}
        self._shas: list[str] | None = None
        self._subjects: dict[str, list[int]] = {}
        self._numbers: dict[str, list[int]] = {}
        self._sorted: list[str] | None = None
        for place, commit in enumerate(commits):
            subjects = [commit.subject]
            if len(commit.parents) > 1:
                # A merge of a pull request has its title in the first line of the body.
                subjects += [line for line in commit.body.split("\n", 1)[:1] if line]
            for subject in dict.fromkeys(map(_normalise_subject, subjects)):
                if subject:
                    self._subjects.setdefault(subject, []).append(place)
            number = _PULL.search(commit.subject)
            if number is not None:
                self._numbers.setdefault(number[1] or number[2], []).append(place)

    def by_sha(self, prefix: str) -> int | None:
        """The only commit whose hash begins with `prefix`."""
        if prefix in self._places:
            return self._places[prefix]
        if self._shas is None:
            self._shas = sorted(self._places)
        at = bisect.bisect_left(self._shas, prefix)
        found = [sha for sha in self._shas[at : at + 2] if sha.startswith(prefix)]
        return self._places[found[0]] if len(found) == 1 else None

    def by_subject(self, claim: RevertClaim, place: int) -> tuple[int, float] | None:
        """The nearest older commit with that subject, and the confidence."""
        subject = _normalise_subject(claim.value)
        if not claim.truncated:
            earlier = [item for item in self._subjects.get(subject, ()) if item > place]
            if earlier:
                exact = self._commits[earlier[0]].subject.strip() == claim.value.strip()
                confidence = (0.95 if exact else 0.9) if claim.quoted else 0.75
                # A merge and the commit that it brought share a title; only two of a kind are ambiguous.
                merge = len(self._commits[earlier[0]].parents) > 1
                alike = sum((len(self._commits[item].parents) > 1) == merge for item in earlier)
                return earlier[0], confidence if alike == 1 else round(confidence - 0.1, 4)
        if len(subject) < _MIN_TRUNCATED or not claim.quoted:
            return None
        if self._sorted is None:
            self._sorted = sorted(self._subjects)
        at = bisect.bisect_left(self._sorted, subject)
        best: int | None = None
        while at < len(self._sorted) and self._sorted[at].startswith(subject):
            for item in self._subjects[self._sorted[at]]:
                if item > place and (best is None or item < best):
                    best = item
            at += 1
        return None if best is None else (best, 0.8)

    def by_number(self, number: str, place: int) -> int | None:
        return next((item for item in self._numbers.get(number, ()) if item > place), None)

    def merged_commits(self, place: int) -> list[str]:
        """The commits that a merge added to the branch it was merged into; empty for other commits."""
        parents = self._commits[place].parents
        if len(parents) < 2 or parents[0] not in self._places:  # in a shallow clone the two sides cannot be distinguished
            return []
        # Follow both sides at once, newest first, until only shared commits are left: the merged ones are near the merge.
        theirs = {self._places[parent] for parent in parents[1:] if parent in self._places}
        ours = {self._places[parents[0]]}
        heap = sorted(theirs | ours)
        found = []
        waiting = len(theirs - ours)
        while waiting:
            at = heapq.heappop(heap)
            mine = at in ours
            if not mine:
                waiting -= 1
                found.append(self._commits[at].sha)
            for parent in self._commits[at].parents:
                before = self._places.get(parent)
                if before is None or before <= at or before in ours:
                    continue
                if mine:
                    waiting -= before in theirs
                    if before not in theirs:
                        heapq.heappush(heap, before)
                    ours.add(before)
                elif before not in theirs:
                    theirs.add(before)
                    waiting += 1
                    heapq.heappush(heap, before)
        return found


# -- what a message says that it reverts -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RevertClaim:
    """A reference to a reverted commit in a message; the commit may not exist."""

    how: str
    """SHA, SUBJECT or NUMBER."""
    value: str
    partial: bool = False
    """The message says that only a part is reverted."""
    quoted: bool = True
    """The subject is in quotation marks, as git writes it; without them it must match exactly."""
    truncated: bool = False
    """The end of the subject is missing."""


_WORD = re.compile(r"rever[ts]|re-?appl|re-?land", re.IGNORECASE)
_VERB = re.compile(
    r"(?P<part>\b(?:partial(?:ly)?|partly|mostly|in\s+part)\s+)?\b(?P<verb>revert(?:s|ed|ing)?)\b"
    r"(?P<ofpart>\s+parts?\s+of)?(?::?\s+|:)"
    r"(?:back\s+)?(?:the\s+|changes?\s+from\s+)?(?:commits?|changesets?|revisions?|sha|prs?|pull\s+requests?|merge\s+requests?|hash)?:?\s*",
    re.IGNORECASE,
)
_HASH = r"(?=[a-f]*\d)[0-9a-f]{6,64}"  # with a digit: `efface` and `deadbeef` are words
_WHOLE = (40, 64)
"""Digits of a full hash, SHA-1 and SHA-256."""
_ONE = re.compile(
    rf"[\"'`(\[<]*(?:https?://[^\s\"'<>]+/commits?/)?"
    rf"(?P<from>{_HASH}\^?\.\.\.?)?(?P<hash>{_HASH})(?![\w/-])[\"'`)\]>]*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"[\"'`(\[<]*(?:https?://[^\s\"'<>]+/(?:pull|merge_requests)/|(?:[\w.-]+/[\w.-]+)?[#!]|GH-)(?P<number>\d{1,7})\b[\"'`)\]>]*",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?:\s*\((?:[^()\n]|\([^()\n]*\)){0,200}\))?"  # a subject in brackets behind the hash
    r"(?:\s*[,;&+/]\s*(?:and\s+|also\s+)?|\s+and\s+|\s+as\s+well\s+as\s+|\s+)(?:the\s+)?(?:commits?\s+)?(?:prs?\s+)?",
    re.IGNORECASE,
)
_OBLIQUE = re.compile(
    rf"\b(?P<verb>revert(?:s|ed|ing)?)\s+(?P<what>(?:(?!{_HASH})[^.;:\n]|\n(?!\n)){{3,100}}?)\s"
    rf"(?:in|from|of|by)\s+(?:commits?\s+)?(?P<hash>{_HASH})(?![\w/-])",
    re.IGNORECASE,
)
"""`Revert changes made to the parser in 1234abcd`: a part of it."""
_ACTIVE = frozenset(
    "this it that also and which we i change commit patch pr partially partly mostly effectively basically essentially simply "
    "just temporarily completely fully manually then to by essentially therefore so thus".split()
)
"""Words after which `revert` is what the commit does; after others (`the revert 12ab`, `was reverted`) it is just mentioned."""
_BEGINS = re.compile(
    r"(?:^|\n)[ \t]*(?:[*-][ \t]+)?(?:this[ \t]+(?:commit[ \t]+|pr[ \t]+|patch[ \t]+)?(?:also[ \t]+)?)?$", re.IGNORECASE
)
_BROKEN = re.compile(r"(?P<hash>[0-9a-f]{6,63}\n[ \t]*[0-9a-f]{1,58})(?![\w/-])[\"'`)\]>]*", re.IGNORECASE)


_CONTEXT_CHARS = 80
"""Characters before a verb that are examined."""
_MAX_SUBJECT, _MAX_BODY = 1000, 100_000
"""The rest of an overlong message is ignored."""


def mentions_revert(subject: str, body: str) -> bool:
    """A fast check: whether the message has any word about reverting."""
    return bool(_WORD.search(subject) or _WORD.search(body))


def find_claims(
    subject: str, body: str = "", trailers: Sequence[tuple[str, str]] = (), *, merge: bool = False
) -> tuple[RevertClaim, ...]:
    """What a message claims to revert, in order, without duplicates.

    Of a merge only the subject is read: its body repeats what the merged commits say.
    """
    subject = subject[:_MAX_SUBJECT]
    found = list(_claims_in_subject(subject))
    if not merge:
        text = body[:_MAX_BODY].replace("\r\n", "\n")
        found += _claims_in_text(subject, of_subject=True)
        found += _claims_in_text(text, of_subject=False, numbers=not _BUMP.match(subject))
        found += _claims_in_quoted_lines(text)
        found += () if any(claim.how == SHA for claim in found) else _partial_claims(text)
        for key, value in trailers:
            if key.lower() in ("reverts", "revert", "this-reverts", "reverted-commit"):
                found += _claims_in_text(f"Reverts {value}", of_subject=False)
                found += _claims_in_subject(f"Revert {value}") if value[:1] in _OPENING else ()
    return tuple(dict.fromkeys(found))


# -- by hash and by number ---------------------------------------------------------------------------------------------

_BUMP = re.compile(r"(?:[\w()/-]+:\s*)?(?:bump|update|upgrade)s?\b.*\b(?:from|to)\b", re.IGNORECASE)
"""Such messages quote the release notes of other projects, with their numbers."""


def _claims_in_text(text: str, *, of_subject: bool, numbers: bool = True) -> Iterator[RevertClaim]:
    for match in _VERB.finditer(text):
        if not _is_performative(text, match.start(), match["verb"]):
            continue
        partial = bool(match["part"] or match["ofpart"])
        place, first = match.end(), True
        while True:
            start = place
            if not first:
                between = _BETWEEN.match(text, place)
                if between is None:
                    break
                start = between.end()
            named = _ONE.match(text, start)
            if named is not None:
                named = _rejoin(text, named)
                yield RevertClaim(SHA, re.sub(r"\s", "", named["hash"]).lower(), partial)
            else:
                named = _NUMBERED.match(text, start)
                # A number in running text may be an issue: it must begin a line or be in the subject.
                begins = of_subject or _BEGINS.search(text, max(0, match.start() - _CONTEXT_CHARS), match.start())
                if named is None or not numbers or not begins:
                    break
                yield RevertClaim(NUMBER, named["number"], partial)
            place, first = named.end(), False


def _rejoin(text: str, named: re.Match[str]) -> re.Match[str]:
    """A hash that is wrapped over two lines, if both parts together make a full one; else the match as it is."""
    broken = _BROKEN.match(text, named.start("hash"))
    return broken if broken is not None and len(re.sub(r"\s", "", broken["hash"])) in _WHOLE else named


def _partial_claims(text: str) -> Iterator[RevertClaim]:
    for match in _OBLIQUE.finditer(text):
        if _is_performative(text, match.start("verb"), match["verb"]):
            yield RevertClaim(SHA, match["hash"].lower(), partial=True)


def _is_performative(text: str, start: int, verb: str) -> bool:
    """Whether the verb says what this commit does, not what another one did."""
    past_tense = verb.lower() == "reverted"
    before = text[max(0, start - _CONTEXT_CHARS) : start].rstrip()
    if not before or not (before[-1].isalnum() or before[-1] in "_'’"):
        return not (past_tense and before and before[-1] in "\"'`,(")
    between = text[max(0, start - _CONTEXT_CHARS) + len(before) : start]
    if between.count("\n") > 1 or ("\n" in between and verb[0] == "R"):
        return True
    last = re.search(r"[\w'’]+$", before)
    word = last[0].lower() if last else ""
    if past_tense and word in ("that", "which", "to", "by", "commit", "it", "this", "change", "patch"):
        return False
    return word in _ACTIVE


# -- by subject --------------------------------------------------------------------------------------------------------

_OPENING, _CLOSING = "\"“'`‘«", "\"”'`’»"
_REVERT = re.compile(
    r"(?:^|(?<=[\s:\]\-]))(?P<verb>revert(?:s|ed|ing)?|re-?apply|re-?land)\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)
_REAPPLIES = re.compile(r"re-?(?:apply|land)", re.IGNORECASE)
_SEVERAL = re.compile(r"[\"”]\s*(?:,|;|&|\band\b|,\s*and\b)\s*(?:reverts?\s+)?[\"“]", re.IGNORECASE)
_MIN_UNQUOTED = 12


def _claims_in_subject(subject: str) -> Iterator[RevertClaim]:
    match = _REVERT.search(subject)
    if match is None:
        return
    again = bool(_REAPPLIES.fullmatch(match["verb"]))
    rest = re.sub(r"^\s*(?:commits?\b|changes?\b)?\s*:?\s*", "", match["rest"])
    if rest[:1] in _OPENING and rest[:1]:
        inner, truncated = _unquote(rest)
        if not inner:
            return
        for target in dict.fromkeys((inner, *(part.strip() for part in _SEVERAL.split(inner)))):
            # `Reapply "x"` reverts the commit `Revert "x"`.
            yield RevertClaim(SUBJECT, f'Revert "{target}"' if again else target, truncated=truncated)
    elif not again and match.start() == 0 and len(rest) >= _MIN_UNQUOTED and " " in rest:
        yield RevertClaim(SUBJECT, rest.strip(), quoted=False)


def _unquote(quoted: str) -> tuple[str, bool]:
    """The text between the first quotation mark and the last matching one, and whether its end is missing."""
    opened = quoted[0]
    closing = _CLOSING[_OPENING.index(opened)]
    last = quoted.rfind(closing, 1)
    if last <= 0:
        return quoted[1:].rstrip(" .…"), True
    inner = quoted[1:last].strip()
    if opened == '"' and quoted[1:last].count('"') % 2 and not quoted[last + 1 :].strip():
        # An odd quotation mark inside: the closing one was lost with the end of the subject.
        return (inner, False)
    truncated = inner.endswith(("...", "…"))
    return inner.rstrip(" .…") if truncated else inner, truncated


_QUOTED_LINE = re.compile(r"^Revert(?:s|ed)?\s+(?=[\"“])(?P<rest>.+)$", re.MULTILINE)


def _claims_in_quoted_lines(body: str) -> Iterator[RevertClaim]:
    """Claims of lines `Revert "…"`, as in a commit of several reverts; list items are ignored, as they repeat other commits."""
    for match in _QUOTED_LINE.finditer(body):
        inner, truncated = _unquote(match["rest"])
        if inner and not truncated:
            yield RevertClaim(SUBJECT, inner)


# -- why ---------------------------------------------------------------------------------------------------------------

_BOILERPLATE = re.compile(
    rf"\b(?:This\s+(?:commit\s+)?)?(?:(?:partially|partly|mostly)\s+)?(?:reverts|reverted|undoes)\s+(?:the\s+)?(?:commits?|merge)?:?\s*(?:{_HASH}(?:\s*(?:,|and|&)\s*)?)+"
    rf"(?:,?\s*reversing\s+changes\s+made\s+to\s+{_HASH})?\s*[.,;]?"
    rf"|^Reverts?:?\s+(?:(?:[\w.-]+/[\w.-]+)?\#\d+(?:\s*,\s*|\s+and\s+)?)+\.?[ \t]*$"
    rf"|^(?:\*\s*)?Revert(?:s|ed)?\s+[\"“].*[\"”]?[ \t]*$"
    rf"|^(?:\#[ \t]*)?Conflicts:[ \t]*\n(?:(?:\#?[ \t]+\S.*)?\n?)*"
    rf"|^[A-Z][\w-]+-by:.*$|^git-svn-id:.*$|^Change-Id:.*$|^-{{3,}}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_REASON = 500
_AFTER = re.compile(r"[\"“'].+[\"”'](?:\s*\(\#\d+\))?\s*(?:[-–—:,;]+\s*)?(?P<why>[^\"”]*[^\W\d_]{2,}[^\"”]*)$")
_HASHES = re.compile(
    rf"^(?:this\s+)?(?:partial(?:ly)?\s+|partly\s+|mostly\s+)?reverts?\s+(?:commits?\s+)?{_HASH}\.?\s*", re.IGNORECASE
)


def extract_reason(subject: str, body: str) -> str:
    """Why something was reverted: the message without generated text; empty if nothing is left."""
    subject, body = subject[:_MAX_REASON], body[: 20 * _MAX_REASON]
    whole = _BROKEN.sub(lambda match: "".join(match[0].split()), body.replace("\r\n", "\n"))
    left = _BOILERPLATE.sub("\n", whole)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", left))
    reason = " ".join(part for part in paragraphs if any(character.isalnum() for character in part)).strip()
    reason = _HASHES.sub("", reason)
    if not reason:
        after = _AFTER.search(subject)
        reason = after["why"].strip() if after and _REVERT.search(subject) else ""
    if not reason and not _REVERT.search(subject):
        reason = subject.strip()
    return reason if len(reason) <= _MAX_REASON else reason[: _MAX_REASON - 1].rstrip() + "…"
