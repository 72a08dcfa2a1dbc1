"""The notes of a snapshot with their metadata, the links between them, and the files of the tree that they mention."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lurcher.corpora import has_code, notes_in
from lurcher.languages.parsed_file import Import
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import name_of, split, words
from lurcher.terms.vocabulary import stem
from lurcher.types import HEADING, Definition

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LINK_KINDS = ("wikilink", "embed", "link")
_CACHE_KEY = ("", "notes")
_MAX_SINGLE_READS = 2_000
"""After the facts of so many notes were read one by one, those of all are read."""
_MAX_NAMESAKES = 3
"""A link to a name that more notes have is ignored."""


class _NoteCache:
    """What is known about the notes of a generation; each part is filled on first use.

    The snapshot holds it, so it must not refer to the snapshot: a reference cycle would keep the snapshot's files open until
    the next garbage collection. Threads share it, so only complete values may be assigned.
    """

    def __init__(self) -> None:
        self.notes: NDArray[np.bool_] | None = None
        self.linked_by_name: bool | None = None
        self.facts: dict[int, tuple[Import, ...]] | None = None
        self.by_name: dict[str, list[int]] | None = None
        self.by_alias: dict[str, list[int]] | None = None
        self.stems: dict[int, list[frozenset[str]]] = {}
        self.leading: dict[int, tuple[int, ...]] = {}
        self.anchors: dict[int, dict[int, str]] = {}
        self.some: dict[int, tuple[Import, ...]] = {}


class Vault:
    """The notes of a snapshot; all vaults of one snapshot share a cache."""

    def __init__(self, snapshot: Snapshot, known: _NoteCache) -> None:
        self._snapshot = snapshot
        self._cache = known

    @property
    def notes(self) -> NDArray[np.bool_]:
        """Which files are notes and live."""
        notes = self._cache.notes
        if notes is None:
            notes = self._cache.notes = notes_in(self._snapshot)
        return notes

    @property
    def linked_by_name(self) -> bool:
        """Whether notes are linked by name, as `[[name]]`: there is no code, or some note has such a link."""
        linked = self._cache.linked_by_name
        if linked is None:
            linked = not has_code(self._snapshot) or any(
                self.notes[file] for kind in ("wikilink", "embed") for file, _ in self._snapshot.imports_of_kind(kind)
            )
            self._cache.linked_by_name = linked
        return linked

    @property
    def facts(self) -> dict[int, tuple[Import, ...]]:
        facts = self._cache.facts
        if facts is None:
            facts = self._cache.facts = self._snapshot.imports(set(self.notes.nonzero()[0].tolist()))
        return facts

    def read_facts(self, file: int, kind: str) -> tuple[str, ...]:
        """Metadata of a note, by kind: `title`, `alias`, `tag`, `date`, or what is `broken` in its front matter."""
        return tuple(fact.spec for fact in self.facts_of((file,))[0] if fact.kind == kind)

    def facts_of(self, files: Sequence[int]) -> list[tuple[Import, ...]]:
        """The facts of some notes. Reading those of all takes longer than a query, and few queries need them."""
        some = self._cache.some
        if self._cache.facts is None and len(some) <= _MAX_SINGLE_READS:
            wanted = {file for file in files if file not in some}
            if wanted:
                some.update(dict.fromkeys(wanted, ()) | self._snapshot.imports(wanted))
            return [some[file] for file in files]
        return [self.facts.get(file, ()) for file in files]

    def title(self, file: int) -> str:
        return next(iter(self.read_facts(file, "title")), "") or get_stem(self._snapshot.path(file))

    def name_stems(self, file: int) -> list[frozenset[str]]:
        """The stems of the words of its title and of each alias."""
        known = self._cache.stems.get(file)
        if known is None:
            names = (self.title(file), *self.read_facts(file, "alias"))
            stems = (frozenset(stem(split(word)[0]) for word in words(name) if split(word)) for name in names)
            known = self._cache.stems[file] = [found for found in stems if found]
        return known

    def anchors(self, file: int) -> dict[int, str]:
        """Start byte of each heading → its anchor; repeated headings get a number, so that anchors are unique."""
        known = self._cache.anchors.get(file)
        if known is None:
            known = self._cache.anchors[file] = _make_anchors(self._snapshot.definitions_of(file))
        return known

    def select_tagged(self, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """Notes that have every one of the tags, or a nested one: `area/home` is in `area`."""
        tags = [tag.strip().lstrip("#").strip("/").casefold() for tag in wanted]
        found = np.zeros(self._snapshot.file_total, bool)
        for file, facts in self.facts.items():
            own = [fact.spec.casefold() for fact in facts if fact.kind == "tag"]
            found[file] = all(any(tag == one or tag.startswith(one + "/") for tag in own) for one in tags)
        return found

    @property
    def _by_name(self) -> dict[str, list[int]]:
        """Notes by the names that a link may use: file name, path, path without its extension."""
        if self._cache.by_name is not None:
            return self._cache.by_name
        found: dict[str, list[int]] = {}
        for path, file in self._snapshot.live_paths.items():
            if self.notes[file]:
                bare = posixpath.splitext(path)[0]
                for name in {name.casefold() for name in (bare.rpartition("/")[2], path, bare)}:
                    found.setdefault(name, []).append(file)
        self._cache.by_name = found
        return found

    @property
    def _by_alias(self) -> dict[str, list[int]]:
        """Notes by their aliases."""
        if self._cache.by_alias is not None:
            return self._cache.by_alias
        found: dict[str, list[int]] = {}
        for file, name in self._snapshot.imports_of_kind("alias"):
            if self.notes[file]:
                found.setdefault(name.casefold(), []).append(file)
        self._cache.by_alias = found
        return found

    def neighbours(self, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """For each of some notes the notes that it links to, and those of them that link to it."""
        leading = self._cache.leading
        unknown = [file for file in files if file not in leading]
        for file, facts in zip(unknown, self.facts_of(unknown), strict=True):
            others = {other for fact in facts if fact.kind in _LINK_KINDS for other in self.targets(file, fact)}
            leading[file] = tuple(sorted(others - {file}))
        found: dict[int, set[int]] = {}
        for file in files:
            for other in leading[file]:
                found.setdefault(file, set()).add(other)
                found.setdefault(other, set()).add(file)
        return {file: tuple(sorted(others)) for file, others in found.items()}

    def targets(self, file: int, fact: Import) -> list[int]:
        """The notes that a link of a note leads to."""
        if not fact.spec:
            return [file]
        if fact.kind != "link":
            wanted = fact.spec.strip("/").casefold()
            found = self._by_name.get(wanted) or self._find_by_path_end(wanted) or self._by_alias.get(wanted, [])
            return found if len(found) <= _MAX_NAMESAKES else []
        path = self._snapshot.path(file)
        root = self._snapshot.prefix(file)
        base = root if fact.spec.startswith("/") else posixpath.dirname(path)
        place = posixpath.normpath(posixpath.join(base, fact.spec.lstrip("/")))
        for name in (place, f"{place}/index", f"{place}/readme"):
            known = self._by_name.get(name.casefold(), [])
            exact = [other for other in known if self._snapshot.path(other).casefold().startswith(name.casefold())]
            if exact:
                return exact[:1]
        return []

    def _find_by_path_end(self, wanted: str) -> list[int]:
        """Notes whose path ends with the partial path of a wiki-link."""
        bare = wanted.removesuffix(".md")
        known = self._by_name.get(bare.rpartition("/")[2], [])
        if "/" not in bare:
            return known
        return [file for file in known if posixpath.splitext(self._snapshot.path(file).casefold())[0].endswith("/" + bare)]


def open_vault(snapshot: Snapshot) -> Vault:
    known: _NoteCache | None = snapshot.graphs.get(_CACHE_KEY)
    if known is None:
        known = snapshot.graphs.setdefault(_CACHE_KEY, _NoteCache())
    return Vault(snapshot, known)


def _make_anchors(definitions: Iterable[Definition]) -> dict[int, str]:
    found: dict[int, str] = {}
    used: dict[str, int] = {}
    for heading in definitions:
        if heading.kind == HEADING:
            slug = first = make_slug(heading.name)
            while slug in used:
                used[first] += 1
                slug = f"{first}-{used[first]}"
            used[slug] = 0
            found[heading.start_byte] = slug
    return found


def get_stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def make_slug(heading: str) -> str:
    import unicodedata

    kept = (c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


_MAX_PATH_BYTES = 300
"""Bytes before a name in which the rest of its path is searched."""
_PATH_END = re.compile(rb"[\w./-]*\Z")
_MODULE_END = re.compile(rb"[\w.]*\Z")
_PACKAGE = "__init__"


class MentionFinder:
    """Finds where a text mentions a file of the tree: by at least the last two parts of its path, or as a dotted module.

    A bare file name is not enough: `tests.py`, `base.py` and `index.js` are everywhere. A file at the top of the tree, whose
    path is just its name, counts as mentioned if no other file has that name and it is written in backticks or as ./name.
    """

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
