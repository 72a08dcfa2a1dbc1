"""What to know before editing a file or symbol: who changed it lately, what was tried and taken back, what had to be mended,
what depends on it, and which documents name it; one page within a budget."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lurcher.answer.budget import count_tokens
from lurcher.corpora.history.file_commits import Touch, touching
from lurcher.corpora.history.hits import told
from lurcher.corpora.history.outcomes.verdicts import HOTFIXED, MENDED, REVERTED, Outcome, Verdicts
from lurcher.corpora.history.reader import Past
from lurcher.errors import QueryError
from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect.answers import Basis, Section
from lurcher.inspect.context import packed
from lurcher.runtime.terminal import format_count, printable, printable_lines
from lurcher.sources.roles import EXAMPLE, TEST
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Definition

_SHARES = {"taken back": 0.35, "mended": 0.3, "changed lately": 0.45, "people": 0.3, "dependents": 0.5, "documents": 1.0}
_MOST = 40
_DOCUMENTS = frozenset({"markdown", "restructuredtext", "asciidoc", "text", "org"})


@dataclass(frozen=True, slots=True)
class BriefAnswer:
    """One page about a file or symbol, ready to be put into a prompt; `tokens` is what it costs."""

    target: str
    path: str
    symbol: str | None
    budget: int
    tokens: int
    commits: int
    """Commits that changed it, as far as the history is indexed."""
    reverted: int
    hotfixed: int
    dependents: int
    sections: tuple[Section, ...]
    text: str
    standing: Basis

    def to_dict(self) -> dict[str, Any]:
        apart = ("sections", "standing")
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__ if name not in apart}
        return {**out, "sections": [section.to_dict() for section in self.sections], **self.standing.to_dict()}


def brief(
    target: str, snapshot: Snapshot, file: int, definition: Definition | None, past: Past, verdicts: Verdicts, budget: int,
    standing: Basis, formerly: Callable[[str], str | None] = lambda path: None,
) -> BriefAnswer:  # fmt: skip
    """`formerly` tells what a file was called that was renamed since the last commit."""
    if budget < 1:
        raise QueryError(f"the budget is {budget} tokens", "use 1 or more, or leave it out")
    path = snapshot.path(file)
    touches = touching(past, snapshot.bare_path(file))
    former = None if touches else formerly(snapshot.bare_path(file))
    if former is not None:
        touches = touching(past, former)
    if definition is not None:
        touches = [touch for touch in touches if _about(past, touch, definition)]
    outcomes = {touch.commit: verdicts.of(past.sha(touch.commit)) for touch in touches}
    back = [touch for touch in touches if outcomes[touch.commit].verdict == REVERTED]
    mended = [touch for touch in touches if outcomes[touch.commit].verdict == HOTFIXED]
    inward = import_graph_around(snapshot, file).importers(snapshot.bare_path(file), 1)
    tests = [link for link in inward if _role(snapshot, file, link.path) & TEST]
    written = {
        "taken back": [_told(past, touch, outcomes[touch.commit]) for touch in back],
        "mended": [_told(past, touch, outcomes[touch.commit]) for touch in mended],
        "changed lately": [_told(past, touch, None) for touch in touches[:_MOST]],
        "people": _people(past, touches),
        "dependents": [_dependent(link.path, link.line, link.names, link in tests) for link in inward],
        "documents": _documents(snapshot, file, definition),
    }
    named = f"{definition.qualified} in {path}:{definition.start_line}-{definition.end_line}" if definition else path
    renamed = f"it was {printable(former)} in the last commit; " if former is not None else ""
    figures = _figures(past, touches, len(back), len(mended), len(inward), len(tests))
    head = f"# Before you edit {printable(named)}\n{renamed}{figures}\n"
    sections, text = packed(head, written, _SHARES, budget)
    return BriefAnswer(
        target, path, definition.qualified if definition else None, budget, count_tokens(text), len(touches), len(back),
        len(mended), len(inward), sections, text, standing,
    )  # fmt: skip


def _about(past: Past, touch: Touch, definition: Definition) -> bool:
    """Whether a commit changed lines in a definition, as far as hunks say where they are, or lines that name it."""
    pattern = re.compile(rf"(?<!\w){re.escape(definition.name)}(?!\w)")
    return any(
        past.hunk(number).name.rpartition(".")[2] == definition.name
        or pattern.search(past.hunk(number).heading)
        or pattern.search(past.hunk_text(number))
        for number in touch.change.hunks
    )


def _figures(past: Past, touches: Sequence[Touch], back: int, mended: int, dependents: int, tests: int) -> str:
    verb = "imports" if dependents == 1 else "import"
    imported = f"{format_count(dependents, 'file')} {verb} it, {format_count(tests, 'test')} among them"
    if not touches:
        return f"no commit that is indexed changed it; {imported}"
    newest, oldest = (told(int(past.committed[touches[place].commit]))[:10] for place in (0, -1))
    density = f"{100 * (back + mended) / len(touches):.0f} %"
    taken = f"{back:,} {'was' if back == 1 else 'were'} taken back"
    return (
        f"{format_count(len(touches), 'commit')} changed it from {oldest} to {newest}; {taken} and {mended:,} had to be mended "
        f"({density}); {imported}"
    )


def _told(past: Past, touch: Touch, outcome: Outcome | None) -> str:
    header = past.header(touch.commit)
    line = f"- {header.sha[:10]} {told(header.authored)[:10]} {header.author}: {header.subject}"
    line += f" (+{touch.change.added} -{touch.change.removed})"
    wanted = () if outcome is None else (REVERTED,) if outcome.verdict == REVERTED else (MENDED,)
    for entry in outcome.evidence if outcome is not None else ():
        if entry.kind in wanted:
            said = "taken back" if entry.kind == REVERTED else "mended"
            line += f"\n  {said} by {entry.sha[:10]} {told(entry.date)[:10]} {entry.author}"
            line += f": {entry.note}" if entry.note else ""
            break
    return printable_lines(line)


def _people(past: Past, touches: Sequence[Touch]) -> list[str]:
    """Who changed it, by how often; the newest date of each."""
    counts: Counter[str] = Counter()
    last: dict[str, int] = {}
    for touch in touches:
        header = past.header(touch.commit)
        counts[header.author] += 1
        last.setdefault(header.author, header.authored)
    order = sorted(counts, key=lambda name: (-counts[name], -last[name], name))
    return [
        printable_lines(f"- {name}: {format_count(counts[name], 'commit')}, last {told(last[name])[:10]}") for name in order
    ]


def _dependent(path: str, line: int, names: tuple[str, ...], test: bool) -> str:
    taken = f" takes {', '.join(names[:6])}{', …' if len(names) > 6 else ''}" if names else ""
    return printable(f"- {path}:{line}{taken}{' (test)' if test else ''}")


def _role(snapshot: Snapshot, file: int, path: str) -> int:
    return int(snapshot.file_roles[snapshot.live_paths[snapshot.prefix(file) + path]])


def _documents(snapshot: Snapshot, file: int, definition: Definition | None) -> list[str]:
    """Where documents name the symbol, or the file: path, line and what the line says."""
    from lurcher.lanes.literal import find_candidates
    from lurcher.query.text_pattern import compile_pattern

    if definition is not None:
        names = [definition.name] if len(definition.name) > 2 else []
        pattern = compile_pattern(definition.name, fixed=True, case="exact", word=True)

        def first(text: bytes) -> int | None:
            return next((start for start, _ in pattern.lines(text)), None)
    else:
        from lurcher.corpora.notes.mentions import MentionFinder

        mentions = MentionFinder(snapshot, snapshot.path(file))
        names, first = mentions.words, mentions.first
    wanted: set[int] | None = set()
    for name in names:
        units = find_candidates(snapshot, compile_pattern(name, fixed=True, case="exact", word=True))
        wanted = None if units is None or wanted is None else wanted | set(snapshot.unit_file[units].tolist())
    found = []
    for path, number in sorted(snapshot.live_paths.items()):
        roles = int(snapshot.file_roles[number])
        if snapshot.language(number) not in _DOCUMENTS and not roles & EXAMPLE:
            continue
        if number == file or (wanted is not None and number not in wanted):
            continue
        text = snapshot.file_text(number)
        start = first(text)
        if start is not None:
            begin = text.rfind(b"\n", 0, start) + 1
            stop = text.find(b"\n", start)
            said = text[begin : stop if stop >= 0 else None].decode("utf-8", "replace").strip()
            number_of_line = text.count(b"\n", 0, start) + 1
            found.append(printable_lines(f"- {path}:{number_of_line}: {said if len(said) <= 120 else said[:119] + '…'}"))
    return found
