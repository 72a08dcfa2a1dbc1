"""Whether a text mentions a file of the tree: by at least the last two parts of its path, or as a dotted module.

A bare file name is not enough: `tests.py`, `base.py` and `index.js` are everywhere. A file at the top of the tree, whose path
is just its name, counts as mentioned if no other file has that name and it is written in backticks or as ./name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import name_of, split

_MAX_PATH_BYTES = 300
"""Bytes before a name in which the rest of its path is searched."""
_PATH_END = re.compile(rb"[\w./-]*\Z")
_MODULE_END = re.compile(rb"[\w.]*\Z")
_PACKAGE = "__init__"


class MentionFinder:
    """Finds mentions of one file, and tells them from mentions of files with the same name."""

    def __init__(self, snapshot: Snapshot, path: str) -> None:
        self.path = path
        self._parts = path.split("/")
        self._base = self._parts[-1]
        self._namesakes = _find_namesakes(snapshot, path)
        self._module = split_module(path)
        modules = map(split_module, find_paths_named(snapshot, "/".join(self._module))) if self._module else ()
        self._modules = [other for other in modules if other and other != self._module]

    @property
    def words(self) -> list[str]:
        """Words of which a text must have one: the file's name, and the last part of the module's."""
        return [self._base, *([self._module[-1]] if len(self._module) > 1 else [])]

    def first(self, text: bytes) -> int | None:
        """The byte of the first mention in a text."""
        return min(self._find_places(text), default=None)

    def _find_places(self, text: bytes) -> Iterator[int]:
        for match in re.finditer(re.escape(self._base.encode("utf-8", "surrogateescape")) + rb"(?![\w/])", text):
            written = _read_before(text, match.start(), _PATH_END) + match[0]
            if self._names_file(text, match.start(), match.end(), written):
                yield match.start()
                break
        if len(self._module) > 1:
            last = self._module[-1].encode("utf-8", "surrogateescape")
            for match in re.finditer(rb"\." + re.escape(last) + rb"(?!\w)", text):
                dotted = (_read_before(text, match.start(), _MODULE_END) + match[0]).decode("utf-8", "replace").split(".")
                following = text[match.end() : match.end() + 2]
                if _is_package(self.path) and re.match(rb"\.\w", following):
                    continue  # a module of the package, not the package itself
                if _is_best_fit(dotted, self._module, self._modules):
                    yield match.start()
                    break

    def _names_file(self, text: bytes, start: int, end: int, written: bytes) -> bool:
        parts = written.decode("utf-8", "replace").split("/")
        if not parts[-1].endswith(self._base) or len(parts[-1]) != len(self._base):
            return False  # the end of another name
        named = [part for part in parts if part not in ("", ".", "..")]
        if len(self._parts) > 1:
            return _is_best_fit(named, self._parts, [other.split("/") for other in self._namesakes])
        quoted = text[start - 1 : start] == b"`" and text[end : end + 1] == b"`"
        return len(named) == 1 and not self._namesakes and (quoted or parts[:-1] == ["."])


def _read_before(text: bytes, start: int, letters: re.Pattern[bytes]) -> bytes:
    """The bytes right before `start` that may belong to the same name."""
    found = letters.search(text, max(0, start - _MAX_PATH_BYTES), start)
    return found[0] if found else b""


def _is_best_fit(named: Sequence[str], own: Sequence[str], others: Iterable[Sequence[str]]) -> bool:
    """Whether a name of two or more parts fits a file better than every other."""
    fit = _count_shared_parts(named, own)
    return fit[0] > 1 and all(_count_shared_parts(named, other) < fit for other in others)


def _count_shared_parts(named: Sequence[str], own: Sequence[str]) -> tuple[int, bool]:
    """How many parts agree, where one is the end of the other, and whether they are the same."""
    shorter = min(len(named), len(own))
    return (shorter if list(named[-shorter:]) == list(own[-shorter:]) else 0), list(named) == list(own)


def split_module(path: str) -> list[str]:
    """A file as code imports it: the parts of its path without the extension; a package is its folder."""
    *folders, base = path.split("/")
    stem = base.partition(".")[0]
    if not stem:
        return []
    return folders if stem == _PACKAGE else [*folders, stem]


def find_paths_named(snapshot: Snapshot, name: str) -> list[str]:
    """Files whose path ends with `name`, with or without extension, or whose module ends with it."""
    called, last = split(name_of(name)), name.rpartition("/")[2]
    if not called:
        return []
    files, _ = snapshot.postings("name", called[0])
    paths = [snapshot.path(file) for file in files.tolist() if snapshot.live_files[file]]
    return sorted(path for path in paths if last in (path.rpartition("/")[2], *split_module(path)[-1:]))


def _find_namesakes(snapshot: Snapshot, path: str) -> list[str]:
    """Other files of the same name; for a file at the top of the tree among all files."""
    base = path.rpartition("/")[2]
    known = find_paths_named(snapshot, path) if "/" in path else snapshot.live_paths
    return [other for other in known if other != path and other.rpartition("/")[2] == base]


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] == _PACKAGE
