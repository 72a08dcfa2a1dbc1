"""The age and the commit of each line of a file: blame without messages and changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.config.schema import BlameSettings
from lurcher.errors import PathError
from lurcher.sources.git.blame import blame, line_runs
from lurcher.sources.git.commit import utc_date
from lurcher.types import Degraded


@dataclass(frozen=True, slots=True)
class CommitLines:
    """The lines of a file that one commit wrote."""

    sha: str | None
    """None for changes that are not committed."""
    author: str
    authored: int
    subject: str
    lines: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sha": self.sha, "author": self.author, "subject": self.subject,
            "date": utc_date(self.authored) if self.sha else None, "lines": [list(run) for run in self.lines],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LineAgesAnswer:
    """The commits that wrote a file, uncommitted changes first, then the newest first."""

    path: str
    layers: tuple[CommitLines, ...]
    degraded: tuple[Degraded, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        degraded = [note.to_dict() for note in self.degraded]
        return {"path": self.path, "commits": [layer.to_dict() for layer in self.layers], "degraded": degraded}


def line_ages(file: Path, path: str, settings: BlameSettings) -> LineAgesAnswer:
    """Blame all lines of a file; `file` is its location, `path` its name in the answer."""
    top = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    try:
        data = file.read_bytes() if file.is_file() else b""
    except OSError:
        data = b""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if top is None or not lines:
        raise PathError(f"{path} has no history", "name a file of a git repository that is not empty")
    found = blame(top, file.relative_to(top).as_posix(), 1, lines, settings)
    if found is None:
        raise PathError(f"git could not blame {path}", "commit it first")
    numbers: dict[str, list[int]] = {}
    for line in found.lines:
        numbers.setdefault(line.sha, []).append(line.number)
    commits = []
    for sha, mine in numbers.items():
        header = found.headers[sha]
        committed = sha if header.committed else None
        commits.append(CommitLines(committed, header.author, header.authored, header.subject, line_runs(sorted(mine))))
    commits.sort(key=lambda commit: (commit.sha is not None, -commit.authored, commit.sha or ""))
    return LineAgesAnswer(path, tuple(commits))
