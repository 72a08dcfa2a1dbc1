"""Which commit wrote each line of a file, from `git blame --porcelain`.

A repository can make git run programs: a `textconv` for showing a file (switched off), and `clean` filters for files of the
work tree (each is overridden with an empty one, for this command only).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lurcher.config.schema import BlameSettings
from lurcher.sources import git

SECONDS = 60.0
"""How long git may take for one command; hand-set."""
_MAX_IGNORED = 2000


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One line of the file, its commit, and its number and path in that commit."""

    number: int
    original: int
    sha: str
    path: str
    text: str


@dataclass(slots=True)
class BlameHeader:
    """What blame prints about a commit."""

    sha: str
    author: str = ""
    email: str = ""
    authored: int = 0
    subject: str = ""
    boundary: bool = False
    """The history ends here: it is the first commit, or a shallow clone lacks its parents."""
    previous: str | None = None
    """The path of the file before the commit."""

    @property
    def committed(self) -> bool:
        return self.sha.strip("0") != ""


@dataclass(frozen=True, slots=True)
class Blame:
    lines: tuple[BlameLine, ...]
    headers: dict[str, BlameHeader]


def blame(
    top: Path, path: str, first: int, last: int, settings: BlameSettings, *, revision: str | None = None
) -> Blame | None:
    """Blame lines `first` to `last` of a file, in the work tree or in a revision; None if git fails."""
    overrides = _disable_filters(top) if revision is None else []
    if overrides is None:
        revision, overrides = "HEAD", []
    # The empty option clears blame.ignoreRevsFile; if that names a missing file, git fails nevertheless.
    # -w and -M follow lines through changes of white space and moves within the file. -C, lines copied from other files, is
    # left out: it is slower.
    arguments = ["--porcelain", "--no-textconv", "--no-progress", "--encoding=UTF-8", "--ignore-revs-file=", "-w", "-M"]
    arguments += [f"--ignore-rev={sha}" for sha in ignored_revisions(top, settings, revision)]
    arguments += ["-L", f"{first},{last}", *([revision] if revision else []), "--", path]
    status, output = git.finish(git.start(top, *overrides, "blame", *arguments), SECONDS)
    return parse_blame(output) if status == 0 else None


def ignored_revisions(top: Path, settings: BlameSettings, revision: str | None) -> list[str]:
    """The commits in the file of commits to ignore that exist: git would fail on a list with one that does not."""
    if not settings.ignore:
        return []
    if revision is None:
        try:
            place = (top / settings.ignore).resolve()
            data = place.read_bytes()[:1_000_000] if place.is_relative_to(top.resolve()) and place.is_file() else b""
        except (OSError, ValueError):
            return []
    else:
        status, data = git.finish(git.start(top, "cat-file", "blob", f"{revision}:{settings.ignore}"), SECONDS)
        data = data[:1_000_000] if status == 0 else b""
    named = re.findall(rb"^[ \t]*([0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?)\b", data, re.MULTILINE)[:_MAX_IGNORED]
    if not named:
        return []
    data = b"\n".join(named) + b"\n"
    status, output = git.run_with_input(top, "cat-file", "--batch-check=%(objecttype) %(objectname)", data=data)
    rows = (line.split(b" ") for line in output.splitlines()) if status == 0 else ()
    return [row[1].decode("ascii") for row in rows if len(row) == 2 and row[0] == b"commit"]


def _disable_filters(top: Path) -> list[str] | None:
    """Options that keep git from running a filter; None if a filter has a name that cannot be overridden."""
    names = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$")
    status, output = git.finish(git.start(top, *names))
    if status not in (0, 1):
        return None
    arguments: list[str] = []
    for name in sorted({key.rpartition(b".")[0] for key in output.split(b"\0") if key}):
        driver = name.decode("utf-8", "surrogateescape")
        if "=" in driver or "\n" in driver:
            return None
        for key, value in (("clean", ""), ("process", ""), ("required", "false")):
            arguments += ["-c", f"{driver}.{key}={value}"]
    return arguments


def parse_blame(output: bytes) -> Blame:
    """Parse `git blame --porcelain`: a head row for each line, the facts of a commit once, and the line after a tab."""
    headers: dict[str, BlameHeader] = {}
    lines: list[BlameLine] = []
    names: dict[str, str] = {}
    rows = iter(output.split(b"\n"))
    for row in rows:
        match = _HEAD.fullmatch(row)
        if match is None:
            continue
        sha = match[1].decode("ascii")
        header = headers.setdefault(sha, BlameHeader(sha))
        text = b""
        for fact in _facts(rows):
            key, _, value = fact.partition(b" ")
            if fact[:1] == b"\t":
                text = fact[1:]
            elif key == b"filename":
                names[sha] = unquote_path(value)
            else:
                _set_fact(header, key, value)
        shown = text.decode("utf-8", "replace").removesuffix("\r")
        lines.append(BlameLine(int(match[3]), int(match[2]), sha, names.get(sha, ""), shown))
    return Blame(tuple(lines), headers)


_HEAD = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d+) (\d+)(?: \d+)?")


def _facts(rows: Iterator[bytes]) -> Iterator[bytes]:
    """The rows of one entry: facts, and last the line itself."""
    for row in rows:
        yield row
        if row[:1] == b"\t":
            return


def _set_fact(header: BlameHeader, key: bytes, value: bytes) -> None:
    text = value.decode("utf-8", "replace")
    if key == b"author":
        header.author = text
    elif key == b"author-mail":
        header.email = text.strip("<>")
    elif key == b"author-time" and value.lstrip(b"-").isdigit():
        header.authored = int(value)
    elif key == b"summary":
        header.subject = text
    elif key == b"boundary":
        header.boundary = True
    elif key == b"previous":
        header.previous = unquote_path(value.partition(b" ")[2])


_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


def unquote_path(name: bytes) -> str:
    """Decode a path as git prints it: quoted and escaped if it contains special characters."""
    if len(name) >= 2 and name[:1] == name[-1:] == b'"':

        def plain(match: re.Match[bytes]) -> bytes:
            code = match[1].decode("latin-1")
            return bytes([int(code, 8) & 255 if len(code) == 3 else _ESCAPES.get(code, ord(code))])

        name = _ESCAPE.sub(plain, name[1:-1])
    return name.decode("utf-8", "surrogateescape")


def line_runs(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as runs (first, last)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)
