"""How old each line of a file is, and which commit wrote it: blame without what the commits said and changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lurcher.config.schema import BlameSettings
from lurcher.errors import PathError
from lurcher.sources.git.blame import blame, runs
from lurcher.types import Degraded


@dataclass(frozen=True, slots=True)
class Layer:
    """The lines of a file that one commit wrote."""

    sha: str | None
    """None for what is not committed."""
    author: str
    authored: int
    subject: str
    lines: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sha": self.sha, "author": self.author, "subject": self.subject, "date": _date(self.authored) if self.sha else None,
            "lines": [list(run) for run in self.lines],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class HeatAnswer:
    """The layers of a file, the newest first."""

    path: str
    layers: tuple[Layer, ...]
    degraded: tuple[Degraded, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        told = [note.to_dict() for note in self.degraded]
        return {"path": self.path, "commits": [layer.to_dict() for layer in self.layers], "degraded": told}


def heat(file: Path, path: str, settings: BlameSettings) -> HeatAnswer:
    """`file` is where it lies, `path` what the answer calls it."""
    top = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    try:
        data = file.read_bytes() if file.is_file() else b""
    except OSError:
        data = b""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if top is None or not lines:
        raise PathError(f"nothing is known of the past of {path}", "name a file of a git repository")
    found = blame(top, file.relative_to(top).as_posix(), 1, lines, settings)
    if found is None:
        raise PathError(f"git could not tell who wrote {path}", "commit it first")
    numbers: dict[str, list[int]] = {}
    for line in found.lines:
        numbers.setdefault(line.sha, []).append(line.number)
    layers = []
    for sha, mine in numbers.items():
        header = found.headers[sha]
        known = bool(sha.strip("0"))
        layers.append(Layer(sha if known else None, header.author, header.authored, header.subject, runs(sorted(mine))))
    layers.sort(key=lambda layer: (layer.sha is not None, -layer.authored, layer.sha or ""))
    return HeatAnswer(path, tuple(layers))


def _date(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return None
