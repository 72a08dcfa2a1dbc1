"""Lists a git work tree together with the repositories inside of it."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Iterable, Mapping

from lurcher.runtime.fastjson import blake2b
from lurcher.sources import ignore
from lurcher.sources.files import FilesSettings, Listing
from lurcher.sources.filter import Sieve, is_utf8
from lurcher.sources.git import command
from lurcher.sources.git.refs import Repository, inputs, marker, repository
from lurcher.sources.signature import Mark, TreeSignature, mark_of

RULES, IGNORED = ".lurcherignore", ".gitignore"
MAX_DEPTH = 16
"""Repositories inside of repositories."""
MAX_REPOSITORIES = 1000
MAX_LEVELS = 64
"""Folders inside of folders that hold no listed file; each level costs a process."""
MAX_FOLDERS = 200_000
AHEAD = 4
"""Repositories whose git runs while another one's answer is looked at."""


def list_work_tree(base: str, settings: FilesSettings, started_ns: int, circumstances: str) -> Listing | None:
    """The files of the work tree; None when git does not answer."""
    return _WorkTree(base, settings).run(started_ns, circumstances)


def tracked_in(top: str) -> str:
    """A digest of the files that the index of a work tree has; empty when git does not answer."""
    status, output = command.finish(command.start(top, *_STAGED))
    return "" if status else _taken_apart(output)[1]


_STAGED = ("ls-files", "-z", "-s")


def _taken_apart(output: bytes) -> tuple[bytes, str]:
    """From mode, object, stage and name of every file in the index to the names, and a digest of all but the objects."""
    rows = [row.partition(b"\t") for row in output.split(b"\0")]
    digest = blake2b(b"\0".join([told[:6] + told[-1:] + name for told, _, name in rows]), digest_size=16).hexdigest()
    return b"".join([name + b"\0" for _, _, name in rows if name]), digest


class _Git:
    """What git is asked about one repository, all at once.

    Two processes list: the index alone comes within milliseconds and its files are looked at while the other one still
    searches for untracked files. The second also repeats the tracked ones, so that a file which `git add` moves from
    one list to the other in between cannot be missed.
    """

    def __init__(self, base: str, inside: str, found: Repository | None, depth: int) -> None:
        self.top = f"{base}/{inside}" if inside else base
        self.prefix = f"{inside}/" if inside else ""
        self.found = found
        self.depth = depth
        # Looked at before git reads them: one that is removed meanwhile leaves no trace that it was there.
        self.before = {path: mark_of(path, follow=True) for path in inputs(self.top, found, b"")} if found else {}
        self.tracked = command.start(self.top, *_STAGED)
        self.listed = command.start(self.top, "ls-files", "-z", "-co", "--exclude-standard")
        self.configuration = command.start(self.top, "config", "--list", "--show-origin", "-z")

    def names(self, output: bytes) -> tuple[list[str], int]:
        """The paths in an answer, and how many were left out because they are not UTF-8."""
        bad = 0
        try:
            names = output.decode().split("\0")[:-1]
        except UnicodeDecodeError:
            every = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
            names = [name for name in every if is_utf8(name)]
            bad = len(every) - len(names)
        return ([self.prefix + name for name in names] if self.prefix else names), bad

    def stop(self) -> None:
        processes: tuple[subprocess.Popen[bytes] | None, ...] = (self.tracked, self.listed, self.configuration)
        for process in processes:
            if process is not None and process.returncode is None:
                command.stop(process)


class _WorkTree:
    def __init__(self, base: str, settings: FilesSettings) -> None:
        self.base = base
        self.settings = settings
        self.sieve = Sieve(base, settings, {})
        self.reliable = not settings.follow_symlinks
        """Whether everything that the listing depends on is known."""
        self.rule_files: dict[str, Mark] = {}
        self.read_by_git: dict[str, Mark] = {}
        self.tracked = ""
        """What the index of the outermost repository has."""
        self.found: list[str] = []
        self.unknown: list[str] = []
        """Folders of which it is not known whether git ignores them."""
        self.seen: set[str] = set()
        self.admitted = 0
        self.stuck = False
        """Whether a repository inside kept us waiting for nothing: none that follows gets the chance."""

    def run(self, started_ns: int, circumstances: str) -> Listing | None:
        top = _Git(self.base, "", repository(self.base), 0)
        try:
            nested = self._top(top)
            if nested is None:
                return None
            self._finish(top, nested)
        finally:
            top.stop()
        if nested:
            self.seen = {entry.path for entry in self.sieve.entries}
            self._nested(nested, top.found)
        standing = None
        if self.reliable and len(self.sieve.folders) <= MAX_FOLDERS:
            files = self.rule_files | self.sieve.watched
            index = f"{top.found.own}/index".removeprefix(f"{self.base}/") if top.found else ""
            standing = TreeSignature(
                circumstances, self.sieve.folders, files, self.read_by_git, started_ns, index=index, tracked=self.tracked
            )
        return self.sieve.listing("git", started_ns, standing, self.found)

    # -- the outermost repository -----------------------------------------------------------------------------------------

    def _top(self, top: _Git) -> list[tuple[str, bool]] | None:
        """Takes the files of the work tree itself; the repositories inside are returned."""
        status, output = command.finish(top.tracked)
        if status:
            return None
        output, self.tracked = _taken_apart(output)
        # A conflicted path is in the index up to three times.
        tracked = dict.fromkeys(top.names(output)[0])
        rules = self._rules(top, tracked, output)
        self.sieve.rules = rules
        self.sieve.take(tracked, tracked=True)
        self._scan()
        status, output = command.finish(top.listed)
        if status:
            return None
        paths, bad_names = top.names(output)
        complete = self._rules(top, paths, output)
        if complete.keys() != rules.keys():  # an untracked nested one: rare enough to begin again
            self.sieve = Sieve(self.base, self.settings, complete)
            self.sieve.take(tracked, tracked=True)
        return self._others(top, tracked, paths, bad_names)

    def _others(self, tree: _Git, tracked: dict[str, None], paths: list[str], bad_names: int) -> list[tuple[str, bool]] | None:
        """Takes what is not tracked, and what a `.lurcherignore` wants although git ignores it."""
        sieve = self.sieve
        others = [path for path in paths if path not in tracked]
        nested = [(path, True) for path in sieve.nested]
        sieve.nested.clear()
        folders = [path for path in others if path[-1] == "/"]
        if folders:
            others = [path for path in others if path[-1] != "/"]
            nested += [(path[:-1], False) for path in folders]
        sieve.take(path for path in others if path not in self.seen)
        if any(patterns.reincludes for patterns in sieve.rules.values()):
            self.reliable = False  # what git ignores is in many folders that are better not looked at
            status, output = command.finish(command.start(tree.top, "ls-files", "-z", "-o", "-i", "--exclude-standard"))
            if status:
                return None
            sieve.take(
                (path for path in tree.names(output)[0] if path[-1] != "/" and path not in self.seen), ignored=True
            )
        if bad_names:
            sieve.skipped["undecodable-name"] = sieve.skipped.get("undecodable-name", 0) + bad_names
        return nested

    def _rules(self, tree: _Git, paths: Iterable[str], output: bytes) -> dict[str, ignore.Patterns]:
        """The `.lurcherignore` files by folder; git's raw answer tells cheaply that there is none."""
        found: dict[str, ignore.Patterns] = {}
        own = ignore.load(f"{tree.top}/{RULES}")
        if own is not None:
            found[tree.prefix[:-1]] = own
        if b"/.lurcherignore\0" in output:
            for path in paths:
                if path.endswith(f"/{RULES}") and (nested := ignore.load(os.path.join(self.base, path))) is not None:
                    found[path[: -len(RULES) - 1]] = nested
        return found

    # -- repositories inside ----------------------------------------------------------------------------------------------

    def _nested(self, first: list[tuple[str, bool]], own: Repository | None) -> None:
        """Takes the repositories inside, each once: further work trees of one that is listed are not."""
        listed = {own.common} if own else set()
        linked: list[tuple[str, Repository, int]] = []
        todo: deque[tuple[str, Repository, int]] = deque()
        running: deque[tuple[_Git, str]] = deque()

        def admit(found: list[tuple[str, bool]], depth: int) -> None:
            for path, tracked in sorted(found):
                inner = self._admitted(path, tracked, depth)
                if inner is not None and inner.linked:
                    linked.append((path, inner, depth))
                elif inner is not None:
                    listed.add(inner.common)
                    todo.append((path, inner, depth))

        admit(first, 1)
        try:
            while todo or running or linked:
                while todo and len(running) < AHEAD:
                    path, inner, depth = todo.popleft()
                    running.append((_Git(self.base, path, inner, depth), path))
                if running:
                    tree, path = running[0]
                    admit(self._inner(tree, path), tree.depth + 1)
                    running.popleft()[0].stop()
                    continue
                path, inner, depth = linked.pop(0)
                if inner.common in listed:
                    self._left_out(path, "worktree")
                else:
                    listed.add(inner.common)
                    todo.append((path, inner, depth))
        finally:
            for tree, _ in running:
                tree.stop()

    def _admitted(self, path: str, tracked: bool, depth: int) -> Repository | None:
        """The repository in a folder, if its files are to be listed."""
        reason = self.sieve.enter(path, tracked)
        if reason is not None:
            self.sieve.count(reason, path)
            return None
        if not self.settings.submodules:
            self._left_out(path, "submodule")
            return None
        found = repository(f"{self.base}/{path}")
        if found is None:  # not checked out
            self.sieve.count("submodule", path)
        elif depth > MAX_DEPTH or self.admitted >= MAX_REPOSITORIES or self.stuck:
            self._left_out(path, "refused-repository" if self.stuck else "submodule")
            return None
        else:
            self.admitted += 1
        return found

    def _left_out(self, path: str, reason: str) -> None:
        """A repository that is none of ours for as long as it is one."""
        self.sieve.count(reason, path)
        if repository(f"{self.base}/{path}") is not None:
            self.sieve.forget(path)
            place = marker(f"{self.base}/{path}")
            self._reads({place: mark_of(place, follow=True)})

    def _answer(self, process: subprocess.Popen[bytes] | None) -> bytes | None:
        """What git says about a repository inside, unless it refuses."""
        if self.stuck:
            return None
        status, output = command.finish(process)
        self.stuck = process is None or process.returncode < 0
        return None if status else output

    def _inner(self, tree: _Git, path: str) -> list[tuple[str, bool]]:
        """Takes the files of a repository inside; those that are in it are returned."""
        staged = self._answer(tree.tracked)
        tracked_output = None if staged is None else _taken_apart(staged)[0]
        output = None if tracked_output is None else self._answer(tree.listed)
        if tracked_output is None or output is None:
            self.sieve.count("refused-repository", path)
            self.reliable = self.reliable and not self.stuck
            self._reads(tree.before)
            return []
        self.found.append(path)
        sieve, before = self.sieve, len(self.sieve.entries)
        sieve.unscanned = [path]  # others that were admitted wait for their own turn
        tracked = dict.fromkeys(name for name in tree.names(tracked_output)[0] if name not in self.seen)
        paths, bad_names = tree.names(output)
        sieve.rules.update(self._rules(tree, paths, output))
        sieve.take(tracked, tracked=True)
        nested = self._others(tree, tracked, paths, bad_names)
        if nested is None:
            self.reliable = False
        self.seen.update(entry.path for entry in sieve.entries[before:])
        self._finish(tree, nested or ())
        return nested or []

    # -- what the listing depends on --------------------------------------------------------------------------------------

    def _finish(self, tree: _Git, nested: Iterable[tuple[str, bool]]) -> None:
        """Notes what git read, and finds the folders that hold no listed file but might."""
        status, output = command.finish(tree.configuration)
        self.reliable = self.reliable and not status and tree.found is not None
        if not self.reliable or tree.found is None:
            return
        self._reads({path: mark_of(path, follow=True) for path in inputs(tree.top, tree.found, output)} | tree.before)
        self._empty_folders(tree, {path for path, _ in nested})

    def _reads(self, marks: Mapping[str, Mark]) -> None:
        inside = f"{self.base}/"
        for path, seen in marks.items():
            self.read_by_git.setdefault(path.removeprefix(inside), seen)

    def _scan(self) -> None:
        """Looks into folders that are new to us for ignore files and for folders without listed files."""
        sieve = self.sieve
        folders, sieve.unscanned = sieve.unscanned, []
        if not self.reliable:
            return
        reasons = sieve.reasons
        for folder in folders:
            if folder not in sieve.folders:
                continue
            prefix = f"{folder}/" if folder else ""
            try:
                with os.scandir(sieve.base + folder) as entries:
                    for entry in entries:
                        name = entry.name
                        if name in (IGNORED, RULES):
                            self.rule_files[prefix + name] = mark_of(sieve.base + prefix + name, follow=False)
                        elif entry.is_dir(follow_symlinks=False) and (path := prefix + name) not in reasons:
                            self.unknown.append(path)
            except FileNotFoundError:
                continue
            except OSError:  # may not be read; that it may would show in its time stamps
                sieve.count("unreadable", folder or ".")

    def _empty_folders(self, tree: _Git, nested: set[str]) -> None:
        """Folders without listed files, level by level, leaving out those that git ignores."""
        sieve = self.sieve
        for _ in range(MAX_LEVELS):
            self._scan()
            unknown, self.unknown = self.unknown, []
            asked = [
                path
                for path in dict.fromkeys(unknown)
                if path not in sieve.reasons and path not in nested and is_utf8(path) and sieve.enter(path) is None
            ]
            if not asked:
                return
            ignored = self._ignored(tree, asked)
            if ignored is None or len(sieve.folders) > MAX_FOLDERS:
                break
            for path in ignored:
                sieve.forget(path)
        self.reliable = False

    def _ignored(self, tree: _Git, folders: list[str]) -> list[str] | None:
        # "./" keeps a name such as ":(top)" from being read as pathspec magic.
        skip = len(tree.prefix)
        questions = "".join(f"./{path[skip:]}\0" for path in folders).encode()
        status, output = command.ask(tree.top, "check-ignore", "-z", "--stdin", questions=questions)
        if status not in (0, 1):
            return None
        return [tree.prefix + name[2:] for name in output.decode("utf-8", "surrogateescape").split("\0")[:-1]]
