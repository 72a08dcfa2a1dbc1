"""All notes of a snapshot together: which files they are, what each says of itself, and how they link to each other."""

from __future__ import annotations

import posixpath

from lurcher.indexing.note_files import has_code, notes_in
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import split, words
from lurcher.terms.stem import stem
from lurcher.types import HEADING, Definition, Import

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_LEADING = ("wikilink", "embed", "link")
_ROOM = ("", "notes")
_MANY = 2_000
"""Notes whose facts are read one by one, before all are."""
_MOST_SAME = 3
"""Notes of one name beyond which a link to that name says nothing."""


class _Known:
    """What was found out about the notes of a generation, each part when it was first asked for.

    It is kept by the snapshot and does not refer to it: a snapshot in a cycle would stay, with its files, until Python looks
    for cycles. Threads share it, so whatever is put in is whole.
    """

    def __init__(self) -> None:
        self.notes: NDArray[np.bool_] | None = None
        self.linked_by_name: bool | None = None
        self.facts: dict[int, tuple[Import, ...]] | None = None
        self.named: dict[str, list[int]] | None = None
        self.called: dict[str, list[int]] | None = None
        self.stems: dict[int, list[frozenset[str]]] = {}
        self.leading: dict[int, tuple[int, ...]] = {}
        self.anchors: dict[int, dict[int, str]] = {}
        self.some: dict[int, tuple[Import, ...]] = {}


class Vault:
    """The notes of a snapshot; what one of these finds out, the others of the same snapshot know."""

    def __init__(self, snapshot: Snapshot, known: _Known) -> None:
        self._snapshot = snapshot
        self._known = known

    @property
    def notes(self) -> NDArray[np.bool_]:
        """Which files are notes and live."""
        notes = self._known.notes
        if notes is None:
            notes = self._known.notes = notes_in(self._snapshot)
        return notes

    @property
    def linked_by_name(self) -> bool:
        """Whether notes here are linked as in a vault, `[[so]]`: there is no code, or one of them does it."""
        linked = self._known.linked_by_name
        if linked is None:
            linked = not has_code(self._snapshot) or any(
                self.notes[file] for kind in ("wikilink", "embed") for file, _ in self._snapshot.imports_of_kind(kind)
            )
            self._known.linked_by_name = linked
        return linked

    @property
    def facts(self) -> dict[int, tuple[Import, ...]]:
        facts = self._known.facts
        if facts is None:
            facts = self._known.facts = self._snapshot.imports(set(self.notes.nonzero()[0].tolist()))
        return facts

    def said(self, file: int, kind: str) -> tuple[str, ...]:
        """What a note says of itself: its `title`, `alias`, `tag`, `date`, or what is `broken` about its front matter."""
        return tuple(fact.spec for fact in self.facts_of((file,))[0] if fact.kind == kind)

    def facts_of(self, files: Sequence[int]) -> list[tuple[Import, ...]]:
        """The facts of some notes: to read all of them takes longer than a question, and few questions need them."""
        some = self._known.some
        if self._known.facts is None and len(some) <= _MANY:
            wanted = {file for file in files if file not in some}
            if wanted:
                some.update(dict.fromkeys(wanted, ()) | self._snapshot.imports(wanted))
            return [some[file] for file in files]
        return [self.facts.get(file, ()) for file in files]

    def title(self, file: int) -> str:
        return next(iter(self.said(file, "title")), "") or stem_of(self._snapshot.path(file))

    def name_stems(self, file: int) -> list[frozenset[str]]:
        """The stems of the words of its title, and of each other name."""
        known = self._known.stems.get(file)
        if known is None:
            names = (self.title(file), *self.said(file, "alias"))
            stems = (frozenset(stem(split(word)[0]) for word in words(name) if split(word)) for name in names)
            known = self._known.stems[file] = [found for found in stems if found]
        return known

    def anchors(self, file: int) -> dict[int, str]:
        """The anchor of each heading, by the byte it begins at; the same name gets a number, and no anchor is there twice."""
        known = self._known.anchors.get(file)
        if known is None:
            known = self._known.anchors[file] = _anchors_of(self._snapshot.definitions_of(file))
        return known

    def tagged(self, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """Notes that have every one of the tags, or one below it: `area/home` is in `area`."""
        asked = [tag.strip().lstrip("#").strip("/").casefold() for tag in wanted]
        found = np.zeros(self._snapshot.file_total, bool)
        for file, facts in self.facts.items():
            own = [fact.spec.casefold() for fact in facts if fact.kind == "tag"]
            found[file] = all(any(tag == one or tag.startswith(one + "/") for tag in own) for one in asked)
        return found

    @property
    def _named(self) -> dict[str, list[int]]:
        """Notes by what a link may call them: file name, path, path without its ending."""
        if self._known.named is not None:
            return self._known.named
        found: dict[str, list[int]] = {}
        for path, file in self._snapshot.live_paths.items():
            if self.notes[file]:
                bare = posixpath.splitext(path)[0]
                for name in {name.casefold() for name in (bare.rpartition("/")[2], path, bare)}:
                    found.setdefault(name, []).append(file)
        self._known.named = found
        return found

    @property
    def _called(self) -> dict[str, list[int]]:
        """Notes by their other names."""
        if self._known.called is not None:
            return self._known.called
        found: dict[str, list[int]] = {}
        for file, name in self._snapshot.imports_of_kind("alias"):
            if self.notes[file]:
                found.setdefault(name.casefold(), []).append(file)
        self._known.called = found
        return found

    def neighbours(self, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """For each of some notes those of them that it links to, and that link to it; and whatever else it links to."""
        leading = self._known.leading
        unknown = [file for file in files if file not in leading]
        for file, facts in zip(unknown, self.facts_of(unknown), strict=True):
            others = {other for fact in facts if fact.kind in _LEADING for other in self.targets(file, fact)}
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
    known: _Known | None = snapshot.graphs.get(_ROOM)
    if known is None:
        known = snapshot.graphs.setdefault(_ROOM, _Known())
    return Vault(snapshot, known)


def _anchors_of(definitions: Iterable[Definition]) -> dict[int, str]:
    found: dict[int, str] = {}
    used: dict[str, int] = {}
    for heading in definitions:
        if heading.kind == HEADING:
            slug = first = slug_of(heading.name)
            while slug in used:
                used[first] += 1
                slug = f"{first}-{used[first]}"
            used[slug] = 0
            found[heading.start_byte] = slug
    return found


def stem_of(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def slug_of(heading: str) -> str:
    import unicodedata

    kept = (c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")
