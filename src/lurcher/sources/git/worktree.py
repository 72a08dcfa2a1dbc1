"""Lists the files of a git work tree and of the repositories nested in it."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Iterable, Mapping

from lurcher.sources import FilesSettings, Listing, Mark, TreeSignature, git, ignore, mark_of
from lurcher.sources.filter import Sieve, is_utf8
from lurcher.sources.git.refs import LIST_INDEX, Repository, find_repository, listing_inputs, split_index, work_tree_marker

LURCHER_IGNORE, GIT_IGNORE = ".lurcherignore", ".gitignore"
MAX_DEPTH = 16
"""Levels of nested repositories."""
MAX_REPOSITORIES = 1000
MAX_LEVELS = 64
"""Levels of folders without listed files that are searched; each level costs a process."""
MAX_FOLDERS = 200_000
MAX_RUNNING = 4
"""Nested repositories whose git processes run at the same time."""


def list_work_tree(base: str, settings: FilesSettings, started_ns: int, circumstances: str) -> Listing | None:
    """List the files of the work tree; None if git fails."""
    return _WorkTree(base, settings).run(started_ns, circumstances)


class _GitProcesses:
    """The git commands for one repository, started all at once.

    Two of them list files: the one for the index answers within milliseconds, and its files are processed while the other
    still searches for untracked files. The second lists tracked files too, so that a file which `git add` moves from one
    list to the other in between is not missed.
    """

    def __init__(self, base: str, inside: str, found: Repository | None, depth: int) -> None:
        self.top = f"{base}/{inside}" if inside else base
        self.prefix = f"{inside}/" if inside else ""
        self.found = found
        self.depth = depth
        # Recorded before git reads them: a file that is removed in between would go unnoticed otherwise.
        self.before = {path: mark_of(path, follow=True) for path in listing_inputs(self.top, found, b"")} if found else {}
        self.tracked = git.start(self.top, *LIST_INDEX)
        self.listed = git.start(self.top, "ls-files", "-z", "-co", "--exclude-standard")
        self.configuration = git.start(self.top, "config", "--list", "--show-origin", "-z")

    def names(self, output: bytes) -> tuple[list[str], int]:
        """The paths in an output, and how many were left out because they are not UTF-8."""
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
                git.stop(process)


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
        """Digest of the index of the outermost repository."""
        self.found: list[str] = []
        self.unknown: list[str] = []
        """Folders that git may or may not ignore."""
        self.seen: set[str] = set()
        self.admitted = 0
        self.stuck = False
        """Whether git timed out in a nested repository: those after it are skipped."""

    def run(self, started_ns: int, circumstances: str) -> Listing | None:
        top = _GitProcesses(self.base, "", find_repository(self.base), 0)
        try:
            nested = self._top(top)
            if nested is None:
                return None
            self._finish(top, nested)
        finally:
            top.stop()
        if nested:
            self.seen = {entry.path for entry in self.sieve.entries}
            self._add_nested(nested, top.found)
        signature = None
        if self.reliable and len(self.sieve.folders) <= MAX_FOLDERS:
            files = self.rule_files | self.sieve.watched
            index = f"{top.found.own}/index".removeprefix(f"{self.base}/") if top.found else ""
            signature = TreeSignature(
                circumstances, self.sieve.folders, files, self.read_by_git, started_ns, index=index, tracked=self.tracked
            )
        return self.sieve.listing("git", started_ns, signature, self.found)

    # -- the outermost repository -----------------------------------------------------------------------------------------

    def _top(self, top: _GitProcesses) -> list[tuple[str, bool]] | None:
        """Add the files of the work tree itself; returns the nested repositories as (path, tracked), None if git fails."""
        status, output = git.finish(top.tracked)
        if status:
            return None
        output, self.tracked = split_index(output)
        # A conflicted path is in the index up to three times.
        tracked = dict.fromkeys(top.names(output)[0])
        rules = self._rules(top, tracked, output)
        self.sieve.rules = rules
        self.sieve.take(tracked, tracked=True)
        self._scan()
        status, output = git.finish(top.listed)
        if status:
            return None
        paths, bad_names = top.names(output)
        complete = self._rules(top, paths, output)
        if complete.keys() != rules.keys():  # an untracked .lurcherignore in a folder: rare enough to start again
            self.sieve = Sieve(self.base, self.settings, complete)
            self.sieve.take(tracked, tracked=True)
        return self._add_untracked(top, tracked, paths, bad_names)

    def _add_untracked(
        self, tree: _GitProcesses, tracked: dict[str, None], paths: list[str], bad_names: int
    ) -> list[tuple[str, bool]] | None:
        """Add untracked files, and files that git ignores but a `.lurcherignore` includes again."""
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
            self.reliable = False  # ignored files may be in very many folders, which are not watched
            status, output = git.finish(git.start(tree.top, "ls-files", "-z", "-o", "-i", "--exclude-standard"))
            if status:
                return None
            sieve.take(
                (path for path in tree.names(output)[0] if path[-1] != "/" and path not in self.seen), ignored=True
            )
        if bad_names:
            sieve.skipped["undecodable-name"] = sieve.skipped.get("undecodable-name", 0) + bad_names
        return nested

    def _rules(self, tree: _GitProcesses, paths: Iterable[str], output: bytes) -> dict[str, ignore.Patterns]:
        """The `.lurcherignore` files by folder; the raw output of git shows cheaply that there are none."""
        found: dict[str, ignore.Patterns] = {}
        own = ignore.load(f"{tree.top}/{LURCHER_IGNORE}")
        if own is not None:
            found[tree.prefix[:-1]] = own
        if b"/.lurcherignore\0" in output:
            for path in paths:
                if path.endswith(f"/{LURCHER_IGNORE}") and (nested := ignore.load(os.path.join(self.base, path))) is not None:
                    found[path[: -len(LURCHER_IGNORE) - 1]] = nested
        return found

    # -- nested repositories ----------------------------------------------------------------------------------------------

    def _add_nested(self, first: list[tuple[str, bool]], own: Repository | None) -> None:
        """Add the nested repositories, each once: linked work trees of one that is listed are skipped."""
        listed = {own.common} if own else set()
        linked: list[tuple[str, Repository, int]] = []
        todo: deque[tuple[str, Repository, int]] = deque()
        running: deque[tuple[_GitProcesses, str]] = deque()

        def admit(found: list[tuple[str, bool]], depth: int) -> None:
            for path, tracked in sorted(found):
                inner = self._admit_repository(path, tracked, depth)
                if inner is not None and inner.linked:
                    linked.append((path, inner, depth))
                elif inner is not None:
                    listed.add(inner.common)
                    todo.append((path, inner, depth))

        admit(first, 1)
        try:
            while todo or running or linked:
                while todo and len(running) < MAX_RUNNING:
                    path, inner, depth = todo.popleft()
                    running.append((_GitProcesses(self.base, path, inner, depth), path))
                if running:
                    tree, path = running[0]
                    admit(self._inner(tree, path), tree.depth + 1)
                    running.popleft()[0].stop()
                    continue
                path, inner, depth = linked.pop(0)
                if inner.common in listed:
                    self._exclude(path, "worktree")
                else:
                    listed.add(inner.common)
                    todo.append((path, inner, depth))
        finally:
            for tree, _ in running:
                tree.stop()

    def _admit_repository(self, path: str, tracked: bool, depth: int) -> Repository | None:
        """The repository in a folder, if its files are to be listed."""
        reason = self.sieve.enter(path, tracked)
        if reason is not None:
            self.sieve.count(reason, path)
            return None
        if not self.settings.submodules:
            self._exclude(path, "submodule")
            return None
        found = find_repository(f"{self.base}/{path}")
        if found is None:  # not checked out
            self.sieve.count("submodule", path)
        elif depth > MAX_DEPTH or self.admitted >= MAX_REPOSITORIES or self.stuck:
            self._exclude(path, "refused-repository" if self.stuck else "submodule")
            return None
        else:
            self.admitted += 1
        return found

    def _exclude(self, path: str, reason: str) -> None:
        """Leave a nested repository out, and watch the file that makes it one."""
        self.sieve.count(reason, path)
        if find_repository(f"{self.base}/{path}") is not None:
            self.sieve.forget(path)
            place = work_tree_marker(f"{self.base}/{path}")
            self._record_inputs({place: mark_of(place, follow=True)})

    def _answer(self, process: subprocess.Popen[bytes] | None) -> bytes | None:
        """The output of git for a nested repository; None if it fails."""
        if self.stuck:
            return None
        status, output = git.finish(process)
        self.stuck = process is None or process.returncode < 0
        return None if status else output

    def _inner(self, tree: _GitProcesses, path: str) -> list[tuple[str, bool]]:
        """Add the files of a nested repository; returns the repositories nested in it."""
        staged = self._answer(tree.tracked)
        tracked_output = None if staged is None else split_index(staged)[0]
        output = None if tracked_output is None else self._answer(tree.listed)
        if tracked_output is None or output is None:
            self.sieve.count("refused-repository", path)
            self.reliable = self.reliable and not self.stuck
            self._record_inputs(tree.before)
            return []
        self.found.append(path)
        sieve, before = self.sieve, len(self.sieve.entries)
        sieve.unscanned = [path]  # other nested repositories are scanned when it is their turn
        tracked = dict.fromkeys(name for name in tree.names(tracked_output)[0] if name not in self.seen)
        paths, bad_names = tree.names(output)
        sieve.rules.update(self._rules(tree, paths, output))
        sieve.take(tracked, tracked=True)
        nested = self._add_untracked(tree, tracked, paths, bad_names)
        if nested is None:
            self.reliable = False
        self.seen.update(entry.path for entry in sieve.entries[before:])
        self._finish(tree, nested or ())
        return nested or []

    # -- what the listing depends on --------------------------------------------------------------------------------------

    def _finish(self, tree: _GitProcesses, nested: Iterable[tuple[str, bool]]) -> None:
        """Record the files that git read, and find folders without listed files, as files may appear there."""
        status, output = git.finish(tree.configuration)
        self.reliable = self.reliable and not status and tree.found is not None
        if not self.reliable or tree.found is None:
            return
        inputs = listing_inputs(tree.top, tree.found, output)
        self._record_inputs({path: mark_of(path, follow=True) for path in inputs} | tree.before)
        self._empty_folders(tree, {path for path, _ in nested})

    def _record_inputs(self, marks: Mapping[str, Mark]) -> None:
        inside = f"{self.base}/"
        for path, seen in marks.items():
            self.read_by_git.setdefault(path.removeprefix(inside), seen)

    def _scan(self) -> None:
        """Search folders that were not scanned yet for ignore files and for subfolders without listed files."""
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
                        if name in (GIT_IGNORE, LURCHER_IGNORE):
                            self.rule_files[prefix + name] = mark_of(sieve.base + prefix + name, follow=False)
                        elif entry.is_dir(follow_symlinks=False) and (path := prefix + name) not in reasons:
                            self.unknown.append(path)
            except FileNotFoundError:
                continue
            except OSError:  # not readable; if it becomes readable, its time stamps change
                sieve.count("unreadable", folder or ".")

    def _empty_folders(self, tree: _GitProcesses, nested: set[str]) -> None:
        """Find folders without listed files, level by level, except those that git ignores."""
        sieve = self.sieve
        for _ in range(MAX_LEVELS):
            self._scan()
            unknown, self.unknown = self.unknown, []
            candidates = [
                path
                for path in dict.fromkeys(unknown)
                if path not in sieve.reasons and path not in nested and is_utf8(path) and sieve.enter(path) is None
            ]
            if not candidates:
                return
            ignored = self._list_ignored(tree, candidates)
            if ignored is None or len(sieve.folders) > MAX_FOLDERS:
                break
            for path in ignored:
                sieve.forget(path)
        self.reliable = False

    def _list_ignored(self, tree: _GitProcesses, folders: list[str]) -> list[str] | None:
        # The "./" keeps git from reading a name such as ":(top)" as pathspec magic.
        skip = len(tree.prefix)
        data = "".join(f"./{path[skip:]}\0" for path in folders).encode()
        status, output = git.run_with_input(tree.top, "check-ignore", "-z", "--stdin", data=data)
        if status not in (0, 1):
            return None
        return [tree.prefix + name[2:] for name in output.decode("utf-8", "surrogateescape").split("\0")[:-1]]
