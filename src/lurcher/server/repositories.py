"""Searches the repositories of the user's workspace as one: opens those that can contribute, and ranks their files together."""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from lurcher import config
from lurcher.answer import add_notes
from lurcher.engine import Engine
from lurcher.errors import LurcherError, Template, UsageError
from lurcher.indexing.repositories import Repository, read_repositories, select_repositories
from lurcher.indexing.root_index import RootIndex
from lurcher.indexing.vocabulary import (
    Vocabulary,
    choose_repositories,
    manifest_identity,
    read_vocabulary,
    write_vocabulary,
)
from lurcher.query import SYMBOL, detect_intent, extract_name_terms, extract_terms
from lurcher.runtime.process import format_count
from lurcher.sources import Root, has_git
from lurcher.storage import index_folder_of
from lurcher.types import Answer, Degraded, IndexState, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lurcher.config import Settings

MAX_OPENED = 16
"""Repositories that one question opens. Of the hits with all open 0.76 are there with 12, 0.80 with 16, 0.86 with 24 of 175."""
_MAX_RENEWED = 8
"""Vocabularies that one question makes again; the others answer with what their last one says."""
_MAX_ENGINES = 4
_EXACT_MODES = ("literal", "structural")
"""Modes that have to look everywhere: a pattern need not be made of words."""


class _Member(NamedTuple):
    repository: Repository
    folder: str
    """Where its index is."""


class RepositoryEngine:
    """The workspace, open for many questions. Thread-safe: one question at a time."""

    def __init__(self, repositories: Sequence[Repository], overrides: Mapping[str, Any] | None = None) -> None:
        self.repositories = list(repositories)
        self._overrides = overrides
        self._settings: Settings | None = None
        """Those of the user, once they are read: where an index is does not depend on those of its repository."""
        self._members: dict[str, _Member] = {}
        self._indexes: dict[str, RootIndex] = {}
        self._vocabularies: dict[str, Vocabulary] = {}
        self._engines: dict[tuple[str, ...], Engine] = {}
        self._lock = RLock()
        self.engine: Engine | None = None
        """The one that gave the last answer, for whoever wants to know where its files are."""

    @classmethod
    def open(cls, overrides: Mapping[str, Any] | None = None) -> RepositoryEngine:
        repositories = read_repositories()
        if not repositories:
            raise UsageError("the workspace has no repositories", "add some: lurcher workspace add 'FOLDER/*'")
        return cls(repositories, overrides)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()

    # -- asking ---------------------------------------------------------------------------------------------------------

    def search(
        self, text: str, *, repositories: Sequence[str] = (), mode: str | None = None, sources: Sequence[str] | None = None,
        progress: Progress = silent, **options: Any,
    ) -> Answer:  # fmt: skip
        """One ranked answer of all repositories, or of those whose names match; options are those of `Engine.search`."""
        with self._lock:
            return self._search(text, repositories, mode, sources, progress, options)

    def _search(
        self, text: str, repositories: Sequence[str], mode: str | None, sources: Sequence[str] | None, progress: Progress,
        options: dict[str, Any],
    ) -> Answer:  # fmt: skip
        selected = select_repositories(self.repositories, repositories)
        if sources is not None and len(selected) > 1 and not set(sources) <= {"code", "notes"}:
            hint = Template("name one repository with {repo}")
            raise UsageError(f"a workspace is searched for code and notes, not for {', '.join(sources)}", hint)
        names, notes = self._choose(text, mode, selected)
        if len(selected) > 1:
            names, problems = self._leave_out_broken(names)
            notes = (*notes, *problems)
        if not names:
            return _no_answer(text, mode, detect_intent(text), notes)
        by_name = {entry.name: entry for entry in selected}
        self.engine = engine = self.engine_of([by_name[name] for name in names])
        answer = engine.search(text, mode=mode, sources=sources, progress=progress, **options)
        hits = tuple(hit.replace(repository=hit.path.partition("/")[0]) for hit in answer.hits)
        return add_notes(answer.replace(hits=hits), notes)

    def _choose(self, text: str, mode: str | None, selected: Sequence[Repository]) -> tuple[list[str], tuple[Degraded, ...]]:
        """The names of the repositories to open, and what to say of the others."""
        notes: list[Degraded] = []
        known = self._current_vocabularies(selected, notes)
        intent = detect_intent(text)
        if len(selected) == 1 or mode in _EXACT_MODES:
            return sorted(known), tuple(notes)
        terms = extract_name_terms(text) if intent == SYMBOL else extract_terms(text)
        names, able = choose_repositories(terms, known, MAX_OPENED, named=intent == SYMBOL)
        if able > len(names):
            reason = f"of {able:,} repositories with words of the question the best {len(names)} were searched"
            notes.append(Degraded("workspace", reason, Template("name others with {repo}")))
        return sorted(names), tuple(notes)

    def _leave_out_broken(self, names: Sequence[str]) -> tuple[list[str], tuple[Degraded, ...]]:
        """Those of the chosen repositories that can be opened, and what is wrong with the others."""
        able: list[str] = []
        notes: list[Degraded] = []
        for name in names:
            try:
                self._index(self._members[name].repository)
                able.append(name)
            except (LurcherError, OSError) as error:
                notes.append(_problem_note(name, error))
        return able, tuple(notes)

    def _current_vocabularies(self, selected: Sequence[Repository], notes: list[Degraded]) -> dict[str, Vocabulary]:
        """The words of every repository that has an index; those that changed since are read again, a few at a time."""
        found: dict[str, Vocabulary] = {}
        missing: list[str] = []
        gone: list[str] = []
        renewed = 0
        for repository in selected:
            try:
                identity = manifest_identity(self._member(repository).folder)
            except LurcherError as error:
                if len(selected) == 1:
                    raise
                notes.append(_problem_note(repository.name, error))
                continue
            words = self._vocabularies.get(repository.name) or read_vocabulary(str(repository.vocabulary_path))
            if identity is not None and (words is None or (words.identity != identity and renewed < _MAX_RENEWED)):
                renewed += 1
                words = self._renew(repository) or words
            if identity is None or words is None:
                (missing if os.path.isdir(repository.place) else gone).append(repository.name)
                continue
            found[repository.name] = self._vocabularies[repository.name] = words
        if missing:
            reason = f"{format_count(len(missing), 'repository', 'repositories')} without an index: {_name_some(missing)}"
            notes.append(Degraded("workspace", reason, "run: lurcher workspace refresh"))
        if gone:
            reason = f"{format_count(len(gone), 'repository is', 'repositories are')} no longer there: {_name_some(gone)}"
            notes.append(Degraded("workspace", reason, "run: lurcher workspace remove NAME"))
        return found

    def _renew(self, repository: Repository) -> Vocabulary | None:
        try:
            return write_vocabulary(self._index(repository), repository.vocabulary_path)
        except (LurcherError, OSError):
            return None  # an index that cannot be read counts as missing

    # -- opening --------------------------------------------------------------------------------------------------------

    def _member(self, repository: Repository) -> _Member:
        member = self._members.get(repository.name)
        if member is None:
            settings = self._settings = self._settings or config.load(None, self._overrides)
            root = Root(repository.place, has_git(repository.place), "")
            member = self._members[repository.name] = _Member(repository, index_folder_of(root, settings))
        return member

    def _index(self, repository: Repository) -> RootIndex:
        known = self._indexes.get(repository.name)
        if known is None:
            root = Root(repository.place, has_git(repository.place), "")
            known = RootIndex(root, config.load(repository.place, self._overrides))
            self._indexes[repository.name] = known
        return known

    def engine_of(self, repositories: Sequence[Repository]) -> Engine:
        """An engine for some of them, in which paths begin with the name of the repository."""
        names = tuple(repository.name for repository in repositories)
        engine = self._engines.pop(names, None)
        if engine is None:
            indexes = [self._index(repository) for repository in repositories]
            engine = Engine(indexes, dict.fromkeys(range(len(indexes))), indexes[0].settings, self._overrides, names)
        self._engines[names] = engine  # the last one used
        while len(self._engines) > _MAX_ENGINES:
            del self._engines[next(iter(self._engines))]
        return engine

    # -- keeping ----------------------------------------------------------------------------------------------------------

    def refresh(self, names: Sequence[str] = (), progress: Progress = silent) -> list[dict[str, Any]]:
        """Bring the indexes and vocabularies up to date; what is wrong with one is told and does not stop the others."""
        entries = []
        for repository in select_repositories(self.repositories, names):
            entry: dict[str, Any] = {"name": repository.name, "path": repository.place}
            try:
                index = self._index(repository)
                view = index.view(progress, limited=False)
                self._vocabularies.pop(repository.name, None)
                write_vocabulary(index, repository.vocabulary_path)
                entry["files"] = view.snapshot.file_total
                if view.degraded:
                    entry["degraded"] = [note.to_dict() for note in view.degraded]
            except (LurcherError, OSError) as error:
                entry["problem"] = error.message if isinstance(error, LurcherError) else str(error)
            self._indexes.pop(repository.name, None)  # two hundred of them need not stay open
            entries.append(entry)
        return entries

    def status(self) -> list[dict[str, Any]]:
        """Each repository with its folder, whether it has an index, and how many units; read without changing anything."""
        entries = []
        for repository in self.repositories:
            entry: dict[str, Any] = {"name": repository.name, "path": repository.place}
            try:
                identity = manifest_identity(self._member(repository).folder)
            except LurcherError as error:
                identity, entry["problem"] = None, error.message
            if not os.path.isdir(repository.place):
                entry["problem"] = f"{repository.place} is gone"
            words = read_vocabulary(str(repository.vocabulary_path))
            entry["indexed"] = identity is not None
            entry["units"] = words.units if words is not None and identity is not None else None
            entries.append(entry)
        return entries


def _problem_note(name: str, error: LurcherError | OSError) -> Degraded:
    if isinstance(error, LurcherError):
        return Degraded("workspace", f"{name} was not searched: {error.message}", error.hint)
    return Degraded("workspace", f"{name} was not searched: {error}", "run: lurcher doctor")


def _name_some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _no_answer(text: str, mode: str | None, intent: str, notes: tuple[Degraded, ...]) -> Answer:
    """No repository has any word of the question."""
    words = tuple(extract_terms(text))
    return Answer(
        text, mode or "auto", intent, "default", ("code",), (), 0, 0, None, IndexState(0, True, 0), notes, unknown_words=words
    )
