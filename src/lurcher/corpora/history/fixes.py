"""Finds commits that a later commit fixed.

There are two rules. The loose one is a coincidence more often than not: a later commit within the window mentions a fix and
has half of the smaller set of files in common. The strict one also requires that it removes lines that the earlier commit
added, in source files, with a subject that is not about style, tests or documentation.

In an index the fixes of a commit depend only on the `window` commits before it in the order, newest first. Where these are the
same as last time, the stored fixes are used again; all others are computed. So an index that grew in steps has the same fixes
as one that was built at once.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.classify import describes_fix, mentions_fix
from lurcher.corpora.history.schema import MERGE, ChangeView
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.sources.git.commit import CODE, RENAMED, Hunk, is_generated_or_vendored, kind_of
from lurcher.sources.roles import SETUP, roles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIX_ROW = [
    ("earlier", "<u4"), ("later", "<u4"), ("rewritten", "<u4"), ("overlap", "<u2"), ("share", "<u2"), ("confidence", "<u2"),
    ("strict", "<u2"),
]  # fmt: skip
"""A fix on disk: two positions in the order of commits; shares are stored in ten thousandths."""
_SHARE_SCALE = 10_000


class ChangeLike(Protocol):
    """The part of a changed file that is needed here; `hunks` is read only if necessary."""

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


class CommitLike(Protocol):
    """The part of a commit that is needed here."""

    @property
    def sha(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def changes(self) -> Sequence[ChangeLike]: ...


@dataclass(frozen=True, slots=True)
class Fix:
    """A later commit that may have fixed an earlier one."""

    earlier: str
    later: str
    distance: int
    """Number of commits from one to the other."""
    overlap: float
    """Share of the smaller set of files that both change."""
    rewritten: int
    """Number of lines that the earlier one added and the later one removed."""
    share: float
    """Their share of the lines that the later one removed."""
    strict: bool
    """Whether it passes the strict rule."""
    confidence: float


LOOSE_CONFIDENCE, SCATTERED_CONFIDENCE = 0.1, 0.3
"""How often the loose rule is right, by manual review: alone, and with a few removed lines of the earlier commit."""
_MIN_SHARE = 0.15
"""Least share for the strict rule: below it a large later commit removes the lines by chance (right in 4 of 10, above in 9)."""


@dataclass(slots=True)
class _FixCandidate:
    sha: str
    place: int
    known: bool
    files: set[str]
    """Paths before this commit and before those fed since."""
    removed: dict[str, Counter[str]] = field(default_factory=dict)
    total: int = 0
    """Lines removed in source files."""
    strict: bool = False


class FixWindow:
    """Finds fixes in commits that are fed newest first; holds only the recent ones that mention a fix.

    To continue an earlier run, feed the commits around the seam again as `known`: pairs of known commits are not reported
    again. For newer commits feed them, then the `window` newest known ones; for older commits feed the `window` oldest known
    ones, then them. The result is the same as that of feeding all commits at once.
    """

    def __init__(self, settings: OutcomeSettings) -> None:
        self._settings = settings
        self._laters: deque[_FixCandidate] = deque()
        self._place = 0

    def feed(self, commit: CommitLike, *, known: bool = False) -> list[Fix]:
        """Feed a commit; returns the commits fed before that fixed it."""
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
                    added = {path: lines for path, lines in _significant_lines(commit.changes, "added").items() if lines}
                found.append(_rate_fix(commit.sha, later, self._place - later.place, overlap, added or {}))
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

    def _rename(self, changes: Iterable[ChangeLike]) -> None:
        """Older commits use the old paths: apply the renames of this commit to the candidates."""
        names = {change.path: change.old_path for change in changes if change.status == RENAMED and change.old_path}
        for later in self._laters if names else ():
            later.files = {names.get(path, path) for path in later.files}
            later.removed = {names.get(path, path): lines for path, lines in later.removed.items()}

    def _keep(self, commit: CommitLike, known: bool) -> None:
        words = self._settings.words
        if not mentions_fix(commit.subject, words):
            return
        files = {change.old_path if change.status == RENAMED and change.old_path else change.path for change in commit.changes}
        later = _FixCandidate(commit.sha, self._place, known, files)
        if describes_fix(commit.subject, words):
            later.removed = {path: lines for path, lines in _significant_lines(commit.changes, "removed").items() if lines}
            later.total = sum(lines.total() for lines in later.removed.values())
            later.strict = later.total > 0
        self._laters.append(later)


def find_fixes(commits: Iterable[CommitLike], settings: OutcomeSettings) -> list[Fix]:
    """All fixes among some commits, given newest first."""
    window = FixWindow(settings)
    return [fix for commit in commits for fix in window.feed(commit)]


def _rate_fix(earlier: str, later: _FixCandidate, distance: int, overlap: float, added: dict[str, Counter[str]]) -> Fix:
    """Decide whether a candidate passes the strict rule, and how certain that is."""
    rewritten, wrote = 0, sum(lines.total() for lines in added.values())
    for path, lines in later.removed.items():
        mine = added.get(path)
        if mine:
            rewritten += (mine & lines).total()
    share = rewritten / later.total if later.total else 0.0
    strict = later.strict and rewritten > 0 and share >= _MIN_SHARE
    if strict:
        confidence = _confidence(rewritten, share, rewritten / wrote, distance)
    else:
        confidence = SCATTERED_CONFIDENCE if rewritten else LOOSE_CONFIDENCE
    return Fix(earlier, later.sha, distance, round(overlap, 4), rewritten, round(share, 4), strict, confidence)


def _confidence(rewritten: int, share: float, of_earlier: float, distance: int) -> float:
    """Highest if most of the removed lines are the earlier commit's, and if the fix came soon."""
    near = 1.0 if distance <= 3 else 0.9 if distance <= 10 else 0.8
    lines = 0.8 if rewritten == 1 else 0.95 if rewritten < 4 else 1.0
    weight = 0.55 + 0.3 * share + 0.15 * min(1.0, 4 * of_earlier)
    return round(0.95 * near * lines * weight, 3)


# -- significant lines -------------------------------------------------------------------------------------------------

_IMPORT = re.compile(
    r"(?:from\s+\S+\s+import\b|import\b|use\s+[\w:{*]|pub\s+use\b|(?:pub\s+)?mod\s+\w+;|#\s*include\b|require(?:_relative)?\b|"
    r"using\s+[\w.:= ]+;?$|package\s|"
    r"export\s+(?:\*|\{)|(?:const|let|var)\s+[\w{}\s,:]+=\s*require\()"
)
_COMMENT = re.compile(r"(?:#(?!\[|!\[|include|define|if|el|en)|//|/\*|\*(?:\s|/|$)|--\s|<!--|;;|%%|\"\"\"|''')")
_COMMON_LINES = frozenset(
    "try: else: finally: pass return break continue end do begin default: none null true false return; break; continue; "
    "return;} else{ }else{ endif done esac fi self then super super() @override @property @staticmethod @classmethod "
    "returnnone returntrue returnfalse returnself returnnull returnnil returnnull; returntrue; "
    " returnfalse; returnnext();".split()
)
_VERSION = re.compile(r"[\"']?(?:__)?version(?:__|_info|s)?[\"']?\s*[=:(]", re.IGNORECASE)
_MIN_LINE = 6


def _significant_lines(changes: Sequence[ChangeLike], side: str) -> dict[str, Counter[str]]:
    """The significant lines that a commit added to or removed from (`side`) each source file, without moved lines."""
    moved: Counter[str] = Counter()
    for change in changes:
        if is_source(change.path):
            for hunk in change.hunks:
                moved.update(map(_strip_whitespace, hunk.removed if side == "added" else hunk.added))
    found: dict[str, Counter[str]] = {}
    for change in changes:
        if change.binary or not is_source(change.path) or not change.hunks:
            continue
        lines: Counter[str] = Counter()
        for hunk in change.hunks:
            for line in hunk.added if side == "added" else hunk.removed:
                bare = _strip_whitespace(line)
                if not _is_significant(line, bare):
                    continue
                if moved[bare] > 0:
                    moved[bare] -= 1
                else:
                    lines[bare] += 1
        path = change.old_path if side == "removed" and change.status == RENAMED and change.old_path else change.path
        found[path] = lines
    return found


def _strip_whitespace(line: str) -> str:
    """The line without white space, so that reformatted lines compare equal."""
    return "".join(line.split())


def _is_significant(line: str, bare: str) -> bool:
    """Whether a line is long and specific enough to identify: no comment, import, version or common statement."""
    if len(bare) < _MIN_LINE or bare.lower() in _COMMON_LINES:
        return False
    text = line.strip()
    if _COMMENT.match(text) or _IMPORT.match(text) or _VERSION.match(text):
        return False
    return sum(character.isalnum() for character in bare) >= 4


def is_source(path: str) -> bool:
    """Whether a file holds program code: not tests, documentation, data, set-up, generated or vendored files."""
    return kind_of(path) == CODE and not is_generated_or_vendored(path) and not roles(path) & SETUP


# -- fixes in an index -------------------------------------------------------------------------------------------------


def commit_order(history: HistorySnapshot) -> NDArray[np.int64]:
    """The numbers of all live commits except merges, newest first."""
    numbers = history.newest_first
    found: NDArray[np.int64] = numbers[(history.commit_flags[numbers] & MERGE) == 0] if len(numbers) else numbers
    return found


def sha_prefixes(history: HistorySnapshot, order: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first eight bytes of each hash, which identify a commit within a history."""
    import numpy as np

    if not len(order):
        return np.zeros(0, "<u8")
    names = np.ascontiguousarray(history.column("commits", "sha")[order])
    marks: NDArray[np.uint64] = names.view("<u8").reshape(len(order), -1)[:, 0].copy()
    return marks


def match_positions(old: NDArray[np.uint64], new: NDArray[np.uint64], window: int) -> NDArray[np.int64]:
    """For each position in the new order the one in the old order after the same `window` commits; -1 if there is none."""
    import numpy as np

    places = np.full(len(new), -1, np.int64)
    if not len(old) or not len(new):
        return places
    by_mark = np.argsort(old, kind="stable")
    at = np.minimum(np.searchsorted(old[by_mark], new), len(old) - 1)
    same = old[by_mark][at] == new
    places[same] = by_mark[at][same]
    follows = np.zeros(len(new), bool)
    follows[1:] = (places[1:] > 0) & (places[1:] == places[:-1] + 1) & (places[:-1] >= 0)
    every = np.arange(len(new))
    start = np.maximum.accumulate(np.where(follows, 0, every))
    enough = (every - start >= window) | ((start == 0) & (places[0] == 0))
    places[~enough] = -1
    return places


def find_indexed_fixes(
    history: HistorySnapshot,
    order: NDArray[np.int64],
    settings: OutcomeSettings,
    known: tuple[NDArray[np.uint64], NDArray[Any]] | None = None,
) -> NDArray[Any]:
    """All fixes, as rows; `known` are the hash prefixes of an earlier order and its fixes, found with the same settings."""
    import numpy as np

    prefixes = sha_prefixes(history, order)
    before, rows = known if known is not None else (np.zeros(0, "<u8"), np.zeros(0, FIX_ROW))
    places = match_positions(before, prefixes, settings.window)
    kept = _carry_over(rows, places, len(before))
    fresh: list[tuple[int, ...]] = []
    missing = places < 0
    edges = np.flatnonzero(np.diff(missing.astype(np.int8), prepend=0, append=0))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        fresh += _find_fixes_between(history, order, start, end, settings)
    found = np.concatenate((kept, np.array(fresh, FIX_ROW)))
    return found[np.lexsort((found["later"], found["earlier"]))]


def _carry_over(rows: NDArray[Any], places: NDArray[np.int64], count: int) -> NDArray[Any]:
    """The known fixes that are still valid, with their new positions."""
    import numpy as np

    target = np.full(count, -1, np.int64)
    here = np.flatnonzero(places >= 0)
    target[places[here]] = here
    moved = target[rows["earlier"]] if len(rows) else np.zeros(0, np.int64)
    kept: NDArray[Any] = rows[moved >= 0].copy()
    distance = kept["earlier"].astype(np.int64) - kept["later"]
    kept["earlier"] = moved[moved >= 0]
    kept["later"] = kept["earlier"] - distance
    return kept


def _find_fixes_between(
    history: HistorySnapshot, order: NDArray[np.int64], start: int, end: int, settings: OutcomeSettings
) -> list[tuple[int, ...]]:
    """The fixes of the commits at the positions `start` to `end`, as rows."""
    window = FixWindow(settings)
    found: list[tuple[int, ...]] = []
    for place in range(max(0, start - settings.window), end):
        commit = IndexedCommit(history, int(order[place]))
        found += [
            (
                place, place - fix.distance, min(fix.rewritten, 0xFFFFFFFF), round(fix.overlap * _SHARE_SCALE),
                round(fix.share * _SHARE_SCALE), round(fix.confidence * _SHARE_SCALE), int(fix.strict),
            )
            for fix in window.feed(commit, known=place < start)
        ]  # fmt: skip
    return found


def decode_fixes(rows: NDArray[Any], shas: list[str]) -> list[Fix]:
    """Rows as `Fix` values; `shas` are the hashes in the order of commits."""
    columns = [rows[name].tolist() for name, _ in FIX_ROW]
    return [
        Fix(
            shas[earlier], shas[later], earlier - later, overlap / _SHARE_SCALE, lines, share / _SHARE_SCALE, bool(strict),
            confidence / _SHARE_SCALE,
        )
        for earlier, later, lines, overlap, share, confidence, strict in zip(*columns, strict=True)
    ]  # fmt: skip


class IndexedCommit:
    """A commit of an index, read lazily."""

    def __init__(self, history: HistorySnapshot, number: int) -> None:
        self._history, self._number = history, number

    @property
    def sha(self) -> str:
        return self._history.sha(self._number)

    @cached_property
    def subject(self) -> str:
        return self._history.subject(self._number)

    @cached_property
    def changes(self) -> tuple[IndexedChange, ...]:
        return tuple(IndexedChange(self._history, view) for view in self._history.changes_of(self._number))


class IndexedChange:
    """A changed file of an indexed commit, with hunks read lazily."""

    def __init__(self, history: HistorySnapshot, view: ChangeView) -> None:
        self._history, self._numbers = history, view.hunks
        self.path, self.status, self.old_path, self.binary = view.path, view.status, view.old_path, view.binary

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(Hunk(0, 0, "", *self._history.hunk_lines(number)) for number in self._numbers)
