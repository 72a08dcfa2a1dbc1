"""Hits as editors read them: `path:line:column:text`, one line each, for Vim's quickfix list and others that know the form."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli.printer import Locate, from_here
from lurcher.types import Answer, Hit, SymbolAnswer


def answer(answer: Answer, locate: Locate) -> None:
    shown = from_here(locate)
    for hit in answer.hits:
        for line, column, text in _places(hit):
            print(f"{printable(shown(hit.path))}:{line}:{column}:{printable(text)}")


def symbols(answer: SymbolAnswer, locate: Locate) -> None:
    shown = from_here(locate)
    for hit in answer.definitions:
        print(f"{printable(shown(hit.path))}:{hit.start_line}:1:{printable(hit.signature or hit.qualified)}")


def _places(hit: Hit) -> Iterator[tuple[int, int, str]]:
    """Every match, where a mode knows them; of a commit the place of its change; else the line that matches best."""
    if hit.commit is not None:
        yield max(hit.start_line, 1), 1, f"{hit.commit['sha'][:10]} {hit.commit['date'][:10]} {hit.commit['subject']}"
        return
    rows = hit.text.replace("\r\n", "\n").split("\n")
    if hit.matches:
        for match in hit.matches:
            number = match.start_line - hit.start_line
            yield match.start_line, match.start_column, rows[number] if 0 <= number < len(rows) else ""
        return
    number = hit.best_line - hit.start_line
    row = rows[number] if number < len(rows) else ""
    yield hit.best_line, len(row) - len(row.lstrip()) + 1, row
