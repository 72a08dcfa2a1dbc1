"""The repositories of a dataset: trees, messages and patches from git, and the files of a tree.

None of this uses the engine, so an evaluation does not depend on what it measures.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from lurcher.errors import DatasetError

# A partial clone would fetch what it lacks; evaluation never goes to the network.
OFFLINE = ("git", "-c", "protocol.allow=never")
SKIPPED = frozenset({".git", ".hg", ".svn", ".lurcher", "node_modules", "__pycache__"})
MAX_BYTES = 1_000_000
MAX_EXPORTED = 2_000_000
"""Larger files are not written: nothing indexes them."""
MIN_WORDS = 3


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
    """Where the git directory of OWNER/NAME lies below the folder of mirrors; the case of letters does not matter."""
    name = repository.replace("/", "+")
    if not (repos / name).exists():
        alike = (entry.name for entry in sorted(repos.iterdir()) if entry.name.casefold() == name.casefold())
        name = next(alike, name)
    return repos / name / "repo"


def export_tree(git_directory: Path, commit: str, target: Path) -> Path:
    """Write the tree at a commit to a folder, once; the folder gets its name when the tree is complete."""
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
                f"{target} cannot be written: {error}", hint="check that git is installed and the folder writable"
            ) from None
    return target


def _extract(git_directory: Path, commit: str, folder: Path) -> None:
    """Write every file of a commit that the repository has.

    `git archive` would leave out what `.gitattributes` excludes from releases, and stop at a blob that a partial clone lacks.
    """
    listed = git(git_directory, "ls-tree", "-r", "-z", "--full-tree", commit)
    if listed is None:
        raise DatasetError(
            f"git cannot export {commit[:12]} of {git_directory.parent.name}: there is no such tree",
            hint="fetch that commit into the bare repository, then run again",
        )
    entries = [entry.partition("\t") for entry in listed.split("\0") if entry]
    # Links are left out: nothing indexes them, and one that points outside would leave the folder.
    files = [(fields.split()[2], path) for fields, _, path in entries if fields.startswith("100")]
    with tempfile.TemporaryFile() as wanted:
        wanted.write("".join(f"{sha}\n" for sha, _ in files).encode())
        wanted.seek(0)
        with subprocess.Popen(
            [*OFFLINE, "-C", str(git_directory), "cat-file", "--batch"],
            stdin=wanted,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            stdout = process.stdout
            assert stdout is not None
            for _, path in files:
                heading = stdout.readline().split()
                if len(heading) != 3:  # missing: a partial clone lacks its largest files
                    continue
                content = stdout.read(int(heading[2]) + 1)[:-1]
                if len(content) <= MAX_EXPORTED:
                    _write(folder, path, content)


def _write(folder: Path, path: str, content: bytes) -> None:
    name = PurePosixPath(path)
    if name.is_absolute() or ".." in name.parts:
        return
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


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


def list_files(root: Path) -> list[str]:
    """Every file below a folder, relative to it, in order."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        inside = Path(folder).relative_to(root).as_posix()
        found += [name if inside == "." else f"{inside}/{name}" for name in names]
    return sorted(found)


def verbatim_queries(root: Path, files: Sequence[str], queries: Iterable[str]) -> dict[str, str]:
    """The queries that occur word for word in a file, each with the first such file.

    White space and the case of ASCII letters do not count. Queries of fewer than three words are names, which are supposed
    to be found.
    """
    wanted: list[tuple[str, list[bytes], re.Pattern[bytes]]] = []
    for query in dict.fromkeys(queries):
        words = [word.encode().lower() for word in query.split()]
        if len(words) >= MIN_WORDS:
            # Most files lack one of the words, most likely a long one: a plain substring test is faster than the pattern.
            rarest_first = sorted(dict.fromkeys(words), key=len, reverse=True)
            phrase = rb"(?<!\w)" + rb"\s+".join(map(re.escape, words)) + rb"(?!\w)"
            wanted.append((query, rarest_first, re.compile(phrase)))
    found: dict[str, str] = {}
    for path in files if wanted else ():
        content = _small_text(root / path)
        for query, words, pattern in wanted:
            if query not in found and all(word in content for word in words) and pattern.search(content):
                found[query] = path
    return found


def _small_text(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size >= MAX_BYTES:
            return b""
        content = path.read_bytes()
    except OSError:
        return b""
    return b"" if b"\0" in content[:8192] else content.lower()
