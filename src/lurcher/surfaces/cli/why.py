"""Why a file is not among the hits, as text: one sentence, then lanes, stages next to a hit's, and words."""

from __future__ import annotations

from collections.abc import Iterator

from lurcher.inspect.why import Place, WhyAnswer
from lurcher.runtime.plural import counted
from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.surfaces.cli.printer import Locate, colours, from_here, notes

_SMALL = 0.0005


def show(answer: WhyAnswer, locate: Locate) -> None:
    painter, shown = Painter(colours()), from_here(locate)
    notes(answer.standing.degraded)
    here = answer.here
    place = shown(answer.path) if here is None else f"{shown(here.path)}:{here.start_line}-{here.end_line}"
    print(f"{painter.path(place)}  {painter.state(answer.verdict, 'ok' if answer.shown else 'note')}")
    for part in (_stages(answer, painter), _lanes(answer, painter), _words(answer, painter)):
        rows = list(part)
        if rows:
            print()
            print("\n".join(rows))


def _stages(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    here, there = answer.here, answer.there
    if here is None or (here.rank is None and there is None):
        return
    second = "" if there is None else f"hit {there.rank}"
    yield painter.dim(f"{'stage':<12}{'here':>9}{second:>9}")
    for effect in answer.effects:
        if max(abs(effect.here), abs(effect.there)) < _SMALL:
            continue
        other = "" if there is None else f"{effect.there:>+9.3f}"
        note = f"  {painter.dim(printable(effect.note))}" if effect.note else ""
        yield f"{effect.stage:<12}{effect.here:>+9.3f}{other}{note}"
    other = "" if there is None else f"{there.score:>9.3f}  {_named(there)}"
    yield f"{'score':<12}{here.score:>9.3f}{other}"


def _named(place: Place) -> str:
    return printable(f"{place.path}:{place.start_line}-{place.end_line}")


def _lanes(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    if not answer.lanes:
        return
    yield painter.dim(f"{'lane':<12}{'rank':>9}{'score':>9}{'best':>9}")
    for name, lane in answer.lanes.items():
        rank, score, best = (lane[key] for key in ("rank", "score", "best"))
        yield (
            f"{name:<12}{'-' if rank is None else format(rank, ','):>9}"
            f"{'-' if score is None else format(score, '.3f'):>9}{format(best, '.3f') if best else '-':>9}"
        )


def _words(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    if not answer.words:
        return
    width = max(12, *(len(word.word) + 2 for word in answer.words))
    yield painter.dim(f"{'word':<{width}}{'rarity':>9}  {'here':<6}elsewhere")
    for word in answer.words:
        where = "nowhere in the index" if not word.units else f"in {counted(word.units, 'unit')}"
        if word.in_file and not word.here:
            where += ", in other parts of this file too"
        said = painter.state("yes", "ok") + "   " if word.here else painter.state("no", "note") + "    "
        yield f"{printable(word.word):<{width}}{word.idf:>9.2f}  {said}{where}"
