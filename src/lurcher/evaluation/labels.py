"""What makes a hit right: files, line ranges, a regular expression, or a commit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lurcher.types import Hit

MAX_PATTERN = 1_000
MAX_PATTERN_TEXT = 20_000

Judge = Callable[[Hit], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """A file that answers the question, or some of its lines."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


class FileNames:
    """The files of an indexed folder, found by a label that is relative to the repository."""

    def __init__(self, files: Iterable[str], prefix: str = "") -> None:
        self._by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in sorted(files):
            full = f"{prefix}/{path}" if prefix else path
            self._by_name[path.rpartition("/")[2]].append((full, path))

    def find(self, label: str) -> frozenset[str]:
        """The file of exactly that path if there is one, else every file whose path ends in it."""
        namesakes = self._by_name.get(label.rpartition("/")[2], [])
        exact = [path for full, path in namesakes if full == label] or [path for _, path in namesakes if path == label]
        return frozenset(exact or [path for full, path in namesakes if full.endswith(f"/{label}")])


def judge_target(target: Target, files: frozenset[str]) -> Judge:
    """Accepts a hit in one of the target's files that overlaps its lines; a commit that changed the file is not the file."""
    first = target.start_line
    last = target.end_line

    def judge(hit: Hit) -> bool:
        if hit.path not in files or hit.source == "history":
            return False
        return (last is None or hit.start_line <= last) and (first is None or hit.end_line >= first)

    return judge


def judge_pattern(pattern: re.Pattern[str]) -> Judge:
    """Accepts a hit whose path, symbol, commit subject or text matches."""

    def judge(hit: Hit) -> bool:
        subject = str((hit.commit or {}).get("subject") or "")
        return any(pattern.search(part[:MAX_PATTERN_TEXT]) for part in (hit.path, hit.symbol or "", subject, hit.text))

    return judge


def judge_commit(commit: str, subject: str, same_patch: Callable[[str], bool]) -> Judge:
    """Accepts that commit, or one of the same subject that is the same patch."""

    def judge(hit: Hit) -> bool:
        sha = str((hit.commit or {}).get("sha") or "")
        if not _SHA.fullmatch(sha):
            return False
        if commit.startswith(sha) or sha.startswith(commit):
            return True
        # Comparing patches costs two git processes; a cherry-pick keeps its subject, so ask only then.
        return (hit.commit or {}).get("subject") == subject != "" and same_patch(sha)

    return judge


def document_key(hit: Hit) -> str:
    """What counts as one document: the commit of a history hit, else the file."""
    return str((hit.commit or {}).get("sha") or hit.path) if hit.source == "history" else hit.path


_SHA = re.compile(r"[0-9a-f]{7,64}")
_REFERENCE = re.compile(r"(?:#|\bgh-|/(?:issues|pull|discussions)/)(\d+)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
MIN_TITLE_WORDS = 3


def quotes_report(message: str, title: str, text: str) -> bool:
    """Whether a commit message gives the report away: it holds its title, or a reference number that it quotes too."""
    if set(_REFERENCE.findall(message)) & set(_REFERENCE.findall(f"{title}\n{text}")):
        return True
    words = _words(title)
    return len(words) >= MIN_TITLE_WORDS and f" {' '.join(words)} " in f" {' '.join(_words(message))} "


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.casefold())
