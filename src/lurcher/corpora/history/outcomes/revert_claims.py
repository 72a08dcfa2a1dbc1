"""What a commit's message says it takes back, before anybody has looked whether that exists.

Three ways of naming a commit are read: by hash (`This reverts commit 1234abcd.`), by subject (`Revert "Add a cache"`), and by
the number of the pull request that brought it (`Reverts owner/repo#12`). Only a direct object counts: `it was reverted in
1234abcd` names the commit that took something back, not what was taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SHA, SUBJECT, NUMBER = "sha", "subject", "number"


@dataclass(frozen=True, slots=True)
class Claim:
    how: str
    """sha, subject or number."""
    value: str
    partial: bool = False
    """The message says that only a part is taken back."""
    quoted: bool = True
    """A subject in quotation marks, as git writes it; without them it must be met exactly."""
    cut: bool = False
    """The subject's end is missing."""


_WORD = re.compile(r"rever[ts]|re-?appl|re-?land", re.IGNORECASE)
_VERB = re.compile(
    r"(?P<part>\b(?:partial(?:ly)?|partly|mostly|in\s+part)\s+)?\b(?P<verb>revert(?:s|ed|ing)?)\b"
    r"(?P<ofpart>\s+parts?\s+of)?(?::?\s+|:)"
    r"(?:back\s+)?(?:the\s+|changes?\s+from\s+)?(?:commits?|changesets?|revisions?|sha|prs?|pull\s+requests?|merge\s+requests?|hash)?:?\s*",
    re.IGNORECASE,
)
_HASH = r"(?=[a-f]*\d)[0-9a-f]{6,64}"  # with a digit: `efface` and `deadbeef` are words
_WHOLE = (40, 64)
"""Digits of a whole hash, by SHA-1 and by SHA-256."""
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
"""Words after which `revert` is what is being done; after others (`the revert 12ab`, `was reverted`) it is spoken of."""
_BEGINS = re.compile(
    r"(?:^|\n)[ \t]*(?:[*-][ \t]+)?(?:this[ \t]+(?:commit[ \t]+|pr[ \t]+|patch[ \t]+)?(?:also[ \t]+)?)?$", re.IGNORECASE
)
_BROKEN = re.compile(r"(?P<hash>[0-9a-f]{6,63}\n[ \t]*[0-9a-f]{1,58})(?![\w/-])[\"'`)\]>]*", re.IGNORECASE)


_NEAR = 80
"""Characters before a verb that tell how it is meant."""
_MOST_SUBJECT, _MOST_BODY = 1000, 100_000
"""More is no message: the rest is not read."""


def may_revert(subject: str, body: str) -> bool:
    """A quick look: without such a word there is nothing to read."""
    return bool(_WORD.search(subject) or _WORD.search(body))


def claims(
    subject: str, body: str = "", trailers: Sequence[tuple[str, str]] = (), *, merge: bool = False
) -> tuple[Claim, ...]:
    """What a message claims to take back, in order, each once.

    A merge speaks for the commits it brings, which speak for themselves: of its message only the subject is read.
    """
    subject = subject[:_MOST_SUBJECT]
    found = list(_of_subject(subject))
    if not merge:
        text = body[:_MOST_BODY].replace("\r\n", "\n")
        found += _named(subject, of_subject=True)
        found += _named(text, of_subject=False, numbers=not _BUMP.match(subject))
        found += _quoted_lines(text)
        found += () if any(claim.how == SHA for claim in found) else _in_part(text)
        for key, value in trailers:
            if key.lower() in ("reverts", "revert", "this-reverts", "reverted-commit"):
                found += _named(f"Reverts {value}", of_subject=False)
                found += _of_subject(f"Revert {value}") if value[:1] in _OPENING else ()
    return tuple(dict.fromkeys(found))


# -- by hash and by number ---------------------------------------------------------------------------------------------

_BUMP = re.compile(r"(?:[\w()/-]+:\s*)?(?:bump|update|upgrade)s?\b.*\b(?:from|to)\b", re.IGNORECASE)
"""Such messages quote the release notes of others, whose numbers are not ours."""


def _named(text: str, *, of_subject: bool, numbers: bool = True) -> Iterator[Claim]:
    for match in _VERB.finditer(text):
        if not _speaks(text, match.start(), match["verb"]):
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
                named = _joined(text, named)
                yield Claim(SHA, re.sub(r"\s", "", named["hash"]).lower(), partial)
            else:
                named = _NUMBERED.match(text, start)
                # A number in running text is as often an issue's: it must begin a line, or stand in the subject.
                begins = of_subject or _BEGINS.search(text, max(0, match.start() - _NEAR), match.start())
                if named is None or not numbers or not begins:
                    break
                yield Claim(NUMBER, named["number"], partial)
            place, first = named.end(), False


def _joined(text: str, named: re.Match[str]) -> re.Match[str]:
    """A hash that a mail program broke in two, if both halves make a whole one."""
    broken = _BROKEN.match(text, named.start("hash"))
    return broken if broken is not None and len(re.sub(r"\s", "", broken["hash"])) in _WHOLE else named


def _in_part(text: str) -> Iterator[Claim]:
    for match in _OBLIQUE.finditer(text):
        if _speaks(text, match.start("verb"), match["verb"]):
            yield Claim(SHA, match["hash"].lower(), partial=True)


def _speaks(text: str, start: int, verb: str) -> bool:
    """Whether the verb is what this message does, and not something it tells of."""
    told = verb.lower() == "reverted"
    before = text[max(0, start - _NEAR) : start].rstrip()
    if not before or not (before[-1].isalnum() or before[-1] in "_'’"):
        return not (told and before and before[-1] in "\"'`,(")
    between = text[max(0, start - _NEAR) + len(before) : start]
    if between.count("\n") > 1 or ("\n" in between and verb[0] == "R"):
        return True
    last = re.search(r"[\w'’]+$", before)
    word = last[0].lower() if last else ""
    return word in _ACTIVE and not (told and word in ("that", "which", "to", "by", "commit", "it", "this", "change", "patch"))


# -- by subject --------------------------------------------------------------------------------------------------------

_OPENING, _CLOSING = "\"“'`‘«", "\"”'`’»"
_REVERT = re.compile(
    r"(?:^|(?<=[\s:\]\-]))(?P<verb>revert(?:s|ed|ing)?|re-?apply|re-?land)\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)
_REAPPLIES = re.compile(r"re-?(?:apply|land)", re.IGNORECASE)
_SEVERAL = re.compile(r"[\"”]\s*(?:,|;|&|\band\b|,\s*and\b)\s*(?:reverts?\s+)?[\"“]", re.IGNORECASE)
_SHORTEST_PLAIN = 12


def _of_subject(subject: str) -> Iterator[Claim]:
    match = _REVERT.search(subject)
    if match is None:
        return
    again = bool(_REAPPLIES.fullmatch(match["verb"]))
    rest = re.sub(r"^\s*(?:commits?\b|changes?\b)?\s*:?\s*", "", match["rest"])
    if rest[:1] in _OPENING and rest[:1]:
        inner, cut = _inside(rest)
        if not inner:
            return
        for target in dict.fromkeys((inner, *(part.strip() for part in _SEVERAL.split(inner)))):
            # What git calls `Reapply "x"` undoes the commit that git called `Revert "x"`.
            yield Claim(SUBJECT, f'Revert "{target}"' if again else target, cut=cut)
    elif not again and match.start() == 0 and len(rest) >= _SHORTEST_PLAIN and " " in rest:
        yield Claim(SUBJECT, rest.strip(), quoted=False)


def _inside(quoted: str) -> tuple[str, bool]:
    """What stands between the first quotation mark and the last that fits it, and whether the end is missing."""
    opened = quoted[0]
    closing = _CLOSING[_OPENING.index(opened)]
    last = quoted.rfind(closing, 1)
    if last <= 0:
        return quoted[1:].rstrip(" .…"), True
    inner = quoted[1:last].strip()
    if opened == '"' and quoted[1:last].count('"') % 2 and not quoted[last + 1 :].strip():
        # An odd mark inside: the one that closes was cut off with the end of the subject.
        return (inner, False)
    cut = inner.endswith(("...", "…"))
    return inner.rstrip(" .…") if cut else inner, cut


_QUOTED_LINE = re.compile(r"^Revert(?:s|ed)?\s+(?=[\"“])(?P<rest>.+)$", re.MULTILINE)


def _quoted_lines(body: str) -> Iterator[Claim]:
    """`Revert "…"` on a line of its own, as several reverts in one commit leave it; a list's items tell of a branch's own."""
    for match in _QUOTED_LINE.finditer(body):
        inner, cut = _inside(match["rest"])
        if inner and not cut:
            yield Claim(SUBJECT, inner)


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
_MOST_WHY = 500
_AFTER = re.compile(r"[\"“'].+[\"”'](?:\s*\(\#\d+\))?\s*(?:[-–—:,;]+\s*)?(?P<why>[^\"”]*[^\W\d_]{2,}[^\"”]*)$")
_HASHES = re.compile(
    rf"^(?:this\s+)?(?:partial(?:ly)?\s+|partly\s+|mostly\s+)?reverts?\s+(?:commits?\s+)?{_HASH}\.?\s*", re.IGNORECASE
)


def reason(subject: str, body: str) -> str:
    """Why something was taken back: the message without what git and others put there by themselves."""
    subject, body = subject[:_MOST_WHY], body[: 20 * _MOST_WHY]
    whole = _BROKEN.sub(lambda match: "".join(match[0].split()), body.replace("\r\n", "\n"))
    left = _BOILERPLATE.sub("\n", whole)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", left))
    said = " ".join(part for part in paragraphs if any(character.isalnum() for character in part)).strip()
    said = _HASHES.sub("", said)
    if not said:
        after = _AFTER.search(subject)
        said = after["why"].strip() if after and _REVERT.search(subject) else ""
    if not said and not _REVERT.search(subject):
        said = subject.strip()
    return said if len(said) <= _MOST_WHY else said[: _MOST_WHY - 1].rstrip() + "…"
