"""Answers as text: plain when piped, with colour, marks and a score bar on a terminal."""

from __future__ import annotations

import os
import sys
from itertools import zip_longest
from pathlib import Path

from lurcher.config import wants_colour
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.plural import counted
from lurcher.runtime.terminal import printable
from lurcher.surfaces.cli.highlight import Painter
from lurcher.terms.split import split, words
from lurcher.terms.stem import stem
from lurcher.types import Answer, Degraded, Hit, SymbolAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    from lurcher.inspect.doctor.checks import Finding
    from lurcher.inspect.services import Health

_BAR = 10
_FEW = 5
"""Paths that are named where there may be many."""
_SENT = (("sent_files", "file"), ("sent_units", "unit"), ("removed_files", "file"))
_TERMINAL_LINES = 12
_MOST_STEPS_UP = 3
_MOST_MATCHES = 5
_LONGEST_CAPTURE = 60
_MOST_LINKS = 3


def colours() -> bool:
    return sys.stdout.isatty() and wants_colour()


Locate: TypeAlias = "Callable[[str], Path]"
"""From a hit's path to the file it stands for."""


def from_here(locate: Locate) -> Callable[[str], str]:
    """How to write a hit's path so that it can be opened from the current folder."""
    here = Path.cwd()

    def shown(path: str) -> str:
        file = locate(path)
        relative = os.path.relpath(file, here)
        return relative if Path(relative).parts.count("..") <= _MOST_STEPS_UP else str(file)

    return shown


def answer(answer: Answer, locate: Locate, *, explain: bool, timings: bool) -> None:
    painter = Painter(colours())
    shown = from_here(locate)
    notes(answer.degraded)
    out: list[str] = []
    for number, hit in enumerate(answer.hits):
        if number:
            out.append("")
        out += _of_source(hit, painter, shown)
        out += _links(hit, painter, shown)
        if explain:
            out += why(hit, painter)
    for line in out:
        print(line)
    footer(answer, timings)


def _of_source(hit: Hit, painter: Painter, shown: Callable[[str], str]) -> Iterable[str]:
    if hit.source == "history":
        from lurcher.surfaces.cli.print_history import commit_hit

        return commit_hit(hit, painter)
    if hit.library is not None:  # where it lies is of no interest, of which version it is, is
        return _hit(hit, painter, hit.path)
    return _hit(hit, painter, shown(hit.path))


def _links(hit: Hit, painter: Painter, shown: Callable[[str], str]) -> Iterable[str]:
    """What other sources have to do with a hit, one line each: of every kind the first, then more while there is room."""
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


def _hit(hit: Hit, painter: Painter, path: str) -> Iterable[str]:
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
        yield from _note(hit.note, painter)
    if "structural" in hit.why.lanes:
        yield from _matches(hit, painter)
    if hit.text:
        terms = _marked(hit)
        lines = hit.text.replace("\r\n", "\n").rstrip("\n").split("\n")
        first = 0
        if painter.on and len(lines) > _TERMINAL_LINES:
            from lurcher.answer.excerpts import BELOW, beginning_at, densest

            text = hit.text.replace("\r\n", "\n")
            if hit.matches:
                start_line, end_line = hit.matches[0].start_line, hit.matches[0].end_line
                _, start, _ = beginning_at(text, hit.start_line, _TERMINAL_LINES, start_line, end_line)
                first = start - hit.start_line
            else:
                kept = (hit.best_line, hit.best_line + BELOW)  # what the hit is named after
                _, start, _ = densest(text, hit.start_line, _TERMINAL_LINES, terms, kept)
                first = start - hit.start_line
        shown = lines[first : first + _TERMINAL_LINES] if painter.on else lines
        width = len(str(hit.start_line + first + len(shown)))
        for i, line in enumerate(shown, hit.start_line + first):
            yield f"{painter.dim(f'{i:>{width}}')}  {painter.code(line, terms, _marked_in(hit, i, len(line)))}"
        left = len(lines) - len(shown)
        if left > 0:
            yield painter.dim(f"{'':>{width}}  … {counted(left, 'more line')}")


def _note(note: dict[str, Any], painter: Painter) -> Iterable[str]:
    """How a section can be opened, and what its note says of itself."""
    said = [*filter(None, [note["wikilink"]]), note["anchor"], *(f"#{tag}" for tag in note["tags"])]
    yield painter.dim("    " + "  ".join(printable(part) for part in said))
    if "front_matter_problem" in note:
        yield painter.dim(f"    front matter: {printable(note['front_matter_problem'])}")


def _matches(hit: Hit, painter: Painter) -> Iterable[str]:
    """Where exactly the query matches, and what its metavariables stand for."""
    for match in hit.matches[:_MOST_MATCHES]:
        until = f"{match.end_line}:{match.end_column}" if match.end_line != match.start_line else str(match.end_column)
        captured = "  ".join(f"${name} = {_captured(value)}" for name, value in match.captures.items())
        yield painter.dim(f"    {match.start_line}:{match.start_column}-{until}" + (f"  {captured}" if captured else ""))
    left = len(hit.matches) - _MOST_MATCHES
    if left > 0:
        yield painter.dim(f"    … {counted(left, 'more match', 'more matches')} in this place")


def _captured(value: str | list[str]) -> str:
    text = " ".join((value if isinstance(value, str) else ", ".join(value)).split())
    return printable(text if len(text) <= _LONGEST_CAPTURE else text[: _LONGEST_CAPTURE - 1] + "…")


def _marked_in(hit: Hit, line: int, length: int) -> tuple[tuple[int, int], ...]:
    """The columns of a line that matches take up, from 0; of a match over several lines the first only."""
    return tuple(
        (match.start_column - 1, match.end_column - 1 if match.end_line == line else length)
        for match in hit.matches
        if match.start_line == line
    )


def _marked(hit: Hit) -> set[str]:
    """The terms of a hit's text that matched: the query's words, and their other forms as far as they share a stem."""
    asked = {term for lane in hit.why.lanes.values() for term in lane.terms}
    stems = {stem(term) for term in asked}
    here = {term for word in words(hit.text) for term in split(word)}
    return asked | {term for term in here if stem(term) in stems}


def why(hit: Hit, painter: Painter) -> Iterable[str]:
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


def footer(answer: Answer, timings: bool) -> None:
    """What belongs to the answer but is not a result goes to stderr."""
    if not answer.hits:
        print("nothing found", file=sys.stderr)
    if answer.next:
        print(f"{answer.counted}; more: --continue {answer.next}", file=sys.stderr)
    if timings:
        print("  ".join(f"{name} {value:.1f} ms" for name, value in answer.timings_ms.items()), file=sys.stderr)


def notes(degraded: Sequence[Degraded]) -> None:
    """What limits the trust in an answer, said before it."""
    for note in degraded:
        print(f"note: {printable(note.reason)}" + (f" ({note.hint})" if note.hint else ""), file=sys.stderr)


def symbols(answer: SymbolAnswer, locate: Locate) -> None:
    painter = Painter(colours())
    shown = from_here(locate)
    notes(answer.degraded)
    if not answer.definitions:
        print(f"nothing defines {printable(answer.name)}", file=sys.stderr)
    for hit in answer.definitions:
        traits = [hit.kind, *(["test"] if hit.test else []), *([] if hit.exported else ["private"])]
        traits += [] if hit.references is None else [counted(hit.references, "use")]
        print(
            f"{painter.path(shown(hit.path))}:{hit.start_line}-{hit.end_line}  "
            f"{painter.symbol(hit.qualified)}  {painter.dim(', '.join(traits))}"
        )
        print(f"    {painter.code(hit.signature, set())}")


def status(status: dict[str, Any]) -> None:
    for number, entry in enumerate(status.get("roots", [status])):
        if number:
            print()
        _status(entry)
    libraries(status.get("libraries", ()))
    if "shared" in status:
        _shared(status["shared"], status.get("sent", ()))


def libraries(entries: Iterable[dict[str, Any]]) -> None:
    """One line for each library that has an index."""
    painter = Painter(colours())
    for entry in entries:
        name = f"{entry['ecosystem']}:{entry['library']} {entry['version'] or 'of unknown version'}"
        holds = f"{counted(entry['files'], 'file')}, {counted(entry['units'], 'unit')}"
        print(f"{painter.dim('library    ')} {printable(name)}, {holds}, {printable(entry['root'])}")
        if "problem" in entry:
            print(f"{'':<11} {painter.state(printable(entry['problem']), 'note')}{_hint(entry['hint'])}")


def _shared(entry: dict[str, Any], sent: Sequence[dict[str, Any]]) -> None:
    """What a shared store has of each project, and what was sent there just now."""
    painter = Painter(colours())

    def row(name: str, text: str) -> None:
        print(f"{painter.dim(f'{name:<11}')} {printable(text)}")

    print()
    row("store", entry["store"])
    if "problem" in entry:
        print(f"{painter.dim('problem    ')} {painter.state(printable(entry['problem']), 'problem')}{_hint(entry.get('hint'))}")
    told = {item["project"]: item for item in sent}
    for item in entry["projects"]:
        row("project", item["project"])
        if not item["exists"]:
            row("state", "none yet (lurcher index --store URL)")
            continue
        commit = f", commit {item['commit'][:10]}" if item["commit"] else ""
        row("state", f"generation {item['generation']}, written {item['written']}{commit}")
        row("holds", f"{counted(item['files'], 'file')}, {counted(item['units'], 'unit')}")
        if item["project"] in told:
            done = told[item["project"]]
            files, units, gone = (counted(done[key], what) for key, what in _SENT)
            row("sent", f"{files}, {units}; {gone} removed")


def _by_lines(entry: dict[str, Any], row: Callable[[str, str], None]) -> None:
    """Files of which no definitions are known, and why."""
    if entry["gave_up"]:
        many = "1 file, whose grammar" if entry["gave_up"] == 1 else f"{entry['gave_up']:,} files, whose grammars"
        more = ", …" if entry["gave_up"] > _FEW else ""
        row("by lines", f"{many} gave up: {', '.join(entry['paths'][:_FEW])}{more}")
    if entry["no_grammar"]:
        from lurcher.indexing.coverage import package_of

        counts = ", ".join(f"{count:,} {language}" for language, count in entry["no_grammar"].items())
        packages = " ".join(dict.fromkeys(package_of(language) for language in entry["no_grammar"]))
        row("by lines", f"{counts}, without a grammar (run: pip install {packages})")


def _status(entry: dict[str, Any]) -> None:
    painter = Painter(colours())

    def row(name: str, text: str) -> None:
        print(f"{painter.dim(f'{name:<11}')} {printable(text)}")

    row("root", entry["root"])
    row("index", entry["index"])
    lock = entry["lock"]
    if lock["held"]:
        row("writing", f"process {lock['pid']} holds the lock" if lock["pid"] else "another process holds the lock")
    if "problem" in entry:
        print(f"{painter.dim('problem    ')} {painter.state(printable(entry['problem']), 'problem')}{_hint(entry.get('hint'))}")
        return
    if not entry["exists"]:
        row("state", f"none yet; {counted(entry['files_found'], 'file')} would be indexed")
    else:
        fresh = painter.state("fresh", "ok")
        if not entry["fresh"]:
            fresh = painter.state(f"{counted(entry['stale_paths'], 'file')} changed since", "note")
        ago = _ago(entry["age_seconds"])
        print(f"{painter.dim('state      ')} generation {entry['generation']}, {fresh}, checked {ago} ago")
        row("files", f"{entry['files']:,}, {_size(entry['text_bytes'])} of text, listed by {_LISTED[entry['listed_by']]}")
        row("units", f"{entry['units']:,}")
        row("definitions", f"{entry['definitions']:,}")
        _by_lines(entry["by_lines"], row)
        ratio = f", {entry['ratio']:.2f} times the text" if entry["ratio"] is not None else ""
        row("size", f"{_size(entry['disk_bytes'])}{ratio}")
        for segment in entry["segments"]:
            dead = f", {segment['dead']:,} dead" if segment["dead"] else ""
            live = counted(segment["live"], "file")
            row("segment", f"{segment['name'][:12]}…  {_size(segment['bytes']):>9}  {live} live{dead}")
        row("model", _model(entry["model"]))
        row("vectors", _size(entry["vector_bytes"]))
        row("languages", ", ".join(f"{name} {count:,}" for name, count in entry["languages"].items()) or "none")
    if "history" in entry:
        row("history", _history(entry["history"]))
        if entry["history"].get("outcomes"):
            row("outcomes", ", ".join(f"{count:,} {verdict}" for verdict, count in entry["history"]["outcomes"].items()))
    row("kernel", entry["kernel"]["name"] + _hint(entry["kernel"].get("reason")))
    row("skipped", ", ".join(f"{reason} {count:,}" for reason, count in entry["skipped"].items()) or "nothing")
    for reason, paths in entry.get("skipped_paths", {}).items():
        for path in paths:
            row("", f"{reason}  {path}")


def _history(entry: dict[str, Any]) -> str:
    if "problem" in entry:
        return f"{entry['problem']} ({entry['hint']})" if entry["hint"] else str(entry["problem"])
    if not entry["exists"]:
        return "none yet (lurcher index --history)"
    moved = "" if entry["fresh"] else ", HEAD has moved since"
    shallow = " of a shallow clone" if entry["shallow"] else ""
    counts = f"{entry['commits']:,} of {counted(entry['total'], 'commit')}{shallow}, {counted(entry['hunks'], 'hunk')}"
    return f"{counts}, {_size(entry['bytes'])} in {counted(len(entry['segments']), 'segment')}{moved}"


_LISTED = {"git": "git", "walk": "a walk"}


def _hint(hint: str | None) -> str:
    return f" ({printable(hint)})" if hint else ""


def finding(finding: Finding) -> None:
    painter = Painter(colours())
    state = painter.state(f"{finding.state:<8}", finding.state)
    print(f"{state} {finding.check:<9} {printable(finding.message)}{_hint(finding.hint)}", flush=True)


def services(stack: Sequence[Health]) -> None:
    """Every configured service as a table."""
    if not stack:
        return
    painter = Painter(colours())
    rows: list[tuple[str, ...]] = [("service", "protocol", "address", "reachable", "version", "model", "dims", "ms", "state")]
    for health in stack:
        answered = ("yes", health.version, health.model, str(health.dims or ""), f"{health.latency_ms:.0f}", health.state)
        reached, *rest = answered if health.reachable else ("no", "", "", "", "", health.problem)
        rows.append((health.service, health.protocol, health.address, reached, *rest))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(f"{printable(cell) or '-':<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        print(painter.dim(line) if not number else line)


def verdict(problems: int) -> None:
    text = counted(problems, "problem") if problems else "all is well"
    print(text, file=sys.stderr)


def model(entry: dict[str, Any]) -> None:
    if "digest" not in entry:
        print("no model is in use: there are no vectors and no dense lane")
        return
    if "provider" in entry:
        for name in ("provider", "model", "served", "dims", "digest", "query_prefix", "document_prefix"):
            if entry.get(name):
                print(f"{name.replace('_', ' '):<15} {printable(str(entry[name]))}")
        print(f"{'first answer':<15} {entry['load_ms']:.1f} ms")
        return
    composed = {"grams": f"{entry['buckets']:,} n-gram buckets", "wordpiece": "pieces of words", "none": "nothing"}
    rows = (
        ("name", entry["name"]),
        ("file", entry["path"]),
        ("version", entry["version"]),
        ("vectors", f"{entry['dims']} numbers of {entry['bits']} bits"),
        ("terms", f"{entry['terms']:,}; unseen ones are composed of {composed[entry['compose']]}"),
        ("size", _size(entry["bytes"])),
        ("digest", entry["digest"]),
        ("licence", entry["licence"]),
        ("opened in", f"{entry['load_ms']:.1f} ms"),
    )
    for name, value in rows:
        print(f"{name:<11} {printable(str(value))}")
    training = entry["training"]
    for name, value in training.items() if isinstance(training, dict) else (("", training),) if training else ():
        print(f"{'training':<11} {printable(f'{name}: {value}' if name else str(value))}")


def _model(entry: dict[str, Any]) -> str:
    if "problem" in entry:
        return f"{printable(entry['name'])}: {printable(entry['problem'])} ({printable(entry['hint'])})"
    if "digest" not in entry:
        return "none"
    if "missing" in entry:
        size = f", {entry['dims']} numbers per vector" if "dims" in entry else ""
        lack = f", {entry['missing']:,} of {entry['texts']:,} texts have no vectors yet" if entry["missing"] else ""
        return f"{printable(entry['name'])}{size}, {entry['digest'][:12]}{lack}"
    return f"{printable(entry['name'])}, {entry['dims']} numbers per vector, {entry['digest'][:12]}"


def _ago(seconds: int) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
