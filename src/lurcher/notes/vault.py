"""All notes of a snapshot together: which files they are, what each says of itself, and how they link to each other."""

from __future__ import annotations

import posixpath

from lurcher.arrays import np
from lurcher.index.reader import Snapshot
from lurcher.light import TYPE_CHECKING, cached_property
from lurcher.notes.kinds import notes_in
from lurcher.terms.split import split, words
from lurcher.terms.stem import stem
from lurcher.types import HEADING, Import

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_LEADING = ("wikilink", "embed", "link")
_ROOM = ("", "notes")
_MANY = 2_000
"""Notes whose facts are read one by one, before all are."""
_MOST_SAME = 3
"""Notes of one name beyond which a link to that name says nothing."""


class Vault:
    """Made once per generation, each part when it is first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._stems: dict[int, list[frozenset[str]]] = {}
        self._leading: dict[int, tuple[int, ...]] = {}
        self._anchors: dict[int, dict[int, str]] = {}
        self._some: dict[int, tuple[Import, ...]] = {}

    @cached_property
    def notes(self) -> NDArray[np.bool_]:
        """Which files are notes and live."""
        return notes_in(self._snapshot)

    @cached_property
    def facts(self) -> dict[int, tuple[Import, ...]]:
        return self._snapshot.imports(set(self.notes.nonzero()[0].tolist()))

    def said(self, file: int, kind: str) -> tuple[str, ...]:
        """What a note says of itself: its `title`, `alias`, `tag`, `date`, or what is `broken` about its front matter."""
        return tuple(fact.spec for fact in self.facts_of((file,))[0] if fact.kind == kind)

    def facts_of(self, files: Sequence[int]) -> list[tuple[Import, ...]]:
        """The facts of some notes: to read all of them takes longer than a question, and few questions need them."""
        if "facts" not in self.__dict__ and len(self._some) <= _MANY:
            wanted = {file for file in files if file not in self._some}
            if wanted:
                self._some.update(dict.fromkeys(wanted, ()) | self._snapshot.imports(wanted))
            return [self._some[file] for file in files]
        return [self.facts.get(file, ()) for file in files]

    def title(self, file: int) -> str:
        return next(iter(self.said(file, "title")), "") or stem_of(self._snapshot.path(file))

    def name_stems(self, file: int) -> list[frozenset[str]]:
        """The stems of the words of its title, and of each other name."""
        known = self._stems.get(file)
        if known is None:
            names = (self.title(file), *self.said(file, "alias"))
            stems = (frozenset(stem(split(word)[0]) for word in words(name) if split(word)) for name in names)
            known = self._stems[file] = [found for found in stems if found]
        return known

    def anchors(self, file: int) -> dict[int, str]:
        """The anchor of each heading, by the byte it begins at; the same name gets a number, and no anchor is there twice."""
        known = self._anchors.get(file)
        if known is None:
            known = self._anchors[file] = {}
            used: dict[str, int] = {}
            for heading in self._snapshot.definitions_of(file):
                if heading.kind == HEADING:
                    slug = first = slug_of(heading.name)
                    while slug in used:
                        used[first] += 1
                        slug = f"{first}-{used[first]}"
                    used[slug] = 0
                    known[heading.start_byte] = slug
        return known

    def tagged(self, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """Notes that have every one of the tags, or one below it: `area/home` is in `area`."""
        asked = [tag.strip().lstrip("#").strip("/").casefold() for tag in wanted]
        found = np.zeros(self._snapshot.file_total, bool)
        for file, facts in self.facts.items():
            own = [fact.spec.casefold() for fact in facts if fact.kind == "tag"]
            found[file] = all(any(tag == one or tag.startswith(one + "/") for tag in own) for one in asked)
        return found

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """Notes by what a link may call them: file name, path, path without its ending."""
        found: dict[str, list[int]] = {}
        for path, file in self._snapshot.live_paths.items():
            if self.notes[file]:
                bare = posixpath.splitext(path)[0]
                for name in {name.casefold() for name in (bare.rpartition("/")[2], path, bare)}:
                    found.setdefault(name, []).append(file)
        return found

    @cached_property
    def _called(self) -> dict[str, list[int]]:
        """Notes by their other names."""
        found: dict[str, list[int]] = {}
        for file, name in self._snapshot.imports_of_kind("alias"):
            if self.notes[file]:
                found.setdefault(name.casefold(), []).append(file)
        return found

    def neighbours(self, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """For each of some notes those of them that it links to, and that link to it; and whatever else it links to."""
        unknown = [file for file in files if file not in self._leading]
        for file, facts in zip(unknown, self.facts_of(unknown), strict=True):
            others = {other for fact in facts if fact.kind in _LEADING for other in self.targets(file, fact)}
            self._leading[file] = tuple(sorted(others - {file}))
        found: dict[int, set[int]] = {}
        for file in files:
            for other in self._leading[file]:
                found.setdefault(file, set()).add(other)
                found.setdefault(other, set()).add(file)
        return {file: tuple(sorted(others)) for file, others in found.items()}

    def targets(self, file: int, fact: Import) -> list[int]:
        """The notes that a link of a note leads to."""
        if not fact.spec:
            return [file]
        if fact.kind != "link":
            wanted = fact.spec.strip("/").casefold()
            found = self._named.get(wanted) or self._ending(wanted) or self._called.get(wanted, [])
            return found if len(found) <= _MOST_SAME else []
        path = self._snapshot.path(file)
        root = self._snapshot.prefix(file)
        base = root if fact.spec.startswith("/") else posixpath.dirname(path)
        place = posixpath.normpath(posixpath.join(base, fact.spec.lstrip("/")))
        for name in (place, f"{place}/index", f"{place}/readme"):
            known = self._named.get(name.casefold(), [])
            exact = [other for other in known if self._snapshot.path(other).casefold().startswith(name.casefold())]
            if exact:
                return exact[:1]
        return []

    def _ending(self, wanted: str) -> list[int]:
        """Notes whose path ends with a part of a path that a wiki-link names."""
        bare = wanted.removesuffix(".md")
        known = self._named.get(bare.rpartition("/")[2], [])
        if "/" not in bare:
            return known
        return [file for file in known if posixpath.splitext(self._snapshot.path(file).casefold())[0].endswith("/" + bare)]


def vault_of(snapshot: Snapshot) -> Vault:
    known: Vault | None = snapshot.graphs.get(_ROOM)
    if known is None:
        known = snapshot.graphs[_ROOM] = Vault(snapshot)
    return known


def stem_of(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def slug_of(heading: str) -> str:
    import unicodedata

    kept = (c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")
