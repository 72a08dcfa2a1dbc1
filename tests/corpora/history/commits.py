"""Commits built in memory, and small repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lurcher.sources.git.commit import Change, Commit, Hunk

EMAIL = "ada@example.org"


def sha_of(number: int) -> str:
    """A hash that looks like one: no two numbers below 16^6 share their first six digits."""
    return f"{number * 7919 % 0xFFFFF7:06x}{number:034x}"


def commit(
    number: int,
    subject: str = "",
    body: str = "",
    *,
    changes: Sequence[Change] = (),
    parents: Sequence[int] | None = None,
    trailers: tuple[tuple[str, str], ...] = (),
) -> Commit:
    """The commit of a number; its parent is the number before."""
    before = (number - 1,) if parents is None else parents
    return Commit(
        sha_of(number), tuple(map(sha_of, before)), f"Author {number}", EMAIL, 1_600_000_000 + number, 1_600_000_000 + number,
        subject or f"Change {number}", body, trailers, tuple(changes),
    )  # fmt: skip


def change(path: str, added: Sequence[str] = (), removed: Sequence[str] = (), *, old: str | None = None) -> Change:
    hunks = (Hunk(1, 1, "", tuple(removed), tuple(added)),) if added or removed else ()
    return Change(path, "R" if old else "M", hunks, old, len(added), len(removed))


class Repository:
    """A real one, shielded from the configuration of whoever runs the tests."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.path = path
        self.clock = 1_600_000_000
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *arguments)

    def git(self, *arguments: str, check: bool = True) -> str:
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": EMAIL, "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": EMAIL,
            "GIT_AUTHOR_DATE": f"{self.clock} +0000", "GIT_COMMITTER_DATE": f"{self.clock} +0000",
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment, capture_output=True, text=True, check=check, timeout=60
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def commit(self, message: str, **files: str | None) -> str:
        """Files by name (`__` stands for a dot); None removes one."""
        self.clock += 3600
        for name, text in files.items():
            path = name.replace("__", ".")
            if text is None:
                (self.path / path).unlink()
            else:
                self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
