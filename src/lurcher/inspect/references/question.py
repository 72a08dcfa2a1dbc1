"""Questions in words about who uses a name: answered from the index's occurrences, before the hits of the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lurcher.answer import count_tokens
from lurcher.inspect.references.answer import Reference, find_references
from lurcher.inspect.references.calls import (
    AnyReferences,
    AnyUse,
    CallsAnswer,
    entries_of,
    find_calls,
    find_implementations,
    use_line,
    with_entries,
)  # fmt: skip
from lurcher.query import is_plain_word
from lurcher.runtime.process import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lurcher.corpora import SearchRequest
    from lurcher.inspect import Basis
    from lurcher.inspect.references.answer import Finder
    from lurcher.query import UsageQuestion
    from lurcher.types import Answer

_MOST_ENTRIES = 20
"""Entries that are listed before the hits; all are counted."""
_MOST_DEFINITIONS = 5


@dataclass(frozen=True, slots=True)
class UsageAnswer:
    """Who uses a name, as far as it is listed before the hits of a search."""

    show: str
    """uses, callers, callees, tests or implementations."""
    answer: AnyReferences
    tokens: int

    @property
    def entries(self) -> tuple[AnyUse, ...]:
        return entries_of(self.answer)

    @property
    def summary(self) -> str:
        """One line: where the name is defined, and how many entries there are."""
        return _summarise(self.show, self.answer)

    @property
    def text(self) -> str:
        return _write(self.show, self.answer)

    def with_label(self, label: str) -> UsageAnswer:
        """The same with `label` before each path."""

        def renamed(entry: Any) -> Any:
            more: dict[str, Any] = {"call_path": label + entry.call_path} if hasattr(entry, "call_path") else {}
            if isinstance(entry, Reference) and entry.definition is not None:
                more = {"definition": (label + entry.definition[0], entry.definition[1])}
            return entry.replace(path=label + entry.path, **more)

        answer = self.answer.replace(definitions=tuple(map(renamed, self.answer.definitions)))
        return replace(self, answer=with_entries(answer, tuple(map(renamed, self.entries)), answer.total))

    def to_dict(self) -> dict[str, Any]:
        return {
            "show": self.show, "name": self.answer.name,
            "definitions": [place.to_dict() for place in self.answer.definitions],
            "entries": [entry.to_dict() for entry in self.entries], "total": self.answer.total,
        }  # fmt: skip


def answer_question(
    question: UsageQuestion, request: SearchRequest, mode: str,
    find: Callable[[UsageQuestion, SearchRequest, int], AnyReferences | None], search: Callable[[SearchRequest], Answer],
) -> Answer:  # fmt: skip
    """The uses that `find` finds, then the hits of the search, within one budget; on further pages only hits.

    Only the search answers where another mode than `auto` is asked for, or where nothing has the name.
    """
    if (request.mode or mode) != "auto" or request.views is not None or request.fixed or request.word or request.multiline:
        return search(request)
    found = find(question, request, _MOST_ENTRIES)
    if found is None:
        return search(request)
    budget = request.budget if isinstance(request.budget, int) else None
    usage = _fit(question.show, found, None if budget is None else budget // 2)
    if usage is None:
        return search(request)
    if budget is not None:
        request = request.replace(budget=budget - usage.tokens)
    answer = search(request)
    if request.cursor is not None:
        return answer
    notes = tuple(note for note in found.basis.degraded if note not in answer.degraded)
    return answer.replace(
        intent=question.show, usage=usage, tokens=answer.tokens + usage.tokens, degraded=notes + answer.degraded
    )


def find_usage(
    finder: Finder, question: UsageQuestion, kept: Any, limit: int, basis: Basis
) -> AnyReferences | None:  # fmt: skip
    """The first `limit` of what is asked for, in the files that are `kept`; None where no definition has that name.

    An ordinary word without backticks has to be the name of a function or a type: many trees have a variable `name`.
    """
    finder.skips_data = not question.quoted and question.name.islower() and is_plain_word(question.name)
    if not finder.definitions(question.name):
        return None
    most = limit if kept is None else None
    found: AnyReferences
    if question.show == "uses":
        found = find_references(finder, question.name, None, frozenset(), most, basis)
    elif question.show == "implementations":
        found = find_implementations(finder, question.name, None, most, basis)
    else:
        found = find_calls(finder, question.name, None, question.show, None, most, basis)
    if kept is not None:
        paths = finder.snapshot.live_paths
        entries = tuple(entry for entry in entries_of(found) if kept[paths[entry.path]])
        found = with_entries(found, entries[:limit], len(entries))
    return found.replace(definitions=found.definitions[:_MOST_DEFINITIONS])


def _fit(show: str, found: AnyReferences, budget: int | None) -> UsageAnswer | None:
    """As many entries as fit a budget of tokens; None where not even their number does."""
    entries: Sequence[AnyUse] = entries_of(found)
    tokens = count_tokens(_write(show, found))
    while budget is not None and tokens > budget and entries:
        entries = entries[: len(entries) // 2]
        found = with_entries(found, tuple(entries), found.total)
        tokens = count_tokens(_write(show, found))
    return UsageAnswer(show, found, tokens) if budget is None or tokens <= budget else None


def _write(show: str, answer: AnyReferences) -> str:
    return f"{_summarise(show, answer)}\n" + "".join(map(use_line, entries_of(answer)))


def _summarise(show: str, answer: AnyReferences) -> str:
    defined = ", ".join(f"{place.path}:{place.line}" for place in answer.definitions[:3])
    counted = format_count(answer.total, show.removesuffix("s"))
    listed = len(entries_of(answer))
    more = f", {listed} listed" if listed < answer.total else ""
    unsure = "; not everything was looked at" if isinstance(answer, CallsAnswer) and not answer.complete else ""
    return f"{answer.name} is defined at {defined}; {counted}{more}{unsure}"
