"""Sections that we put into files of the user, between two marks: the one in AGENTS.md, and a git hook.

A section is added, renewed or removed without touching anything else. The hook brings the index up to date after each commit,
in the background, and never fails or delays the commit.
"""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

from lurcher.surfaces.agents.jsonc import NotEditable


def add_section(text: str, section: str, begin: str, end: str) -> str:
    """The text with the section in place of the one that is there, else at its end."""
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
        raise NotEditable(f"the marks {begin} and {end} in it do not fit together")
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
    """The hook with our part, which comes first: a hook may end wherever it likes."""
    if text is None or not text.strip():
        return f"#!/bin/sh\n{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n"
    if not path.stat().st_mode & stat.S_IXUSR:
        raise NotEditable("it is not executable, so somebody has switched it off")
    first, newline, rest = text.partition("\n")
    if _SHELLS.match(first) is None:
        raise NotEditable("it is not a shell script")
    if HOOK_BEGIN in text or HOOK_END in text:
        return add_section(text, HOOK, HOOK_BEGIN, HOOK_END)
    return f"{first}{newline or chr(10)}{HOOK_BEGIN}\n{HOOK}\n{HOOK_END}\n{rest}"


def remove_hook(text: str) -> str | None:
    """The hook without our part; None where nothing else is in it."""
    rest = remove_section(text, HOOK_BEGIN, HOOK_END)
    return None if rest.strip() in ("#!/bin/sh", "") else rest
