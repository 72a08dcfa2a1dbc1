"""What can be searched, one protocol (`Corpus`): code, history, notes, libraries, documents of other programs.

A corpus knows neither the engine nor shared stores; `corpora.federation` merges several into one answer.
"""

from __future__ import annotations

from lurcher.answer import build_answer
from lurcher.query.validate import as_tuple
from lurcher.runtime.kernel import np
from lurcher.runtime.stdlib import Protocol
from lurcher.sources.roles import MARKED_UP, PARSED, is_note
from lurcher.types import Answer, Progress, Record, silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lurcher.answer import Findings, PageRequest
    from lurcher.config import Settings
    from lurcher.indexing import View
    from lurcher.indexing.workspace import Workspace
    from lurcher.runtime.process import Cache, Stopwatch
    from lurcher.storage.snapshot import Snapshot


class SearchRequest(Record):
    """The parameters of `Engine.search` as they were given: each corpus checks those it knows and fills in its defaults."""

    __slots__ = (
        "text", "sources", "limit", "mode", "ranking", "languages", "paths", "excludes", "budget", "cursor", "context",
        "snippet_lines", "fixed", "case", "word", "multiline", "rerank", "fusion", "alpha", "mmr", "since", "until", "author",
        "outcomes", "tags", "libraries", "refresh", "check", "progress", "views", "reasons", "links", "flat",
    )  # fmt: skip

    def __init__(
        self, text: str, sources: Sequence[str] | None = None, limit: int | None = None, mode: str | None = None,
        ranking: str | None = None, languages: Sequence[str] = (), paths: Sequence[str] = (), excludes: Sequence[str] = (),
        budget: int | None = None, cursor: str | None = None, context: str | None = None, snippet_lines: int | None = None,
        fixed: bool = False, case: str = "smart", word: bool = False, multiline: bool = False,
        rerank: Sequence[str] | None = None, fusion: str | None = None, alpha: float | None = None, mmr: float | None = None,
        since: str | None = None, until: str | None = None, author: str | None = None, outcomes: Sequence[str] = (),
        tags: Sequence[str] = (), libraries: Sequence[str] = (), refresh: bool = True, check: bool = True,
        progress: Progress = silent, views: Sequence[View] | None = None, reasons: bool = True, links: bool = True,
        flat: bool = False,
    ) -> None:  # fmt: skip
        self.text = text
        self.sources = sources
        """None where the caller named none: then notes may answer in the place of code."""
        self.limit, self.mode, self.ranking, self.languages, self.paths = limit, mode, ranking, languages, paths
        self.excludes, self.budget, self.cursor, self.context = excludes, budget, cursor, context
        self.snippet_lines, self.fixed, self.case, self.word, self.multiline = snippet_lines, fixed, case, word, multiline
        self.rerank, self.fusion, self.alpha, self.mmr, self.since, self.until = rerank, fusion, alpha, mmr, since, until
        self.author, self.outcomes, self.tags, self.libraries, self.refresh = author, outcomes, tags, libraries, refresh
        self.check, self.progress = check, progress
        self.views = views
        """Each root's index, where the caller has compared the tree with it already."""
        self.reasons, self.links, self.flat = reasons, links, flat


class Corpus(Protocol):
    """Something that can be searched; built from `Services`, and safe to use from several threads."""

    def search(self, request: SearchRequest) -> Answer:
        """The best hits, reranked and packed into the budget."""


class Services(Record):
    """What the corpora of one engine share."""

    __slots__ = ("settings", "workspace", "models")

    def __init__(self, settings: Settings, workspace: Workspace, models: Cache) -> None:
        self.settings, self.workspace = settings, workspace
        self.models = models
        """Loaded models of rerankers."""

    def over(self, workspace: Workspace) -> Services:
        """The same for another workspace."""
        return self.replace(workspace=workspace)

    def page(self, found: Findings, query: PageRequest, clock: Stopwatch) -> Answer:
        """One page of what a corpus found; its timings are still to be set."""
        return build_answer(found, query, self.settings, self.workspace.home, self.models, clock.lap)

    @property
    def options(self) -> str:
        """What the order of hits depends on besides the query, for cursors. Settings of the index are in its own digest."""
        decisive = [(key, value) for key, value in self.settings.changed() if not key.startswith("index.")]
        return repr(decisive) + repr(sorted(self.workspace.prefixes.items()))

    def rerankers(self, names: Sequence[str] | None, *, commits: bool = False) -> tuple[str, ...]:
        """The rerankers that were named, else those of the settings; `outcome` works only where `commits` are searched."""
        configured = self.settings.search.rerank.split()
        chosen = [name for name in configured if commits or name != "outcome"] if names is None else as_tuple(names)
        if all(name == "none" for name in chosen):
            return ()
        from lurcher.rerank.stage import check_reranker_names

        return check_reranker_names(chosen, ("outcome",) if commits else ())

_ROOM = ("", "code")


def notes_in(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which files are notes and live."""
    found = files_in(snapshot, MARKED_UP) & snapshot.live_files
    for file in np.flatnonzero(files_in(snapshot, {"text"}) & snapshot.live_files).tolist():
        found[file] = is_note(snapshot.path(file), "text")
    return found


def has_code(snapshot: Snapshot) -> bool:
    """Whether there is any file in a programming language outside of hidden folders, where tools keep their own."""
    known: bool | None = snapshot.graphs.get(_ROOM)
    if known is None:
        code = np.flatnonzero(files_in(snapshot, PARSED) & snapshot.live_files).tolist()
        known = any(not _is_hidden(snapshot.bare_path(file)) for file in code)
        snapshot.graphs[_ROOM] = known
    return known


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/")[:-1])


def files_in(snapshot: Snapshot, languages: Iterable[str]) -> NDArray[np.bool_]:
    """Which files, live or not, are in one of some languages."""
    wanted = set(languages)
    parts = [
        np.isin(segment.files["language"], [i for i, name in enumerate(segment.meta["languages"]) if name in wanted])
        for segment in snapshot.segments
    ]
    return np.concatenate(parts) if parts else np.zeros(0, bool)
