"""Draws an answer as HTML for notebooks: the hits with their places, the code in the colours of its syntax.

Everything that comes from a repository is escaped. Styles stand in the elements, since notebooks keep no style sheets of
outputs that they load again; colours are see-through where they can be, so that light and dark themes both work.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from lurcher.languages.highlight import syntax_spans
from lurcher.runtime.process import printable, printable_lines

if TYPE_CHECKING:
    from lurcher.types import Answer, CommitInfo, Hit, Place

MAX_LINES = 30
"""Lines of a place that are drawn; the rest is in `place.text`."""

_COLOURS = {
    "comment": "opacity:.6;font-style:italic", "string": "color:#2a8a4a", "number": "color:#1a7f9c", "keyword": "color:#a34fb5",
}  # fmt: skip
_CODE = "margin:.2em 0 .6em;padding:.4em .6em;overflow-x:auto;background:rgba(128,128,128,.1);font-size:90%;line-height:1.35"
_DIM = "opacity:.65"


def draw_answer(answer: Answer) -> str:
    notes = [answer.caveat, *(f"note: {note.reason}" for note in answer.degraded), answer.nothing]
    said = [f"<p><em>{_html(note)}</em></p>" for note in notes if note]
    count = f'<p style="{_DIM}">{_html(answer.counted)}</p>' if answer.hits else ""
    return f'<div class="lurcher-answer">{"".join(said)}{"".join(map(_hit, answer.hits))}{count}</div>'


def _hit(hit: Hit) -> str:
    if hit.commit is not None:
        return _commit(hit, hit.commit)
    first, *others = hit.places
    further = "".join(_place(place, "", hit.language) for place in others)
    return f"<div>{_place(first, hit.path, hit.language)}{further}</div>"


def _commit(hit: Hit, commit: CommitInfo) -> str:
    verdict = "" if commit.outcome.verdict == "success" else f" <b>{_html(commit.outcome.verdict)}</b>"
    head = f"<code>{_html(commit.sha[:10])}</code> {_html(commit.date[:10])} {_html(commit.author)}{verdict}"
    return f"<div>{head} {_score(hit.score)}{_block(hit.text or commit.subject, '', 0)}</div>"


def _place(place: Place, path: str, language: str) -> str:
    name = f" <b>{_html(place.symbol)}</b>" if place.symbol else ""
    head = f"<code>{_html(path)}:{place.start_line}-{place.end_line}</code>{name} {_score(place.score)}"
    return head + (_block(place.text, language, place.start_line) if place.text else "")


def _score(score: float) -> str:
    return f'<span style="{_DIM}">{score:.3f}</span>'


def _block(text: str, language: str, first: int) -> str:
    """Lines of text, numbered from `first` unless that is 0."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    kept = "\n".join(lines[:MAX_LINES])
    html, at = [], 0
    for start, end, kind in syntax_spans(kept, language) or () if language else ():
        html += [escape(printable_lines(kept[at:start])), *_colour(kept[start:end], _COLOURS[kind])]
        at = end
    rows = "".join((*html, escape(printable_lines(kept[at:])))).split("\n")
    if first:
        width = len(str(first + len(rows) - 1))
        rows = [f'<span style="{_DIM}">{number:>{width}}</span>  {row}' for number, row in enumerate(rows, first)]
    left = len(lines) - MAX_LINES
    if left > 0:
        rows.append(f'<span style="{_DIM}">… {left} more line{"s" if left > 1 else ""}</span>')
    return f'<pre style="{_CODE}">{chr(10).join(rows)}</pre>'


def _colour(text: str, style: str) -> list[str]:
    """A coloured part, closed and opened again at each end of a line, so that lines can be numbered."""
    parts = [f'<span style="{style}">{escape(printable(line))}</span>' if line else "" for line in text.split("\n")]
    return ["\n".join(parts)]


def _html(text: str) -> str:
    return escape(printable(text))
