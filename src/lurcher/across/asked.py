"""Questions that an engine asks of several sources at once."""

from __future__ import annotations

from abc import abstractmethod

from lurcher.clock import Clock
from lurcher.errors import LurcherError, PathError, UsageError
from lurcher.history.asked import Histories
from lurcher.light import TYPE_CHECKING, replace
from lurcher.notes.asked import Notes
from lurcher.types import Answer, Degraded, Progress, Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lurcher.answering import Findings
    from lurcher.index.project import View


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
        links: bool = True,
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
            if not links:
                return with_notes(answer, damage)
            asked = any("history" in part.sources for part in parts)
            pasts = [root for root, _ in self._past_roots(False, progress)[0]] if asked else []
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
        except PathError as problem:
            return (Degraded("history", problem.message, ""),)
        except UsageError:
            raise
        except LurcherError as problem:
            return (Degraded("history", problem.message, problem.hint),)
        parts.append(found)
        return ()
