"""Polls an inotify queue to tell whether a tree has changed since it was last checked; no listener thread.

Linux queues an event before the program that changed a file goes on. So a query that finds the queue empty knows that nothing
was changed before it, and need not check every file. What causes no event is checked each time (files that git reads outside
of the tree, files with several hard links) or every MAX_TRUST_SECONDS (writes through mapped memory, mounts). Where this cannot
be relied on, the tree never counts as unchanged.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from lurcher.runtime.process import open_file
from lurcher.sources import Mark, TreeSignature, mark, mark_of
from lurcher.storage.manifest import Manifest

MAX_TRUST_SECONDS = 2.0
"""Seconds after which the tree is checked whatever inotify says."""

_LOCAL_FILE_SYSTEMS = frozenset({
    0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x2FC12FC1, 0xF2F52010, 0x858458F6, 0xCA451A4E, 0x52654973,
})  # fmt: skip
"""Magic numbers of ext, XFS, btrfs, tmpfs, overlay, ZFS, F2FS, ramfs, bcachefs, ReiserFS: local ones."""
_EVENT_HEADER = struct.Struct("iIII")
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE, _SELF = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200, 0xC00
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _SELF
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_BUFFER_BYTES = 1 << 16
_MAX_READS = 64
"""Buffers of events that are read at a time; a tree with more has changed anyway."""


class InotifyMonitor:
    """Watches the folders of one tree. Implements `ChangeMonitor`."""

    def __init__(self, root: Path) -> None:
        """Raises OSError where inotify cannot be used."""
        if not sys.platform.startswith("linux"):
            raise OSError(errno.ENOSYS, "inotify exists on Linux only")
        self._libc = ctypes.CDLL(None, use_errno=True)
        if _file_system_type(self._libc, root) not in _LOCAL_FILE_SYSTEMS:
            raise OSError(errno.ENOTSUP, "other machines may change this file system")
        self._root = str(root)
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError(ctypes.get_errno(), "no inotify instance is left")
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._watches: dict[str, int] = {}
        self._numbers: set[int] = set()
        self._linked: dict[str, Mark] | None = None
        self._marks: dict[str, Mark] = {}
        self._identity: tuple[int, int] | None = None
        self._checked_at = 0.0
        self._is_known_unchanged = False

    def __del__(self) -> None:
        """For an engine that is never closed."""
        if getattr(self, "_queue", -1) >= 0:
            self._close_queue()

    def _is_ours(self) -> bool:
        """A forked process shares the queue: events that it read would be lost for the other one."""
        return os.getpid() == self._process

    def is_unchanged(self) -> bool:
        """Whether the tree is as the last check found it."""
        with self._lock:
            if not self._is_known_unchanged or not self._is_ours():
                return False
            if time.monotonic() - self._checked_at > MAX_TRUST_SECONDS or self._saw_events() or not self._marks_match():
                self._is_known_unchanged = False
            return self._is_known_unchanged

    def start_check(self) -> None:
        """The tree is checked now: the check sees whatever happened before."""
        with self._lock:
            self._is_known_unchanged = False
            if self._is_ours():
                self._saw_events()
                self._checked_at = time.monotonic()

    def finish_check(self, manifest: Manifest, circumstances: str) -> None:
        """The check is over and found the tree as `manifest` says."""
        with self._lock:
            try:
                self._is_known_unchanged = self._is_ours() and self._verify(manifest, circumstances)
            except OSError as error:
                # No watches left, or a folder that vanished, which the next check will see.
                if error.errno in (errno.ENOSPC, errno.ENOMEM, errno.ENOTSUP):
                    self._close_queue()
                self._is_known_unchanged = False

    def _verify(self, manifest: Manifest, circumstances: str) -> bool:
        signature = manifest.signature
        if signature is None or self._queue < 0:
            return False
        status = os.stat(self._root)
        self._identity = status.st_dev, status.st_ino
        new = self._watch(signature.folders)
        if new and any(os.lstat(os.path.join(self._root, folder)).st_dev != status.st_dev for folder in signature.folders):
            raise OSError(errno.ENOTSUP, "another file system is mounted in the tree")
        opened = open_file(self._root, follow=True)
        try:
            if not signature.holds(self._root, opened, circumstances):
                return False
            if self._linked is None:
                self._linked = _marks_of_hard_links(manifest, opened)
        finally:
            os.close(opened)
        self._marks = {
            **_marks_outside(self._root, signature),
            **{os.path.join(self._root, p): m for p, m in self._linked.items()},
        }
        return not (new or self._saw_events())  # folders that are watched only from now on have to be checked once more

    def _watch(self, folders: Iterable[str]) -> bool:
        """Watch these folders and no others; True if some are new."""
        known, self._watches = self._watches, {}
        for folder in folders:
            path = os.fsencode(os.path.join(self._root, folder) if folder else self._root)
            number = self._libc.inotify_add_watch(self._queue, path, _CHANGES | _ONLY_FOLDERS | _NO_LINKS)
            if number < 0:
                self._watches = {**known, **self._watches}
                raise OSError(ctypes.get_errno(), "a folder cannot be watched")
            self._watches[folder] = number
        numbers = set(self._watches.values())
        for number in set(known.values()) - numbers:
            self._libc.inotify_rm_watch(self._queue, number)
        new = not numbers <= self._numbers
        self._numbers = numbers
        return new

    def _saw_events(self) -> bool:
        """Empty the queue; True if there were events of watched folders."""
        if found := self._drain_queue():
            self._linked = None
        return found

    def _drain_queue(self) -> bool:
        found = False
        for _ in range(_MAX_READS):
            try:
                data = os.read(self._queue, _BUFFER_BYTES)
            except BlockingIOError:
                return found
            except OSError:
                return True
            at = 0
            while at + _EVENT_HEADER.size <= len(data):
                number, _, _, length = _EVENT_HEADER.unpack_from(data, at)
                at += _EVENT_HEADER.size + length
                found = found or number < 0 or number in self._numbers  # negative: the queue overflowed
        return True

    def _marks_match(self) -> bool:
        """Whether what causes no events is as it was."""
        try:
            status = os.stat(self._root)
        except OSError:
            return False
        return self._identity == (status.st_dev, status.st_ino) and all(
            mark_of(path, follow=True) == seen for path, seen in self._marks.items()
        )

    def _close_queue(self) -> None:
        """Free all watches: other programs may need them, and watching only a part is useless."""
        if self._queue >= 0:
            os.close(self._queue)
        self._queue = -1
        self._watches, self._numbers = {}, set()

    def close(self) -> None:
        with self._lock:
            self._is_known_unchanged = False
            self._close_queue()


def _marks_outside(root: str, signature: TreeSignature) -> dict[str, Mark]:
    """Marks of files that the listing depends on and that are in no watched folder."""
    found = {os.path.join(root, path): seen for path, seen in signature.git.items()}
    for path in signature.files:
        if path.rpartition("/")[0] not in signature.folders:
            found[os.path.join(root, path)] = mark_of(os.path.join(root, path), follow=True)
    return found


def _marks_of_hard_links(manifest: Manifest, opened: int) -> dict[str, Mark]:
    """Marks of files with several hard links, which can be changed elsewhere without an event here."""
    found = {}
    for path in manifest.rows:
        status = os.stat(path, dir_fd=opened, follow_symlinks=False)
        if status.st_nlink > 1:
            found[path] = mark(status)
    return found


def _file_system_type(libc: ctypes.CDLL, path: Path) -> int:
    """The magic number of the file system of a path."""
    answer = (ctypes.c_long * 64)()
    if libc.statfs(os.fsencode(path), ctypes.byref(answer)):
        raise OSError(ctypes.get_errno(), "the type of the file system is unknown")
    return answer[0] & 0xFFFFFFFF
