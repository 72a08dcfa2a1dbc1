"""gitignore patterns, matched as git matches them: one entry at a time, from the top of the tree down.

Written here and not taken from a library: matching a path together with all its parents at once, as `pathspec` does,
differs from git when patterns are negated, and needs one regular expression per pattern and path. Here a run of
patterns of the same sign is one expression. Wildcards are translated so that matching cannot backtrack beyond linear
steps per wildcard, because ignore files come with the repositories that are searched.

`?` and `[…]` stand for one character here, for one byte in git.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lurcher.sources.decode import read_regular

_MAX_BYTES = 1_000_000
_NEVER = r"(?!)"
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring patterns of one sign."""

    excludes: bool
    file_names: re.Pattern[str] | None
    file_paths: re.Pattern[str] | None
    folder_names: re.Pattern[str] | None
    folder_paths: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Patterns:
    """One ignore file."""

    runs: tuple[_Run, ...]
    """Last in the file first: the last match decides."""

    @property
    def reincludes(self) -> bool:
        return any(not run.excludes for run in self.runs)

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        """True: excluded, False: included again, None: not mentioned. The path is relative to the ignore file."""
        for run in self.runs:
            names, paths = (run.folder_names, run.folder_paths) if is_folder else (run.file_names, run.file_paths)
            if (names is not None and names.fullmatch(name)) or (paths is not None and paths.fullmatch(path)):
                return run.excludes
        return None


Stack = tuple[tuple[int, Patterns], ...]
"""The ignore files that apply in a folder, outermost first, each with the length of the path prefix to leave out."""


def stack_verdict(stack: Stack, path: str, name: str, is_folder: bool) -> bool | None:
    """The innermost ignore file that mentions the entry decides."""
    for skip, patterns in reversed(stack):
        verdict = patterns.verdict(path[skip:], name, is_folder)
        if verdict is not None:
            return verdict
    return None


def load(path: str) -> Patterns | None:
    """An ignore file's patterns; None when it is missing, empty, or (as for git) not a regular file."""
    raw = read_regular(path, _MAX_BYTES)
    return None if isinstance(raw, str) else parse(raw.decode("utf-8", "surrogateescape"))


def parse(text: str) -> Patterns | None:
    """The patterns of an ignore file's text, None if there are none."""
    groups: list[tuple[bool, list[tuple[str, bool, bool]]]] = []
    translator = _Translator()
    for line in text.removeprefix("\ufeff").split("\n"):
        pattern = _trim(line.removesuffix("\r"))
        if not pattern or pattern.startswith("#"):
            continue
        excludes = not pattern.startswith("!")
        pattern = pattern if excludes else pattern[1:]
        only_folders = pattern.endswith("/")
        pattern = pattern[:-1] if only_folders else pattern
        if not pattern:
            continue
        by_path = "/" in pattern
        expression = translator.path(pattern.removeprefix("/")) if by_path else translator.segment(pattern)
        if not groups or groups[-1][0] != excludes:
            groups.append((excludes, []))
        groups[-1][1].append((expression, by_path, only_folders))
    runs = tuple(_run(excludes, group) for excludes, group in reversed(groups))
    return Patterns(runs) if runs else None


def _run(excludes: bool, group: list[tuple[str, bool, bool]]) -> _Run:
    def joined(paths: bool, folders: bool) -> re.Pattern[str] | None:
        parts = [text for text, by_path, only_folders in group if by_path == paths and (folders or not only_folders)]
        return re.compile("|".join(parts), re.DOTALL) if parts else None

    return _Run(excludes, joined(False, False), joined(True, False), joined(False, True), joined(True, True))


def _trim(line: str) -> str:
    """Without trailing spaces, unless a backslash protects them."""
    end = len(line)
    while end and line[end - 1] == " ":
        end -= 1
    if end == len(line):
        return line
    slashes = len(line[:end]) - len(line[:end].rstrip("\\"))
    return line[: end + 1] if slashes % 2 else line[:end]


class _Translator:
    """Turns globs into regular expressions; group names are unique within one ignore file."""

    def __init__(self) -> None:
        self._groups = 0

    def path(self, pattern: str) -> str:
        """A pattern with slashes: `**` as a whole segment spans folders, everything else stays within its segment."""
        runs: list[list[str]] = [[]]
        for segment in _segments(pattern):
            if len(segment) > 1 and not segment.strip("*"):
                runs.append([])
            else:
                runs[-1].append(self.segment(segment))
        first, *later = ["/".join(run) for run in runs]
        if not later:
            return first
        expression = f"{first}/" if runs[0] else ""
        *middle, last = later
        for run, segments in zip(middle, runs[1:-1], strict=True):
            if segments:
                expression += self._earliest(f"(?:[^/]+/)*?{run}/")
        return expression + (f"(?:.*/)?{last}" if runs[-1] else ".+")

    def segment(self, glob: str) -> str:
        """One segment: a star that is followed by another one may stop at the first place where its text fits."""
        pieces = _pieces(glob)
        if pieces is None:
            return _NEVER
        first, *rest = pieces
        if not rest:
            return first
        *middle, last = rest
        stars = "".join(self._earliest(f"[^/]*?{piece}") for piece in middle if piece)
        return f"{first}{stars}[^/]*{last}"

    def _earliest(self, expression: str) -> str:
        """Matches once and never again differently (an atomic group, which Python 3.10 does not have)."""
        self._groups += 1
        return f"(?=(?P<g{self._groups}>{expression}))(?P=g{self._groups})"


def _segments(pattern: str) -> list[str]:
    """Split at slashes, but not at one inside brackets, which can match nothing."""
    segments, start, position = [], 0, 0
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == "[" and (end := _bracket(pattern, position)) is not None:
            position = end[0] - 1
        elif pattern[position] == "/":
            segments.append(pattern[start:position])
            start = position + 1
        position += 1
    return [*segments, pattern[start:]]


def _pieces(glob: str) -> list[str] | None:
    """The expressions between a glob's stars; None for a glob that cannot match anything."""
    pieces = [""]
    position = 0
    while position < len(glob):
        character = glob[position]
        position += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "[^/]"
        elif character == "\\":
            if position == len(glob):
                return None
            pieces[-1] += re.escape(glob[position])
            position += 1
        elif character == "[":
            bracket = _bracket(glob, position - 1)
            if bracket is None:
                return None
            position, expression = bracket
            pieces[-1] += expression
        else:
            pieces[-1] += re.escape(character)
    return pieces


def _bracket(glob: str, start: int) -> tuple[int, str] | None:
    """Where a bracket expression ends, and its translation; None when it is not closed."""
    position = start + 1
    negated = glob[position : position + 1] in ("!", "^") and position < len(glob)
    position += negated
    parts: list[str] = []
    previous: str | None = None
    first = True
    while position < len(glob):
        character = glob[position]
        if character == "]" and not first:
            inside = "".join(parts)
            body = f"[{inside}]" if inside else _NEVER
            return position + 1, f"(?!{body})[^/]" if negated else f"(?!/){body}"
        first = False
        if character == "[" and glob.startswith("[:", position) and (end := glob.find("]", position + 2)) > 0:
            if glob[end - 1] == ":":
                name = glob[position + 2 : end - 1]
                if name not in _CLASSES:
                    return None
                parts.append(_CLASSES[name])
                previous = None
                position = end + 1
                continue
        elif character == "-" and previous is not None and glob[position + 1 : position + 2] not in ("", "]"):
            position += 1
            high = glob[position]
            if high == "\\":
                position += 1
                high = glob[position : position + 1]
                if not high:
                    return None
            if previous <= high:
                parts.append(f"{re.escape(previous)}-{re.escape(high)}")
            previous = None
            position += 1
            continue
        elif character == "\\":
            position += 1
            character = glob[position : position + 1]
            if not character:
                return None
        parts.append(re.escape(character))
        previous = character
        position += 1
    return None
