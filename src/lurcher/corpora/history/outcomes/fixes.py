"""Which commits were mended soon after, seen while commits go by, newest first.

Two rules. The loose one is a coincidence more often than not: a later commit within the window says that it fixes something and
touches half of the smaller set of files. The strict one also wants it to remove lines that the earlier commit had added, in
source files, under a subject that is not about looks, tests or documentation.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.file_kind import CODE, kind_of, left_out
from lurcher.corpora.history.outcomes.classify_subject import mends, says_fix
from lurcher.sources.git.parse import RENAMED, Hunk
from lurcher.sources.roles import SETUP, roles


class Altered(Protocol):
    """What of a changed file is needed; its lines are asked for only where they decide."""

    @property
    def path(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def old_path(self) -> str | None: ...
    @property
    def binary(self) -> bool: ...
    @property
    def hunks(self) -> Sequence[Hunk]: ...


class Changed(Protocol):
    """What of a commit is needed: what it says and what it changed."""

    @property
    def sha(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def changes(self) -> Sequence[Altered]: ...


@dataclass(frozen=True, slots=True)
class Fix:
    """A later commit that may have mended an earlier one."""

    earlier: str
    later: str
    distance: int
    """Commits from one to the other."""
    overlap: float
    """Share of the smaller set of files that both touch."""
    rewritten: int
    """Lines that the earlier one added and the later one removed."""
    share: float
    """Of the lines that the later one removed, how many are those."""
    strict: bool
    confidence: float


LOOSE_CONFIDENCE, SCATTERED_CONFIDENCE = 0.1, 0.3
"""How often the loose rule is right, read by eye: alone, and where few of the lines that go are the earlier one's."""
_LEAST_SHARE = 0.15
"""Below that, a large later commit happens to pass over the lines: right four times in ten, above it nine times."""


@dataclass(slots=True)
class _Later:
    sha: str
    place: int
    known: bool
    files: set[str]
    """By the names they had before this commit, and before those fed since."""
    removed: dict[str, Counter[str]] = field(default_factory=dict)
    total: int = 0
    """Lines removed in source files."""
    strict: bool = False


class Window:
    """Finds fixes in commits that are fed newest first; only those of the last few that say they fix something are kept.

    To go on where an earlier run stopped, feed the commits around the seam again as `known`: a pair of which both are known has
    been told before. Newer commits: feed them, then the `window` newest known ones. Older commits: feed the `window` oldest
    known ones, then them. Either gives what feeding all at once would have given.
    """

    def __init__(self, settings: OutcomeSettings) -> None:
        self._settings = settings
        self._laters: deque[_Later] = deque()
        self._place = 0

    def feed(self, commit: Changed, *, known: bool = False) -> list[Fix]:
        """The fixes of this commit among those fed before it."""
        while self._laters and self._laters[0].place < self._place - self._settings.window:
            self._laters.popleft()
        found = []
        if self._laters:
            paths = {change.path for change in commit.changes}
            added: dict[str, Counter[str]] | None = None
            for later in reversed(self._laters):
                if known and later.known:
                    continue
                overlap = self._overlap(paths, later.files)
                if overlap is None:
                    continue
                if added is None and later.strict:
                    added = {path: lines for path, lines in _lines(commit.changes, "added").items() if lines}
                found.append(_judged(commit.sha, later, self._place - later.place, overlap, added or {}))
            self._rename(commit.changes)
        self._keep(commit, known)
        self._place += 1
        return found

    def _overlap(self, one: set[str], other: set[str]) -> float | None:
        smaller = min(len(one), len(other))
        if not smaller:
            return None
        share = len(one & other) / smaller
        return share if share >= self._settings.overlap and share > 0 else None

    def _rename(self, changes: Iterable[Altered]) -> None:
        """From here on, what this commit renamed goes by its old name."""
        names = {change.path: change.old_path for change in changes if change.status == RENAMED and change.old_path}
        for later in self._laters if names else ():
            later.files = {names.get(path, path) for path in later.files}
            later.removed = {names.get(path, path): lines for path, lines in later.removed.items()}

    def _keep(self, commit: Changed, known: bool) -> None:
        words = self._settings.words
        if not says_fix(commit.subject, words):
            return
        files = {change.old_path if change.status == RENAMED and change.old_path else change.path for change in commit.changes}
        later = _Later(commit.sha, self._place, known, files)
        if mends(commit.subject, words):
            later.removed = {path: lines for path, lines in _lines(commit.changes, "removed").items() if lines}
            later.total = sum(lines.total() for lines in later.removed.values())
            later.strict = later.total > 0
        self._laters.append(later)


def fixes(commits: Iterable[Changed], settings: OutcomeSettings) -> list[Fix]:
    """All fixes among commits that are given newest first."""
    window = Window(settings)
    return [fix for commit in commits for fix in window.feed(commit)]


def _judged(earlier: str, later: _Later, distance: int, overlap: float, added: dict[str, Counter[str]]) -> Fix:
    rewritten, wrote = 0, sum(lines.total() for lines in added.values())
    for path, lines in later.removed.items():
        mine = added.get(path)
        if mine:
            rewritten += (mine & lines).total()
    share = rewritten / later.total if later.total else 0.0
    strict = later.strict and rewritten > 0 and share >= _LEAST_SHARE
    if strict:
        sure = _confidence(rewritten, share, rewritten / wrote, distance)
    else:
        sure = SCATTERED_CONFIDENCE if rewritten else LOOSE_CONFIDENCE
    return Fix(earlier, later.sha, distance, round(overlap, 4), rewritten, round(share, 4), strict, sure)


def _confidence(rewritten: int, share: float, of_earlier: float, distance: int) -> float:
    """Surest when most of what the fix removes is the earlier commit's, and when it came at once."""
    near = 1.0 if distance <= 3 else 0.9 if distance <= 10 else 0.8
    lines = 0.8 if rewritten == 1 else 0.95 if rewritten < 4 else 1.0
    weight = 0.55 + 0.3 * share + 0.15 * min(1.0, 4 * of_earlier)
    return round(0.95 * near * lines * weight, 3)


# -- lines that mean something -----------------------------------------------------------------------------------------

_IMPORT = re.compile(
    r"(?:from\s+\S+\s+import\b|import\b|use\s+[\w:{*]|pub\s+use\b|(?:pub\s+)?mod\s+\w+;|#\s*include\b|require(?:_relative)?\b|"
    r"using\s+[\w.:= ]+;?$|package\s|"
    r"export\s+(?:\*|\{)|(?:const|let|var)\s+[\w{}\s,:]+=\s*require\()"
)
_COMMENT = re.compile(r"(?:#(?!\[|!\[|include|define|if|el|en)|//|/\*|\*(?:\s|/|$)|--\s|<!--|;;|%%|\"\"\"|''')")
_COMMON = frozenset(
    "try: else: finally: pass return break continue end do begin default: none null true false return; break; continue; "
    "return;} else{ }else{ endif done esac fi self then super super() @override @property @staticmethod @classmethod "
    "returnnone returntrue returnfalse returnself returnnull returnnil returnnull; returntrue; "
    " returnfalse; returnnext();".split()
)
_VERSION = re.compile(r"[\"']?(?:__)?version(?:__|_info|s)?[\"']?\s*[=:(]", re.IGNORECASE)
_SHORTEST = 6


def _lines(changes: Sequence[Altered], side: str) -> dict[str, Counter[str]]:
    """The telling lines that a commit added to, or removed from, each source file; not those it only moved."""
    moved: Counter[str] = Counter()
    for change in changes:
        if is_source(change.path):
            for hunk in change.hunks:
                moved.update(map(_bare, hunk.removed if side == "added" else hunk.added))
    found: dict[str, Counter[str]] = {}
    for change in changes:
        if change.binary or not is_source(change.path) or not change.hunks:
            continue
        lines: Counter[str] = Counter()
        for hunk in change.hunks:
            for line in hunk.added if side == "added" else hunk.removed:
                bare = _bare(line)
                if not _telling(line, bare):
                    continue
                if moved[bare] > 0:
                    moved[bare] -= 1
                else:
                    lines[bare] += 1
        path = change.old_path if side == "removed" and change.status == RENAMED and change.old_path else change.path
        found[path] = lines
    return found


def _bare(line: str) -> str:
    """A line without its white space: what is only laid out anew is the same."""
    return "".join(line.split())


def _telling(line: str, bare: str) -> bool:
    if len(bare) < _SHORTEST or bare.lower() in _COMMON:
        return False
    text = line.strip()
    if _COMMENT.match(text) or _IMPORT.match(text) or _VERSION.match(text):
        return False
    return sum(character.isalnum() for character in bare) >= 4


def is_source(path: str) -> bool:
    """Whether a file holds what a program does: no test, documentation, data, set-up, or somebody else's work."""
    return kind_of(path) == CODE and not left_out(path) and not roles(path) & SETUP
