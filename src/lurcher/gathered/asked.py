"""Questions to sources that installed packages bring."""

from __future__ import annotations

from abc import ABC, abstractmethod

from lurcher.answering import with_notes
from lurcher.errors import UsageError
from lurcher.index.together import Together
from lurcher.light import TYPE_CHECKING, replace
from lurcher.types import Answer, Degraded, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from lurcher.engine import Engine
    from lurcher.gathered.project import GatheredProject

_OF_NOTES = ("tags", "since", "until")
_OF_COMMITS = {"author": "--author", "outcomes": "--outcome"}


class Gathered(ABC):
    """The part of an engine that answers from documents of installed sources."""

    _together: Together
    _shelves: dict[str, tuple[list[GatheredProject], Engine]]

    @abstractmethod
    def _beside(self, together: Together) -> Engine: ...

    def _of_source(self, name: str, text: str, options: dict[str, Any], progress: Progress) -> Answer:
        """The answer of one source by its name, with paths that begin with it."""
        for option, flag in _OF_COMMITS.items():
            if options.pop(option, None):
                raise UsageError(f"{flag} is not for {name}", "only history can be asked with it")
        projects, engine = self._shelf(name)
        notes: tuple[Degraded, ...] = ()
        if options["refresh"] and options["check"]:
            for project in projects:
                notes += project.gather(progress)
        dated = any(options[option] for option in _OF_NOTES)
        answer = engine.search(text, sources=["notes"] if dated else None, progress=progress, **options)
        hits = tuple(replace(hit, source=name, path=f"{name}:{hit.path}") for hit in answer.hits)
        return with_notes(replace(answer, hits=hits, sources=(name,)), notes)

    def _shelf(self, name: str) -> tuple[list[GatheredProject], Engine]:
        shelves: dict[str, tuple[list[GatheredProject], Engine]] = self.__dict__.setdefault("_shelves", {})
        known = shelves.get(name)
        if known is None:
            from lurcher.gathered.project import GatheredProject

            projects = [GatheredProject(owner, name) for owner in self._together.projects]
            together = _Shelf(projects, self._together.labels())
            known = shelves.setdefault(name, (projects, self._beside(together)))
        return known

    def _in_source(self, path: str) -> Path | None:
        """The file that the path of such a hit stands for."""
        name, sign, rest = path.partition(":")
        known = getattr(self, "_shelves", {}).get(name) if sign else None
        return None if known is None else known[1].locate(rest)


class _Shelf(Together):
    """The documents of each root, told apart as the roots are."""

    def __init__(self, projects: Sequence[GatheredProject], labels: Sequence[str]) -> None:
        super().__init__(projects, dict.fromkeys(range(len(projects))))
        self._labels = list(labels)

    def labels(self) -> list[str]:
        return self._labels
