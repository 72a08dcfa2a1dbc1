"""Questions that an engine asks of several sources at once."""

from __future__ import annotations

from abc import abstractmethod

from lurcher.clock import Clock
from lurcher.errors import LurcherError, PathError, UsageError
from lurcher.history.asked import Histories
from lurcher.light import TYPE_CHECKING, dataclass, replace
from lurcher.notes.asked import Notes
from lurcher.planning.checks import several
from lurcher.types import Answer, Degraded, Progress, Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lurcher.answering import Findings
    from lurcher.index.project import View

SOURCES = ("code", "history", "notes")
ALL = "all"
LIBRARIES = "libraries"
"""Asked by themselves: what others wrote would drown what is here."""
KNOWN = (*SOURCES, LIBRARIES, ALL)
_KNOWN_TO = {
    "since": ("history", "notes"), "until": ("history", "notes"), "author": ("history",), "outcomes": ("history",),
    "tags": ("notes",), "libraries": (LIBRARIES,),
}  # fmt: skip
"""Which sources know what a filter is about."""
_FLAGS = {"outcomes": "outcome", "tags": "tag", "libraries": "library"}


@dataclass(frozen=True, slots=True)
class Wanted:
    sources: tuple[str, ...]
    notes: tuple[Degraded, ...] = ()


def wanted_sources(sources: Sequence[str] | None, **filters: object) -> Wanted:
    """The sources that a question goes to. Of all sources those that know its filters; one that is named must know them."""
    named = ("code",) if sources is None else several(sources)
    for source in named:
        if source not in KNOWN:
            raise UsageError(f"unknown source '{source}'", f"known are: {', '.join(KNOWN)}")
    if not named:
        raise UsageError("no source was given", f"name one of {', '.join(KNOWN)}")
    if LIBRARIES in named and len(set(named)) > 1:
        raise UsageError("libraries are asked by themselves", "leave the other sources out, or ask twice")
    if filters.get("libraries") and LIBRARIES not in named:
        raise UsageError("--library is for --in libraries", "leave one of them out")
    found = named[:1] if LIBRARIES in named else tuple(source for source in SOURCES if source in named or ALL in named)
    notes: tuple[Degraded, ...] = ()
    for name, value in filters.items():
        unable = [source for source in found if value not in (None, (), []) and source not in _KNOWN_TO[name]]
        if not unable:
            continue
        flag = f"--{_FLAGS.get(name, name)}"
        if ALL not in named:
            raise UsageError(f"{flag} is not for {unable[0]}", f"only {' and '.join(_KNOWN_TO[name])} can be asked with it")
        found = tuple(source for source in found if source not in unable)
        notes += (Degraded(unable[0], f"{' and '.join(unable)} left out: not known to {flag}", ""),)
    if not found:
        raise UsageError("no source knows all of these filters", "leave one of them out")
    return Wanted(found, notes)


class Across(Histories, Notes):
    """The part of an engine that makes one answer out of several sources."""

    @abstractmethod
    def _found(
        self, query: Query, clock: Clock, freshness: tuple[bool, bool], progress: Progress, plan: None = None,
        views: Sequence[View] | None = None,
    ) -> Findings:  # fmt: skip
        """What the code has."""

    def _across(
        self,
        sources: Sequence[str],
        query: Query,
        narrowed: Mapping[str, Any],
        views: Sequence[View] | None = None,
        *,
        refresh: bool,
        check: bool,
        progress: Progress,
    ) -> Answer:
        """The best hits of some sources together; `narrowed` are the filters that not every source knows."""
        from lurcher.across.links import Linker
        from lurcher.across.merge import merged
        from lurcher.answering import answer_of, with_notes

        clock = Clock()
        own_modes = {"mode": query.mode if query.mode in ("auto", "hybrid", "lexical", "dense") else "auto"}
        shared: dict[str, Any] = {
            "limit": query.limit, "budget": query.budget, "context": query.context, "snippet_lines": query.snippet_lines,
            "fusion": query.fusion, "alpha": query.alpha, "mmr": query.mmr, "files": query.filter, **own_modes,
            "since": narrowed["since"], "until": narrowed["until"],
        }  # fmt: skip

        def work(damage: tuple[Degraded, ...]) -> Answer:
            seen = None if damage else views  # what turned out to be damaged has been made anew
            if seen is None:
                seen = [project.view(progress, refresh=refresh, check=check) for project in self._together.projects]
            clock.lap("refresh")
            parts: list[Findings] = []
            if "code" in sources:
                code = replace(query, prose="notes" not in sources)
                parts.append(self._found(code, clock, (refresh, check), progress, views=seen))
                if not parts[0].reranked:
                    # Exact text and syntax are looked for in files, notes among them; commits have no such question.
                    whole = self._found(query, clock, (refresh, check), progress, views=seen)
                    answer = answer_of(whole, query, self.settings, self._together.places[0], self._warm, clock.lap)
                    said = Degraded("history", f"files alone are searched by {whole.mode} patterns", "use --mode hybrid")
                    return with_notes(answer, damage + (said,) * ("history" in sources))
            if "history" in sources:
                damage += self._asked_of_history(query, narrowed, shared, parts, clock, refresh, progress)
            if "notes" in sources:
                noted, dated = self._note_query(query.text, tags=narrowed["tags"], rerank=(), **shared)
                parts.append(self._sections(noted, dated, seen, clock.lap))
            found = merged(parts, query, self._together.snapshot(seen), self.settings.across)
            clock.lap("merge")
            answer = answer_of(found, query, self.settings, self._together.places[0], self._warm, clock.lap)
            asked = any("history" in part.sources for part in parts)
            pasts = [root for root, _ in self._past_roots(False, progress)] if asked else []
            linker = Linker(self._together.snapshot(seen), pasts)
            answer = replace(answer, hits=tuple(map(linker.linked, answer.hits)))
            clock.lap("links")
            return with_notes(answer, damage)

        return replace(self._sound(work, progress), timings_ms=clock.total())

    def _asked_of_history(
        self, query: Query, narrowed: Mapping[str, Any], shared: Mapping[str, Any], parts: list[Findings], clock: Clock,
        refresh: bool, progress: Progress,
    ) -> tuple[Degraded, ...]:  # fmt: skip
        """Adds what history has, if there is one; a history that cannot be read is told of, and the others answer."""
        try:
            found, _ = self._commits(
                query.text, lap=clock.lap, refresh=refresh, progress=progress, rerank=(), author=narrowed["author"],
                outcomes=narrowed["outcomes"], **shared,
            )  # fmt: skip
        except PathError:
            return ()  # no repository, so no history: the answer's sources say so
        except UsageError:
            raise
        except LurcherError as problem:
            return (Degraded("history", problem.message, problem.hint),)
        parts.append(found)
        return ()
