"""Explains lines of a file: the commits that wrote them, found by blame, each with its message and its change.

With a history index, each commit also has its outcome and related commits. `to_dict` of the values gives the JSON output.

`line_ages` gives the commit and date of every line of a file, without messages and changes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from lurcher.config.schema import BlameSettings
from lurcher.corpora.history.related_commits import Related
from lurcher.errors import PathError, QueryError
from lurcher.sources import git
from lurcher.sources.decode import secret_path, secret_text
from lurcher.sources.git.commit import Hunk, utc_date
from lurcher.sources.git.log import SECONDS, Blame, BlameHeader, BlameLine, FilePatches, blame, line_runs, read_patches
from lurcher.types import Degraded, Outcome

WORK_TREE = "work tree"
_MAX_BYTES = 50_000_000
_BINARY_PROBE = 8000
"""A zero byte in the first so many bytes makes a file binary."""
EXCERPT_LINES = 12
"""Lines of a change that are shown; hand-set."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines of a hunk, each after `-` or `+`."""

    path: str
    start_line: int
    """Number of the first added line that is shown, in the file after the commit."""
    heading: str
    text: str
    left_out: int
    """Number of lines of the hunk that are not shown."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A commit that wrote some of the lines, or the changes that are not committed yet."""

    sha: str | None
    """None for changes that are not committed."""
    author: str
    email: str
    authored: int
    """Seconds since 1970; 0 for changes that are not committed."""
    subject: str
    body: str
    path: str
    """The path of the file in that commit."""
    lines: tuple[tuple[int, int], ...]
    """The lines that it wrote as runs (first, last), by their numbers now."""
    excerpt: Excerpt | None = None
    outcome: Outcome | None = None
    boundary: bool = False
    """A shallow clone ends with it: an earlier commit may have written the lines."""
    related: tuple[Related, ...] = ()

    @property
    def line_count(self) -> int:
        return sum(last - first + 1 for first, last in self.lines)

    @property
    def date(self) -> str | None:
        """In ISO 8601, UTC."""
        return None if self.sha is None else utc_date(self.authored)

    def to_dict(self) -> dict[str, Any]:
        return {
            "sha": self.sha,
            "committed": self.sha is not None,
            "author": self.author,
            "email": self.email,
            "date": self.date,
            "subject": self.subject,
            "body": self.body,
            "path": self.path,
            "lines": [list(run) for run in self.lines],
            "line_count": self.line_count,
            "hunk": None if (shown := self.excerpt) is None else {name: getattr(shown, name) for name in shown.__match_args__},
            "outcome": None if self.outcome is None else self.outcome.to_dict(),
            "boundary": self.boundary,
            "related": [entry.to_dict() for entry in self.related],
        }


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """The commits that wrote a run of lines: uncommitted changes first, then the newest first."""

    path: str
    start_line: int
    """0 if the file is empty."""
    end_line: int
    revision: str
    """`work tree`, or HEAD in a bare repository."""
    writers: tuple[Writer, ...]
    total: int
    """Number of commits, including those beyond the limit."""
    degraded: tuple[Degraded, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "revision": self.revision,
            "commits": [entry.to_dict() for entry in self.writers],
            "total": self.total,
            "degraded": [entry.to_dict() for entry in self.degraded],
        }


OutcomeLookup = Callable[[str], Outcome | None]
"""From the hash of a commit to its outcome."""
RelatedLookup = Callable[[Writer], Sequence[Related]]
"""From a commit to related ones."""


def explain(
    root: Path,
    path: str,
    first: int | None = None,
    last: int | None = None,
    *,
    settings: BlameSettings | None = None,
    limit: int | None = None,
    outcome: OutcomeLookup | None = None,
    related: RelatedLookup | None = None,
    secrets: bool = False,
) -> ExplainAnswer:
    """Explain lines `first` to `last` (default: all) of a file; `path` is relative to the top of the repository.

    In a bare repository the file is read from HEAD. `outcome` looks up what became of a commit, `related` related commits.
    """
    settings = settings or BlameSettings()
    if limit is not None and limit < 1:
        raise QueryError(f"the limit is {limit}", "use 1 or more")
    path = _normalise_path(path)
    bare = is_bare(root)
    if not _has_commits(root, bare):
        raise PathError(f"{root} has no commits to explain anything with", "name a file of a git repository, and commit first")
    data = _read_committed(root, path, settings) if bare else _read_work_tree(root, path)
    count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    revision = "HEAD" if bare else WORK_TREE
    if b"\0" in data[:_BINARY_PROBE]:
        raise PathError(f"{path} is binary: it has no lines", "name a text file")
    if not secrets and (secret_path(path) or secret_text(data, path.rpartition(".")[2].lower())):
        raise PathError(f"{path} looks like a secret: nothing of it is shown", "to allow it, set index.secrets yourself")
    first, last = _range(path, first, last, count)
    if not count:
        return ExplainAnswer(path, 0, 0, revision, (), 0)
    found = blame(root, path, first, last, settings, revision="HEAD" if bare else None)
    if found is None:
        raise PathError(f"git could not find who wrote {path}", _blame_hint(root))
    writers, notes = _writers(root, path, found, settings, limit, secrets)
    if outcome is not None or related is not None:
        writers = [_add_history(entry, outcome, related) for entry in writers]
    total = len({line.sha for line in found.lines})
    return ExplainAnswer(path, first, last, revision, tuple(writers), total, notes)


def explain_file(file: Path, first: int | None, last: int | None, *, below: Path, **options: Any) -> ExplainAnswer:
    """Explain a file of any repository, also of a submodule; paths in the answer are relative to `below`."""
    # Only the folder is resolved: a symbolic link is not the file that it points to.
    place = file.parent.resolve() / file.name
    top = next((folder for folder in place.parents if os.path.lexists(folder / ".git")), None)
    if top is None:
        raise PathError(f"{file} is in no git repository, so it has no history", "name a file of a git repository")
    answer = explain(top, place.relative_to(top).as_posix(), first, last, **options)
    if top == below or not top.is_relative_to(below):
        return answer
    return add_path_prefix(answer, top.relative_to(below).as_posix() + "/")


def _blame_hint(root: Path) -> str:
    """What to do if blame fails."""
    status, output = git.finish(git.start(root, "config", "--get-all", "blame.ignoreRevsFile"))
    for name in output.decode("utf-8", "surrogateescape").splitlines() if status == 0 else ():
        if name and not (root / name).is_file():
            return f"blame.ignoreRevsFile names {name}, which is not there: git config --unset blame.ignoreRevsFile"
    slow = f"a long history may take longer than the {SECONDS:.0f} seconds that git has"
    return f"see what it says: git blame; a partial clone lacks old files, and {slow}"


def _is_shallow(root: Path) -> bool:
    return git.finish(git.start(root, "rev-parse", "--is-shallow-repository"))[1].strip() == b"true"


def add_path_prefix(answer: ExplainAnswer, label: str) -> ExplainAnswer:
    """The answer with a prefix before its paths."""
    if not label:
        return answer
    writers = tuple(replace(entry, path=label + entry.path) for entry in answer.writers)
    return replace(answer, path=label + answer.path, writers=writers)


# -- the file ----------------------------------------------------------------------------------------------------------


def _normalise_path(path: str) -> str:
    """A relative path without `.` parts; raises if it leaves the repository."""
    if "\0" in path or not path or path.startswith("/"):
        raise PathError(f"{path!r} is not a path in the repository", "name a file relative to the top of the repository")
    parts = [part for part in PurePosixPath(path).parts if part != "."]
    if ".." in parts:
        raise PathError(f"{path} is outside of the repository", "name a file below its root")
    return "/".join(parts)


def is_bare(root: Path) -> bool:
    """Whether a folder is a bare repository."""
    return (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir()


def _has_commits(root: Path, bare: bool) -> bool:
    if not bare and not os.path.lexists(root / ".git"):
        return False
    status, _ = git.finish(git.start(root, "rev-parse", "-q", "--verify", "HEAD^{commit}"))
    return status == 0


def _read_committed(root: Path, path: str, settings: BlameSettings) -> bytes:
    status, kind = git.finish(git.start(root, "cat-file", "-t", f"HEAD:{path}"))
    if status != 0:
        raise _missing_error(root, path, "HEAD has")
    if kind.strip() != b"blob":
        raise PathError(f"{path} is not a file", "name a file")
    _, size = git.finish(git.start(root, "cat-file", "-s", f"HEAD:{path}"))
    if int(size.strip() or b"0") > _MAX_BYTES:
        raise PathError(f"{path} is larger than 50 MB", "name a source file")
    _, data = git.finish(git.start(root, "cat-file", "blob", f"HEAD:{path}"), SECONDS)
    return data


def _read_work_tree(root: Path, path: str) -> bytes:
    place = root / path
    try:
        status = place.lstat()
        if stat.S_ISDIR(status.st_mode):
            raise PathError(f"{path} is a folder", "name one of its files")
        if stat.S_ISLNK(status.st_mode):
            raise PathError(f"{path} is a symbolic link", "name the file it leads to")
        if not stat.S_ISREG(status.st_mode):
            raise PathError(f"{path} is not a regular file", "name a source file")
        if status.st_size > _MAX_BYTES:
            raise PathError(f"{path} is larger than 50 MB", "name a source file")
        _check_tracked(root, path)
        return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing_error(root, path, "there is") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PathError(f"{path} cannot be read: {reason}", "check its permissions") from None


def _check_tracked(root: Path, path: str) -> None:
    status, listed = git.finish(git.start(root, "--literal-pathspecs", "ls-files", "-z", "--", path))
    if status != 0:
        raise PathError(f"git could not say whether {path} is tracked", "see what it says: git status")
    if listed:
        return
    ignored, _ = git.finish(git.start(root, "check-ignore", "-q", "--", f"./{path}"))
    if ignored == 0:
        raise PathError(f"{path} is ignored by git: it has no history", "name a file that is tracked")
    raise PathError(f"{path} is not tracked by git yet: no line of it was ever committed", "add it to git and commit it")


def _missing_error(root: Path, path: str, whose: str) -> PathError:
    """The error for a missing file; it names the commit that removed the file, if there is one."""
    arguments = ("--no-show-signature", "--diff-filter=D", "--format=%h %s", "--", path)
    status, output = git.finish(git.start(root, "--literal-pathspecs", "log", "-1", *arguments), 10.0)
    gone = output.decode("utf-8", "replace").strip() if status == 0 else ""
    if gone:
        return PathError(f"{whose} no {path}; it was removed or renamed by {gone}", "name the file it became")
    hint = "check the spelling; paths are relative to this folder or to the top of the repository"
    return PathError(f"{whose} no {path}", hint)


def _range(path: str, first: int | None, last: int | None, count: int) -> tuple[int, int]:
    begin = 1 if first is None else first
    end = count if last is None else last
    whole = first is None and last is None
    if begin < 1 or (end < begin and not whole):
        raise QueryError(f"there are no lines {begin}-{end}", "lines are counted from 1, the first one first: FILE:10-20")
    if not whole and max(begin, end) > count:
        has = "has no lines" if count == 0 else "has 1 line" if count == 1 else f"has {count:,} lines"
        raise QueryError(f"{path} {has}: {begin}-{end} is beyond its end", "name lines that are there")
    return begin, end


# -- the commits -------------------------------------------------------------------------------------------------------


def _writers(
    root: Path, path: str, found: Blame, settings: BlameSettings, limit: int | None, secrets: bool
) -> tuple[list[Writer], tuple[Degraded, ...]]:
    """The commits that wrote the lines, and notes on what is missing."""
    lines: dict[str, list[BlameLine]] = {}
    for line in found.lines:
        lines.setdefault(line.sha, []).append(line)
    order = sorted(lines, key=lambda sha: (found.headers[sha].committed, -found.headers[sha].authored, lines[sha][0].number))
    kept = order if limit is None else order[:limit]
    shas = [sha for sha in kept if found.headers[sha].committed]
    paths = {line.path for sha in shas for line in lines[sha]} | {found.headers[sha].previous for sha in shas}
    names = sorted(name for name in paths if name)
    patches = read_patches(root, shas, names, SECONDS, secrets=secrets) if shas else {}
    if any(found.headers[sha].boundary for sha in shas) and not _is_shallow(root):
        for sha in shas:
            found.headers[sha].boundary = False
    writers = [_writer(found.headers[sha], lines[sha], patches.get(sha), path, settings) for sha in kept]
    notes = []
    if any(sha not in patches for sha in shas):
        notes.append(Degraded("explain", "git could not show some of the changes", "a partial clone lacks them"))
    if any(found.headers[sha].boundary for sha in shas):
        reason = "the history is cut off: older commits may have written these lines"
        notes.append(Degraded("explain", reason, "to have all of it: git fetch --unshallow"))
    return writers, tuple(notes)


def _writer(
    header: BlameHeader, lines: list[BlameLine], patch: FilePatches | None, path: str, settings: BlameSettings
) -> Writer:
    numbers = line_runs([line.number for line in lines])
    if not header.committed:
        return Writer(None, "", "", 0, "not committed yet", "", path, numbers)
    where = lines[0].path
    shown = None
    if patch is not None:
        originals = [line.original for line in lines if line.path == where]
        shown = make_excerpt(where, patch.hunks.get(where, ()), originals, EXCERPT_LINES)
    commit = (patch.author, patch.email, patch.authored, patch.subject, patch.body) if patch is not None else None
    about = commit or (header.author, header.email, header.authored, header.subject, "")
    return Writer(header.sha, *about, where, numbers, shown, boundary=header.boundary)


def _add_history(entry: Writer, outcome: OutcomeLookup | None, related: RelatedLookup | None) -> Writer:
    """The entry with the outcome and the related commits from a history index."""
    if entry.sha is None:
        return entry
    return replace(
        entry,
        outcome=outcome(entry.sha) if outcome is not None else None,
        related=tuple(related(entry)) if related is not None else (),
    )


def make_excerpt(path: str, hunks: Sequence[Hunk], lines: Sequence[int], most: int) -> Excerpt | None:
    """The first hunk that added one of `lines`, at most `most` lines of it; the numbers are those after the commit."""
    selected = set(lines)
    for hunk in hunks:
        inside = [number for number in range(hunk.new_start, hunk.new_start + len(hunk.added)) if number in selected]
        if not inside:
            continue
        # Removed lines get at most half of the room.
        room = max(1, most - min(len(hunk.removed), most // 2))
        begin = min(inside[0] - hunk.new_start, max(0, len(hunk.added) - room))
        added = hunk.added[begin : begin + room]
        removed = hunk.removed[: most - len(added)]
        text = "\n".join([*(f"-{line}" for line in removed), *(f"+{line}" for line in added)])
        left = len(hunk.removed) + len(hunk.added) - len(removed) - len(added)
        return Excerpt(path, hunk.new_start + begin, hunk.heading, text, left)
    return None


@dataclass(frozen=True, slots=True)
class CommitLines:
    """The lines of a file that one commit wrote."""

    sha: str | None
    """None for changes that are not committed."""
    author: str
    authored: int
    subject: str
    lines: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sha": self.sha, "author": self.author, "subject": self.subject,
            "date": utc_date(self.authored) if self.sha else None, "lines": [list(run) for run in self.lines],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LineAgesAnswer:
    """The commits that wrote a file, uncommitted changes first, then the newest first."""

    path: str
    layers: tuple[CommitLines, ...]
    degraded: tuple[Degraded, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        degraded = [note.to_dict() for note in self.degraded]
        return {"path": self.path, "commits": [layer.to_dict() for layer in self.layers], "degraded": degraded}


def line_ages(file: Path, path: str, settings: BlameSettings) -> LineAgesAnswer:
    """Blame all lines of a file; `file` is its location, `path` its name in the answer."""
    top = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    try:
        data = file.read_bytes() if file.is_file() else b""
    except OSError:
        data = b""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if top is None or not lines:
        raise PathError(f"{path} has no history", "name a file of a git repository that is not empty")
    found = blame(top, file.relative_to(top).as_posix(), 1, lines, settings)
    if found is None:
        raise PathError(f"git could not blame {path}", "commit it first")
    numbers: dict[str, list[int]] = {}
    for line in found.lines:
        numbers.setdefault(line.sha, []).append(line.number)
    commits = []
    for sha, mine in numbers.items():
        header = found.headers[sha]
        committed = sha if header.committed else None
        commits.append(CommitLines(committed, header.author, header.authored, header.subject, line_runs(sorted(mine))))
    commits.sort(key=lambda commit: (commit.sha is not None, -commit.authored, commit.sha or ""))
    return LineAgesAnswer(path, tuple(commits))
