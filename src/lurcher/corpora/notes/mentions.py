"""Whether a text names a file of the tree: by a part of its path that has two parts at least, or as a dotted module.

The bare name of a file says nothing: `tests.py`, `base.py` and `index.js` are everywhere. A file at the top of the tree, whose
whole path is its name, is named where no other file has that name and it is written as a path: `like this`, or ./so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import name_of, split

_FARTHEST = 300
"""Bytes before a name in which the rest of its path is looked for."""
_OF_PATH = re.compile(rb"[\w./-]*\Z")
_OF_MODULE = re.compile(rb"[\w.]*\Z")
_PACKAGE = "__init__"


class Mentions:
    """The ways in which one file may be named, told from those of others that are called alike."""

    def __init__(self, snapshot: Snapshot, path: str) -> None:
        self.path = path
        self._parts = path.split("/")
        self._base = self._parts[-1]
        self._alike = _called_alike(snapshot, path)
        self._module = module_of(path)
        modules = map(module_of, paths_called(snapshot, "/".join(self._module))) if self._module else ()
        self._modules = [other for other in modules if other and other != self._module]

    @property
    def words(self) -> list[str]:
        """Of each way the name that a text must have: that of the file, and the last one of the module."""
        return [self._base, *([self._module[-1]] if len(self._module) > 1 else [])]

    def first(self, text: bytes) -> int | None:
        """Where a text names the file first."""
        return min(self._places(text), default=None)

    def _places(self, text: bytes) -> Iterator[int]:
        for match in re.finditer(re.escape(self._base.encode("utf-8", "surrogateescape")) + rb"(?![\w/])", text):
            written = _before(text, match.start(), _OF_PATH) + match[0]
            if self._means(text, match.start(), match.end(), written):
                yield match.start()
                break
        if len(self._module) > 1:
            last = self._module[-1].encode("utf-8", "surrogateescape")
            for match in re.finditer(rb"\." + re.escape(last) + rb"(?!\w)", text):
                dotted = (_before(text, match.start(), _OF_MODULE) + match[0]).decode("utf-8", "replace").split(".")
                further = text[match.end() : match.end() + 2]
                if _is_package(self.path) and re.match(rb"\.\w", further):
                    continue  # a module of the package, not the package itself
                if _longest(dotted, self._module, self._modules):
                    yield match.start()
                    break

    def _means(self, text: bytes, start: int, end: int, written: bytes) -> bool:
        parts = written.decode("utf-8", "replace").split("/")
        if not parts[-1].endswith(self._base) or len(parts[-1]) != len(self._base):
            return False  # the end of another name
        named = [part for part in parts if part not in ("", ".", "..")]
        if len(self._parts) > 1:
            return _longest(named, self._parts, [other.split("/") for other in self._alike])
        quoted = text[start - 1 : start] == b"`" and text[end : end + 1] == b"`"
        return len(named) == 1 and not self._alike and (quoted or parts[:-1] == ["."])


def _before(text: bytes, start: int, letters: re.Pattern[bytes]) -> bytes:
    """What stands right before a place, as far as it can belong to the same name."""
    found = letters.search(text, max(0, start - _FARTHEST), start)
    return found[0] if found else b""


def _longest(named: Sequence[str], own: Sequence[str], others: Iterable[Sequence[str]]) -> bool:
    """Whether a name of two or more parts is that of a file and not as well or better that of another."""
    fit = _fit(named, own)
    return fit[0] > 1 and all(_fit(named, other) < fit for other in others)


def _fit(named: Sequence[str], own: Sequence[str]) -> tuple[int, bool]:
    """How many parts agree, where one is the end of the other, and whether they are the same."""
    shorter = min(len(named), len(own))
    return (shorter if list(named[-shorter:]) == list(own[-shorter:]) else 0), list(named) == list(own)


def module_of(path: str) -> list[str]:
    """A file as code would import it: the parts of its path without its ending; a package is its folder."""
    *folders, base = path.split("/")
    stem = base.partition(".")[0]
    if not stem:
        return []
    return folders if stem == _PACKAGE else [*folders, stem]


def paths_called(snapshot: Snapshot, name: str) -> list[str]:
    """The files that may be meant by the end of a path, with or without its ending, or by the last part of a module."""
    called, last = split(name_of(name)), name.rpartition("/")[2]
    if not called:
        return []
    files, _ = snapshot.postings("name", called[0])
    paths = [snapshot.path(file) for file in files.tolist() if snapshot.live_files[file]]
    return sorted(path for path in paths if last in (path.rpartition("/")[2], *module_of(path)[-1:]))


def _called_alike(snapshot: Snapshot, path: str) -> list[str]:
    """Other files of the same name, as far as they may end with the same two parts; of a file at the top all."""
    base = path.rpartition("/")[2]
    known = paths_called(snapshot, path) if "/" in path else snapshot.live_paths
    return [other for other in known if other != path and other.rpartition("/")[2] == base]


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] == _PACKAGE
