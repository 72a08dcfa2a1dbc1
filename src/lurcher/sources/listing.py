"""The files of a tree: from git in a work tree, found by a walk elsewhere that honours `.gitignore` files as git would."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Sequence

from lurcher.sources import (
    INTERNAL_FOLDERS,
    Entry,
    FilesSettings,
    Listing,
    Mark,
    Root,
    TreeSignature,
    circumstances,
    ignore,
    mark_of,
)
from lurcher.sources.filter import VENDORED, Sieve, is_utf8
from lurcher.sources.git.refs import find_repository, work_tree_marker
from lurcher.sources.git.worktree import list_work_tree

_EXCLUDED = ".git/info/exclude"


def walk(root: str, settings: FilesSettings, started_ns: int = 0, circumstances: str = "") -> Listing:
    """Lists a tree folder by folder; a folder that cannot be read is counted, not raised."""
    return _Walk(root, settings).run(started_ns, circumstances)


class _Walk:
    def __init__(self, root: str, settings: FilesSettings) -> None:
        self.sieve = Sieve(root, settings, {})
        self.own = find_repository(root)
        self.nested: list[str] = []
        self.rule_files: dict[str, Mark] = {}
        self.markers: dict[str, Mark] = {}
        self.reincludes = False
        self.seen: set[tuple[int, int]] = set()
        self.todo: list[tuple[str, ignore.Stack, bool]] = []

    def run(self, started_ns: int, circumstances: str) -> Listing:
        excluded = ignore.load(self.sieve.base + _EXCLUDED)
        self.todo.append(("", ((0, excluded),) if excluded else (), False))
        self._drain()
        while self.sieve.links:
            self._follow_folders()
        for path in self.sieve.nested:  # a folder has taken the place of a file meanwhile
            self.sieve.count("special", path)
        signature = None
        if circumstances and not self.reincludes and not self.sieve.settings.follow_symlinks:
            self.markers[_EXCLUDED] = mark_of(self.sieve.base + _EXCLUDED, follow=False)
            files = self.rule_files | self.markers | self.sieve.watched
            signature = TreeSignature(circumstances, self.sieve.folders, files, {}, started_ns)
        return self.sieve.listing("walk", started_ns, signature, self.nested)

    def _drain(self) -> None:
        while self.todo:
            self._folder(*self.todo.pop())

    def _folder(self, folder: str, stack: ignore.Stack, ignored: bool) -> None:
        sieve = self.sieve
        prefix = f"{folder}/" if folder else ""
        try:
            with os.scandir(sieve.base + folder) as found:
                entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
            if sieve.settings.follow_symlinks:
                status = os.stat(sieve.base + folder)
                if (status.st_dev, status.st_ino) in self.seen:
                    sieve.count("symlink", folder)
                    return
                self.seen.add((status.st_dev, status.st_ino))
        except (OSError, ValueError):
            sieve.count("unreadable", folder or ".")
            return
        names = {name for name, _ in entries}
        if folder and ".git" in names and not self._own_repository(folder):
            return
        stack = self._read_rules(folder, prefix, stack, names)
        files, ignored_files = [], []
        for name, is_folder in entries:
            path = prefix + name
            if name in INTERNAL_FOLDERS:
                continue
            if not is_utf8(path):
                sieve.count("undecodable-name", path)
                continue
            left_out = ignored or bool(stack and ignore.stack_verdict(stack, path, name, is_folder))
            if is_folder:
                self._subfolder(path, stack, left_out)
            elif left_out:
                ignored_files.append(path)
            else:
                files.append(path)
        sieve.take(files)
        if self.reincludes:
            sieve.take(ignored_files, ignored=True)

    def _own_repository(self, folder: str) -> bool:
        """Whether a repository inside is searched: if we are one ourselves, not its other work trees, and only if wanted."""
        found = find_repository(self.sieve.base + folder)
        if found is not None and self.own is not None:
            reason = "worktree" if found.linked and found.common == self.own.common else "submodule"
            if reason == "worktree" or not self.sieve.settings.submodules:
                self.sieve.count(reason, folder)
                self.sieve.forget(folder)
                inside = work_tree_marker(self.sieve.base + folder).removeprefix(self.sieve.base)
                self.markers[inside] = mark_of(self.sieve.base + inside, follow=False)
                return False
        if found is not None:
            self.nested.append(folder)
        return True

    def _subfolder(self, path: str, stack: ignore.Stack, ignored: bool) -> None:
        """Folders that are left out are entered only where some `!` line could bring a part of them back."""
        if ignored and not self.reincludes:
            return
        reason = self.sieve.enter(path)
        if reason is None or (reason == VENDORED and self.reincludes):
            self.todo.append((path, stack, ignored))
        elif not ignored:
            self.sieve.count(reason, path)

    def _read_rules(self, folder: str, prefix: str, stack: ignore.Stack, names: set[str]) -> ignore.Stack:
        base = self.sieve.base + prefix
        for name in (".gitignore", ".lurcherignore"):
            if name in names:
                self.rule_files[prefix + name] = mark_of(base + name, follow=False)
        if ".lurcherignore" in names and (rules := ignore.load(base + ".lurcherignore")):
            self.sieve.rules[folder] = rules
            self.reincludes = self.reincludes or rules.reincludes
        if ".gitignore" in names and (patterns := ignore.load(base + ".gitignore")):
            return (*stack, (len(prefix), patterns))
        return stack

    def _follow_folders(self) -> None:
        """Walks the links to folders that the walk has not met under their own names; links to files are left."""
        files = []
        links, self.sieve.links = sorted(self.sieve.links), []
        for link in links:
            found = self.sieve.resolve(link)
            if found is None or not stat.S_ISDIR(found[1].st_mode):
                files.append(link)
                continue
            if (found[1].st_dev, found[1].st_ino) in self.seen:
                self.sieve.count("symlink", link)
                continue
            self.sieve.enter(link)
            self.sieve.reasons[link] = None  # entering called it a link; following it was requested
            self.todo.append((link, (), False))
            self._drain()
        if not self.sieve.links:
            self.sieve.links = files
            self.sieve.follow_files()
        else:
            self.sieve.links += files


class QuickWalk:
    """A walk in several steps: folders named like the words of a question first, then those that are least deep.

    Links to files and folders are not followed.
    """

    def __init__(self, root: str, settings: FilesSettings) -> None:
        self._walk = _Walk(root, settings)
        excluded = ignore.load(self._walk.sieve.base + _EXCLUDED)
        self._todo: list[tuple[int, int, str, ignore.Stack, bool]] = []
        self._walk.todo.append(("", ((0, excluded),) if excluded else (), False))
        self.done = False

    @property
    def entries(self) -> list[Entry]:
        """What has been found so far."""
        return sorted(self._walk.sieve.entries)

    def go_on(self, words: Sequence[str], until: float) -> None:
        """Walks until a time (monotonic), or the end."""
        walk, todo = self._walk, self._todo
        walk.todo += [(folder, stack, ignored) for _, _, folder, stack, ignored in todo]
        todo.clear()  # other words have another order
        while True:
            for folder, stack, ignored in walk.todo:
                named = sum(word in folder.lower() for word in words)
                heapq.heappush(todo, (-named, folder.count("/"), folder, stack, ignored))
            walk.todo.clear()
            if not todo:
                self.done = True
                return
            if time.monotonic() > until:
                return
            walk._folder(*heapq.heappop(todo)[2:])


def list_files(root: Root, settings: FilesSettings) -> Listing:
    """Every file of the root that may be searched, whatever part of it was requested.

    In a work tree git decides what is ignored; `.lurcherignore` files (gitignore syntax, nested ones too) then take
    away more or, with `!` lines, bring back what git or the built-in names leave out. Patterns hold for entries as in
    git: the deepest file's last match decides, and nothing below an excluded folder comes back. A nested
    `.lurcherignore` counts if git does not ignore it. When git fails, the tree is walked.
    """
    started = time.time_ns()
    about = circumstances(root, settings)
    if root.git:
        listing = list_work_tree(root.place, settings, started, about)
        if listing is not None:
            return listing
        about = ""  # git may well answer the next time: nothing here is to be relied on
    return walk(root.place, settings, started, about)
