"""What `explain` answers with: frozen, slotted; `to_dict` gives the JSON."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from lurcher.config.schema import BlameSettings
from lurcher.corpora.history.outcomes.verdicts import Outcome
from lurcher.corpora.history.patch_view import Excerpt, Told, excerpt, read
from lurcher.errors import PathError, QueryError
from lurcher.sources.git import command
from lurcher.sources.git.blame import SECONDS, Blame, Header, Line, blame, runs
from lurcher.sources.secrets import secret_path, secret_text
from lurcher.types import Degraded

WORK_TREE = "work tree"


@dataclass(frozen=True, slots=True)
class Related:
    """A commit that seems to have to do with another; nobody wrote down that it has."""

    sha: str
    subject: str
    date: str
    reason: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__match_args__}, "inferred": True}


@dataclass(frozen=True, slots=True)
class Writer:
    """A commit that wrote some of the lines, or the changes that are in no commit yet."""

    sha: str | None
    """None for what is not committed."""
    author: str
    email: str
    authored: int
    """Seconds since 1970; 0 for what is not committed."""
    subject: str
    body: str
    path: str
    """What the file was called in that commit."""
    lines: tuple[tuple[int, int], ...]
    """The runs of lines that it wrote, as they are numbered now."""
    excerpt: Excerpt | None = None
    outcome: Outcome | None = None
    boundary: bool = False
    """The history that is here begins with it: an earlier commit may have written the lines."""
    related: tuple[Related, ...] = ()

    @property
    def line_count(self) -> int:
        return sum(last - first + 1 for first, last in self.lines)

    @property
    def date(self) -> str | None:
        """In ISO 8601, UTC."""
        if self.sha is None:
            return None
        try:
            return datetime.fromtimestamp(self.authored, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (OverflowError, OSError, ValueError):
            return None

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
    """The commits behind a run of lines: those not committed first, then the newest first."""

    path: str
    start_line: int
    """0 if the file has no lines."""
    end_line: int
    revision: str
    """`work tree`, or the commit that was read where there is no work tree."""
    writers: tuple[Writer, ...]
    total: int
    """All of them, those that are not listed included."""
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


def labelled(answer: ExplainAnswer, label: str) -> ExplainAnswer:
    """An answer whose paths have something before them."""
    if not label:
        return answer
    writers = tuple(replace(entry, path=label + entry.path) for entry in answer.writers)
    return replace(answer, path=label + answer.path, writers=writers)

# ----------------------------------------------------------------------------------------------------------------------
# Why these lines are here: the commits that wrote them, exactly as blame has it, each with what it said and did.


Judged = Callable[[str], Outcome | None]
Near = Callable[[Writer], Sequence[Related]]
_MOST_BYTES = 50_000_000
_LOOK = 8000
EXCERPT_LINES = 12
"""Lines of a change that are shown; hand-set."""


def explain(
    root: Path,
    path: str,
    first: int | None = None,
    last: int | None = None,
    *,
    settings: BlameSettings | None = None,
    limit: int | None = None,
    outcome: Judged | None = None,
    related: Near | None = None,
    secrets: bool = False,
) -> ExplainAnswer:
    """Who wrote lines `first` to `last` (default: all) of a file, its path as seen from the top of the repository.

    In a bare repository the file is read from HEAD. `outcome` tells what became of a commit; `related` finds others near it.
    """
    settings = settings or BlameSettings()
    if limit is not None and limit < 1:
        raise QueryError(f"the limit is {limit}", "use 1 or more")
    path = _inside(path)
    bare = is_bare(root)
    if not _has_commits(root, bare):
        raise PathError(f"{root} has no commits to explain anything with", "name a file of a git repository, and commit first")
    data = _committed(root, path, settings) if bare else _present(root, path)
    count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    revision = "HEAD" if bare else WORK_TREE
    if b"\0" in data[:_LOOK]:
        raise PathError(f"{path} is binary: it has no lines", "name a text file")
    if not secrets and (secret_path(path) or secret_text(data, path.rpartition(".")[2].lower())):
        raise PathError(f"{path} looks like a secret: nothing of it is shown", "to allow it, set index.secrets yourself")
    first, last = _range(path, first, last, count)
    if not count:
        return ExplainAnswer(path, 0, 0, revision, (), 0)
    found = blame(root, path, first, last, settings, revision="HEAD" if bare else None)
    if found is None:
        raise PathError(f"git could not tell who wrote {path}", _why_not(root))
    writers, notes = _writers(root, path, found, settings, limit, secrets)
    if outcome is not None or related is not None:
        writers = [_enriched(entry, outcome, related) for entry in writers]
    total = len({line.sha for line in found.lines})
    return ExplainAnswer(path, first, last, revision, tuple(writers), total, notes)


def explain_file(file: Path, first: int | None, last: int | None, *, below: Path, **options: Any) -> ExplainAnswer:
    """The same for a file wherever its repository is, that of a submodule included; paths are then seen from `below`."""
    # The file's own name stays as it is: a link is not the file it leads to.
    place = file.parent.resolve() / file.name
    top = next((folder for folder in place.parents if os.path.lexists(folder / ".git")), None)
    if top is None:
        raise PathError(f"{file} is in no git repository: nothing is known of its past", "name a file of a repository")
    answer = explain(top, place.relative_to(top).as_posix(), first, last, **options)
    if top == below or not top.is_relative_to(below):
        return answer
    return labelled(answer, top.relative_to(below).as_posix() + "/")


def _why_not(root: Path) -> str:
    status, output = command.finish(command.start(root, "config", "--get-all", "blame.ignoreRevsFile"))
    for name in output.decode("utf-8", "surrogateescape").splitlines() if status == 0 else ():
        if name and not (root / name).is_file():
            return f"blame.ignoreRevsFile names {name}, which is not there: git config --unset blame.ignoreRevsFile"
    slow = f"a long history may take longer than the {SECONDS:.0f} seconds that git has"
    return f"see what it says: git blame; a partial clone lacks old files, and {slow}"


def _is_shallow(root: Path) -> bool:
    return command.finish(command.start(root, "rev-parse", "--is-shallow-repository"))[1].strip() == b"true"


# -- the file ----------------------------------------------------------------------------------------------------------


def _inside(path: str) -> str:
    if "\0" in path or not path or path.startswith("/"):
        raise PathError(f"{path!r} is no path below the root", "name a file as seen from the top of the repository")
    parts = [part for part in PurePosixPath(path).parts if part != "."]
    if ".." in parts:
        raise PathError(f"{path} is outside of the repository", "name a file below its root")
    return "/".join(parts)


def is_bare(root: Path) -> bool:
    """Whether a folder is a git directory itself."""
    return (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir()


def _has_commits(root: Path, bare: bool) -> bool:
    if not bare and not os.path.lexists(root / ".git"):
        return False
    status, _ = command.finish(command.start(root, "rev-parse", "-q", "--verify", "HEAD^{commit}"))
    return status == 0


def _committed(root: Path, path: str, settings: BlameSettings) -> bytes:
    status, kind = command.finish(command.start(root, "cat-file", "-t", f"HEAD:{path}"))
    if status != 0:
        raise _missing(root, path, "HEAD has")
    if kind.strip() != b"blob":
        raise PathError(f"{path} is not a file", "name a file")
    _, size = command.finish(command.start(root, "cat-file", "-s", f"HEAD:{path}"))
    if int(size.strip() or b"0") > _MOST_BYTES:
        raise PathError(f"{path} is larger than 50 MB", "name a source file")
    _, data = command.finish(command.start(root, "cat-file", "blob", f"HEAD:{path}"), SECONDS)
    return data


def _present(root: Path, path: str) -> bytes:
    place = root / path
    try:
        status = place.lstat()
        if stat.S_ISDIR(status.st_mode):
            raise PathError(f"{path} is a folder", "name one of its files")
        if stat.S_ISLNK(status.st_mode):
            raise PathError(f"{path} is a symbolic link", "name the file it leads to")
        if not stat.S_ISREG(status.st_mode):
            raise PathError(f"{path} is not a regular file", "name a source file")
        if status.st_size > _MOST_BYTES:
            raise PathError(f"{path} is larger than 50 MB", "name a source file")
        _check_tracked(root, path)
        return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(root, path, "there is") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PathError(f"{path} cannot be read: {reason}", "check its permissions") from None


def _check_tracked(root: Path, path: str) -> None:
    status, listed = command.finish(command.start(root, "--literal-pathspecs", "ls-files", "-z", "--", path))
    if status != 0:
        raise PathError(f"git could not say whether {path} is tracked", "see what it says: git status")
    if listed:
        return
    ignored, _ = command.finish(command.start(root, "check-ignore", "-q", "--", f"./{path}"))
    if ignored == 0:
        raise PathError(f"{path} is ignored by git: it has no history", "name a file that is tracked")
    raise PathError(f"{path} is not tracked by git yet: no line of it was ever committed", "add it to git and commit it")


def _missing(root: Path, path: str, whose: str) -> PathError:
    """That a file is not there, with the commit that removed it, if one did."""
    arguments = ("--no-show-signature", "--diff-filter=D", "--format=%h %s", "--", path)
    status, output = command.finish(command.start(root, "--literal-pathspecs", "log", "-1", *arguments), 10.0)
    gone = output.decode("utf-8", "replace").strip() if status == 0 else ""
    if gone:
        return PathError(f"{whose} no {path}; it was removed or renamed by {gone}", "name the file it became")
    return PathError(f"{whose} no {path}", "check the spelling; paths are seen from here or from the top of the repository")


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
    lines: dict[str, list[Line]] = {}
    for line in found.lines:
        lines.setdefault(line.sha, []).append(line)
    order = sorted(lines, key=lambda sha: (found.headers[sha].committed, -found.headers[sha].authored, lines[sha][0].number))
    kept = order if limit is None else order[:limit]
    shas = [sha for sha in kept if found.headers[sha].committed]
    paths = {line.path for sha in shas for line in lines[sha]} | {found.headers[sha].previous for sha in shas}
    told = read(root, shas, sorted(name for name in paths if name), SECONDS, secrets=secrets) if shas else {}
    if any(found.headers[sha].boundary for sha in shas) and not _is_shallow(root):
        for sha in shas:
            found.headers[sha].boundary = False
    writers = [_writer(found.headers[sha], lines[sha], told.get(sha), path, settings) for sha in kept]
    notes = []
    if any(sha not in told for sha in shas):
        notes.append(Degraded("explain", "git could not show some of the changes", "a partial clone lacks them"))
    if any(found.headers[sha].boundary for sha in shas):
        reason = "the history is cut off: older commits may have written these lines"
        notes.append(Degraded("explain", reason, "to have all of it: git fetch --unshallow"))
    return writers, tuple(notes)


def _writer(header: Header, lines: list[Line], told: Told | None, path: str, settings: BlameSettings) -> Writer:
    numbers = runs([line.number for line in lines])
    if not header.committed:
        return Writer(None, "", "", 0, "not committed yet", "", path, numbers)
    where = lines[0].path
    shown = None
    if told is not None:
        originals = [line.original for line in lines if line.path == where]
        shown = excerpt(where, told.hunks.get(where, ()), originals, EXCERPT_LINES)
    who = (told.author, told.email, told.authored, told.subject, told.body) if told is not None else None
    said = who or (header.author, header.email, header.authored, header.subject, "")
    return Writer(header.sha, *said, where, numbers, shown, boundary=header.boundary)


def _enriched(entry: Writer, outcome: Judged | None, related: Near | None) -> Writer:
    if entry.sha is None:
        return entry
    return replace(
        entry,
        outcome=outcome(entry.sha) if outcome is not None else None,
        related=tuple(related(entry)) if related is not None else (),
    )
