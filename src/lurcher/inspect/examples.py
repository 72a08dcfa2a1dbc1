"""Example queries for the start page, made of a repository's own names, commits and documents; the same for the same state."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lurcher.inspect import Basis
from lurcher.runtime.kernel import np
from lurcher.sources import git
from lurcher.sources.roles import PARSED, TEST, VENDORED, is_note
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Definition

_FILES = 60
"""The number of largest files that are searched for names."""
_SUBJECTS = 60
_SECONDS = 3.0
_SHORTEST, _LONGEST = 4, 40
_DULL = frozenset({"main", "init", "setup", "test", "tests", "readme", "changelog", "license", "index", "contributing", "news"})
_BESIDE = frozenset({"static", "dist", "benchmarks", "examples"})
_VERBS = frozenset({"get", "set", "do", "is", "has", "to", "on"})
_FUNCTIONS = frozenset({"function", "method"})
_BEFORE = re.compile(
    r"^(?:\[[^\]]*\]|[\w/()!-]{1,30}:(?= )|(?:fix(?:es|ed)?|close[sd]?|refs?|see)\s+#\d+\s*(?:--|[-:,])?)\s*", re.IGNORECASE
)
_AFTER = re.compile(r"\s*(?:\(#\d+\)|\(!?\d+\)|[.!…])\s*$")
_PLAIN = re.compile(r"[^\W\d_][\w'`.,/()+ -]*")
_NEVER = re.compile(r"\S{25,}|https?:|@|^(?:merge|bump|release|version|revert)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    source: str
    what: str
    """words, name, pattern, past or note"""


@dataclass(frozen=True, slots=True)
class Examples:
    examples: tuple[Example, ...]
    basis: Basis

    def to_dict(self) -> dict[str, Any]:
        found = [{"text": one.text, "source": one.source, "what": one.what} for one in self.examples]
        return {"examples": found, **self.basis.to_dict()}


def examples(snapshot: Snapshot, tops: Sequence[str], basis: Basis) -> Examples:
    """One example of each kind that the repository has material for; `tops` are the work trees with a history."""
    names = list(_names(snapshot))
    found: list[Example] = []
    phrases = [words for name in names if 2 <= len(words := _words(name.name)) <= 4]
    if phrases:
        chosen = phrases[-1] if len(phrases) < 3 else phrases[2]
        words = chosen[chosen[0] in _VERBS :]
        found.append(Example(f"how does {' '.join(words)} work", "", "words"))
    if names:
        one = next((name for name in names if name.container), names[0])
        found.append(Example(".".join(filter(None, (_innermost(one), one.name))), "", "name"))
    if phrases:
        words = phrases[min(1, len(phrases) - 1)]
        found.append(Example(f"{words[0]}.*{words[-1]}", "", "pattern"))
    subject = next((one for top in tops for one in _subjects(top)), None)
    if subject is not None:
        found.append(Example(subject, "history", "past"))
    note = next(_notes(snapshot), None)
    if note is not None:
        found.append(Example(note, "notes", "note"))
    return Examples(tuple(found), basis)


def _largest(snapshot: Snapshot) -> list[int]:
    files = np.flatnonzero(snapshot.live_files).tolist()
    sizes = snapshot.unit_counts
    return sorted(files, key=lambda file: (-int(sizes[file]), snapshot.path(file)))


def _names(snapshot: Snapshot) -> Iterator[Definition]:
    """Well-known names: the longest public function, methods first, of each of the largest files in the main language."""
    files = [file for file in _largest(snapshot) if not _is_beside(snapshot, file)]
    sizes: dict[str, int] = {}
    for file in files:
        language = snapshot.language(file)
        if language in PARSED:
            sizes[language] = sizes.get(language, 0) + int(snapshot.unit_counts[file])
    main = max(sizes, key=lambda name: (sizes[name], name), default="")
    for file in [file for file in files if snapshot.language(file) == main][:_FILES]:
        definitions = snapshot.definitions_of(file)
        types = {one.qualified for one in definitions if one.kind not in _FUNCTIONS}
        fitting = [one for one in definitions if one.kind in _FUNCTIONS and _is_plain(one, types)]
        yield from sorted(fitting, key=_prominence)[:1]


def _prominence(one: Definition) -> tuple[bool, int, int]:
    return not (one.container and len(_words(one.name)) > 1), one.start_byte - one.end_byte, one.start_byte


def _is_beside(snapshot: Snapshot, file: int) -> bool:
    """Whether a file is a test or not the repository's own code."""
    folders = snapshot.bare_path(file).lower().split("/")
    return bool(int(snapshot.file_roles[file]) & (TEST | VENDORED)) or not _BESIDE.isdisjoint(folders)


def _is_plain(one: Definition, types: set[str]) -> bool:
    parts = [_innermost(one), one.name] if one.container else [one.name]
    return (not one.container or one.container in types) and _SHORTEST <= len(one.name) <= _LONGEST and all(
        part.isidentifier() and part.isascii() and not part.startswith("_") and part.lower() not in _DULL for part in parts
    )  # fmt: skip


def _innermost(one: Definition) -> str:
    """The type that a definition is in, without the namespaces around it."""
    return one.container.rpartition(".")[2]


def _words(name: str) -> list[str]:
    found = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    return [word.lower() for word in found] if all(len(word) > 1 and word.isalpha() for word in found) else []


def _subjects(top: str) -> Iterator[str]:
    """Subjects of recent commits without numbers and prefixes; none that could contain a key or an address."""
    arguments = ("--no-show-signature", "--no-merges", "--no-patch", "--encoding=UTF-8", "--format=%s")
    status, output = git.finish(git.start(top, "log", f"--max-count={_SUBJECTS}", *arguments), _SECONDS)
    for line in output.decode("utf-8", "replace").splitlines() if status == 0 else ():
        text = line
        while (shorter := _BEFORE.sub("", _AFTER.sub("", text))) != text:
            text = shorter
        if 3 <= len(text.split()) <= 9 and len(text) <= 70 and _PLAIN.fullmatch(text) and not _NEVER.search(text):
            yield text


def _notes(snapshot: Snapshot) -> Iterator[str]:
    for file in _largest(snapshot):
        path = snapshot.path(file)
        if not is_note(path, snapshot.language(file)) or _is_beside(snapshot, file) or "tests" in path:
            continue
        stem = posixpath.splitext(posixpath.basename(path))[0].lower()
        words = [word for word in re.split(r"[\W_]+", stem) if word.isalpha()]
        if words and stem not in _DULL and len(words) <= 6 and max(map(len, words)) <= _LONGEST:
            yield " ".join(words)
