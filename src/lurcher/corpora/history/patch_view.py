"""The part of a commit's change that put certain lines into a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lurcher.sources.git import command
from lurcher.sources.git.blame import unquoted
from lurcher.sources.git.parse import Hunk
from lurcher.sources.secrets import has_key, secret_path

_FORMAT = "%x1e%H%x1f%an%x1f%ae%x1f%at%x1f%P%x1f%s%x1f%b%x1d"
_OPTIONS = (
    "--no-walk=unsorted", "--stdin", "--no-show-signature", "--no-notes", "--encoding=UTF-8", f"--format={_FORMAT}",
    "-p", "-U0", "-O/dev/null", "--inter-hunk-context=0", "-M", "--diff-merges=first-parent", "--no-color",
    "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--no-relative",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A commit as its message tells it, with its changes of the files asked for."""

    sha: str
    author: str
    email: str
    authored: int
    parents: tuple[str, ...]
    subject: str
    body: str
    hunks: Mapping[str, tuple[Hunk, ...]]


def read(top: Path, shas: Sequence[str], paths: Sequence[str], seconds: float, *, secrets: bool = False) -> dict[str, Told]:
    """The commits by hash; one that git cannot show is missing. What looks like a secret is shown only if that is wanted."""
    settled = ("--literal-pathspecs", "-c", "diff.suppressBlankEmpty=false")
    process = command.start(top, *settled, "log", *_OPTIONS, "--", *paths, feed=True)
    if process is None:
        return {}
    output = command.answered(process, "".join(f"{sha}\n" for sha in shas).encode("ascii"), seconds)
    found = {}
    for record in output.split(b"\x1e")[1:]:
        head, _, patch = record.partition(b"\x1d")
        fields = head.decode("utf-8", "replace").split("\x1f")
        if len(fields) == 7:
            sha, author, email, authored, parents, subject, body = fields
            when = int(authored) if authored.lstrip("-").isdigit() else 0
            found[sha] = Told(sha, author, email, when, tuple(parents.split()), subject, body.strip(), _hunks(patch, secrets))
    return found


_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


def _hunks(patch: bytes, secrets: bool) -> dict[str, tuple[Hunk, ...]]:
    """The hunks of each file, by its name after the change."""
    found: dict[str, list[Hunk]] = {}
    name = ""
    hidden = False
    rows = iter(patch.split(b"\n"))
    for row in rows:
        if row.startswith(b"diff --git "):
            name, hidden = "", False
        elif row.startswith((b"--- ", b"+++ ")):
            whole = unquoted(row[4:].removesuffix(b"\t"))
            hidden = hidden or (not secrets and secret_path(whole[2:]))
            name = whole[2:] if whole.startswith("b/") else ""
        elif (match := _RANGE.match(row)) is not None:
            left = int(match[2] or 1), int(match[4] or 1)
            removed: list[str] = []
            added: list[str] = []
            while len(removed) < left[0] or len(added) < left[1]:
                line = next(rows, None)
                if line is None:
                    break
                if line[:1] in (b"-", b"+"):
                    (removed if line[:1] == b"-" else added).append(line[1:].decode("utf-8", "replace").removesuffix("\r"))
            heading = match[5].decode("utf-8", "replace")
            if name and not hidden and (secrets or not has_key("\n".join([*removed, *added]).encode("utf-8", "replace"))):
                hunk = Hunk(int(match[1]), int(match[3]), heading, tuple(removed), tuple(added))
                found.setdefault(name, []).append(hunk)
    return {path: tuple(hunks) for path, hunks in found.items()}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a change, each behind `-` or `+`."""

    path: str
    start_line: int
    """Of the first line shown, in the file as the commit left it."""
    heading: str
    text: str
    left_out: int
    """Lines of these hunks that are not shown."""


def excerpt(path: str, hunks: Sequence[Hunk], lines: Sequence[int], most: int) -> Excerpt | None:
    """What was put in and taken out where the lines stand; `lines` are their numbers as the commit left the file."""
    wanted = set(lines)
    for hunk in hunks:
        inside = [number for number in range(hunk.new_start, hunk.new_start + len(hunk.added)) if number in wanted]
        if not inside:
            continue
        # Room for both: what was there before, and the lines asked about.
        room = max(1, most - min(len(hunk.removed), most // 2))
        begin = min(inside[0] - hunk.new_start, max(0, len(hunk.added) - room))
        added = hunk.added[begin : begin + room]
        removed = hunk.removed[: most - len(added)]
        text = "\n".join([*(f"-{line}" for line in removed), *(f"+{line}" for line in added)])
        left = len(hunk.removed) + len(hunk.added) - len(removed) - len(added)
        return Excerpt(path, hunk.new_start + begin, hunk.heading, text, left)
    return None
