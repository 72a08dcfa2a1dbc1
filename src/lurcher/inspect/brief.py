"""What to know before editing a file or symbol: recent, reverted and fixed changes, callers, tests, dependents, documents.

The result is one page of text within a budget of tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lurcher.answer import count_tokens
from lurcher.corpora.history.outcomes import FIXED, Verdicts
from lurcher.corpora.history.related_commits import FileChange, commits_of_file
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import QueryError
from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect import Basis
from lurcher.inspect.context import Section, packed
from lurcher.inspect.references.answer import RESOLVED, Finder, describe
from lurcher.inspect.references.calls import CALLERS, TESTS, find_calls
from lurcher.runtime.process import format_count, printable, printable_lines
from lurcher.sources.git.commit import iso_date
from lurcher.sources.roles import EXAMPLE, TEST
from lurcher.storage.snapshot import Snapshot
from lurcher.types import HOTFIXED, REVERTED, Definition, Outcome

_SHARES = {
    "reverted": 0.35, "fixed later": 0.3, "changed lately": 0.45, "people": 0.3, "callers": 0.4, "tests": 0.4,
    "dependents": 0.5, "documents": 1.0,
}  # fmt: skip
"""For each section, the share of the remaining budget that it may use."""
_MAX_COMMITS = 40
_MAX_CALLS = 40
_DOCUMENTS = frozenset({"markdown", "restructuredtext", "asciidoc", "text", "org"})


@dataclass(frozen=True, slots=True)
class BriefAnswer:
    """One page about a file or symbol, ready to be put into a prompt; `tokens` is its size."""

    target: str
    path: str
    symbol: str | None
    budget: int
    tokens: int
    commits: int
    """Number of indexed commits that changed it."""
    reverted: int
    hotfixed: int
    dependents: int
    sections: tuple[Section, ...]
    text: str
    basis: Basis

    def to_dict(self) -> dict[str, Any]:
        nested = ("sections", "basis")
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__ if name not in nested}
        return {**out, "sections": [section.to_dict() for section in self.sections], **self.basis.to_dict()}


def write_brief(
    target: str, snapshot: Snapshot, file: int, definition: Definition | None, history: HistorySnapshot,
    verdicts: Verdicts, budget: int, basis: Basis, path_in_head: Callable[[str], str | None] = lambda path: None,
    finder: Finder | None = None,
) -> BriefAnswer:  # fmt: skip
    """Write the page; `finder` finds who calls a definition.

    `path_in_head` gives the committed path of a file whose renaming is not committed yet.
    """
    if budget < 1:
        raise QueryError(f"the budget is {budget} tokens", "use 1 or more, or leave it out")
    path = snapshot.path(file)
    changes = commits_of_file(history, snapshot.bare_path(file))
    former = None if changes else path_in_head(snapshot.bare_path(file))
    if former is not None:
        changes = commits_of_file(history, former)
    if definition is not None:
        changes = [change for change in changes if _is_about(history, change, definition)]
    outcomes = {change.commit: verdicts.outcome_of(history.sha(change.commit)) for change in changes}
    reverted = [change for change in changes if outcomes[change.commit].verdict == REVERTED]
    hotfixed = [change for change in changes if outcomes[change.commit].verdict == HOTFIXED]
    inward = import_graph_around(snapshot, file).importers(snapshot.bare_path(file), 1)
    tests = [link for link in inward if _role(snapshot, file, link.path) & TEST]
    written = {
        "reverted": [_commit_line(history, change, outcomes[change.commit]) for change in reverted],
        "fixed later": [_commit_line(history, change, outcomes[change.commit]) for change in hotfixed],
        "changed lately": [_commit_line(history, change, None) for change in changes[:_MAX_COMMITS]],
        "people": _people(history, changes),
        **({} if definition is None or finder is None else _calls_of(finder, file, definition, basis)),
        "dependents": [_dependent(link.path, link.line, link.names, link in tests) for link in inward],
        "documents": _documents(snapshot, file, definition),
    }
    named = f"{definition.qualified} in {path}:{definition.start_line}-{definition.end_line}" if definition else path
    renamed = f"it was {printable(former)} in the last commit; " if former is not None else ""
    figures = _figures(history, changes, len(reverted), len(hotfixed), len(inward), len(tests))
    head = f"# Before you edit {printable(named)}\n{renamed}{figures}\n"
    sections, text = packed(head, written, _SHARES, budget)
    return BriefAnswer(
        target, path, definition.qualified if definition else None, budget, count_tokens(text), len(changes), len(reverted),
        len(hotfixed), len(inward), sections, text, basis,
    )  # fmt: skip


def _is_about(history: HistorySnapshot, change: FileChange, definition: Definition) -> bool:
    """Whether a commit changed a definition: one of its hunks lies in it, or has lines that mention it."""
    pattern = re.compile(rf"(?<!\w){re.escape(definition.name)}(?!\w)")
    return any(
        history.hunk(number).name.rpartition(".")[2] == definition.name
        or pattern.search(history.hunk(number).heading)
        or pattern.search(history.hunk_text(number))
        for number in change.change.hunks
    )


def _figures(
    history: HistorySnapshot, changes: Sequence[FileChange], reverted: int, hotfixed: int, dependents: int, tests: int
) -> str:
    """The first line of the page: how many commits changed it and how they ended, and how many files import it."""
    verb = "imports" if dependents == 1 else "import"
    imported = f"{format_count(dependents, 'file')} {verb} it, {format_count(tests, 'test')} among them"
    if not changes:
        return f"no commit that is indexed changed it; {imported}"
    newest, oldest = (iso_date(int(history.committed[changes[place].commit]))[:10] for place in (0, -1))
    density = f"{100 * (reverted + hotfixed) / len(changes):.0f} %"
    undone = f"{reverted:,} {'was' if reverted == 1 else 'were'} reverted"
    return (
        f"{format_count(len(changes), 'commit')} changed it from {oldest} to {newest}; {undone} and "
        f"{hotfixed:,} fixed later ({density}); {imported}"
    )


def _commit_line(history: HistorySnapshot, change: FileChange, outcome: Outcome | None) -> str:
    header = history.header(change.commit)
    line = f"- {header.sha[:10]} {iso_date(header.authored)[:10]} {header.author}: {header.subject}"
    line += f" (+{change.change.added} -{change.change.removed})"
    kinds = () if outcome is None else (REVERTED,) if outcome.verdict == REVERTED else (FIXED,)
    for entry in outcome.evidence if outcome is not None else ():
        if entry.kind in kinds:
            verb = "reverted" if entry.kind == REVERTED else "fixed"
            line += f"\n  {verb} by {entry.sha[:10]} {iso_date(entry.date)[:10]} {entry.author}"
            line += f": {entry.note}" if entry.note else ""
            break
    return printable_lines(line)


def _people(history: HistorySnapshot, changes: Sequence[FileChange]) -> list[str]:
    """The authors by number of commits, each with the date of the newest."""
    counts: Counter[str] = Counter()
    last: dict[str, int] = {}
    for change in changes:
        header = history.header(change.commit)
        counts[header.author] += 1
        last.setdefault(header.author, header.authored)
    order = sorted(counts, key=lambda name: (-counts[name], -last[name], name))
    return [
        printable_lines(f"- {name}: {format_count(counts[name], 'commit')}, last {iso_date(last[name])[:10]}") for name in order
    ]


def _calls_of(finder: Finder, file: int, definition: Definition, basis: Basis) -> dict[str, list[str]]:
    """The functions that call a definition, and the tests that reach it."""
    wanted = definition.start_byte, definition.name
    symbols = finder.program.file(file).symbols
    place = next((describe(own) for own in symbols if (own.definition.start_byte, own.definition.name) == wanted), None)
    if place is None:
        return {}
    target = file, place.line, place.column
    found = {}
    for direction in (CALLERS, TESTS):
        answer = find_calls(finder, place.name, target, direction, None, _MAX_CALLS, basis)
        lines = []
        for call in answer.calls:
            traits = [f"via {call.via}"] if call.depth > 1 else []
            traits += [] if call.resolution == RESOLVED else ["candidate"]
            more = f" ({', '.join(traits)})" if traits else ""
            lines.append(printable(f"- {call.path}:{call.line} {call.name or '(top level)'}{more}"))
        found[direction] = lines
    return found


def _dependent(path: str, line: int, names: tuple[str, ...], test: bool) -> str:
    imported = f" imports {', '.join(names[:6])}{', …' if len(names) > 6 else ''}" if names else ""
    return printable(f"- {path}:{line}{imported}{' (test)' if test else ''}")


def _role(snapshot: Snapshot, file: int, path: str) -> int:
    return int(snapshot.file_roles[snapshot.live_paths[snapshot.prefix(file) + path]])


def _documents(snapshot: Snapshot, file: int, definition: Definition | None) -> list[str]:
    """The first line of each document that mentions the symbol or the file: path, line number and text."""
    from lurcher.lanes.literal import find_candidates
    from lurcher.query.text_pattern import compile_pattern

    if definition is not None:
        names = [definition.name] if len(definition.name) > 2 else []
        pattern = compile_pattern(definition.name, fixed=True, case="exact", word=True)

        def first(text: bytes) -> int | None:
            return next((start for start, _ in pattern.lines(text)), None)
    else:
        from lurcher.corpora.notes.links import MentionFinder

        mentions = MentionFinder(snapshot, snapshot.path(file))
        names, first = mentions.words, mentions.first
    files: set[int] | None = set()
    for name in names:
        units = find_candidates(snapshot, compile_pattern(name, fixed=True, case="exact", word=True))
        files = None if units is None or files is None else files | set(snapshot.unit_file[units].tolist())
    found = []
    for path, number in sorted(snapshot.live_paths.items()):
        roles = int(snapshot.file_roles[number])
        if snapshot.language(number) not in _DOCUMENTS and not roles & EXAMPLE:
            continue
        if number == file or (files is not None and number not in files):
            continue
        text = snapshot.file_text(number)
        start = first(text)
        if start is not None:
            begin = text.rfind(b"\n", 0, start) + 1
            stop = text.find(b"\n", start)
            line = text[begin : stop if stop >= 0 else None].decode("utf-8", "replace").strip()
            number_of_line = text.count(b"\n", 0, start) + 1
            found.append(printable_lines(f"- {path}:{number_of_line}: {line if len(line) <= 120 else line[:119] + '…'}"))
    return found
