"""Prints answers as text: plain when piped, with colour, marks and a score bar on a terminal; or in Vim's grep format.

Part of a search on the command line: piped text must not load `re` or `pathlib`, which take longer than the printing.
"""

from __future__ import annotations

import os
import sys
from itertools import zip_longest

from lurcher.config import wants_colour
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.terminal import format_count, printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.types import Answer, Degraded, Hit, SymbolAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any, TypeAlias

_BAR = 10
_TERMINAL_LINES = 12
_MOST_STEPS_UP = 3
_MOST_MATCHES = 5
_LONGEST_CAPTURE = 60
_MOST_LINKS = 3


def use_colour() -> bool:
    return sys.stdout.isatty() and wants_colour()


Locate: TypeAlias = "Callable[[str], Path | str]"
"""From a hit's path to the file it stands for."""


def from_here(locate: Locate) -> Callable[[str], str]:
    """A function that writes a hit's path so that it can be opened from the current folder."""
    here = os.getcwd()  # noqa: PTH109

    def relative(path: str) -> str:
        file = locate(path)
        found = os.path.relpath(file, here)
        return found if found.split("/").count("..") <= _MOST_STEPS_UP else str(file)

    return relative


def print_answer(answer: Answer, locate: Locate, *, explain: bool, timings: bool) -> None:
    painter = Painter(use_colour())
    shown = from_here(locate)
    print_notes(answer.degraded)
    out: list[str] = []
    for number, hit in enumerate(answer.hits):
        if number:
            out.append("")
        out += _hit_lines(hit, painter, shown)
        out += _links(hit, painter, shown)
        if explain:
            out += _explanation(hit, painter)
    for line in out:
        print(line)
    print_footer(answer, timings)


def _hit_lines(hit: Hit, painter: Painter, shown: Callable[[str], str]) -> Iterable[str]:
    if hit.source == "history":
        from lurcher.surfaces.cli.print_commit import commit_lines

        return commit_lines(hit, painter)
    if hit.library is not None:  # its version matters, not where it is installed
        return _place_lines(hit, painter, hit.path)
    return _place_lines(hit, painter, shown(hit.path))


def _links(hit: Hit, painter: Painter, shown: Callable[[str], str]) -> Iterable[str]:
    """Related hits of other corpora, one line each: the first of each kind, then more up to the limit."""
    kinds = [
        [_link_to_code(place, shown) for place in hit.links.get("code", ())],
        [_link_to_commit(commit) for commit in hit.links["commits"]],
        [f"{shown(note['path'])}:{note['line']}  {note['title']}  ({note['why']})" for note in hit.links["notes"]],
    ]
    for line in [line for row in zip_longest(*kinds) for line in row if line is not None][:_MOST_LINKS]:
        yield painter.dim(f"    → {printable(line)}")


def _link_to_code(place: dict[str, Any], shown: Callable[[str], str]) -> str:
    named = f"  {place['symbol']}" if place["symbol"] else ""
    return f"{shown(place['path'])}:{place['start_line']}{named}  ({place['why']})"


def _link_to_commit(commit: dict[str, Any]) -> str:
    ended = "" if commit["outcome"] == "success" else f", {commit['outcome']}"
    return f"{commit['sha'][:10]}  {commit['date']}  {commit['subject']}  ({commit['why']}{ended})"


def _place_lines(hit: Hit, painter: Painter, path: str) -> Iterable[str]:
    # Terminals make links of `path:line`: with the few lines that are shown it leads to the one that matched.
    place = str(hit.best_line) if painter.on else f"{hit.start_line}-{hit.end_line}"
    head = f"{painter.path(path)}:{place}"
    if hit.cell is not None:
        head += f"  cell {hit.cell['number']}"
    if hit.symbol:
        head += f"  {painter.symbol(hit.symbol)}"
    if painter.on:
        filled = round(_BAR * max(0.0, min(hit.score, 1.0)))
        head += "  " + painter.dim("▰" * filled + "▱" * (_BAR - filled) + f" {hit.score:.2f}")
    else:
        head += f"  {hit.score:.3f}"
    yield head + (painter.dim(f"  {hit.library} {hit.version or 'of unknown version'}") if hit.library else "")
    if hit.note is not None:
        yield _note_line(hit.note, painter)
        if "front_matter_problem" in hit.note:
            yield painter.dim(f"    front matter: {printable(hit.note['front_matter_problem'])}")
    if "structural" in hit.why.lanes:
        yield from _matches(hit, painter)
    if hit.text:
        terms = _matched_terms(hit) if painter.on else set()
        lines = hit.text.replace("\r\n", "\n").rstrip("\n").split("\n")
        first = 0
        if painter.on and len(lines) > _TERMINAL_LINES:
            from lurcher.answer.excerpts import MAX_LINES_BELOW, cut_around_match, cut_densest

            text = hit.text.replace("\r\n", "\n")
            if hit.matches:
                start_line, end_line = hit.matches[0].start_line, hit.matches[0].end_line
                _, start, _ = cut_around_match(text, hit.start_line, _TERMINAL_LINES, start_line, end_line)
                first = start - hit.start_line
            else:
                kept = (hit.best_line, hit.best_line + MAX_LINES_BELOW)  # what the hit is named after
                _, start, _ = cut_densest(text, hit.start_line, _TERMINAL_LINES, terms, kept)
                first = start - hit.start_line
        shown = lines[first : first + _TERMINAL_LINES] if painter.on else lines
        width = len(str(hit.start_line + first + len(shown)))
        for i, line in enumerate(shown, hit.start_line + first):
            yield f"{painter.dim(f'{i:>{width}}')}  {painter.code(line, terms, _matched_columns(hit, i, len(line)))}"
        left = len(lines) - len(shown)
        if left > 0:
            yield painter.dim(f"{'':>{width}}  … {format_count(left, 'more line')}")


def _note_line(note: dict[str, Any], painter: Painter) -> str:
    """The links that open a section, and the tags of its note."""
    parts = [*filter(None, [note["wikilink"]]), note["anchor"], *(f"#{tag}" for tag in note["tags"])]
    return painter.dim("    " + "  ".join(printable(part) for part in parts))


def _matches(hit: Hit, painter: Painter) -> Iterable[str]:
    """Where exactly the query matches, and what its metavariables stand for."""
    for match in hit.matches[:_MOST_MATCHES]:
        until = f"{match.end_line}:{match.end_column}" if match.end_line != match.start_line else str(match.end_column)
        captured = "  ".join(f"${name} = {_captured(value)}" for name, value in match.captures.items())
        yield painter.dim(f"    {match.start_line}:{match.start_column}-{until}" + (f"  {captured}" if captured else ""))
    left = len(hit.matches) - _MOST_MATCHES
    if left > 0:
        yield painter.dim(f"    … {format_count(left, 'more match', 'more matches')} in this place")


def _captured(value: str | list[str]) -> str:
    text = " ".join((value if isinstance(value, str) else ", ".join(value)).split())
    return printable(text if len(text) <= _LONGEST_CAPTURE else text[: _LONGEST_CAPTURE - 1] + "…")


def _matched_columns(hit: Hit, line: int, length: int) -> tuple[tuple[int, int], ...]:
    """The columns of a line that match, from 0; of a match over several lines only those of its first line."""
    return tuple(
        (match.start_column - 1, match.end_column - 1 if match.end_line == line else length)
        for match in hit.matches
        if match.start_line == line
    )


def _matched_terms(hit: Hit) -> set[str]:
    """The terms of a hit's text that matched: the query's words, and other forms of them that share a stem."""
    from lurcher.terms.split import split, words
    from lurcher.terms.vocabulary import stem

    asked = {term for lane in hit.why.lanes.values() for term in lane.terms}
    stems = {stem(term) for term in asked}
    here = {term for word in words(hit.text) for term in split(word)}
    return asked | {term for term in here if stem(term) in stems}


def _explanation(hit: Hit, painter: Painter) -> Iterable[str]:
    for name, lane in hit.why.lanes.items():
        terms = ", ".join(f"{term} {weight:.2f}" for term, weight in list(lane.terms.items())[:8])
        yield painter.dim(f"    {name} lane: rank {lane.rank}, score {lane.score:.3f}" + (f" ({terms})" if terms else ""))
    if hit.why.scores:
        yield painter.dim("    " + ", ".join(f"{name} {value:.3f}" for name, value in hit.why.scores.items()))
    for stage in hit.why.stages:
        push = f" × {stage.factor:.3g}" if stage.factor is not None else ""
        push = push or (f" {_signed(stage.amount)}" if stage.amount is not None else "")
        yield painter.dim(f"    {stage.stage}{push}" + (f"  {stage.note}" if stage.note else ""))


def _signed(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'} {abs(amount):.3f}"


def print_footer(answer: Answer, timings: bool) -> None:
    """What belongs to the answer but is not a result goes to stderr."""
    if not answer.hits:
        print("nothing found", file=sys.stderr)
    if answer.next:
        print(f"{answer.counted}; more: --continue {answer.next}", file=sys.stderr)
    if timings:
        print("  ".join(f"{name} {value:.1f} ms" for name, value in answer.timings_ms.items()), file=sys.stderr)


def print_notes(degraded: Sequence[Degraded]) -> None:
    """What limits the trust in an answer, printed before it."""
    for note in degraded:
        print(f"note: {printable(note.reason)}" + (f" ({note.hint})" if note.hint else ""), file=sys.stderr)


def print_symbols(answer: SymbolAnswer, locate: Locate) -> None:
    painter = Painter(use_colour())
    shown = from_here(locate)
    print_notes(answer.degraded)
    if not answer.definitions:
        print(f"nothing defines {printable(answer.name)}", file=sys.stderr)
    for hit in answer.definitions:
        traits = [hit.kind, *(["test"] if hit.test else []), *([] if hit.exported else ["private"])]
        traits += [] if hit.references is None else [format_count(hit.references, "use")]
        print(
            f"{painter.path(shown(hit.path))}:{hit.start_line}-{hit.end_line}  "
            f"{painter.symbol(hit.qualified)}  {painter.dim(', '.join(traits))}"
        )
        print(f"    {painter.code(hit.signature, set())}")


# -- vimgrep ------------------------------------------------------------------------------------------------------------


def print_vimgrep(answer: Answer, locate: Locate) -> None:
    """`path:line:column:text`, one line for each match, for Vim's quickfix list and others that know the format."""
    shown = from_here(locate)
    for hit in answer.hits:
        for line, column, text in _vimgrep_places(hit):
            print(f"{printable(shown(hit.path))}:{line}:{column}:{printable(text)}")


def print_symbols_vimgrep(answer: SymbolAnswer, locate: Locate) -> None:
    shown = from_here(locate)
    for hit in answer.definitions:
        print(f"{printable(shown(hit.path))}:{hit.start_line}:1:{printable(hit.signature or hit.qualified)}")


def _vimgrep_places(hit: Hit) -> Iterator[tuple[int, int, str]]:
    """Every match where the mode knows them, the place of a commit's change, else the line that matches best."""
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
