"""Changes files of the user: only regular ones inside of the project, each replaced in one step.

A section between two marks, in AGENTS.md or in a git hook, is added, renewed or removed without touching anything else. The
hook updates the index after each commit, in the background, and never fails or delays the commit.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lurcher.surfaces.agents.jsonc import NotEditable

MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file before and after; None if it does not exist."""

    path: Path
    before: str | None
    after: str | None
    mode: int | None = None

    @property
    def nothing(self) -> bool:
        return self.before == self.after


def read(path: Path, within: Path) -> str | None:
    """The text of a file, None if it does not exist; raises NotEditable if we may not change it."""
    folder = path.parent
    while folder != within and folder != folder.parent:
        if folder.is_symlink():
            raise NotEditable(f"{folder.name} is a link")
        folder = folder.parent
    try:
        status = path.lstat()
    except FileNotFoundError:
        _writable(path.parent)
        return None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        raise NotEditable("it is a link")
    if not stat.S_ISREG(status.st_mode):
        raise NotEditable("it is not a regular file")
    if status.st_size > MOST_BYTES:
        raise NotEditable("it is larger than 1 MB")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotEditable("it is read-only")
    _writable(path.parent)
    try:
        # Read as bytes, so that line ends stay as they are.
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise NotEditable("it is not UTF-8 text") from None
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from None


def _writable(folder: Path) -> None:
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise NotEditable(f"the folder {folder.name} cannot be written")


def apply(change: Change) -> None:
    """Replace the file in one step: readers see the old text or the new one."""
    if change.nothing:
        return
    path = change.path
    current = path.read_bytes().decode("utf-8") if path.exists() else None
    if current != change.before:
        raise NotEditable("it has just been changed by another program")
    if change.after is None:
        path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # a folder that held only this
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.mode if change.mode is not None else path.stat().st_mode & 0o777 if path.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(change.after.encode("utf-8"))
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def add_section(text: str, section: str, begin: str, end: str) -> str:
    """The text with the section, which replaces an earlier one or goes to the end."""
    place = _find(text, begin, end)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([begin, *section.strip("\n").split("\n"), end])
    if place is not None:
        return text[: place[0]] + block + text[place[1] :]
    if not text.strip():
        return block + newline
    gap = newline if text.endswith(("\n", "\r")) else newline * 2
    return text + gap + block + newline


def remove_section(text: str, begin: str, end: str) -> str:
    """The text without the section and the blank line that came with it."""
    place = _find(text, begin, end)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    newline = "\r\n" if "\r\n" in text else "\n"
    after = after.removeprefix(newline)
    if before.endswith(newline * 2) and (not after or after.startswith(newline)):
        before = before.removesuffix(newline)
    return before + after


def _find(text: str, begin: str, end: str) -> tuple[int, int] | None:
    starts, ends = text.count(begin), text.count(end)
    if not starts and not ends:
        return None
    first, last = text.find(begin), text.find(end)
    if starts != 1 or ends != 1 or last < first:
        raise NotEditable(f"the marks {begin} and {end} in it do not match")
    return first, last + len(end)


# -- the git hook -------------------------------------------------------------------------------------------------------

HOOK_BEGIN, HOOK_END = "# lurcher:begin", "# lurcher:end"
HOOK = """# Brings the index up to date in the background. It does not wait, and what goes wrong here fails no commit.
(
  for name in $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); do unset "$name"; done
  if command -v lurcher >/dev/null 2>&1; then
    nohup lurcher index --quiet . </dev/null >/dev/null 2>&1 &
  fi
) </dev/null >/dev/null 2>&1 || :"""
_SHELLS = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-\S+\s+)?|\S*/)(?:ba|da|z|k)?sh\b")


def find_hook(project: Path) -> Path:
    """The path of the hook; NotEditable where other repositories may share it."""
    found = _git(project, "rev-parse", "--git-path", "hooks/post-commit")
    if found is None:
        raise NotEditable("this is not a git repository")
    path = Path(project, found)
    own = [Path(project).resolve()]
    common = _git(project, "rev-parse", "--git-common-dir")
    if common is not None:
        own.append(Path(project, common).resolve())
    if not any(path.parent.resolve().is_relative_to(folder) for folder in own):
        raise NotEditable(f"core.hooksPath leads to {path.parent}, which other repositories may share")
    return path


def _git(project: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") if done.returncode == 0 else None


def add_hook(text: str | None, path: Path) -> str:
    """The hook with our section, which comes first: any later line of a hook may exit."""
    if text is None or not text.strip():
        return f"#!/bin/sh\n{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n"
    if not path.stat().st_mode & stat.S_IXUSR:
        raise NotEditable("it is not executable, so it is switched off")
    first, newline, rest = text.partition("\n")
    if _SHELLS.match(first) is None:
        raise NotEditable("it is not a shell script")
    if HOOK_BEGIN in text or HOOK_END in text:
        return add_section(text, HOOK, HOOK_BEGIN, HOOK_END)
    return f"{first}{newline or chr(10)}{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n{rest}"


def remove_hook(text: str) -> str | None:
    """The hook without our section; None if nothing else is in it."""
    rest = remove_section(text, HOOK_BEGIN, HOOK_END)
    return None if rest.strip() in ("#!/bin/sh", "") else rest
