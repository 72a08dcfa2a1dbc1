"""Prints answers as text: plain when piped, with colour, marks and a score bar on a terminal; or in Vim's grep format.

Part of a search on the command line: piped text must not load `re` or `pathlib`, which take longer than the printing. On a
terminal the parser says what is a comment, a string or a keyword; without one, a few regular expressions guess it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import zip_longest

from lurcher.config import terminal_columns, wants_colour
from lurcher.runtime.process import format_count, printable
from lurcher.runtime.stdlib import pattern
from lurcher.terms import split, words
from lurcher.types import HEADING_PATH, HOTFIXED, REVERTED, SUCCESS, Answer, Degraded, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set
    from pathlib import Path
    from typing import Any, TypeAlias

    from lurcher.lanes.symbol import SymbolAnswer
    from lurcher.languages.highlight import Span
    from lurcher.types import Outcome


_TOKEN = pattern(
    r"(?P<comment>(?://|#(?!\[|include|define|if|endif|else)|--(?=\s)).*$|/\*.*?(?:\*/|$))"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\b\d[\w.]*)"
)
_KEYWORDS = frozenset(
    """
    abstract and as async await begin bool break case catch class const continue def default defer defmodule defp do
    elif else end enum except export extends extern false final finally fn for from func function go if impl
    implements import in instance int interface internal is let local match mod module mut namespace new nil none
    not null object of or override package private protected protocol pub public raise record return self sealed
    static string struct super switch template then this throw throws trait true try type typedef union unless
    unsafe use using val var virtual void when where while with yield None True False
    """.split()
)
_STYLES = {"comment": "2;3", "string": "32", "number": "36", "keyword": "35"}


class Painter:
    """Wraps text in terminal codes, or leaves it alone when `on` is false."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def _wrap(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def path(self, text: str) -> str:
        return self._wrap(printable(text), "1;34")

    def symbol(self, text: str) -> str:
        return self._wrap(printable(text), "1")

    def dim(self, text: str) -> str:
        return self._wrap(text, "2")

    def state(self, text: str, kind: str) -> str:
        """Coloured by kind: ok, note or problem."""
        return self._wrap(text, {"ok": "32", "note": "33", "problem": "1;31"}[kind])

    def code(
        self, line: str, terms: Set[str], spans: Sequence[tuple[int, int]] = (), syntax: Sequence[Span] | None = None
    ) -> str:
        """One line of source with matched terms marked, and `spans` (of characters, in order) marked as a whole.

        `syntax` has the coloured parts as the parser found them; without it they are guessed.
        """
        line = printable(line)
        if not self.on:
            return line
        syntax = _guess_syntax(line) if syntax is None else syntax
        out, last = [], 0
        for start, end in spans:
            if start >= last:  # a span inside another is marked already
                out += [self._colour(line, last, start, terms, syntax), self._wrap(line[start:end], "1;33")]
                last = end
        return "".join((*out, self._colour(line, last, len(line), terms, syntax)))

    def _colour(self, line: str, first: int, last: int, terms: Set[str], syntax: Sequence[Span]) -> str:
        """A part of a line in the colours of its syntax."""
        out, at = [], first
        for start, end, kind in syntax:
            start, end = max(start, at), min(end, last)
            if start < end:
                word = kind in ("keyword", "number") and terms & set(split(line[start:end]))
                style = "" if word else _STYLES[kind]  # a word that matches has the colour of a match alone
                out += [self._mark_terms(line[at:start], terms, ""), self._mark_terms(line[start:end], terms, style)]
                at = end
        return "".join((*out, self._mark_terms(line[at:last], terms, "")))

    def _mark_terms(self, text: str, terms: Set[str], style: str) -> str:
        """A text in one style, the words that match marked; around them the style goes on."""
        if terms and text.strip():
            import re

            before, after = ("0;", f"\x1b[0;{style}m") if style else ("", "\x1b[0m")
            text = re.sub(
                r"[^\W\d]\w*",
                lambda word: f"\x1b[{before}1;33m{word[0]}{after}" if terms & set(split(word[0])) else word[0],
                text,
            )
        return self._wrap(text, style) if style else text


def _guess_syntax(line: str) -> list[Span]:
    """The coloured parts of a line whose language has no parser."""
    found = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup or ""
        if kind != "word" or match[0] in _KEYWORDS:
            found.append((match.start(), match.end(), "keyword" if kind == "word" else kind))
    return found


def _syntax_by_line(hit: Hit, file: Path | str) -> list[list[Span]] | None:
    """The coloured parts of each line of a hit; None where no parser can tell.

    The file is parsed as a whole where its lines are still those of the hit, which may begin within a long string.
    """
    from lurcher.languages.highlight import MAX_LENGTH, split_by_line, syntax_spans

    text = hit.text.replace("\r\n", "\n")
    whole = text
    try:
        if os.stat(file).st_size <= MAX_LENGTH:
            with open(file, encoding="utf-8") as stream:
                whole = stream.read()
    except (OSError, ValueError):  # gone, or not in UTF-8
        pass
    lines = whole.split("\n")
    start = sum([len(line) + 1 for line in lines[: hit.start_line - 1]])
    if not whole.startswith(text, start):
        whole, start = text, 0
    found = syntax_spans(whole, hit.language, start, start + len(text))
    return None if found is None else split_by_line(text, [(first - start, last - start, kind) for first, last, kind in found])


_BAR = 10
_SCORE = "    0.00 "
"""What stands around name and bar in a heading."""
_MOST_INNER = 2
"""Parts of a name that are always shown."""
_TERMINAL_LINES, _FURTHER_LINES = 12, 7
"""Lines that a terminal shows of the first place of a hit, and of each further one."""
_MOST_STEPS_UP = 3
_MOST_MATCHES = 5
_LONGEST_CAPTURE = 60
_LONGEST_HEADER = 100
"""Letters of a signature above a place: it tells where the place is, and rarely what it does."""
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
    print_caveats(answer)
    out: list[str] = []
    for number, hit in enumerate(answer.hits):
        if number:
            out.append("")
        out += _hit_lines(hit, painter, shown, locate)
        out += _links(hit, painter, shown)
        if explain:
            out += _explanation(hit, painter)
    for line in out:
        print(line)
    print_footer(answer, timings)


def _hit_lines(hit: Hit, painter: Painter, shown: Callable[[str], str], locate: Locate) -> Iterable[str]:
    if hit.source == "history":
        return commit_lines(hit, painter)
    path = hit.path if hit.library is not None else shown(hit.path)  # of a library its version matters, not where it is
    file = locate(hit.path) if painter.on else ""
    first, *others = hit.split()
    further = (line for place in others for line in _further_lines(place, painter, path, file))
    return [*_place_lines(first, painter, path, file), *further]


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


def _place_lines(hit: Hit, painter: Painter, path: str, file: Path | str) -> Iterable[str]:
    """The first place of a hit."""
    version = painter.dim(f"  {hit.library} {hit.version or 'of unknown version'}") if hit.library else ""
    version = painter.dim(f"  {printable(hit.repository)}") if hit.repository else version
    beside = len(hit.library or "") + len(hit.version or "") + len(hit.repository or "")
    yield _heading(hit, painter, painter.path(path), len(path) + beside) + version
    if hit.note is not None:
        yield _note_line(hit.note, painter)
        if "front_matter_problem" in hit.note:
            yield painter.dim(f"    front matter: {printable(hit.note['front_matter_problem'])}")
    yield from _text_lines(hit, painter, _TERMINAL_LINES, file)


def _further_lines(hit: Hit, painter: Painter, path: str, file: Path | str) -> Iterable[str]:
    """A further place of a hit: the path is not repeated, except on terminals, which make links of it."""
    yield _heading(hit, painter, painter.dim(printable(path)) if painter.on else "", len(path))
    yield from _text_lines(hit, painter, _FURTHER_LINES, file)


def _heading(hit: Hit, painter: Painter, path: str, plain: int) -> str:
    """The line above a place; `plain` is how wide the path is."""
    # Terminals make links of `path:line`: with the few lines that are shown it leads to the one that matched.
    place = f":{hit.best_line}" if painter.on else f":{hit.start_line}-{hit.end_line}"
    if hit.cell is not None:
        place += f"  cell {hit.cell['number']}"
    if not painter.on:
        return f"{path}{place}{f'  {printable(hit.symbol)}' if hit.symbol else ''}  {hit.score:.3f}"
    filled = round(_BAR * max(0.0, min(hit.score, 1.0)))
    bar = "▰" * filled + "▱" * (_BAR - filled)
    symbol, bar = fit_heading(terminal_columns(sys.stdout) - plain - len(place) - len(_SCORE), hit.symbol or "", bar)
    return f"{path}{place}{f'  {painter.symbol(symbol)}' if symbol else ''}  {painter.dim(f'{bar} {hit.score:.2f}'.strip())}"


def fit_heading(room: int, symbol: str, bar: str) -> tuple[str, str]:
    """Name and bar of a heading for that much room: names of namespaces go first, then the bar."""
    parts = symbol.split(".") if " " not in symbol else [symbol]
    while len(parts) > _MOST_INNER and len(symbol) + len(bar) > room:
        del parts[0]
        symbol = f"…{'.'.join(parts)}"
    return symbol, bar if len(symbol) + len(bar) <= room else ""


def _text_lines(hit: Hit, painter: Painter, most: int, file: Path | str) -> Iterable[str]:
    """The numbered lines of a place; on a terminal those that match best, `most` of them."""
    if hit.matches and "structural" in hit.why.lanes:
        yield from _matches(hit, painter)
    if hit.text:
        terms = _matched_terms(hit) if painter.on else set()
        lines = hit.text.replace("\r\n", "\n").rstrip("\n").split("\n")
        syntax = _syntax_by_line(hit, file) if painter.on else None
        first, end = narrow_place(hit, lines, most, terms, syntax) if painter.on and len(lines) > most else (0, len(lines))
        shown = lines[first:end]
        width = len(str(hit.start_line + first + len(shown)))
        for number, signature in hit.headers if first == 0 else ():  # they are around the first line of the place
            yield painter.dim(f"{number:>{width}}  {printable(signature[:_LONGEST_HEADER].rstrip())} …")
        for i, line in enumerate(shown, hit.start_line + first):
            parts = None if syntax is None else syntax[i - hit.start_line]
            yield f"{painter.dim(f'{i:>{width}}')}  {painter.code(line, terms, _matched_columns(hit, i, len(line)), parts)}"
        left = len(lines) - len(shown)
        if left > 0:
            yield painter.dim(f"{'':>{width}}  … {format_count(left, 'more line')}")


def narrow_place(
    hit: Hit, lines: list[str], most: int, terms: Set[str], syntax: Sequence[Sequence[Span]] | None
) -> tuple[int, int]:
    """The first of the lines of a place that a terminal shows, and the one behind the last."""
    from lurcher.answer.borders import settle_window
    from lurcher.answer.excerpts import cut_around_match, cut_densest
    from lurcher.answer.hits import MAX_LINES_BELOW

    text, top = "\n".join(lines), hit.start_line
    if hit.matches:
        kept = (hit.matches[0].start_line, hit.matches[0].end_line)
        _, start, last = cut_around_match(text, top, most, *kept)
    else:
        _, start, last = cut_densest(text, top, most, terms, (hit.best_line, hit.best_line + MAX_LINES_BELOW))
        kept = (hit.best_line, _find_named_line(hit, lines))
    return settle_window(lines, start - top, last + 1 - top, (kept[0] - top, kept[1] - top), syntax)


def _find_named_line(hit: Hit, lines: Sequence[str]) -> int:
    """The line, from the best one on, that has the name of the place: what it is named after may begin below."""
    from lurcher.answer.hits import MAX_LINES_BELOW

    name, best = (hit.symbol or "").split(HEADING_PATH)[-1].split(".")[-1], hit.best_line
    below = range(best, best + MAX_LINES_BELOW + 1)
    return next((i for i, line in zip(below, lines[best - hit.start_line :], strict=False) if name and name in line), best)


def _note_line(note: dict[str, Any], painter: Painter) -> str:
    """The links that open a section, and the tags of its note."""
    parts = [*filter(None, [note["wikilink"]]), note["anchor"], *(f"#{tag}" for tag in note["tags"])]
    return painter.dim("    " + "  ".join(printable(part) for part in parts))


def _matches(hit: Hit, painter: Painter) -> Iterable[str]:
    """Where exactly the query matches, and what its metavariables stand for."""
    for match in hit.matches[:_MOST_MATCHES]:
        until = f"{match.end_line}:{match.end_column}" if match.end_line != match.start_line else str(match.end_column)
        captured = "  ".join(f"${name} = {_show_capture(value)}" for name, value in match.captures.items())
        yield painter.dim(f"    {match.start_line}:{match.start_column}-{until}" + (f"  {captured}" if captured else ""))
    left = len(hit.matches) - _MOST_MATCHES
    if left > 0:
        yield painter.dim(f"    … {format_count(left, 'more match', 'more matches')} in this place")


def _show_capture(value: str | list[str]) -> str:
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
    from lurcher.terms.vocabulary import stem

    asked = {term for lane in hit.why.lanes.values() for term in lane.terms}
    stems = {stem(term) for term in asked}
    here = {term for word in words(hit.text) for term in split(word)}
    return asked | {term for term in here if stem(term) in stems}


def _explanation(hit: Hit, painter: Painter) -> Iterable[str]:
    """Why each place is there."""
    for place in hit.split():
        if hit.further:
            yield painter.dim(f"    lines {place.start_line}-{place.end_line}")
        yield from _reasons(place, painter)


def _reasons(hit: Hit, painter: Painter) -> Iterable[str]:
    for name, lane in hit.why.lanes.items():
        terms = ", ".join(f"{term} {weight:.2f}" for term, weight in list(lane.terms.items())[:8])
        yield painter.dim(f"    {name} lane: rank {lane.rank}, score {lane.score:.3f}" + (f" ({terms})" if terms else ""))
    if hit.why.scores:
        yield painter.dim("    " + ", ".join(f"{name} {value:.3f}" for name, value in hit.why.scores.items()))
    for stage in hit.why.stages:
        push = f" × {stage.factor:.3g}" if stage.factor is not None else ""
        push = push or (f" {_show_signed(stage.amount)}" if stage.amount is not None else "")
        yield painter.dim(f"    {stage.stage}{push}" + (f"  {stage.note}" if stage.note else ""))


def _show_signed(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'} {abs(amount):.3f}"


def print_footer(answer: Answer, timings: bool) -> None:
    """What belongs to the answer but is not a result goes to stderr."""
    if answer.nothing:
        print(printable(answer.nothing), file=sys.stderr)
    if answer.next:
        print(f"{answer.counted}; more: --continue {answer.next}", file=sys.stderr)
    if timings:
        print("  ".join(f"{name} {value:.1f} ms" for name, value in answer.timings_ms.items()), file=sys.stderr)


def print_caveats(answer: Answer) -> None:
    """That an answer is weak comes first, then its notes."""
    if answer.caveat:
        print(printable(answer.caveat), file=sys.stderr)
    print_notes(answer.degraded)


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
        traits.append(format_count(hit.references, "use"))
        print(
            f"{painter.path(shown(hit.path))}:{hit.start_line}-{hit.end_line}  "
            f"{painter.symbol(hit.qualified)}  {painter.dim(', '.join(traits))}"
        )
        print(f"    {painter.code(hit.signature, set())}")


# -- vimgrep ------------------------------------------------------------------------------------------------------------


def print_vimgrep(answer: Answer, locate: Locate) -> None:
    """`path:line:column:text`, one line for each place or match, for Vim's quickfix list and others that know the format."""
    shown = from_here(locate)
    for hit in answer.hits:
        for place in hit.split():
            for line, column, text in _vimgrep_places(place):
                print(f"{printable(shown(hit.path))}:{line}:{column}:{printable(text)}")


def print_symbols_vimgrep(answer: SymbolAnswer, locate: Locate) -> None:
    shown = from_here(locate)
    for hit in answer.definitions:
        print(f"{printable(shown(hit.path))}:{hit.start_line}:1:{printable(hit.signature or hit.qualified)}")


def _vimgrep_places(hit: Hit) -> Iterator[tuple[int, int, str]]:
    """Every match where the mode knows them, the place of a commit's change, else the line that matches best."""
    if hit.commit is not None:
        yield max(hit.start_line, 1), 1, f"{hit.commit.sha[:10]} {hit.commit.date[:10]} {hit.commit.subject}"
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


SHORT = 10
"""Letters of a commit's name that are shown."""
MAX_BODY_LINES = 6


def commit_lines(hit: Hit, painter: Painter) -> Iterator[str]:
    """A commit with its message, the change that matches best, and its outcome."""
    commit = hit.commit
    assert commit is not None, "a hit of the history"
    head = f"{painter.symbol(commit.sha[:SHORT])}  {commit.date[:10]}  {printable(commit.author)}"
    yield f"{head}  {painter.dim(f'{hit.score:.3f}')}"
    yield from (f"    {line}" for line in outcome_lines(commit.outcome, painter))
    if not hit.text:
        yield f"    {printable(commit.subject)}"
        return
    message, _, change = hit.text.rstrip("\n").partition(f"\n\n{hit.path} @@ ")
    first, *rest = message.split("\n")
    yield f"    {painter.state(printable(first), 'ok') if painter.on else printable(first)}"
    shown = rest[:MAX_BODY_LINES] if painter.on else rest
    yield from (painter.dim(f"    {printable(line)}") for line in shown if line.strip())
    if not change:
        return
    place, *lines = change.split("\n")
    more = f" and {format_count(commit.file_count - 1, 'more file')}" if commit.file_count > 1 else ""
    yield f"    {painter.path(hit.path)}{painter.dim(f' @@ {printable(place)}{more}')}"
    for line in lines:
        if line[:1] in "+-":
            yield f"    {painter.state(line[:1], 'problem' if line[:1] == '-' else 'ok')} {painter.code(line[1:], set())}"
        else:
            yield painter.dim(f"    {printable(line)}")


def outcome_lines(found: Outcome, painter: Painter) -> list[str]:
    """The outcome of a commit that was not simply kept: what was done to it, by whom, when and why."""
    from datetime import datetime, timezone

    from lurcher.corpora.history.outcomes import FIXED, PARTLY_REVERTED

    if found.verdict == SUCCESS:
        return []
    telling = {REVERTED: (REVERTED,), HOTFIXED: (FIXED, PARTLY_REVERTED)}[found.verdict]
    out = []
    for entry in found.evidence:
        if entry.kind in telling:
            day = datetime.fromtimestamp(max(0, entry.date), timezone.utc).strftime("%Y-%m-%d")
            why = f": {printable(entry.note)}" if entry.note else ""
            said = {REVERTED: "reverted", FIXED: "fixed", PARTLY_REVERTED: "reverted in part"}[entry.kind]
            state = painter.state(said, "problem" if entry.kind == REVERTED else "note")
            out.append(f"{state} by {entry.sha[:SHORT]}, {day}, {printable(entry.author)}{why}")
    return out
