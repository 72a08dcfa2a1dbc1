"""Reads commits from the git binary: their hashes, their messages, what they changed, and which one wrote each line of a file.

`diff-tree` is plumbing: no setting of a user's `diff` or `log` section affects it, and it is given the commits to show, so
reading can start and continue anywhere. Nothing is ever fetched: if a partial clone lacks files of a commit, the commit is
read without those files.

`git blame` tells the commits of lines. A repository can make git run programs for it: a `textconv` for showing a file (switched
off), and `clean` filters for files of the work tree (each is overridden with an empty one, for this command only).
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lurcher.config.schema import BlameSettings
from lurcher.sources import git
from lurcher.sources.decode import has_key, secret_path
from lurcher.sources.git.commit import Commit, Hunk, decode_text, split_message
from lurcher.sources.git.parse import FORMAT, Parsed, ParseError, Parser, ReadAhead, RecordStream

SECONDS = 60.0
"""How long git may take for one command; hand-set."""
_MAX_IGNORED = 2000


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One line of the file, its commit, and its number and path in that commit."""

    number: int
    original: int
    sha: str
    path: str
    text: str


@dataclass(slots=True)
class BlameHeader:
    """What blame prints about a commit."""

    sha: str
    author: str = ""
    email: str = ""
    authored: int = 0
    subject: str = ""
    boundary: bool = False
    """The history ends here: it is the first commit, or a shallow clone lacks its parents."""
    previous: str | None = None
    """The path of the file before the commit."""

    @property
    def committed(self) -> bool:
        return self.sha.strip("0") != ""


@dataclass(frozen=True, slots=True)
class Blame:
    lines: tuple[BlameLine, ...]
    headers: dict[str, BlameHeader]


def blame(
    top: Path, path: str, first: int, last: int, settings: BlameSettings, *, revision: str | None = None
) -> Blame | None:
    """Blame lines `first` to `last` of a file, in the work tree or in a revision; None if git fails."""
    overrides = _disable_filters(top) if revision is None else []
    if overrides is None:
        revision, overrides = "HEAD", []
    # The empty option clears blame.ignoreRevsFile; if that names a missing file, git fails nevertheless.
    # -w and -M follow lines through changes of white space and moves within the file. -C, lines copied from other files, is
    # left out: it is slower.
    arguments = ["--porcelain", "--no-textconv", "--no-progress", "--encoding=UTF-8", "--ignore-revs-file=", "-w", "-M"]
    arguments += [f"--ignore-rev={sha}" for sha in ignored_revisions(top, settings, revision)]
    arguments += ["-L", f"{first},{last}", *([revision] if revision else []), "--", path]
    status, output = git.finish(git.start(top, *overrides, "blame", *arguments), SECONDS)
    return parse_blame(output) if status == 0 else None


def ignored_revisions(top: Path, settings: BlameSettings, revision: str | None) -> list[str]:
    """The commits in the file of commits to ignore that exist: git would fail on a list with one that does not."""
    if not settings.ignore:
        return []
    if revision is None:
        try:
            place = (top / settings.ignore).resolve()
            data = place.read_bytes()[:1_000_000] if place.is_relative_to(top.resolve()) and place.is_file() else b""
        except (OSError, ValueError):
            return []
    else:
        status, data = git.finish(git.start(top, "cat-file", "blob", f"{revision}:{settings.ignore}"), SECONDS)
        data = data[:1_000_000] if status == 0 else b""
    named = re.findall(rb"^[ \t]*([0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?)\b", data, re.MULTILINE)[:_MAX_IGNORED]
    if not named:
        return []
    data = b"\n".join(named) + b"\n"
    status, output = git.run_with_input(top, "cat-file", "--batch-check=%(objecttype) %(objectname)", data=data)
    rows = (line.split(b" ") for line in output.splitlines()) if status == 0 else ()
    return [row[1].decode("ascii") for row in rows if len(row) == 2 and row[0] == b"commit"]


def _disable_filters(top: Path) -> list[str] | None:
    """Options that keep git from running a filter; None if a filter has a name that cannot be overridden."""
    names = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$")
    status, output = git.finish(git.start(top, *names))
    if status not in (0, 1):
        return None
    arguments: list[str] = []
    for name in sorted({key.rpartition(b".")[0] for key in output.split(b"\0") if key}):
        driver = name.decode("utf-8", "surrogateescape")
        if "=" in driver or "\n" in driver:
            return None
        for key, value in (("clean", ""), ("process", ""), ("required", "false")):
            arguments += ["-c", f"{driver}.{key}={value}"]
    return arguments


def parse_blame(output: bytes) -> Blame:
    """Parse `git blame --porcelain`: a head row for each line, the facts of a commit once, and the line after a tab."""
    headers: dict[str, BlameHeader] = {}
    lines: list[BlameLine] = []
    names: dict[str, str] = {}
    rows = iter(output.split(b"\n"))
    for row in rows:
        match = _HEAD.fullmatch(row)
        if match is None:
            continue
        sha = match[1].decode("ascii")
        header = headers.setdefault(sha, BlameHeader(sha))
        text = b""
        for fact in _facts(rows):
            key, _, value = fact.partition(b" ")
            if fact[:1] == b"\t":
                text = fact[1:]
            elif key == b"filename":
                names[sha] = unquote_path(value)
            else:
                _set_fact(header, key, value)
        shown = text.decode("utf-8", "replace").removesuffix("\r")
        lines.append(BlameLine(int(match[3]), int(match[2]), sha, names.get(sha, ""), shown))
    return Blame(tuple(lines), headers)


_HEAD = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d+) (\d+)(?: \d+)?")


def _facts(rows: Iterator[bytes]) -> Iterator[bytes]:
    """The rows of one entry: facts, and last the line itself."""
    for row in rows:
        yield row
        if row[:1] == b"\t":
            return


def _set_fact(header: BlameHeader, key: bytes, value: bytes) -> None:
    text = value.decode("utf-8", "replace")
    if key == b"author":
        header.author = text
    elif key == b"author-mail":
        header.email = text.strip("<>")
    elif key == b"author-time" and value.lstrip(b"-").isdigit():
        header.authored = int(value)
    elif key == b"summary":
        header.subject = text
    elif key == b"boundary":
        header.boundary = True
    elif key == b"previous":
        header.previous = unquote_path(value.partition(b" ")[2])


_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


def unquote_path(name: bytes) -> str:
    """Decode a path as git prints it: quoted and escaped if it contains special characters."""
    if len(name) >= 2 and name[:1] == name[-1:] == b'"':

        def plain(match: re.Match[bytes]) -> bytes:
            code = match[1].decode("latin-1")
            return bytes([int(code, 8) & 255 if len(code) == 3 else _ESCAPES.get(code, ord(code))])

        name = _ESCAPE.sub(plain, name[1:-1])
    return name.decode("utf-8", "surrogateescape")


def line_runs(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as runs (first, last)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LogSettings:
    first_parent: bool = False
    """Follow first parents only; what a merge brought is then the merge's change."""
    merges: bool = False
    """Read merges too, each with its change against its first parent."""
    diff_bytes: int = 20_000
    """Bytes of changed lines kept of each commit."""
    secrets: bool = False
    """Keep the lines of files that look like secrets too."""


_LIST_SECONDS = 900.0
"""Limit for listing all commits; a repository of a million commits takes about ten seconds."""
_MESSAGE_SECONDS = 300.0
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
"""After a commit that the fast way cannot read, this many are read carefully: at first, and at most."""


@dataclass(slots=True)
class Losses:
    """What could not be read, counted while commits are read."""

    commits: int = 0
    """Commits with files that are missing."""
    paths: int = 0
    """The missing files of these commits."""
    trees: int = 0
    """Commits whose list of changed files is missing too."""
    unread: list[str] = field(default_factory=list)
    """Commits that git cannot read at all."""


def list_commits(top: Path, tip: str, settings: LogSettings) -> list[str] | None:
    """Hashes of all commits reachable from `tip`, children before parents, otherwise the latest first; None if git fails."""
    status, output = _run_git(top, "rev-list", "--date-order", *_walk_options(settings), tip, "--")
    # With a missing object git fails halfway: the commits that it listed before are still good.
    found = output.decode("ascii", "replace").split()
    return found if status == 0 or found else None


def list_newest_commits(top: Path, tip: str, settings: LogSettings, most: int) -> list[str]:
    """Hashes of the latest commits reachable from `tip`, by their dates, so that git need not walk the whole history."""
    _, output = _run_git(top, "rev-list", f"--max-count={most}", *_walk_options(settings), tip, "--")
    return output.decode("ascii", "replace").split()


def start_count(top: Path, tip: str, settings: LogSettings) -> subprocess.Popen[bytes] | None:
    """Start counting the commits reachable from `tip`; see `finish_count`."""
    return git.start(top, *_GLOBAL, "rev-list", "--count", *_walk_options(settings), tip, "--")


def finish_count(process: subprocess.Popen[bytes] | None, seconds: float) -> int:
    """The number of commits; 0 if git fails or takes longer."""
    status, output = git.finish(process, seconds)
    return int(output) if status == 0 and output.strip().isdigit() else 0


def diff_commits(top: Path, new: str, old: str, settings: LogSettings) -> tuple[list[str], list[str]] | None:
    """The commits reachable only from `new`, and those reachable only from `old`; None if git fails."""
    status, output = _run_git(top, "rev-list", "--date-order", "--left-right", *_walk_options(settings), f"{new}...{old}", "--")
    if status:
        return None
    lines = output.decode("ascii", "replace").split()
    return [line[1:] for line in lines if line[0] == "<"], [line[1:] for line in lines if line[0] == ">"]


def _walk_options(settings: LogSettings) -> tuple[str, ...]:
    if settings.first_parent:
        return ("--first-parent",)
    return () if settings.merges else ("--no-merges",)


def _run_git(top: Path, *arguments: str) -> tuple[int, bytes]:
    return git.finish(git.start(top, *_GLOBAL, *arguments), _LIST_SECONDS)


def read_commits(
    top: Path, shas: Sequence[str], settings: LogSettings, losses: Losses | None = None, boundary: frozenset[str] = frozenset()
) -> Iterator[Commit]:
    """Read the commits with these hashes, in this order; one that cannot be read at all is left out.

    `boundary` holds commits whose parents a shallow clone lacks: only their messages are read, as their changes are unknown.
    """
    losses = Losses() if losses is None else losses
    reader = _CommitReader(top, settings, losses)
    start = 0
    for i in range(len(shas) + 1):
        if i == len(shas) or shas[i] in boundary:
            yield from reader.read(shas[start:i])
            if i < len(shas):
                yield from reader.messages(shas[i : i + 1])
            start = i + 1


class _CommitReader:
    def __init__(self, top: Path, settings: LogSettings, losses: Losses) -> None:
        self._top = top
        self._settings = settings
        self._losses = losses

    def read(self, shas: Sequence[str]) -> Iterator[Commit]:
        """Read as much as possible in one pass; after a failure read some commits carefully, then try again."""
        position, careful = 0, _CAREFUL_FIRST
        while position < len(shas):
            before = position
            for parsed in self._read_diffs(shas[position:], *_PATCHES):
                yield parsed.commit
                position += 1
            if position < len(shas):
                if position - before > careful:
                    careful = _CAREFUL_FIRST
                yield from self._read_carefully(shas[position : position + careful])
                position += careful
                careful = min(2 * careful, _CAREFUL_MOST)

    def _read_carefully(self, shas: Sequence[str]) -> Iterator[Commit]:
        """Check first which objects exist, and ask for the changes of those files only."""
        listed: dict[str, Parsed] = {}
        position = 0
        while position < len(shas):
            for parsed in self._read_diffs(shas[position:], "--no-renames", patches=False):
                listed[parsed.commit.sha] = parsed
                position += 1
            position += 1  # skip the one whose trees are missing
        present = self._present({name for parsed in listed.values() for pair in parsed.objects for name in pair})
        whole = [
            sha for sha in shas if sha in listed and all(a in present and b in present for a, b in listed[sha].objects)
        ]
        found = {parsed.commit.sha: parsed.commit for parsed in self._read_diffs(whole, *_PATCHES)}
        for sha in shas:
            if sha in found:
                yield found[sha]
            elif sha in listed:
                yield self._read_partially(listed[sha], present)
            else:
                self._losses.trees += 1
                yield from self.messages([sha])

    def _read_partially(self, parsed: Parsed, present: set[str]) -> Commit:
        """A commit with the changes of those files whose objects exist."""
        commit = parsed.commit
        pairs = list(zip(commit.changes, parsed.objects, strict=True))
        paths = [change.path for change, (a, b) in pairs if a in present and b in present]
        self._losses.commits += 1
        self._losses.paths += len(pairs) - len(paths)
        shown = {}
        for found in self._read_diffs([commit.sha], *_PATCHES, "--no-renames", "--", *paths) if paths else ():
            shown = {change.path: change for change in found.commit.changes}
        return replace(commit, changes=tuple(shown.get(change.path, change) for change in commit.changes))

    def messages(self, shas: Sequence[str]) -> Iterator[Commit]:
        """Read commits without their changes."""
        for sha in shas:
            found = list(self._run([sha], False, *_MESSAGES))
            if not found:
                self._losses.unread.append(sha)
            yield from (replace(parsed.commit, patch_id="") for parsed in found)

    def _present(self, names: set[str]) -> set[str]:
        """Those of the named objects that exist; the null name, which stands for no object, counts as existing."""
        null = {name for name in names if not name.strip("0")}
        data = "\n".join(sorted(names - null)).encode() + b"\n"
        process = git.start(
            self._top, *_GLOBAL, "rev-list", "--objects", "--no-walk", "--no-object-names", "--ignore-missing",
            "--missing=allow-any", "--stdin", with_input=True,
        )  # fmt: skip
        if process is None:
            return null
        output, _ = process.communicate(data)
        return null | set(output.decode("ascii", "replace").split())

    def _read_diffs(self, shas: Sequence[str], *options: str, patches: bool = True) -> Iterator[Parsed]:
        return self._run(shas, patches, *_TREES, *options)

    def _run(self, shas: Sequence[str], patches: bool, *arguments: str) -> Iterator[Parsed]:
        """Commits in the order of `shas`, up to the first that git cannot read."""
        process = git.start(self._top, *_GLOBAL, *arguments, with_input=True) if shas else None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        feeder = threading.Thread(target=_feed, args=(process, shas), daemon=True)
        feeder.start()
        ahead = ReadAhead(process.stdout)
        waiting: Parsed | None = None
        try:
            expected = iter(shas)
            stream, settings = RecordStream(ahead), self._settings
            for parsed in Parser(stream, settings.diff_bytes, patches=patches, secrets=settings.secrets):
                if waiting is not None:
                    yield waiting
                if parsed.commit.sha != next(expected, None):
                    return
                waiting = parsed
            # The last commit is complete only if git succeeded: it may have stopped between two of its files.
            if waiting is not None and process.wait() == 0:
                yield waiting
        except ParseError:
            # The output ended within a commit, so the one before it is complete.
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


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A commit without its changes."""

    sha: str
    parents: tuple[str, ...]
    author: str
    authored: int
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...] = ()


def read_messages(
    top: Path, tip: str = "HEAD", seconds: float = _MESSAGE_SECONDS, most: int | None = None
) -> list[CommitMessage] | None:
    """Messages of all commits reachable from `tip`, merges included, ordered as by `list_commits`; None if git fails.

    Without diffs git needs half a second for 30,000 commits, so the result is not stored anywhere. With `most`, only the first
    so many, ordered by date alone: for the exact order git would have to read all of them.
    """
    order = "--date-order" if most is None else f"--max-count={most}"
    arguments = (order, "--no-show-signature", "--no-notes", "--encoding=UTF-8", "-z", "--no-patch")
    fields = "--format=%H%x1f%P%x1f%an%x1f%at%x1f%B"
    process = git.start(top, "--no-replace-objects", "log", *arguments, fields, "--end-of-options", tip, "--")
    status, output = git.finish(process, seconds)
    if status != 0:
        return None
    found = []
    for record in output.split(b"\0"):
        parts = record.split(b"\x1f", 4)
        if len(parts) == 5:
            sha, parents, author, authored, raw = parts
            when = int(authored) if authored.lstrip(b"-").isdigit() else 0
            named = tuple(parents.decode("ascii").split())
            message = split_message(decode_text(raw))
            found.append(CommitMessage(sha.decode("ascii"), named, decode_text(author), when, *message))
    return found


_PATCH_FORMAT = "%x1e%H%x1f%an%x1f%ae%x1f%at%x1f%P%x1f%s%x1f%b%x1d"
_PATCH_OPTIONS = (
    "--no-walk=unsorted", "--stdin", "--no-show-signature", "--no-notes", "--encoding=UTF-8", f"--format={_PATCH_FORMAT}",
    "-p", "-U0", "-O/dev/null", "--inter-hunk-context=0", "-M", "--diff-merges=first-parent", "--no-color",
    "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--no-relative",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FilePatches:
    """A commit with its changes of some files only."""

    sha: str
    author: str
    email: str
    authored: int
    parents: tuple[str, ...]
    subject: str
    body: str
    hunks: Mapping[str, tuple[Hunk, ...]]
    """By the path after the commit."""


def read_patches(
    top: Path, shas: Sequence[str], paths: Sequence[str], seconds: float, *, secrets: bool = False
) -> dict[str, FilePatches]:
    """Commits by hash, with their changes of `paths`; one that git cannot show is missing.

    Hunks that look like secrets are left out unless `secrets` is set.
    """
    settled = ("--literal-pathspecs", "-c", "diff.suppressBlankEmpty=false")
    process = git.start(top, *settled, "log", *_PATCH_OPTIONS, "--", *paths, with_input=True)
    if process is None:
        return {}
    output = git.communicate(process, "".join(f"{sha}\n" for sha in shas).encode("ascii"), seconds)
    found = {}
    for record in output.split(b"\x1e")[1:]:
        head, _, patch = record.partition(b"\x1d")
        fields = head.decode("utf-8", "replace").split("\x1f")
        if len(fields) == 7:
            sha, author, email, authored, parents, subject, body = fields
            when = int(authored) if authored.lstrip("-").isdigit() else 0
            hunks = _parse_hunks(patch, secrets)
            found[sha] = FilePatches(sha, author, email, when, tuple(parents.split()), subject, body.strip(), hunks)
    return found


_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


def _parse_hunks(patch: bytes, secrets: bool) -> dict[str, tuple[Hunk, ...]]:
    """The hunks of each file, by its path after the change."""
    found: dict[str, list[Hunk]] = {}
    name = ""
    hidden = False
    rows = iter(patch.split(b"\n"))
    for row in rows:
        if row.startswith(b"diff --git "):
            name, hidden = "", False
        elif row.startswith((b"--- ", b"+++ ")):
            whole = unquote_path(row[4:].removesuffix(b"\t"))
            hidden = hidden or (not secrets and secret_path(whole[2:]))
            name = whole[2:] if whole.startswith("b/") else ""
        elif (match := _RANGE.match(row)) is not None:
            left = int(match[2] or 1), int(match[4] or 1)
            removed: list[str] = []
            added: list[str] = []
            while len(removed) < left[0] or len(added) < left[1]:
                line = next(rows, None)
                if line is None:
                    break
                if line[:1] in (b"-", b"+"):
                    (removed if line[:1] == b"-" else added).append(line[1:].decode("utf-8", "replace").removesuffix("\r"))
            heading = match[5].decode("utf-8", "replace")
            if name and not hidden and (secrets or not has_key("\n".join([*removed, *added]).encode("utf-8", "replace"))):
                hunk = Hunk(int(match[1]), int(match[3]), heading, tuple(removed), tuple(added))
                found.setdefault(name, []).append(hunk)
    return {path: tuple(hunks) for path, hunks in found.items()}
