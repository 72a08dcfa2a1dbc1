"""The questions about files and folders that an engine answers, besides search."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod

from lurcher.config import Settings
from lurcher.errors import PathError, QueryError
from lurcher.indexing.workspace import Together
from lurcher.query.validate import several
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Degraded, Filter, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeVar

    from lurcher.inspect.answers import ContextAnswer, ExistsAnswer, ImpactAnswer, OutlineAnswer, Standing
    from lurcher.inspect.examples import Examples
    from lurcher.inspect.file_view import FileAnswer, GraphAnswer

    Kind = TypeVar("Kind")


HOPS = 2
"""How many imports away `impact` looks unless it is told otherwise, as far as the classic ranking's import proximity."""
FAN_IN = 100
"""Dependents that `impact` lists for each hop; all are counted. Hand-set."""
CONTEXT_BUDGET = 4000
"""Tokens that `context` takes unless a budget is given; hand-set."""


class Surveys(ABC):
    """The part of an engine that surveys; what it stands on comes from the engine."""

    settings: Settings
    _together: Together

    @abstractmethod
    def _stand(
        self, freshness: tuple[bool, bool], progress: Progress, notes: tuple[Degraded, ...]
    ) -> tuple[Snapshot, Standing]:
        """The current generation, and what an answer says of it."""

    @abstractmethod
    def _heal(self, progress: Progress) -> None:
        """Make a damaged index anew."""

    def impact(
        self,
        path: str | Path,
        *,
        symbol: str | None = None,
        hops: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> ImpactAnswer:
        """What depends on a file, by hop; with `symbol` only what uses that name of it."""
        from lurcher.inspect.impact import impact
        from lurcher.inspect.resolve_path import file_at

        hops = HOPS if hops is None else hops
        if hops < 1:
            raise QueryError(f"hops are {hops}", "use 1 or more")

        def work(snapshot: Snapshot, standing: Standing) -> ImpactAnswer:
            file = file_at(snapshot, self._together.meant(path))
            return impact(snapshot, file, symbol, hops, FAN_IN, standing)

        return self._survey(work, (refresh, check), progress, "what depends on a file")

    def outline(
        self,
        path: str | Path = ".",
        *,
        kinds: Sequence[str] = (),
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> OutlineAnswer:
        """The symbols of a file, nested, or of a folder, file by file."""
        from lurcher.inspect.outline import check_kinds, outline
        from lurcher.inspect.resolve_path import files_at

        wanted = check_kinds(several(kinds))

        def work(snapshot: Snapshot, standing: Standing) -> OutlineAnswer:
            return outline(snapshot, *files_at(snapshot, self._together.meant(path)), wanted, standing)

        return self._survey(work, (refresh, check), progress, "what a file defines")

    def context(
        self,
        path: str | Path = ".",
        *,
        budget: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> ContextAnswer:
        """One package about a file or folder, within a budget of tokens."""
        from lurcher.inspect.context import context
        from lurcher.inspect.resolve_path import files_at

        most = CONTEXT_BUDGET if budget is None else budget

        def work(snapshot: Snapshot, standing: Standing) -> ContextAnswer:
            return context(snapshot, *files_at(snapshot, self._together.meant(path)), most, standing)

        return self._survey(work, (refresh, check), progress, "what to know of a file")

    def exists(
        self, pattern: str, *, exact: bool = False, refresh: bool = True, check: bool = True, progress: Progress = silent
    ) -> ExistsAnswer:
        """Whether a text occurs, by itself, in any file: yes is probable, unless it is to be `exact`.

        No is certain where every file was read that may hold text; where not, the answer says which were left out.
        """
        from lurcher.inspect.exists import exists
        from lurcher.query.filters import allowed_files

        def work(snapshot: Snapshot, standing: Standing) -> ExistsAnswer:
            narrowed = self._together.narrowed(Filter())
            inside = None if narrowed.prefixes is None else allowed_files(snapshot, narrowed)
            return exists(snapshot, pattern, exact, standing, self._together.labels(), inside)

        return self._survey(work, (refresh, check), progress, "whether a text occurs")

    def file(
        self, path: str | Path, *, refresh: bool = True, check: bool = True, progress: Progress = silent
    ) -> FileAnswer:
        """The text of a file, if it is in the index and among what was asked for."""
        from lurcher.inspect.file_view import whole

        return self._survey(
            lambda snapshot, standing: whole(snapshot, self._allowed(snapshot, path), standing), (refresh, check), progress,
            "what is in a file",
        )  # fmt: skip

    def graph(
        self,
        path: str | Path,
        *,
        hops: int = 1,
        most: int | None = None,
        refresh: bool = True,
        check: bool = True,
        progress: Progress = silent,
    ) -> GraphAnswer:
        """A file among the files it imports and those that depend on it."""
        from lurcher.inspect.file_view import MOST_NODES, neighbourhood

        if hops < 1:
            raise QueryError(f"hops are {hops}", "use 1 or more")

        def work(snapshot: Snapshot, standing: Standing) -> GraphAnswer:
            return neighbourhood(snapshot, self._allowed(snapshot, path), hops, most or MOST_NODES, standing)

        return self._survey(work, (refresh, check), progress, "how files are connected")

    def listed(self, path: str, *, refresh: bool = True, check: bool = True, progress: Progress = silent) -> str:
        """The file that hits call by this very path; an error for any other path, the same whether or not there is a file.

        For surfaces that others can reach: the file system is not asked, so nothing is told of it.
        """
        named = (posixpath.normpath(path),)
        return self._survey(
            lambda snapshot, _: snapshot.path(self._allowed(snapshot, path, named)), (refresh, check), progress,
            "whether a file is in the index",
        )  # fmt: skip

    def examples(self, *, refresh: bool = True, check: bool = True, progress: Progress = silent) -> Examples:
        """Questions to begin with, made of this repository's own names, commits and documents."""
        from lurcher.inspect.examples import examples

        tops = [project.root.place for project in self._together.projects if project.root.git]
        return self._survey(
            lambda snapshot, standing: examples(snapshot, tops, standing), (refresh, check), progress,
            "what could be asked",
        )  # fmt: skip

    def _allowed(self, snapshot: Snapshot, path: str | Path, names: Sequence[str] = ()) -> int:
        """The file of the index that a path means, within the folders that were asked for."""
        from lurcher.inspect.resolve_path import file_at
        from lurcher.query.filters import allowed_files

        file = file_at(snapshot, names or self._together.meant(path))
        if not allowed_files(snapshot, self._together.narrowed(Filter()))[file]:
            raise PathError(f"{snapshot.path(file)} is not below what was asked for", "name a file of the folders given")
        return file

    @abstractmethod
    def _sound(self, work: Callable[[tuple[Degraded, ...]], Kind], progress: Progress) -> Kind:
        """Do some work, and once more if the index turned out to be damaged."""

    @abstractmethod
    def _local(self, question: str) -> tuple[Degraded, ...]:
        """What to say of a store that cannot answer a question."""

    def _survey(
        self, work: Callable[[Snapshot, Standing], Kind], freshness: tuple[bool, bool], progress: Progress, question: str
    ) -> Kind:
        """Do some work on the current generation; `question` says what is asked, for whom a shared store would be asked."""
        here = self._local(question)
        return self._sound(lambda notes: work(*self._stand(freshness, progress, here + notes)), progress)
