"""The few things evaluation asks of git: a tree at a commit, a message, whether two commits are the same patch."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from lurcher.errors import DatasetError

# A partial clone would fetch what it lacks; evaluation never goes to the network.
OFFLINE = ("git", "-c", "protocol.allow=never")


def git(directory: Path, *arguments: str, stdin: str | None = None) -> str | None:
    """What git prints, or None when it fails."""
    try:
        done = subprocess.run(
            [*OFFLINE, "-C", str(directory), *arguments],
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None


def bare_directory(repos: Path, repository: str) -> Path:
    """Where the git directory of OWNER/NAME lies below the folder of mirrors; names of owners do not mind their case."""
    name = repository.replace("/", "+")
    if not (repos / name).exists():
        alike = (entry.name for entry in sorted(repos.iterdir()) if entry.name.casefold() == name.casefold())
        name = next(alike, name)
    return repos / name / "repo"


def lay_out(git_directory: Path, commit: str, target: Path) -> Path:
    """The tree at a commit as a plain folder, made once: the name appears only when the tree is whole."""
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
        try:
            _extract(git_directory, commit, partial)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if not target.is_dir():  # another process may have finished the same tree first
            raise DatasetError(
                f"{target} cannot be laid out: {error}", hint="check that git is installed and the folder writable"
            ) from None
    return target


def _extract(git_directory: Path, commit: str, folder: Path) -> None:
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [*OFFLINE, "-C", str(git_directory), "archive", "--format=tar", commit],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        broken = ""
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    _write(archive, member, folder)
        except tarfile.TarError as error:
            broken = str(error)
        if process.stdout is not None:
            process.stdout.read()  # git may still be padding its last block
        if process.wait() or broken:
            complaints.seek(0)
            reason = complaints.read().decode("utf-8", "replace").strip().splitlines()
            raise DatasetError(
                f"git cannot lay out {commit[:12]} of {git_directory.parent.name}: {reason[-1] if reason else broken}",
                hint="fetch that commit into the bare repository, then run again",
            )


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    name = PurePosixPath(member.name)
    # Links are left out: nothing indexes them, and one that points outside would leave the folder.
    if not member.isfile() or name.is_absolute() or ".." in name.parts:
        return
    content = archive.extractfile(member)
    if content is not None:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            shutil.copyfileobj(content, out)


def message_of(git_directory: Path, commit: str) -> str | None:
    """The commit's whole message, or None when the commit is not there."""
    return git(git_directory, "show", "--no-patch", "--format=%B", f"{commit}^{{commit}}")


def patch_id(git_directory: Path, commit: str) -> str | None:
    """What stays the same when a commit is cherry-picked or rebased; None for an empty or missing one."""
    patch = git(git_directory, "show", "--format=", "--no-ext-diff", "--no-textconv", commit)
    if not patch:
        return None
    named = git(git_directory, "patch-id", "--stable", stdin=patch)
    return named.split()[0] if named and named.split() else None
