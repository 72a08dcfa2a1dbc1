"""Reads a dataset's files and checks every field, so that an error names its file, its line and the way out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.errors import DatasetError
from lurcher.evaluation.labels import MAX_PATTERN, Target

_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
PLAIN_NAME = r"[\w.+-]+"
OWNER_AND_NAME = r"[\w.-]+/[\w.-]+"
SUB_FOLDER = r"[^/\\]+(?:/[^/\\]+)*"


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a dataset, which knows where it stands when it has to complain."""

    path: Path
    number: int
    item: Any
    unit: str = "line"

    def __post_init__(self) -> None:
        if not isinstance(self.item, dict):
            raise self.error("not an object", 'write {"query": …, "relevant": […]}')

    def error(self, message: str, hint: str) -> DatasetError:
        return DatasetError(f"{self.path}, {self.unit} {self.number}: {message}", hint=hint)

    def text(self, key: str) -> str:
        value = self.item.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key} must be a text that is not empty", f'add "{key}": "…"')
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self.error(f"{key} holds half a character (a lone surrogate)", "write the character itself")
        return value

    def optional_text(self, key: str) -> str:
        value = self.item.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"{key} must be a text", f'write "{key}": "…" or leave it out')
        return value or ""

    def name(self, key: str, shape: str) -> str:
        """A text that becomes part of a path, so only of the given shape."""
        value = self.text(key)
        if not re.fullmatch(shape, value) or {".", ".."} & set(value.split("/")):
            raise self.error(f"{key} is not a name: {value!r}", "use letters, digits, dots, dashes and underscores")
        return value

    def commit(self, key: str) -> str:
        value = self.text(key)
        if not _COMMIT.fullmatch(value):
            raise self.error(f"{key} is not a commit: {value!r}", "write the hexadecimal name of a commit")
        return value.lower()

    def commits(self, key: str) -> tuple[str, ...]:
        value = self.item[key]
        if not isinstance(value, list) or not all(isinstance(sha, str) and _COMMIT.fullmatch(sha) for sha in value):
            raise self.error(f"{key} is no list of commits", "write the hexadecimal names of commits")
        return tuple(sha.lower() for sha in value)

    def pattern(self, key: str) -> re.Pattern[str]:
        value = self.text(key)
        if len(value) > MAX_PATTERN:
            raise self.error(f"{key} has more than {MAX_PATTERN} characters", "write a shorter regular expression")
        try:
            return re.compile(value, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.error(f"{key} is not a regular expression: {error}", "see Python's re for the syntax") from None

    def targets(self, key: str, *, optional: bool = False) -> tuple[Target, ...]:
        value = self.item.get(key)
        if value is None and optional:
            return ()
        if not isinstance(value, list):
            raise self.error(f"{key} must be a list", f'write "{key}": ["path", …], or "pattern": "…" in its place')
        return tuple(self._target(key, entry) for entry in value)

    def _target(self, key: str, entry: Any) -> Target:
        path = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(path, str) or not path.strip():
            raise self.error(f"{key} holds {entry!r}", 'write "path" or {"path", "start_line", "end_line"}')
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
        if not parts or ".." in parts or path.startswith("/"):
            raise self.error(f"{key} holds {path!r}", "write paths relative to the repository")
        if isinstance(entry, str):
            return Target("/".join(parts))
        start, end = entry.get("start_line"), entry.get("end_line")
        for line in (start, end):
            if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
                raise self.error(f"{key} holds the line {line!r}", "lines are numbers from 1")
        if start is not None and end is not None and end < start:
            raise self.error(f"{key} ends at line {end}, before it starts ({start})", "swap the lines")
        return Target("/".join(parts), start, end)

    def repeats(self, key: str, seen: dict[str, int], warnings: list[str]) -> bool:
        """Whether the question came before; it would count twice, so it is left out and said."""
        first = seen.setdefault(" ".join(key.split()), self.number)
        if first == self.number:
            return False
        warnings.append(f"{self.path.name}, {self.unit} {self.number} repeats {self.unit} {first}: left out")
        return True


def needed_folder(path: Path | None, flag: str, meaning: str) -> Path:
    if path is None:
        raise DatasetError(f"this dataset needs a folder: {meaning}", hint=f"add {flag} FOLDER")
    if not path.is_dir():
        raise DatasetError(f"{path} is not a folder", hint=f"{flag} names a folder: {meaning}")
    return path


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", hint="it must be a readable UTF-8 file") from None


def json_lines(path: Path, content: str) -> Iterator[tuple[int, Any]]:
    # Only a newline ends a row: a JSON string may hold other characters that splitlines() takes for line ends.
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(
                f"{path}, line {number}: not JSON ({error})", hint="write one JSON object per line"
            ) from None
        Row(path, number, item)
        yield number, item


def json_list(path: Path, hashed: Any) -> list[Any]:
    content = read_text(path)
    hashed.update(f"{path.name}\0{content}\0".encode())
    try:
        value = json.loads(content)
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"{path}, line {error.lineno}: not JSON ({error.msg})", hint="it must be a JSON list"
        ) from None
    except RecursionError:
        raise DatasetError(f"{path}, line 1: nested too deeply", hint="it must be a JSON list") from None
    if not isinstance(value, list):
        raise DatasetError(f"{path}, line 1: not a list", hint="it must be a JSON list of objects")
    return value
