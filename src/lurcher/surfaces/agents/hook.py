"""A git hook that brings the index up to date after each commit: in the background, and never in the way of the commit."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

from lurcher.surfaces.agents import sections
from lurcher.surfaces.agents.jsonc import NotEditable

BEGIN, END = "# lurcher:begin", "# lurcher:end"
SCRIPT = """# Brings the index up to date in the background. It does not wait, and what goes wrong here fails no commit.
(
  for name in $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); do unset "$name"; done
  if command -v lurcher >/dev/null 2>&1; then
    nohup lurcher index --quiet . </dev/null >/dev/null 2>&1 &
  fi
) </dev/null >/dev/null 2>&1 || :"""
_SHELLS = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-\S+\s+)?|\S*/)(?:ba|da|z|k)?sh\b")


def place_of(project: Path) -> Path:
    """The file of the hook, where the repository's settings have it; NotEditable where it is not the repository's own."""
    found = _git(project, "rev-parse", "--git-path", "hooks/post-commit")
    if found is None:
        raise NotEditable("it is no git repository")
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


def added(text: str | None, path: Path) -> str:
    """The hook with our part, which comes first: a hook may end wherever it likes."""
    if text is None or not text.strip():
        return f"#!/bin/sh\n{BEGIN}\n{SCRIPT}\n{END}\n"
    if not path.stat().st_mode & stat.S_IXUSR:
        raise NotEditable("it is not executable, so somebody has switched it off")
    first, newline, rest = text.partition("\n")
    if _SHELLS.match(first) is None:
        raise NotEditable("it is no shell script")
    if BEGIN in text or END in text:
        return sections.added(text, SCRIPT, BEGIN, END)
    return f"{first}{newline or chr(10)}{BEGIN}\n{SCRIPT}\n{END}\n{rest}"


def removed(text: str) -> str | None:
    """The hook without our part; None where nothing else is in it."""
    rest = sections.removed(text, BEGIN, END)
    return None if rest.strip() in ("#!/bin/sh", "") else rest
