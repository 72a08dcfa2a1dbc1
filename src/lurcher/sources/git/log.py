"""Which commits are read, and how much of each."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lurcher.sources.git import command
from lurcher.sources.git.parse import FORMAT, Ahead, Broken, Commit, Parsed, Parser, Stream


@dataclass(frozen=True, slots=True)
class LogSettings:
    first_parent: bool = False
    """Follow first parents only; what a merge brought is then the merge's change."""
    merges: bool = False
    """Tell of merges too, each with its change against its first parent."""
    diff_bytes: int = 20_000
    secrets: bool = False
    """Keep the lines of files that look like secrets too."""

# ----------------------------------------------------------------------------------------------------------------------
# Commits with what they changed, read from the git binary.
#
# `diff-tree` is made for programs: no setting of a user's `diff` or `log` sections reaches it, and it is told which commits to
# show, so that reading can begin and go on anywhere. Nothing is ever fetched: a commit whose files a partial clone does not
# have is told without those files.


_SECONDS = 900.0
"""For the list of all commits; a repository of a million takes about ten."""
_DRIVERS = Path(__file__).with_name("drivers.attributes")
_GLOBAL = (
    "--no-replace-objects", "--literal-pathspecs", "-c", "core.commitGraph=true", "-c", f"core.attributesFile={_DRIVERS}",
    "-c", "diff.suppressBlankEmpty=false", "-c", "diff.orderFile=", "-c", "core.bigFileThreshold=8m",
    "-c", "log.showSignature=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    # Without these git keeps all of a large pack in view.
    "-c", "core.packedGitWindowSize=8m", "-c", "core.packedGitLimit=96m",
)  # fmt: skip
_SHAPE = ("--stdin", "-z", "--encoding=UTF-8", f"--format={FORMAT}")
_TREES = ("diff-tree", "-r", "--root", "--always", "--raw", "--no-abbrev", "--diff-merges=first-parent", *_SHAPE)
_MESSAGES = ("log", "--no-walk=unsorted", "--no-patch", *_SHAPE)
_PATCHES = (
    "-p", "-U0", "--inter-hunk-context=0", "-M50%", "-l400", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
    "--diff-algorithm=myers", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/", "--no-relative",
    "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
_CAREFUL_FIRST, _CAREFUL_MOST = 64, 1024
"""How many commits are read with care after one that cannot be read as usual, at first and at the most."""


@dataclass(slots=True)
class Losses:
    """What could not be read."""

    commits: int = 0
    """Of which files are missing."""
    paths: int = 0
    trees: int = 0
    """Commits of which even the list of changed files is missing."""
    unread: list[str] = field(default_factory=list)
    """Commits that git cannot read at all."""


def list_commits(top: Path, tip: str, settings: LogSettings) -> list[str] | None:
    """All commits that `tip` leads to, children before parents, otherwise the latest first; None where git cannot tell."""
    status, output = _asked(top, "rev-list", "--date-order", *_walk(settings), tip, "--")
    # A history with a hole in it still has a beginning.
    found = output.decode("ascii", "replace").split()
    return found if status == 0 or found else None


def difference(top: Path, new: str, old: str, settings: LogSettings) -> tuple[list[str], list[str]] | None:
    """The commits that only `new` leads to, and those that only `old` leads to; None where that cannot be told."""
    status, output = _asked(top, "rev-list", "--date-order", "--left-right", *_walk(settings), f"{new}...{old}", "--")
    if status:
        return None
    lines = output.decode("ascii", "replace").split()
    return [line[1:] for line in lines if line[0] == "<"], [line[1:] for line in lines if line[0] == ">"]


def resolve(top: Path, name: str) -> str | None:
    """The commit that a name stands for."""
    status, output = _asked(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return output.decode("ascii", "replace").strip() or None if status == 0 else None


def _walk(settings: LogSettings) -> tuple[str, ...]:
    if settings.first_parent:
        return ("--first-parent",)
    return () if settings.merges else ("--no-merges",)


def _asked(top: Path, *arguments: str) -> tuple[int, bytes]:
    return command.finish(command.start(top, *_GLOBAL, *arguments), _SECONDS)


def read(
    top: Path, shas: Sequence[str], settings: LogSettings, losses: Losses | None = None, boundary: frozenset[str] = frozenset()
) -> Iterator[Commit]:
    """The commits of these names in this order; one that cannot be read at all is left out.

    `boundary` names commits whose parents a shallow clone does not have: what they changed cannot be told.
    """
    losses = Losses() if losses is None else losses
    reader = _Reader(top, settings, losses)
    start = 0
    for i in range(len(shas) + 1):
        if i == len(shas) or shas[i] in boundary:
            yield from reader.read(shas[start:i])
            if i < len(shas):
                yield from reader.messages(shas[i : i + 1])
            start = i + 1


class _Reader:
    def __init__(self, top: Path, settings: LogSettings, losses: Losses) -> None:
        self._top = top
        self._settings = settings
        self._losses = losses

    def read(self, shas: Sequence[str]) -> Iterator[Commit]:
        position, careful = 0, _CAREFUL_FIRST
        while position < len(shas):
            before = position
            for parsed in self._diffed(shas[position:], *_PATCHES):
                yield parsed.commit
                position += 1
            if position < len(shas):
                if position - before > careful:
                    careful = _CAREFUL_FIRST
                yield from self._with_care(shas[position : position + careful])
                position += careful
                careful = min(2 * careful, _CAREFUL_MOST)

    def _with_care(self, shas: Sequence[str]) -> Iterator[Commit]:
        """Finds out first which files are there, and asks for the changes of those only."""
        listed: dict[str, Parsed] = {}
        position = 0
        while position < len(shas):
            for parsed in self._diffed(shas[position:], "--no-renames", patches=False):
                listed[parsed.commit.sha] = parsed
                position += 1
            position += 1  # the one whose trees are missing
        there = self._present({name for parsed in listed.values() for pair in parsed.objects for name in pair})
        whole = [
            sha for sha in shas if sha in listed and all(a in there and b in there for a, b in listed[sha].objects)
        ]
        found = {parsed.commit.sha: parsed.commit for parsed in self._diffed(whole, *_PATCHES)}
        for sha in shas:
            if sha in found:
                yield found[sha]
            elif sha in listed:
                yield self._in_part(listed[sha], there)
            else:
                self._losses.trees += 1
                yield from self.messages([sha])

    def _in_part(self, parsed: Parsed, there: set[str]) -> Commit:
        """A commit with the changes of those files that are there."""
        commit = parsed.commit
        pairs = list(zip(commit.changes, parsed.objects, strict=True))
        paths = [change.path for change, (a, b) in pairs if a in there and b in there]
        self._losses.commits += 1
        self._losses.paths += len(pairs) - len(paths)
        shown = {}
        for found in self._diffed([commit.sha], *_PATCHES, "--no-renames", "--", *paths) if paths else ():
            shown = {change.path: change for change in found.commit.changes}
        return replace(commit, changes=tuple(shown.get(change.path, change) for change in commit.changes))

    def messages(self, shas: Sequence[str]) -> Iterator[Commit]:
        """Commits without what they changed."""
        for sha in shas:
            found = list(self._run([sha], False, *_MESSAGES))
            if not found:
                self._losses.unread.append(sha)
            yield from (replace(parsed.commit, patch_id="") for parsed in found)

    def _present(self, names: set[str]) -> set[str]:
        """Those of the named objects that are there; that there is none counts as there."""
        nothing = {name for name in names if not name.strip("0")}
        asked = "\n".join(sorted(names - nothing)).encode() + b"\n"
        process = command.start(
            self._top, *_GLOBAL, "rev-list", "--objects", "--no-walk", "--no-object-names", "--ignore-missing",
            "--missing=allow-any", "--stdin", feed=True,
        )  # fmt: skip
        if process is None:
            return nothing
        output, _ = process.communicate(asked)
        return nothing | set(output.decode("ascii", "replace").split())

    def _diffed(self, shas: Sequence[str], *options: str, patches: bool = True) -> Iterator[Parsed]:
        return self._run(shas, patches, *_TREES, *options)

    def _run(self, shas: Sequence[str], patches: bool, *arguments: str) -> Iterator[Parsed]:
        """Commits as git tells them, up to the first that it cannot read."""
        process = command.start(self._top, *_GLOBAL, *arguments, feed=True) if shas else None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        feeder = threading.Thread(target=_feed, args=(process, shas), daemon=True)
        feeder.start()
        ahead = Ahead(process.stdout)
        waiting: Parsed | None = None
        try:
            expected = iter(shas)
            for parsed in Parser(Stream(ahead), self._settings.diff_bytes, patches=patches, secrets=self._settings.secrets):
                if waiting is not None:
                    yield waiting
                if parsed.commit.sha != next(expected, None):
                    return
                waiting = parsed
            # The last one is whole only if git came to a good end: it may have stopped between two of its files.
            if waiting is not None and process.wait() == 0:
                yield waiting
        except Broken:
            # The end came within a commit, so the one before it is whole.
            if waiting is not None:
                yield waiting
        finally:
            process.kill()
            process.wait()
            ahead.stop()
            feeder.join(5)
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()


def _feed(process: subprocess.Popen[bytes], shas: Iterable[str]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write("".join(f"{sha}\n" for sha in shas).encode())
        process.stdin.close()
