"""Turns candidate paths into entries: applies every rule that git itself does not, with one cheap check per path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from lurcher.sources import (
    INTERNAL_FOLDERS,
    LISTED_EXTENSIONS,
    LOCK_FILES,
    MOST_EXAMPLES,
    Entry,
    FilesSettings,
    Listing,
    Mark,
    TreeSignature,
    ignore,
    mark,
    mark_of,
    name_reason,
)
from lurcher.sources.decode import DOTENV, FOLDERS, REASON, SUSPECT, secret_path

VENDORED = "vendored"
"""The one reason against a folder that a `.lurcherignore` can overrule; all others hold for everything below."""


class Sieve:
    """Collects entries; reasons are decided once per folder.

    Folders are entered top down. Tracked paths must come first: an ambiguous folder name is held against a folder only
    when it is first seen after them.
    """

    def __init__(self, root: str, settings: FilesSettings, rules: dict[str, ignore.Patterns]) -> None:
        self.base = root.rstrip("/") + "/"
        self.settings = settings
        self.rules = rules
        """`.lurcherignore` files by folder; more may be added until their folder is entered."""
        self.entries: list[Entry] = []
        self.skipped: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}
        """The first few paths that were left out for each reason."""
        self.links: list[str] = []
        self.nested: list[str] = []
        """Tracked paths that turned out to be folders: work trees of other repositories, or places for them."""
        self.folders: dict[str, Mark] = {}
        """The folders in which a new file would be listed."""
        self.unscanned: list[str] = []
        """Those of them that have not been listed yet."""
        self.watched: dict[str, Mark] = {}
        """Files left out for what they are now, and not for what they are called."""
        self.barred_names = frozenset(settings.skip_folders)
        self.untracked_names = frozenset(settings.skip_untracked_folders)
        self.reasons: dict[str, str | None] = {"": None}
        self.stacks: dict[str, ignore.Stack] = {}
        self.wanted: dict[str, bool] = {"": False}
        """Folders that a `.lurcherignore` includes by name, and what is below them."""
        self._record("", mark_of(self.base, follow=False))

    def count(self, reason: str, path: str) -> None:
        number = self.skipped[reason] = self.skipped.get(reason, 0) + 1
        if number <= MOST_EXAMPLES:
            self.examples.setdefault(reason, []).append(path)

    def _record(self, folder: str, seen: Mark) -> None:
        self.folders[folder] = seen
        self.unscanned.append(folder)

    def take(self, paths: Iterable[str], tracked: bool = False, ignored: bool = False) -> None:
        """Adds the paths that pass; those that git ignores pass only where a `.lurcherignore` wants them."""
        reasons, lstat, base, limit = self.reasons, os.lstat, self.base, self.settings.max_file_bytes
        append, make, rules = self.entries.append, tuple.__new__, self.rules
        listed, locks, regular = LISTED_EXTENSIONS, LOCK_FILES, stat.S_IFREG
        suspect = frozenset() if self.settings.secrets else SUSPECT
        for path in paths:
            folder, _, name = path.rpartition("/")
            try:
                reason = reasons[folder]
            except KeyError:
                reason = self.enter(folder, tracked)
            extension = name.rpartition(".")[2]
            if rules:
                reason = self._apply_rules(path, folder, name, extension, reason, ignored)
            elif reason is None and (extension in listed or name in locks):
                reason = name_reason(name, extension)
            # Neither git nor a `.lurcherignore` can include it: a repository does not decide about secrets.
            if reason is None and (extension in suspect or name.startswith(DOTENV)) and self._secret(path):
                reason = REASON
            if reason is not None:
                if reason:
                    self.count(reason, path)
                continue
            try:
                status = lstat(base + path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # tracked, but deleted; or gone since it was listed
            except (OSError, ValueError):
                self.count("unreadable", path)
                continue
            if status.st_mode & 0o170000 != regular:
                self._irregular(path, status.st_mode)
            elif status.st_size > limit:
                self.count("oversized", path)
                self.watched[path] = mark(status)
            else:
                # Entry(...) by way of its base class: half the time, and this line runs once per file.
                append(make(Entry, (path, *mark(status))))

    def enter(self, folder: str, tracked: bool = False) -> str | None:
        """Decides about a folder and those above it that are still unknown."""
        unknown = []
        while folder not in self.reasons:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        for path in reversed(unknown):
            self.reasons[path] = self._folder_reason(path, tracked)
        return self.reasons[unknown[0] if unknown else folder]

    def forget(self, folder: str) -> None:
        """Drop a folder from the list of folders in which new files would be listed."""
        self.folders.pop(folder, None)

    def _folder_reason(self, path: str, tracked: bool) -> str | None:
        parent, _, name = path.rpartition("/")
        inherited = self.reasons[parent]
        wanted = self.wanted.get(parent, False)
        self.wanted[path] = False
        if inherited is not None and inherited != VENDORED:
            return inherited
        if name in INTERNAL_FOLDERS:
            return "internal"
        if name in FOLDERS and not self.settings.secrets:
            return REASON
        if name in ("", ".", ".."):  # only a forged index holds these: they would lead out of the root
            return "unsafe-path"
        try:
            status = os.lstat(self.base + path)
        except (OSError, ValueError):
            status = None  # gone or out of reach: the files below will say which
        if status is not None and stat.S_ISLNK(status.st_mode):
            return "symlink"
        reason = self._name_reason(path, parent, name, tracked, wanted)
        if reason is None and status is not None and stat.S_ISDIR(status.st_mode):
            self._record(path, mark(status))
        return reason

    def _name_reason(self, path: str, parent: str, name: str, tracked: bool, wanted: bool) -> str | None:
        soft = name in self.barred_names or (not tracked and name in self.untracked_names)
        if self.rules:
            verdict = ignore.stack_verdict(self._stack(parent), path, name, True)
            if verdict:
                return "ignored"
            if verdict is False:
                self.wanted[path] = True
                return None
            self.wanted[path] = wanted and not soft
        return VENDORED if soft else self.reasons[parent]

    def _stack(self, folder: str) -> ignore.Stack:
        """The `.lurcherignore` files that apply to what is in a folder."""
        known = self.stacks.get(folder)
        if known is not None:
            return known
        unknown = [folder]
        while folder and folder not in self.stacks:
            folder = folder.rpartition("/")[0]
            unknown.append(folder)
        known = self.stacks.get(folder, ())
        for path in reversed(unknown):
            if path not in self.stacks:
                own = self.rules.get(path)
                if own is not None:
                    known = (*known, (len(path) + 1 if path else 0, own))
                self.stacks[path] = known
        return known

    def _apply_rules(
        self, path: str, folder: str, name: str, extension: str, reason: str | None, ignored: bool
    ) -> str | None:
        """As without rules, but a pattern that matches the file itself overrules its name and its folder's name.

        The empty reason leaves a file out without counting it, as git's own ignoring does.
        """
        if reason is not None and reason != VENDORED:
            return "" if ignored else reason
        verdict = ignore.stack_verdict(self._stack(folder), path, name, False)
        if verdict is not None:
            return None if not verdict else "" if ignored else "ignored"
        if ignored and not self.wanted[folder]:
            return ""
        return reason if reason is not None else name_reason(name, extension)

    def _secret(self, path: str) -> bool:
        return not self.settings.secrets and secret_path(path)

    def _irregular(self, path: str, mode: int) -> None:
        if stat.S_ISLNK(mode):
            if self.settings.follow_symlinks:
                self.links.append(path)
            else:
                self.count("symlink", path)
        else:
            if stat.S_ISDIR(mode):
                self.nested.append(path)
            else:
                self.count("special", path)

    def resolve(self, link: str) -> tuple[str, os.stat_result] | None:
        """Where a link leads, if that is inside the root and outside of the folders that are never searched."""
        root = os.path.realpath(self.base)
        try:
            target = os.path.realpath(self.base + link, strict=True)
            status = os.stat(target)
        except (OSError, ValueError):
            return None
        inside = os.path.relpath(target, root)
        if os.path.commonpath((root, target)) != root or not INTERNAL_FOLDERS.isdisjoint(inside.split("/")):
            return None
        return inside, status

    def follow_files(self) -> None:
        """Adds the links to files whose targets are not listed themselves."""
        listed = {entry.path for entry in self.entries}
        for link in sorted(self.links):
            found = self.resolve(link)
            if found is None or not stat.S_ISREG(found[1].st_mode) or found[0] in listed:
                self.count("symlink", link)
            elif self._secret(link) or self._secret(found[0]):
                self.count(REASON, link)
            elif found[1].st_size > self.settings.max_file_bytes:
                self.count("oversized", link)
            else:
                self.entries.append(Entry(link, *mark(found[1])))
        self.links.clear()

    def listing(self, method: str, started_ns: int, signature: TreeSignature | None, nested: Iterable[str] = ()) -> Listing:
        if self.links:
            self.follow_files()
        self.entries.sort()
        skipped = dict(sorted(self.skipped.items()))
        # Of a name that is not UTF-8 there is nothing to show.
        named = {reason: tuple(path for path in self.examples.get(reason, ()) if is_utf8(path)) for reason in skipped}
        examples = {reason: paths for reason, paths in named.items() if paths}
        return Listing(self.entries, skipped, method, started_ns, signature, tuple(sorted(nested)), examples)


def is_utf8(name: str) -> bool:
    """Whether a name that the file system gave can be written as JSON."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
