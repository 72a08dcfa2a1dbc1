"""Small repositories that drills begin with."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import git, write_repository


def past(folder: Path) -> Path:
    """A repository in several languages with documents, a change, its revert, a further one."""
    folder.mkdir(parents=True)
    write_repository(folder)
    cookies = folder / "src/cookies.py"
    cookies.write_text(cookies.read_text("utf-8").replace("sorted(jar.items())", "jar.items()"), "utf-8")
    git(folder, "commit", "-qam", "Keep the order of cookies in the jar\n\nSorting them costs time for nothing.")
    git(folder, "revert", "--no-edit", "HEAD")
    client = folder / "src/client.py"
    client.write_text(client.read_text("utf-8").replace("retries=3", "retries=5"), "utf-8")
    git(folder, "commit", "-qam", "Retry a request five times before giving up")
    return folder
